"""Publishing: `publication = publish(previous publication, resources as they are now, history)`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication.account import changes_since, restless_since, spread
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.generation import Generation, Options
from pelican_resourcesync.publication.guards import require_few_deletions, require_same_site
from pelican_resourcesync.publication.lineage import Known, layout_after
from pelican_resourcesync.publication.neighbours import Neighbours, find_neighbours
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.ranges import Cuts, Range, cut, retain
from pelican_resourcesync.publication.resource import Listed, Resource
from pelican_resourcesync.publication.sealing import seal
from pelican_resourcesync.publication.staging import staging
from pelican_resourcesync.publication.state import MOST_ANCESTORS, State

#: The most bytes that a Change List needs beside its entries, and an entry beside its URI.
_HEAD, _ENTRY = 10_000, 500

#: In how many publications in a row a URI is updated for nothing before that is told.
_RESTLESS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What history tells: `changes` since the last publication, oldest first, and the clock to publish by.

    `complete` is false where there is no history to tell anything from. `commit` is the commit built, `landed`
    its landing time. `built` is the time of this build.
    """

    built: datetime
    changes: Sequence[Change] = ()
    complete: bool = True
    commit: str | None = None
    landed: datetime | None = None
    held: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What was published: the counts of resources, of all listed changes, of ranges, and of the new changes by kind.

    `first` tells that no publication was carried forward. `gone` counts the URIs that the new changes name though
    they are no longer there. `restless` are the URIs whose bytes changed in two or more publications in a row though
    history told no change of them, with that number. `notes` are for the user to know.
    """

    first: bool = True
    resources: int
    changes: int
    ranges: int
    new: Mapping[ChangeKind, int]
    gone: int
    restless: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def publish(  # noqa: PLR0913 - the sentence above, and how to publish
    resources: Iterable[Resource],
    told: Told,
    cuts: Cuts,
    options: Options,
    previous: Previous | None = None,
    *,
    over: Known | None = None,
) -> Publication:
    """Publish a set of resources, and give the counts of what was published.

    `previous` is carried forward; without it the set begins anew, `over` a known publication under new URIs that go on
    counting its generations (see `layout_after`). All documents are staged beside their place and then moved into it.
    Raises `PublicationError` where they cannot be written, a resource cannot be read, or a guard says that this cannot
    be meant, and `DocumentError` for a resource that no document can name.
    """
    options = replace(options, layout=layout_after(options.layout, previous, over))
    built = {resource.uri: resource for resource in resources}
    _guard(previous, built, options)
    now = {uri: resource.represent() for uri, resource in built.items()}
    limit = capacity(options.limits, [*now, *(change.uri for change in told.changes)], previous)
    fresh = _fresh(previous, now, told, limit)
    ranges = _ranges(previous, fresh, cuts, limit)
    kept = retain(ranges, options.keep)
    dropped = _count(ranges[: len(ranges) - len(kept)], previous)
    state = _state(told, fresh, options, previous, over, dropped)
    listed = _listed(built, now, previous, fresh)
    neighbours = _neighbours(previous, options)
    with staging(options.output) as stage:
        carried = previous.folder if previous else None
        Generation(stage, options, state.at).write(listed, kept, carried, neighbours.entries)
        seal(stage, state, options.layout, previous)
        stage.install(options.layout)
    return replace(_summary(now, fresh, state, kept), first=previous is None, notes=neighbours.notes)


def _summary(
    now: Mapping[str, Representation], fresh: Sequence[Change], state: State, ranges: Sequence[Range]
) -> Publication:
    kinds = Counter(change.kind for change in fresh)
    return Publication(
        resources=len(now),
        changes=state.changes,
        ranges=len(ranges),
        new={kind: kinds[kind] for kind in ChangeKind},
        gone=len({change.uri for change in fresh} - now.keys()),
        restless={uri: count for uri, count in state.restless.items() if count >= _RESTLESS},
    )


def _guard(previous: Previous | None, uris: Iterable[str], options: Options) -> None:
    """Raise `PublicationError` for what cannot be meant: another site, or a great part of this one gone."""
    if previous:
        moved = require_same_site(previous.state.siteurl, options.layout.siteurl, options.moved_from)
        require_few_deletions(previous.resources, uris, allowed=moved or options.allow_deletions)


def _neighbours(previous: Previous | None, options: Options) -> Neighbours:
    former = {options.moved_from, previous.state.siteurl if previous else ""}
    return find_neighbours(options.output, options.layout, former)


def capacity(limits: Limits, uris: Iterable[str], previous: Previous | None) -> int:
    """Give how many changes of these URIs, and of those listed before, one Change List can hold (`X04`)."""
    if previous:
        listed = previous.open.changes if previous.open else ()
        uris = [*uris, *previous.resources, *(change.uri for change in listed)]
    longest = max((len(uri) + uri.count("&") * len("amp;") for uri in uris), default=0)
    return max(1, min(limits.entries, (limits.size - _HEAD) // (longest + _ENTRY)))


def _fresh(previous: Previous | None, now: Mapping[str, Representation], told: Told, limit: int) -> list[Change]:
    """Give the changes since the previous publication, dated so that no follower misses one.

    What no told change explains has the landing time of the commit built, or, where that is the one built before, the
    time of this build.
    """
    if previous is None and not told.complete:
        return []
    rebuilt = previous is not None and told.commit == previous.state.commit
    unexplained = told.built if told.landed is None or rebuilt else told.landed
    found = changes_since(previous.resources if previous else None, now, told.changes, unexplained=unexplained)
    return spread(found, floor=previous.last if previous else None, limit=limit)


def _ranges(previous: Previous | None, fresh: Sequence[Change], cuts: Cuts, limit: int) -> list[Range]:
    if previous is None:
        return cut(fresh, cuts, open_range=None, begin=None, limit=limit)
    begin = previous.closed[-1].until if previous.closed else previous.state.at
    return [*previous.closed, *cut(fresh, cuts, open_range=previous.open, begin=begin, limit=limit)]


def _count(dropped: Sequence[Range], previous: Previous | None) -> int:
    """Count the changes of ranges that are no longer listed; those that are carried have them in their documents."""
    unread = previous.listed_in(each for each in dropped if each.carried) if previous else 0
    return unread + sum(len(each.changes) for each in dropped)


def _at(told: Told, fresh: Sequence[Change], previous: Previous | None, over: Known | None) -> datetime:
    """Give the time of the Resource List: no change after it can be earlier (`RL02`)."""
    times = [previous.last] if previous else []
    times += [over.state.at] if over else []
    times += [told.landed] if told.landed else [] if previous else [told.built]
    return max([*times, fresh[-1].time] if fresh else times)


def _listed(
    built: Mapping[str, Resource],
    now: Mapping[str, Representation],
    previous: Previous | None,
    fresh: Iterable[Change],
) -> dict[str, Listed]:
    lastmods = {uri: was.lastmod for uri, was in previous.resources.items()} if previous else {}
    lastmods |= {change.uri: change.time for change in fresh}
    return {uri: Listed(now[uri], lastmods.get(uri, built[uri].modified)) for uri in built}


def _state(  # noqa: PLR0913, PLR0917 - all that a state says
    told: Told,
    fresh: Sequence[Change],
    options: Options,
    previous: Previous | None,
    over: Known | None,
    dropped: int,
) -> State:
    """Give the state of this generation, the documents of which are yet to be written; `dropped` changes went."""
    known = previous or over
    carried = previous.state if previous else None
    restless = restless_since(carried.restless, fresh, told.changes) if carried and told.complete else {}
    return State(
        generation=known.state.generation + 1 if known else 1,
        predecessor=known.digest if known else None,
        ancestors=known.state.ancestry[: MOST_ANCESTORS - 1] if known else (),
        siteurl=options.layout.siteurl,
        start=options.layout.start,
        at=_at(told, fresh, previous, over),
        changes=len(fresh) + (carried.changes if carried else 0) - dropped,
        commit=told.commit,
        landed=told.landed,
        held=carried.held if carried and not told.complete else told.held,
        restless=restless,
        documents={},
    )
