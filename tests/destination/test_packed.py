"""A follower that begins takes resources from packages where that is cheaper, and believes nothing that they say."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from pelican_resourcesync.destination import MirrorOptions, follow
from tests.check.zips import Piece
from tests.destination.archives import ArchivedSource, archived_source
from tests.destination.sources import FAST, digest, entry, stamp
from tests.destination.test_packages import DATA, DUMPS, HOSTILE, PAGES, packed, publish_package
from tests.support.live import status


@pytest.fixture
def source() -> Iterator[ArchivedSource]:
    """Yield a Source with dumps."""
    with archived_source(PAGES) as source:
        yield source


def run(source: ArchivedSource, options: MirrorOptions = FAST, cursor: str = "") -> tuple[int, list[str]]:
    """Follow from the beginning; what comes is exact. Give how many resources were fetched singly, and the notes."""
    source.site.asked()
    changes = follow(source.url, cursor, options)
    found = {each.uri.removeprefix(source.url): each.content.read() for each in changes if each.content}
    assert found.items() <= source.resources.items()
    assert cursor or found == source.resources
    asked = source.site.asked()
    return sum(asked[path] for path in source.resources), changes.notes


def test_begin_with_a_package(source: ArchivedSource) -> None:
    """All comes from one package, and the rest of it where it was interrupted; by lists, nothing does."""
    assert run(source) == (0, [])
    assert run(source, replace(FAST, by="lists")) == (30, [])
    halfway = next(follow(source.url, None, FAST)).cursor
    assert run(source, FAST, halfway) == (0, [])
    source.put("0/0.html", "new")
    large = b"0123456789" * 20_000
    source.put("1/1.html", large)
    source.hashes = False
    source.publish()
    assert run(source, DUMPS) == (0, [])
    changes = follow(source.url, None, DUMPS)
    assert {each.hash for each in changes} >= {digest(large), digest(b"new")}


def test_older_package(source: ArchivedSource) -> None:
    """What has changed since the dump is fetched singly, and a dump that takes more than that is left alone."""
    old = {path: data for path, data in source.published.items() if "dump" in path}
    for path in list(PAGES)[:10]:
        source.put(path, f"new {path}")
    source.publish()
    source.published |= old
    assert run(source) == (10, [])
    source.published["rs/resourcedump.xml"] = source.published["rs/resourcedump.xml"].replace(
        b' length="', b' length="1000000000'
    )
    assert run(source)[0] == 30


@pytest.mark.parametrize(("said", "later", "singly"), [(DATA, 0, 0), (b"data", 0, 1), (DATA, 1, 1)])
def test_list_without_hashes(hostile: ArchivedSource, said: bytes, later: int, singly: int) -> None:
    """Then the time must be that of the list, and the bytes those of the manifest."""
    hostile.hashes = False
    try:
        time = stamp(hostile.times["0/0.html"] + timedelta(days=later))
        entries = entry("/0/0.html", {"path": "/a", "hash": digest(said)}, time)
        publish_package(hostile, packed(Piece(name=b"a", data=DATA), entries=entries))
        hostile.site.asked()
        assert {each.hash for each in follow(hostile.url, None, DUMPS)} == {*map(digest, hostile.resources.values())}
        assert hostile.site.asked()["0/0.html"] == singly
    finally:
        hostile.hashes = True


def test_dump_that_cannot_be_read(source: ArchivedSource) -> None:
    """It costs requests, and nothing else."""
    source.site.manners["rs/resourcedump.xml"] = status(404)
    singly, notes = run(source)
    assert (singly, "the Resource Dumps cannot be used" in notes[0]) == (30, True)


@pytest.fixture(scope="module")
def hostile() -> Iterator[ArchivedSource]:
    """Yield a Source that is published once for all hostile packages."""
    with archived_source(dict(list(PAGES.items())[:2])) as source:
        source.dumps = source.archives = False
        source.publish()
        yield source


@pytest.mark.parametrize("case", ["nothing", "other bytes", "a path of no member", "resources of another host"])
def test_hostile_package(hostile: ArchivedSource, case: str) -> None:
    """A package that cannot be opened or used is noted, and nothing in it believed."""
    publish_package(hostile, HOSTILE[case][0])
    _, notes = run(hostile, DUMPS)
    assert HOSTILE[case][1] in "".join(notes)
