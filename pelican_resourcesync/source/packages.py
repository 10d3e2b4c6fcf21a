"""The packages that the dumps of a set name: their manifests, and their members, compared with what is listed."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pelican_resourcesync.errors import DocumentError, MismatchError, SourceError
from pelican_resourcesync.http import DamagedZipError, Headers, Request, Response, ZipLimits, ZipReader, shown
from pelican_resourcesync.protocol import Capability, Entry, Metadata, read, unreported
from pelican_resourcesync.source.discovery import SourceSet
from pelican_resourcesync.source.receive import Expected, ResourceSink, VerifiedContent, part_name
from pelican_resourcesync.source.resource import (
    ALGORITHMS,
    ListedResource,
    listed_change,
    listed_resource,
    strongest,
    text_of,
    uri_of,
    why_unreadable,
)
from pelican_resourcesync.source.source import Source

MANIFEST = "manifest.xml"
_NONE = Metadata()
_TYPES = ("", "application/zip", "application/x-zip-compressed")
_MANIFESTS = {
    Capability.RESOURCEDUMP: Capability.RESOURCEDUMP_MANIFEST,
    Capability.CHANGEDUMP: Capability.CHANGEDUMP_MANIFEST,
}
_BLOCK = 131_072
_SMALL = 100_000  # bytes of a member that is unpacked at once
_UNPACKED = Response(url="", status=200, headers=Headers())  # the head of what a package has


class ListedPackage(NamedTuple):
    """A package as a dump lists it; `begin` and `until` are the times of what it has, empty if they are unknown.

    `contents` is the URI of a copy of its manifest.
    """

    uri: str
    kind: Capability
    hash: str
    length: int | None
    begin: str
    until: str
    contents: str

    @property
    def time(self) -> str:
        """The time of the last change that it has."""
        return self.until

    @property
    def key(self) -> str:
        """What it is remembered by: others use an address again."""
        return f"{self.uri} {self.hash} {self.until}"


class ListedDumps:
    """The packages of a set, as its Resource Dump and its Change Dumps list them, of now and of its archives."""

    def __init__(self, source: Source, resource_set: SourceSet) -> None:
        self._source, self._documents = source, resource_set.documents

    def of_resources(self) -> list[ListedPackage]:
        """Return the packages of the current Resource Dump."""
        uri = self._documents.get(Capability.RESOURCEDUMP)
        return self.in_dump(uri) if uri else []

    def in_dump(self, uri: str, at: str = "") -> list[ListedPackage]:
        """Return the packages of a Resource Dump; `at` is its time if it does not say that itself."""
        with closing(self._source.entries(uri, Capability.RESOURCEDUMP, remembered=False)) as entries:
            at = text_of(entries.md.at) or at
            return [_package(each, uri, Capability.RESOURCEDUMP, "", at) for each in self._source.limited(entries, uri)]

    def of_changes(self, since: str) -> list[ListedPackage]:
        """Return the packages of the Change Dumps that have changes of a time or later, in order."""
        found: dict[str, ListedPackage] = {}
        for capability in (Capability.CHANGEDUMP_ARCHIVE, Capability.CHANGEDUMP):
            if capability in self._documents:
                for each in self._changes(
                    self._documents[capability], capability, since, {self._documents[capability]}
                ):
                    found.setdefault(each.uri, each)
        return [each for each in found.values() if not each.until or each.until >= since]

    def _changes(self, uri: str, capability: Capability, since: str, read: set[str]) -> Iterator[ListedPackage]:
        """Yield the packages of a Change Dump, of those that an index names, or of those in an archive."""
        with closing(self._source.whole_document(uri, capability)) as opened:
            document, entries = opened.document, list(self._source.limited(opened.entries, uri))
        if not opened.is_index and capability == Capability.CHANGEDUMP:
            md = document.md or _NONE
            for each in entries:
                yield _package(each, uri, capability, text_of(md.from_), text_of(md.until))
            return
        for each in entries:
            until = text_of((each.md or _NONE).until)
            loc = uri_of(each.loc, uri)
            if (not until or until >= since) and loc not in read:
                read.add(loc)
                inner = capability if opened.is_index else Capability.CHANGEDUMP
                yield from self._changes(loc, inner, since, read)


def _package(entry: Entry, base: str, kind: Capability, begin: str, until: str) -> ListedPackage:
    md = entry.md or _NONE
    contents = next((uri_of(link.href, base) for link in entry.links if link.rel == "contents"), "")
    if kind == Capability.CHANGEDUMP:
        begin, until = text_of(md.from_) or begin, text_of(md.until) or until
    else:
        until = text_of(md.at) or until
    uri = uri_of(entry.loc, base) if (md.type or "") in _TYPES else ""
    return ListedPackage(uri, kind, strongest(md.hash), md.length, begin, until, contents)


class OpenPackage:
    """A package whose members were all inspected; `resources` are those of its manifest, read as they are needed."""

    def __init__(self, archive: ZipReader, resources: Iterator[ListedResource]) -> None:
        self._archive, self.resources = archive, resources

    def unpack(self, member: ListedResource, sink: ResourceSink) -> VerifiedContent | None:
        """Let a sink receive a member; return None if it is another state of the resource than the list describes.

        Raises `DamagedZipError` if it is not what the manifest says, so that nothing in the package can be trusted.
        """
        same = member.hash.partition(":")[0] == sink.expected.hash.partition(":")[0]
        name = member.path
        try:
            sink.begin(_UNPACKED)
            for data in self._blocks(name) if same else _checked(self._blocks(name), member.hash):
                sink.write(data)
            return sink.verified()
        except MismatchError as error:
            if same:
                raise DamagedZipError(_about(name, f"does not match its manifest: {error}")) from error
            return None  # the manifest may be right, and of another state
        except DamagedZipError as error:
            sink.discard()
            raise DamagedZipError(_about(name, f"cannot be used: {error}")) from error

    def _blocks(self, name: str) -> Iterator[bytes]:
        if name not in self._archive or name.endswith("/"):
            message = "it is not in the package"
            raise DamagedZipError(message)
        data = self._archive.read(name, _SMALL)
        if data is not None:
            yield data
            return
        with self._archive.open(name) as member:
            while data := member.read(_BLOCK):
                yield data


class Packages:
    """Fetches packages, and opens them or reads their manifests."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._limits = ZipLimits(member_size=source.options.max_size)

    def read(self, package: ListedPackage) -> Iterator[ListedResource]:
        """Yield the resources of the manifest of a package: of the copy that its dump names, else of the package.

        Raises `TransportError`, or `DocumentError` if it is damaged.
        """
        if package.contents and self._source.allows(package.contents):
            with closing(self._source.whole_document(package.contents, _MANIFESTS[package.kind])) as opened:
                yield from _listed(opened.entries, package)
            return
        try:
            with self.opened(package) as inside:
                yield from inside.resources
        except DamagedZipError as error:
            message = f"the package {shown(package.uri)} cannot be used: {error}"
            raise DocumentError(message) from error

    @contextmanager
    def opened(self, package: ListedPackage) -> Iterator[OpenPackage]:
        """Fetch a package unless it is there, and open it; all its members are inspected before one is read.

        Raises `TransportError`, `DocumentError`, `SourceError` or `DamagedZipError`, also while its manifest is read.
        """
        with self._fetched(package).open("rb") as stream:
            archive = ZipReader(stream, self._limits)
            if archive.twice:
                raise DamagedZipError(_about(min(archive.twice), "occurs twice"))
            if MANIFEST not in archive.names:
                message = f"it has no {MANIFEST}"
                raise DamagedZipError(message)
            for name in archive.names:
                problem = archive.problem(name)
                if problem:
                    raise DamagedZipError(_about(name, problem))
            with archive.open(MANIFEST) as manifest:
                document = read(manifest, name=f"{shown(package.uri)}!/{MANIFEST}", left_out=unreported)
                kind = document.md.capability if document.md else None
                if kind != _MANIFESTS[package.kind]:
                    message = f"its manifest is a document of kind {kind!a}, not {str(_MANIFESTS[package.kind])!a}"
                    raise DocumentError(message)
                yield OpenPackage(archive, _listed(document.entries, package))

    def remove(self, package: ListedPackage) -> None:
        """Remove the file of a package."""
        file = self._file(package)
        file.unlink(missing_ok=True)
        self._source.space.count(str(file.with_suffix("")), 0)

    def _file(self, package: ListedPackage) -> Path:
        """Return the file of a package; it has this name when it is complete."""
        return self._source.memory.parts / f"{part_name(package.key)}.zip"

    def _fetched(self, package: ListedPackage) -> Path:
        """Return the file of a package, which is fetched from where an earlier attempt ended, unless it is there."""
        source, file = self._source, self._file(package)
        if file.exists():
            return file
        if not source.allows(package.uri):
            message = "it is on another host"
            raise SourceError(message)
        part = file.with_suffix("")
        sink = ResourceSink(package, str(part), begun=part.exists())

        def make_request() -> Request:
            return source.request(package.uri, sink, sink.headers())

        try:
            source.fetch(make_request)
            source.pace.take(sink.verified().length)
            sink.save()
        finally:
            sink.close()
        part.replace(file)
        return file


def _listed(entries: Iterable[Entry], package: ListedPackage) -> Iterator[ListedResource]:
    """Yield what the entries of a manifest say."""
    listed = listed_resource if package.kind == Capability.RESOURCEDUMP else listed_change
    return (listed(each, package.uri) for each in entries)


def _checked(blocks: Iterator[bytes], expected: str) -> Iterator[bytes]:
    """Yield blocks. Raises `DamagedZipError` if they do not have the hash of a manifest, which may be empty."""
    algorithm, _, digest = expected.partition(":")
    found = hashlib.new(ALGORITHMS.get(algorithm, "sha256"), usedforsecurity=False)
    for data in blocks:
        found.update(data)
        yield data
    if expected and found.hexdigest() != digest:
        message = f"its hash ({algorithm}) is not the one in its manifest"
        raise DamagedZipError(message)


def may_contain(member: ListedResource, wanted: Expected) -> bool:
    """Return whether a member of a package may be the bytes that are wanted."""
    if why_unreadable(member.hash) or why_unreadable(wanted.hash):
        return False
    if not member.path or (None not in (wanted.length, member.length) and member.length != wanted.length):
        return False
    if wanted.hash and member.hash and wanted.hash.partition(":")[0] == member.hash.partition(":")[0]:
        return wanted.hash == member.hash
    return bool(wanted.hash) or (bool(wanted.time) and wanted.time == member.time)


def _about(name: str, problem: str) -> str:
    return f"its member {name!a} {problem.removeprefix('names a member ').removeprefix('that ')}"
