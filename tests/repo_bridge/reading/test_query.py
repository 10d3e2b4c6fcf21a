"""Repositories that are no DSpace: rows of a statement."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_bridge import BridgeError, DatabaseError, QueryError
from repo_bridge.reading.database import open_database
from repo_bridge.reading.query import QueryRow, read_query
from sample_site.dspace.repository import Sample, Thing, rows_of
from tests.kit.postgresql import Server
from tests.kit.repository.reading import url_of

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def journal(tmp_path: Path) -> str:
    """Return a database with articles."""
    connection = sqlite3.connect(tmp_path / "journal.db")
    with connection:
        connection.execute("CREATE TABLE article (id, edited, size, gone)")
        rows = [(1, "2025-06-01 12:00:00", 10, 0), (2, "2025-01-01T12:00:00+00:00", None, 1), (3, None, 30, None)]
        connection.executemany("INSERT INTO article VALUES (?, ?, ?, ?)", rows)
    connection.close()
    return url_of(tmp_path / "journal.db")


def ask(url: str, statement: str) -> list[QueryRow]:
    """Return the rows of a statement."""
    with open_database(url) as connection:
        return [*read_query(connection, statement, BERLIN)]


def test_rows(journal: str) -> None:
    """Columns become what they say; a time without an offset is in the time zone of the server."""
    statement = """
        SELECT 'https://j.example/a%20b/' || id AS uri, edited AS lastmod, size AS length, gone AS deleted,
               'Text/HTML; charset=utf-8' AS type, 'D41D8CD98F00B204E9800998ECF8427E' AS md5, 'x' AS "set"
        FROM article WHERE id NOT LIKE '%9' ORDER BY id
    """
    first, second, third = ask(journal, statement)
    assert first == QueryRow(
        uri="https://j.example/a%20b/1",
        lastmod=datetime(2025, 6, 1, 10, tzinfo=UTC),
        length=10,
        md5="d41d8cd98f00b204e9800998ecf8427e",
        type="text/html",
        set="x",
    )
    assert (second.deleted, second.lastmod, second.length) == (True, datetime(2025, 1, 1, 12, tzinfo=UTC), None)
    assert (third.deleted, third.lastmod) == (False, None)


def test_what_no_uri_has_is_escaped(journal: str) -> None:
    """Spaces, letters of other alphabets and the like are percent-encoded; what may mean something is not."""
    text = 'https://j.example/Über uns/{a}|"b"/50%25/c+d?e=f&g=[1]#h'
    (row, *_) = ask(journal, f"SELECT '{text}' AS uri FROM article")
    assert row.uri == "https://j.example/%C3%9Cber%20uns/%7Ba%7D%7C%22b%22/50%25/c+d?e=f&g=[1]#h"


def test_live_database(server: Server) -> None:
    """The values of PostgreSQL are read as they are: times, days, numbers and flags."""
    url = server.database(rows_of(Sample(items=[Thing(1)]), 7), 7)
    statement = """
        SELECT 'https://x:1' AS uri, last_modified AS lastmod, withdrawn AS deleted, 5::numeric AS length FROM item
        UNION ALL SELECT 'https://x:2', date '2025-06-01', true, 6 WHERE 'a%' LIKE '%a%'
    """
    first, second = sorted(ask(url, statement), key=lambda row: row.uri)
    assert (first.lastmod, first.deleted, first.length) == (datetime(2024, 3, 1, 10, tzinfo=UTC), False, 5)
    assert (second.deleted, second.length) == (True, 6)
    days = ask(url, "SELECT 'https://x:1' AS uri, date '2025-06-01' AS lastmod")
    assert days[0].lastmod == datetime(2025, 5, 31, 22, tzinfo=UTC)
    with pytest.raises(DatabaseError):
        ask(url, "DELETE FROM item RETURNING 'https://x' AS uri")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id", r"the statement has an unknown column 'id': its columns may be uri, lastmod, length"),
        ("size AS length", "no column uri"),
        ("'https://x' AS uri, 'https://y' AS uri", "one column twice"),
        ("'https://x' AS uri, 'x' AS set_title", "no column set"),
        ("NULL AS uri", "row 1 of the statement has the invalid uri 'None'"),
        ("'a b' AS uri", "the invalid uri 'a b'"),
        ("'https://x' || char(10) AS uri", "the invalid uri"),
        ("'https://x/' || hex(zeroblob(2000)) AS uri", "the invalid uri 'https://x/0000"),
        ("'https://xy/' || substr(hex(zeroblob(1020)), 4) AS uri", "the invalid uri 'https://xy/0000"),  # 2048
        (
            "'https://x' AS uri, 'yesterday' AS lastmod",
            "row 1 of the statement, 'https://x', has the invalid lastmod 'yesterday'",
        ),
        ("'https://x' AS uri, 5 AS lastmod", "the invalid lastmod '5'"),
        ("'https://x' AS uri, '9999-12-31T23:59:59-23:00' AS lastmod", "the invalid lastmod '9999"),
        ("'https://x' AS uri, -1 AS length", "the invalid length '-1'"),
        ("'https://x' AS uri, 1.5 AS length", "the invalid length '1.5'"),
        ("'https://x' AS uri, 'abc' AS md5", "the invalid md5 'abc'"),
        ("'https://x' AS uri, 'abc' AS sha256", "the invalid sha256 'abc'"),
        ("'https://x' AS uri, 'pdf' AS type", "the invalid type 'pdf'"),
        ("'https://x' AS uri, 'perhaps' AS deleted", "the invalid deleted 'perhaps'"),
    ],
)
def test_bad_rows(journal: str, columns: str, message: str) -> None:
    """What is no resource is one sentence, with the row and the column."""
    with pytest.raises(QueryError, match=message):
        ask(journal, f"SELECT {columns} FROM article")


@pytest.mark.parametrize(
    "statement", ["", "nonsense", "SELECT nothing FROM nowhere", "DELETE FROM article", "SELECT 1; SELECT 2"]
)
def test_bad_statements(journal: str, statement: str) -> None:
    """A statement that the database refuses is one sentence."""
    with pytest.raises(BridgeError) as caught:
        ask(journal, statement)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=30), st.sampled_from(["uri", "lastmod", "length", "md5", "sha256", "type", "deleted", "set"]))
def test_any_value(tmp_path_factory: pytest.TempPathFactory, text: str, column: str) -> None:
    """Whatever a column holds, it is a resource or one declared error."""
    file = tmp_path_factory.getbasetemp() / "any.db"
    if not file.exists():
        sqlite3.connect(file).execute("CREATE TABLE x (y)").connection.close()
    literal = "'" + text.replace("'", "''").replace("\0", "") + "'"
    try:
        (row,) = ask(
            url_of(file),
            f"SELECT {literal} AS {column}{'' if column == 'uri' else ', ' + repr('https://x') + ' AS uri'}",
        )
    except BridgeError:
        return
    assert row.uri
