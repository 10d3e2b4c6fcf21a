"""Fetch packages, and take from them what is pending, checked as everything that is fetched."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, BinaryIO, Self

from pelican_resourcesync.destination.copy import (
    ALGORITHMS,
    MismatchedError,
    PartSink,
    Pending,
    State,
    part_name,
    strongest,
)
from pelican_resourcesync.destination.options import MirrorError, Options
from pelican_resourcesync.destination.source import Package, Source, text_of, uri_of, waiting_time
from pelican_resourcesync.errors import DocumentError, TransportError
from pelican_resourcesync.protocol import Capability, Entry, Metadata, read
from pelican_resourcesync.transport import Bounds, DamagedZipError, ZipLimits, ZipReader, shown

if TYPE_CHECKING:
    from pelican_resourcesync.destination.fetch import Fetch

MANIFEST = "manifest.xml"
_NONE = Metadata()
_MANIFESTS = {
    Capability.RESOURCEDUMP: Capability.RESOURCEDUMP_MANIFEST,
    Capability.CHANGEDUMP: Capability.CHANGEDUMP_MANIFEST,
}
_PAGE = 500  # entries of a manifest that are looked up at once
_BLOCK = 131_072
_SMALL = 100_000  # bytes of a member that is unpacked at once
_MOST_TAKEN = 20_000
_MOST_USED = 1_000  # packages that are remembered


class Packages:
    """Fetches packages, reads their manifests, and takes from them what is pending."""

    def __init__(self, state: State, source: Source, options: Options, note: Callable[[str], None]) -> None:
        self._state, self._source, self._options, self._note = state, source, options, note
        self._bounds = Bounds(timeout=options.timeout, total=options.resource_time, size=options.resource_size)
        self._limits = ZipLimits(member_size=options.resource_size)
        self._taken: set[str] = set()  # and perhaps not recorded yet

    @contextmanager
    def entries(self, package: Package) -> Iterator[Iterable[Entry]]:
        """Read the manifest of a package: of the copy that its dump names, else of the package itself.

        Raises `TransportError`, `DocumentError` or `DamagedZipError`, also while it is read.
        """
        if package.contents and self._source.allows(package.contents):
            opened = self._source.document(package.contents, _MANIFESTS[Capability(package.kind)], remembered=False)
            assert opened is not None  # noqa: S101 - it was not remembered
            with closing(opened):
                yield opened.entries
            return
        with self._archive(package) as archive, archive.open(MANIFEST) as stream:
            yield self._entries(package, stream)

    @contextmanager
    def opened(self, package: Package) -> Iterator[tuple[ZipReader, Iterable[Entry]]]:
        """Fetch a package; yield it open, with the entries of its own manifest. Raises what `entries` raises."""
        with self._archive(package) as archive, archive.open(MANIFEST) as stream:
            yield archive, self._entries(package, stream)

    def read(self, package: Package) -> Iterator[Entry]:
        """Yield the entries of the manifest of a package. Raises `DocumentError` if it is damaged."""
        try:
            with self.entries(package) as entries:
                yield from entries
        except DamagedZipError as error:
            message = f"the package {shown(package.uri)} cannot be used: {error}"
            raise DocumentError(message) from error

    def take(self, packages: Iterable[Package], fetch: "Fetch") -> None:
        """Take what is pending from some packages; one that cannot be used is noted, and its file removed."""
        for package in packages:
            try:
                self._take(package, fetch)
            except (TransportError, DocumentError, DamagedZipError, MirrorError) as error:
                self._note(
                    f"the package {shown(package.uri)} cannot be used, so what it holds is fetched singly: {error}"
                )
                fetch.finish()
            used = self._state.get("packages") or []
            self._state.set("packages", [*used[-_MOST_USED:], package.key])
            self._file(package).unlink(missing_ok=True)
        fetch.finish()
        self._taken.clear()

    def search(self, packages: Iterable[Package], fetch: "Fetch") -> None:
        """Take from some packages what cannot be had singly; only those are fetched whose manifests list some of it."""
        for package in packages:
            if not self._state.number("SELECT count(*) FROM pending WHERE NOT gone AND reason <> '' AND time <> ''"):
                return
            try:
                wanted = not package.contents or self._lists_any(package)
            except (TransportError, DocumentError):
                wanted = True  # its own manifest may be readable
            if wanted:
                self.take([package], fetch)

    def _lists_any(self, package: Package) -> bool:
        """Return whether the manifest of a package lists something that cannot be had singly."""
        listed = self.read(package)
        while page := [(uri_of(each, package.uri), each.md or _NONE, each) for each in islice(listed, _PAGE)]:
            found = self._state.pending({uri for uri, _, _ in page}, only_set_aside=True)
            if any(
                uri in found and md.path and _fits(found[uri], md, entry, strongest(md.hash)) for uri, md, entry in page
            ):
                return True
        return False

    def _take(self, package: Package, fetch: "Fetch") -> None:
        with self._archive(package) as archive, archive.open(MANIFEST) as stream:
            lines = iter(self._entries(package, stream))
            while entries := [(uri_of(each, package.uri), each.md or _NONE, each) for each in islice(lines, _PAGE)]:
                wanted = self._state.pending({uri for uri, _, _ in entries})
                found: dict[str, tuple[Pending, Metadata, str]] = {}
                for uri, md, entry in entries:
                    pending, listed = wanted.get(uri), strongest(md.hash)
                    if pending and md.path and uri not in self._taken and _fits(pending, md, entry, listed):
                        found[uri] = pending, md, listed
                for sink in fetch.sinks([pending for pending, _, _ in found.values()]):
                    self._unpack(archive, *found[sink.pending.uri][1:], sink, fetch)
                if len(self._taken) > _MOST_TAKEN:
                    fetch.finish()
                    self._taken.clear()

    def _unpack(self, archive: ZipReader, md: Metadata, listed: str, sink: PartSink, fetch: "Fetch") -> None:
        """Unpack a member, and install it if it is what the manifest, with the hash `listed`, and the list say."""
        name = (md.path or "").removeprefix("/")
        same = listed.partition(":")[0] == sink.pending.hash.partition(":")[0]
        try:
            if name not in archive or name.endswith("/"):
                message = "it is not in the package"
                raise DamagedZipError(message)  # noqa: TRY301
            data = archive.read(name, _SMALL)
            if data is None:
                fetch.take(sink, _blocks(archive, name, "" if same else listed))
            else:
                if not same:
                    _Check(listed).add(data).finish()
                fetch.take(sink, data)
        except MismatchedError as error:
            fetch.leave(sink)
            if same:
                raise DamagedZipError(_about(name, f"is not what its manifest says: {error}")) from error
            return  # the manifest may be right, and of another state
        except DamagedZipError as error:
            fetch.leave(sink)
            raise DamagedZipError(_about(name, f"cannot be used: {error}")) from error
        self._taken.add(sink.pending.uri)

    @contextmanager
    def _archive(self, package: Package) -> Iterator[ZipReader]:
        """Fetch a package, and open it; all its members are inspected before one is read."""
        file = self._file(package)
        self._fetch(package, file)
        with file.open("rb") as stream:
            archive = ZipReader(stream, self._limits)
            if archive.twice:
                raise DamagedZipError(_about(min(archive.twice), "is the name of two members"))
            if MANIFEST not in archive.names:
                message = f"it has no {MANIFEST}"
                raise DamagedZipError(message)
            for name in archive.names:
                problem = archive.problem(name)
                if problem:
                    raise DamagedZipError(_about(name, problem))
            yield archive

    def _entries(self, package: Package, stream: BinaryIO) -> Iterable[Entry]:
        document = read(stream, name=f"{shown(package.uri)}!/{MANIFEST}")
        kind = document.md.capability if document.md else None
        if kind != _MANIFESTS[Capability(package.kind)]:
            message = f"its manifest is a document of kind {kind!a}"
            raise DocumentError(message)
        return document.entries

    def _file(self, package: Package) -> Path:
        """Return the file of a package; it has this name when it is complete."""
        return self._state.parts / f"{part_name(package.key)}.zip"

    def _fetch(self, package: Package, file: Path) -> None:
        """Fetch a package, from where an earlier attempt ended, unless it is there."""
        source, options = self._source, self._options
        if file.exists():
            return
        if not source.allows(package.uri):
            message = "it is on another host"
            raise MirrorError(message)
        wanted = Pending(package.uri, package.hash, package.length, "", 0, None)
        part = file.with_suffix("")
        for attempt in range(options.retries + 1):
            while delay := source.pace.delay():
                sleep(delay)
            sink = PartSink(wanted, "", str(part), begun=part.exists())
            source.requests += 1
            try:
                response = source.client.get(source.request(package.uri, sink, self._bounds, sink.headers()))
                held = sink.verified(response)
                source.pace.take(held.length)
            except TransportError as error:
                sink.close()
                wait = waiting_time(error, attempt, options)
                if wait is None or attempt == options.retries:
                    raise
                sleep(wait)
            except BaseException:
                sink.close()
                raise
            else:
                part.replace(file)
                return


class _Check:
    """Compares bytes with a hash in a manifest, which may be empty."""

    def __init__(self, listed: str) -> None:
        self._algorithm, _, self._digest = listed.partition(":")
        self._hash = hashlib.new(ALGORITHMS.get(self._algorithm, "sha256"), usedforsecurity=False)

    def add(self, data: bytes) -> Self:
        """Take some bytes."""
        if self._digest:
            self._hash.update(data)
        return self

    def finish(self) -> None:
        """Raise `DamagedZipError` if the hash is another."""
        if self._digest and self._hash.hexdigest() != self._digest:
            message = f"it has another hash ({self._algorithm}) than its manifest says"
            raise DamagedZipError(message)


def _blocks(archive: ZipReader, name: str, listed: str) -> Iterator[bytes]:
    """Yield the bytes of a member; raises `DamagedZipError` if it is damaged, or has another hash than is listed."""
    check = _Check(listed)
    with archive.open(name) as member:
        while data := member.read(_BLOCK):
            check.add(data)
            yield data
    check.finish()


def _fits(pending: Pending, md: Metadata, entry: Entry, found: str) -> bool:
    """Return whether an entry of a manifest may be of the bytes that are wanted."""
    if md.encoding or (pending.length is not None and md.length is not None and md.length != pending.length):
        return False
    if pending.hash and found and pending.hash.partition(":")[0] == found.partition(":")[0]:
        return pending.hash == found
    if pending.hash:
        return True
    return bool(pending.time) and pending.time == text_of(md.datetime or entry.lastmod)


def _about(name: str, problem: str) -> str:
    return f"its member {name!a} {problem.removeprefix('names a member ').removeprefix('that ')}"
