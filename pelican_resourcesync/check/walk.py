"""A Source, document by document: each is read once, whatever links lead to it, and what links say is remembered."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from pelican_resourcesync.check.deep import Deep
from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.document import Kept, Options, Sink, check_document
from pelican_resourcesync.check.findings import Findings
from pelican_resourcesync.check.ledger import Ledger
from pelican_resourcesync.check.package import MANIFEST, Package, check_package
from pelican_resourcesync.check.places import Place
from pelican_resourcesync.check.scan import Item
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.protocol import Capability

#: Capabilities whose documents a Capability List leads to. A topic of notifications is no document to read.
_FOLLOWED = frozenset(Capability) - {
    "change-notification",
    "description",
    "resourcedump-manifest",
    "changedump-manifest",
}
_DUMPS = frozenset(("resourcedump", "changedump"))
_LINKS = ("up", "index", "archives")


@dataclass(slots=True, kw_only=True)
class Edge:
    """A document names another: `kind` is entry, contents or the relation of a link; `child` is None if it is not had.

    `absence` says why it is not had; `owner` is the Capability List, or the Source Description, whose entries led to
    `parent`.
    """

    kind: str
    parent: Kept
    uri: str
    line: int
    item: Item | None = None
    child: Kept | None = None
    absence: str = ""
    length: int | None = None


@dataclass(slots=True)
class _Task:
    uri: str
    edge: Edge | None = None
    owner: str = ""
    archived: bool = False
    hops: int = 0


@dataclass(slots=True, kw_only=True)
class Walk:
    """What was visited: documents by URI, edges between them, and the ledger of entries."""

    place: Place
    options: Options
    findings: Findings
    most: int
    root: str = ""
    deep: Deep | None = None
    packages: int = 0
    progress: Callable[[str], None] = lambda _: None
    hops: int | None = None
    documents: dict[str, Kept | None] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    elsewhere: int = 0
    complete: bool = True
    ledger: Ledger = field(default_factory=Ledger)
    _numbers: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _whys: dict[str, str] = field(default_factory=dict)
    _entries: deque[_Task] = field(default_factory=deque)
    _links: deque[_Task] = field(default_factory=deque)
    _packages: list[_Task] = field(default_factory=list)

    def run(self, *starts: str) -> None:
        """Visit all that can be reached: first what is listed, so that each list is known as part of its set."""
        self.starts += starts
        self._entries.extend(_Task(uri) for uri in starts)
        self._go_on()

    def begin(self, uri: str, stream: BinaryIO) -> None:
        """Read a document that is at hand, and visit what its links lead to, as far as `hops` allows."""
        self.starts.append(uri)
        kept = self.documents[uri] = check_document(stream, uri, self.options, self.findings)
        if self.hops != 0:
            self._follow(kept, _Task(uri))
        self._go_on()

    def _go_on(self) -> None:
        while self._entries or self._links:
            self._step((self._entries or self._links).popleft())
        if self.deep is not None:
            self.deep.finish()
            for task in self._packages:
                self._package(task)

    def number(self, uri: str) -> int:
        """Give the number of a document in the ledger."""
        if uri not in self._numbers:
            self._numbers[uri] = len(self._names)
            self._names.append(uri)
        return self._numbers[uri]

    def name(self, number: int) -> str:
        """Give the document that has a number."""
        return self._names[number]

    def same(self, one: str, other: str) -> bool:
        """Whether two URIs stand for one document: as some have their Source Description at two addresses."""
        first, second = self.documents.get(one), self.documents.get(other)
        return one == other or (first is not None and second is not None and first.digest == second.digest)

    def _step(self, task: _Task) -> None:
        new = task.uri not in self.documents
        if new:
            if not self.place.holds(task.uri):
                self.elsewhere += 1
                return
            if len(self.documents) >= self.most:
                self.complete = False
                return
            self._visit(task)
        if task.edge is not None:
            task.edge.child = self.documents[task.uri]
            task.edge.absence = self._whys.get(task.uri, "")
            self.edges.append(task.edge)
        kept = self.documents[task.uri]
        if new and kept is not None and (self.hops is None or task.hops < self.hops):
            self._follow(kept, task)

    def _visit(self, task: _Task) -> None:
        self.progress(task.uri)
        if task.owner:
            self.owners[task.uri] = task.owner
        try:
            with self.place.open(task.uri, size=self.options.limits.most_bytes) as found:
                kept = check_document(found.stream, task.uri, self.options, self.findings, self._sink(task))
        except TransportError as error:
            self.documents[task.uri] = None
            self._whys[task.uri] = str(error)
        else:
            self.documents[task.uri] = kept

    def _sink(self, task: _Task) -> Sink | None:
        """Choose what of a document goes into the ledger: entries of what a Capability List lists."""
        if not task.owner:
            return None
        ledger, owner, document = self.ledger, self.number(task.owner), self.number(task.uri)

        take = ledger.listing(owner, document)

        def sink(item: Item, doc: Doc) -> None:
            if doc.lists == "resources":
                if not task.archived:
                    take(item)
                    if self.deep is not None:
                        self.deep.take(item, task.uri, task.owner)
            elif doc.lists == "changes" and item.md is not None:
                time = doc.time.timestamp() if doc.time and doc.certain else None
                ledger.change(owner, document, item, time)

        return sink

    def _follow(self, kept: Kept, task: _Task) -> None:
        owner = kept.uri if kept.capability in ("capabilitylist", "description") else task.owner
        archived = task.archived or kept.capability in ("resourcelist-archive", "resourcedump-archive")
        packages = kept.capability in _DUMPS and not kept.head.is_index
        for item in kept.pointers:
            if packages:
                self._packages.append(
                    _Task(
                        item.loc,
                        Edge(kind="package", parent=kept, uri=item.loc, line=item.line, item=item),
                        owner,
                        archived,
                    )
                )
                self._contents(kept, item, task)
            elif _leads_on(kept, item):
                edge = Edge(kind="entry", parent=kept, uri=item.loc, line=item.line, item=item)
                self._entries.append(_Task(item.loc, edge, owner, archived, task.hops + 1))
        for rel in _LINKS:
            if link := kept.href(rel):
                edge = Edge(kind=rel, parent=kept, uri=link[0], line=link[1])
                self._links.append(_Task(link[0], edge, hops=task.hops + 1))

    def _contents(self, kept: Kept, item: Item, task: _Task) -> None:
        for link in item.links:
            if link.get("rel") == "contents" and link.get("href"):
                edge = Edge(kind="contents", parent=kept, uri=link["href"], line=item.line, item=item)
                self._links.append(_Task(link["href"], edge, hops=task.hops + 1))

    def _package(self, task: _Task) -> None:
        """Read a package that a dump lists, with its manifest's entries into the ledger."""
        edge = task.edge
        if edge is None or edge.item is None or not self.place.holds(task.uri):
            self.elsewhere += 1
            return
        self.progress(task.uri)
        self.packages += 1
        package = Package(task.uri, edge.parent.capability, edge.item.md or {})
        package.copy = next(
            (
                self.documents.get(link["href"])
                for link in edge.item.links
                if link.get("rel") == "contents" and "href" in link
            ),
            None,
        )
        owner, document = self.number(task.owner), self.number(f"{task.uri}!/{MANIFEST}")

        def sink(item: Item, _: Doc) -> None:
            if not task.archived and edge.parent.capability == "resourcedump":
                self.ledger.dump(owner, document, item)

        try:
            with self.place.open(task.uri, size=self.options.limits.package_size) as found:
                package.length = found.length
                check_package(found.stream, package, self.options, self.findings, sink)
        except TransportError as error:
            edge.absence = str(error)
        else:
            edge.length = package.length
        self.edges.append(edge)


def _leads_on(kept: Kept, item: Item) -> bool:
    if kept.capability == "capabilitylist":
        return item.md is not None and item.md.get("capability", "").strip() in _FOLLOWED
    return bool(item.loc)
