"""The documents of a publication in a folder, read only if they have the hashes that `publication.json` lists."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.files import measure
from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import Document, Entry, Root, read
from pelican_resourcesync.publication.model.layout import Layout, is_package
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.model.state import PublicationState

_SHOWN = 200  # characters of a URI in a message


class DamagedError(ResourceSyncError):
    """A publication is damaged."""


def shown(uri: str) -> str:
    """Return a URI or path as it is shown in a message."""
    return printable(uri[:_SHOWN]) + ("…" if len(uri) > _SHOWN else "")


@dataclass(frozen=True, slots=True)
class VerifiedDocuments:
    """The documents in `folder` that are listed in `state`; no others are read."""

    folder: Path
    layout: Layout
    state: PublicationState

    def verify(self, *, packages: bool = True) -> None:
        """Compare every document of the set with its hash, and `packages`, if requested, with their lengths.

        Superseded ones may be missing. Packages may be large, and were hashed if they came over the network.
        """
        for path, digest in {**self.state.superseded, **self.state.documents}.items():
            if (packages or not is_package(path)) and not self._is_intact(path, digest):
                what = f"{shown(path)} is not what {self.layout.state} says"
                raise DamagedError(what)

    def _is_intact(self, path: str, digest: str) -> bool:
        if path.startswith("/") or ".." in path.split("/"):
            return False
        file = self.folder / path
        if not file.is_file():
            return path not in self.state.documents
        return file.stat().st_size == self.state.packages.get(path) if is_package(path) else measure(file)[0] == digest

    def whole(self, path: str) -> Iterator[Entry]:
        """Yield the entries of a document, which may be an index of parts."""
        for part in self._parts(path):
            yield from self.entries(part)

    def files(self, path: str) -> list[Path]:
        """Return the file of a document, or those of its parts if it is an index."""
        parts = self._parts(path)
        for part in parts:
            self.require(part)
        return [self.folder / part for part in parts]

    def _parts(self, path: str) -> list[str]:
        with self.open(path) as document:
            if document.root is Root.URLSET:
                return [path]
            return [pointer.loc.removeprefix(f"{self.layout.siteurl}/") for pointer in document.entries]

    def ranges(self) -> Iterator[Range]:
        """Yield the ranges of the Change Lists."""
        for each in self.state.change_lists:
            self.require(each.path)
            yield Range(
                start=each.start,
                until=each.until,
                counts=(each.created, each.updated, each.deleted),
                bodies=(Body(self.folder / each.path, is_draft=False),),
                unchanged=True,
            )

    def entries(self, path: str) -> Iterator[Entry]:
        """Yield the entries of the document at `path`."""
        with self.open(path) as document:
            yield from document.entries

    @contextmanager
    def open(self, path: str) -> Iterator[Document]:
        """Open the document at `path` for reading."""
        self.require(path)
        with (self.folder / path).open("rb") as stream:
            yield read(stream, name=path)

    def require(self, path: str) -> None:
        """Raise `DamagedError` if the state does not list the document at `path`."""
        if path not in self.state.documents:
            what = f"{shown(path)} is not named by {self.layout.state}"
            raise DamagedError(what)
