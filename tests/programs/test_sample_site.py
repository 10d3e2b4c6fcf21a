"""The sample site: what it publishes is exactly what its history says; so is the repository beside it in the demo."""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from sample_site.dspace.repository import BITSTREAM, key
from tests.kit.reader import XmlEntry, parse
from tests.kit.sites import ROOT, Site, expected_changes

EXPECTED = ROOT / "tests" / "data" / "sample_site_changes.txt"

#: The address of the demo's site, and of the files of its repository.
HERE, THERE = "http://localhost:8123", "https://repository.museum.example/server/api/core/bitstreams"

#: What the days of the demo's repository change, by hand: of each record in every format, and of files by their number.
DAYS = """
2025-06-15T00:00:00.001Z created record 8
2025-06-15T00:00:00.001Z created file 80
2025-06-15T00:00:00.001Z deleted record 10
2025-06-15T10:05:00Z updated record 1
2025-06-15T10:05:00Z created file 3001
2025-06-15T10:05:00Z deleted file 2
2025-06-15T18:00:00Z deleted record 17
2025-06-16T00:00:00.001Z deleted record 9
2025-06-16T11:00:00Z created record 21
2025-06-16T11:00:00Z created file 3002
2025-06-16T14:00:00Z deleted record 2
2025-06-16T18:00:00Z updated record 1
"""


def test_change_lists_say_exactly_what_history_says(sample_site: Site) -> None:
    """Every change, by time, kind and URI, as decided by hand; in the order of time."""
    sample_site.build()
    rows = sample_site.changes()
    assert sorted(rows) == sorted(expected_changes(EXPECTED))
    times = [datetime.fromisoformat(time) for time, _kind, _path in rows]
    assert times == sorted(times)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the demo; give its output, and what it says."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    command = [sys.executable, "-m", "sample_site.demo", "--port", "8123", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "output", done.stdout


@pytest.mark.promise("Beside a site")
def test_demo_publishes_two_sets(demo: tuple[Path, str]) -> None:
    """One Source Description names both, the check finds nothing, and what is said names what is there."""
    output, said = demo
    for description in ("resourcesync/description.xml", ".well-known/resourcesync"):
        sets = [entry.uri for entry in parse((output / description).read_bytes()).entries]
        assert sets == [f"{HERE}/resourcesync/{name}/capabilitylist.xml" for name in ("repository", "site")]
    assert "output: conforming: 0 errors, 0 warnings" in said
    assert said.count("$ pelican-resourcesync check --deep --strict output") == 1
    last = said.rpartition("conforming")[2]
    assert f"  {(output / 'resourcesync/index.html').resolve().as_uri()}\n" in last
    assert re.findall(rf"{HERE}\S*", last) == [f"{HERE}/resourcesync/.", f"{HERE}/.well-known/resourcesync."]
    assert len(last.splitlines()) < 16
    # Without the Resource Dump of the day before in the archive: it has what was withdrawn since.
    assert re.findall(r"\d+ documents and \d+ packages", said) == ["53 documents and 9 packages"] * 2
    for name in ("site", "repository"):
        for document in ("resourcelist", "changelist", "resourcedump", "changedump"):
            assert (output / f"resourcesync/{name}/{document}.xml").is_file()


def test_demo_tells_what_happened_in_the_repository(demo: tuple[Path, str]) -> None:
    """An embargo that lapses, permissions that end, an edit, a new item, one withdrawn and one expunged.

    The withdrawn one was a version of another, whose record no longer links to it.
    """
    output, _said = demo
    found = [(entry.lastmod, entry.md["change"], entry.uri) for entry in _changes(output)]
    assert sorted(found) == sorted(_expected())


def _changes(output: Path) -> Iterator[XmlEntry]:
    index = parse((output / "resourcesync/repository/changelist.xml").read_bytes())
    for pointer in index.entries:
        yield from parse((output / pointer.uri.removeprefix(f"{HERE}/")).read_bytes()).entries


def _expected() -> Iterator[tuple[str, str, str]]:
    for line in DAYS.split("\n")[1:-1]:
        time, kind, what, number = line.split()
        if what == "file":
            yield time, kind, f"{THERE}/{key(7, BITSTREAM, int(number))}/content"
            continue
        for prefix in ("oai_dc", "mods"):
            yield time, kind, f"{HERE}/resourcesync/repository/records/{prefix}/123456789/{number}.xml"
