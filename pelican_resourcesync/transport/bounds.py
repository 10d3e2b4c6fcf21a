"""How long and how large an answer may be, and all answers together, and the connections that keep to it."""

import io
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.client import HTTPConnection, HTTPSConnection
from threading import Lock
from typing import Any

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.transport.addresses import connect_to_public


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that one file may take.

    `timeout` is for connecting and for each wait, `total` for all of it, both in seconds; `size` is in bytes.
    """

    timeout: float = 30.0
    total: float = 300.0
    size: int = 100_000_000


STANDARD_BOUNDS = Bounds()


class Budget:
    """What files may take together, and each of them: bytes that are fetched, and seconds from now on.

    A file is counted when it has come: of several that are on their way, each may take what is left.
    """

    def __init__(self, whole: str, each: Bounds, *, size: int, seconds: float, clock: Callable[[], float]) -> None:
        """Take what messages call the `whole`, what one file may take, and all; time passes by `clock`."""
        self._whole = whole
        self._each = each
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self._taken = 0
        self._lock = Lock()

    def bounds(self, size: int | None = None) -> Bounds:
        """Give the bounds of the next file: those of each, but for a `size` of its own, or what is left for all.

        Raises `TransportError` where nothing is left.
        """
        seconds, left = self._end - self._clock(), self._size - self._taken
        if seconds <= 0:
            message = f"{self._whole} takes longer than {self._seconds:g} seconds"
            raise TransportError(message)
        if left <= 0:
            message = f"{self._whole} is larger than {self._size} bytes"
            raise TransportError(message)
        each = self._each
        return replace(each, total=min(each.total, seconds), size=min(each.size if size is None else size, left))

    def take(self, length: int) -> None:
        """Take note that so many bytes were fetched."""
        with self._lock:
            self._taken += length

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Let no time pass for it meanwhile."""
        begin = self._clock()
        try:
            yield
        finally:
            self._end += self._clock() - begin


class Deadline:
    """The moment when a file must have come whole; it begins to run when it is made."""

    def __init__(self, bounds: Bounds) -> None:
        """Take what the file may take."""
        self._bounds = bounds
        self._end = time.monotonic() + bounds.total

    def wait(self) -> float:
        """Give how long to wait for what comes next, in seconds; `TimeoutError` where no time is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, self._bounds.timeout)

    def __str__(self) -> str:
        if time.monotonic() >= self._end:
            return f"it did not come whole within {self._bounds.total:g} seconds"
        return f"nothing came for {self._bounds.timeout:g} seconds"


class PlainConnection(HTTPConnection):
    """A connection that keeps to a deadline, however slowly the other side drips."""

    def __init__(self, host: str, *, deadline: Deadline, public: bool = False, **options: Any) -> None:
        super().__init__(host, **options)
        self._deadline = deadline
        if public:
            self._create_connection = partial(connect_to_public, wait=deadline.wait)

    def connect(self) -> None:
        """Connect, and keep the time from then on."""
        super().connect()
        self.sock = _TimedSocket(self.sock, self._deadline)


class SecureConnection(PlainConnection, HTTPSConnection):
    """The same over TLS."""


class _TimedSocket:
    """What `http.client` uses of a socket; a time-out of the socket's own would begin anew with every byte."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.wait())
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))

    def close(self) -> None:
        self._sock.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._deadline.wait())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
