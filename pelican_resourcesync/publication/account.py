"""The account of what changed: history says when and why, the bytes say whether.

From the second publication on the bytes decide: a URI whose hash differs from the last publication changed, even where
no source of it did; one whose hash is the same did not, even where a source did. The first time there are no bytes to
compare with, and history speaks alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.clock import TICK, later
from pelican_resourcesync.publication.resource import Listed

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
    """Give the changes between two publications, in chronological order and by URI.

    `previous` is the last Resource List, `None` where this is the first publication; `now` the resources as
    built; `told` what history tells of the time between, oldest first. A change that history does not explain has
    the time `unexplained`. `among` are all URIs that may have changed, where that is known. Where there is a
    publication to compare with, a URI has at most one change, with the hash, length and type of its bytes; the first
    time a URI has as many as history tells, without.
    """
    if previous is None:
        found = _told(now, told, unexplained)
    else:
        found = _by_bytes(previous, now, told, unexplained, {**previous, **now} if among is None else among)
    changes = sorted(found, key=_by_uri)
    changes.sort(key=_by_time)  # in two steps: a key of both would be a tuple for each of what may be millions
    return changes


def _by_bytes(
    previous: Mapping[str, Listed],
    now: Mapping[str, Representation],
    told: Iterable[Change],
    unexplained: datetime,
    among: Iterable[str],
) -> Iterator[Change]:
    """Give the one change of each URI that came, went or has other bytes; history says of it when, no more.

    Where the bytes are not known, history alone can say that they changed.
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
    """Give what history tells, set right at its end where what is there is not what history leaves."""
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
    """Give the changes of one URI so that it is created before it is updated or deleted, one change a time."""
    present = False
    last: dict[datetime, Change] = {change.time: change for change in life}
    for change in last.values():
        stays = change.kind is not ChangeKind.DELETED
        if present or stays:
            kind = ChangeKind.DELETED if not stays else ChangeKind.UPDATED if present else ChangeKind.CREATED
            yield change if change.kind is kind else change._replace(kind=kind)
        present = stays


def restless_since(before: Mapping[str, int], changes: Iterable[Change]) -> dict[str, int]:
    """Return for each URI in how many publications in a row it was updated though nothing explains that.

    `before` are the counts of the previous publication, `changes` those since.
    """
    return {each.uri: before.get(each.uri, 0) + 1 for each in changes if each.kind is ChangeKind.UPDATED}


def spread(
    changes: Iterable[Change],
    *,
    floor: datetime | None,
    limit: int,
    divide: Callable[[Sequence[Change]], Iterable[Sequence[Change]]] = lambda together: (together,),
) -> list[Change]:
    """Move `changes`, in chronological order, past `floor` and apart, so that none is back-dated.

    Each time becomes strictly later than `floor` and than the time before it; changes of one time stay together, at
    most `limit` of them, and only those that `divide` leaves together: what one document, or one package, cannot hold
    comes a millisecond later.
    """
    moved: list[Change] = []
    for time, group in groupby(changes, key=_by_time):
        together = list(group)
        for start in range(0, len(together), limit):
            for part in divide(together[start : start + limit]):
                floor = later(time, floor)
                moved += part if part[0].time == floor else [change._replace(time=floor) for change in part]
    return moved
