"""The diff between two publications: the history dates the changes, the bytes decide whether there was one.

From the second publication on, a URI changed if its hash differs from the last publication, even if none of its sources
did. If the hash is the same, it did not change, even if a source did. The first publication has no bytes to compare
with and relies on the history alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.model.change import Change, Representation
from pelican_resourcesync.publication.model.clock import TICK, later
from pelican_resourcesync.publication.model.resource import Listed

_by_time = attrgetter("time")
_by_uri = attrgetter("uri")


def changes_since(
    previous: Mapping[str, Listed] | None,
    now: Mapping[str, Representation],
    told: Iterable[Change],
    *,
    unexplained: datetime,
    among: Iterable[str] | None = None,
) -> list[Change]:
    """Return the changes between two publications, in chronological order and by URI.

    `previous` is the last Resource List, or `None` for a first publication. `now` are the resources as built, and
    `told` the changes that the history lists since then, oldest first. A change that the history does not explain gets
    the time `unexplained`. `among` are all URIs that may have changed, if known.

    With a previous publication, each URI has at most one change, with the hash, length and type of its bytes. In a
    first publication it has all changes that the history lists, without these.
    """
    if previous is None:
        found = _told(now, told, unexplained)
    else:
        found = _by_bytes(previous, now, told, unexplained, {**previous, **now} if among is None else among)
    changes = sorted(found, key=_by_uri)
    changes.sort(key=_by_time)  # sorted twice, because a combined key would build a tuple for each of possibly millions
    return changes


def _by_bytes(
    previous: Mapping[str, Listed],
    now: Mapping[str, Representation],
    told: Iterable[Change],
    unexplained: datetime,
    among: Iterable[str],
) -> Iterator[Change]:
    """Yield one change for each URI that was added, removed or has different bytes; the history only dates it.

    If the bytes are unknown, the history also decides whether they changed.
    """
    times = {change.uri: change.time for change in told}
    for uri in among:
        was, stands = previous.get(uri), now.get(uri)
        if was is None:
            kind = ChangeKind.CREATED
        elif stands is None:
            kind = ChangeKind.DELETED
        elif was.representation.differs(stands) or (stands.hash is None and uri in times):
            kind = ChangeKind.UPDATED
        else:
            continue
        yield Change(times.get(uri, unexplained), uri, kind, stands)


def _told(now: Mapping[str, Representation], told: Iterable[Change], unexplained: datetime) -> Iterator[Change]:
    """Yield the changes that the history lists, corrected at the end if they do not lead to the current resources."""
    lives: dict[str, list[Change]] = {uri: [] for uri in now}
    for change in told:
        lives.setdefault(change.uri, []).append(change)
    for uri, life in lives.items():
        steps = list(_steps(life))
        yield from steps
        stands = uri in now
        if stands != (bool(steps) and steps[-1].kind is not ChangeKind.DELETED):
            time = max(unexplained, steps[-1].time + TICK) if steps else unexplained
            yield Change(time, uri, ChangeKind.CREATED if stands else ChangeKind.DELETED)


def _steps(life: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes of one URI, at most one per time, so that it is created before it is updated or deleted."""
    present = False
    last: dict[datetime, Change] = {change.time: change for change in life}
    for change in last.values():
        stays = change.kind is not ChangeKind.DELETED
        if present or stays:
            kind = ChangeKind.DELETED if not stays else ChangeKind.UPDATED if present else ChangeKind.CREATED
            yield change if change.kind is kind else change._replace(kind=kind)
        present = stays


def restless_since(before: Mapping[str, int], changes: Iterable[Change]) -> dict[str, int]:
    """Return for each URI in how many publications in a row it was updated without an explanation.

    `before` are the counts of the previous publication, `changes` the changes since then.
    """
    return {each.uri: before.get(each.uri, 0) + 1 for each in changes if each.kind is ChangeKind.UPDATED}


def spread(
    changes: Iterable[Change],
    *,
    floor: datetime | None,
    limit: int,
    divide: Callable[[Sequence[Change]], Iterable[Sequence[Change]]] = lambda together: (together,),
) -> list[Change]:
    """Move `changes`, in chronological order, to times after `floor` and apart, so that none is back-dated.

    Each time becomes strictly later than `floor` and than the time before it. Changes of the same time stay together,
    but at most `limit` of them, and only those that `divide` leaves together. Changes that do not fit into the same
    document or package come a millisecond later.
    """
    moved: list[Change] = []
    for time, group in groupby(changes, key=_by_time):
        together = list(group)
        for start in range(0, len(together), limit):
            for part in divide(together[start : start + limit]):
                floor = later(time, floor)
                moved += part if part[0].time == floor else [change._replace(time=floor) for change in part]
    return moved
