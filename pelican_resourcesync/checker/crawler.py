"""Visit a Source: read each document once, however many links lead to it, and record the references between them.

All listed, packed and changed resources are recorded in a database on disk, so that memory use stays bounded.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, BinaryIO

from pelican_resourcesync.checker.document import CheckedDocument, DocumentState, RuleOptions, Sink, check_document
from pelican_resourcesync.checker.resources import (
    MANIFEST,
    CheckedPackage,
    CheckedResource,
    Fetcher,
    Prefetcher,
    ResourceChecker,
    check_package,
)
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.checker.scan import NO_ENTRY, RawEntry
from pelican_resourcesync.errors import TooLargeError, TransportError
from pelican_resourcesync.http import shown
from pelican_resourcesync.protocol import Capability

_TABLES = """
PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA temp_store=FILE;
CREATE TABLE listed (snapshot INT, uri INT, document INT, line INT, hash TEXT);
CREATE TABLE changed (series INT, uri INT, document INT, line INT, hash TEXT, time REAL, change TEXT);
CREATE TABLE linked (owner INT, uri INT, document INT, line INT, header INT, links TEXT);
"""
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS listed_uri ON listed (snapshot, uri)",
    "CREATE INDEX IF NOT EXISTS changed_uri ON changed (series, uri, time)",
    "CREATE INDEX IF NOT EXISTS changed_time ON changed (series, time)",
)
EntryFault = tuple[int, int, str]
"""The number of a document, the line of an entry in it, and a message."""
Row = tuple[Any, ...]


def packed_id(number: int) -> int:
    """Return the number for the packed entries of a list or set, which differs from those of all listed entries."""
    return -1 - number


def key(uri: str) -> int:
    """Return a 64-bit hash of a URI; it differs in each process, so nobody can choose URIs that collide."""
    return hash(uri)


@dataclass(slots=True)
class EntryDatabase:
    """A database of entries by the hash of their URI.

    The caller chooses the numbers: of a `document`, of a `snapshot` (a Resource List with all of its parts or, with
    `dumped`, a Resource Dump) and of a `series` (all Change Lists of a set or, with `dumped`, its Change Dumps).
    """

    _base: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect(""))

    def __post_init__(self) -> None:
        self._base.executescript(_TABLES)

    def resource(self, snapshot: int, document: int, item: RawEntry) -> None:
        """Record an entry of a Resource List, or of a manifest of a Resource Dump."""
        row = snapshot, key(item.loc), document, item.line, item.md.get("hash")
        self._base.execute("INSERT INTO listed VALUES (?, ?, ?, ?, ?)", row)

    def change(self, series: int, document: int, item: RawEntry, time: float | None) -> None:
        """Record an entry of a Change List or of a Change Dump Manifest; `time` is None if it is uncertain."""
        kind = item.md.get("change", "").strip()
        row = series, key(item.loc), document, item.line, item.md.get("hash"), time, kind
        self._base.execute("INSERT INTO changed VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def link(self, owner: int, document: int, item: RawEntry, links: tuple[str, ...], *, header: bool) -> None:
        """Record the targets of a listed resource's own `rel=resourcesync` links, in its page or in its headers."""
        row = owner, key(item.loc), document, item.line, header, "\n".join((item.loc, *links))
        self._base.execute("INSERT INTO linked VALUES (?, ?, ?, ?, ?, ?)", row)

    def ask(self, query: str, *values: object) -> Iterator[Row]:
        """Return the rows that a query finds among everything recorded so far."""
        for index in _INDEXES:
            self._base.execute(index)
        return self._base.execute(query, values)

    def put(self, query: str, *values: object) -> None:
        """Run a statement that changes the tables of `comparison`."""
        for _ in self.ask(query, *values):
            pass

    def repeated(self) -> Iterator[EntryFault]:
        """Yield the entries of Resource Lists whose URI an earlier entry already has (RL03)."""
        once = "SELECT MIN(rowid) FROM listed WHERE snapshot >= 0 GROUP BY snapshot, uri"
        more = "SELECT 1 FROM listed WHERE snapshot >= 0 GROUP BY snapshot, uri HAVING COUNT(*) > 1 LIMIT 1"
        if any(self.ask(more)):
            again = f"snapshot >= 0 AND rowid NOT IN ({once})"
            query = f"SELECT document, line FROM listed WHERE {again} ORDER BY rowid"  # noqa: S608 - no outside input
            for document, line in self.ask(query):
                yield document, line, "the resource is already listed"

    def linked(self, *, header: bool) -> Iterator[Row]:
        """Return the owner, URI, document, line and links of each resource with links in its page, or its headers."""
        return self.ask("SELECT owner, uri, document, line, links FROM linked WHERE header = ? ORDER BY rowid", header)

    def holds(self, snapshot: int, uri: int) -> bool:
        """Return whether a Resource List has an entry with the hash of a URI."""
        return any(self.ask("SELECT 1 FROM listed WHERE snapshot = ? AND uri = ? LIMIT 1", snapshot, uri))

    def close(self) -> None:
        """Close the database, which frees its disk space."""
        self._base.close()


@dataclass(slots=True, kw_only=True)
class Reference:
    """A reference from one document to another document or to a package.

    `kind` is "entry", "contents", "package" or the relation of a link. `child` is the document that was read, or None;
    `absence` then says why it could not be read. `length` is that of a package, in bytes.
    """

    kind: str
    parent: CheckedDocument
    uri: str
    line: int
    item: RawEntry = NO_ENTRY
    child: CheckedDocument | None = None
    absence: str = ""
    length: int | None = None


@dataclass(slots=True)
class Visit:
    """A document or package to visit.

    `owner` is the Capability List, or the Source Description, whose entries led to it. `top` is the list, dump or index
    that the document or manifest is part of; if empty, the document itself.
    """

    uri: str
    reference: Reference | None = None
    owner: str = ""
    archived: bool = False
    hops: int = 0
    top: str = ""

    @property
    def whole(self) -> str:
        """The URI of the list, dump or index that it is part of, or its own."""
        return self.top or self.uri


#: Capabilities whose documents are visited from a Capability List.
_FOLLOWED = frozenset(Capability) - {"description", "resourcedump-manifest", "changedump-manifest"}
_DUMPS = frozenset(("resourcedump", "changedump"))
#: Capabilities of manifests, both in packages and as separate copies.
MANIFESTS = frozenset(("resourcedump-manifest", "changedump-manifest"))
_LINKS = ("up", "index", "archives")


@dataclass(slots=True, kw_only=True)
class Crawler:
    """The state of a visit: documents by URI, the references between them, and the database of entries.

    `owners` maps each document to its Capability List, and `tops` maps it to the list, dump or index that it is part
    of. `broken` holds the tops with a part that was not read, or that was read as part of another top. `manifests` maps
    the URI of a package to its manifest, whose entries are in the database.
    """

    fetcher: Fetcher
    options: RuleOptions
    findings: Findings
    most: int
    root: str = ""
    deep: ResourceChecker | None = None
    jobs: int = 1
    packages: int = 0
    progress: Callable[[str], None] = lambda _: None
    hops: int | None = None
    documents: dict[str, CheckedDocument | None] = field(default_factory=dict)
    references: list[Reference] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    tops: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    manifests: dict[str, CheckedDocument] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    elsewhere: int = 0
    complete: bool = True
    database: EntryDatabase = field(default_factory=EntryDatabase)
    _prefetcher: Prefetcher = field(init=False)
    _numbers: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _absences: dict[str, str] = field(default_factory=dict)
    _entries: deque[Visit] = field(default_factory=deque)
    _links: deque[Visit] = field(default_factory=deque)
    _packages: deque[Visit] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._prefetcher = Prefetcher(fetcher=self.fetcher, size=self.options.limits.most_bytes, jobs=self.jobs)

    def run(self, *starts: str) -> None:
        """Visit everything that can be reached: listed documents first, so that each is known as part of its set."""
        self.starts += starts
        self._entries.extend(Visit(uri) for uri in starts)
        self._visit_all()

    def begin(self, uri: str, stream: BinaryIO) -> None:
        """Read a document from an open stream, and follow its links as far as `hops` allows."""
        self.starts.append(uri)
        document = self.documents[uri] = check_document(stream, uri, self.options, self.findings)
        if self.hops != 0:
            self._follow(document, Visit(uri))
        self._visit_all()

    def close(self) -> None:
        """Cancel pending requests, and free the disk space that was used."""
        self._prefetcher.close()
        self.database.close()

    def _visit_all(self) -> None:
        while self._entries or self._links or (self._packages and self.deep is not None and self.deep.whole):
            if self._entries or self._links:
                self._prefetcher.prefetch(self._next())
                self._handle((self._entries or self._links).popleft())
            else:
                self._package(self._packages.popleft())
        if self.deep is not None:
            self.deep.finish()

    def _next(self) -> Iterator[str]:
        """Yield the URIs that will be visited next, as far as the first few tasks show."""
        room = self.most - len(self.documents)
        for visit in islice(chain(self._entries, self._links), 8 * self.jobs):
            if visit.uri not in self.documents and self.fetcher.holds(visit.uri):
                if room <= 0:
                    return
                room -= 1
                yield visit.uri

    def take_links(self, resource: CheckedResource, document: str, owner: str) -> None:
        """Record where the links of a listed resource lead; those in a page of another Source are that Source's own."""
        numbers = self.number(owner), self.number(document)
        is_copy = any(link.get("rel") == "via" for link in resource.item.links)
        for links, header in (((), False) if is_copy else (resource.page_links, False), (resource.header_links, True)):
            if links:
                self.database.link(*numbers, resource.item, links, header=header)

    def number(self, uri: str) -> int:
        """Return the number of a document in the database; a new document gets the next number."""
        if uri not in self._numbers:
            self._numbers[uri] = len(self._names)
            self._names.append(uri)
        return self._numbers[uri]

    def name(self, number: int) -> str:
        """Return the URI of the document with a number."""
        return self._names[number]

    def absence_of(self, uri: str) -> str:
        """Return the reason why a document was not read."""
        return self._absences.get(uri) or f"{shown(uri)!a} is on another host"

    def same(self, one: str, other: str) -> bool:
        """Return whether two URIs serve the same document; some hosts have their Source Description at two URIs."""
        first, second = self.documents.get(one), self.documents.get(other)
        return one == other or (first is not None and second is not None and first.digest == second.digest)

    def _handle(self, visit: Visit) -> None:
        new = visit.uri not in self.documents
        if new:
            if not self.fetcher.holds(visit.uri) or len(self.documents) >= self.most:
                self._skip(visit)
                return
            self._visit(visit)
        elif visit.owner and self.tops.get(visit.uri) != (visit.whole):
            self.broken.add(visit.whole)
        if visit.reference is not None:
            visit.reference.child = self.documents[visit.uri]
            visit.reference.absence = self._absences.get(visit.uri, "")
            self.references.append(visit.reference)
        document = self.documents[visit.uri]
        if new and document is not None and (self.hops is None or visit.hops < self.hops):
            self._follow(document, visit)

    def _skip(self, visit: Visit) -> None:
        """Skip a document that is elsewhere, or that exceeds the maximum number of documents."""
        self.broken.add(visit.whole)
        if self.fetcher.holds(visit.uri):
            self.complete = False
        else:
            self.elsewhere += 1

    def _visit(self, visit: Visit) -> None:
        self.progress(visit.uri)
        if visit.owner:
            self.owners[visit.uri] = visit.owner
            self.tops[visit.uri] = visit.whole
        document = None
        try:
            with self._prefetcher.open(visit.uri) as found:
                if found.length or not (visit.reference and _is_topic(visit.reference.item)):  # a topic may be empty
                    document = check_document(found.stream, visit.uri, self.options, self.findings, self._sink(visit))
        except TransportError as error:
            self._absences[visit.uri] = str(error)
        self.documents[visit.uri] = document
        if document is None or not document.readable:
            self.broken.add(visit.whole)
        elif visit.reference is not None and visit.reference.kind == "contents" and document.capability in MANIFESTS:
            self._register_manifest(visit.reference, document)

    def _register_manifest(self, reference: Reference, manifest: CheckedDocument) -> None:
        if manifest.capability == f"{reference.parent.capability}-manifest":
            self.manifests.setdefault(reference.item.loc, manifest)

    def _sink(self, visit: Visit) -> Sink | None:
        """Return the function that records a document's entries in the database, or None if it has no owner."""
        if not visit.owner:
            return None
        database, document, deep = self.database, self.number(visit.uri), None if visit.archived else self.deep
        top, series = self.number(visit.whole), self.number(visit.owner)
        if deep is not None:
            deep.wanted = 0

        def sink(item: RawEntry, doc: DocumentState) -> None:
            if doc.lists == "resources":
                database.resource(top, document, item)
                if deep is not None and item.number >= deep.wanted:
                    deep.take(item, visit.uri, visit.owner)
            elif doc.lists == "changes":
                if deep is not None:
                    deep.take_change(item, visit.uri, visit.owner)
                if item.mds:
                    time = doc.time.timestamp() if doc.time and doc.certain else None
                    of_dump = doc.head.capability == "changedump-manifest"
                    database.change(packed_id(series) if of_dump else series, document, item, time)
            elif doc.head.capability == "resourcedump-manifest":
                database.resource(packed_id(top), document, item)

        return sink

    def _follow(self, document: CheckedDocument, visit: Visit) -> None:
        owner = document.uri if document.capability in ("capabilitylist", "description") else visit.owner
        archive = document.capability.endswith("-archive")
        top = "" if archive or document.capability in ("capabilitylist", "description") else visit.top or document.uri
        archived = visit.archived or archive
        packages = document.capability in _DUMPS and not document.head.is_index
        for item in document.pointers:
            if packages:
                reference = Reference(kind="package", parent=document, uri=item.loc, line=item.line, item=item)
                self._packages.append(Visit(item.loc, reference, owner, archived, top=top))
                self._contents(document, item, visit, top)
            elif _leads_on(document, item):
                reference = Reference(kind="entry", parent=document, uri=item.loc, line=item.line, item=item)
                series = "" if _is_topic(item) else owner  # the Change Lists have the same changes
                self._entries.append(Visit(item.loc, reference, series, archived, visit.hops + 1, top))
        self._follow_links(document, visit.hops + 1)

    def _follow_links(self, document: CheckedDocument, hops: int) -> None:
        for rel in _LINKS:
            if link := document.href(rel):
                reference = Reference(kind=rel, parent=document, uri=link[0], line=link[1])
                self._links.append(Visit(link[0], reference, hops=hops))

    def _contents(self, document: CheckedDocument, item: RawEntry, visit: Visit, top: str) -> None:
        for link in item.links:
            if link.get("rel") == "contents" and link.get("href"):
                reference = Reference(kind="contents", parent=document, uri=link["href"], line=item.line, item=item)
                self._links.append(Visit(link["href"], reference, visit.owner, visit.archived, visit.hops + 1, top))

    def _package(self, visit: Visit) -> None:
        """Read a package listed in a dump; its manifest's entries go into the database unless those of a copy did."""
        reference = visit.reference
        if reference is None or not self.fetcher.holds(visit.uri):
            self.elsewhere += 1
            return
        self.progress(visit.uri)
        self.packages += 1
        package = CheckedPackage(visit.uri, reference.parent.capability, reference.item.md)
        copies = (link["href"] for link in reference.item.links if link.get("rel") == "contents" and "href" in link)
        package.copy = next((self.documents.get(uri) for uri in copies), None)
        try:
            with self.fetcher.open(visit.uri, size=self.options.limits.package_size) as found:
                package.length = found.length
                sink = (
                    None if visit.uri in self.manifests else self._sink(replace(visit, uri=f"{visit.uri}!/{MANIFEST}"))
                )
                check_package(found.stream, package, self.options, self.findings, sink)
        except TooLargeError as error:
            self.findings.unread(str(error))
            self.broken.add(visit.top)
            return
        except TransportError as error:
            reference.absence = str(error)
        else:
            reference.length = package.length
        self.references.append(reference)
        if package.manifest is not None:
            self._take_manifest(package.manifest, reference, visit)

    def _take_manifest(self, manifest: CheckedDocument, reference: Reference, visit: Visit) -> None:
        """Follow the links of a package's manifest, and register the manifest if no copy of it was read."""
        if visit.uri not in self.manifests:
            self._register_manifest(reference, manifest)
            self.tops[manifest.uri] = visit.top
        if self.tops.get(self.manifests.get(visit.uri, manifest).uri) != visit.top:
            self.broken.add(visit.top)
        if visit.owner:
            self.owners[manifest.uri] = visit.owner
        self._follow_links(manifest, visit.hops + 1)


def _is_topic(item: RawEntry) -> bool:
    return item.md.get("capability", "").strip() == "change-notification"


def _leads_on(document: CheckedDocument, item: RawEntry) -> bool:
    if document.capability == "capabilitylist":
        return item.md.get("capability", "").strip() in _FOLLOWED
    return bool(item.loc)
