"""Sources that are no live DSpace: an archive, whose files are published too; a query; and dumps."""

import hashlib
import os
from typing import Any

import pytest

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings import Dumps
from repo_bridge import ArchiveError, BridgeError, InventoryError, QueryError
from repo_bridge.settings import Query
from tests.kit.repository.press import BASE, SET, UI, Press, ending, files_in, pack, shelf
from tests.repo_bridge.reading.test_dump import plain_dump
from tests.repo_bridge.test_files import packed

DUMPS = Dumps(resourcedump=True, changedump=True)


# Simple Archive Format

ITEMS: dict[str, dict[str, str | bytes]] = {
    "item_1": {
        "contents": "a b.pdf\tbundle:ORIGINAL\nü/deep.txt\nnotes.txt\tbundle:TEXT\n"
        "zqstaff.pdf\tpermissions:-r 'Staff'\n",
        "a b.pdf": b"%PDF",
        "ü/deep.txt": "deep ü",
        "notes.txt": "zqnotes",
        "zqstaff.pdf": "zqstaff",
        "handle": "123456789/1\n",
        "collections": "123456789/7\n",
    },
    "item_2": {"contents": "-r -s 1 -f scans/page.tif\na.pdf\n", "a.pdf": "two", "collections": "123456789/8\n"},
    "item-3": {"contents": "\n"},
}


def test_files_of_an_archive(press: Press) -> None:
    """Its public files are published below the records, with SHA or MD5 and length of their bytes; registered, none."""
    press.publish(None, saf=pack(press.folder / "saf", ITEMS))
    listed = press.listed()
    files = files_in(press.records)
    assert files.keys() == {
        "oai_dc/123456789/1.xml",
        "oai_dc/~item/item_2.xml",
        "oai_dc/~item/item-3.xml",
        "files/item_1/a~20b.pdf",
        "files/item_1/~C3~BC~2Fdeep.txt",
        "files/item_2/a.pdf",
    }
    assert {ending(uri).replace("%7E", "~") for uri in listed} == files.keys()
    for uri, item in listed.items():
        data = files[ending(uri).replace("%7E", "~")]
        algorithm, _, digest = item.md["hash"].partition(":")
        assert digest == hashlib.new(algorithm.replace("sha-256", "sha256"), data).hexdigest()
        assert int(item.md["length"]) == len(data)
    everything = b"".join([*press.files().values(), str([*press.files()]).encode()])
    assert b"zq" not in everything
    assert b"page.tif" not in everything
    assert press.findings() == {}


@pytest.mark.parametrize("keep_time", [False, True])
def test_changed_file_of_an_archive(press: Press, keep_time: bool) -> None:
    """A file of other bytes is updated, one that is no longer named is gone; of the same length and time, too."""
    folder = pack(press.folder / "saf", ITEMS)
    press.publish(None, saf=folder, dumps=DUMPS)
    file = folder / "item_1" / "a b.pdf"
    before = file.stat()
    file.write_bytes(b"%PDX")
    if keep_time:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (folder / "item_2" / "contents").write_text("")
    press.publish(None, 1, saf=folder, dumps=DUMPS)
    found = {(kind, what.replace("%7E", "~")) for kind, what, _ in press.changes()}
    record = "oai_dc/~item/item_2.xml"  # links to the file that is gone no more
    changes = {("updated", "files/item_1/a~20b.pdf"), ("deleted", "files/item_2/a.pdf"), ("updated", record)}
    assert found == changes
    assert (press.records / "files/item_1/a~20b.pdf").read_bytes() == b"%PDX"
    assert not (press.records / "files/item_2").exists()
    members = {what.replace("%7E", "~"): data for what, data in packed(press).items()}
    assert members["files/item_1/a~20b.pdf"] == b"%PDX"
    assert len(members) == 5
    assert press.findings() == {}


@pytest.mark.parametrize(("contents", "error"), [("../secret", ArchiveError), ("a.pdf\na.pdf", InventoryError)])
def test_hostile_contents(press: Press, contents: str, error: type[BridgeError]) -> None:
    """A line that leads out of the folder of an item, or twice to one file, stops it; what was published stays."""
    press.publish(None, saf=pack(press.folder / "saf", ITEMS))
    folder = pack(press.folder / "bad", {"item_1": {"contents": contents, "a.pdf": "x"}})
    with press.refused(error):
        press.publish(None, 1, saf=folder, allow_deletions=True)


def test_two_items_of_one_handle(press: Press) -> None:
    """Two items that would have one record stop it, and it is said which, though the records be the same."""
    same: dict[str, str | bytes] = {"handle": "123456789/1", "dublin_core.xml": "<dublin_core/>"}
    for other in (same, {**same, "metadata_local.xml": '<dublin_core schema="local"/>'}):
        folder = pack(press.folder / "saf", {"one": same, "two": other})
        for do in (press.publish, press.dry_run):
            with pytest.raises(InventoryError, match=r"two (resources|records) .*change the handle of one"):
                do(None, saf=folder)


def test_sets_of_an_archive(press: Press) -> None:
    """The collections of an archive are sets; of communities it knows nothing."""
    folder = pack(press.folder / "saf", ITEMS)
    press.publish(None, saf=folder, sets_by="collection")
    assert len(press.listed(f"{SET}-123456789_7")) == 3
    assert len(press.listed(f"{SET}-123456789_8")) == 2
    assert press.findings() == {}
    with pytest.raises(SettingsError, match="has no communities"):
        press.publish(None, 1, saf=folder, sets_by="community")


# A query

ROWS = [
    ("https://j.example/1", "2025-06-01T10:00:00+00:00", 10, "a" * 32, 0, "articles"),
    ("https://j.example/2", None, None, None, 0, "articles"),
    ("https://j.example/3", "2025-06-02T10:00:00+00:00", 30, "c" * 32, 0, "Über uns"),
    ("https://j.example/4", "2025-06-02T10:00:00+00:00", 40, "d" * 32, 0, None),
    ("https://j.example/5", "2025-06-02T10:00:00+00:00", 50, "e" * 32, 0, None),
    ("https://j.example/6", "2025-06-02T10:00:00+00:00", 60, "f" * 32, 0, None),
]
STATEMENT = 'SELECT uri, lastmod, length, md5, deleted, "set" FROM row'


def query(press: Press, rows: list[tuple[Any, ...]], number: int = 0, **more: Any) -> list[tuple[str, str, str]]:
    """Publish the rows of a table, and return all changes."""
    press.publish_query(Query(STATEMENT), {'row (uri, lastmod, length, md5, deleted, "set")': rows}, number, **more)
    assert press.findings() == {}
    return press.changes()


def replaced(place: int, **columns: Any) -> list[tuple[Any, ...]]:
    """Return the rows, one of them with other columns."""
    names = ("uri", "lastmod", "length", "md5", "deleted", "set")
    return [
        tuple(columns.get(name, value) for name, value in zip(names, row, strict=True)) if at == place else row
        for at, row in enumerate(ROWS)
    ]


def test_query(press: Press) -> None:
    """The rows are the resources, with what the columns say; sets are by the column."""
    assert query(press, ROWS) == []
    assert {*press.listed()} == {row[0] for row in ROWS}
    first, second, *_ = press.listed().values()
    assert first.md == {"hash": f"md5:{'a' * 32}", "length": "10"}
    assert (first.lastmod, second.lastmod) == ("2025-06-01T10:00:00Z", None)
    assert {*press.listed(f"{SET}-articles")} == {ROWS[0][0], ROWS[1][0]}
    (other,) = (path.name for path in (press.public / "resourcesync").glob(f"{SET}-ber-uns--*"))
    assert {*press.listed(other)} == {ROWS[2][0]}
    assert not press.records.exists() or files_in(press.records) == {}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (ROWS, []),
        (replaced(0, lastmod="2025-06-15T20:00:00+00:00", md5="b" * 32), [("updated", "1", "2025-06-15T20:00:00Z")]),
        (replaced(0, md5="b" * 32), [("updated", "1", "2025-06-16T12:00:00Z")]),
        (replaced(1, lastmod="2025-06-16T01:00:00+00:00"), [("updated", "2", "2025-06-16T01:00:00Z")]),
        (replaced(1, lastmod="2025-06-10T01:00:00+00:00"), [("updated", "2", "2025-06-16T12:00:00Z")]),
        (replaced(0, lastmod="2025-06-15T20:00:00+00:00"), []),
        (replaced(0, lastmod="2025-06-16T03:00:00+00:00", deleted=1), [("deleted", "1", "2025-06-16T03:00:00Z")]),
        (replaced(0, lastmod=None, deleted="yes"), [("deleted", "1", "2025-06-16T12:00:00Z")]),
        (ROWS[1:], [("deleted", "1", "2025-06-16T12:00:00Z")]),
        ([*ROWS, ("https://j.example/9", "2025-06-16T04:00:00+00:00", 1, None, 1, None)], []),
        (
            [*ROWS, ("https://j.example/7", "2025-06-16T04:00:00+00:00", 1, None, 0, None)],
            [("created", "7", "2025-06-16T04:00:00Z")],
        ),
        ([*ROWS, ROWS[0], (*ROWS[0][:5], "more")], []),
    ],
)
def test_days_of_a_query(press: Press, rows: list[tuple[Any, ...]], expected: list[tuple[str, str, str]]) -> None:
    """Rows come, change and go at the times that they say; what is not hashed changed where it says that it did."""
    query(press, ROWS)
    assert query(press, rows, 1) == [(kind, f"https://j.example/{what}", when) for kind, what, when in expected]
    again = press.changes()
    assert query(press, rows, 2) == again


def test_rows_of_one_uri(press: Press) -> None:
    """One URI may be in two sets; two rows that say different things of it, or that it is gone too, stop it."""
    query(press, [*ROWS, (*ROWS[0][:5], "more")])
    assert {*press.listed(f"{SET}-more")} == {ROWS[0][0]}
    assert len(press.listed()) == len(ROWS)
    other, deleted = (ROWS[0][0], None, 11, None, 0, None), (*ROWS[0][:4], 1, None)
    with press.refused(QueryError, f"two rows of the statement contradict each other about {ROWS[0][0]}"):
        query(press, [*ROWS, other], 1)
    with press.refused(QueryError, f"one row of the statement says that {ROWS[0][0]} is deleted, and another"):
        query(press, [*ROWS, deleted], 1)


def test_set_of_a_query_goes_on(press: Press) -> None:
    """A set of which no row is left goes on empty."""
    query(press, ROWS)
    query(press, [(*row[:5], None) for row in ROWS], 1)
    assert press.listed(f"{SET}-articles") == {}
    assert [kind for kind, _, _ in press.changes(f"{SET}-articles")] == ["deleted"] * 2
    assert press.changes() == []


# Dumps


def test_dump_is_imported(press: Press) -> None:
    """From a dump comes what comes from the database; without what is kept beside it, and on the next day, too."""
    sample = shelf(*range(1, 9))
    press.publish(sample)
    other = Press(press.folder / "other")
    dump = press.folder / "dump.sql"
    dump.write_text(plain_dump(sample, 7), "utf-8")
    other.publish(None, database=str(dump))
    assert other.files() == press.files()
    assert other.heard.said[0] == "importing dump.sql"
    sample.items[0].metadata[0].text = "Another"
    press.publish(sample, 1)
    dump.write_text(plain_dump(sample, 7), "utf-8")
    other.publish(None, 1, database=str(dump))
    assert other.files() == press.files()


def test_database_is_a_file(press: Press) -> None:
    """The path of a database of SQLite is as good as its URL."""
    url = press.lay(shelf(1, 2))
    press.publish(None, database=url.removeprefix("sqlite:///"))
    assert len(press.listed()) == 4
    assert f"{UI}/handle/123456789/1" in str(
        press.listed()[f"{BASE}/resourcesync/{SET}/records/oai_dc/123456789/1.xml"]
    )
