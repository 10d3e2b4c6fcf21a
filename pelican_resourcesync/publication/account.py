"""The account of what changed: history says when and why, the bytes say whether.

A URI whose bytes differ from the last publication changed, even where no source of it did; one whose bytes are the same
did not, even where a source did. The first time there are no bytes to compare with, and history speaks alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.clock import TICK, later
from pelican_resourcesync.publication.resource import Listed

_by_time = attrgetter("time")
_by_time_and_uri = attrgetter("time", "uri")


def changes_since(
    previous: Mapping[str, Listed] | None,
    now: Mapping[str, Representation],
    told: Iterable[Change],
    *,
    unexplained: datetime,
) -> list[Change]:
    """Give the changes between two publications, in chronological order and by URI.

    `previous` is the last Resource List, `None` where this is the first publication; `now` the resources as
    built; `told` what history tells of the time between. A change that history does not explain has the time
    `unexplained`. The last change of a URI carries its bytes' hash where there was a publication to compare with.
    """
    before = previous or {}
    lives: dict[str, list[Change]] = {uri: [] for uri in (*before, *now)}
    for change in told:
        lives.setdefault(change.uri, []).append(change)
    found: list[Change] = []
    for uri, life in lives.items():
        was, stands = before.get(uri), now.get(uri)
        if was is not None and stands is not None and was.representation.sha256 == stands.sha256:
            continue
        steps = list(_steps(life, present=was is not None))
        if (steps[-1].kind is not ChangeKind.DELETED if steps else was is not None) != (stands is not None):
            steps.append(_last_word(uri, steps, unexplained, stands=stands is not None))
        elif not steps and stands is not None:
            steps.append(Change(unexplained, uri, ChangeKind.UPDATED))
        if steps and stands is not None and previous is not None:
            steps[-1] = replace(steps[-1], representation=stands)
        found += steps
    return sorted(found, key=_by_time_and_uri)


def _steps(life: Iterable[Change], *, present: bool) -> Iterator[Change]:
    """Give the changes of one URI so that it is created before it is updated or deleted, one change a time."""
    last: dict[datetime, Change] = {change.time: change for change in life}
    for change in last.values():
        stays = change.kind is not ChangeKind.DELETED
        if present or stays:
            kind = ChangeKind.DELETED if not stays else ChangeKind.UPDATED if present else ChangeKind.CREATED
            yield change if change.kind is kind else replace(change, kind=kind)
        present = stays


def _last_word(uri: str, steps: Sequence[Change], unexplained: datetime, *, stands: bool) -> Change:
    time = max(unexplained, steps[-1].time + TICK) if steps else unexplained
    return Change(time, uri, ChangeKind.CREATED if stands else ChangeKind.DELETED)


def spread(changes: Iterable[Change], *, floor: datetime | None, limit: int) -> list[Change]:
    """Move `changes`, in chronological order, past `floor` and apart, so that none is back-dated.

    Each time becomes strictly later than `floor` and than the time before it; changes of one time stay together, at
    most `limit` of them: what one Change List cannot hold comes a millisecond later.
    """
    moved: list[Change] = []
    for time, group in groupby(changes, key=_by_time):
        together = list(group)
        for start in range(0, len(together), limit):
            floor = later(time, floor)
            part = together[start : start + limit]
            moved += part if part[0].time == floor else [replace(change, time=floor) for change in part]
    return moved
