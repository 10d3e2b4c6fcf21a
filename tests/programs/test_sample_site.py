"""The sample site: what it publishes is exactly what its history says; so is the repository beside it in the demo."""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from lxml import etree

from pelican_resourcesync.protocol import Root
from sample_site.dspace.repository import BITSTREAM, key
from tests.kit.reader import XmlDocument, XmlEntry, parse
from tests.kit.sites import ROOT, Site, expected_changes, file_of, import_sample_site
from tests.protocol.test_schemas import schema

#: The address of the demo's site, and of the files of its repository.
HERE, THERE = "http://localhost:8123", "https://repository.museum.example/server/api/core/bitstreams"

#: What the days of the demo's repository change, by hand: of each record in every format, and of files by their number.
DAYS = """
2025-06-15T00:00:01Z created record 8
2025-06-15T00:00:01Z created file 80
2025-06-15T00:00:01Z deleted record 10
2025-06-15T10:05:00Z updated record 1
2025-06-15T10:05:00Z created file 3001
2025-06-15T10:05:00Z deleted file 2
2025-06-15T18:00:00Z deleted record 17
2025-06-16T00:00:01Z deleted record 9
2025-06-16T11:00:00Z created record 21
2025-06-16T11:00:00Z created file 3002
2025-06-16T14:00:00Z deleted record 2
2025-06-16T18:00:00Z updated record 1
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the demo; give its output, and what it says."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    command = [sys.executable, "-m", "sample_site.demo", "--port", "8123", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, encoding="utf-8")
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
    assert re.findall(r"\d+ documents and \d+ packages", said) == ["51 documents and 8 packages"] * 2
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


# --- Promise 1, *complete* -----------------------------------------------------


EXPECTED = expected_changes(ROOT / "tests" / "data" / "sample_site_changes.txt")

#: How ranges may be divided, and how many the sample site then has. Tags are at the 6th, the 14th and the last commit.
RANGES: dict[str | int, int] = {
    "day": len({time[:10] for time, _kind, _path in EXPECTED}),
    "week": len({date.fromisoformat(time[:10]).isocalendar()[:2] for time, _kind, _path in EXPECTED}),
    "month": len({time[:7] for time, _kind, _path in EXPECTED}),
    "year": 2,
    "tag": 3,
    "tag:v1.0": 2,
    5: 6,
}


class Published:
    """The documents of an output, read without the product."""

    def __init__(self, output: Path, siteurl: str) -> None:
        """Read the Resource List, the Change List Index and every list that it names."""
        self._output = output
        self._siteurl = siteurl
        self.resources = self.document("resourcelist.xml")
        self.index = self.document("changelist.xml")
        self.lists = [self.document(entry.uri.rpartition("/")[2]) for entry in self.index.entries]

    def document(self, name: str) -> XmlDocument:
        """Read a document."""
        return parse((self._output / "resourcesync" / "site" / name).read_bytes())

    def add_up(self) -> dict[str, str | None]:
        """Apply all changes, each of which must be possible where it stands; give what is left, with its last time."""
        there: dict[str, str | None] = {}
        seen: set[tuple[str, str | None]] = set()
        for change in (change for each in self.lists for change in each.entries):
            kind = change.md["change"]
            assert (change.uri in there) == (kind != "created"), f"{change.uri} {kind} at {change.lastmod}"
            assert (change.uri, change.lastmod) not in seen, "CH05"
            seen.add((change.uri, change.lastmod))
            there[change.uri] = change.lastmod
            if kind == "deleted":
                del there[change.uri]
        return there

    def check(self) -> None:
        """Check that the changes add up, in order, to the Resource List, and that its files are all there is."""
        times = [change.time for each in self.lists for change in each.entries]
        assert times == sorted(times), "CH03"
        assert datetime.fromisoformat(self.resources.md["at"]) >= times[-1], "RL02"
        assert self.add_up() == {entry.uri: entry.lastmod for entry in self.resources.entries}
        assert len(self.resources.entries) == len({entry.uri for entry in self.resources.entries})

    def check_ranges(self) -> None:
        """Check that ranges touch end to end, hold their changes, and are indexed and archived."""
        for each, pointer in zip(self.lists, self.index.entries, strict=True):
            assert each.md == {"capability": "changelist", **pointer.md}
            start, until = _time(each.md["from"]), _time(each.md.get("until", "9999-12-31T00:00:00Z"))
            assert each.entries
            assert all(start < change.time <= until for change in each.entries)
        assert self.index.md == {"capability": "changelist", "from": self.lists[0].md["from"]}
        for before, after in pairwise(self.lists):
            assert before.md["until"] == after.md["from"], "AR06"
        assert "until" not in self.lists[-1].md
        closed = self.index.entries[:-1]
        archive = self.document("changelist-archive.xml").entries if closed else []
        assert [(each.uri, each.md) for each in archive] == [(each.uri, each.md) for each in closed]
        assert ("archives" in self.index.links) == bool(closed)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def published(site: Site) -> Published:
    """Return what a site has published, checked."""
    found = Published(site.output, str(site.settings["SITEURL"]))
    found.check()
    found.check_ranges()
    return found


@pytest.mark.promise("Complete")
@pytest.mark.parametrize("by", RANGES, ids=str)
def test_sample_site_adds_up_whatever_the_ranges(sample_site: Site, by: str | int) -> None:
    """The same changes, those decided by hand, in as many ranges as the calendar, the tags or the commits make."""
    sample_site.build(RESOURCESYNC={"changes_by": by})
    found = published(sample_site)
    assert len(found.lists) == RANGES[by]
    assert sorted(sample_site.changes()) == sorted(EXPECTED)


def test_tag_pattern_chooses_tags(sample_site: Site) -> None:
    """Of v1.0, v1.1 and v2.0, only those of the first version end a range."""
    sample_site.build(RESOURCESYNC={"changes_by": "tag:v1*"})
    untils = [each.md.get("until") for each in published(sample_site).lists]
    assert untils == ["2023-11-20T15:30:00Z", "2024-02-12T10:00:00Z", None]


@pytest.mark.promise("Complete")
def test_publications_one_after_another_add_up(tmp_path: Path) -> None:
    """Lists begun by one publication and continued by others, divided in another way each time, still add up."""
    site = import_sample_site(tmp_path / "site", until="main~20")
    closed: dict[str, bytes] = {}
    for revision, by in (("main~20", "month"), ("main~15", "tag"), ("main~8", 2), ("main~2", "week"), ("main", "year")):
        site.git("checkout", "-q", revision)
        site.build(RESOURCESYNC={"changes_by": by})
        found = published(site)
        lists = {entry.uri: file_of(entry.uri, "https://museum.example") for entry in found.index.entries[:-1]}
        now = {uri: (site.output / path).read_bytes() for uri, path in lists.items()}
        assert closed.items() <= now.items(), "X16"
        closed = now
    assert len(closed) > 5


@pytest.mark.promise("Standard")
@pytest.mark.parametrize("edition", [2014, 2017])
def test_all_documents_are_valid(sample_site: Site, edition: int) -> None:
    """Every document of either edition is valid by the official schemas of that edition."""
    sample_site.build(RESOURCESYNC={"edition": edition})
    files = [sample_site.output / ".well-known" / "resourcesync", *(sample_site.output / "resourcesync").rglob("*.xml")]
    assert len(files) == 17
    for file in files:
        tree = etree.parse(file)
        root = Root(etree.QName(tree.getroot()).localname)
        schema(root, edition).assertValid(tree)
