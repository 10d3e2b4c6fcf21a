"""Versions of items: the nearest public ones before and after an item, and what is published of that."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from repo_bridge import inventory
from repo_bridge.model import Item, Version
from repo_bridge.reading.dump import import_dump
from repo_bridge.reading.repository import open_repository
from sample_site.dspace.repository import ITEM, Bundle, File, Policy, Sample, Thing, key, rows_of
from tests.kit.postgresql import Server
from tests.kit.repository.entities import register
from tests.kit.repository.press import BASE, SET, Press, day
from tests.kit.repository.reading import VIEW, read, url_of, written
from tests.kit.repository.samples import AT

VERSIONS = (5, 6, 7, 10)


def sample(*numbers: int, versions: Iterable[Any], **more: Any) -> Sample:
    """Return a repository of public items, some of which are versions of others."""
    return Sample(items=[Thing(number) for number in numbers], versions=[*versions], **more)


def neighbours(url: str) -> dict[str, tuple[str, str]]:
    """Return the handles of the versions around each item, by its own, all without their prefix."""

    def end(of: Item | Version | None) -> str:
        return (of.handle or "").removeprefix("123456789/") if of else ""

    return {end(item): (end(item.predecessor), end(item.successor)) for item in read(url)}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_source(server: Server, tmp_path: Path, version: int) -> None:
    """A live database, its dump and a copy have the same versions; one that was deleted does not count."""
    rows = rows_of(sample(*range(1, 8), versions=[(3, 1, None, 2), (4,), (6, 5)]), version)
    expected = {"3": ("", "1"), "1": ("3", "2"), "2": ("1", ""), "6": ("", "5"), "5": ("6", "")}
    expected |= dict.fromkeys(("4", "7"), ("", ""))
    url = server.database(rows, version)
    import_dump(server.dump(url, tmp_path / "dump", "--format=plain"), tmp_path / "export.db")
    for each in (url, url_of(tmp_path / "export.db"), written(tmp_path, rows, version)):
        assert neighbours(each) == expected
    if version > 5:
        with open_repository(url, VIEW) as repository:
            items = {item.id: item for item in repository.items()}
            assert [*repository.items_of(sorted(items))] == [items[each] for each in sorted(items)]


def test_handles(tmp_path: Path) -> None:
    """A version is known by its first handle, or without any by its key."""
    things = [Thing(1, handles=("123456789/8", "123456789/9")), Thing(2, handles=()), Thing(3)]
    items = read(written(tmp_path, rows_of(Sample(items=things, versions=[(1, 2, 3)]), 7)))
    assert {item.handle: item.predecessor and item.predecessor.handle for item in items} == {
        "123456789/8": None,
        None: "123456789/8",
        "123456789/3": None,
    }
    (last,) = (item for item in items if item.handle == "123456789/3")
    assert last.predecessor
    assert last.predecessor.id == key(7, ITEM, 2)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE versionitem SET version_number = 9 WHERE version_number = 1", {"1": ("3", ""), "2": ("", "3")}),
        ("UPDATE versionitem SET version_number = NULL WHERE version_number = 2", {"1": ("", "3"), "2": ("", "")}),
        ("UPDATE versionitem SET version_number = 1 WHERE version_number = 2", {"1": ("", "3"), "2": ("", "3")}),
        ("UPDATE versionitem SET versionhistory_id = NULL WHERE version_number < 3", {"1": ("", ""), "2": ("", "")}),
        ("DELETE FROM versionitem", {"1": ("", ""), "2": ("", ""), "3": ("", "")}),
        (
            f"INSERT INTO versionitem VALUES (9, 12, NULL, NULL, 1, NULL, '{key(7, ITEM, 3)}')",
            {"1": ("", "2"), "2": ("1", "3"), "3": ("2", "")},
        ),
        (
            f"UPDATE resourcepolicy SET end_date = '2020-01-01' WHERE dspace_object = '{key(7, ITEM, 2)}'",
            {"1": ("", "3"), "3": ("1", "")},
        ),
    ],
)
def test_odd_rows(tmp_path: Path, statement: str, expected: dict[str, tuple[str, str]]) -> None:
    """The numbers decide; a version without one, in no history, or not public is no neighbour, and none its own."""
    url = written(tmp_path, rows_of(sample(1, 2, 3, versions=[(1, 2, 3)]), 7))
    with create_engine(url).begin() as connection:
        connection.execute(text(statement))
    assert expected.items() <= neighbours(url).items()


def test_entities(tmp_path: Path) -> None:
    """An entity that is left out is no version that is public (rule 2)."""
    rows = rows_of(sample(1, 2, 3, versions=[(1, 2, 3)]), 7)
    register(rows)
    value = {"metadata_value_id": 9000, "metadata_field_id": 903, "text_value": "Person"}
    rows["metadatavalue"] = [{**value, "dspace_object_id": key(7, ITEM, 2)}]
    assert neighbours(written(tmp_path, rows)) == {"1": ("", "3"), "3": ("1", "")}


def test_dependents(server: Server) -> None:
    """An item leads to all other versions, public or not, and to nothing else; so does a date that makes it public."""
    things = [Thing(1), Thing(2, withdrawn=True), Thing(3, policies=[Policy(start="2025-06-10")]), Thing(4)]
    url = server.database(rows_of(Sample(items=things, versions=[(1, 2, None, 3), (4,)]), 7), 7)
    with open_repository(url, VIEW) as repository:
        for item, others in {1: (2, 3), 2: (1, 3), 3: (1, 2), 4: ()}.items():
            assert repository.dependents([key(7, ITEM, item)]) == {key(7, ITEM, other) for other in others}
        assert repository.dated_items(AT) == set()
        assert repository.dated_items(AT - timedelta(days=6)) == {key(7, ITEM, number) for number in (1, 2, 3)}


# What is published# What is published


def links(press: Press, prefix: str = "oai_dc") -> dict[int, dict[str, int]]:
    """Return the numbers of the versions that each record in a format links to, all of which are listed."""
    folder = f"{BASE}/resourcesync/{SET}/records/{prefix}/123456789/"
    listed = press.listed()
    found = {}
    for uri, entry in listed.items():
        if uri.startswith(folder):
            versions = {rel: href for rel, href in entry.links if rel.endswith("-version")}
            assert {*versions.values()} <= listed.keys()
            numbers = {rel: href.removeprefix(folder).removesuffix(".xml") for rel, href in versions.items()}
            found[int(uri.removeprefix(folder).removesuffix(".xml"))] = {rel: int(n) for rel, n in numbers.items()}
    return found


ONE, THREE = Thing(1, bundles=[Bundle(1, files=[File(1, "1.pdf")])]), Thing(3)
BETWEEN, AROUND = {1: {"successor-version": 3}, 3: {"predecessor-version": 1}}, ["1.xml", "3.xml"]
ALONE: dict[int, dict[str, int]] = {1: {}, 3: {}}
ALL = {
    1: {"successor-version": 2},
    2: {"predecessor-version": 1, "successor-version": 3},
    3: {"predecessor-version": 2},
}

#: Day by day: the items and the history of versions, the links of records, and the records that are updated.
DAYS: Sequence[tuple[list[Thing], tuple[int | None, ...], dict[int, dict[str, int]], list[str]]] = (
    ([ONE, Thing(2, in_archive=False), THREE], (1,), ALONE, []),
    ([ONE, Thing(2, in_archive=False), THREE], (1, 2), ALONE, []),  # the second is in a workspace
    ([ONE, Thing(2, in_archive=False), THREE], (1, 2, 3), BETWEEN, AROUND),
    ([ONE, Thing(2), THREE], (1, 2, 3), ALL, AROUND),
    ([ONE, Thing(2, in_archive=False, withdrawn=True), THREE], (1, 2, 3), BETWEEN, AROUND),
    ([ONE, THREE], (1, None, 3), BETWEEN, []),  # the second is expunged
    ([ONE, THREE], (1, None, None), ALONE, AROUND),
)


@pytest.mark.parametrize("live", [False, True])
def test_published(press: Press, server: Server, monkeypatch: pytest.MonkeyPatch, *, live: bool) -> None:
    """Records link to those of the versions around them, in their own format; each change of that is an update."""
    monkeypatch.setattr(inventory, "_MANY", 1)
    press.server = server if live else None
    for number, (things, history, expected, updated) in enumerate(DAYS):
        items = [*things, *map(Thing, range(4, 9))]
        press.publish(
            Sample(items=items, versions=[history]), number, metadata=("oai_dc", "mods"), allow_deletions=True
        )
        assert links(press) == links(press, "mods") == expected | {other: {} for other in range(4, 9)}
        changes = [(kind, uri) for kind, uri, when in press.changes() if when.startswith(f"{day(number):%Y-%m-%d}")]
        folder = "oai_dc/123456789/"
        found = [uri.removeprefix(folder) for kind, uri in changes if kind == "updated" and uri.startswith(folder)]
        assert sorted(found) == updated
        assert press.read_some == (live and number > 0)
    assert press.findings() == {}
