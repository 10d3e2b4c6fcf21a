"""Fetch documents and resources by URI, from the output folder of a site or over HTTP."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Protocol, Self, cast
from urllib.parse import urlsplit

from pelican_resourcesync.errors import AbsentError, TransportError
from pelican_resourcesync.transport import STANDARD_BOUNDS, Headers, Web, path_of_uri, served_paths, shown

_IN_MEMORY = 1_048_576
_DOCUMENT_FOLDERS = ("resourcesync", ".well-known")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
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


class Fetcher(Protocol):
    """A place where URIs are looked up."""

    def holds(self, uri: str) -> bool:
        """Return whether a URI can be looked up here."""
        ...

    def open(self, uri: str, *, size: int) -> Fetched:
        """Return what is at a URI, for a `with` statement.

        Raises `TransportError` if it cannot be read, or is larger than `size` bytes.
        """
        ...


class FolderFetcher:
    """The output folder of a site, whose URL is found from the first URI that matches one of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.base: str | None = None
        # The owner of a site may keep the folders of the documents elsewhere, behind a symbolic link.
        self._roots = [self.folder, *((self.folder / name).resolve() for name in _DOCUMENT_FOLDERS)]

    def learn(self, uri: str) -> None:
        """Learn the URL of the folder from the URI of one of its documents, if possible."""
        parts = _split(uri)
        if self.base is not None or parts is None:
            return
        origin, path = parts
        names = path.split("/")
        for count in range(len(names)):
            base = "/".join([origin, *names[:count], ""])
            if self._file(path_of_uri(base, uri)) is not None:
                self.base = base
                return

    def holds(self, uri: str) -> bool:
        """Return whether a URI is below the folder's URL."""
        self.learn(uri)
        return self.base is not None and uri.startswith(self.base)

    def has(self, uri: str) -> bool:
        """Return whether a URI is below the folder's URL and has a file there."""
        return self.holds(uri) and self._file(path_of_uri(self.base or "", uri)) is not None

    def open(self, uri: str, *, size: int) -> Fetched:
        """Return the file that a static host would serve."""
        file = self._file(path_of_uri(self.base or "", uri))
        if file is None:
            message = f"{shown(uri)} is not in the folder"
            raise AbsentError(message)
        try:
            length = file.stat().st_size
            if length > size:
                message = f"{shown(uri)} is larger than {size} bytes"
                raise TransportError(message)
            return Fetched(stream=file.open("rb"), length=length, headers=Headers())
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}"
            raise TransportError(message) from error

    def _file(self, path: str | None) -> Path | None:
        """Return the file that a static host would serve for a path, if it is inside the folder."""
        for served in served_paths(path) if path is not None else ():
            file = self.folder / served
            with suppress(OSError, ValueError):  # not a possible file name
                if file.is_file() and any(file.resolve().is_relative_to(root) for root in self._roots):
                    return file
        return None


class WebFetcher:
    """The web. Hosts named by the user may have private addresses; hosts named only by documents may not."""

    def __init__(self, *named: str) -> None:
        self._named = {parts[0] for parts in map(_split, named) if parts}
        self._webs: dict[int, Web] = {}

    def holds(self, uri: str) -> bool:
        """Return whether a URI is an http(s) URL."""
        return _split(uri) is not None

    def open(self, uri: str, *, size: int) -> Fetched:
        """Request a URI; large content is stored on disk."""
        parts = _split(uri)
        if parts is None:
            message = f"{shown(uri)!a} is not an http(s) address"
            raise TransportError(message)
        stream = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - returned open
        try:
            web = self._web(parts[0], size)
            received, headers = web.visit(uri.partition("#")[0], stream, public=parts[0] not in self._named)
        except BaseException:
            stream.close()
            raise
        stream.seek(0)
        return Fetched(stream=stream, length=received.length, headers=headers)

    def _web(self, origin: str, size: int) -> Web:
        """Return a client, which works for any origin; cached, because loading the machine's certificates is slow."""
        if size not in self._webs:
            self._webs[size] = Web(origin, replace(STANDARD_BOUNDS, size=size))
        return self._webs[size]


def _split(uri: str) -> tuple[str, str] | None:
    """Return the origin and the path of an http(s) URI, or None."""
    try:
        parts = urlsplit(uri)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return f"{parts.scheme}://{parts.netloc}", parts.path.removeprefix("/")
    except ValueError:
        pass
    return None


@dataclass(slots=True, kw_only=True)
class Prefetcher:
    """Fetches up to `jobs` documents at once, each of at most `size` bytes; with one job, nothing is fetched early."""

    fetcher: Fetcher
    size: int
    jobs: int = 1
    _pool: ThreadPoolExecutor | None = None
    _asked: dict[str, Future[Fetched]] = field(default_factory=dict)

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

    def open(self, uri: str) -> Fetched:
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
