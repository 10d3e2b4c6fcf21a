"""Takedown: publish again without some resources, under new addresses.

This is the one exception to the promise that a closed Change List never changes. The old documents contain URIs that
must no longer be published, so they are removed at once, and nothing links to them. Each document is read, written
again without these URIs, and gets an address that was never used, so that no address ever has different bytes.
"""

import difflib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.html_titles import parse_html
from pelican_resourcesync.protocol import (
    MOST_ENTRIES,
    Capability,
    ChangeKind,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
    read,
    split_entries,
    write,
)
from pelican_resourcesync.publication.disk.staging import Stage, staging
from pelican_resourcesync.publication.documents.documents import Documents
from pelican_resourcesync.publication.documents.other_publishers import find_other_sets
from pelican_resourcesync.publication.documents.writer import write_entry_points
from pelican_resourcesync.publication.dumps.package import Bitstream, open_package, repacked, write_package
from pelican_resourcesync.publication.generation import carry_publication, write_state
from pelican_resourcesync.publication.model.clock import later
from pelican_resourcesync.publication.model.kinds import kind_of
from pelican_resourcesync.publication.model.layout import HTML_PAGE, is_xml
from pelican_resourcesync.publication.model.options import Options, PageOptions
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.model.resource import SHA_256
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS, ChangeListSummary, Part, PublicationState
from pelican_resourcesync.publication.pages.change_pages import ChangePageWriter
from pelican_resourcesync.publication.pages.overview import overview_of_stage
from pelican_resourcesync.publication.pages.pages import PageSet, write_pages
from pelican_resourcesync.publication.parts import count_entries
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage, require_signed
from pelican_resourcesync.publication.versions import carry_versions
from pelican_resourcesync.signing import SigningKey


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownResult:
    """The result of a takedown for one set: the removed `uris`, sorted; empty if the set stays unchanged.

    `generation` is the number of its publication, and `home` the URI of the folder of its documents.
    """

    uris: tuple[str, ...]
    generation: int
    home: str


def forget_uris(
    sets: Sequence[PreviousPublication],
    asked: Collection[str],
    output: Path,
    *,
    built: datetime,
    key: SigningKey | None = None,
) -> list[TakedownResult]:
    """Write the next generations of `sets` into `output`, in which nothing contains the requested URIs any more.

    The only exception is one change for each, which says that it is deleted, at the time `built` and later than all
    others. Everything else stays the same: resources, changes, the intervals of Change Lists, and the contents of
    packages. Sets without these URIs stay as they are. `key` signs the result, and must have signed `sets` if any has.

    Raises `PublicationError` for a URI that is unknown or cannot be removed, and if the documents cannot be written. In
    these cases nothing is written.
    """
    for each in sets:
        require_signed(each, key)
    published = [_published(each) for each in sets]
    uris = find_uris(asked, {uri for each in published for uri in each})
    gone = [{uri for uri in uris if each.get(uri, set()) - {ChangeKind.DELETED}} for each in published]
    states, options = [each.state for each in sets], [_options(each, output, uris, key) for each in sets]
    if any(gone):
        others = find_other_sets(output, [each.layout for each in sets])
        with staging(output) as stage:
            pages = []
            for number, (previous, own) in enumerate(zip(sets, gone, strict=True)):
                if own:
                    layout = replace(previous.layout, restart_number=previous.layout.restart_number + 1)
                    options[number] = replace(options[number], layout=layout)
                    at = later(built, previous.last)
                    states[number] = _Rewriting(stage, previous, options[number], own, at).write()
                else:
                    carry_publication(stage, previous)
                    carry_versions(stage, options[number], previous, ())
                overview = overview_of_stage(stage, options[number].layout, states[number])
                pages.append(PageSet(options[number], overview))
                stage.link_records(previous.layout, own)
            write_entry_points(stage, options, others)
            write_pages(stage, pages, others)
            stage.install([each.layout for each in options])
    return [
        TakedownResult(
            uris=tuple(sorted(own)),
            generation=state.generation,
            home=each.layout.uri(f"{each.layout.folder}/"),
        )
        for own, state, each in zip(gone, states, options, strict=True)
    ]


def _published(previous: PreviousPublication) -> Mapping[str, set[ChangeKind | None]]:
    """Return what is published about each URI: the kinds of its changes, and `None` for anything else."""
    published: dict[str, set[ChangeKind | None]] = defaultdict(set)
    paths = [*previous.state.documents, *previous.state.superseded]
    for path in paths:
        if is_xml(path) and (previous.folder / path).is_file():
            for entry in _entries(previous, path):
                published[entry.loc].add(entry.md.change if entry.md else None)
    for path in paths:
        published.pop(previous.layout.uri(path), None)
    return published


def find_uris(asked: Iterable[str], known: Collection[str]) -> set[str]:
    """Return the known URIs that are asked for, also if these are percent-encoded in another way.

    Raises `PublicationError` for an unknown one, and suggests similar URIs.
    """
    spelt: dict[str, set[str]] = defaultdict(set)
    for uri in known:
        spelt[unquote(uri)].add(uri)
    found: set[str] = set()
    for uri in asked:
        matching = {uri} if uri in known else spelt.get(unquote(uri), set())
        if not matching:
            near = difflib.get_close_matches(uri, known, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "write it as the Resource List does"
            message = f"{uri} is neither in the publication nor in a Change List: {hint}"
            raise PublicationError(message)
        found |= matching
    return found


def _read(previous: PreviousPublication, path: str) -> Document:
    with explain_damage(previous.where), (previous.folder / path).open("rb") as stream:
        document = read(stream, name=path)
        return replace(document, entries=tuple(document.entries))


def _entries(previous: PreviousPublication, path: str) -> Sequence[Entry]:
    return tuple(_read(previous, path).entries)


def _options(previous: PreviousPublication, output: Path, uris: Collection[str], key: SigningKey | None) -> Options:
    """Return the options with which a set was published, as far as its documents and the page in the output say."""
    links = {link.rel: link.href for link in _read(previous, previous.layout.capability_list).links}
    if links["describedby"] in uris:
        message = (
            f"{links['describedby']} is the page that describes every document: set 'describedby' in RESOURCESYNC "
            "to another page, build, and then forget it"
        )
        raise PublicationError(message)
    file = output / HTML_PAGE
    page = parse_html(file.read_text("utf-8", "replace") if file.is_file() else "")
    name, home = (page.find(path) for path in (".//meta[@name='application-name']", ".//h1//a"))
    site_name = (name.get("content") or "") if name is not None else ""
    return Options(
        output=output,
        layout=previous.layout,
        site_name=site_name if site_name != "This site" else "",
        describedby=links["describedby"].replace(previous.layout.uri(HTML_PAGE), ""),
        page=PageOptions(language=page.get("lang") or "en", home=(home.get("href") or "") if home is not None else ""),
        hubs=previous.state.hubs,
        key=key,
    )


class _Rewriting:
    """The documents of one set, each written again without some URIs, and with their deletion at a time."""

    def __init__(
        self, stage: Stage, previous: PreviousPublication, options: Options, uris: Collection[str], at: datetime
    ) -> None:
        self._stage, self._previous, self._uris, self._at = stage, previous, uris, at
        self._options = options
        self._old, self._new, self._key = previous.layout, options.layout, options.key
        self._written: set[str] = set()  # all paths here are those of before
        self._added: dict[str, list[Entry]] = defaultdict(list)  # new entries of documents
        self._until: dict[str, datetime] = {}  # the end of an open Change List that has no room for the deletions
        self._parts: list[Part] = []
        self._change_lists: list[ChangeListSummary] = []

    def write(self) -> PublicationState:
        """Write all documents, from the Capability List down, and the state of the new generation."""
        before = self._previous.state
        if self._old.change_list_index in before.documents:  # otherwise nobody follows changes
            self._add_deletions()
        self._write(self._old.capability_list)
        state = replace(
            before,
            generation=before.generation + 1,
            predecessor=self._previous.digest,
            ancestors=before.ancestry[: MOST_ANCESTORS - 1],
            earlier=(before.at, *before.earlier)[:MOST_ANCESTORS],
            restart_number=self._new.restart_number,
            at=self._at,
            began=before.began if self._change_lists else self._at,  # without Change Lists, no deletion is listed
            change_lists=tuple(sorted(self._change_lists, key=lambda each: each.start)),
            parts=tuple(self._parts),
            documents={},
            superseded={},
            first=None,  # a past that is added would name these URIs again
            unstable={uri: count for uri, count in before.unstable.items() if uri not in self._uris},
        )
        self._write_change_pages(state)
        # without a previous one: nothing it superseded may stay
        return write_state(self._stage, state, self._new, None, self._key)

    def _write_change_pages(self, state: PublicationState) -> None:
        ranges = [
            Range(
                start=each.start,
                until=each.until,
                counts=(each.created, each.updated, each.deleted),
                bodies=(Body(self._stage.documents / each.path, is_draft=False),),
            )
            for each in state.change_lists
        ]
        versions = carry_versions(self._stage, self._options, self._previous, self._uris)
        pages = ChangePageWriter(
            self._stage, self._options, state, previous=self._previous, hidden=self._uris, versions=versions
        )
        pages.write(ranges)

    def _add_deletions(self) -> None:
        """Add the deletions to the open Change List (a new one if it is full, X04), notification and Change Dump."""
        index, last = self._old.change_list_index, self._previous.last
        opened = self._path(_entries(self._previous, index)[-1].loc) or index
        listed = _entries(self._previous, opened)
        dated = all(entry.md and entry.md.datetime for entry in listed)  # not in edition 2014
        md = Metadata(change=ChangeKind.DELETED, datetime=self._at if dated else None)
        deletions = [Entry(loc=uri, lastmod=self._at, md=md) for uri in sorted(self._uris)]
        self._added[self._old.notification] += deletions
        if len([*listed, *deletions]) <= MOST_ENTRIES:
            self._added[opened] += deletions
        else:
            self._until[opened] = last
            self._add_document(Capability.CHANGELIST, index, self._new.change_list(last), last, deletions)
        index = self._old.change_dump_index
        if index in self._previous.state.documents:
            dump = _entries(self._previous, index)[-1]
            opened = self._path(dump.loc) or index
            *_, start = (each.md.until for each in _entries(self._previous, opened) if each.md and each.md.until)
            closed = dump.md.until if dump.md else None
            start = closed or start
            package, documents = self._new.change_dump_package(self._at), Documents(self._new, "")
            self._pack(package, documents.change_dump_manifest(start, self._at), map(Bitstream.of, deletions))
            digest, length = self._stage.measure(package)
            entry = documents.package_entry(package, length, digest, Metadata(from_=start, until=self._at))
            if closed:
                self._add_document(Capability.CHANGEDUMP, index, self._new.change_dump(closed), closed, [entry])
            else:
                self._added[opened].append(entry)

    def _add_document(self, of: Capability, index: str, path: str, begin: datetime, entries: Sequence[Entry]) -> None:
        """Write a new document from `begin` on, and add it to an index."""
        up, head = self._new.uri(self._new.capability_list), Metadata(capability=of, from_=begin)
        links = (Link(rel="up", href=up), Link(rel="index", href=self._uri(index)))
        self._put(path, Document(root=Root.URLSET, md=head, links=links, entries=entries))
        self._added[index].append(Entry(loc=self._new.uri(path), md=Metadata(from_=begin)))

    def _write(self, path: str) -> None:
        """Write a document again, and before it those that it lists."""
        if path in self._written:
            return
        self._written.add(path)
        document = _read(self._previous, path)
        md, listed = document.md or Metadata(), tuple(document.entries)
        if document.root is Root.SITEMAPINDEX and md.capability in {Capability.RESOURCELIST, Capability.RESOURCEDUMP}:
            listed = tuple(filter(self._is_left, listed)) or listed[:1]  # parts
        entries = [self._entry(each) for each in listed if each.loc not in self._uris]
        if md.capability == Capability.RESOURCELIST and not path.startswith(self._old.archive_folder):
            md = replace(md, at=self._at)
        md = replace(md, until=self._until.get(path, md.until))
        if md.capability == Capability.CHANGE_NOTIFICATION:
            entries, md = [], replace(md, from_=md.until, until=self._at)
        links = tuple(map(self._link, document.links))
        document = replace(document, md=md, links=links, entries=[*entries, *self._added[path]])
        self._put(self._moved(path), document)

    def _is_left(self, part: Entry) -> bool:
        """Return whether anything is left in a part."""
        path = self._path(part.loc)
        return path is None or any(each.loc not in self._uris for each in _entries(self._previous, path))

    def _entry(self, entry: Entry) -> Entry:
        """Return an entry for the new document, and write the document or package that it leads to, if any."""
        entry = replace(entry, links=tuple(self._link(link) for link in entry.links if link.href not in self._uris))
        path, md = self._path(entry.loc), entry.md or Metadata()
        if path is None:
            return entry
        if kind_of(path).is_package:
            self._repack(path)
            digest, length = self._stage.measure(self._moved(path))
            md = replace(md, hash=(Hash(algorithm=SHA_256, digest=digest),), length=length)
        else:
            self._write(path)
        md = replace(md, until=self._until.get(path, md.until))
        return replace(entry, loc=self._uri(path), md=md)

    def _repack(self, path: str) -> None:
        """Write a package again, with the bytes that it has."""
        if path not in self._written:
            self._written.add(path)
            manifest = _read(self._previous, self._old.manifest(path))
            head = replace(manifest, entries=(), links=tuple(map(self._link, manifest.links)))
            left = [entry for entry in manifest.entries if entry.loc not in self._uris]
            with open_package(self._previous.folder / path) as package:
                self._pack(self._moved(path), head, (repacked(entry, package) for entry in left))

    def _pack(self, path: str, head: Document, bitstreams: Iterable[Bitstream]) -> None:
        with self._stage.open(path) as package, self._stage.open(self._new.manifest(path)) as manifest:
            write_package(package, manifest, head, bitstreams, base=self._new.siteurl)

    def _put(self, path: str, document: Document) -> None:
        with self._stage.open(path) as stream:
            write(document, stream)
        md, entries = document.md or Metadata(), tuple(document.entries)
        if document.root is Root.URLSET and md.capability == Capability.CHANGELIST and md.from_:
            kinds = Counter(entry.md.change for entry in entries if entry.md)
            created, updated, deleted = (kinds[kind] for kind in ChangeKind)
            self._change_lists.append(ChangeListSummary(path, md.from_, md.until, created, updated, deleted))
        is_part = document.root is Root.URLSET and md.capability == Capability.RESOURCELIST
        if is_part and not path.startswith(self._new.archive_folder):
            listed = split_entries(self._stage.read(path).decode())
            counts = count_entries([each.lastmod for each in listed], [each.md for each in listed])
            self._parts.append(Part(path=path, first=entries[0].loc if entries else "", counts=counts))

    def _path(self, uri: str) -> str | None:
        """Return the path of the document or package at a URI; `None` for other URIs."""
        path = uri.removeprefix(f"{self._old.siteurl}/")
        return path if path in self._previous.state.documents else None

    def _moved(self, path: str) -> str:
        """Return the path that a document gets."""
        return f"{self._new.folder}{path.removeprefix(self._old.folder)}"

    def _uri(self, path: str) -> str:
        return self._new.uri(self._moved(path))

    def _link(self, link: Link) -> Link:
        path = self._path(link.href)
        if path and path.startswith(self._old.patches):
            self._stage.carry(self._moved(path), self._previous.folder / path)
        return replace(link, href=self._uri(path)) if path else link
