"""The sample site with all capabilities and several sets: a walk to every document and every member of a package."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.kit.live import served
from tests.kit.reader import XmlEntry
from tests.kit.sites import PRIVATE, Row, file_of, import_sample_site, public_files
from tests.kit.unpacking import Bitstream, time_in
from tests.kit.walker import CAPABILITIES, Set, Walker

SITEURL = "https://museum.example"
SETS: Mapping[str, Mapping[str, Any]] = {
    "site": {},
    "coins": {"categories": ["Coins"]},
    "images": {"types": ["image/*"]},
    "german": {"languages": ["de"]},
    "brass": {"tags": ["brass"], "dumps": False, "archives": False},
}
EVERYTHING = {"dumps": True, "archives": {"resourcedump": "all"}, "sets": SETS}

#: What a set has without dumps and archives.
PLAIN = ("resourcelist", "changelist", "changelist-archive")

#: The commits that are published, the last 12 of the history; at some, the lantern is being mended and hidden.
REVISIONS = ("main~12", "main~8", "main~6", "main~4", "main~2", "main")
HIDDEN = dict.fromkeys(("main~6", "main~4", "main~2"), ("lamps/keepers-lantern.html",))

#: What the sources of the last commit say is in each set.
NOW = {
    "coins": {
        "category/coins.html",
        "coins/denarius-de.html",
        "coins/denarius.html",
        "coins/tariff-board.html",
        "coins/three-coins.html",
        "feeds/coins.atom.xml",
    },
    "images": {
        "images/Münze 1.svg",
        "images/denarius.svg",
        "images/flood-marks.svg",
        "images/ford-map.svg",
        "images/hall-clock.svg",
        "images/lantern.svg",
        "images/ledger.svg",
        "images/milestone.svg",
        "images/oil-lamp.svg",
        "images/road-atlas.svg",
        "images/scale.svg",
        "images/sundial.svg",
        "images/toll 5%.svg",
        "theme/img/bridge.svg",
    },
    "german": {
        "coins/denarius-de.html",
        "maps/flood-marks-de.html",
        "measures/toll-scale-de.html",
        "visit-de.html",
    },
    "brass": {
        "lamps/keepers-lantern.html",
        "measures/sundial.html",
        "measures/toll-scale-de.html",
        "measures/toll-scale.html",
        "tag/brass.html",
    },
}


def is_in(name: str, path: str) -> bool:
    """Tell by the name of a file whether it is in a set: of this site, the names say it."""
    return {
        "site": True,
        "coins": path.startswith("coins/") or path in ("category/coins.html", "feeds/coins.atom.xml"),
        "images": path.endswith(".svg"),
        "german": path.endswith("-de.html"),
        "brass": path in NOW["brass"],
    }[name]


@dataclass(frozen=True, repr=False)
class Publication:
    """What was public: the time of the Resource List of each set, and the bytes of all resources by path."""

    at: Mapping[str, datetime]
    files: Mapping[str, bytes]

    def of(self, name: str) -> dict[str, bytes]:
        """Return the resources of a set."""
        return {path: data for path, data in self.files.items() if is_in(name, path)}


@dataclass(frozen=True, repr=False)
class Museum:
    """The sample site, published again and again into one output, and the walk through the last publication."""

    output: Path
    publications: list[Publication]
    walker: Walker

    def changes(self, name: str) -> Iterator[tuple[datetime, dict[str, str]]]:
        """Yield what each publication but the first changed in a set: its time, and the kinds by path."""
        for before, after in pairwise(self.publications):
            old, new = before.of(name), after.of(name)
            kinds = dict.fromkeys(old.keys() - new.keys(), "deleted")
            kinds |= dict.fromkeys(new.keys() - old.keys(), "created")
            kinds |= {path: "updated" for path in old.keys() & new.keys() if old[path] != new[path]}
            yield after.at[name], kinds

    def dump_times(self, name: str) -> list[datetime]:
        """Return for each publication the time of its Resource Dump: of the last one that changed a resource."""
        times = [self.publications[0].at[name]]
        for at, kinds in self.changes(name):
            times.append(at if kinds else times[-1])
        return times


def walk(output: Path) -> Walker:
    """Walk through what lies in an output, over HTTP."""
    with served(output) as address:
        return Walker(address, SITEURL).walk()


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Museum:
    """Publish the sample site at some of its commits, one after another."""
    site = import_sample_site(tmp_path_factory.mktemp("everything") / "site", until=REVISIONS[0])
    publications = []
    for revision in REVISIONS:
        site.git("checkout", "-q", revision)
        site.build(DELETE_OUTPUT_DIRECTORY=True, RESOURCESYNC=EVERYTHING)
        walker = walk(site.output)
        assert walker.faults == [], revision
        files = public_files(site.output, *PRIVATE, *HIDDEN.get(revision, ()))
        publications.append(Publication({name: each.at() for name, each in walker.sets.items()}, files))
    return Museum(site.output, publications, walker)


@pytest.fixture(params=SETS)
def found(museum: Museum, request: pytest.FixtureRequest) -> Set:
    """Return each set as the walker found it."""
    return museum.walker.sets[request.param]


@pytest.fixture(params=[name for name in SETS if name != "brass"])
def dumped(museum: Museum, request: pytest.FixtureRequest) -> Set:
    """Return each set that has everything."""
    return museum.walker.sets[request.param]


def path_of(item: XmlEntry) -> str:
    """Return the file that an entry is of."""
    return file_of(item.uri, SITEURL)


def test_walk_meets_every_document_and_no_fault(museum: Museum) -> None:
    """All eight capabilities, none a stub; nothing lies there to which nothing leads, but for readers of before."""
    assert set(museum.walker.sets) == set(SETS)
    for name, each in museum.walker.sets.items():
        assert tuple(each.documents) == (PLAIN if name == "brass" else CAPABILITIES)
    folder = museum.output / "resourcesync"
    states = set(folder.rglob("publication.json"))
    superseded = {path for each in states for path in json.loads(each.read_bytes())["superseded"]}
    there = {file.relative_to(museum.output).as_posix() for file in folder.rglob("*") if file.is_file()}
    read = {uri.removeprefix(f"{SITEURL}/") for uri in museum.walker.read}
    files = ("index.html", "badge.svg", "changes.atom", "changes/index.html")
    pages = {f"resourcesync/{name}/{file}" for name in SETS for file in files}
    pages |= {
        re.sub(r"/changelist-([^/]*)\.xml$", rf"/changes/\1.{end}", path)
        for path in read
        if "/changelist-2" in path
        for end in ("html", "json")
    }
    assert there - read == superseded | pages | {each.relative_to(museum.output).as_posix() for each in states}
    assert sum(path.endswith(".zip") for path in read) == 30


@pytest.mark.promise("In sets")
def test_sets_are_what_the_sources_say(museum: Museum, found: Set) -> None:
    """At the end what was written down by hand, with the bytes that were built; the first set is all there is."""
    files = museum.publications[-1].of(found.name)
    assert files.keys() == NOW.get(found.name, museum.publications[-1].files.keys())
    assert {path_of(item): museum.walker.read[item.uri] for item in found.resources} == files


def test_entries_lead_to_category_and_tags(museum: Museum, found: Set) -> None:
    """From an article to the pages it is filed under, whichever set it is listed in (EA01), and from nothing else."""
    links = {path_of(item): [(rel, href.removeprefix(SITEURL)) for rel, href in item.links] for item in found.resources}
    articles = {path for path in links if path.split("/")[0] in ("coins", "curiosities", "lamps", "maps", "measures")}
    assert {path for path in links if links[path]} == articles
    if "coins/denarius-de.html" in links:
        assert links["coins/denarius-de.html"] == [
            ("collection", "/category/coins.html"),
            ("tag", "/tag/roman.html"),
            ("tag", "/tag/silver.html"),
        ]
    for change in (each for each in found.changes if each.time == found.at() and each.md["change"] != "deleted"):
        assert [(rel, href.removeprefix(SITEURL)) for rel, href in change.links] == links[path_of(change)]


def test_later_publications_tell_what_the_bytes_say(museum: Museum, found: Set) -> None:
    """Each change between two outputs is listed once, at a time between the two, and nothing else is."""
    before = museum.publications[0].at[found.name]
    listed = [item for item in found.changes if item.time > before]
    for at, kinds in museum.changes(found.name):
        here = [item for item in listed if before < item.time <= at]
        assert {path_of(item): item.md["change"] for item in here} == kinds
        assert len(here) == len(kinds)
        before = at
    assert listed[-1].time <= before


@pytest.mark.promise("Rebuilt")
def test_change_dumps_say_what_change_lists_say(museum: Museum, dumped: Set) -> None:
    """Change by change, in one order, with one time, kind and hash, from where the Change Dumps begin (CL06)."""
    begin, _ = dumped.documents["changedump"].entries[0].interval
    packed = [item for package in dumped.changed for item in package.bitstreams]
    first = museum.publications[0].at[dumped.name]
    listed = [item for item in dumped.changes if item.time > first]
    assert [(*_row(item), item.digest) for item in packed] == [(*_row(item), item.digest) for item in listed]
    assert begin == first < listed[0].time


@pytest.mark.promise("Rebuilt")
def test_dumps_rebuild_the_site_as_of_each_publication(museum: Museum, dumped: Set) -> None:
    """From each Resource Dump there ever was, the Change Dumps lead to each later publication, byte for byte."""
    dumps = {**dumped.dumps, dumped.at("resourcedump"): dumped.dump}
    begins = [at for at in museum.dump_times(dumped.name) if at in dumps]
    assert museum.publications[0].at[dumped.name] in begins
    for begin in begins:
        copy = {path_of(item): item.data for package in dumps[begin] for item in package.bitstreams}
        packages = [each for each in dumped.changed if time_in(each.said, "until") > begin]
        for publication in museum.publications:
            at = publication.at[dumped.name]
            while packages and time_in(packages[0].said, "until") <= at:
                for item in packages.pop(0).bitstreams:
                    apply_change(copy, item)
            if at >= begin:
                assert copy == publication.of(dumped.name), (begin, at)
        assert packages == []


@pytest.mark.promise("Rebuilt")
@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        {"archives": True, "changes_by": "week"},
        {"archives": {"resourcelist": 2, "resourcedump": 1, "changedump": 2}, "keep": 3},
        {"dumps": {"package_size": 20_000}, "archives": {"resourcedump": "all"}, "changes_by": 3, "edition": 2014},
        {"dumps": {"resourcedump": False}, "archives": {"resourcelist": 0}, "changes_by": "tag"},
    ],
    ids=str,
)
def test_every_commit_is_published(tmp_path: Path, settings: dict[str, Any]) -> None:
    """One after another into one output, in other ways: no walk meets a fault, and packages keep their bytes."""
    site = import_sample_site(tmp_path / "site")
    packages: dict[str, bytes] = {}
    for sha in site.git("rev-list", "--first-parent", "--reverse", "main").split():
        site.git("checkout", "-q", sha)
        site.build(DELETE_OUTPUT_DIRECTORY=True, RESOURCESYNC={**EVERYTHING, "allow_deletions": True, **settings})
        walker = walk(site.output)
        assert walker.faults == [], sha
        here = {uri: data for uri, data in walker.read.items() if uri.endswith(".zip")}
        assert {uri: packages[uri] for uri in here if uri in packages} == {
            u: d for u, d in here.items() if u in packages
        }
        packages |= here
    assert len(packages) > 30


@pytest.mark.parametrize(
    ("pattern", "change", "fault"),
    [
        ("coins/three-coins.html", b"river>RIVER", "coins/three-coins.html has another hash"),
        ("resourcesync/german/changedump-*-manifest.xml", b"created>updated", "another manifest (RD02)"),
        ("resourcesync/coins/resourcelist.xml", b"coins/tariff-board>coins/denarius", "lists a URI twice"),
        ("resourcesync/coins/changelist.xml", b"2024-03-01T>2024-03-02T", "says {'from': '2024-0"),
        ("resourcesync/site/resourcelist.xml", b"/tag/roman.html>/tag/brown.html", "brown.html: HTTP Error 404"),
        (
            "resourcesync/site/resourcelist.xml",
            b'"tag" href="https://museum.example/tag/roman.html>"tag" href="x',
            "to x",
        ),
        ("resourcesync/site/resourcelist-archive.xml", b"resourcelist-2024>resourcelist-2023", "HTTP Error 404"),
    ],
)
def test_walker_notices(museum: Museum, tmp_path: Path, pattern: str, change: bytes, fault: str) -> None:
    """The witness can say no: to other bytes, to what is gone, and to a document that does not agree with another."""
    copy = tmp_path / "copy"
    shutil.copytree(museum.output, copy)
    file, (old, _, new) = min(copy.glob(pattern)), change.partition(b">")
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new))
    assert any(fault in each for each in walk(copy).faults)


def _row(item: XmlEntry) -> Row:
    return str(item.lastmod), item.md["change"], item.uri.removeprefix(SITEURL)


def apply_change(copy: dict[str, bytes | None], item: Bitstream) -> None:
    """Apply a change to a copy, in which it must be possible."""
    path = path_of(item)
    assert (path in copy) == (item.md["change"] != "created"), (path, item.md)
    assert quote("" if path == "index.html" else path) == item.uri.removeprefix(f"{SITEURL}/")
    if item.md["change"] == "deleted":
        del copy[path]
    else:
        copy[path] = item.data
