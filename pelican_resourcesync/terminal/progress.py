"""Progress of operations that take longer than a second, shown on terminals only."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pelican_resourcesync.printable import printable
from pelican_resourcesync.terminal.text import format_bytes, format_count

_CLEAR = "\r\033[K"

#: The delay before anything is shown, and the time between two updates, in seconds.
_PATIENCE, _PAUSE = 1.0, 0.2


class Progress:
    """A progress line on a stream: what is being done, and how much of it. Nothing is shown without a terminal.

    Each line replaces the one before. Each stage counts from zero.
    """

    def __init__(self, stream: TextIO, name: str = "ResourceSync", clock: Callable[[], float] = time.monotonic) -> None:
        """Write to `stream`, with `name` at the start of the line; `clock` returns the time in seconds."""
        self._stream = stream
        self._name = name
        self._clock = clock
        self._first = self._next = clock() + _PATIENCE
        self._stage = ""
        self._items = self._bytes = 0
        self._shown = False

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

    def passed(self, number: int) -> None:
        """Count more items as read."""
        self._items += number
        self._show()

    def packed(self, size: int) -> None:
        """Count more bytes as packed."""
        self._bytes += size
        self._show()

    def close(self) -> None:
        """Clear the line."""
        if self._shown:
            self._print(_CLEAR)
            self._shown = False

    def _show(self) -> None:
        what = ", ".join(self._parts()) if self._clock() >= self._next else ""
        if what and self._stream.isatty():
            self._next = self._clock() + _PAUSE
            self._shown = True
            self._print(f"{_CLEAR}{self._name}: {what}")

    def _parts(self) -> Iterator[str]:
        if self._stage:
            yield self._stage
        if self._items:
            yield f"{format_count(self._items, 'item')} read"
        if self._bytes:
            yield f"{format_bytes(self._bytes)} packed"

    def _print(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
