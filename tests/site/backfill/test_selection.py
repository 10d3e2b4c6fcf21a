"""The selection of commits: the last of each range, wherever ranges are cut."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.git.landing import Landing
from pelican_resourcesync.git.log import Commit
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import PERIODS, Calendar, Change, FixedBoundaries, RangeBoundaries
from pelican_resourcesync.publication.model.clock import off_boundary
from pelican_resourcesync.publication.model.ranges import cut
from pelican_resourcesync.site.backfill.selection import choose

_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_TIMES = st.lists(st.integers(1, 3000), min_size=1, unique=True).map(
    lambda hours: [off_boundary(_BEGIN + timedelta(hours=each)) for each in sorted(hours)]
)


@given(_TIMES, st.sampled_from(PERIODS) | st.integers(1, 5))
def test_the_last_of_each_range(times: list[datetime], by: str | int) -> None:
    """They are the last commits of the ranges into which changes at each commit are cut."""
    cuts: RangeBoundaries = Calendar(by) if isinstance(by, str) else FixedBoundaries(times[by - 1 :: by])
    landings = [Landing(Commit(str(number), 0, ()), time) for number, time in enumerate(times)]
    changes = [Change(time, "https://example.org/", ChangeKind.UPDATED) for time in times]
    ranges = cut(changes, cuts, open_range=None, begin=None, limit=len(times))
    assert [each.time for each in choose(landings, cuts, begin=None, by="range")] == [
        each.changes[-1].time for each in ranges
    ]
    assert choose(landings, cuts, begin=None, by="commit") == landings
    assert choose(landings, cuts, begin="0", by="commit") == landings
