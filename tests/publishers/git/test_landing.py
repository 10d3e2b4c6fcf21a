"""Landing times: properties for any committer times, and examples by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.publishers.git.log import Commit, Landing, committer_time, landing_times

BUILT = datetime(2025, 1, 1, 12, tzinfo=UTC)
MS, SECOND = timedelta(milliseconds=1), timedelta(seconds=1)
MIDNIGHT = int(datetime(2024, 6, 1, tzinfo=UTC).timestamp())
NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)

#: Committer times of real life and far beyond: before the epoch, at midnights, years ahead.
TIMES = st.lists(
    st.one_of(
        st.integers(MIDNIGHT - 5, MIDNIGHT + 5),
        st.integers(0, 4000).map(lambda day: day * 86400),
        st.integers(-(10**20), 10**20),
        st.integers(0, 2 * 10**9),
    ),
    max_size=40,
)


def commits(times: Sequence[int | datetime]) -> list[Commit]:
    """Make a commit for each time."""
    seconds = [int(each.timestamp()) if isinstance(each, datetime) else each for each in times]
    return [Commit(f"{number:040}", each, ()) for number, each in enumerate(seconds)]


def landed(*times: int | datetime, **known: datetime) -> list[Landing]:
    """Land commits of these committer times; `known` names them by number, as in `c1`."""
    published = {f"{int(name[1:]):040}": time for name, time in known.items()}
    return list(landing_times(commits(times), built=BUILT, known=published))


@pytest.mark.promise("Never back-dated")
@given(TIMES)
def test_strictly_increasing_and_never_on_midnight(times: list[int]) -> None:
    """Whatever the clocks said, landing times increase, and none lies where two calendar periods touch."""
    found = [each.time for each in landing_times(commits(times), built=BUILT)]
    assert all(one < other for one, other in pairwise(found))
    assert all((each.hour, each.minute, each.second, each.microsecond) != (0, 0, 0, 0) for each in found)
    assert len(found) == len(times)


@pytest.mark.promise("Never back-dated")
@given(TIMES, st.integers(0, 3000))
def test_held_times_once_published_stay(times: list[int], days: int) -> None:
    """With the postponed times kept, a build at any later time gives all commits the times of the first."""
    first = list(landing_times(commits(times), built=BUILT))
    known = {each.commit.sha: each.time for each in first if each.postponed}
    assert list(landing_times(commits(times), built=BUILT + timedelta(days=days), known=known)) == first


@given(TIMES)
def test_none_is_far_ahead_of_the_build(times: list[int]) -> None:
    """No commit lands more than a day, and a millisecond or two a commit, after the build."""
    limit = BUILT + timedelta(days=1) + 2 * MS * len(times)
    assert all(each.time <= limit for each in landing_times(commits(times), built=BUILT))


def test_committer_times_that_increase_are_taken_as_they_are() -> None:
    """A well-kept clock is believed to the second."""
    times = [NOON, NOON + timedelta(seconds=1), NOON + timedelta(days=1)]
    assert [(each.time, each.postponed) for each in landed(*times)] == [(each, False) for each in times]


def test_clock_that_went_back() -> None:
    """A commit dated before its parent, or at the same second, lands in the next second."""
    found = landed(NOON, NOON - timedelta(hours=1), NOON)
    assert [(each.time, each.postponed) for each in found] == [
        (NOON, False), (NOON + SECOND, False), (NOON + 2 * SECOND, False),
    ]  # fmt: skip


@pytest.mark.promise("Never back-dated")
def test_next_second_after_the_build() -> None:
    """If there was none before the build, a commit lands a millisecond later, and stays there in later builds."""
    found = landed(BUILT - SECOND, BUILT - SECOND, BUILT - SECOND, BUILT)
    times = [BUILT - SECOND, BUILT, BUILT + MS, BUILT + 2 * MS]
    assert [(each.time, each.postponed) for each in found] == list(zip(times, (False, False, True, True), strict=True))


def test_midnight_moves_a_second() -> None:
    """A commit at midnight UTC belongs to the day that begins."""
    midnight = datetime(2024, 6, 1, tzinfo=UTC)
    assert [each.time for each in landed(midnight, midnight)] == [midnight + SECOND, midnight + 2 * SECOND]


@pytest.mark.parametrize(("ahead", "postponed"), [(timedelta(days=1), False), (timedelta(days=1, seconds=1), True)])
def test_more_than_a_day_ahead_is_postponed(ahead: timedelta, postponed: bool) -> None:
    """A day ahead of the build is believed, a second more is not: that lands just after its parent."""
    found = landed(NOON, BUILT + ahead)[1]
    assert (found.time, found.postponed) == (NOON + SECOND if postponed else BUILT + ahead, postponed)


def test_first_commit_ahead_lands_at_the_build() -> None:
    """A first commit from the future, which has no parent, lands at the time of the build."""
    assert landed(4 * 10**9)[0] == Landing(commits([4 * 10**9])[0], BUILT, postponed=True)


def test_commits_after_a_held_one_are_believed() -> None:
    """One wrong clock does not push the commits of right ones ahead."""
    later = NOON + timedelta(hours=1)
    assert [each.time for each in landed(NOON, 4 * 10**9, later)] == [NOON, NOON + SECOND, later]


def test_known_time_wins() -> None:
    """What was published of a postponed commit holds, also once its own date has passed."""
    past = NOON + timedelta(days=3)
    assert [each.postponed for each in landed(NOON, past)] == [False, False]
    found = landed(NOON, past, c1=NOON + MS)[1]
    assert (found.time, found.postponed) == (NOON + MS, True)


def test_known_time_still_increases() -> None:
    """A kept time that is not after the parent's, as after a rewritten history, moves past it."""
    assert landed(NOON, 4 * 10**9, c1=NOON - timedelta(days=9))[1].time == NOON + SECOND


@pytest.mark.parametrize(
    ("seconds", "time"),
    [
        (-(10**30), datetime(1970, 1, 1, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1717243200, NOON),
        (10**30, datetime(9999, 1, 1, tzinfo=UTC)),
    ],
)
def test_committer_time_stays_in_the_calendar(seconds: int, time: datetime) -> None:
    """Times that no datetime can hold are the nearest that one can."""
    assert committer_time(Commit("a" * 40, seconds, ())) == time
