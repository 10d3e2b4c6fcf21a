"""Fetch documents and resources by URI, from the output folder of a site or over HTTP."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Self, TypeAlias, cast

from pelican_resourcesync.errors import AbsentError, TooLargeError, TransportError
from pelican_resourcesync.http import STANDARD_BOUNDS, Headers, Web, origin, shown
from pelican_resourcesync.source import SiteFolder

_IN_MEMORY = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedContent:
    """What is at a URI, for a `with` statement: its bytes, and the headers that came with them, if any."""

    stream: BinaryIO
    length: int
    headers: Headers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    @property
    def media_type(self) -> str:
        """The media type stated by the host, or an empty string."""
        return self.headers.media_type


class FolderFetcher(SiteFolder):
    """The output folder of a site."""

    def open(self, uri: str, *, size: int) -> FetchedContent:
        """Return the file that a static host would serve. Raises `TransportError` if it is larger, or unreadable."""
        file = self.file(uri)
        if file is None:
            message = f"{shown(uri)} is not in the folder"
            raise AbsentError(message)
        try:
            length = file.stat().st_size
            if length > size:
                message = f"{shown(uri)} is larger than {size} bytes"
                raise TooLargeError(message)
            return FetchedContent(stream=file.open("rb"), length=length, headers=Headers())
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}"
            raise TransportError(message) from error


class WebFetcher:
    """The web. Hosts named by the user may have private addresses; hosts named only by documents may not."""

    def __init__(self, *named: str) -> None:
        self._named = {origin(url) for url in named} - {None}
        self._web: Web | None = None

    def holds(self, uri: str) -> bool:
        """Return whether a URI is an http(s) URL."""
        return origin(uri) is not None

    def open(self, uri: str, *, size: int) -> FetchedContent:
        """Request a URI; large content is stored on disk. Raises `TransportError` if that fails, or it is larger."""
        place = origin(uri)
        if place is None:
            message = f"{shown(uri)!a} is not an http(s) address"
            raise TransportError(message)
        url = uri.partition("#")[0]
        if self._web is None:  # it serves any host; created once, because loading the machine's certificates is slow
            self._web = Web(f"{place[0]}://{place[1]}")
        stream = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - returned open
        try:
            bounds = replace(STANDARD_BOUNDS, size=size)
            received, headers = self._web.visit(url, stream, public=place not in self._named, bounds=bounds)
        except BaseException:
            stream.close()
            raise
        stream.seek(0)
        return FetchedContent(stream=stream, length=received.length, headers=headers)


#: A place where URIs are looked up.
Fetcher: TypeAlias = FolderFetcher | WebFetcher


@dataclass(slots=True, kw_only=True)
class Prefetcher:
    """Fetches up to `jobs` documents at once, each of at most `size` bytes; with one job, nothing is fetched early."""

    fetcher: Fetcher
    size: int
    jobs: int = 1
    _pool: ThreadPoolExecutor | None = None
    _asked: dict[str, Future[FetchedContent]] = field(default_factory=dict)

    def prefetch(self, uris: Iterable[str]) -> None:
        """Start to fetch these URIs, in this order, while there is room."""
        if self.jobs == 1:
            return
        self._pool = self._pool or ThreadPoolExecutor(max_workers=self.jobs)
        for uri in uris:
            if len(self._asked) >= self.jobs:
                return
            if uri not in self._asked:
                self._asked[uri] = self._pool.submit(self.fetcher.open, uri, size=self.size)

    def open(self, uri: str) -> FetchedContent:
        """Return what is at a URI, fetched early or not; raises `TransportError` if it cannot be fetched."""
        asked = self._asked.pop(uri, None)
        return asked.result() if asked else self.fetcher.open(uri, size=self.size)

    def close(self) -> None:
        """Cancel pending requests, and close what was fetched but not used."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=True, cancel_futures=True)
        for asked in self._asked.values():
            if not asked.cancelled() and not isinstance(asked.exception(), TransportError):
                asked.result().stream.close()
        self._asked.clear()
