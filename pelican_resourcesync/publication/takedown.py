"""Takedown: publish again without some resources, under new addresses.

This is the one exception to the promise that a closed Change List never changes. The old documents contain URIs that
must no longer be published, so they are removed at once, and nothing links to them. A copy of the publication is
written without these URIs, at addresses that were never used, and the next publication continues that copy: whatever
it carries over, or reads, has been filtered.
"""

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import (
    OF_ALL,
    Capability,
    ChangeKind,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
    parse_version_history,
    read,
    write,
)
from pelican_resourcesync.publication.comparison.parts import count_entries
from pelican_resourcesync.publication.disk.staging import staging
from pelican_resourcesync.publication.documents import write_entry_points
from pelican_resourcesync.publication.kinds.packages import open_package, repacked, write_package
from pelican_resourcesync.publication.kinds.pages.changes import parse_shown
from pelican_resourcesync.publication.kinds.pages.overview import overview_of_stage
from pelican_resourcesync.publication.kinds.pages.pages import PageSet, write_pages
from pelican_resourcesync.publication.kinds.versions import VersionIndex, carry_versions
from pelican_resourcesync.publication.model.clock import later
from pelican_resourcesync.publication.model.history import ChangeHistory, parse_change
from pelican_resourcesync.publication.model.kinds import Takedown, kind_of
from pelican_resourcesync.publication.model.layout import HTML_PAGE
from pelican_resourcesync.publication.model.options import Options, PageOptions
from pelican_resourcesync.publication.model.ranges import Body, FixedBoundaries
from pelican_resourcesync.publication.model.resource import EDITION, SHA_256, Resource, Resources, Row
from pelican_resourcesync.publication.model.state import ChangeListSummary, Part
from pelican_resourcesync.publication.other_publishers import find_other_sets
from pelican_resourcesync.publication.plan import PlannedPublication, PublishRequest, plan_next
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage, require_signed
from pelican_resourcesync.publication.publish import carry_publication, write_set
from pelican_resourcesync.settings import Archives, Dumps, VersionOptions
from pelican_resourcesync.system.files import link_or_copy, measure
from pelican_resourcesync.system.signing import SigningKey

#: In these indexes, parts of which nothing is left are not listed.
_DIVIDED = (Capability.RESOURCELIST, Capability.RESOURCEDUMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownResult:
    """The result of a takedown for one set: the removed `uris`, sorted; empty if the set stays unchanged.

    `generation` is the number of its publication, and `home` the URI of the folder of its documents.
    """

    uris: tuple[str, ...]
    generation: int
    home: str


def forget_uris(  # noqa: PLR0913 - keyword-only options
    sets: Sequence[PreviousPublication],
    asked: Collection[str],
    output: Path,
    *,
    built: datetime,
    key: SigningKey | None = None,
    dry_run: bool = False,
) -> list[TakedownResult]:
    """Write the next generations of `sets` into `output`, in which nothing contains the requested URIs any more.

    The only exception is one change for each, which says that it is deleted, at the time `built` and later than all
    others. Everything else stays the same: resources, changes, the intervals of Change Lists, and the contents of
    packages. Sets without these URIs stay as they are. `key` signs the result, and must have signed `sets` if any has.
    A `dry_run` writes nothing.

    Raises `PublicationError` for a URI that is unknown or cannot be removed, and if the documents cannot be written. In
    these cases nothing is written.
    """
    for previous in sets:
        require_signed(previous, key)
    published = [_published(previous) for previous in sets]
    uris = find_uris(asked, {uri for kinds in published for uri in kinds})
    gone = [{uri for uri in uris if kinds.get(uri, set()) - {ChangeKind.DELETED}} for kinds in published]
    options = [_options(previous, output, uris, key) for previous in sets]
    written = [(own.layout, previous.state) for own, previous in zip(options, sets, strict=True)]
    if any(gone) and not dry_run:
        others = find_other_sets(output, [previous.layout for previous in sets])
        with staging(output) as stage:
            pages = []
            for number, (previous, own, removed) in enumerate(zip(sets, options, gone, strict=True)):
                if removed:
                    planned = _plan(previous, own, removed, built, stage.work / f"without-{number}")
                    pages.append(write_set(stage, planned, previous.state.sets))
                else:
                    carry_publication(stage, previous)
                    carry_versions(stage, own, previous)
                    overview = overview_of_stage(stage, previous.layout, previous.state)
                    pages.append(PageSet(own, previous.state, overview))
                stage.link_records(previous.layout, removed)
            write_entry_points(stage, [page.options for page in pages], others)
            write_pages(stage, pages, others)
            written = [(page.options.layout, page.state) for page in pages]
            stage.install([layout for layout, _ in written])
    return [
        TakedownResult(uris=tuple(sorted(removed)), generation=state.generation, home=layout.uri(f"{layout.folder}/"))
        for removed, (layout, state) in zip(gone, written, strict=True)
    ]


def _published(previous: PreviousPublication) -> Mapping[str, set[ChangeKind | None]]:
    """Return what is published about each URI: the kinds of its changes, and `None` for anything else."""
    published: dict[str, set[ChangeKind | None]] = defaultdict(set)
    paths = [*previous.state.documents, *previous.state.superseded]
    for path in paths:
        if path.endswith(".xml") and (previous.folder / path).is_file():
            for entry in _read(previous, path).entries:
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
            hint = f"did you mean {' or '.join(near)}?" if near else "use the URI in the Resource List"
            message = f"{uri} is neither in the publication nor in a Change List: {hint}"
            raise PublicationError(message)
        found |= matching
    return found


def _read(previous: PreviousPublication, path: str) -> Document:
    with explain_damage(previous.where), (previous.folder / path).open("rb") as stream:
        document = read(stream, name=path)
        return replace(document, entries=tuple(document.entries))


def _options(previous: PreviousPublication, output: Path, uris: Collection[str], key: SigningKey | None) -> Options:
    """Return the options with which a set was published, as far as its documents say."""
    layout, state = previous.layout, previous.state
    links = {link.rel: link.href for link in _read(previous, layout.capability_list).links}
    if links["describedby"] in uris:
        message = (
            f"{links['describedby']} describes the site, and documents link to it: set 'describedby' in RESOURCESYNC "
            "to another page, build, and run this command again"
        )
        raise PublicationError(message)
    versions = VersionIndex(previous).written_for
    kept = {of: None if layout.archive(of) in state.documents else 0 for of in ("resourcelist", "resourcedump")}
    return Options(
        output=output,
        layout=layout,
        site_name=state.site_name,
        edition=_edition(previous),
        dumps=Dumps(
            resourcedump=layout.resource_dump in state.documents, changedump=layout.change_dump_index in state.documents
        ),
        archives=Archives(**kept),
        describedby=links["describedby"].replace(layout.uri(HTML_PAGE), ""),
        remove_deleted=True,
        versions=VersionOptions(
            below=versions[1], timegate=versions[2], sha256=None if versions[3] == OF_ALL else lambda *_: ""
        )
        if versions
        else None,
        page=PageOptions(language=state.language, timezone=state.timezone, home=state.home),
        hubs=state.hubs,
        key=key,
        publisher=state.publisher,
    )


def _edition(previous: PreviousPublication) -> int:
    """Return the edition of the standard by the last changes: those of the first edition have no `datetime`."""
    bodies = [body for commit_range in previous.ranges[-1:] for body in commit_range.bodies]
    with explain_damage(previous.where):
        listed = [entry.md for body in bodies for entry in body.entries()]
    return 2014 if listed and not any(" datetime=" in md for md in listed) else EDITION


def _plan(
    previous: PreviousPublication, options: Options, uris: Collection[str], built: datetime, folder: Path
) -> PlannedPublication:
    """Plan the publication that continues a copy without some URIs, in which they are deleted at the time `built`.

    Where there is no Change List, nobody follows changes, and none says so: changes are listed from then on.
    """
    without, drafts = _Copy(previous, uris, folder / "documents").write(), folder / "drafts"
    drafts.mkdir()
    before, followed = previous.state, previous.layout.change_list_index in previous.state.documents
    at = before.landed if followed else later(built, previous.last, built)
    history = ChangeHistory(
        built=built,
        complete=False,
        commit=before.commit,
        landed=at,
        read_as_of=before.read_as_of,
        last_modified=before.last_modified,
        withdrawn=sorted(uris) if followed else (),
    )
    request = PublishRequest(
        resources=_Listed(without),
        history=history,
        boundaries=FixedBoundaries(()),
        options=replace(options, layout=without.layout),
        previous=without,
    )
    planned = plan_next(request, drafts)
    state = replace(planned.state, unstable={uri: n for uri, n in before.unstable.items() if uri not in uris})
    if not followed:
        state = replace(state, landed=before.landed, began=planned.news.at)
    return planned._replace(state=state)


class _Listed(Resources):
    """The resources that a publication lists: none has changed since, and none has a file."""

    def __init__(self, publication: PreviousPublication) -> None:
        self._publication = publication

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        rows = self._publication.resources.rows()
        return (row for row in rows if begin <= row.uri and (end is None or row.uri < end))

    def get(self, uri: str) -> Resource | None:  # noqa: ARG002 - none has a file
        return None

    def changed_since(self, digest: str) -> Iterable[tuple[str, Row | None]]:  # noqa: ARG002 - none has changed
        return ()


class _Copy:
    """A copy of a publication in another folder, without some URIs, at addresses that were never used."""

    def __init__(self, previous: PreviousPublication, uris: Collection[str], folder: Path) -> None:
        self._previous, self._uris, self._folder = previous, uris, folder
        self._old = previous.layout
        self._new = replace(previous.layout, restart_number=previous.layout.restart_number + 1)
        self._hashes: dict[str, str] = {}  # of what was written, by the paths in the copy
        self._lengths: dict[str, int] = {}
        self._empty = set[str]()

    def write(self) -> PreviousPublication:
        """Write it; return the publication that it is."""
        state = self._previous.state
        for path in sorted(state.documents, key=lambda path: kind_of(path).step):  # no link to later ones
            if path.startswith(f"{self._old.folder}/"):
                self._write(path)
        parts = tuple(part for part in map(self._part, state.parts) if part.path in self._hashes)
        state = replace(
            state,
            documents=self._hashes,
            packages={path: length for path, length in self._lengths.items() if kind_of(path).is_package},
            superseded={},
            first=None,  # a past that is added would name these URIs again
            parts=parts,
            change_lists=tuple(map(self._change_list, state.change_lists)),
        )
        original = self._previous.folder
        return replace(self._previous, folder=self._folder, original=original, layout=self._new, state=state)

    def _write(self, path: str) -> None:
        """Write a document as its kind says."""
        target, file = self._folder / self._moved(path), self._previous.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        match kind_of(path).takedown:
            case Takedown.LEFT_OUT:
                return
            case Takedown.AS_IT_IS:
                link_or_copy(file, target)
            case Takedown.ENTRIES:
                self._write_document(path)
            case Takedown.MEMBERS:
                self._write_package(path)
            case Takedown.LINES:
                with explain_damage(self._previous.where):
                    history = parse_version_history(file.read_bytes(), path)
                lines = {key: line for key, line in history.lines.items() if json.loads(key) not in self._uris}
                target.write_bytes(history._replace(lines=lines).render())
            case Takedown.CHANGES:
                self._write_shown(path)
        self._note(self._moved(path))

    def _write_package(self, path: str) -> None:
        manifest, target = self._old.manifest(path), self._moved(path)
        document = _read(self._previous, manifest)
        left = [entry for entry in document.entries if entry.loc not in self._uris]
        head = replace(document, entries=(), links=tuple(map(self._link, document.links)))
        with (
            open_package(self._previous.folder / path) as package,
            (self._folder / target).open("wb+") as stream,
            (self._folder / self._moved(manifest)).open("wb+") as copied,
        ):
            bitstreams = (repacked(entry, package) for entry in left)
            write_package(stream, copied, head, bitstreams, base=self._new.siteurl)
        self._note(self._moved(manifest))

    def _write_document(self, path: str) -> None:
        document, target = _read(self._previous, path), self._moved(path)
        entries = [self._entry(entry) for entry in document.entries if entry.loc not in self._uris]
        if document.root is Root.SITEMAPINDEX and document.md and document.md.capability in _DIVIDED:
            parts = {self._path(entry.loc): entry for entry in entries}
            entries = [entry for path, entry in parts.items() if path not in self._empty] or entries[:1]
            for part in self._empty.intersection(parts).difference(self._path(entry.loc) for entry in entries):
                del self._hashes[part]
        elif not entries:
            self._empty.add(target)
        links = tuple(self._link(link) for link in document.links)
        with (self._folder / target).open("wb") as stream:
            write(replace(document, links=links, entries=entries), stream)

    def _write_shown(self, path: str) -> None:
        with explain_damage(self._previous.where):
            shown = parse_shown((self._previous.folder / path).read_bytes(), path)
        changes = [
            replace(
                change,
                href="" if change.href in self._uris else change.href,
                moved="" if change.moved in self._uris else change.moved,
            )
            for change in shown.changes
            if change.uri not in self._uris
        ]
        (self._folder / self._moved(path)).write_bytes(shown._replace(changes=changes).render())

    def _entry(self, entry: Entry) -> Entry:
        links = tuple(self._link(link) for link in entry.links if link.href not in self._uris)
        loc, md = self._uri(entry.loc), entry.md or Metadata()
        path = self._path(loc)
        if path in self._lengths and kind_of(path).is_package:
            digest = Hash(algorithm=SHA_256, digest=self._hashes[path])
            md = replace(md, hash=(digest,), length=self._lengths[path])
        return replace(entry, loc=loc, md=md, links=links)

    def _link(self, link: Link) -> Link:
        return replace(link, href=self._uri(link.href))

    def _uri(self, uri: str) -> str:
        """Return the URI that a document gets; that of anything else stays."""
        path = uri.removeprefix(f"{self._old.siteurl}/")
        return self._new.uri(self._moved(path)) if path in self._previous.state.documents else uri

    def _path(self, uri: str) -> str:
        return uri.removeprefix(f"{self._new.siteurl}/")

    def _moved(self, path: str) -> str:
        """Return the path that a document gets."""
        return f"{self._new.folder}{path.removeprefix(self._old.folder)}"

    def _note(self, target: str) -> None:
        self._hashes[target], self._lengths[target] = measure(self._folder / target)

    def _part(self, part: Part) -> Part:
        """Return a part of the Resource List as it is in the copy."""
        path = self._moved(part.path)
        entries = [*Body(self._folder / path, is_draft=False).entries()]
        counts = count_entries([entry.lastmod for entry in entries], [entry.md for entry in entries])
        return Part(path=path, first=entries[0].loc if entries else "", counts=counts)

    def _change_list(self, summary: ChangeListSummary) -> ChangeListSummary:
        """Return the number of changes of a Change List as it is in the copy."""
        path = self._moved(summary.path)
        kinds = Counter(parse_change(entry).kind for entry in Body(self._folder / path, is_draft=False).entries())
        created, updated, deleted = (kinds[kind] for kind in ChangeKind)
        return replace(summary, path=path, created=created, updated=updated, deleted=deleted)
