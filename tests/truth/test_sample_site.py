"""The sample site: its Change Lists are held against what Pelican really wrote for each of its commits."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.sites import import_sample_site
from tests.truth.__main__ import main

SITEURL = "https://museum.example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the site and build all its commits; return the folder with the truth."""
    folder = tmp_path_factory.mktemp("sample")
    site = import_sample_site(folder / "site")
    truth = ["--truth", str(folder / "truth.json"), "--phase", "truth", "--again", "0"]
    main([str(site.folder), "--siteurl", SITEURL, *truth])
    return folder


def _judge(folder: Path, *arguments: str) -> dict[str, Any]:
    report = folder / "report.json"
    truth = ["--truth", str(folder / "truth.json"), "--phase", "judge", "--json", str(report)]
    main([str(folder / "site"), "--siteurl", SITEURL, *truth, *arguments])
    found: dict[str, Any] = json.loads(report.read_text())
    assert (found["commits"]["asked"], found["commits"]["failed"]) == (29, {})
    return found


def test_a_backfill_tells_the_truth(folder: Path) -> None:
    """All that was created, updated and deleted, nothing else, and with the hashes of what was built."""
    found = _judge(folder, "--judge", "backfill")
    assert (found["misses"], found["inventions"], found["unstable"]) == ([], [], {})
    assert (found["hashes"]["wrong"], found["hashes"]["missing"]) == (0, 0)
    assert not any(found["consistency"].values())
    counts = {row["kind"]: row["truth"] for row in found["tables"]["all"] if row["sort"] == "all"}
    assert counts.keys() == {"created", "updated", "deleted"}
    assert found["hashes"]["right"] == counts["created"] + counts["updated"]


def test_a_first_publication_tells_nothing_impossible(folder: Path) -> None:
    """Its rule does not know every change; but no URL that it names was not there, and what is there in the end is."""
    assert not any(_judge(folder)["consistency"].values())
