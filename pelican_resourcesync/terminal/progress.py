"""Progress: how far something has come that takes longer than a second, for somebody at a terminal alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pelican_resourcesync.terminal.words import counted, in_bytes, plain

_CLEAR = "\r\033[K"

#: How long it must take before anything is shown, and how often that is renewed, in seconds.
_PATIENCE, _PAUSE = 1.0, 0.2


class Progress:
    """Shows on a stream what is being done, and how much of it is done; nothing where that is no terminal.

    It is one line, in place of which the next comes; of each stage it counts from the beginning.
    """

    def __init__(self, stream: TextIO, name: str = "ResourceSync", clock: Callable[[], float] = time.monotonic) -> None:
        """Take the stream, who says it, and whose time passes."""
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
        """Show it for as long as it takes, and take it away in the end."""
        progress = cls(stream, name)
        try:
            yield progress
        finally:
            progress.close()

    def say(self, what: str) -> None:
        """Begin another stage, such as `reading the repository`: it is shown at once, because it may be a long one."""
        self._stage, self._items, self._bytes = plain(what), 0, 0
        self._next = self._first
        self._show()

    def passed(self, number: int) -> None:
        """Take note that so many more items were read."""
        self._items += number
        self._show()

    def packed(self, size: int) -> None:
        """Take note that so many more bytes were packed."""
        self._bytes += size
        self._show()

    def close(self) -> None:
        """Take away what was shown."""
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
            yield f"{counted(self._items, 'item')} read"
        if self._bytes:
            yield f"{in_bytes(self._bytes)} packed"

    def _print(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
