"""The output folder of a site, read before it is public as a static host would serve it."""

from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pelican_resourcesync.errors import AbsentError, PermanentError, SourceError, TransportError
from pelican_resourcesync.http import (
    Client,
    Headers,
    Request,
    Response,
    Result,
    decoded,
    origin,
    path_of_uri,
    served_paths,
    shown,
)
from pelican_resourcesync.protocol import read, unreported
from pelican_resourcesync.system.files import inside

#: Where the standard has the Source Description of a host.
WELL_KNOWN = ".well-known/resourcesync"
#: Where publishers have it below a path; ours, too.
DESCRIPTION = "resourcesync/description.xml"
_STARTS = (WELL_KNOWN, DESCRIPTION, "description.xml", "capabilitylist.xml", "resourcelist.xml")
_BLOCK = 65_536
_DOCUMENT_FOLDERS = ("resourcesync", ".well-known")


class SiteFolder:
    """The output folder of a site, whose URL (`base`) is learned from the first URI that matches one of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.base: str | None = None
        # The owner of a site may keep the folders of the documents elsewhere, behind a symbolic link.
        self._roots = [self.folder / name for name in _DOCUMENT_FOLDERS]

    def learn(self, uri: str) -> None:
        """Learn the URL of the folder from the URI of one of its documents, if possible."""
        if self.base is not None or origin(uri) is None:
            return
        parts = urlsplit(uri)
        names = parts.path.removeprefix("/").split("/")
        for count in range(len(names)):
            base = "/".join([f"{parts.scheme}://{parts.netloc}", *names[:count], ""])
            if self._served(path_of_uri(base, uri)) is not None:
                self.base = base
                return

    def holds(self, uri: str) -> bool:
        """Return whether a URI is below the folder's URL."""
        self.learn(uri)
        return self.base is not None and uri.startswith(self.base)

    def file(self, uri: str) -> Path | None:
        """Return the file that a static host would serve for a URI, if it is inside the folder."""
        return self._served(path_of_uri(self.base or "", uri)) if self.holds(uri) else None

    def _served(self, path: str | None) -> Path | None:
        for served in served_paths(path) if path is not None else ():
            if file := inside(self.folder, served, *self._roots):
                return file
        return None


class FolderClient(Client):
    """Reads the output folder of a site as a static host would serve it, at the URL that its documents name."""

    def __init__(self, folder: Path) -> None:
        """Take the folder. Raises `SourceError` if no document contains its URL."""
        self._folder = SiteFolder(folder)
        self.start = self._learn()

    def get(self, request: Request) -> Response:
        """Read one file."""
        file = self._folder.file(request.url.partition("?")[0])
        if file is None:
            message = f"{shown(request.url)} is not in the folder {self._folder.folder}"
            raise AbsentError(message)
        if file.stat().st_size > request.bounds.size:
            message = f"{shown(request.url)} is larger than {request.bounds.size} bytes"
            raise PermanentError(message)
        response = Response(url=request.url, status=200, headers=Headers())
        with file.open("rb") as stream:
            request.sink.begin(response)
            for data in decoded(iter(lambda: stream.read(_BLOCK), b""), request, shown(request.url)):
                request.sink.write(data)
        return response

    def get_all(self, requests: Iterator[Request], **_: Any) -> Generator[Result, None, None]:
        """Read files one after another, without pauses."""
        for request in requests:
            try:
                yield request, self.get(request)
            except TransportError as error:
                yield request, error

    def _learn(self) -> str:
        site = self._folder
        for file in (site.folder / name for name in _STARTS):
            if file.is_file():
                with file.open("rb") as stream:
                    document = read(stream, name=str(file), left_out=unreported)
                    uris = [link.href for link in document.links]
                    uris += [entry.loc for entry in islice(document.entries, 100) if entry.loc]
                for uri in uris:
                    site.learn(uri)
                if site.base:
                    return site.base + file.relative_to(site.folder).as_posix()
        message = f"{site.folder} has no Source Description or Capability List that lists one of its files"
        raise SourceError(message)
