"""Forgetting: the takedown order. What is published is written anew without some resources, at addresses of its own.

It is the one exception to what is promised of a closed Change List: the old documents name what must not be named, so
they go at once, and nothing leads to them. New ones lie where none ever lay, so that no address has other bytes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.account import spread
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.generation import Generation, Options
from pelican_resourcesync.publication.lineage import layout_after
from pelican_resourcesync.publication.manner import entries_of, options_as_before
from pelican_resourcesync.publication.neighbours import find_neighbours
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.publish import capacity
from pelican_resourcesync.publication.ranges import Marks, Range, cut
from pelican_resourcesync.publication.resource import Listed
from pelican_resourcesync.publication.sealing import seal
from pelican_resourcesync.publication.spelling import find_uris
from pelican_resourcesync.publication.staging import staging
from pelican_resourcesync.publication.state import MOST_ANCESTORS, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was forgotten: the `uris`, in order, none where that had been done before and nothing was written.

    The counts are of what is published now, as generation `generation`; `home` is the URI that its documents lie below,
    `notes` are for the user to know.
    """

    uris: tuple[str, ...]
    generation: int
    resources: int
    changes: int
    ranges: int
    home: str
    notes: tuple[str, ...] = ()


def forget(
    previous: Previous, asked: Collection[str], output: Path, *, built: datetime, site_name: str | None = None
) -> Forgotten:
    """Write the generation after `previous` into `output`, in which nothing names the URIs asked for any more.

    But for one change of each, which says that it is deleted, at the time `built` and later than all before. All else
    stays as it was: resources, changes, and where one Change List ends and the next begins. `site_name` is as in
    `options_as_before`. Raises `PublicationError` for a URI of which nothing is known or that cannot be forgotten, and
    where the documents cannot be written; nothing is written then.
    """
    ranges = _ranges(previous)
    uris = _to_forget(previous, ranges, asked)
    layout = layout_after(previous.layout, None, previous) if uris else previous.layout
    options = options_as_before(previous, output, layout, site_name)
    _require_free(options, uris)
    limit = capacity(options.limits, uris, previous)
    gone = [Change(built, uri, ChangeKind.DELETED) for uri in sorted(uris)]
    ranges = _with(_without(ranges, uris), spread(gone, floor=previous.last, limit=limit), previous, limit)
    listed = {uri: each for uri, each in previous.resources.items() if uri not in uris}
    state = _state(previous, layout.start, uris, ranges) if uris else previous.state
    notes = _write(options, state, listed, ranges) if uris else ()
    return Forgotten(
        uris=tuple(sorted(uris)),
        generation=state.generation,
        resources=len(listed),
        changes=state.changes,
        ranges=len(ranges),
        home=layout.uri(f"{layout.folder}/"),
        notes=notes,
    )


def _write(options: Options, state: State, listed: Mapping[str, Listed], ranges: Sequence[Range]) -> tuple[str, ...]:
    neighbours = find_neighbours(options.output, options.layout)
    with staging(options.output) as stage:
        Generation(stage, options, state.at).write(listed, ranges, None, neighbours.entries)
        seal(stage, state, options.layout, None)  # after no other: what it supersedes must not stay
        stage.install(options.layout)
    return neighbours.notes


def _to_forget(previous: Previous, ranges: Sequence[Range], asked: Collection[str]) -> set[str]:
    """Give the URIs asked for, as the publication writes them, of which it says more than that they are gone."""
    said: dict[str, list[ChangeKind | None]] = {}
    for change in chain.from_iterable(each.changes for each in ranges):
        said.setdefault(change.uri, []).append(change.kind)
    for uri in chain(previous.resources, _superseded(previous)):
        said.setdefault(uri, []).append(None)
    return {uri for uri in find_uris(asked, said) if said[uri] != [ChangeKind.DELETED]}


def _superseded(previous: Previous) -> Iterator[str]:
    """Give what is named by documents that stay only for readers still under way."""
    for path in previous.state.superseded:
        if (previous.folder / path).is_file():
            yield from (entry.loc for entry in entries_of(previous, path))


def _require_free(options: Options, uris: Collection[str]) -> None:
    if options.describedby in uris:
        message = (
            f"{options.describedby} is what every document says it is described by: set 'describedby' in RESOURCESYNC "
            "to another page, build, and then forget it"
        )
        raise PublicationError(message)


def _ranges(previous: Previous) -> list[Range]:
    """Read all ranges with their changes, also those that are closed."""
    closed = (replace(each, carried=False, changes=previous.changes_in(each)) for each in previous.closed)
    return [*closed, *([previous.open] if previous.open else ())]


def _without(ranges: Iterable[Range], uris: Collection[str]) -> list[Range]:
    """Give the ranges without changes of these URIs, still end to end.

    Where nothing is left of one that is closed, the one before it reaches over its time, or else the one after it.
    """
    kept: list[Range] = []
    begin = None
    for each in ranges:
        changes = tuple(change for change in each.changes if change.uri not in uris)
        if changes or not each.closed:
            kept.append(replace(each, start=begin or each.start, changes=changes))
            begin = None
        elif kept:
            kept[-1] = replace(kept[-1], until=each.until)
        else:
            begin = begin or each.start
    return kept if begin is None else [Range(begin)]


def _with(ranges: list[Range], gone: Sequence[Change], previous: Previous, limit: int) -> list[Range]:
    """Add the last changes to the open range, which no calendar cuts for them."""
    opened = ranges.pop() if ranges and not ranges[-1].closed else None
    begin = ranges[-1].until if ranges else previous.state.at
    return [*ranges, *cut(gone, Marks(()), open_range=opened, begin=begin, limit=limit)]


def _state(previous: Previous, start: int, uris: Collection[str], ranges: Sequence[Range]) -> State:
    before = previous.state
    return replace(
        before,
        generation=before.generation + 1,
        predecessor=previous.digest,
        ancestors=before.ancestry[: MOST_ANCESTORS - 1],
        start=start,
        at=ranges[-1].changes[-1].time,
        changes=sum(len(each.changes) for each in ranges),
        documents={},
        superseded={},
        restless={uri: count for uri, count in before.restless.items() if uri not in uris},
    )
