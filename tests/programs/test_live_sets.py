"""Several sets with dumps and archives on a live site: each is carried forward, out of nothing but what is public."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.kit.live import files, hosts, served, status
from tests.kit.museum import ARCHIVE, KEPT, MUSEUM, Museum, is_now, tree
from tests.kit.reader import parse_file
from tests.kit.sites import our_command, run, warnings
from tests.kit.walker import Walker

SETS: dict[str, Any] = {"site": {}, "pages": {"paths": ["*.html"]}, "texts": {"types": ["text/plain"]}}
STATES = {
    "site": "resourcesync/publication.json",
    "pages": "resourcesync/pages/publication.json",
    "texts": "resourcesync/texts/publication.json",
}
KEEPSAKES = {"site": KEPT, "pages": f"{KEPT}-pages", "texts": f"{KEPT}-texts"}


@pytest.fixture
def museum(museum: Museum) -> Museum:
    """Return a site of an article and a text, published as three sets, whose host has nothing yet."""
    everything = {"previous": "live", "dumps": True, "archives": True, "sets": SETS}
    museum.site.configure(STATIC_PATHS=["texts"], RESOURCESYNC=everything)
    museum.site.article("b.md", "B")
    museum.site.write("content/texts/c.txt", "A text.")
    return museum


def states(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the states of the sets."""
    return {name: json.loads((folder / path).read_bytes()) for name, path in STATES.items()}


def generations(museum: Museum) -> list[int]:
    """Return the generation of each set that was built."""
    return [each["generation"] for each in states(museum.site.output).values()]


def walk(folder: Path) -> Walker:
    """Walk through a publication; check that there is no fault."""
    with served(folder) as address:
        walker = Walker(address, MUSEUM).walk()
    assert walker.faults == []
    return walker


def lines(said: str) -> list[str]:
    """Return what was said of where publications come from."""
    return [
        line for line in said.splitlines() if "ResourceSync: " in line and f" at {MUSEUM}/resourcesync/ in " not in line
    ]


@pytest.mark.promise("In sets")
def test_sets_that_are_of_two_deployments_stop_the_build_or_go_on(museum: Museum) -> None:
    """One set is older than the rest: it goes on from what was seen; damaged, it stops the build for all."""
    museum.publish(1)
    shutil.copytree(museum.www, museum.www.with_name("first"))
    museum.publish(2)
    museum.build()
    shutil.rmtree(museum.www / "resourcesync/pages")
    shutil.copytree(museum.www.with_name("first") / "resourcesync/pages", museum.www / "resourcesync/pages")
    museum.edit(3)
    museum.build()
    assert generations(museum) == [3, 3, 3]
    walk(museum.site.output)
    package = min((museum.www / "resourcesync/pages").glob("*.zip"))
    package.write_bytes(package.read_bytes()[:-1])
    shutil.rmtree(museum.site.folder / KEEPSAKES["pages"])
    shutil.rmtree(museum.site.folder / KEEPSAKES["site"])
    sentence = museum.stops()
    assert f"{package.relative_to(museum.www).as_posix()} is not the listed file. It is damaged" in sentence


def test_sets_come_and_go_on_a_live_site(museum: Museum) -> None:
    """A warning names what is gone for as long as it is live; what is added begins, and all else goes on."""
    museum.publish(1)
    museum.edit(2)
    named = {"site": {}, "texts": SETS["texts"], "html": {"types": ["text/html"]}}
    museum.site.configure(RESOURCESYNC={**museum.site.settings["RESOURCESYNC"], "sets": named})
    for _ in range(2):
        shutil.rmtree(museum.site.output)
        exit_status, said = run(museum.site)
        assert exit_status == 0
        (warning,) = warnings(said)
        assert "RESOURCESYNC['sets'] no longer contains 'pages'" in warning
        assert lines(said)[0].endswith(
            f"html: there is no publication at {MUSEUM}/resourcesync/html/publication.json: this is the first "
            "publication, assuming that nothing was public here before."
        )
        assert set(walk(museum.site.output).sets) == {"html", "site", "texts"}
    museum.deploy()
    assert warnings(run(museum.site)[1]) == []


def test_sets_start_over_together(museum: Museum) -> None:
    """Each beside what was public of it, with packages of its own; set back, they go on."""
    museum.publish(1)
    museum.publish(2)
    museum.build(first=True)
    numbers = {name: each["restart_number"] for name, each in states(museum.site.output).items()}
    assert all(map(is_now, numbers.values()))
    assert generations(museum) == [3, 3, 3]
    walker = walk(museum.site.output)
    assert {
        f"/{name}/{numbers[name]}/" in each.documents["resourcedump"].uri for name, each in walker.sets.items()
    } == {True}
    museum.deploy()
    museum.publish(3)
    assert generations(museum) == [4, 4, 4]
    walk(museum.www)


def test_what_is_forgotten_in_sets_stays_forgotten(museum: Museum) -> None:
    """In all that have it, live and in the keepsakes, whether its takedown is public before the next build or not."""
    museum.publish(1)
    museum.publish(2)
    said = our_command(museum.site.folder, "forget", f"{MUSEUM}/a.html").stdout
    assert "site: generation 3, below" in said
    assert "pages: generation 3, below" in said
    for name, place in KEEPSAKES.items():
        kept = tree(museum.site.folder / place)
        assert {path for path in kept if not path.startswith(f"resourcesync/{name}/")} <= {STATES[name]}
        assert json.loads(kept[STATES[name]][0])["generation"] == (2 if name == "texts" else 3)
    museum.site.remove("content/a.md")
    museum.site.commit("2024-03-01T10:00:00Z")
    museum.build()  # the live publication is of before
    assert generations(museum) == [4, 4, 3]
    for each in walk(museum.site.output).sets.values():
        parcels = [*each.changed, *each.dump]
        said_of_it = [*each.changes, *(item for parcel in parcels for item in parcel.bitstreams)]
        assert {item.md.get("change") for item in said_of_it if item.uri == f"{MUSEUM}/a.html"} <= {"deleted"}
    museum.deploy()
    museum.edit(4)
    museum.build()
    assert generations(museum) == [5, 5, 4]


def test_sets_move_to_another_host(museum: Museum) -> None:
    """All of them: old URLs are deleted and new ones created in each, and dumped so."""
    museum.publish(1)
    museum.publish(2)
    museum.host.manner = hosts({MUSEUM: files(museum.www), ARCHIVE: status(404)})
    museum.site.configure(SITEURL=ARCHIVE)
    museum.edit(3)
    museum.build(moved_from=MUSEUM)
    assert generations(museum) == [3, 3, 3]
    for name in SETS:
        home = museum.site.output / "resourcesync" / name
        manifest = parse_file(home / "changedump-20240301T100000Z-manifest.xml")
        here = {item.uri for item in parse_file(home / "resourcelist.xml").entries}
        changed = {(item.uri, "created") for item in manifest.entries if "path" in item.md}
        assert changed == {(uri, "created") for uri in here}
        gone = {item.uri for item in manifest.entries if item.md["change"] == "deleted"}
        assert gone == {uri.replace(ARCHIVE, MUSEUM) for uri in here}
