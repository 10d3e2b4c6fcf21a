"""Packing: how far the packages of dumps have come, shown on a terminal where it takes longer than a second."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pelican_resourcesync.site.summary import in_bytes

_CLEAR = "\r\033[K"

#: How long it must take before anything is shown, and how often that is renewed, in seconds.
_PATIENCE, _PAUSE = 1.0, 0.2


class Packing:
    """Shows on a stream how many bytes were packed; nothing where that is no terminal."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the stream, and whose time passes."""
        self._stream = stream
        self._clock = clock
        self._next = clock() + _PATIENCE
        self._packed = 0
        self._shown = False

    @classmethod
    @contextmanager
    def shown(cls, stream: TextIO) -> "Iterator[Packing]":
        """Show it for as long as it takes, and take it away in the end."""
        packing = cls(stream)
        try:
            yield packing
        finally:
            packing.close()

    def passed(self, more: int) -> None:
        """Take note that so many more bytes were packed."""
        self._packed += more
        if self._clock() >= self._next and self._stream.isatty():
            self._next = self._clock() + _PAUSE
            self._shown = True
            self._print(f"{_CLEAR}ResourceSync: {in_bytes(self._packed)} packed")

    def close(self) -> None:
        """Take away what was shown."""
        if self._shown:
            self._print(_CLEAR)

    def _print(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
