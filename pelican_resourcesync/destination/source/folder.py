"""Read a Source from the output folder of a site, before it is public."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.destination.options import WELL_KNOWN, MirrorError
from pelican_resourcesync.errors import AbsentError, TransportError
from pelican_resourcesync.protocol import read
from pelican_resourcesync.transport import Client, Headers, Pace, Request, Response, is_plain, origin, shown

_STARTS = (
    WELL_KNOWN,
    "resourcesync/description.xml",
    "description.xml",
    "capabilitylist.xml",
    "resourcelist.xml",
)


class FolderClient(Client):
    """Reads the output folder of a site as a static host would serve it, at the URL that its documents name."""

    def __init__(self, folder: Path) -> None:
        """Take the folder. Raises `MirrorError` if no document contains its URL."""
        self._folder = folder.resolve()
        self.start, self._base = self._learn()

    def get(self, request: Request) -> Response:
        """Read one file."""
        path = unquote(request.url.partition("#")[0].partition("?")[0].removeprefix(self._base)).strip("/")
        file = self._folder / path
        inside = request.url.startswith(self._base) and (not path or is_plain(path))
        if inside and file.is_dir():
            file /= "index.html"
        if inside and not file.exists():  # a clean URL, as many hosts serve it
            file = file.with_name(f"{file.name}.html")
        if not inside or not file.is_file() or not file.resolve().is_relative_to(self._folder):
            message = f"{shown(request.url)} is not in the folder {self._folder}"
            raise AbsentError(message)
        if file.stat().st_size > request.bounds.size:
            message = f"{shown(request.url)} is larger than {request.bounds.size} bytes"
            raise TransportError(message)
        response = Response(url=request.url, status=200, headers=Headers())
        with file.open("rb") as stream:
            request.sink.begin(response)
            while data := stream.read(1 << 16):
                request.sink.write(data)
        return response

    def get_all(
        self,
        requests: Iterator[Request],
        *,
        jobs: int,  # noqa: ARG002 - a folder is read by one
        pace: Pace | None = None,  # noqa: ARG002 - and without pauses
    ) -> Iterator[tuple[Request, Response | TransportError]]:
        """Read files one after another."""
        for request in requests:
            try:
                yield request, self.get(request)
            except TransportError as error:
                yield request, error

    def close(self) -> None:
        """Do nothing: no connection is open."""

    def _learn(self) -> tuple[str, str]:
        for name in _STARTS:
            file = self._folder / name
            if file.is_file():
                with file.open("rb") as stream:
                    document = read(stream, name=str(file))
                    uris = [link.href for link in document.links]
                    uris += [entry.loc for entry, _ in zip(document.entries, range(100), strict=False)]
                for uri in uris:
                    base = self._base_of(uri)
                    if base:
                        return base + name, base
        message = f"{self._folder} has no Source Description or Capability List that names one of its files"
        raise MirrorError(message)

    def _base_of(self, uri: str) -> str:
        if origin(uri) is None:
            return ""
        parts = urlsplit(uri)
        names = parts.path.removeprefix("/").split("/")
        for count in range(len(names)):
            path = unquote("/".join(names[count:]))
            if path and is_plain(path) and (self._folder / path).is_file():
                return "/".join([f"{parts.scheme}://{parts.netloc}", *names[:count], ""])
        return ""
