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
from tests.truth.judge import load_builds
from tests.truth.landings import Landings

SITEURL = "https://museum.example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the site; return the folder that it is in, and its builds."""
    folder = tmp_path_factory.mktemp("sample")
    import_sample_site(folder / "site")
    return folder


def _judge(folder: Path, *arguments: str) -> dict[str, Any]:
    report = folder / "report.json"
    files = ["--truth", str(folder / "truth.json"), "--json", str(report)]
    main([str(folder / "site"), "--siteurl", SITEURL, *files, *arguments])
    found: dict[str, Any] = json.loads(report.read_text())
    assert (found["commits"], found["failed"]) == (29, {})
    return found


def test_a_backfill_tells_the_truth(folder: Path) -> None:
    """All that was created, updated and deleted, nothing else, and with the hashes of what was built."""
    found = _judge(folder, "--judge", "backfill")
    assert {kind for (_time, kind, _path), _sort in found["changes"]} == {"created", "updated", "deleted"}
    assert [found[name] for name in ("missing", "invented", "wrong_hashes", "impossible")] == [[], [], [], []]


def test_a_first_publication_tells_nothing_impossible(folder: Path) -> None:
    """Its rule does not know every change; but each URL that it names was there, and what is there at the end is."""
    assert _judge(folder)["impossible"] == []


@pytest.mark.long
def test_every_time_is_restored(folder: Path) -> None:
    """A mirror restores each listed time, byte for byte as the commit of that time is built."""
    clone = Clone(folder / "site", folder / "clone")
    line = clone.commits("HEAD")
    landings = Landings(line, datetime.now(UTC))
    builds = load_builds(folder / "truth.json", Command(siteurl=SITEURL))
    built = [(landings.time(each.sha), builds[each.sha].outputs) for each in line]
    options = {"html_links": False, "previous": "output", "dumps": True, "archives": True}
    settings = [f"SITEURL={json.dumps(SITEURL)}", f"RESOURCESYNC={json.dumps(options)}"]
    our_command(folder / "site", "backfill", "--settings", "pelicanconf.py", "-e", *settings)
    output = str(folder / "site/output")
    moments = json.loads(our_command(folder, "restore", output, "--list-times", "--json").stdout)["times"]
    assert len(moments) > 20
    for moment in moments:
        time = datetime.fromisoformat(moment["time"])
        number = bisect_right([each for each, _ in built], time)
        outputs = built[number - 1][1] if number else {}
        expected = {path: each.digest for path, each in outputs.items() if not each.hidden and path != "404.html"}
        copy = folder / "copies" / moment["time"].replace(":", "")
        our_command(folder, "restore", output, str(copy), "--at", moment["time"])
        assert {path: hashlib.sha256(data).hexdigest() for path, data in files_of(copy).items()} == expected
