"""Retention: how many closed Change Lists stay, and what stays a little longer for readers under way."""

from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.publication import Archives, ChangeHistory
from tests.publication.support import SITEURL, UPDATED, Source, change, tree, utc

SET = "resourcesync/site"
LISTS = [f"{SET}/changelist-2024{month:02}01T000000Z.xml" for month in range(1, 8)]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Give a set that changed in each of five months: four closed lists and an open one."""
    source = Source(tmp_path / "output")
    for month in range(1, 6):
        publish(source, month)
    return source


def publish(source: Source, month: int, **options: Any) -> int:
    """Publish a change in a month, and give the count of all changes."""
    return source.publish({"a.html": bytes([month])}, f"2024-{month:02}-05T12:00", **options).changes


def listed(source: Source) -> list[str]:
    """Give the paths of the Change Lists that the index names."""
    return [item.uri.removeprefix(f"{SITEURL}/") for item, _list in source.change_lists()]


def test_the_oldest_go(source: Source) -> None:
    """CL06, AR06: index and archive begin at the first that is kept and touch from there on; the rest is carried."""
    before = source.documents()
    assert publish(source, 5, archives=Archives(changelist=2)) == 3
    assert listed(source) == LISTS[2:5]
    index = source.document(f"{SITEURL}/{SET}/changelist.xml")
    archive = source.document(f"{SITEURL}/{SET}/changelist-archive.xml")
    assert index.md["from"] == archive.entries[0].md["from"] == "2024-03-01T00:00:00Z"
    assert [item.uri.removeprefix(f"{SITEURL}/") for item in archive.entries] == LISTS[2:4]
    assert [item.md.get("until") for item in index.entries] == ["2024-04-01T00:00:00Z", "2024-05-01T00:00:00Z", None]
    assert [source.documents()[path] for path in LISTS[2:5]] == [before[path] for path in LISTS[2:5]]
    assert source.state()["changes"] == 3


def test_the_open_one_may_close_and_go_at_once(tmp_path: Path) -> None:
    """What history told of long ago is dropped as the oldest, before it ever was a document."""
    source = Source(tmp_path)
    changes = [change(f"2024-0{month}-05T12:00", "a.html", UPDATED) for month in range(1, 6)]
    told = ChangeHistory(built=utc("2024-06-01T12:00"), changes=changes)
    assert source.publish({"a.html": b"a"}, told, archives=Archives(changelist=1)).changes == 2
    assert listed(source) == LISTS[3:5]
    assert not set(LISTS[:3]) & source.documents().keys()
    assert source.state()["superseded"] == {}


def test_lists_that_go_stay_for_one_generation(source: Source) -> None:
    """A reader that has just read the index finds what it names; one generation on they are gone."""
    before = source.documents()
    publish(source, 5, archives=Archives(changelist=2))
    after = source.documents()
    assert [after[path] for path in LISTS[:2]] == [before[path] for path in LISTS[:2]]
    assert source.state()["superseded"].keys() == set(LISTS[:2])
    assert not source.state()["superseded"].keys() & source.state()["documents"].keys()
    unchanged = tree(source.output)
    publish(source, 5, archives=Archives(changelist=2))
    assert tree(source.output) == unchanged
    publish(source, 6, archives=Archives(changelist=2))
    assert not set(LISTS[:2]) & source.documents().keys()
    assert LISTS[2] in source.documents()


def test_superseded_documents_that_were_lost(source: Source) -> None:
    """They are no loss: what is there is carried, and the same state changes nothing else."""
    publish(source, 5, archives=Archives(changelist=2))
    (source.output / LISTS[0]).unlink()
    before = source.documents()
    publish(source, 5, archives=Archives(changelist=2))
    assert source.documents() == before
