"""Limits on the time and size of one response, and the pace of requests."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits for one file.

    `timeout` applies to connecting and to each wait, `total` to the whole transfer, both in seconds; `size` is in
    bytes.
    """

    timeout: float = 30.0
    total: float = 300.0
    size: int = 100_000_000


STANDARD_BOUNDS = Bounds()


class Turns(Protocol):
    """What says when the next request may be made."""

    def delay(self) -> float:
        """Return how many seconds to wait; 0 if it may be made now, and then it counts."""


class Pace:
    """When the next request may be made: a rate of requests or of bytes per second, and pauses that the host wants."""

    def __init__(self, requests: float = 0, size: float = 0, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the rates, 0 for none."""
        self._requests, self._size, self._clock = requests, size, clock
        self._next = 0.0
        self._lock = Lock()

    def delay(self) -> float:
        """Return how many seconds to wait before the next request; 0 if it may be made now, and then it counts."""
        with self._lock:
            now = self._clock()
            if self._next > now:
                return self._next - now
            if self._requests:
                self._next = now + 1 / self._requests
            return 0.0

    def take(self, length: int) -> None:
        """Count bytes that were received."""
        if self._size:
            with self._lock:
                self._next = max(self._next, self._clock()) + length / self._size

    def pause(self, seconds: float) -> None:
        """Make no request for some seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)

    def slow_down(self, requests: float) -> None:
        """Make no more than so many requests per second."""
        with self._lock:
            self._requests = min(self._requests or requests, requests)


class Deadline:
    """The time by which a file must be complete; it starts to run when the object is created."""

    def __init__(self, bounds: Bounds) -> None:
        """Take the limits for the file."""
        self._bounds = bounds
        self._end = time.monotonic() + bounds.total

    def wait(self) -> float:
        """Return how many seconds to wait for the next bytes; raises `TimeoutError` if no time is left."""
        left = self.left()
        if left <= 0:
            raise TimeoutError
        return min(left, self._bounds.timeout)

    def left(self) -> float:
        """Return how many seconds are left for the whole transfer."""
        return self._end - time.monotonic()

    def __str__(self) -> str:
        if self.left() <= 0:
            return f"the transfer takes longer than {self._bounds.total:g} seconds"
        return f"no answer for {self._bounds.timeout:g} seconds"
