"""Commit ranges: where one Change List ends and the next begins."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.publication import Calendar, Change, FixedBoundaries, RangeBoundaries
from pelican_resourcesync.publication.model.ranges import Range, retain
from pelican_resourcesync.settings.publishing import PERIODS
from tests.kit.publications import CREATED, Division, change, divide, utc
from tests.kit.strategies import some_boundaries
from tests.kit.strategies import some_times as times

LIMIT = 3

_uris = st.sampled_from(["urn:x:a", "urn:x:b", "urn:x:c", "urn:x:d"])
_changes = st.lists(st.tuples(times, _uris), max_size=16, unique=True).map(
    lambda keys: [
        each
        for one in divide([Change(time, uri, CREATED) for time, uri in keys], FixedBoundaries([]), limit=LIMIT)
        for each in one.changes
    ]
)


def check(ranges: Sequence[Division], changes: Sequence[Change]) -> None:
    """Check what every division into ranges has to be."""
    assert [each for one in ranges for each in one.changes] == list(changes)
    for one in ranges:
        assert one.changes
        assert len(one.changes) <= LIMIT
        assert all(one.start < each.time <= (one.until or each.time) for each in one.changes)
    assert [one.until for one in ranges[:-1]] == [one.start for one in ranges[1:]]
    assert [one.until is not None for one in ranges] == [True] * (len(ranges) - 1) + [False] * bool(ranges)
    assert all(one.start < other.start for one, other in pairwise(ranges))


def incrementally(
    changes: Sequence[Change], stops: Sequence[bool], boundaries: Sequence[RangeBoundaries]
) -> list[Division]:
    """Divide in steps, as one publication after another does: the last range stays open and is carried on."""
    ranges: list[Division] = []
    for number, batch in enumerate(_batches(changes, stops)):
        kept, opened = (ranges[:-1], ranges[-1]) if ranges else ([], None)
        ranges = [*kept, *divide(batch, boundaries[number % len(boundaries)], opened=opened, limit=LIMIT)]
        check(ranges, changes[: sum(len(one.changes) for one in ranges)])
    return ranges


def _batches(changes: Sequence[Change], stops: Sequence[bool]) -> list[list[Change]]:
    """Part changes at some of the times where they may be parted; a batch may be empty."""
    batches: list[list[Change]] = [[]]
    for number, (_time, group) in enumerate(groupby(changes, key=lambda each: each.time)):
        if stops[number % len(stops)]:
            batches.append([])
        batches[-1] += group
    return [*batches, []]


@given(_changes, some_boundaries)
def test_every_change_lies_in_one_range(changes: list[Change], boundaries: RangeBoundaries) -> None:
    """CH06, AR06: all changes in order, each in (from, until]; ranges touch, none is empty, only the last is open."""
    check(divide(changes, boundaries, opened=None, begin=None, limit=LIMIT), changes)


@pytest.mark.promise("Append-only")
@given(_changes, some_boundaries, st.lists(st.booleans(), min_size=1))
def test_in_steps_or_in_one_go(changes: list[Change], boundaries: RangeBoundaries, stops: list[bool]) -> None:
    """Publishing after every commit or once a year gives the same ranges."""
    assert incrementally(changes, stops, [boundaries]) == divide(
        changes, boundaries, opened=None, begin=None, limit=LIMIT
    )


@given(_changes, st.lists(some_boundaries, min_size=2, max_size=4), st.lists(st.booleans(), min_size=1))
def test_boundaries_that_change(changes: list[Change], boundaries: list[RangeBoundaries], stops: list[bool]) -> None:
    """A setting that changes, or a tag that is set later or removed, breaks nothing."""
    check(incrementally(changes, stops, boundaries), changes)


@given(_changes, some_boundaries)
def test_no_cut_within_a_range(changes: list[Change], boundaries: RangeBoundaries) -> None:
    """Two changes with a cut between them are in two lists."""
    for one in divide(changes, boundaries, opened=None, begin=None, limit=LIMIT):
        mark = boundaries.before(one.changes[-1].time)
        assert mark is None or mark < one.changes[0].time


@given(times, st.sampled_from(PERIODS))
def test_calendar(time: datetime, period: str) -> None:
    """The beginning of a period, as the standard library's calendar has it."""
    week = datetime.combine(date.fromisocalendar(*time.isocalendar()[:2], 1), datetime.min.time(), UTC)
    day = datetime(time.year, time.month, time.day, tzinfo=UTC)
    begins = {"day": day, "week": week, "month": day.replace(day=1), "year": datetime(time.year, 1, 1, tzinfo=UTC)}
    assert Calendar(period).before(time) == begins[period]


def test_calendar_is_in_utc() -> None:
    """A time in another zone belongs to the day it has in UTC."""
    east = datetime.fromisoformat("2024-03-01T08:00+09:00")
    assert Calendar("month").before(east) == utc("2024-02-01")


def test_marks() -> None:
    """The last mark before a time; one at that very time is not before it."""
    marks = FixedBoundaries([utc("2024-01-10T12:00"), utc("2024-01-20T12:00")])
    assert marks.before(utc("2024-01-10T12:00")) is None
    assert marks.before(utc("2024-01-10T12:00:00.001")) == utc("2024-01-10T12:00")
    assert marks.before(utc("2024-01-20T12:00")) == utc("2024-01-10T12:00")
    assert marks.before(utc("2025-01-01")) == utc("2024-01-20T12:00")
    assert FixedBoundaries([]).before(utc("2024-01-01")) is None


def test_a_range_reaches_over_periods_without_changes() -> None:
    """A month without changes has no list: the one before it reaches over it."""
    january, january_too, april = (change(f"2024-{day}T12:00", "a") for day in ("01-10", "01-20", "04-02"))
    ranges = divide([january, january_too, april], Calendar("month"), opened=None, begin=None, limit=LIMIT)
    assert ranges == [
        Division(utc("2024-01-01"), utc("2024-04-01"), (january, january_too)),
        Division(utc("2024-04-01"), None, (april,)),
    ]


def test_a_tag_closes_the_range_of_its_own_commit() -> None:
    """The tagged commit's changes are the last of a range, which is closed by the first change after it."""
    one, tagged, after = (change(f"2024-01-0{day}T12:00", "a") for day in (1, 2, 3))
    tags = FixedBoundaries([tagged.time])
    assert divide([one, tagged], tags, opened=None, begin=None, limit=LIMIT) == [
        Division(one.time - timedelta(seconds=1), None, (one, tagged))
    ]
    assert divide([one, tagged, after], tags, opened=None, begin=None, limit=LIMIT) == [
        Division(one.time - timedelta(seconds=1), tagged.time, (one, tagged)),
        Division(tagged.time, None, (after,)),
    ]


def test_a_tag_set_later_cuts_at_the_end_only() -> None:
    """A tag on a commit in the middle of the open range, set after later changes were public, ends it at its end."""
    listed = tuple(change(f"2024-01-0{day}T12:00", "a") for day in (1, 2, 3))
    opened = Division(utc("2024-01-01"), None, listed)
    new = change("2024-01-09T12:00", "a")
    assert divide([new], FixedBoundaries([listed[1].time]), opened=opened, begin=None, limit=9) == [
        Division(utc("2024-01-01"), utc("2024-01-03T12:00"), listed),
        Division(utc("2024-01-03T12:00"), None, (new,)),
    ]


def test_a_full_range_ends_at_its_last_change() -> None:
    """What one list cannot hold goes into the next; changes of one time stay together."""
    pairs = [change(f"2024-01-0{day}T12:00", name) for day in (1, 2) for name in "ab"]
    ranges = divide(pairs, Calendar("year"), opened=None, begin=None, limit=3)
    assert ranges == [
        Division(utc("2024-01-01"), utc("2024-01-01T12:00"), tuple(pairs[:2])),
        Division(utc("2024-01-01T12:00"), None, tuple(pairs[2:])),
    ]


def test_where_the_first_range_begins() -> None:
    """At the time given, so that nothing since the first Resource List is left out, else at the cut before.

    A first month without changes is a list without any, so that what changes in March is in the list of March.
    """
    first = change("2024-03-10T12:00", "a")
    begin = utc("2024-01-20T12:00")
    for boundaries, mark in ((Calendar("month"), "2024-03-01"), (Calendar("day"), "2024-03-10")):
        assert divide([first], boundaries, opened=None, begin=begin, limit=9) == [
            Division(begin, utc(mark), ()),
            Division(utc(mark), None, (first,)),
        ]
    assert divide([first], Calendar("year"), opened=None, begin=begin, limit=9) == [Division(begin, None, (first,))]
    assert divide([first], Calendar("month"), opened=None, begin=None, limit=9)[0].start == utc("2024-03-01")
    assert divide([], Calendar("month"), opened=None, begin=begin, limit=9) == []


def test_an_open_range_without_news_stays() -> None:
    """Nothing new, nothing different: no clock closes a range."""
    opened = Division(utc("2024-01-01"), None, (change("2024-01-02T12:00", "a"),))
    assert divide([], Calendar("day"), opened=opened, begin=None, limit=9) == [opened]


def test_an_open_range_without_changes_is_closed() -> None:
    """A list whose changes were all forgotten ends where the period of the next change begins, as any other."""
    late = change("2024-03-02T12:00", "a")
    ranges = divide([late], Calendar("day"), opened=Division(utc("2024-01-01"), None, ()), begin=None, limit=9)
    assert ranges == [Division(utc("2024-01-01"), utc("2024-03-02"), ()), Division(utc("2024-03-02"), None, (late,))]


def test_retain() -> None:
    """The last closed ones stay, and the open one: what is left touches as it did (CL06, AR06)."""
    times = [utc(f"2024-0{month}-01") for month in range(1, 6)]
    closed = [Range(start=one, until=other) for one, other in pairwise(times)]
    opened = Range(start=times[-1])
    for keep, left in ((1, closed[3:]), (3, closed[1:]), (4, closed), (9, closed), (None, closed)):
        assert [*retain([*closed, opened], keep)] == [*left, opened]
        assert [*retain(closed, keep)] == left
    assert [*retain([opened], 1)] == [opened]
    assert [*retain([], 1)] == []
