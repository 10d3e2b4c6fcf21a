"""Progress of operations that take longer than a second, shown on terminals only, with rich."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TextIO

from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.terminal.text import duration, format_bytes, format_count

if TYPE_CHECKING:
    from rich.progress import Progress as Display

#: The delay before a stage is shown, and the time between two updates, in seconds.
_PATIENCE, _PAUSE = 1.0, 0.2
#: The number of builds after which the remaining time is estimated.
_ENOUGH = 3


class Progress:
    """A line at the bottom of a terminal: a stage and how much of it is done, or with `begin` a bar for builds.

    Nothing but messages is written where `stream` is not a terminal. Each stage counts from zero.
    """

    def __init__(self, stream: TextIO, name: str = "ResourceSync", clock: Callable[[], float] = time.monotonic) -> None:
        """Write to `stream`, with `name` at the start of lines; `clock` returns the time in seconds."""
        self._stream = stream
        self._name = name
        self._clock = clock
        self._first = self._next = clock() + _PATIENCE
        self._stage = ""
        self._items = self._bytes = 0
        self._begun = 0.0
        self._total = self._done = self._failed = 0
        self._display: Display | None = None

    @classmethod
    @contextmanager
    def shown(cls, stream: TextIO, name: str = "ResourceSync") -> "Iterator[Progress]":
        """Show progress within the context, and clear the line at its end."""
        progress = cls(stream, name)
        try:
            yield progress
        finally:
            progress.close()

    def say(self, what: str) -> None:
        """Begin a stage, such as `reading the repository`, and show it without waiting for the next update."""
        self._stage, self._items, self._bytes = printable(what), 0, 0
        self._next = self._first
        self._show()

    def advance(self, number: int) -> None:
        """Count more items as read."""
        self._items += number
        self._show()

    def packed(self, size: int) -> None:
        """Count more bytes as packed."""
        self._bytes += size
        self._show()

    def message(self, text: str) -> None:
        """Write a line that stays, without control characters."""
        line = f"{self._name}: {printable(text)}"
        if self._display is None:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        else:
            self._display.console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def begin(self, total: int) -> None:
        """Show a bar for a number of builds."""
        self._begun, self._total, self._done = self._clock(), total, 0
        if self._stream.isatty():
            self._display = self._open(total)

    def count(self, *, failed: bool = False) -> None:
        """Count a build that is done, or that failed."""
        self._failed += failed
        self._done += 1
        if self._display is not None:
            self._display.update(self._display.task_ids[0], advance=1, description=self._builds(), refresh=True)
        left = self._total - self._done
        if self._done == _ENOUGH and left:
            needed = (self._clock() - self._begun) / self._done * left
            self.message(f"{format_count(left, 'build')} left, which may take {duration(needed)}.")

    def close(self) -> None:
        """Clear the line."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def _show(self) -> None:
        what = ", ".join(self._parts()) if self._clock() >= self._next else ""
        if what and self._stream.isatty():
            self._next = self._clock() + _PAUSE
            self._display = self._display or self._open(None)
            self._display.update(self._display.task_ids[0], description=f"{self._name}: {what}", refresh=True)

    def _open(self, total: int | None) -> "Display":
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        text = TextColumn("{task.description}", markup=False)
        columns: list[ProgressColumn] = [BarColumn(), text, TimeRemainingColumn()] if total else [text]
        display = Display(
            *columns,
            console=Console(file=self._stream),
            transient=True,
            auto_refresh=total is not None,
            speed_estimate_period=24 * 3600,
        )
        display.add_task(self._builds() if total else "", total=total)
        display.start()
        return display

    def _parts(self) -> Iterator[str]:
        if self._stage:
            yield self._stage
        if self._items:
            yield f"{format_count(self._items, 'item')} read"
        if self._bytes:
            yield f"{format_bytes(self._bytes)} packed"

    def _builds(self) -> str:
        return f"{self._done - self._failed:,} built, {self._failed:,} failed, {self._total - self._done:,} left"


def spinner(doing: str, name: str, stream: TextIO) -> AbstractContextManager[object]:
    """Return a context in which a terminal shows what is being done; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.text import Text

    return Console(file=stream).status(Text(f"{name}: {printable(doing)} …"))
