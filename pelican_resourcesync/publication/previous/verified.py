"""The documents of a publication in a folder, read only if they have the hashes that `publication.json` lists."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from pelican_resourcesync.protocol import Capability, Document, Entry, Metadata, Root, read
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.layout import SHARED, Layout, is_package
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Listed, Representation
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.consistency import (
    Addresses,
    DamagedError,
    checked_changes,
    checked_resources,
    require_adjacent,
    require_capability,
    require_count,
    require_same_time,
    shown,
)
from pelican_resourcesync.transport import measure


@dataclass(frozen=True, slots=True)
class VerifiedDocuments:
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
        return DamagedError(f"{shown(path)} is not what {self.layout.state} says")

    def whole(self, path: str) -> Iterator[Entry]:
        """Yield the entries of a document, which may be an index of parts."""
        with self.open(path) as document:
            if document.root is Root.URLSET:
                yield from document.entries
                return
            for pointer in document.entries:
                with self.open(pointer.loc.removeprefix(f"{self.layout.siteurl}/")) as part:
                    if part.root is not Root.URLSET:
                        what = f"{path} leads to {pointer.loc}, which is an index too"
                        raise DamagedError(what)
                    yield from part.entries

    def listed(self, addresses: Addresses) -> Iterator[tuple[str, Listed]]:
        """Yield the resources of the Resource List by URI; they have valid `addresses`."""
        path = self.layout.resource_list
        with self.open(path) as document:
            require_same_time(path, "at", require_capability(document, path, Capability.RESOURCELIST).at, self.state.at)
        found = ((entry.loc, listed_of(entry)) for entry in self.whole(path))
        for uri, listed in checked_resources(found, path, addresses):
            addresses.require_current(uri, path)
            yield uri, listed

    def ranges(self, addresses: Addresses) -> Iterator[Range]:
        """Yield the ranges in the Change List Index; only the open one has its changes."""
        index, counted = self.layout.change_list_index, 0
        listed = list(self._intervals(index)) if index in self.state.documents else []
        require_adjacent(index, listed)
        for start, until in listed:
            path = self.layout.change_list(start)
            with self.open(path) as document:
                md = require_capability(document, path, Capability.CHANGELIST)
                require_same_time(path, "from", md.from_, start)
                require_same_time(path, "until", md.until, until)
            found = () if until else tuple(checked_changes(self.changes(path), path, start, self.state.at, addresses))
            counted += len(found) or _count_entries(self.folder / path)
            yield Range(start, until, found, unchanged=until is not None)
        require_count(self.state, self.layout.state, counted)

    def _intervals(self, index: str) -> Iterator[tuple[datetime, datetime | None]]:
        for pointer in self.entries(index):
            if pointer.md is None or pointer.md.from_ is None:
                what = f"{index} lists {pointer.loc} without its from"
                raise DamagedError(what)
            yield pointer.md.from_, pointer.md.until

    def changes(self, path: str) -> Iterator[Change]:
        """Yield the changes of a Change List."""
        return (change_of(entry, path) for entry in self.entries(path))

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


def _count_entries(file: Path) -> int:
    """Return the number of entries of one of our documents, without parsing it."""
    with file.open("rb") as stream:
        return sum(line.strip() == b"<url>" for line in stream)


def listed_of(entry: Entry) -> Listed:
    """Return the resource in an entry of a Resource List."""
    return Listed(_representation(entry), entry.lastmod, entry.links)


def change_of(entry: Entry, path: str) -> Change:
    """Return the change in an entry of the document at `path`."""
    md = entry.md
    if md is None or md.change is None or entry.lastmod is None:
        what = f"{path}: the change of {entry.loc} lacks its kind or its time"
        raise DamagedError(what)
    require_same_time(path, "datetime", md.datetime or entry.lastmod, entry.lastmod)
    said = _representation(entry)
    return Change(entry.lastmod, entry.loc, md.change, None if said == Representation() else said, entry.links)


def _representation(entry: Entry) -> Representation:
    md = entry.md or Metadata()
    return Representation(md.hash[0] if md.hash else None, md.length, md.type)
