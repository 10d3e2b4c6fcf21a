"""Landing times: properties for any committer times, and examples by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.publishers.git import Commit, Landing, committer_time, landing_times

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


DAY, HOUR, AHEAD = timedelta(days=1), timedelta(hours=1), datetime(2096, 10, 2, tzinfo=UTC)
LONG_AGO = datetime(2024, 6, 1, tzinfo=UTC)


@pytest.mark.promise("Never back-dated")
@pytest.mark.parametrize(
    ("times", "known", "expected"),
    [
        ([NOON, NOON + SECOND, NOON + DAY], {}, [NOON, NOON + SECOND, NOON + DAY]),
        ([NOON, NOON - HOUR, NOON], {}, [NOON, NOON + SECOND, NOON + 2 * SECOND]),
        ([BUILT - SECOND] * 3 + [BUILT], {}, [BUILT - SECOND, BUILT, f"{BUILT + MS}", f"{BUILT + 2 * MS}"]),
        ([LONG_AGO, LONG_AGO], {}, [LONG_AGO + SECOND, LONG_AGO + 2 * SECOND]),
        ([NOON, BUILT + DAY], {}, [NOON, BUILT + DAY]),
        ([NOON, BUILT + DAY + SECOND], {}, [NOON, f"{NOON + SECOND}"]),
        ([AHEAD], {}, [f"{BUILT}"]),
        ([NOON, AHEAD, NOON + HOUR], {}, [NOON, f"{NOON + SECOND}", NOON + HOUR]),
        ([NOON, NOON + 3 * DAY], {"c1": NOON + MS}, [NOON, f"{NOON + MS}"]),
        ([NOON, AHEAD], {"c1": NOON - 9 * DAY}, [NOON, f"{NOON + SECOND}"]),
    ],
    ids=["a right clock", "one that went back", "up to the build", "midnight", "a day ahead", "more",
         "the first commit ahead", "right ones after it", "published before", "in a history that was rewritten"],
)  # fmt: skip
def test_examples(times: list[datetime], known: dict[str, datetime], expected: list[datetime | str]) -> None:
    """By hand: when each commit landed; a time that was postponed is written as a text."""
    assert [f"{each.time}" if each.postponed else each.time for each in landed(*times, **known)] == expected


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
