"""Look up documents and resources by URI, in the output folder of a site or on the web."""

from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Protocol, cast
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.errors import AbsentError, TransportError
from pelican_resourcesync.transport import STANDARD_BOUNDS, Web, is_plain, shown

_IN_MEMORY = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is at a URI: its bytes, and the headers that came with them, if any."""

    stream: BinaryIO
    length: int
    headers: Message

    @property
    def media_type(self) -> str:
        """The media type stated by the host, or an empty string."""
        return self.headers.get_content_type() if "Content-Type" in self.headers else ""


class Place(Protocol):
    """A place where URIs are looked up."""

    def holds(self, uri: str) -> bool:
        """Return whether a URI can be looked up here."""
        ...

    def open(self, uri: str, *, size: int) -> "Opened":
        """Return what is at a URI, for a `with` statement.

        Raises `TransportError` if it cannot be read, or is larger than `size` bytes.
        """
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A context manager that closes what was found."""

    found: Found

    def __enter__(self) -> Found:
        return self.found

    def __exit__(self, *_: object) -> None:
        self.found.stream.close()


class Folder:
    """The output folder of a site, whose URL is learned from the first URI that leads to one of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.base: str | None = None

    def learn(self, uri: str) -> None:
        """Learn the URL of the folder from the URI of one of its documents, if possible."""
        parts = _split(uri)
        if self.base is not None or parts is None:
            return
        origin, path = parts
        names = path.split("/")
        for count in range(len(names)):
            if self._file("/".join(names[count:])) is not None:
                self.base = "/".join([origin, *names[:count], ""])
                return

    def holds(self, uri: str) -> bool:
        """Return whether a URI is below the folder's URL."""
        self.learn(uri)
        return self.base is not None and uri.startswith(self.base)

    def has(self, uri: str) -> bool:
        """Return whether a URI is below the folder's URL and has a file there."""
        return self.holds(uri) and self._file(uri.removeprefix(self.base or "")) is not None

    def open(self, uri: str, *, size: int) -> Opened:
        """Return the file that a static host would serve."""
        file = self._file(uri.removeprefix(self.base or "").partition("#")[0].partition("?")[0])
        if file is None:
            message = f"{shown(uri)} is not in the folder"
            raise AbsentError(message)
        try:
            length = file.stat().st_size
            if length > size:
                message = f"{shown(uri)} is larger than {size} bytes"
                raise TransportError(message)
            return Opened(Found(stream=file.open("rb"), length=length, headers=Message()))
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}"
            raise TransportError(message) from error

    def _file(self, path: str) -> Path | None:
        try:
            path = unquote(path, errors="strict").strip("/")
            file = self.folder / path if not path or is_plain(path) else None
            file = file / "index.html" if file and file.is_dir() else file
            inside = file is not None and file.is_file() and file.resolve().is_relative_to(self.folder)
        except (OSError, ValueError):
            return None
        return file if inside else None


class Internet:
    """The web. Hosts named by the user may have private addresses; hosts named only by documents may not."""

    def __init__(self, *named: str) -> None:
        self._named = {parts[0] for parts in map(_split, named) if parts}
        self._webs: dict[int, Web] = {}

    def holds(self, uri: str) -> bool:
        """Return whether a URI is an http(s) URL."""
        return _split(uri) is not None

    def open(self, uri: str, *, size: int) -> Opened:
        """Request a URI; large content is stored on disk."""
        parts = _split(uri)
        if parts is None:
            message = f"{shown(uri)!a} is no address to read from"
            raise TransportError(message)
        stream = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - returned open
        try:
            web = self._web(parts[0], size)
            received, headers = web.visit(uri.partition("#")[0], stream, public=parts[0] not in self._named)
        except BaseException:
            stream.close()
            raise
        stream.seek(0)
        return Opened(Found(stream=stream, length=received.length, headers=headers))

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
