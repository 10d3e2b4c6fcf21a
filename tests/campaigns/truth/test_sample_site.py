"""The sample site: its Change Lists are held against what Pelican really wrote for each of its commits."""

import hashlib
import json
import re
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.kit.publications import Source
from tests.kit.sites import import_sample_site, our_command
from tests.kit.sources import files_of
from tests.kit.web_archive import WebArchive
from tests.publication.kinds.test_versions import in_force
from tests.tools.truth.__main__ import main
from tests.tools.truth.builds import Command
from tests.tools.truth.clone import Clone, Landings
from tests.tools.truth.judge import load_builds

SITEURL = "https://museum.example"


#: The commits of the site. The first 17 create, update, rename and delete, and have a merge; the campaign has all.
ALL, FIRST = 29, 17


@pytest.fixture(scope="module")
def commits(pytestconfig: pytest.Config) -> int:
    """Return how many commits are built."""
    return ALL if pytestconfig.getoption("--long") else FIRST


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, commits: int) -> Path:
    """Make the site; return the folder that it is in, and its builds."""
    folder = tmp_path_factory.mktemp("sample")
    import_sample_site(folder / "site", until=f"main~{ALL - commits}")
    return folder


def _judge(folder: Path, commits: int, *arguments: str) -> dict[str, Any]:
    report = folder / "report.json"
    files = ["--truth", str(folder / "truth.json"), "--json", str(report)]
    main([str(folder / "site"), "--siteurl", SITEURL, *files, *arguments])
    found: dict[str, Any] = json.loads(report.read_text())
    assert (found["commits"], found["failed"]) == (commits, {})
    return found


@pytest.mark.promise("The past, built")
def test_a_backfill_tells_the_truth(folder: Path, commits: int) -> None:
    """All that was created, updated and deleted, nothing else, and with the hashes of what was built."""
    found = _judge(folder, commits, "--judge", "backfill")
    assert {kind for _time, kind, _path in found["changes"]} == {"created", "updated", "deleted"}
    assert [found[name] for name in ("missing", "invented", "wrong_hashes", "impossible")] == [[], [], [], []]


@pytest.mark.promise("The past, by a rule")
def test_a_first_publication_tells_nothing_impossible(folder: Path, commits: int) -> None:
    """Its rule does not know every change; but each URL that it names was there, and what is there at the end is."""
    assert _judge(folder, commits)["impossible"] == []


@pytest.fixture(scope="module")
def built(folder: Path) -> list[tuple[datetime, dict[str, str]]]:
    """Return the time of each commit, and the SHA-256 of each resource that its build wrote, by path."""
    clone = Clone(folder / "site", folder / "clone")
    line = clone.commits("HEAD")
    landings = Landings(line, datetime.now(UTC))
    builds = load_builds(folder / "truth.json", Command(siteurl=SITEURL))
    return [
        (
            landings.time(each.sha),
            {
                path: file.digest
                for path, file in builds[each.sha].outputs.items()
                if not file.hidden and path != "404.html"
            },
        )
        for each in line
    ]


def _backfill(folder: Path, **options: object) -> Path:
    """Publish the past with these options; return the output."""
    options = {"html_links": False, "previous": "output", **options}
    settings = [f"SITEURL={json.dumps(SITEURL)}", f"RESOURCESYNC={json.dumps(options)}"]
    output = folder / "-".join(options)
    our_command(folder / "site", "backfill", "--settings", "pelicanconf.py", "--output", str(output), "-e", *settings)
    return output


def _path(url: str) -> str:
    """Return the path of the file at a URL of the site."""
    path = unquote(url.removeprefix(f"{SITEURL}/"))
    return f"{path}index.html" if not path or path.endswith("/") else path


@pytest.mark.promise("In force")
@pytest.mark.long
def test_versions_are_what_was_built(folder: Path, built: list[tuple[datetime, dict[str, str]]]) -> None:
    """By its TimeMap, each resource has at the time of each commit the bytes that its build wrote, or is not there."""
    source = Source(_backfill(folder, versions=True), siteurl=SITEURL)
    paths = {path for _, outputs in built for path in outputs}
    assert len(built) == ALL
    seconds = {time.replace(microsecond=0): outputs for time, outputs in built}  # TimeMaps have no parts of seconds
    for time, outputs in seconds.items():
        found = {path: in_force(source, quote(re.sub("/index.html$", "/", path)), time) for path in paths}
        assert {path: hashlib.sha256(data).hexdigest() for path, data in found.items() if data is not None} == outputs


@pytest.mark.promise("The past is restored exactly")
@pytest.mark.promise("A web archive shows the past")
@pytest.mark.long
def test_every_time_is_restored(folder: Path, built: list[tuple[datetime, dict[str, str]]]) -> None:
    """A mirror restores each listed time, byte for byte as the commit of that time is built."""
    output = str(_backfill(folder, dumps=True, archives=True))
    moments = json.loads(our_command(folder, "restore", output, "--list-times", "--json").stdout)["times"]
    assert len(moments) > 20
    our_command(folder, "restore", output, "past.wacz", "--all-times")
    archive = WebArchive(folder / "past.wacz")
    for moment in moments:
        time = datetime.fromisoformat(moment["time"])
        number = bisect_right([each for each, _ in built], time)
        expected = built[number - 1][1] if number else {}
        copy = folder / "copies" / moment["time"].replace(":", "")
        our_command(folder, "restore", output, str(copy), "--at", moment["time"])
        assert {path: hashlib.sha256(data).hexdigest() for path, data in files_of(copy).items()} == expected
        end = time.replace(microsecond=999_999)  # archives count in seconds
        last = bisect_right([each for each, _ in built], end)
        if last == number:
            known = [url for url, found in archive.captures.items() if found[0][0] <= end]
            shown = {_path(url): archive.closest(url, time) for url in known}
            bodies = {path: each.body for path, each in shown.items() if each and each.status == 200}
            assert {path: hashlib.sha256(data).hexdigest() for path, data in bodies.items()} == expected
