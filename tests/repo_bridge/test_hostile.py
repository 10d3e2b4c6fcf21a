"""What is read may hold anything: nothing hidden gets out, no time runs ahead, and what is none is left out."""

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing

import pytest

from repo_bridge import ArchiveError, DatabaseError, QueryError
from repo_bridge.reading.database import open_database
from repo_bridge.settings import Query
from tests.kit.repository.press import Press, day, pack, shelf

STATEMENT = "SELECT uri, lastmod, gone AS deleted FROM r"
HERE = "https://journal.example/"


def publish(press: Press, number: int, rows: Mapping[str, tuple[str, int]]) -> None:
    """Publish the rows of a query, by the ends of their URIs."""
    table = {"r (uri, lastmod, gone)": [(HERE + end, *row) for end, row in rows.items()]}
    press.publish_query(Query(STATEMENT), table, number, allow_deletions=True)


def test_times_to_come(press: Press) -> None:
    """A row that says that it will change says nothing of when it did: no document is of a time to come."""
    publish(press, 0, {"a": ("2031-01-01", 0), "b": ("2020-01-01", 0), "c": ("2020-01-01", 0)})
    publish(press, 1, {"a": ("2031-01-02", 0), "b": ("2031-01-01", 1)})
    publish(press, 2, {"a": ("2031-01-02", 0), "b": ("2031-01-01", 1), "d": ("2020-01-01", 0)})
    days = {time[:10] for _, _, time in press.changes()}
    assert days == {f"{day(1):%Y-%m-%d}", f"{day(2):%Y-%m-%d}"}
    assert not [path for path, data in press.files().items() if b"2031" in data or "2031" in path]
    assert press.findings() == {}


@pytest.mark.parametrize(
    "line",
    [
        "x.pdf\tpermissions:-r 'Staff'\tpermissions:-r 'Anonymous'",
        "x.pdf\tpermissions:-r 'Anonymous'\tpermissions:-r 'Staff'",
        "x.pdf\tPermissions:-r 'Staff'",
        "x.pdf\t permissions :-r 'Staff'",
    ],
)
def test_permissions_that_are_in_doubt(press: Press, line: str) -> None:
    """Rule 4: what may be read by fewer is not published, however that is written."""
    press.publish(None, 0, saf=pack(press.folder / "saf", {"a": {"contents": line, "x.pdf": b"secret"}}))
    assert not [path for path, data in press.files().items() if b"secret" in data]
    assert len(press.listed()) == 1


@pytest.mark.parametrize("name", ["dublin_core.xml", "metadata_local.xml", "handle", "contents"])
def test_the_archive_s_own(press: Press, name: str) -> None:
    """What tells of an item is none of its files: it may hold what is hidden."""
    saf = pack(press.folder / "saf", {"a": {"handle": "1/2", "contents": name}})
    if name.startswith("metadata"):
        (saf / "a" / name).write_text('<dublin_core schema="local"/>', "ascii")
    with pytest.raises(ArchiveError, match=f"{name!r}, which is a file of the format"):
        press.publish(None, 0, saf=saf)


@pytest.mark.parametrize(
    ("column", "value"),
    [("size_bytes", "abc"), ("size_bytes", 1.5), ("checksum", b"\xff"), ("checksum_algorithm", b"MD5")],
)
def test_files_of_which_anything_is_said(press: Press, column: str, value: object) -> None:
    """SQLite holds anything in a column: what is no length, and no MD5, is not known."""
    url = press.lay(shelf(1))
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute(f"UPDATE bitstream SET {column} = ?", (value,))
    press.publish(None, 0, database=url)
    [file] = [item for uri, item in press.listed().items() if "bitstreams" in uri]
    assert (not file.digest, press.findings()) == (column != "size_bytes", {})


def test_texts_that_are_none(press: Press) -> None:
    """Metadata that are no text are left out; a text that is not in UTF-8 stops it, and is named as what it is."""
    url = press.lay(shelf(1))
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE metadatavalue SET text_value = X'FF00' WHERE text_value LIKE 'Title%'")
    press.publish(None, 0, database=url)
    assert press.findings() == {}
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute(
            "UPDATE metadatavalue SET text_value = CAST(X'FF41' AS TEXT) WHERE typeof(text_value) = 'blob'"
        )
    with pytest.raises(DatabaseError, match="UTF-8"):
        press.publish(None, 1, database=url)


def test_a_statement_makes_no_file(press: Press) -> None:
    """A database that is attached would be made."""
    url, other = press.lay(shelf(1)), press.folder / "other.db"
    with pytest.raises(DatabaseError), open_database(url) as connection:
        connection.exec_driver_sql(f"ATTACH DATABASE '{other}' AS other")
    assert not other.exists()


@pytest.mark.parametrize("uri", ["https://u:p@journal.example/a", "file:///etc/passwd", "https:///a", "urn:x:y"])
def test_uris_that_nobody_should_ask_for(press: Press, uri: str) -> None:
    """What is published is on the web, and no address has a user."""
    with pytest.raises(QueryError, match=re.escape(uri[:12])):
        press.publish(None, 0, database=press.lay(shelf(1)), query=Query(f"SELECT '{uri}' AS uri"))
