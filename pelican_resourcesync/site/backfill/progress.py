"""Progress of a backfill: messages, and on a terminal a bar that shows how many builds are done and left."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from pelican_resourcesync.printable import printable
from pelican_resourcesync.terminal import format_count

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: The number of builds after which the remaining time is estimated.
_ENOUGH = 3
_SECONDS, _MINUTES = 90, 90 * 60


class Progress:
    """Messages on a stream; between `begin` and `close` with a progress bar below them, if the stream is a terminal."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Write to `stream`; `clock` returns the time in seconds."""
        self._stream = stream
        self._clock = clock
        self._bar: Bar | None = None
        self._begun = 0.0
        self._total = self._done = self._failed = 0

    def say(self, text: str) -> None:
        """Write a line, without control characters."""
        line = f"ResourceSync: {printable(text)}"
        if self._bar is None:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        else:
            self._bar.console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def begin(self, total: int) -> None:
        """Start counting a number of builds."""
        self._begun, self._total = self._clock(), total
        if not self._stream.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            transient=True,
            speed_estimate_period=24 * 3600,
        )
        self._bar.add_task(self._counts(), total=total)
        self._bar.start()

    def count(self, *, failed: bool = False) -> None:
        """Count a build that is done, or that failed."""
        self._failed += failed
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, description=self._counts())
        left = self._total - self._done
        if self._done == _ENOUGH and left:
            needed = (self._clock() - self._begun) / self._done * left
            self.say(f"{format_count(left, 'build')} left, which may take {_duration(needed)}.")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.stop()
            self._bar = None

    def _counts(self) -> str:
        return f"{self._done - self._failed:,} built, {self._failed:,} failed, {self._total - self._done:,} left"


def _duration(seconds: float) -> str:
    """Return a duration in a readable unit."""
    if seconds < _SECONDS:
        return format_count(max(1, round(seconds)), "second")
    if seconds < _MINUTES:
        return format_count(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"
