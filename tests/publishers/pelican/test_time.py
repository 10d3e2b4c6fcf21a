"""Time, from the clocks that git recorded to the lists that are published: what holds whatever those clocks said."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tests.kit.reader import XmlDocument
from tests.kit.sites import Row, Site, strip
from tests.programs.test_sample_site import published

#: Clocks that go on, stand still, go back, were never set, are at midnight and years ahead.
DATES = ["1704103200", "1704103200", "1600000000", "0", "1717200000", "4102444800", "1717243200", "1717243201"]


@pytest.mark.promise("Never back-dated")
@pytest.mark.parametrize("by", ["month", "tag", 3])
def test_built_from_history_alone(site: Site, by: str | int) -> None:
    """As CI builds: each commit has a time of its own, in git's order, and more commits change none, nor a closed list.

    Published one after another instead, each change has the time that history alone gives it.
    """
    strip(site).configure(RESOURCESYNC={"changes_by": by})
    rows: list[Row] = []
    closed: list[XmlDocument] = []
    for number, date in enumerate(DATES):
        site.article(f"{number}.md", f"Title {number}", at=f"@{date} +0000")
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
