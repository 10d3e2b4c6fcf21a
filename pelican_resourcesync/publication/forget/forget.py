"""Takedown: publish a site again without some resources, under new addresses.

This is the one exception to the promise that a closed Change List never changes. The old documents contain URIs that
must no longer be published, so they are removed at once, and nothing links to them. The new documents get addresses
that were never used, so that no address ever has different bytes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind, Entry
from pelican_resourcesync.publication.diff import Comparison, make_times_unique
from pelican_resourcesync.publication.disk.staging import Stage, staging
from pelican_resourcesync.publication.documents.contents import Contents
from pelican_resourcesync.publication.documents.entry_points import write_entry_points
from pelican_resourcesync.publication.documents.other_publishers import find_other_sets
from pelican_resourcesync.publication.documents.writer import DocumentWriter
from pelican_resourcesync.publication.forget.inferred_options import entries_of, options_as_before
from pelican_resourcesync.publication.forget.takedown_contents import TakedownContents, links_without, without
from pelican_resourcesync.publication.forget.uri_normalization import find_uris
from pelican_resourcesync.publication.generation import GenerationWriter, carry_publication, write_state
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.layout import MANIFEST, is_package
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import FixedBoundaries, Range, cut
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS, State
from pelican_resourcesync.publication.pages import PageSet, overview_of_stage, write_pages
from pelican_resourcesync.publication.previous.ancestry import layout_after
from pelican_resourcesync.publication.previous.previous import PreviousPublication

#: What is published about a URI that needs no takedown.
_GONE = {ChangeKind.DELETED}


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownResult:
    """The result of a takedown for one set: the removed `uris`, sorted; empty if the set stays unchanged.

    The counts are those of the new publication, whose number is `generation`. `home` is the URI of the folder of its
    documents, and `notes` are messages for the user.
    """

    uris: tuple[str, ...]
    generation: int
    resources: int
    changes: int
    ranges: int
    home: str
    notes: tuple[str, ...] = ()


def forget_uris(
    sets: Sequence[PreviousPublication],
    asked: Collection[str],
    output: Path,
    *,
    built: datetime,
    site_name: str | None = None,
) -> list[TakedownResult]:
    """Write the next generations of `sets` into `output`, in which nothing contains the requested URIs any more.

    The only exception is one change for each, which says that it is deleted, at the time `built` and later than all
    others. Everything else stays the same: resources, changes, the boundaries of Change Lists, and the contents of
    packages. Sets without these URIs stay as they are. `site_name` is as in `options_as_before`.

    Raises `PublicationError` for a URI that is unknown or cannot be removed, and if the documents cannot be written. In
    these cases nothing is written.
    """
    takings = [_Taking(each, output, site_name) for each in sets]
    found = find_uris(asked, {uri for each in takings for uri in each.published})
    taken = [each.take(found, built) for each in takings]
    notes = _write(taken, output) if any(each.forgotten.uris for each in taken) else ()
    return [replace(each.forgotten, notes=notes if each is taken[0] else ()) for each in taken]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """The planned takedown for one set; `contents` and `state` are `None` if it stays unchanged."""

    previous: PreviousPublication
    options: Options
    forgotten: TakedownResult
    contents: Contents | None = None
    state: State | None = None


def _write(taken: Sequence[_Taken], output: Path) -> tuple[str, ...]:
    neighbours = find_other_sets(output, [each.options.layout for each in taken])
    with staging(output) as stage:
        for each in taken:
            _write_set(stage, each)
        write_entry_points(stage, [each.options for each in taken], neighbours.entries)
        pages = []
        for each in taken:
            state, layout = each.previous.state, each.options.layout
            if each.state is not None:
                state = write_state(stage, each.state, layout, None)  # no previous one: nothing it superseded may stay
            listed = each.contents.listed if each.contents else each.previous.resources
            pages.append(PageSet(each.options, overview_of_stage(stage, layout, state, listed)))
            stage.link_records(each.options.layout, each.forgotten.uris)
        write_pages(stage, pages, neighbours.entries)
        stage.install([each.options.layout for each in taken])
    return neighbours.notes


def _write_set(stage: Stage, taken: _Taken) -> None:
    if taken.contents is None:
        carry_publication(stage, taken.previous)
    else:
        GenerationWriter(DocumentWriter(stage, taken.options), taken.contents).write()


class _Taking:
    """One set from which URIs are to be removed."""

    def __init__(self, previous: PreviousPublication, output: Path, site_name: str | None) -> None:
        self._previous, self._output, self._site_name = previous, output, site_name
        self._ranges = _ranges(previous)
        self.published = self._published()

    def take(self, asked: Collection[str], built: datetime) -> _Taken:
        """Remove these URIs, as the publication writes them, if it contains more about them than their deletion."""
        uris = {uri for uri in asked if self.published.get(uri, _GONE) != _GONE}
        previous = self._previous
        layout = layout_after(previous.layout, None, previous) if uris else previous.layout
        options = options_as_before(previous, self._output, layout, self._site_name)
        _require_free(options, uris)
        ranges = self._without(uris, built, options) if uris else self._ranges
        listed = without(previous.resources, uris)
        state = _state(previous, layout.restart_number, uris, ranges) if uris else previous.state
        forgotten = TakedownResult(
            uris=tuple(sorted(uris)),
            generation=state.generation,
            resources=len(listed),
            changes=state.changes,
            ranges=len(ranges),
            home=layout.uri(f"{layout.folder}/"),
        )
        if not uris:
            return _Taken(previous=previous, options=options, forgotten=forgotten)
        contents = TakedownContents(previous, options, uris).contents(state.at, listed, ranges)
        return _Taken(previous=previous, options=options, forgotten=forgotten, contents=contents, state=state)

    def _without(self, uris: Collection[str], built: datetime, options: Options) -> list[Range]:
        limit = Comparison.of(uris, self._previous).capacity(options.limits)
        gone = [Change(built, uri, ChangeKind.DELETED) for uri in sorted(uris)]
        last = make_times_unique(gone, floor=self._previous.last, limit=limit)
        return _with(_without(self._ranges, uris), last, self._previous, limit)

    def _published(self) -> Mapping[str, set[ChangeKind | None]]:
        """Return what is published about each URI: the kinds of its changes, and `None` for anything else."""
        published: dict[str, set[ChangeKind | None]] = {}
        for change in chain.from_iterable(each.changes for each in self._ranges):
            published.setdefault(change.uri, set()).add(change.kind)
        for uri in self._previous.resources:
            published.setdefault(uri, set()).add(None)
        for entry in _elsewhere(self._previous):
            published.setdefault(entry.loc, set()).add(entry.md.change if entry.md else None)
        return published


def _elsewhere(previous: PreviousPublication) -> Iterator[Entry]:
    """Yield the entries of archives, of manifests, and of superseded documents."""
    of_the_past = [
        path
        for path in previous.state.documents
        if path.startswith(previous.layout.archive_folder) or path.endswith(MANIFEST)
    ]
    for path in (*previous.state.superseded, *of_the_past):
        if not is_package(path) and (previous.folder / path).is_file():
            yield from entries_of(previous, path)


def _require_free(options: Options, uris: Collection[str]) -> None:
    if options.describedby in uris:
        message = (
            f"{options.describedby} is the page that describes every document: set 'describedby' in RESOURCESYNC "
            "to another page, build, and then forget it"
        )
        raise PublicationError(message)


def _ranges(previous: PreviousPublication) -> list[Range]:
    """Read all ranges with their changes, including closed ones."""
    closed = (replace(each, unchanged=False, changes=previous.changes_in(each)) for each in previous.closed)
    return [*closed, *([previous.open] if previous.open else ())]


def _without(ranges: Iterable[Range], uris: Collection[str]) -> list[Range]:
    """Return the ranges without changes of these URIs, still without gaps.

    If a closed range becomes empty, the one before it is extended over its time, or else the one after it.
    """
    kept: list[Range] = []
    begin = None
    for each in ranges:
        changes = tuple(
            change._replace(links=links_without(change.links, uris))
            for change in each.changes
            if change.uri not in uris
        )
        if changes or not each.closed:
            kept.append(replace(each, start=begin or each.start, changes=changes))
            begin = None
        elif kept:
            kept[-1] = replace(kept[-1], until=each.until)
        else:
            begin = begin or each.start
    return kept if begin is None else [Range(begin)]


def _with(ranges: list[Range], gone: Sequence[Change], previous: PreviousPublication, limit: int) -> list[Range]:
    """Add the deletions to the open range; no calendar period closes it for them."""
    opened = ranges.pop() if ranges and not ranges[-1].closed else None
    begin = ranges[-1].until if ranges else previous.state.at
    return [*ranges, *cut(gone, FixedBoundaries(()), open_range=opened, begin=begin, limit=limit)]


def _state(previous: PreviousPublication, start: int, uris: Collection[str], ranges: Sequence[Range]) -> State:
    before = previous.state
    return replace(
        before,
        generation=before.generation + 1,
        predecessor=previous.digest,
        ancestors=before.ancestry[: MOST_ANCESTORS - 1],
        restart_number=start,
        at=ranges[-1].changes[-1].time,
        changes=sum(len(each.changes) for each in ranges),
        documents={},
        superseded={},
        unstable={uri: count for uri, count in before.unstable.items() if uri not in uris},
    )
