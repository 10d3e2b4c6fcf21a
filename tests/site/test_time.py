"""Time, from the clocks that git recorded to the ranges that are published: what holds whatever those clocks said."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.git.landing import Landing, landing_times
from pelican_resourcesync.git.log import Commit
from pelican_resourcesync.publication import (
    PERIODS,
    Calendar,
    Change,
    FixedBoundaries,
    RangeBoundaries,
)
from tests.e2e.test_adds_up import published
from tests.publication.support import CREATED, DELETED, SITEURL, UPDATED, Division, first_publication
from tests.support.reader import XmlDocument
from tests.support.sites import Row, Site, strip

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
DAY = 86_400
MIDNIGHT = 19_875 * DAY
MANY = 50_000

#: Clocks that agree, that stand still, that go back, that were never set, that are years ahead.
CLOCKS = st.one_of(
    st.integers(MIDNIGHT - 3, MIDNIGHT + 3),
    st.sampled_from([0, 1, MIDNIGHT + DAY, MIDNIGHT + 30 * DAY, 2**31 - 1, 2**31, 2**32, 2**63, 2**64, 10**30]),
    st.integers(19_800, 20_100).map(lambda day: day * DAY),
    st.integers(0, int(NOW.timestamp()) + 3 * DAY),
)
URIS = st.sampled_from([f"{SITEURL}/{name}" for name in "abcd"])
#: What commits do to four URLs: whether each is there afterwards.
EDITS = st.dictionaries(URIS, st.booleans(), min_size=1, max_size=3)
HISTORIES = st.lists(st.tuples(CLOCKS, EDITS), max_size=20)
#: How ranges are cut: at the calendar's periods, or after every so many commits.
CUTS = st.sampled_from(PERIODS) | st.integers(1, 4)

History = Sequence[tuple[int, Mapping[str, bool]]]


def landed(clocks: Iterable[int], built: datetime = NOW, known: Mapping[str, datetime] | None = None) -> list[Landing]:
    """Land commits of these clocks."""
    commits = [Commit(f"{number:040}", clock, ()) for number, clock in enumerate(clocks)]
    return list(landing_times(commits, built=built, known=known))


@given(st.lists(CLOCKS, max_size=40))
def test_clock_that_is_ahead_of_all_before_it_is_believed(clocks: list[int]) -> None:
    """A commit dated a second or more after all before it landed then, unless at midnight or in the future."""
    latest = [-1, *accumulate(clocks, max)]
    for before, clock, found in zip(latest, clocks, landed(clocks), strict=False):
        past = EPOCH.timestamp() <= clock <= NOW.timestamp()
        if past and clock > before and clock % DAY:
            assert found.time == EPOCH + timedelta(seconds=clock)
            assert not found.postponed


@given(st.lists(CLOCKS.filter(lambda clock: clock <= NOW.timestamp()), max_size=40))
def test_no_commit_lands_before_its_clock_nor_long_after_all_clocks(clocks: list[int]) -> None:
    """Where no clock runs ahead, a commit lands between its own time and a moment after the latest up to it."""
    for clock, latest, found in zip(clocks, accumulate(clocks, max), landed(clocks), strict=True):
        assert EPOCH + timedelta(seconds=clock) <= found.time < EPOCH + timedelta(seconds=latest + 1)


@given(st.lists(CLOCKS, max_size=30), st.lists(st.tuples(st.integers(1, 10), st.integers(0, 10**5)), max_size=6))
def test_branch_that_grows_between_builds_keeps_its_times(clocks: list[int], builds: list[tuple[int, int]]) -> None:
    """Built again and again, later each time and with more commits, nothing that landed ever lands elsewhere."""
    count, built = 0, NOW
    known: dict[str, datetime] = {}
    before: list[Landing] = []
    for more, hours in builds:
        count, built = count + more, built + timedelta(hours=hours)
        now = landed(clocks[:count], built, known)
        assert now[: len(before)] == before
        known, before = {each.commit.sha: each.time for each in now if each.postponed}, now


def changes_of(history: History, landings: Sequence[Landing]) -> tuple[list[Change], set[str]]:
    """Say what the edits of a history change, each when its commit landed; and which URLs are left."""
    there: set[str] = set()
    changes = []
    for landing, (_clock, edits) in zip(landings, history, strict=True):
        for uri, stays in sorted(edits.items()):
            if stays or uri in there:
                kind = (UPDATED if uri in there else CREATED) if stays else DELETED
                changes.append(Change(landing.time, uri, kind))
            (there.add if stays else there.discard)(uri)
    return changes, there


def retold(changes: Iterable[Change]) -> Iterator[Change]:
    """Tell the updates of one URL as two changes at one time: as if its source went, and another came for it."""
    for each in changes:
        if each.uri.endswith("d") and each.kind is UPDATED:
            yield each._replace(kind=DELETED)
            yield each._replace(kind=CREATED)
        else:
            yield each


def ranges_of(history: History, by: str | int, limit: int) -> list[Division]:
    """Publish a history for the first time: divide it into ranges."""
    landings = landed(clock for clock, _edits in history)
    told, there = changes_of(history, landings)
    last = landings[-1].time if landings else NOW
    cuts: RangeBoundaries = (
        Calendar(by) if isinstance(by, str) else FixedBoundaries([each.time for each in landings[by - 1 :: by]])
    )
    return first_publication(there, retold(told), last, cuts, limit)


@given(HISTORIES, CUTS, st.sampled_from([1, 2, MANY]))
def test_no_two_changes_of_a_url_share_a_time(history: History, by: str | int, limit: int) -> None:
    """CH03, CH05: times never fall from one change to the next, and grow from one change of a URL to its next."""
    changes = [change for each in ranges_of(history, by, limit) for change in each.changes]
    assert all(one.time <= other.time for one, other in pairwise(changes))
    for uri in {each.uri for each in changes}:
        assert all(one.time < other.time for one, other in pairwise(each for each in changes if each.uri == uri))


@given(HISTORIES, HISTORIES, CUTS, st.sampled_from([1, 2, MANY]))
def test_more_commits_change_no_earlier_change(one: History, more: History, by: str | int, limit: int) -> None:
    """Published from history alone, as in CI: what was listed is listed again, at the same times, and first."""
    before, after = (
        [change for each in ranges_of(history, by, limit) for change in each.changes]
        for history in (one, [*one, *more])
    )
    assert after[: len(before)] == before


@given(HISTORIES, HISTORIES, CUTS, st.sampled_from([3, MANY]))
def test_more_commits_change_no_range_that_was_closed(one: History, more: History, by: str | int, limit: int) -> None:
    """Likewise, what is closed stays, what is open grows at its end; a list can hold all that one commit changes."""
    before, after = ranges_of(one, by, limit), ranges_of([*one, *more], by, limit)
    closed = before[:-1]
    assert after[: len(closed)] == closed
    if before:
        opened, grown = before[-1], after[len(closed)]
        assert grown.start == opened.start
        assert grown.changes[: len(opened.changes)] == opened.changes


#: Clocks that go on, stand still, go back, were never set, are at midnight and years ahead.
DATES = ["1704103200", "1704103200", "1600000000", "0", "1717200000", "4102444800", "1717243200", "1717243201"]


@pytest.mark.parametrize("by", ["month", "tag", 3])
def test_built_from_history_alone(site: Site, by: str | int) -> None:
    """As CI builds: each commit has a time of its own, in git's order, and more commits change none, nor a closed list.

    Published one after another instead, each change has the time that history alone gives it.
    """
    strip(site).configure(RESOURCESYNC={"changes_by": by})
    rows: list[Row] = []
    closed: list[XmlDocument] = []
    for number, date in enumerate(DATES):
        site.article(f"{number}.md", f"Title {number}")
        site.commit(f"@{date} +0000")
        site.git("tag", f"t{number}")
        if number % 3 == 1:
            site.git("clean", "-fdxq")
            site.build()
            before, rows = rows, site.changes()
            lists = published(site).lists[:-1]
            assert rows[: len(before)] == before
            assert lists[: len(closed)] == closed
            closed = lists
            assert [path for _time, _kind, path in rows] == [f"/title-{each}.html" for each in range(number + 1)]
            assert all(
                one < other for one, other in pairwise(datetime.fromisoformat(time) for time, _kind, _path in rows)
            )
    believed = {f"{datetime.fromtimestamp(int(date), UTC):%Y-%m-%dT%H:%M:%SZ}" for date in (DATES[0], DATES[-2])}
    assert believed <= {time for time, _kind, _path in rows}
    site.git("clean", "-fdxq")
    for revision in ("main~4", "main~2", "main"):
        site.git("checkout", "-q", revision)
        site.build()
    assert site.changes() == rows
