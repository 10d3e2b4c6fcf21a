"""Visit a Source: read each document once, however many links lead to it, and record the links between documents."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import BinaryIO

from pelican_resourcesync.check.ahead import Ahead
from pelican_resourcesync.check.deep import Deep, Resource
from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.document import Kept, Options, Sink, check_document
from pelican_resourcesync.check.edge import Edge, Task
from pelican_resourcesync.check.findings import Findings
from pelican_resourcesync.check.ledger import Ledger, dumped
from pelican_resourcesync.check.package import MANIFEST, Package, check_package
from pelican_resourcesync.check.places import Place
from pelican_resourcesync.check.scan import Item
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.transport import shown

#: Capabilities whose documents are visited from a Capability List. A notification topic is not a document to read.
_FOLLOWED = frozenset(Capability) - {
    "change-notification",
    "description",
    "resourcedump-manifest",
    "changedump-manifest",
}
_DUMPS = frozenset(("resourcedump", "changedump"))
#: Capabilities of manifests, both in packages and as separate copies.
MANIFESTS = frozenset(("resourcedump-manifest", "changedump-manifest"))
_LINKS = ("up", "index", "archives")


@dataclass(slots=True, kw_only=True)
class Walk:
    """The state of a visit: documents by URI, the edges between them, and the ledger of entries.

    `owners` maps each document to its Capability List, and `tops` maps it to the list, dump or index that it is part
    of. `broken` holds the tops with a part that was not read, or that was read as part of another top. `manifests` maps
    the URI of a package to its manifest, whose entries are in the ledger.
    """

    place: Place
    options: Options
    findings: Findings
    most: int
    root: str = ""
    deep: Deep | None = None
    jobs: int = 1
    packages: int = 0
    progress: Callable[[str], None] = lambda _: None
    hops: int | None = None
    documents: dict[str, Kept | None] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    tops: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    manifests: dict[str, Kept] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    elsewhere: int = 0
    complete: bool = True
    ledger: Ledger = field(default_factory=Ledger)
    _ahead: Ahead = field(init=False)
    _numbers: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _whys: dict[str, str] = field(default_factory=dict)
    _entries: deque[Task] = field(default_factory=deque)
    _links: deque[Task] = field(default_factory=deque)
    _packages: deque[Task] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._ahead = Ahead(place=self.place, size=self.options.limits.most_bytes, jobs=self.jobs)

    def run(self, *starts: str) -> None:
        """Visit everything that can be reached: listed documents first, so that each is known as part of its set."""
        self.starts += starts
        self._entries.extend(Task(uri) for uri in starts)
        self._go_on()

    def begin(self, uri: str, stream: BinaryIO) -> None:
        """Read a document from an open stream, and follow its links as far as `hops` allows."""
        self.starts.append(uri)
        kept = self.documents[uri] = check_document(stream, uri, self.options, self.findings)
        if self.hops != 0:
            self._follow(kept, Task(uri))
        self._go_on()

    def close(self) -> None:
        """Cancel pending requests, and free the disk space that was used."""
        self._ahead.close()
        self.ledger.close()

    def _go_on(self) -> None:
        while self._entries or self._links or (self._packages and self.deep is not None and self.deep.whole):
            if self._entries or self._links:
                self._ahead.want(self._next())
                self._step((self._entries or self._links).popleft())
            else:
                self._package(self._packages.popleft())
        if self.deep is not None:
            self.deep.finish()

    def _next(self) -> Iterator[str]:
        """Yield the URIs that will be visited next, as far as the first few tasks show."""
        room = self.most - len(self.documents)
        for task in islice(chain(self._entries, self._links), 8 * self.jobs):
            if task.uri not in self.documents and self.place.holds(task.uri):
                if room <= 0:
                    return
                room -= 1
                yield task.uri

    def take_links(self, resource: Resource, document: str, owner: str) -> None:
        """Record where the links of a listed resource lead."""
        numbers = self.number(owner), self.number(document)
        for links, header in ((resource.page_links, False), (resource.header_links, True)):
            if links:
                self.ledger.link(*numbers, resource.item, links, header=header)

    def number(self, uri: str) -> int:
        """Return the number of a document in the ledger; a new document gets the next number."""
        if uri not in self._numbers:
            self._numbers[uri] = len(self._names)
            self._names.append(uri)
        return self._numbers[uri]

    def name(self, number: int) -> str:
        """Return the URI of the document with a number."""
        return self._names[number]

    def why(self, uri: str) -> str:
        """Return the reason why a document was not read."""
        return self._whys.get(uri) or f"{shown(uri)!a} lies elsewhere"

    def same(self, one: str, other: str) -> bool:
        """Return whether two URIs serve the same document; some hosts have their Source Description at two URIs."""
        first, second = self.documents.get(one), self.documents.get(other)
        return one == other or (first is not None and second is not None and first.digest == second.digest)

    def _step(self, task: Task) -> None:
        new = task.uri not in self.documents
        if new:
            if not self.place.holds(task.uri) or len(self.documents) >= self.most:
                self._pass_over(task)
                return
            self._visit(task)
        elif task.owner and self.tops.get(task.uri) != (task.top or task.uri):
            self.broken.add(task.top or task.uri)
        if task.edge is not None:
            task.edge.child = self.documents[task.uri]
            task.edge.absence = self._whys.get(task.uri, "")
            self.edges.append(task.edge)
        kept = self.documents[task.uri]
        if new and kept is not None and (self.hops is None or task.hops < self.hops):
            self._follow(kept, task)

    def _pass_over(self, task: Task) -> None:
        """Skip a document that is elsewhere, or that exceeds the maximum number of documents."""
        self.broken.add(task.top or task.uri)
        if self.place.holds(task.uri):
            self.complete = False
        else:
            self.elsewhere += 1

    def _visit(self, task: Task) -> None:
        self.progress(task.uri)
        if task.owner:
            self.owners[task.uri] = task.owner
            self.tops[task.uri] = task.top or task.uri
        kept = None
        try:
            with self._ahead.open(task.uri) as found:
                kept = check_document(found.stream, task.uri, self.options, self.findings, self._sink(task))
        except TransportError as error:
            self._whys[task.uri] = str(error)
        self.documents[task.uri] = kept
        if kept is None or not kept.readable:
            self.broken.add(task.top or task.uri)
        elif task.edge is not None and task.edge.kind == "contents" and kept.capability in MANIFESTS:
            self._keep_manifest(task.edge, kept)

    def _keep_manifest(self, edge: Edge, manifest: Kept) -> None:
        if edge.item is not None and manifest.capability == f"{edge.parent.capability}-manifest":
            self.manifests.setdefault(edge.item.loc, manifest)

    def _sink(self, task: Task) -> Sink | None:
        """Return the function that records a document's entries in the ledger, or None if the document has no owner."""
        if not task.owner:
            return None
        ledger, document, deep = self.ledger, self.number(task.uri), None if task.archived else self.deep
        top, book = self.number(task.top or task.uri), self.number(task.owner)
        if deep is not None:
            deep.begin()
        take, pack = ledger.listing(top, document), ledger.listing(dumped(top), document)

        def sink(item: Item, doc: Doc) -> None:
            if doc.lists == "resources":
                take(item)
                if deep is not None and item.number >= deep.wanted:
                    deep.take(item, task.uri, task.owner)
            elif doc.lists == "changes":
                if item.md is not None:
                    time = doc.time.timestamp() if doc.time and doc.certain else None
                    of_dump = doc.head.capability == "changedump-manifest"
                    ledger.change(dumped(book) if of_dump else book, document, item, time)
            elif doc.head.capability == "resourcedump-manifest":
                pack(item)

        return sink

    def _follow(self, kept: Kept, task: Task) -> None:
        owner = kept.uri if kept.capability in ("capabilitylist", "description") else task.owner
        archive = kept.capability.endswith("-archive")
        top = "" if archive or kept.capability in ("capabilitylist", "description") else task.top or kept.uri
        archived = task.archived or archive
        packages = kept.capability in _DUMPS and not kept.head.is_index
        for item in kept.pointers:
            if packages:
                edge = Edge(kind="package", parent=kept, uri=item.loc, line=item.line, item=item)
                self._packages.append(Task(item.loc, edge, owner, archived, top=top))
                self._contents(kept, item, task, top)
            elif _leads_on(kept, item):
                edge = Edge(kind="entry", parent=kept, uri=item.loc, line=item.line, item=item)
                self._entries.append(Task(item.loc, edge, owner, archived, task.hops + 1, top))
        self._follow_links(kept, task.hops + 1)

    def _follow_links(self, kept: Kept, hops: int) -> None:
        for rel in _LINKS:
            if link := kept.href(rel):
                edge = Edge(kind=rel, parent=kept, uri=link[0], line=link[1])
                self._links.append(Task(link[0], edge, hops=hops))

    def _contents(self, kept: Kept, item: Item, task: Task, top: str) -> None:
        for link in item.links:
            if link.get("rel") == "contents" and link.get("href"):
                edge = Edge(kind="contents", parent=kept, uri=link["href"], line=item.line, item=item)
                self._links.append(Task(link["href"], edge, task.owner, task.archived, task.hops + 1, top))

    def _package(self, task: Task) -> None:
        """Read a package listed in a dump; its manifest's entries go into the ledger unless those of a copy did."""
        edge = task.edge
        if edge is None or edge.item is None or not self.place.holds(task.uri):
            self.elsewhere += 1
            return
        self.progress(task.uri)
        self.packages += 1
        package = Package(task.uri, edge.parent.capability, edge.item.md or {})
        copies = (link["href"] for link in edge.item.links if link.get("rel") == "contents" and "href" in link)
        package.copy = next((self.documents.get(uri) for uri in copies), None)
        try:
            with self.place.open(task.uri, size=self.options.limits.package_size) as found:
                package.length = found.length
                check_package(found.stream, package, self.options, self.findings, self._package_sink(task))
        except TransportError as error:
            edge.absence = str(error)
        else:
            edge.length = package.length
        self.edges.append(edge)
        if package.manifest is not None:
            self._take_manifest(package.manifest, edge, task)

    def _package_sink(self, task: Task) -> Sink | None:
        inside = Task(f"{task.uri}!/{MANIFEST}", owner=task.owner, archived=task.archived, top=task.top)
        return None if task.uri in self.manifests else self._sink(inside)

    def _take_manifest(self, manifest: Kept, edge: Edge, task: Task) -> None:
        """Follow the links of a package's manifest, and register the manifest if no copy of it was read."""
        if task.uri not in self.manifests:
            self._keep_manifest(edge, manifest)
            self.tops[manifest.uri] = task.top
        if self.tops.get(self.manifests.get(task.uri, manifest).uri) != task.top:
            self.broken.add(task.top)
        if task.owner:
            self.owners[manifest.uri] = task.owner
        self._follow_links(manifest, task.hops + 1)


def _leads_on(kept: Kept, item: Item) -> bool:
    if kept.capability == "capabilitylist":
        return item.md is not None and item.md.get("capability", "").strip() in _FOLLOWED
    return bool(item.loc)
