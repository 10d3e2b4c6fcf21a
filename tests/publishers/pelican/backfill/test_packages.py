"""A backfill with dumps, archives and sets: the bytes of all the past are in packages, and can be forgotten there."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.backfills import run
from tests.kit.reader import XmlEntry
from tests.kit.sites import PRIVATE, Site, import_sample_site, our_command, public_files
from tests.kit.walker import CAPABILITIES, Walker
from tests.programs.test_everything import SITEURL, apply_change, is_in, path_of, walk

SETS: dict[str, Any] = {"site": {}, "coins": {"categories": ["Coins"]}, "images": {"types": ["image/*"]}}
EVERYTHING = {"previous": "output", "dumps": True, "archives": True, "sets": SETS}

#: The commits that are built; in some the lantern is hidden. To be compared, all are built again with `--long`, else
#: the first, the second, in which the three coins move, one in which the lantern is hidden, and the last.
SINCE = "main~10"
REVISIONS = (*(f"main~{number}" for number in range(10, 0, -1)), "main")
HIDDEN = {f"main~{number}": ("lamps/keepers-lantern.html",) for number in range(6, 0, -1)}
COMPARED = (SINCE, "main~9", "main~5", "main")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Backfill the sample site with everything, by its settings of today."""
    site = import_sample_site(tmp_path_factory.mktemp("packages") / "site")
    with (site.folder / "pelicanconf.py").open("a") as settings:
        settings.write(f"RESOURCESYNC = {EVERYTHING!r}\n")
    assert run(site, since=SINCE).skipped == {}
    return site


@pytest.fixture
def past(filled: Site, tmp_path: Path) -> Site:
    """Return a copy of it."""
    shutil.copytree(filled.folder, tmp_path / "site", symlinks=True)
    site = Site(tmp_path / "site", filled.settings)
    site.git("config", "user.name", "A writer")
    site.git("config", "user.email", "writer@example.org")
    return site


def builds(site: Site, revisions: Iterable[str]) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Yield the times of commits, and what a build of each is, all of it public."""
    for revision in revisions:
        site.git("checkout", "-q", "--force", revision)
        output = site.folder.parent / revision
        site.build(OUTPUT_PATH=str(output), RESOURCESYNC={"previous": "output", "history": "none"})
        yield int(site.git("log", "-1", "--format=%ct")), public_files(output, *PRIVATE, *HIDDEN.get(revision, ()))


@pytest.mark.promise("Rebuilt")
def test_dumps_rebuild_each_commit(past: Site, request: pytest.FixtureRequest) -> None:
    """Set by set: from the very first change on, the site of any commit, byte for byte; then the Resource Dump."""
    walker = walk(past.output)
    assert walker.faults == []
    assert {name: tuple(each.documents) for name, each in walker.sets.items()} == dict.fromkeys(
        sorted(SETS), tuple(each for each in CAPABILITIES if not each.startswith("resource") or "-" not in each)
    )
    sites = list(builds(past, REVISIONS if request.config.getoption("--long") else COMPARED))
    for each in walker.sets.values():
        changes = [item for package in each.changed for item in package.bitstreams]
        assert [_said(item) for item in changes] == [_said(item) for item in each.changes]
        assert each.documents["changedump"].md["from"] == each.documents["changelist"].md["from"]
        copy: dict[str, bytes | None] = {}
        for time, files in sites:
            while changes and changes[0].time.timestamp() <= time + 2:  # some landed a second or two later
                apply_change(copy, changes.pop(0))
            assert copy == {path: data for path, data in files.items() if is_in(each.name, path)}, (each.name, time)
        assert changes == []
        assert copy == {path_of(item): item.data for package in each.dump for item in package.bitstreams}


def test_forget_in_sets_with_packages(past: Site) -> None:
    """Through the command: no document and no package names it, sets without it stay, and the next build goes on."""
    before = {name: _state(past, name) for name in SETS}
    uris = [f"{SITEURL}/coins/river-coins.html", f"{SITEURL}/coins/three-coins.html"]
    said = our_command(past.folder, "forget", *uris).stdout
    assert "Forgotten: " in said
    assert "site: generation 2" in said
    assert "coins: generation 2" in said
    assert "images" not in said
    for path in ("coins/river-coins.html", "coins/three-coins.html"):
        (past.output / path).unlink(missing_ok=True)
    walker = walk(past.output)
    assert walker.faults == []
    assert _state(past, "images") == before["images"]
    assert {name: _state(past, name)["restart_number"] for name in SETS} == {"site": 2, "coins": 2, "images": 1}
    _check_forgotten(past, walker, "river-coins", "Three coins from the river")

    past.remove("content/coins/river-coins.md", at="2024-12-01T10:00:00Z")
    past.build(RESOURCESYNC=EVERYTHING)
    walker = walk(past.output)
    assert walker.faults == []
    assert [_state(past, name)["generation"] for name in SETS] == [3, 3, 2]
    assert {path_of(item) for item in walker.sets["coins"].resources} == {
        "category/coins.html",
        "coins/denarius-de.html",
        "coins/denarius.html",
        "coins/tariff-board.html",
        "feeds/coins.atom.xml",
    }
    deleted = [item for item in walker.sets["coins"].changes if item.md["change"] == "deleted"]
    assert "river-coins" not in "".join(item.uri for item in walker.sets["coins"].changes if item not in deleted)


def _check_forgotten(site: Site, walker: Walker, slug: str, title: str) -> None:
    """Check that what is forgotten is named by its deletion alone, and its bytes are in no package."""
    for each in walker.sets.values():
        for item in (*each.changes, *(every for package in each.changed for every in package.bitstreams)):
            assert slug not in item.uri or item.md["change"] == "deleted"
        for item in (item for package in (*each.changed, *each.dump) for item in package.bitstreams):
            assert slug not in item.md.get("path", "")
            assert f"<h1>{title}".encode() not in (item.data or b"")
        assert not any(slug in item.uri for item in each.resources)


def test_former_set_goes_with_a_backfill(past: Site) -> None:
    """A set that is no longer in the settings is removed; it is said once."""
    with (past.folder / "pelicanconf.py").open("a") as settings:
        settings.write("del RESOURCESYNC['sets']['images']\n")
    past.commit("2024-12-01T10:00:00Z")
    said = our_command(past.folder, "backfill", "--since", "main~1", "--jobs", "1").stderr
    assert said.count("RESOURCESYNC['sets'] no longer contains 'images'") == 1
    walker = walk(past.output)
    assert walker.faults == []
    assert set(walker.sets) == {"site", "coins"}
    assert not (past.output / "resourcesync/images").exists()


def _state(site: Site, name: str) -> dict[str, Any]:
    place = "resourcesync" if name == "site" else f"resourcesync/{name}"
    state = json.loads((site.output / place / "publication.json").read_bytes())
    assert isinstance(state, dict)
    return state


def _said(item: XmlEntry) -> tuple[str, str | None, str, str]:
    return item.uri, item.lastmod, item.md["change"], item.digest
