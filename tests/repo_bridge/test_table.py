"""Tables: every kind of bad row is found and named, and the good ones are sorted, whatever the files look like."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest

from pelican_resourcesync.protocol import Hash, Link
from pelican_resourcesync.publication import Representation, Resource, Row
from pelican_resourcesync.publication.model.resource import render_links, render_representation, render_time
from repo_bridge import TableError
from repo_bridge.tables import CheckedTable, Sorting, resources, sort_table, sorting

AT = datetime(2026, 3, 1, tzinfo=UTC)
SHA = "sha-256:" + "0123456789abcdef" * 4
MD = "md5:" + "fedcba9876543210" * 2


@pytest.fixture(autouse=True)
def _forget_engine() -> Iterator[None]:
    """Close what reads sorted files, which are in a temporary folder."""
    yield
    if resources._engine.cache_info().currsize:
        resources._engine().close()
        resources._engine.cache_clear()


def checked(files: Path | str, zone: str = "UTC") -> CheckedTable:
    """Sort files into a new folder next to them."""
    folder = Path(mkdtemp(prefix="sorting-", dir=Path(files).parent))
    return sort_table(Path(files), folder, Sorting(at=AT, zone=ZoneInfo(zone), memory="200MB"))


def parquet(file: Path, select: str) -> Path:
    """Write the result of a statement."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY ({select}) TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE 20480)")
    return file


def lines(file: Path, *rows: Any) -> Path:
    """Write lines of JSON, or texts as they are."""
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return file


def uris(found: CheckedTable) -> list[str]:
    """Return the URIs of the good rows, in their order."""
    return [row.uri for row in found.resources.rows()]


def test_rows_are_those_of_the_renderer(tmp_path: Path) -> None:
    """Texts that SQL makes are those that the renderers make, with every column and without any."""
    lines(
        tmp_path / "a.jsonl",
        {"uri": "https://e.org/b"},
        {
            "uri": "https://e.org/a?x=1&y='2'",
            "lastmod": "2025-01-02T03:04:05.120+01:00",
            "hash": SHA.upper(),
            "length": 1234567890123,
            "type": "Text/HTML; charset=utf-8",
            "links": [
                {"rel": "describedby", "href": "https://e.org/r?a&b='c'", "type": "application/x&y"},
                {"rel": "cite-as", "href": "doi:10.1/2"},
                {"rel": "cite-as", "href": "doi:10.1/2"},
            ],
        },
        {"uri": "https://e.org/c", "lastmod": "2025-01-02 03:04:05.123456", "hash": MD[4:], "links": []},
        {"uri": "https://e.org/d", "lastmod": "2026-03-02", "length": "0", "links": ""},
    )
    found = checked(tmp_path / "a.jsonl", "Europe/Berlin")
    assert (found.bad, found.examples) == (0, ())
    # In the order of their texts, so that the order in a table does not matter.
    links = (
        Link(rel="cite-as", href="doi:10.1/2"),
        Link(rel="describedby", href="https://e.org/r?a&b='c'", type="application/x&y"),
    )
    first = Representation(Hash(algorithm="sha-256", digest=SHA[8:]), 1234567890123, "text/html")
    times = (
        datetime(2025, 1, 2, 2, 4, 5, 120_000, UTC),
        datetime(2025, 1, 2, 2, 4, 5, 123_456, UTC),  # without an offset: in Berlin
    )
    assert [*found.resources.rows()] == [
        Row("https://e.org/a?x=1&y='2'", render_representation(first), render_links(links), render_time(times[0])),
        Row("https://e.org/b", "", "", ""),
        Row(
            "https://e.org/c",
            render_representation(Representation(Hash(algorithm="md5", digest=MD[4:]))),
            "",
            render_time(times[1]),
        ),
        Row("https://e.org/d", render_representation(Representation(length=0)), "", ""),  # its time is to come
    ]
    one = found.resources.get("https://e.org/a?x=1&y='2'")
    assert one == Resource("https://e.org/a?x=1&y='2'", None, times[0], first, links)
    assert found.resources.get("https://e.org/") is None
    assert found.resources.get("https://e.org/z") is None


def test_types_of_parquet(tmp_path: Path) -> None:
    """Columns have the types that programs write: times with and without zone, days, numbers, lists of links."""
    file = parquet(
        tmp_path / "a.parquet",
        "SELECT 'https://e.org/' || i AS URI, TIMESTAMPTZ '2025-01-02 03:04:05Z' AS lastmod, 5.0::DOUBLE AS length,"
        " [{'rel': 'describedby', 'href': 'https://e.org/r'}] AS links FROM range(3) t(i)",
    )
    parquet(tmp_path / "b.parquet", "SELECT 'https://e.org/t' AS uri, TIMESTAMP_NS '2025-01-02 03:04:05.5' AS lastmod")
    parquet(
        tmp_path / "c.parquet", "SELECT 'https://e.org/d' AS uri, DATE '2025-07-02' AS lastmod, 7::UTINYINT AS length"
    )
    md = '    <rs:md length="5"/>\n'
    link = '    <rs:ln rel="describedby" href="https://e.org/r"/>\n'
    found = checked(file)
    assert [*found.resources.rows()] == [Row(f"https://e.org/{i}", md, link, "2025-01-02T03:04:05Z") for i in range(3)]
    assert [*checked(tmp_path / "b.parquet", "Europe/Berlin").resources.rows()] == [
        Row("https://e.org/t", "", "", "2025-01-02T02:04:05.500Z")
    ]
    assert [*checked(tmp_path / "c.parquet", "Europe/Berlin").resources.rows()] == [
        Row("https://e.org/d", '    <rs:md length="7"/>\n', "", "2025-07-01T22:00:00Z")
    ]


BAD = {
    "uri": (
        *("", "e.org/a", "ftp://e.org/a", "https://", "https://u@e.org/", "https://e.org/ä", "https://e.org/a b"),
        *("https://e.org/<", "https://e.org/\\", "https://[::1", "https://e.org:x/", f"https://e.org/{'a' * 2048}"),
    ),
    "lastmod": ("yesterday", "2025-13-01", "infinity", "0044-03-15 (BC)", "10000-01-01", "20250102", "5"),
    "hash": ("sha-256:", SHA[:-1], f"{SHA}0", f"md5:{SHA[8:]}", f"sha-1:{'0' * 40}", f"{SHA} {MD}", "g" * 64),
    "length": ("-1", "1.5", "1e3", "0x10", "nan", "1" * 19),
    "type": ("pdf", "text/", "text/ä", '"text"/html', "text/html/x"),
    "links": (
        *(
            "https://e.org/r",
            "{}",
            "[1]",
            '["https://e.org/r"]',
            '[{"rel": "describedby"}]',
            '[{"href": "https://e.org"}]',
        ),
        *('[{"rel": "a b", "href": "https://e.org"}]', '[{"rel": "a", "href": "../r"}]', "[{", "null", "3"),
        '[{"rel": "a", "href": "https://e.org/<"}]',
        '[{"rel": "a", "href": "https://e.org", "type": "x"}]',
    ),
}


@pytest.mark.promise("The same by any number")
@pytest.mark.parametrize("column", BAD)
def test_bad_values(tmp_path: Path, column: str) -> None:
    """A row with any of these is left out and named; those before and after it are not."""
    values = BAD[column]
    rows = [{"uri": f"https://e.org/{number:03}", column: value} for number, value in enumerate(values)]
    lines(tmp_path / "a.jsonl", {"uri": "https://e.org/-"}, *rows, {"uri": "https://e.org/~"})
    found = checked(tmp_path / "a.jsonl")
    assert uris(found) == ["https://e.org/-", "https://e.org/~"]
    assert (found.bad, found.resources.total) == (len(values), 2)
    shown = [each[:80] or "(none)" for each in values]
    named = [f"row {n} of {tmp_path}/a.jsonl has the invalid {column} {each!a}" for n, each in enumerate(shown, 2)]
    assert list(found.examples) == named[:10]


def test_repeated_uris(tmp_path: Path) -> None:
    """The first row counts, by file and row, whatever the order of the times; each other one is bad."""
    rows = "VALUES ('https://e.org/b', 1), ('https://e.org/a', 2), ('https://e.org/b', 3)"
    parquet(tmp_path / "1.parquet", f"SELECT * FROM ({rows}) AS t(uri, length)")
    parquet(tmp_path / "2.parquet", f"SELECT * FROM ({rows}) AS t(uri, length)")
    found = checked(tmp_path / "*.parquet")
    assert [(row.uri, row.representation) for row in found.resources.rows()] == [
        ("https://e.org/a", '    <rs:md length="2"/>\n'),
        ("https://e.org/b", '    <rs:md length="1"/>\n'),
    ]
    assert (found.bad, found.resources.total) == (4, 2)
    assert found.examples == tuple(
        f"row {row} of {tmp_path}/{name} has the uri of an earlier row, 'https://e.org/{letter}'"
        for name, row, letter in (
            *(("1.parquet", 3, "b"), ("2.parquet", 1, "b")),
            *(("2.parquet", 2, "a"), ("2.parquet", 3, "b")),
        )
    )


def test_lines_that_cannot_be_read(tmp_path: Path) -> None:
    """Lines of CSV and JSON that are none are counted and named; the numbers of the others are those in the file."""
    (tmp_path / "1.csv").write_text(
        'uri,length\nhttps://e.org/1,1\n"https://e.org/2"x,2\nhttps://e.org/3,3,3\nhttps://e.org/4\n'
        'https://e.org/5,x\n"https://e.org/6",6\n',
        "utf-8",
    )
    (tmp_path / "2.csv").write_text("uri,length\r\nhttps://e.org/7,-1\r\nhttps://e.org/8,8\r\n", "utf-8", newline="")
    found = checked(tmp_path / "*.csv")
    assert uris(found) == [f"https://e.org/{number}" for number in (1, 6, 8)]
    assert found.bad == 5
    where = f"of {tmp_path}/"
    assert [each.partition(": ")[0] for each in found.examples] == [
        *(f"row {number} {where}1.csv cannot be read" for number in (2, 3, 4)),
        f"row 5 {where}1.csv has the invalid length 'x'",
        f"row 1 {where}2.csv has the invalid length '-1'",
    ]
    lines(
        tmp_path / "a.jsonl",
        {"uri": "https://e.org/1"},
        "{bad",
        "[1]",
        "",
        {"uri": {"a": 1}},
        {"uri": "https://e.org/2"},
    )
    found = checked(tmp_path / "a.jsonl")
    assert uris(found) == ["https://e.org/1", "https://e.org/2"]
    assert found.bad == 3


def test_other_formats(tmp_path: Path) -> None:
    """Names of columns in capitals, tabs, and compressed files."""
    with gzip.open(tmp_path / "a.tsv.gz", "wt", encoding="utf-8") as stream:
        stream.write('type\tURI\tlength\n"text/html;\tx"\thttps://e.org/1\t1\n\thttps://e.org/2\t\n')
    assert [row[:2] for row in checked(tmp_path / "a.tsv.gz").resources.rows()] == [
        ("https://e.org/1", '    <rs:md length="1" type="text/html"/>\n'),
        ("https://e.org/2", ""),
    ]
    with gzip.open(tmp_path / "a.ndjson.gz", "wt", encoding="utf-8") as stream:
        stream.write('{"uri": "https://e.org/1", "links": []}\n')
    assert uris(checked(tmp_path / "a.ndjson.gz")) == ["https://e.org/1"]
    quoted = tmp_path / "it's"
    quoted.mkdir()
    assert uris(checked(lines(quoted / "a.jsonl", {"uri": "https://e.org/1"}))) == ["https://e.org/1"]


def test_unusable_tables(tmp_path: Path) -> None:
    """One message says what is wrong with the files."""
    (tmp_path / "empty.csv").touch()
    (tmp_path / "1.csv").write_text("uri\n", "utf-8")
    (tmp_path / "2.csv").write_text("length\n", "utf-8")
    (tmp_path / "3.csv").write_text("uri,deleted\n", "utf-8")
    lines(tmp_path / "3.jsonl", "no JSON", [1], *[{"uri": "https://e.org/1"}] * 3_000, {"uri": "x", "deleted": 1})
    parquet(tmp_path / "3.parquet", "SELECT 'https://e.org/1' AS uri, true AS deleted")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    for name, message in (
        ("a.xlsx", r"a\.xlsx is not a table: its name must end in \.parquet"),
        ("none*.parquet", r"none\*\.parquet cannot be sorted: .*No files found"),
        ("none*.csv", "none.* does not exist, or is empty: check its path"),
        ("empty.csv", "empty.csv does not exist, or is empty: check its"),
        ("2.csv", "2.csv has no column uri"),
        *((f"3.{kind}", "has the unknown column 'deleted': its columns") for kind in ("csv", "jsonl", "parquet")),
        ("[12].csv", "1.csv and .*2.csv have different first lines"),
        ("damaged.parquet", "damaged.parquet cannot be sorted: "),
    ):
        with pytest.raises(TableError, match=message):
            checked(tmp_path / name)
    found = checked(tmp_path / "1.csv")
    assert (uris(found), found.bad, found.resources.total, found.resources.boundaries()) == ([], 0, 0, [])
    found = checked(lines(tmp_path / "a.jsonl", {"uri": "https://e.org/1"}))
    Path(str(found.resources.files[0].file)).unlink()
    with pytest.raises(TableError, match=r"0\.parquet, a part of the sorted table, cannot be read: .*No files"):
        next(found.resources.rows())


def test_order_is_checked(tmp_path: Path) -> None:
    """Rows that DuckDB writes in another order than that of a statement are never published."""
    how = Sorting(at=AT, zone=ZoneInfo("UTC"), memory="200MB")
    with how.sorter("a.parquet", tmp_path) as unsorted:
        with pytest.raises(TableError, match="DuckDB wrote the sorted rows in the wrong order"):
            unsorted._written("SELECT unnest(['a', 'c', 'b']) AS uri", "sorted")
        assert len(unsorted._written("SELECT unnest(['a', 'b', 'b']) AS uri", "other")) == 1


def test_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranges of a first publication are of one size; together they have every row once."""
    monkeypatch.setattr(sorting, "_GROUP", 2_048)
    monkeypatch.setattr(sorting, "_GROUPS", 1)
    monkeypatch.setattr(resources, "ROOMY", 2_048)
    select = "SELECT 'https://e.org/' || hash(i) || '/' AS uri FROM range(30500) t(i) WHERE i % 9 < 8"
    found = checked(parquet(tmp_path / "a.parquet", select))
    whole = uris(found)
    bounds = found.resources.boundaries()
    assert (len(whole), whole) == (27_112, sorted(set(whole)))
    assert bounds == whole[2_048::2_048]
    pairs = zip(["", *bounds], [*bounds, None], strict=True)
    assert [row.uri for begin, end in pairs for row in found.resources.rows(begin, end)] == whole
