"""Read back the documents of a publication that its state lists, after checking their hashes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pelican_resourcesync.errors import DocumentError, PublicationError, ResourceSyncError
from pelican_resourcesync.protocol import Document, Entry, Metadata, Root, read
from pelican_resourcesync.publication.model.change import Change, Representation
from pelican_resourcesync.publication.model.layout import SHARED, Layout, is_package
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Listed
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.transport import measure


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn errors into a `PublicationError` which says that the publication is damaged, and what to do."""
    try:
        yield
    except (DocumentError, OSError, DamagedError) as error:
        message = (
            f"the publication in {where} is damaged: {error}: restore it, or name another with the setting `previous` "
            "('none' begins anew)"
        )
        raise PublicationError(message) from error


class DamagedError(ResourceSyncError):
    """A publication is damaged."""


@dataclass(frozen=True, slots=True)
class Proven:
    """The documents in `folder` that are listed in `state`; no others are read."""

    folder: Path
    layout: Layout
    state: State

    def verify(self, *, packages: bool = True) -> None:
        """Compare every document of the set with its hash: `packages` if requested, superseded ones if they exist."""
        for path, digest in self.state.documents.items():
            wanted = path not in SHARED and (packages or not is_package(path))
            if wanted and self._sha256(path) != digest:
                raise self._not_what(path)
        for path, digest in self.state.superseded.items():
            if self._sha256(path) not in (digest, None):
                raise self._not_what(path)

    def _sha256(self, path: str) -> str | None:
        """Return the SHA-256 of a document, or `None` if it is missing."""
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise self._not_what(path)
        file = self.folder / path
        return measure(file)[0] if file.is_file() else None

    def _not_what(self, path: str) -> "DamagedError":
        return DamagedError(f"{path} is not what {self.layout.state} says")

    def whole(self, path: str) -> Iterator[Entry]:
        """Yield the entries of a document, which may be an index of parts."""
        with self._open(path) as document:
            if document.root is Root.URLSET:
                yield from document.entries
                return
            for pointer in document.entries:
                with self._open(pointer.loc.removeprefix(f"{self.layout.siteurl}/")) as part:
                    if part.root is not Root.URLSET:
                        what = f"{path} leads to {pointer.loc}, which is an index too"
                        raise DamagedError(what)
                    yield from part.entries

    def listed(self) -> Iterator[tuple[str, Listed]]:
        """Yield the resources of the Resource List by URI."""
        return ((entry.loc, listed_of(entry)) for entry in self.whole(self.layout.resource_list))

    def ranges(self) -> Iterator[Range]:
        """Yield the ranges in the Change List Index; only the open one has its changes."""
        index = self.layout.change_list_index
        for pointer in self.entries(index) if index in self.state.documents else ():
            if pointer.md is None or pointer.md.from_ is None:
                what = f"{index} lists {pointer.loc} without its from"
                raise DamagedError(what)
            start, until = pointer.md.from_, pointer.md.until
            path = self.layout.change_list(start)
            self.require(path)
            changes = () if until else tuple(self.changes(path))
            yield Range(start, until, changes, carried=until is not None)

    def changes(self, path: str) -> Iterator[Change]:
        """Yield the changes of a Change List."""
        return (_change(entry, path) for entry in self.entries(path))

    def entries(self, path: str) -> Iterator[Entry]:
        """Yield the entries of the document at `path`."""
        with self._open(path) as document:
            yield from document.entries

    @contextmanager
    def _open(self, path: str) -> Iterator[Document]:
        self.require(path)
        with (self.folder / path).open("rb") as stream:
            yield read(stream, name=path)

    def require(self, path: str) -> None:
        """Raise `DamagedError` if the state does not list the document at `path`."""
        if path not in self.state.documents:
            what = f"{path} is not named by {self.layout.state}"
            raise DamagedError(what)


def listed_of(entry: Entry) -> Listed:
    """Return the resource in an entry of a Resource List."""
    return Listed(_representation(entry), entry.lastmod, entry.links)


def _change(entry: Entry, path: str) -> Change:
    md = entry.md
    if md is None or md.change is None or entry.lastmod is None:
        what = f"{path}: the change of {entry.loc} lacks its kind or its time"
        raise DamagedError(what)
    shown = _representation(entry)
    return Change(entry.lastmod, entry.loc, md.change, None if shown == Representation() else shown, entry.links)


def _representation(entry: Entry) -> Representation:
    md = entry.md or Metadata()
    return Representation(md.hash[0] if md.hash else None, md.length, md.type)
