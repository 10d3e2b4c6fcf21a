"""Run a command that reads a Source, once or again and again, and show how far it has come."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.printable import printable

DONE, PROBLEMS, INCOMPLETE = 0, 1, 3
_PAUSE = 0.2  # seconds between two updates of the progress


def run(once: Callable[[], int], *, begun: Path, every: float | None = None) -> int:
    """Run something, which returns an exit status, once or every so many seconds; return the last status.

    An error that may pass is reported, with the status for incomplete: any once the file `begun` is there, if it does
    not come of what the user asked for. Raises others.
    """
    with _stoppable() as stopped:
        while True:
            try:
                status = once()
            except ResourceSyncError as error:
                if not _may_pass(error, begun):
                    raise
                sys.stderr.write(f"pelican-resourcesync: {printable(error)}\n")
                status = INCOMPLETE
            except KeyboardInterrupt:
                sys.stderr.write("pelican-resourcesync: stopped; the next run goes on from here\n")
                return INCOMPLETE
            try:
                if not every or stopped.wait(every):
                    return status
            except KeyboardInterrupt:
                return status


def _may_pass(error: ResourceSyncError, begun: Path) -> bool:
    from pelican_resourcesync.destination import IncompleteError
    from pelican_resourcesync.source import SourceError

    if isinstance(error, IncompleteError):
        return True
    return begun.exists() and not isinstance(error, SourceError | SettingsError)


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """Let SIGTERM end the command as Ctrl+C does: after what is complete was recorded."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: object) -> None:
        stopped.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def progress() -> Iterator[Callable[[int, int, int, int], None]]:
    """Show on a terminal how far a run has come; yield what reports the resources and bytes done, of how many."""
    from pelican_resourcesync.terminal import Progress

    with Progress.shown(sys.stderr, "pelican-resourcesync") as shown:
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
    from pelican_resourcesync.terminal import format_bytes

    share = min(size / whole, 1) if whole else done / of
    left = f", {duration(seconds / share - seconds)} left" if share and seconds > 1 else ""
    sizes = f"{format_bytes(size)} of {format_bytes(whole)}" if whole >= size else format_bytes(size)
    return f"{done:,} of {of:,} resources, {sizes}, {format_bytes(round(size / max(seconds, 0.1)))}/s{left}"


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"  # noqa: PLR2004
