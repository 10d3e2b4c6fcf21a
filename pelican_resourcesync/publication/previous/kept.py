"""Check the documents that the next publication keeps as they are: closed Change Lists, dumps and archives.

Nothing else reads them before they are published again. This follows the links from the Capability List and reads all
that there is, as a Destination does, each document once.
"""

import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import file_digest
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from pelican_resourcesync.protocol import Capability, ChangeKind, Document, Entry, EntryText, Link, Metadata, Root
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.resource import MD5, SHA_256, Row
from pelican_resourcesync.publication.previous.consistency import (
    Addresses,
    DamagedError,
    checked_changes,
    require_adjacent,
    require_capability,
    require_same_time,
    shown,
)
from pelican_resourcesync.publication.previous.verified import VerifiedDocuments, row_of

_MANIFEST = "manifest.xml"
_ARCHIVES = {
    Capability.RESOURCELIST_ARCHIVE: Capability.RESOURCELIST,
    Capability.RESOURCEDUMP_ARCHIVE: Capability.RESOURCEDUMP,
    Capability.CHANGELIST_ARCHIVE: Capability.CHANGELIST,
    Capability.CHANGEDUMP_ARCHIVE: Capability.CHANGEDUMP,
}
_ALGORITHMS = {SHA_256: "sha256", MD5: "md5"}
_ANY = Metadata()
_BATCH = 4_096  # URIs whose last changes are compared with the Resource List at a time
#: The bytes of a member of a package besides its data and its name, and those at the end; the mode 0644.
_MEMBER, _END, _MODE = 30 + 46, 22, 0o100644 << 16


class KeptDocuments:
    """The documents of a publication, with the times in those that were read, by path."""

    def __init__(self, documents: VerifiedDocuments, addresses: Addresses) -> None:
        """Take the documents, and the addresses that URIs may have."""
        self._documents = documents
        self._addresses = addresses
        self._layout = documents.layout
        self._state = documents.state
        self._times: dict[str, Metadata] = {}

    def read_resources(self) -> Listing:
        """Read the Resource List. Raises `DamagedError` if it contradicts itself or cannot be published again."""
        path = self._layout.resource_list
        texts = self._texts(path, Capability.RESOURCELIST)
        listing = Listing.keep(self._resources(path, texts, self._addresses.require_current))
        require_same_time(path, "at", self._times[path].at, self._state.at)
        return listing

    def require_sound(self, resources: Listing) -> None:
        """Raise `DamagedError` unless all documents agree with each other and can be published again.

        `resources` is the content of the Resource List.
        """
        history = self._history = _History(resources)
        for entry in self._entries(self._layout.capability_list, Capability.CAPABILITYLIST):
            capability = Capability((entry.md or _ANY).capability or "")  # as `require_capabilities` has checked
            path = self._path(entry.loc)
            if capability in _ARCHIVES:
                for pointer in self._entries(path, capability):
                    self._follow(pointer, _ARCHIVES[capability], path, "")
            elif capability in (Capability.CHANGELIST, Capability.CHANGEDUMP):
                pointers = [*self._entries(path, capability)]
                require_adjacent(path, (_interval(each, path) for each in pointers))
                for pointer in pointers:
                    self._follow(pointer, capability, path, path)
            elif path not in self._times:
                self._read(path, capability, _ANY, "")
        history.require_complete(self._layout.resource_list)
        for path in sorted(self._state.documents.keys() - self._times.keys()):
            message = f"{self._layout.state} names {shown(path)}, to which no document leads"
            raise DamagedError(message)

    def _follow(self, pointer: Entry, capability: Capability, path: str, index: str) -> None:
        """Read the document to which an entry of the document at `path` leads; `index` is the index that lists it."""
        md = pointer.md or _ANY
        child = self._path(pointer.loc)
        if child not in self._times:
            self._read(child, capability, md, index)
        own = self._times[child]
        for name, found, expected in (
            ("at", own.at, md.at),
            ("from", own.from_, md.from_),
            ("until", own.until, md.until),
        ):
            require_same_time(child, name, found, expected)
        name = self._name(capability, md)
        if child != name:
            message = f"{path} leads to {shown(child)} instead of {name}"
            raise DamagedError(message)

    def _name(self, capability: Capability, md: Metadata) -> str:
        """Return the path that a document of this time has."""
        if md.at:
            return self._layout.archived(capability, md.at)
        start = md.from_ or self._state.at
        dump = capability == Capability.CHANGEDUMP
        return self._layout.change_dump(start) if dump else self._layout.change_list(start)

    def _read(self, path: str, capability: Capability, times: Metadata, index: str) -> None:
        """Read a document with all that it leads to."""
        until = times.until or self._state.at
        if capability == Capability.RESOURCELIST:
            for _ in self._resources(path, self._texts(path, capability)):
                pass
            return
        if capability == Capability.CHANGELIST:
            changes = self._changes(path, self._texts(path, capability, index), times.from_ or until, until)
            self._history.add(changes)
            return
        entries = self._entries(path, capability, index)
        if capability == Capability.RESOURCEDUMP:
            for number, entry in enumerate(entries, 1):
                at = self._times[path].at or until
                self._package(path, entry, self._layout.resource_dump_package(at, number), Metadata(at=at))
        else:
            before = times.from_ or until
            for entry in entries:
                start, end = _interval(entry, path)
                if end is None or not before <= start < end <= until:
                    message = f"{path}: the package {shown(entry.loc)} is not in order between {before} and {until}"
                    raise DamagedError(message)
                self._package(path, entry, self._layout.change_dump_package(end), Metadata(from_=start, until=end))
                before = end

    def _entries(self, path: str, capability: Capability, index: str = "") -> Iterator[Entry]:
        """Yield the entries of a document, or of the parts that it lists."""
        with self._documents.open_as_written(path) as document:
            parts = self._parts(path, document, document.entries, capability, index)
            if parts is None:
                yield from document.entries
        for part in parts or ():
            with self._documents.open_as_written(part) as document_part:
                self._require_part(part, document_part, path)
                yield from document_part.entries

    def _texts(self, path: str, capability: Capability, index: str = "") -> Iterator[EntryText]:
        """Yield the same as text."""
        with self._documents.open_texts(path) as (document, entries):
            parts = self._parts(path, document, entries, capability, index)
            if parts is None:
                yield from entries
        for part in parts or ():
            with self._documents.open_texts(part) as (document_part, entries):
                self._require_part(part, document_part, path)
                yield from entries

    def _parts(
        self, path: str, document: Document, entries: Iterable[Entry | EntryText], capability: Capability, index: str
    ) -> list[str] | None:
        """Check the head of a document; return the paths of its parts, or `None` if it has its own entries."""
        md = self._times[path] = require_capability(document, path, capability)
        if md != Metadata(capability=md.capability, at=md.at, from_=md.from_, until=md.until):
            message = f"{path} has more in its rs:md than its capability and its time"
            raise DamagedError(message)
        self._require_links(path, document.links, index)
        if document.root is Root.URLSET or capability in (Capability.CHANGELIST, Capability.CHANGEDUMP):
            return None
        return [self._path(pointer.loc) for pointer in entries]

    def _require_part(self, part: str, document: Document, path: str) -> None:
        """Check the head of a part of the document at `path`."""
        md = self._times[path]
        if document.root is not Root.URLSET:
            message = f"{path} leads to {part}, which is an index too"
            raise DamagedError(message)
        if require_capability(document, part, Capability(md.capability or "")) != md or part in self._times:
            message = f"{path} leads to {part}, which is not one of its parts"
            raise DamagedError(message)
        self._times[part] = md
        self._require_links(part, document.links, path)

    def _require_links(self, path: str, links: Iterable[Link], index: str) -> None:
        """Raise `DamagedError` unless the links of a document lead to the Capability List and to its index."""
        capabilities = self._layout.capability_list
        up = {"up": capabilities} if path != capabilities else {}
        expected = {**up, **({"index": index} if index else {})}
        found = {each.rel: self._path(each.href) for each in links if each.rel in ("up", "index")}
        for rel in sorted(found.items() ^ expected.items()) if path != capabilities else ():
            message = f"{path} has the link {rel[0]!r} to {shown(found.get(rel[0], 'nothing'))}"
            raise DamagedError(message)

    def _path(self, uri: str) -> str:
        """Return the path of a document by its URI, which may have a former address of the site."""
        return self._addresses.path_of(uri)

    def _resources(
        self, path: str, entries: Iterable[EntryText], require: Callable[[str, str], None] | None = None
    ) -> Iterator[Row]:
        before = ""
        require = require or self._addresses.require
        for each in entries:
            uri = each.loc
            require(uri, path)
            if uri <= before:
                message = f"{path}: {shown(uri)} is listed twice, or not in order"
                raise DamagedError(message)
            before = uri
            yield row_of(each)

    def _changes(
        self, path: str, entries: Iterable[EntryText], start: datetime, until: datetime
    ) -> Iterator[EntryText]:
        return checked_changes(entries, path, start, until, self._addresses)

    def _package(self, dump: str, entry: Entry, path: str, times: Metadata) -> None:
        """Check a package: what the dump says of it, its manifest, and the members that it has."""
        manifest = self._layout.manifest(path)
        contents = [self._path(each.href) for each in entry.links if each.rel == "contents"]
        md = entry.md or _ANY
        digest = self._state.documents.get(path)
        if self._path(entry.loc) != path or contents != [manifest] or digest not in [each.digest for each in md.hash]:
            message = f"{dump}: {shown(entry.loc)} is not the package {path} with the manifest {manifest}"
            raise DamagedError(message)
        require_same_time(dump, "at", md.at, times.at)
        self._times[path] = times
        members = self._members(manifest, times)
        file = self._documents.folder / path
        if file.is_file():  # those of a host are not always fetched
            if md.length != file.stat().st_size:
                message = f"{dump} says that {path} has {md.length} bytes, but it has {file.stat().st_size}"
                raise DamagedError(message)
            _require_members(file, path, members, (self._documents.folder / manifest).read_bytes())

    def _members(self, manifest: str, times: Metadata) -> dict[str, EntryText]:
        """Return what a manifest says of its members, by name."""
        kind = Capability.RESOURCEDUMP_MANIFEST if times.at else Capability.CHANGEDUMP_MANIFEST
        entries = [*self._texts(manifest, kind)]
        own = self._times[manifest]
        require_same_time(manifest, "at", own.at, times.at)
        require_same_time(manifest, "from", own.from_, times.from_)
        require_same_time(manifest, "until", own.until, times.until)
        checked: Iterator[object] = self._resources(manifest, entries)
        if times.from_ and times.until:
            checked = self._changes(manifest, entries, times.from_, times.until)
        deque(checked, maxlen=0)
        members: dict[str, EntryText] = {}
        for entry in entries:
            name = entry.path.removeprefix("/")
            if bool(name) == (entry.change == ChangeKind.DELETED) or name in members:
                message = f"{manifest}: {shown(entry.loc)} has no path of its own"
                raise DamagedError(message)
            if name:
                members[name] = entry
        return members


def _interval(entry: Entry, path: str) -> tuple[datetime, datetime | None]:
    if entry.md is None or entry.md.from_ is None:
        message = f"{path} lists {shown(entry.loc)} without its from"
        raise DamagedError(message)
    return entry.md.from_, entry.md.until


def _require_members(file: Path, path: str, members: Mapping[str, EntryText], manifest: bytes) -> None:
    """Raise `DamagedError` unless a package has its manifest and the bytes that this lists."""
    try:
        with zipfile.ZipFile(file) as package:
            found = package.infolist()
            sizes = {each.filename: each.file_size for each in found}
            expected = {**{name: _number(each.length) for name, each in members.items()}, _MANIFEST: len(manifest)}
            right = len(sizes) == len(found) and sizes == expected and package.read(_MANIFEST) == manifest
            right = right and _is_plain(found, file.stat().st_size)
            for name, each in members.items() if right else ():
                algorithm, _, digest = each.hash.partition(":")
                if algorithm in _ALGORITHMS:
                    with package.open(name) as stream:
                        found_digest = file_digest(cast("BufferedIOBase", stream), _ALGORITHMS[algorithm]).hexdigest()
                        right = right and found_digest == digest
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        message = f"{path} cannot be read: {error}"
        raise DamagedError(message) from error
    if not right:
        message = f"{path} has other members than its manifest lists"
        raise DamagedError(message)


def _number(text: str) -> int | None:
    return int(text) if text else None


def _is_plain(members: Collection[zipfile.ZipInfo], size: int) -> bool:
    """Return whether a package consists of these plain files alone: no comment, extra field, link or other bytes.

    Packages that are so large that they need ZIP64 are not measured.
    """
    least = _END + sum(_MEMBER + 2 * len(each.filename.encode()) + each.compress_size for each in members)
    is_small = size < zipfile.ZIP64_LIMIT and len(members) < zipfile.ZIP_FILECOUNT_LIMIT
    return (size == least or not is_small) and all(each.external_attr == _MODE for each in members)


class _History:
    """The changes of all kept Change Lists, oldest first, which lead to the Resource List.

    Only URIs whose last change so far is not the one in the Resource List are remembered.
    """

    def __init__(self, resources: Listing) -> None:
        self._resources = resources
        self._pending: dict[str, EntryText] = {}
        self._added: dict[str, EntryText] = {}

    def add(self, changes: Iterable[EntryText]) -> None:
        """Add changes, of which the last ones of some thousands of URIs are compared at a time."""
        for change in changes:
            self._added[change.loc] = change
            if len(self._added) == _BATCH:
                self._compare()

    def _compare(self) -> None:
        rows = self._resources.rows_of(self._added)
        for uri, change in self._added.items():
            listed = rows.get(uri)
            right = (
                listed is not None
                and change.change != ChangeKind.DELETED
                and listed.lastmod == change.lastmod
                and (not change.hash or f'"{change.hash}"' in listed.representation)
            )
            if right:
                self._pending.pop(uri, None)
            else:
                self._pending[uri] = change
        self._added = {}

    def require_complete(self, path: str) -> None:
        """Raise `DamagedError` unless everything else was deleted."""
        self._compare()
        for uri, change in self._pending.items():
            if change.change != ChangeKind.DELETED or uri in self._resources:
                message = f"{path} contradicts the last change of {shown(uri)}: {change.change} at {change.lastmod}"
                raise DamagedError(message)
