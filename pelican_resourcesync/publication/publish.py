"""Publishing: `publication = publish(previous publication, resources as they are now, history)`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication.account import changes_since, spread
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.generation import Generation, Options
from pelican_resourcesync.publication.layout import DESCRIPTION, PEOPLE, STATE, WELL_KNOWN
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.ranges import Cuts, Range, cut
from pelican_resourcesync.publication.resource import Listed, Resource
from pelican_resourcesync.publication.staging import Stage, staging
from pelican_resourcesync.publication.state import State, render_state
from pelican_resourcesync.transport.folder import sha256
from pelican_resourcesync.version import __version__

#: The most bytes that a Change List needs beside its entries, and an entry beside its URI.
_HEAD, _ENTRY = 10_000, 500

TOOL = f"pelican-resourcesync {__version__}"


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

    `gone` counts the URIs that the new changes name though they are no longer there.
    """

    first: bool
    resources: int
    changes: int
    ranges: int
    new: Mapping[ChangeKind, int]
    gone: int


def publish(
    resources: Iterable[Resource], told: Told, cuts: Cuts, options: Options, previous: Previous | None = None
) -> Publication:
    """Publish a set of resources, and give the counts of what was published.

    All documents are staged beside their place and then moved into it. Raises `PublicationError` where they
    cannot be written or a resource cannot be read, and `DocumentError` for a resource that no document can name.
    """
    built = {resource.uri: resource for resource in resources}
    now = {uri: resource.represent() for uri, resource in built.items()}
    capacity = _capacity(options.limits, [*now, *(change.uri for change in told.changes)], previous)
    fresh = _fresh(previous, now, told, capacity)
    ranges = _ranges(previous, fresh, cuts, capacity)
    state = _state(previous, told, fresh, options.layout.siteurl)
    listed = _listed(built, now, previous, fresh)
    with staging(options.output) as stage:
        Generation(stage, options, state.at).write(listed, ranges, previous.folder if previous else None)
        _write_state(stage, state, previous)
        stage.install(options.layout.folder, [PEOPLE, DESCRIPTION, STATE, WELL_KNOWN])
    kinds = Counter(change.kind for change in fresh)
    return Publication(
        first=previous is None,
        resources=len(now),
        changes=state.changes,
        ranges=len(ranges),
        new={kind: kinds[kind] for kind in ChangeKind},
        gone=len({change.uri for change in fresh} - now.keys()),
    )


def _capacity(limits: Limits, uris: Iterable[str], previous: Previous | None) -> int:
    """Give how many changes of these URIs, and of those listed before, one Change List can hold (`X04`)."""
    if previous:
        listed = previous.open.changes if previous.open else ()
        uris = [*uris, *previous.resources, *(change.uri for change in listed)]
    longest = max((len(uri) + uri.count("&") * len("amp;") for uri in uris), default=0)
    return max(1, min(limits.entries, (limits.size - _HEAD) // (longest + _ENTRY)))


def _fresh(previous: Previous | None, now: Mapping[str, Representation], told: Told, limit: int) -> list[Change]:
    """Give the changes since the previous publication, dated so that no follower misses one."""
    if previous is None:
        if not told.complete:
            return []
        unexplained = told.landed or told.built
        return spread(changes_since(None, now, told.changes, unexplained=unexplained), floor=None, limit=limit)
    news = told.landed is not None and told.commit != previous.state.commit and told.landed > previous.last
    unexplained = told.landed if news and told.landed else told.built
    found = changes_since(previous.resources, now, told.changes, unexplained=unexplained)
    return spread(found, floor=previous.last, limit=limit)


def _ranges(previous: Previous | None, fresh: Sequence[Change], cuts: Cuts, limit: int) -> list[Range]:
    if previous is None:
        return cut(fresh, cuts, open_range=None, begin=None, limit=limit)
    begin = previous.closed[-1].until if previous.closed else previous.state.at
    return [*previous.closed, *cut(fresh, cuts, open_range=previous.open, begin=begin, limit=limit)]


def _at(previous: Previous | None, told: Told, fresh: Sequence[Change]) -> datetime:
    """Give the time of the Resource List: no change after it can be earlier (`RL02`)."""
    times = [told.landed or (told.built if previous is None else previous.last)]
    times += [previous.last] if previous else []
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


def _state(previous: Previous | None, told: Told, fresh: Sequence[Change], siteurl: str) -> State:
    """Give the state of this generation, the documents of which are yet to be written."""
    return State(
        generation=previous.state.generation + 1 if previous else 1,
        predecessor=previous.digest if previous else None,
        siteurl=siteurl,
        at=_at(previous, told, fresh),
        changes=len(fresh) + (previous.state.changes if previous else 0),
        commit=told.commit,
        landed=told.landed,
        held=told.held,
        documents={},
    )


def _write_state(stage: Stage, state: State, previous: Previous | None) -> None:
    """Write the state; the very bytes of the last one where nothing changed."""
    documents = {path: sha256(stage.read(path)) for path in stage.paths()}
    if previous and documents == previous.state.documents and state.commit == previous.state.commit:
        stage.carry(STATE, previous.folder / STATE)
    else:
        stage.write(STATE, render_state(replace(state, documents=documents), TOOL))
