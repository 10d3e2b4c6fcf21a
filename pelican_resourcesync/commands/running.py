"""Run a command that reads a Source, once or again and again, and show how far it has come."""

import json
import logging
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Self, TextIO

from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.http import new_client, shown
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.system.exits import INCOMPLETE, UNUSABLE, explain, flush_output, stopping
from pelican_resourcesync.system.printable import get_logger, printable
from pelican_resourcesync.terminal import Progress, duration, format_bytes
from pelican_resourcesync.version import PROGRAM

USER, PASSWORD = "RESOURCESYNC_USER", "RESOURCESYNC_PASSWORD"
_PAUSE = 0.2  # seconds between two updates of the progress
_logger = get_logger("pelican_resourcesync")

#: The URIs of what a run did, by kind, with `--json=resources`.
Done = dict[str, list[str]]


def options_of(arguments: Namespace) -> dict[str, Any]:
    """Return the options that were given, by the names that `mirror` and `follow` have for them."""
    values = vars(arguments)
    known = {field.name: values[field.name] for field in fields(MirrorOptions) if field.name in values}
    user = values["user"] if "user" in values else os.environ.get(USER, "")
    if user and ":" not in user:
        user += f":{os.environ.get(PASSWORD, '')}"
    return known | {"user": user}


def run(once: Callable[[Done], int], arguments: Namespace, *, begun: Callable[[], bool]) -> int:
    """Run something, which returns an exit status, once or with `--every` again and again; return the last status.

    An error that may pass means incomplete (see `explain`). Any other one ends it.
    """
    every = getattr(arguments, "every", None)
    with stopping() as signals, _Log(arguments) as log, _listening(arguments) as wait:
        while True:
            try:
                log.done = {"created": [], "updated": [], "deleted": []}
                status = once(log.done)
            except (ResourceSyncError, OSError) as error:
                status, message = explain(error, begun=begun(), repeated=bool(every))
                _logger.error("%s", message)  # noqa: TRY400 - the message says all
                if status == UNUSABLE:
                    return status
            except KeyboardInterrupt:
                _logger.warning("stopped; the next run continues from here")
                return INCOMPLETE
            try:
                if status > INCOMPLETE or not every or signals:
                    return status
                wait(every)
            except KeyboardInterrupt:
                return status


@contextmanager
def _listening(arguments: Namespace) -> Iterator[Callable[[float], None]]:
    """Yield what waits until the next run: for some seconds, or with `--listen` until a hub calls."""
    listen, callback = (getattr(arguments, name, None) for name in ("listen", "callback"))
    if (listen is None) != (callback is None):
        message = "use --listen and --callback together"
        raise SettingsError(message)
    if arguments.dry_run and arguments.every:
        message = "--dry-run cannot be combined with --every or --listen: leave these out"
        raise SettingsError(message)
    if listen is None or callback is None:
        yield time.sleep
        return
    from pelican_resourcesync.destination.listening import Listener

    options = MirrorOptions(**options_of(arguments))
    client = new_client(proxies=options.proxy, user_agent=options.user_agent)
    with Listener(listen, callback, client, every=arguments.every) as listener:
        arguments.channels = listener.update  # an option of each run: see `options_of`
        yield listener.wait


def say(arguments: Namespace, lines: Iterable[str], stream: TextIO) -> None:
    """Print lines for people, unless `--quiet` is set."""
    if arguments.level < logging.ERROR:
        stream.writelines(f"{_when_and_where(arguments)}{printable(line)}\n" for line in lines)
        stream.flush()


def write_line(described: Mapping[str, Any]) -> None:
    """Write a line of JSON for a program. Raises `OSError` if that has ended."""
    sys.stdout.write(f"{json.dumps(described)}\n")
    flush_output()


def now() -> str:
    """Return the time in the form that logs use."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _when_and_where(arguments: Namespace) -> str:
    """Return how a line begins if many runs write to one log."""
    return f"{now()} {printable(shown(arguments.source))} " if getattr(arguments, "every", None) else ""


class _Log(logging.Handler):
    """Writes what is logged to standard error, and collects the URIs of what was done, if they are wanted."""

    done: Done

    def __init__(self, arguments: Namespace) -> None:
        super().__init__()
        self._arguments = arguments
        self._collects = getattr(arguments, "json", None) == "resources"

    def emit(self, record: logging.LogRecord) -> None:
        if self._collects and hasattr(record, "kind"):
            self.done[record.kind].append(record.__dict__["uri"])
        if record.levelno >= self._arguments.level:
            begin = _when_and_where(self._arguments) or f"{PROGRAM}: "
            sys.stderr.write(f"{printable(begin + record.getMessage())}\n")

    def __enter__(self) -> Self:
        self._before, _logger.handlers = _logger.handlers, [self]
        _logger.setLevel(logging.INFO if self._collects else self._arguments.level)
        return self

    def __exit__(self, *_: object) -> None:
        _logger.handlers = self._before
        _logger.setLevel(self._arguments.level)


@contextmanager
def progress(
    arguments: Namespace, begin: str = "reading the lists of the Source", what: str = "resources"
) -> Iterator[Callable[[int, int, int, int], None]]:
    """Show on a terminal how far a run has come; yield what reports the resources and bytes done, of how many."""
    if arguments.level != logging.WARNING:
        yield lambda *_: None
        return
    with Progress.shown(sys.stderr, PROGRAM) as shown:
        first = last = 0.0

        def show(done: int, of: int, size: int, whole: int) -> None:
            nonlocal first, last
            now = time.monotonic()
            first = first or now
            if now - last >= _PAUSE:
                last = now
                shown.say(progress_text(done, of, size, whole, now - first, what=what))

        shown.say(begin)
        yield show


def progress_text(  # noqa: PLR0913 - keyword-only name of what is counted
    done: int, of: int, size: int, whole: int, seconds: float, *, what: str = "resources"
) -> str:
    """Return how far a run has come: resources, bytes, speed, and the time left."""
    share = min(size / whole, 1) if whole else done / of
    left = f", {duration(seconds / share - seconds)} left" if share and seconds > 1 else ""
    sizes = f"{format_bytes(size)} of {format_bytes(whole)}" if whole >= size else format_bytes(size)
    return f"{done:,} of {of:,} {what}, {sizes}, {format_bytes(round(size / max(seconds, 0.1)))}/s{left}"
