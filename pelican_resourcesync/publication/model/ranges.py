"""Commit ranges: the interval `(from, until]` that one Change List covers, and where one ends and the next begins.

There are no gaps between ranges. A range closes because a later change landed, never because time passed. A range
without changes gets no document: the `until` of the list before it covers it too (`CH06`, `AR06`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from pelican_resourcesync.publication.model.clock import TICK
from pelican_resourcesync.publication.model.history import Change


class RangeBoundaries(Protocol):
    """The times at which ranges may be cut."""

    def before(self, time: datetime) -> datetime | None:
        """Return the last cut before `time`, or `None` if there is none."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """Cuts at the beginning of each `period` (day, week from Monday, month, year) in UTC."""

    period: str

    def before(self, time: datetime) -> datetime:
        """Return the beginning of the period that contains `time`, which is never exactly on a boundary."""
        start = time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if self.period == "week":
            return start - timedelta(days=start.weekday())
        if self.period == "month":
            return start.replace(day=1)
        return start.replace(month=1, day=1) if self.period == "year" else start


@dataclass(frozen=True, slots=True)
class FixedBoundaries:
    """Cuts at given times: those of tags, or of every nth commit."""

    times: Sequence[datetime]

    def before(self, time: datetime) -> datetime | None:
        """Return the last of the times before `time`, or `None` if there is none."""
        at = bisect_left(self.times, time)
        return self.times[at - 1] if at else None


@dataclass(frozen=True, slots=True)
class Range:
    """One commit range: its `start` (`from`), its `until` once it is closed, its changes in order.

    `unchanged` ranges were closed by an earlier publication: their documents are kept unchanged, without being read.
    """

    start: datetime
    until: datetime | None = None
    changes: tuple[Change, ...] = ()
    unchanged: bool = False

    @property
    def closed(self) -> bool:
        """Whether the range has ended, so that its Change List never changes again (`X16`)."""
        return self.until is not None


def cut(
    changes: Iterable[Change], cuts: RangeBoundaries, *, open_range: Range | None, begin: datetime | None, limit: int
) -> list[Range]:
    """Divide `changes`, in chronological order, into ranges of at most `limit` changes.

    `open_range` is the range left open by the previous publication: changes are added to it until a cut ends it. If
    there is none, the first range begins at `begin`, or else at the cut before its first change. There are never more
    than `limit` changes of the same time: see `account.spread`.
    """
    ranges: list[Range] = []
    current, listed = open_range, list(open_range.changes if open_range else ())
    for group in _groups(changes):
        time = group[0].time
        mark = cuts.before(time)
        if current is None:
            current = Range(begin if begin is not None else mark or time - TICK)
        elif listed and (end := _end(current, listed, mark, full=len(listed) + len(group) > limit)):
            ranges.append(replace(current, until=end, changes=tuple(listed)))
            current, listed = Range(end), []
        listed += group
    return ranges if current is None else [*ranges, replace(current, changes=tuple(listed))]


def retain(ranges: Sequence[Range], keep: int | None) -> Sequence[Range]:
    """Return the ranges to keep: the last `keep` closed ones (all for `None`) and the open one.

    Only the oldest are removed, so there are still no gaps (`AR06`). The index and the archive list the same ranges, so
    they agree about the set (`CL06`).
    """
    closed = sum(each.closed for each in ranges)
    return ranges if keep is None else ranges[max(0, closed - keep) :]


def _end(current: Range, listed: Sequence[Change], mark: datetime | None, *, full: bool) -> datetime | None:
    """Return the end of the current range, or `None` if it stays open; never earlier than its last change."""
    if mark is not None and mark > current.start:
        return max(mark, listed[-1].time)
    return listed[-1].time if full else None


def _groups(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield changes of the same time together."""
    group: list[Change] = []
    for change in changes:
        if group and change.time != group[0].time:
            yield group
            group = []
        group.append(change)
    if group:
        yield group
