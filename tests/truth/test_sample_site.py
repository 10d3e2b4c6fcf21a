"""The sample site: its Change Lists are held against what Pelican really wrote for each of its commits."""

import hashlib
import json
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.destination.sources import files_of
from tests.support.sites import import_sample_site, our_command
from tests.truth.__main__ import main
from tests.truth.builds import Command
from tests.truth.clone import Clone
from tests.truth.landings import Landings
from tests.truth.truth import Truth, open_window

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


@pytest.mark.long
def test_every_time_is_restored(folder: Path) -> None:
    """A mirror restores each listed time, byte for byte as the commit of that time is built."""
    clone = Clone(folder / "site", folder / "clone")
    line = clone.commits("HEAD")
    command = json.loads((folder / "truth.json").read_text())["command"]
    truth, window = Truth.load(folder / "truth.json", Command(**command)), open_window(clone, line, None, [])
    landings = Landings(line, datetime.now(UTC))
    built = [
        (landings.time(commit.sha), truth.builds[window.like[commit.sha]].outputs)
        for commit in line
        if truth.builds[window.like[commit.sha]].reason is None
    ]
    options = {"html_links": False, "previous": "none", "dumps": True, "archives": True}
    settings = [f"SITEURL={json.dumps(SITEURL)}", f"RESOURCESYNC={json.dumps(options)}"]
    our_command(folder / "site", "backfill", "--by", "commit", "--settings", "pelicanconf.py", "-e", *settings)
    output = str(folder / "site/output")
    moments = json.loads(our_command(folder, "mirror", output, "--list-times", "--json").stdout)["times"]
    assert len(moments) > 20
    for moment in moments:
        time = datetime.fromisoformat(moment["time"])
        number = bisect_right([each for each, _ in built], time)
        outputs = built[number - 1][1] if number else {}
        expected = {path: each.digest for path, each in outputs.items() if not each.hidden and path != "404.html"}
        copy = folder / "copies" / moment["time"].replace(":", "")
        our_command(folder, "mirror", output, str(copy), "--at", moment["time"])
        assert {path: hashlib.sha256(data).hexdigest() for path, data in files_of(copy).items()} == expected
