"""Landing times, as `docs/history.md` has them."""

from datetime import UTC, datetime, timedelta

from tests.truth.clone import Commit
from tests.truth.landings import Landings

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
TICK = timedelta(milliseconds=1)


def _times(*committed: datetime) -> list[datetime]:
    line = [Commit(sha=str(number), tree="", committed=int(time.timestamp())) for number, time in enumerate(committed)]
    landings = Landings(line, NOW)
    return [landings.time(commit.sha) for commit in line]


def test_commits_land_at_their_committer_time() -> None:
    """Unless a clock stood still, ran back, or stood at midnight."""
    morning, evening = datetime(2024, 1, 1, 8, tzinfo=UTC), datetime(2024, 1, 1, 20, tzinfo=UTC)
    assert _times(morning, evening) == [morning, evening]
    assert _times(evening, evening, morning) == [evening, evening + TICK, evening + 2 * TICK]
    midnight = datetime(2024, 1, 2, tzinfo=UTC)
    assert _times(midnight, midnight) == [midnight + TICK, midnight + 2 * TICK]


def test_a_clock_that_runs_far_ahead_is_not_believed() -> None:
    """More than a day ahead of the build: just after the parent."""
    far = NOW + timedelta(days=1, seconds=1)
    before = datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert _times(before, far, NOW) == [before, before + TICK, NOW]
    assert _times(before, NOW + timedelta(days=1)) == [before, NOW + timedelta(days=1)]
    assert _times(far) == [NOW]


def test_a_time_names_the_commit_that_had_not_landed_before_it() -> None:
    """And it says whether it does so exactly."""
    morning, evening = datetime(2024, 1, 1, 8, tzinfo=UTC), datetime(2024, 1, 1, 20, tzinfo=UTC)
    line = [
        Commit(sha=name, tree="", committed=int(time.timestamp())) for name, time in (("a", morning), ("b", evening))
    ]
    landings = Landings(line, NOW)
    assert landings.commit(morning) == ("a", True)
    assert landings.commit(morning + TICK) == ("b", False)
    assert landings.commit(evening + TICK) == ("b", False)
