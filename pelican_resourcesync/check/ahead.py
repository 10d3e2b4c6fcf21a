"""Documents asked for before their turn: a few at a time, so that the network is not waited for one by one."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from pelican_resourcesync.check.places import Opened, Place
from pelican_resourcesync.errors import TransportError


@dataclass(slots=True, kw_only=True)
class Ahead:
    """Asks for at most `jobs` documents at once, each of `size` bytes at most; with one, for none before its turn."""

    place: Place
    size: int
    jobs: int = 1
    _pool: ThreadPoolExecutor | None = None
    _asked: dict[str, Future[Opened]] = field(default_factory=dict)

    def want(self, uris: Iterable[str]) -> None:
        """Ask for these, in this order, as far as there is room."""
        if self.jobs == 1:
            return
        self._pool = self._pool or ThreadPoolExecutor(max_workers=self.jobs)
        for uri in uris:
            if len(self._asked) >= self.jobs:
                return
            if uri not in self._asked:
                self._asked[uri] = self._pool.submit(self.place.open, uri, size=self.size)

    def open(self, uri: str) -> Opened:
        """Give what is at a URI, whether asked for or not; `TransportError` where that cannot be had."""
        asked = self._asked.pop(uri, None)
        return asked.result() if asked else self.place.open(uri, size=self.size)

    def close(self) -> None:
        """Give up what was asked for in vain."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=True, cancel_futures=True)
        for asked in self._asked.values():
            if not asked.cancelled() and not isinstance(asked.exception(), TransportError):
                asked.result().found.stream.close()
        self._asked.clear()
