"""Add the past of a publication that began without it: the changes before it, in front of all others.

Followers hold nothing from before the first publication. So Change Lists of that time can be added later, if they have
no change at the time of the first publication or after it: a follower would take that for one that it has missed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.comparison.changes import ChangeListBuilder, dated_changes, steps_of
from pelican_resourcesync.publication.model.clock import TICK, earlier
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Representation
from pelican_resourcesync.publication.previous.previous import PreviousPublication


class AddedPast(NamedTuple):
    """The changes from before a first publication: their ranges, and the time of the last change of each URI."""

    ranges: Sequence[Range]
    times: Mapping[str, str]

    def before(self, later: Sequence[Range]) -> list[Range]:
        """Return the ranges with `later` ones behind them; the last one ends where these begin, or else stays open."""
        *closed, last = self.ranges
        return [*closed, last._replace(until=later[0].start if later else None), *later]

    def span(self, listed: Iterable[Range]) -> tuple[int, datetime, datetime] | None:
        """Return the number of changes in ranges that are listed, and the times of the first and the last."""
        starts = {each.start for each in listed}
        times = [change.time for each in self.ranges if each.start in starts for change in each.changes]
        return (len(times), times[0], times[-1]) if times else None


def add_past(
    previous: PreviousPublication, past: Sequence[Change], edition: int, builder: Callable[[], ChangeListBuilder]
) -> AddedPast | None:
    """Return the changes before the first publication, from those that the history knows; `None` if nothing is missing.

    They lead to what the first publication listed: a resource that the history does not explain was created with it.
    `builder` returns a new builder of Change Lists.
    """
    first = previous.state.first
    if first is None or first.past:
        return None
    began = previous.state.began
    changes = [*_leading_to(_first_listed(previous), past, began)]
    end = began
    while changes:
        dated = dated_changes(_up_to(end, changes), edition)
        found = builder().build(dated, floor=None, begin=None, opened=None, note_updates=False)
        if found.last is None or found.last < began:
            return AddedPast(found.ranges, {each.uri: found.finals.of(each.time, each.uri) for each in dated})
        end = earlier(end - (found.last - began))  # what does not fit into one document comes later
    return None


def _first_listed(previous: PreviousPublication) -> dict[str, Representation | None]:
    """Return the resources of the first publication, with their bytes if these have stayed the same."""
    listed: dict[str, Representation | None] = {uri: each.representation for uri, each in previous.resources.items()}
    changed = set()
    for each in previous.ranges:
        for change in each.changes:
            if change.uri not in changed and change.kind is ChangeKind.CREATED:
                listed.pop(change.uri, None)
            elif change.uri not in changed:
                listed[change.uri] = None
            changed.add(change.uri)
    return listed


def _leading_to(listed: Mapping[str, Representation | None], past: Sequence[Change], at: datetime) -> Iterator[Change]:
    """Yield the changes of the past, so corrected that they lead to what was listed."""
    lives: dict[str, list[Change]] = defaultdict(list)
    for change in past:
        lives[change.uri].append(change)
    built = any(change.representation for change in past)
    for uri in lives.keys() | listed.keys():
        steps = [*steps_of(lives[uri])] if uri in lives else []
        while uri not in listed and steps and steps[-1].kind is not ChangeKind.DELETED:
            steps.pop()
        yield from steps
        if uri not in listed:
            continue
        then, last = listed[uri], steps[-1] if steps else None
        time = max(at, last.time + TICK) if last else at
        if last is None or last.kind is ChangeKind.DELETED:
            yield Change(time, uri, ChangeKind.CREATED, then if built else None)
        elif then and last.representation and last.representation.differs(then):
            yield Change(time, uri, ChangeKind.UPDATED, then)


def _up_to(end: datetime, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield changes with their times, or as late as possible before `end`, in the same order of time."""
    times: dict[datetime, datetime] = {}
    for time in sorted({change.time for change in changes}, reverse=True):
        end = times[time] = min(time, earlier(end))
    return (change._replace(time=times[change.time]) for change in changes)
