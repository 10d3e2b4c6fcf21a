"""The documents of a publication in a folder, read only if they have the hashes that `publication.json` lists."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.protocol import (
    Capability,
    ChangeKind,
    Document,
    Entry,
    EntryText,
    Root,
    as_written,
    parse_links,
    read,
    read_texts,
)
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.layout import SHARED, Layout, is_package
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Row, parse_representation
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.consistency import (
    Addresses,
    DamagedError,
    checked_changes,
    require_adjacent,
    require_capability,
    require_count,
    require_same_time,
    shown,
    time_of_change,
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
        if path.startswith("/") or ".." in path.split("/"):
            raise self._not_what(path)
        file = self.folder / path
        return measure(file)[0] if file.is_file() else None

    def _not_what(self, path: str) -> "DamagedError":
        return DamagedError(f"{shown(path)} is not what {self.layout.state} says")

    def whole(self, path: str) -> Iterator[Entry]:
        """Yield the entries of a document, which may be an index of parts."""
        for part in self._parts(path):
            yield from self.entries(part)

    def rows(self, path: str) -> Iterator[Row]:
        """Yield the resources in a document, which may be an index of parts."""
        for part in self._parts(path):
            yield from map(row_of, self.texts(part))

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

    def ranges(self, addresses: Addresses, *, read_later: bool = False) -> Iterator[Range]:
        """Yield the ranges in the Change List Index; only the open one has its changes.

        Closed documents that are to be `read_later` are only counted.
        """
        index, counted = self.layout.change_list_index, 0
        listed = list(self._intervals(index)) if index in self.state.documents else []
        require_adjacent(index, listed)
        for start, until in listed:
            path = self.layout.change_list(start)
            self.require(path)
            if not read_later:
                with self.open(path) as document:
                    md = require_capability(document, path, Capability.CHANGELIST)
                    require_same_time(path, "from", md.from_, start)
                    require_same_time(path, "until", md.until, until)
            found: tuple[Change, ...] = ()
            if until is None:
                texts = checked_changes(self.texts(path), path, start, self.state.at, addresses)
                found = tuple(change_of(each, path) for each in texts)
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
        return (change_of(each, path) for each in self.texts(path))

    def entries(self, path: str) -> Iterator[Entry]:
        """Yield the entries of the document at `path`."""
        with self.open(path) as document:
            yield from document.entries

    def texts(self, path: str) -> Iterator[EntryText]:
        """Yield the entries of the document at `path` as text."""
        with self.open_texts(path) as (_, entries):
            yield from entries

    @contextmanager
    def open(self, path: str) -> Iterator[Document]:
        """Open the document at `path` for reading."""
        self.require(path)
        with (self.folder / path).open("rb") as stream:
            yield read(stream, name=path)

    @contextmanager
    def open_as_written(self, path: str) -> Iterator[Document]:
        """Open the document at `path` for reading; its entries and all else must be as we write it."""
        with self.open(path) as document, (self.folder / path).open("rb") as stream:
            yield replace(document, entries=as_written(document, stream, name=path))

    @contextmanager
    def open_texts(self, path: str) -> Iterator[tuple[Document, Iterator[EntryText]]]:
        """Open the document at `path`, which must be as we write it, for reading with its entries as text."""
        self.require(path)
        with read_texts(lambda: (self.folder / path).open("rb"), name=path) as found:
            yield found

    def require(self, path: str) -> None:
        """Raise `DamagedError` if the state does not list the document at `path`."""
        if path not in self.state.documents:
            what = f"{shown(path)} is not named by {self.layout.state}"
            raise DamagedError(what)


def _count_entries(file: Path) -> int:
    """Return the number of entries of one of our documents, without parsing it."""
    return file.read_bytes().count(b"\n  <url>\n")


def change_of(text: EntryText, path: str) -> Change:
    """Return the change in an entry of the document at `path`."""
    time = time_of_change(text, path)
    representation = parse_representation(text.md) if text.described else None
    return Change(time, text.loc, ChangeKind(text.change), representation, parse_links(text.links))


def row_of(text: EntryText) -> Row:
    """Return the resource in an entry of a Resource List."""
    return Row(text.loc, text.md, text.links, text.lastmod)
