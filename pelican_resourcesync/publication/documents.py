"""The documents of a publication, and how they are written: whole, in parts, or as they were before.

Also the Source Description, which all sets share, where Destinations (clients that keep a copy) start.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from pelican_resourcesync.protocol import (
    CONTENT_PREFIXES,
    VERSION_HISTORY,
    Capability,
    ChangeFreq,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    Renderer,
    Root,
    write,
    write_parts,
)
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.history import ShownChanges
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE, WELL_KNOWN, part_path
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Body, DumpedRange, Range
from pelican_resourcesync.publication.model.resource import SHA_256
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.publication.model.versions import PublicVersions
from pelican_resourcesync.publication.previous.previous import PreviousPublication
from pelican_resourcesync.system.signing import JSON, RELATION

#: The media types of packages and of the documents themselves.
ZIP, XML = "application/zip", "application/xml"

_LONGEST_TIME = datetime(2000, 1, 1, 1, 1, 1, 1, UTC)  # as a text


class Documents:
    """Creates the documents of one set."""

    def __init__(self, options: Options) -> None:
        """Create them as the options say."""
        self._options, self._layout = options, options.layout
        self._prefixes = CONTENT_PREFIXES if options.contents else ()

    def capability_list(self, capabilities: Mapping[Capability, str]) -> Document:
        """Return the Capability List of the documents with these paths (`CL01` to `CL05`, `CN04`).

        It links to a page about the site (`SD04`), to a state that is signed, and to the list of all versions.
        """
        options = self._options
        links = [
            Link(rel="describedby", href=options.describedby or self._layout.uri(HTML_PAGE)),
            self._link("up", DESCRIPTION),
        ]
        if options.key:
            links.append(self._link(RELATION, self._layout.state, JSON))
        if options.versions:
            links.append(self._link(VERSION_HISTORY, self._layout.version_index))
        further = {Capability.CHANGE_NOTIFICATION: self._hub_links()}
        entries = [
            Entry(loc=self._layout.uri(path), md=Metadata(capability=capability), links=further.get(capability, ()))
            for capability, path in capabilities.items()
        ]
        md = Metadata(capability=Capability.CAPABILITYLIST)
        return Document(root=Root.URLSET, md=md, links=tuple(links), entries=entries)

    def resource_list(self, at: datetime, archive: str = "") -> Document:
        """Return the Resource List as of `at` (`RL01` to `RL03`), without its entries.

        `archive` is the path of the Resource List Archive, if there is one (`AR05`).
        """
        md = Metadata(capability=Capability.RESOURCELIST, at=at)
        return self._urlset(md, *self._archives(archive), prefixes=self._prefixes)

    def resource_dump(self, at: datetime, packages: Iterable[Entry], archive: str = "") -> Document:
        """Return the Resource Dump as of `at` with these entries for its packages (`RD01`)."""
        md = Metadata(capability=Capability.RESOURCEDUMP, at=at)
        return self._urlset(md, *self._archives(archive), entries=packages)

    def resource_dump_manifest(self, at: datetime) -> Document:
        """Return the manifest of a package without its entries (`RD05`)."""
        return self._urlset(Metadata(capability=Capability.RESOURCEDUMP_MANIFEST, at=at))

    def package_entry(self, path: str, length: int, sha256: str, interval: Metadata) -> Entry:
        """Return a dump's entry for one package, with a link to the copy of its manifest (`RD01`, `RD02`, `CD01`)."""
        hashes = (Hash(algorithm=SHA_256, digest=sha256),)
        return Entry(
            loc=self._layout.uri(path),
            md=replace(interval, hash=hashes, length=length, type=ZIP),
            links=(self._link("contents", self._layout.manifest(path), XML),),
        )

    def change_list(self, commit_range: Range) -> Document:
        """Return the Change List of a range without its entries (`CH01` to `CH04`); only `until` ever changes."""
        md = Metadata(capability=Capability.CHANGELIST, from_=commit_range.start, until=commit_range.until)
        return self._urlset(md, self._link("index", self._layout.change_list_index), prefixes=self._prefixes)

    def notification(self, changed: Range) -> Document:
        """Return a notification of changes without its entries (`CN01`).

        What HTTP headers say of a topic is in it, too, because not every host can send headers.
        """
        md = Metadata(capability=Capability.CHANGE_NOTIFICATION, from_=changed.start, until=changed.until)
        topic = self._link("self", self._layout.notification)
        return self._urlset(md, topic, *self._hub_links(), prefixes=self._prefixes)

    def frame_of_changes(self) -> bytes:
        """Return the longest that a Change List or, if there are hubs, a notification can be without its entries."""
        renderer = Renderer(Root.URLSET, self._options.edition)
        longest = Range(start=_LONGEST_TIME, until=_LONGEST_TIME)
        heads = [self.change_list(longest), *([self.notification(longest)] if self._options.hubs else [])]
        return (max(map(renderer.head, heads), key=len) + renderer.tail()).encode()

    def index_of_changes(self, of: Capability, ranges: Sequence[Range | DumpedRange], archive: str = "") -> Document:
        """Return the index of the Change Lists or Change Dumps (`of`) of ranges, oldest first (`CH07`, `CD05`)."""
        path_of = self._layout.change_list if of is Capability.CHANGELIST else self._layout.change_dump
        md = Metadata(capability=of, from_=ranges[0].start)
        entries = [
            Entry(loc=self._layout.uri(path_of(found.start)), md=Metadata(from_=found.start, until=found.until))
            for found in ranges
        ]
        return replace(self._urlset(md, *self._archives(archive), entries=entries), root=Root.SITEMAPINDEX)

    def change_dump(self, dumped: DumpedRange, packages: Iterable[Entry]) -> Document:
        """Return the Change Dump of a range with these entries for its packages, oldest first (`CD01`)."""
        md = Metadata(capability=Capability.CHANGEDUMP, from_=dumped.start, until=dumped.until)
        return self._urlset(md, self._link("index", self._layout.change_dump_index), entries=packages)

    def change_dump_manifest(self, start: datetime, until: datetime) -> Document:
        """Return the manifest of a package of changes without its entries (`CD02`)."""
        return self._urlset(Metadata(capability=Capability.CHANGEDUMP_MANIFEST, from_=start, until=until))

    def archive(self, of: Capability, closed: Iterable[tuple[str, Metadata]]) -> Document:
        """Return the archive of documents with the capability `of`: paths and times, oldest first (`AR02`)."""
        entries = [Entry(loc=self._layout.uri(path), changefreq=ChangeFreq.NEVER, md=times) for path, times in closed]
        return self._urlset(Metadata(capability=Capability(f"{of}-archive")), entries=entries)

    def _urlset(
        self, md: Metadata, *links: Link, entries: Iterable[Entry] = (), prefixes: tuple[tuple[str, str], ...] = ()
    ) -> Document:
        """Return a document that the Capability List or its index lists, which it links to as its parent (`up`)."""
        up = self._link("up", self._layout.capability_list)
        return Document(root=Root.URLSET, md=md, links=(up, *links), entries=entries, prefixes=prefixes)

    def _link(self, rel: str, path: str, type: str | None = None) -> Link:
        return Link(rel=rel, href=self._layout.uri(path), type=type)

    def _archives(self, path: str) -> list[Link]:
        """Return the link of a current document to the archive of its kind, if there is one (`AR05`)."""
        return [self._link("archives", path)] if path else []

    def _hub_links(self) -> tuple[Link, ...]:
        return tuple(Link(rel="hub", href=each.url) for each in self._options.hubs)


def as_part(document: Document, index: str) -> Document:
    """Return the document of a part, which links to its `index` (`X13`)."""
    return replace(document, links=(*document.links, Link(rel="index", href=index)))


def description(sets: Sequence[Options], neighbours: Iterable[Entry]) -> Document:
    """Return the Source Description of a site, of sets with these options and of other publishers' sets (SD).

    The page about the site is that about the first set.
    """
    md, people = Metadata(capability=Capability.CAPABILITYLIST), sets[0].layout.uri(HTML_PAGE)
    pages = [Link(rel="describedby", href=each.describedby or people) for each in sets]
    lists = [each.layout.uri(each.layout.capability_list) for each in sets]
    own = [Entry(loc=loc, md=md, links=(page,)) for loc, page in zip(lists, pages, strict=True)]
    entries = sorted([*own, *neighbours], key=lambda entry: entry.loc)
    md = Metadata(capability=Capability.DESCRIPTION)
    return Document(root=Root.URLSET, md=md, links=tuple(pages[:1]), entries=entries)


@dataclass(slots=True)
class DocumentWriter:
    """Where and how to write the documents of a publication, whose `state` still lacks their hashes.

    Unchanged ones come from the `previous` publication. `on_packed` is called with the number of bytes just packed.
    `capabilities` are the paths of those that the Capability List links to. `versions` are those that are public, once
    they are written, and `shown` is what the pages about changes show that were written, by their paths.
    """

    stage: Stage
    options: Options
    state: PublicationState
    previous: PreviousPublication | None = None
    on_packed: Callable[[int], None] = lambda _: None
    versions: PublicVersions = field(default_factory=lambda: PublicVersions(None, None))
    shown: dict[str, ShownChanges] = field(default_factory=dict)
    capabilities: dict[Capability, str] = field(default_factory=dict)
    documents: Documents = field(init=False)

    def __post_init__(self) -> None:
        self.documents = Documents(self.options)

    @property
    def stays(self) -> bool:
        """Whether the site has the same address as before, so that closed documents can stay unchanged."""
        return self.previous is not None and self.previous.layout.siteurl == self.options.layout.siteurl

    def put(self, path: str, document: Document) -> None:
        """Write a document that is never divided into parts."""
        with self.stage.open(path) as stream:
            write(document, stream, edition=self.options.edition)

    def put_parts(self, path: str, document: Document, part: Callable[[int], str]) -> None:
        """Write a document, or its parts and an index with its name if it exceeds the limits (`X04`)."""
        write_parts(
            document,
            name=path,
            part_name=part,
            uri=self.options.layout.uri,
            open=self.stage.open,
            limits=self.options.limits,
            edition=self.options.edition,
        )

    def put_bodies(self, path: str, document: Document, bodies: Sequence[Body]) -> None:
        """Write a document with entries that are written already."""
        renderer = Renderer(document.root, self.options.edition)
        with self.stage.open(path) as stream:
            stream.write(renderer.head(document).encode())
            for each in bodies:
                stream.write(each.read())
            stream.write(renderer.tail().encode())

    def put_copied_parts(
        self, path: str, document: Document, part: Callable[[int], str], parts: Sequence[Sequence[Body]]
    ) -> None:
        """Write a document whose entries are written already: as one, or as several parts with an index."""
        if len(parts) <= 1:
            self.put_bodies(path, document, [body for each in parts for body in each])
            return
        uri = self.options.layout.uri
        names = [part(number) for number in range(1, len(parts) + 1)]
        for name, bodies in zip(names, parts, strict=True):
            self.put_bodies(name, as_part(document, uri(path)), bodies)
        md = Metadata(at=document.md.at) if document.md else None
        index = replace(document, root=Root.SITEMAPINDEX, entries=[Entry(loc=uri(name), md=md) for name in names])
        self.put(path, index)

    def put_archive_of_states(self, of: Capability, times: Sequence[datetime]) -> str:
        """Write the archive of the Resource Lists or Resource Dumps (`of`); return its path, or an empty text."""
        return self._put_archive(of, [(self.options.layout.archived(of, at), Metadata(at=at)) for at in times])

    def put_archive_of_changes(self, of: Capability, ranges: Iterable[Range | DumpedRange]) -> str:
        """Write the archive of the closed Change Lists or Change Dumps (`of`); return its path, or an empty text."""
        layout = self.options.layout
        path_of = layout.change_list if of is Capability.CHANGELIST else layout.change_dump
        closed = (found for found in ranges if found.closed)
        return self._put_archive(
            of, [(path_of(found.start), Metadata(from_=found.start, until=found.until)) for found in closed]
        )

    def _put_archive(self, of: Capability, closed: Sequence[tuple[str, Metadata]]) -> str:
        if not closed:
            return ""
        path = self.options.layout.archive(of)
        self.put_parts(path, self.documents.archive(of, closed), partial(part_path, path, self.state.at))
        self.capabilities[Capability(f"{of}-archive")] = path
        return path

    def carry(self, path: str) -> None:
        """Carry over a document of the previous generation unchanged."""
        if self.previous is not None:
            self.stage.carry(path, f"{self.previous.folder}/{path}", self.previous.state.documents.get(path))

    def carry_all(self, path: str) -> None:
        """Carry over a document and its parts, packages and manifests, whose names begin with its own."""
        if self.previous is not None:
            begin = f"{path.removesuffix('.xml')}-"
            for each in self.previous.state.documents:
                if each == path or each.startswith(begin):
                    self.carry(each)


def write_entry_points(stage: Stage, sets: Sequence[Options], neighbours: Sequence[Entry]) -> None:
    """Write the Source Description and its well-known copy, for sets with these options and other publishers'."""
    with stage.open(DESCRIPTION) as stream:
        write(description(sets, neighbours), stream, edition=sets[0].edition)
    stage.write(WELL_KNOWN, stage.read(DESCRIPTION))
