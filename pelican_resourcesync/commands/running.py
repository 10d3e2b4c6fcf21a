"""Run a command that reads a Source, once or again and again, and show how far it has come."""

import logging
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Self, TextIO

from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.printable import get_logger, printable
from pelican_resourcesync.stopping import stopping

PROGRAM = "pelican-resourcesync"
DONE, PROBLEMS, UNUSABLE, INCOMPLETE = 0, 1, 2, 3
_PAUSE = 0.2  # seconds between two updates of the progress
_logger = get_logger("pelican_resourcesync")

#: The URIs of what a run did, by kind, with `--json=resources`.
Done = dict[str, list[str]]


def add_logging(verb: ArgumentParser) -> None:
    """Add the options `-v` and `-q`."""
    how = verb.add_mutually_exclusive_group()
    how.add_argument(
        "-v", "--verbose", action="store_const", dest="level", const=logging.INFO, default=logging.WARNING,
        help="list each resource that is created, updated or deleted",
    )  # fmt: skip
    how.add_argument(
        "-q", "--quiet", action="store_const", dest="level", const=logging.ERROR, help="print nothing but errors"
    )


def run(once: Callable[[Done], int], arguments: Namespace, *, begun: Callable[[], bool]) -> int:
    """Run something, which returns an exit status, once or with `--every` again and again; return the last status.

    An error that may pass means incomplete: any once an earlier run has `begun`, unless what the user asked for
    causes it. Any other error ends it.
    """
    every = getattr(arguments, "every", None)
    with stopping() as signals, _Log(arguments) as log:
        while True:
            try:
                log.done = {"created": [], "updated": [], "deleted": []}
                status = once(log.done)
            except ResourceSyncError as error:
                _logger.error(error)  # noqa: TRY400 - the message says all
                if not _may_pass(error, begun=begun()):
                    return UNUSABLE
                status = INCOMPLETE
            except KeyboardInterrupt:
                _logger.warning("stopped; the next run goes on from here")
                return INCOMPLETE
            try:
                if status > INCOMPLETE or not every or signals:
                    return status
                time.sleep(every)
            except KeyboardInterrupt:
                return status


def say(arguments: Namespace, lines: Iterable[str], stream: TextIO) -> None:
    """Print lines for people, unless `--quiet` is set."""
    if arguments.level < logging.ERROR:
        stream.writelines(f"{_when_and_where(arguments)}{printable(line)}\n" for line in lines)
        stream.flush()


def now() -> str:
    """Return the time in the form that logs use."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _when_and_where(arguments: Namespace) -> str:
    """Return how a line begins if many runs write to one log."""
    from pelican_resourcesync.http import shown

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
        _logger.addHandler(self)
        _logger.setLevel(logging.INFO if self._collects else self._arguments.level)
        return self

    def __exit__(self, *_: object) -> None:
        _logger.removeHandler(self)
        _logger.setLevel(logging.NOTSET)


def _may_pass(error: ResourceSyncError, *, begun: bool) -> bool:
    from pelican_resourcesync.destination import IncompleteError
    from pelican_resourcesync.source import SourceError

    if isinstance(error, IncompleteError):
        return True
    return begun and not isinstance(error, SourceError | SettingsError)


@contextmanager
def progress(arguments: Namespace) -> Iterator[Callable[[int, int, int, int], None]]:
    """Show on a terminal how far a run has come; yield what reports the resources and bytes done, of how many."""
    from pelican_resourcesync.terminal import Progress

    if arguments.level != logging.WARNING:
        yield lambda *_: None
        return
    with Progress.shown(sys.stderr, PROGRAM) as shown:
        begin = last = 0.0

        def show(done: int, of: int, size: int, whole: int) -> None:
            nonlocal begin, last
            now = time.monotonic()
            begin = begin or now
            if now - last >= _PAUSE:
                last = now
                shown.say(progress_text(done, of, size, whole, now - begin))

        shown.say("reading the lists of the Source")
        yield show


def progress_text(done: int, of: int, size: int, whole: int, seconds: float) -> str:
    """Return how far a run has come: resources, bytes, speed, and the time left."""
    from pelican_resourcesync.terminal import duration, format_bytes

    share = min(size / whole, 1) if whole else done / of
    left = f", {duration(seconds / share - seconds)} left" if share and seconds > 1 else ""
    sizes = f"{format_bytes(size)} of {format_bytes(whole)}" if whole >= size else format_bytes(size)
    return f"{done:,} of {of:,} resources, {sizes}, {format_bytes(round(size / max(seconds, 0.1)))}/s{left}"
