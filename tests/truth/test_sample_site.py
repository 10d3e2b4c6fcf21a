"""The sample site: what its Change Lists tell is held against what Pelican really wrote for each of its commits."""

import json
from pathlib import Path

from tests.sites import import_sample_site
from tests.truth.__main__ import main


def test_change_lists_tell_the_truth(tmp_path: Path) -> None:
    """All that was created and deleted, nothing else of these; and no update is missing."""
    site = import_sample_site(tmp_path / "site")
    report = tmp_path / "report.json"
    main([str(site.folder), "--siteurl", "https://museum.example", "--again", "0", "--json", str(report)])
    found = json.loads(report.read_text())
    assert (found["commits"]["asked"], found["commits"]["failed"]) == (29, {})
    assert found["misses"] == []
    assert {fault["cell"]["kind"] for fault in found["inventions"]} <= {"updated"}
    assert {row["kind"] for row in found["tables"]["all"]} == {"created", "updated", "deleted"}
