"""The next run: it goes on from the last one with the same result, and writes nothing if nothing is new."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.settings import Dumps
from repo_bridge import inventory
from repo_bridge.inventory import SetResources
from repo_bridge.publisher import BridgeResult, publish
from repo_bridge.readers import open_reader
from repo_bridge.reading.repository import DSpaceRepository
from sample_site.dspace.repository import BITSTREAM, ITEM, File, Policy, Sample, Value, key
from tests.kit.examples import examples
from tests.kit.postgresql import Server
from tests.kit.repository.days import Stand, lives
from tests.kit.repository.press import BASE, SET, UI, Press, day, shelf

ALL_DUMPS = Dumps(resourcedump=True, changedump=True)


@pytest.fixture
def press(tmp_path: Path, server: Server) -> Press:
    """Return an empty folder into which repositories in PostgreSQL are published."""
    return Press(tmp_path / "press", server=server)


def both(press: Press, source: Stand | Sample, number: int, *, some: bool = True, **more: Any) -> BridgeResult:
    """Publish a day going on from the last one, and without its inventory; the same has to come of both."""
    rows = source.rows() if isinstance(source, Stand) else source
    lone = press.without_cache(f"lone{number}")
    result = press.publish(rows, number, **more)
    again = lone.publish(rows, number, **more)
    assert replace(result, seconds=0) == replace(again, seconds=0)
    assert press.files() == lone.files()
    assert press.findings() == {}
    assert press.read_some == (some and number > 0)
    return result


# Whatever happens


_options = st.fixed_dictionaries(
    {
        "sets_by": st.sampled_from(["", "", "collection"]),
        "metadata": st.sampled_from([("oai_dc",), ("oai_dc",), ("oai_dc", "mods")]),
        "bundles": st.sampled_from([("ORIGINAL",), ("ORIGINAL",), ("ORIGINAL", "TEXT")]),
        "dumps": st.sampled_from([Dumps(), ALL_DUMPS]),
    }
)


@pytest.mark.promise("Independent of the last inventory")
@examples(4, 500)
@given(lives(), st.lists(_options, min_size=2, max_size=2), st.lists(st.integers(0, 20), max_size=2))
def test_all_is_the_same(
    server: Server, monkeypatch: pytest.MonkeyPatch, life: list[Stand], some: list[dict[str, Any]], lost: list[int]
) -> None:
    """Day by day upon the same output, with the inventory and without: the same bytes, even if records are lost."""
    monkeypatch.setattr(inventory, "_MANY", 1)
    with TemporaryDirectory() as folder:
        press = Press(Path(folder), life[0].version, server=server)
        for number, stand in enumerate(life):
            options = some[min(number, 1) if lost else 0]
            for place in lost if number else ():
                records = sorted(file for file in press.records.rglob("*") if file.is_file())
                records[place % len(records)].unlink()
            lone, before = press.without_cache(f"lone{number}"), press.files()
            result = press.publish(stand.rows(), number, allow_deletions=True, **options)
            again = lone.publish(stand.rows(), number, allow_deletions=True, **options)
            assert replace(again, seconds=0) == replace(result, seconds=0)
            if press.files() == before:  # there was nothing new, as the other one found by reading everything
                assert not any(sum(each.new.values()) for each in again.publications.values())
            else:
                assert press.files() == lone.files()
            assert press.findings() == {}
        server.drop(press.url)


def describing(press: Press, file: int) -> list[int]:
    """Return the items whose records describe a file, by its own links; and see that they say so too."""
    uri = f"{UI}/bitstreams/{key(7, BITSTREAM, file)}/download"
    listed = press.listed()
    if uri not in listed:
        return []
    records = [href for rel, href in listed[uri].links if rel == "describedby"]
    found = [each for each, item in listed.items() if ("describes", uri) in item.links]
    assert sorted(records) == sorted(found)
    assert len({*listed[uri].links}) == len(listed[uri].links)
    return sorted(int(each.rpartition("/")[2].removesuffix(".xml")) for each in records)


def test_file_of_two_items(press: Press) -> None:
    """A file of two items has the links of both; one item leaves it, or goes, and the other goes on."""
    stand = Stand(shelf(*range(1, 13)), 7, {(3, 5)})
    both(press, stand, 0)
    assert describing(press, 3) == [3, 5]
    stand.shared = set()
    both(press, stand, 1)
    assert describing(press, 3) == [3]
    stand.shared = {(3, 5), (3, 9)}
    both(press, stand, 2)
    assert describing(press, 3) == [3, 5, 9]
    stand.sample.items[4].discoverable = False
    both(press, stand, 3)
    assert describing(press, 3) == [3, 9]
    third = stand.sample.items[2]
    stand.sample.items[8].bundles.append(third.bundles.pop())
    stand.shared = set()
    both(press, stand, 4)
    assert describing(press, 3) == [9]
    stand.sample.items[8].bundles.pop()
    both(press, stand, 5)
    assert describing(press, 3) == []
    changes = [kind for kind, what, _ in press.changes() if what.split("/")[1] == key(7, BITSTREAM, 3)]
    assert changes == ["deleted"]


def test_file_of_two_items_is_changed(press: Press) -> None:
    """What is said of a file of two items changes with either: its bytes, who may read it, and its time."""
    stand = Stand(shelf(*range(1, 13)), 7, {(3, 5)})
    both(press, stand, 0)
    stand.sample.items[2].bundles[0].files[0].checksum = "f" * 32
    both(press, stand, 1)
    uri = f"{UI}/bitstreams/{key(7, BITSTREAM, 3)}/download"
    assert press.listed()[uri].md["hash"] == f"md5:{'f' * 32}"
    stand.sample.items[2].bundles[0].files[0].policies = []
    both(press, stand, 2)
    assert uri not in press.listed()
    stand.sample.items[2].bundles[0].files[0].policies = [Policy()]
    stand.sample.items[4].last_modified = "2025-06-18T10:00:00+00:00"
    both(press, stand, 3)
    created = [when for kind, what, when in press.changes() if kind == "created" and what in uri]
    assert created == ["2025-06-18T10:00:00Z"]


def test_time_that_was_to_come(press: Press) -> None:
    """A file without hash and length changes when the time of its item has come, which was ahead."""
    sample = shelf(*range(1, 13))
    sample.items[3].last_modified = "2025-06-16T20:00:00+00:00"
    for number in range(2):
        press.publish(sample, number, fingerprints=False)
        assert press.changes() == []
    both(press, sample, 2, fingerprints=False)
    ((kind, what, when),) = press.changes()
    assert (kind, what.split("/")[1], when) == ("updated", key(7, BITSTREAM, 4), "2025-06-16T20:00:00Z")


def test_mirrors(press: Press) -> None:
    """Each record links to its duplicate, once, whatever was read again; another mirror changes nothing else."""
    sample = shelf(*range(1, 13))

    def duplicates() -> list[tuple[str, list[str]]]:
        found = (
            (uri, [href for rel, href in each.links if rel == "duplicate"]) for uri, each in press.listed().items()
        )
        return [
            (uri.removeprefix(BASE), [each.removesuffix(uri.removeprefix(BASE)) for each in hrefs])
            for uri, hrefs in found
        ]

    for number in range(2):
        sample.items[3].metadata = [Value("dc.title", f"Version {number}")]
        both(press, sample, number, mirrors=(("https://m.example", 1), ("https://n.example", None)))
        for uri, hosts in duplicates():
            assert hosts == (["https://m.example", "https://n.example"] if "/records/" in uri else [])
    assert [(kind, what) for kind, what, _ in press.changes()] == [("updated", "oai_dc/123456789/4.xml")]
    both(press, sample, 2, some=False, mirrors=(("https://o.example", None),))
    assert {host for _, hosts in duplicates() for host in hosts} == {"https://o.example"}
    assert len(press.changes()) == 1


def test_a_time_to_come_is_waited_for(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item whose last change is in the future is not read before that time."""
    sample = shelf(*range(1, 13))
    sample.items[3].last_modified = "2099-06-16T20:00:00+00:00"
    press.publish(sample)
    reading = Mock(return_value=())
    monkeypatch.setattr(DSpaceRepository, "items_of", reading)
    assert not written(press, day(1))[1]
    reading.assert_called_once_with([])


def test_handle_goes_to_another_item(press: Press) -> None:
    """A record stays at its address where a handle goes from one item to another; that it is another item shows."""
    sample = shelf(*range(1, 13))
    both(press, sample, 0)
    first, second = sample.items[:2]
    second.metadata = [Value("dc.title", "Version two")]
    first.in_archive, first.handles, second.handles = False, ("123456789/1.1",), ("123456789/1",)
    both(press, sample, 1)
    uri = f"{BASE}/resourcesync/{SET}/records/oai_dc/123456789/1.xml"
    assert "Version two" in (press.records / "oai_dc/123456789/1.xml").read_text()
    assert ("describes", f"{UI}/bitstreams/{key(7, BITSTREAM, 2)}/download") in press.listed()[uri].links


# When everything is read


def test_another_key(press: Press) -> None:
    """With another setting on which a publication depends, everything is read; the time is none of them."""
    press.publish(shelf(1))
    others: list[dict[str, Any]] = [
        {"metadata": ("oai_dc", "qdc")},
        {"ui_url": "https://other.example"},
        {"server_url": "https://repo.example/server"},
        {"timezone": ZoneInfo("Pacific/Auckland")},
        {"hidden": frozenset({"dc.title"})},
        {"bundles": ()},
        {"fingerprints": False},
        {"entities": ()},
        {"sets_by": "collection"},
        {"dumps": ALL_DUMPS},
        {"assetstore": {0: Path("/nowhere")}},
        {"keep": 1},
        {"name": "A library"},
    ]
    keys = [key_of(press, more) for more in ({}, *others)]
    assert len({*keys}) == len(keys)
    Server.execute(press.url, "UPDATE bitstreamformatregistry SET mimetype = 'image/png' WHERE bitstream_format_id = 2")
    assert key_of(press, {}) != keys[0]
    Server.execute(
        press.url, "UPDATE bitstreamformatregistry SET mimetype = 'application/pdf' WHERE bitstream_format_id = 2"
    )
    for same in ({"at": day(3)}, {"password": "x"}, {"previous": "output"}, {"prometheus": Path("x")}):
        assert key_of(press, same) == keys[0]


def key_of(press: Press, more: dict[str, Any]) -> str:
    """Return what the inventory of a repository depends on."""
    with open_reader(press.settings(0, database=press.url, **more), press.heard) as reader:
        return reader.key


@pytest.mark.promise("Independent of the last inventory")
@pytest.mark.parametrize("damage", ["another format", "no database", "cut short", "nothing", "a lost record"])
def test_damage(press: Press, damage: str) -> None:
    """With the inventory of another version, a damaged one, or none, or if a record is lost, the result is the same."""
    sample = shelf(*range(1, 13))
    both(press, sample, 0)
    file = press.kept / "inventory.db"
    assert [*press.kept.iterdir()] == [file]
    if damage == "another format":
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("UPDATE note SET value = '[]' WHERE name = 'format'")
    elif damage == "no database":
        file.write_bytes(b"?" * 10_000)
    elif damage == "cut short":
        os.truncate(file, file.stat().st_size // 2)
    elif damage == "nothing":
        file.unlink()
    else:
        next(press.records.rglob("3.xml")).unlink()
    sample.items[4].metadata = [Value("dc.title", "Another")]
    both(press, sample, 1, some=False)


def test_not_to_go_back(press: Press) -> None:
    """An inventory from after the time of publication is not used: no change is reported later than that."""
    sample = shelf(*range(1, 13))
    press.publish(sample)
    older, again = press.without_cache("older"), press.without_cache("again")
    sample.items[4].metadata = [Value("dc.title", "Another")]
    sample.items[4].last_modified = "2025-06-17T01:00:00+00:00"
    press.publish(sample, 2)
    for each in (press, again):
        each.publish(sample, 1, previous=str(older.public))
    assert press.files() == again.files()
    assert [when for _, _, when in press.changes()] == ["2025-06-16T12:00:00Z"]


# What a run costs, and when nothing is written


def generation(press: Press) -> int:
    """Return the generation that is published."""
    return int(json.loads((press.public / f"resourcesync/{SET}/publication.json").read_bytes())["generation"])


def written(press: Press, at: Any, **more: Any) -> tuple[BridgeResult, bool]:
    """Publish what is in the database; return the result, and whether anything was written."""
    before = times(press.public)
    result = publish(
        press.settings(0, **{"database": press.url, "at": at, "allow_deletions": True, **more}), press.heard
    )
    return result, times(press.public) != before


def times(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what tells whether files were written again."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}


@pytest.mark.promise("Independent of the last inventory")
def test_nothing_is_written(press: Press) -> None:
    """Without a change nothing is; a withdrawal, a date, another setting or a lost record is found on the same day."""
    sample = shelf(1, 2, 3)
    sample.items[1].bundles[0].files.append(File(4, "late.pdf", policies=[Policy(start="2025-06-18")], order=2))
    first = press.publish(sample)
    for hours in (1, 30):
        again, changed = written(press, day(0) + timedelta(hours=hours))
        assert not changed
        assert (again.items, again.records, again.files) == (first.items, first.records, first.files) == (3, 3, 3)
        (publication,) = again.publications.values()
        assert (publication.first, publication.resources, sum(publication.new.values())) == (False, 6, 0)
    Server.execute(press.url, f"UPDATE item SET withdrawn = true, in_archive = false WHERE uuid = '{key(7, ITEM, 3)}'")
    assert written(press, day(2) - timedelta(hours=1))[1]
    assert {kind for kind, _, _ in press.changes()} == {"deleted"}
    again, changed = written(press, day(2))
    assert not changed
    assert again.publications[SET].examples == {}
    assert written(press, day(3))[1]  # the embargo has ended
    late = f"{key(7, BITSTREAM, 4)}/download"
    assert [kind for kind, what, _ in press.changes() if late in what] == ["created"]
    assert not written(press, day(4))[1]
    assert written(press, day(4), name="A library")[1]
    next(press.records.rglob("1.xml")).unlink()
    assert written(press, day(5), name="A library")[1]
    number = generation(press)
    (press.kept / "inventory.db").unlink()
    assert written(press, day(6), name="A library")[1]
    assert generation(press) == number + 1
    assert press.findings() == {}


def test_another_publication(press: Press) -> None:
    """Without a change, a publication is made if another one is continued, or in the output."""
    press.publish(shelf(*range(1, 13)))
    older = press.without_cache("older")
    Server.execute(press.url, f"UPDATE item SET discoverable = false WHERE uuid = '{key(7, ITEM, 3)}'")
    assert written(press, day(1))[1]
    assert written(press, day(2), previous=str(older.public))[1]
    assert not written(press, day(3))[1]


def test_once_a_week(press: Press) -> None:
    """After a week, and for an earlier time, everything is read."""
    press.publish(shelf(1, 2, 3), 3)
    assert not written(press, day(9))[1]
    assert written(press, day(10))[1]
    assert not written(press, day(10) + timedelta(hours=2))[1]
    assert written(press, day(10) + timedelta(hours=1))[1]


@pytest.mark.promise("Nothing missed")
def test_time_of_a_late_change(press: Press) -> None:
    """A change that says it was made before the last look is dated by the publication, so that nobody misses it."""
    press.publish(shelf(1, 2, 3))
    assert not written(press, day(1))[1]
    Server.execute(
        press.url,
        f"UPDATE item SET last_modified = '2025-06-16T09:00:00Z' WHERE uuid = '{key(7, ITEM, 1)}'",
        f"UPDATE metadatavalue SET text_value = 'New' WHERE dspace_object_id = '{key(7, ITEM, 1)}'",
    )
    assert written(press, day(2))[1]
    ((kind, _, time),) = press.changes()
    assert (kind, time) == ("updated", "2025-06-17T12:00:00Z")


def test_what_is_removed_is_dated_by_its_items(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something ceased to be public is asked of the items that changed alone, with the same result as of all."""
    press.publish(shelf(*range(1, 21)))
    late, third = "2025-06-15T20:00:00Z", key(7, ITEM, 3)
    changes = (
        f"UPDATE item SET withdrawn = true, in_archive = false, last_modified = '{late}' WHERE uuid = '{third}'",
        f"UPDATE resourcepolicy SET end_date = '2025-06-18' WHERE dspace_object = '{key(7, BITSTREAM, 1)}'",
        f"DELETE FROM item2bundle WHERE item_id = '{key(7, ITEM, 2)}'",
        f"DELETE FROM item WHERE uuid = '{key(7, ITEM, 2)}'",
    )
    for number, statement in enumerate(changes, 1):
        Server.execute(press.url, statement)
        lone = press.without_cache(f"../lone{number}")
        at = day(number) + timedelta(hours=18)
        with monkeypatch.context() as patch:
            patch.setattr(DSpaceRepository, "hidden", None)
            assert written(press, at)[1]
        publish(lone.settings(0, database=press.url, at=at, allow_deletions=True), lone.heard)
        assert press.files() == lone.files()
    assert ("deleted", "oai_dc/123456789/3.xml", late) in press.changes()
    assert ("deleted", f"bitstreams/{key(7, BITSTREAM, 1)}/download", "2025-06-18T00:00:01Z") in press.changes()


def test_only_changes_are_read(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a few items have changed, the resources of the others are not read from the inventory."""
    press.publish(shelf(*range(1, 41)))
    Server.execute(
        press.url, f"UPDATE metadatavalue SET text_value = 'New' WHERE dspace_object_id = '{key(7, ITEM, 1)}'"
    )
    monkeypatch.setattr(SetResources, "rows", None)
    written(press, day(6))
    assert press.changes() == [("updated", "oai_dc/123456789/1.xml", "2025-06-21T12:00:00Z")]


# The folder next to the settings


def test_beside_is_no_part_of_a_repository(press: Press) -> None:
    """Git is reported to leave the folder alone, and nobody else may look into what is kept."""
    press.publish(shelf(1))
    assert (press.beside / ".resourcesync/.gitignore").read_text() == "*\n"
    if os.name == "posix":
        assert press.kept.stat().st_mode & 0o777 == 0o700


def test_work_that_was_killed_is_removed(press: Press) -> None:
    """What runs that were killed have left is removed when it is old; what may be another's work stays."""
    beside = press.beside / ".resourcesync"
    old, new, other = (beside / f"bridge-{name}" for name in (f"{SET}.work-a", f"{SET}.work-b", "other.work-a"))
    for each in (old, new, other):
        each.mkdir(parents=True)
        (each / "inventory.db").write_bytes(b"large")
        if each != new:
            os.utime(each, (1, 1))
    press.publish(shelf(1))
    assert [each.exists() for each in (old, new, other)] == [False, True, True]
