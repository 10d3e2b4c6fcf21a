"""Fetch documents before their turn, a few at a time, so that their network delays overlap."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from pelican_resourcesync.check.places import Opened, Place
from pelican_resourcesync.errors import TransportError


@dataclass(slots=True, kw_only=True)
class Ahead:
    """Fetches up to `jobs` documents at once, each of at most `size` bytes; with one job, nothing is fetched early."""

    place: Place
    size: int
    jobs: int = 1
    _pool: ThreadPoolExecutor | None = None
    _asked: dict[str, Future[Opened]] = field(default_factory=dict)

    def want(self, uris: Iterable[str]) -> None:
        """Start to fetch these URIs, in this order, while there is room."""
        if self.jobs == 1:
            return
        self._pool = self._pool or ThreadPoolExecutor(max_workers=self.jobs)
        for uri in uris:
            if len(self._asked) >= self.jobs:
                return
            if uri not in self._asked:
                self._asked[uri] = self._pool.submit(self.place.open, uri, size=self.size)

    def open(self, uri: str) -> Opened:
        """Return what is at a URI, fetched early or not; raises `TransportError` if it cannot be fetched."""
        asked = self._asked.pop(uri, None)
        return asked.result() if asked else self.place.open(uri, size=self.size)

    def close(self) -> None:
        """Cancel pending requests, and close what was fetched but not used."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=True, cancel_futures=True)
        for asked in self._asked.values():
            if not asked.cancelled() and not isinstance(asked.exception(), TransportError):
                asked.result().found.stream.close()
        self._asked.clear()
