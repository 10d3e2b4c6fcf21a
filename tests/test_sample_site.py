"""The sample site: what it publishes is exactly what its history says."""

from datetime import datetime

from tests.sites import ROOT, Site, expected_changes

EXPECTED = ROOT / "tests" / "data" / "sample_site_changes.txt"


def test_change_lists_say_exactly_what_history_says(sample_site: Site) -> None:
    """Every change, by time, kind and URI, as decided by hand; in the order of time."""
    sample_site.build()
    rows = sample_site.changes()
    assert sorted(rows) == sorted(expected_changes(EXPECTED))
    times = [datetime.fromisoformat(time) for time, _kind, _path in rows]
    assert times == sorted(times)
