"""Tables of resources in files of any size (Parquet, CSV or JSON lines), checked and sorted by DuckDB.

DuckDB sorts on disk what does not fit into memory, and writes one sorted file. The same statement finds what is wrong
with a row, so no row becomes a Python object before its part of the Resource List is compared. Processes that do this
import this module alone of the bridge.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pelican_resourcesync.protocol import LONGEST_LOC, parse_links
from pelican_resourcesync.publication import Resource, Resources, Row, parse_representation, parse_time
from repo_bridge.errors import TableError

_COLUMNS = ("uri", "lastmod", "hash", "length", "type", "links")

#: A first publication has so many resources in a part, which leaves room for new ones, and so many parts at most.
_ROOMY, _MOST_PARTS = 40_000, 50_000
#: So many rows are read at once, and are in a group of the sorted file: both take memory in each process.
_BATCH, _GROUP = 2_500, 20_480
#: At most so many bad rows are named, and so many characters of their values.
_NAMED, _SHOWN = 10, 80
_SECONDS = "%Y-%m-%d %H:%M:%S.%f"

#: How files are read, by the ends of their names.
_READERS = {
    r"parquet|pq": "read_parquet({files}, filename=true, file_row_number=true, union_by_name=true)",
    r"(csv|tsv)(\.gz|\.zst)?": "read_csv({files}, filename=true, header=true, auto_detect=false, columns={columns},"
    " delim='{separator}', quote='\"', escape='\"', store_rejects=true, rejects_limit=0)",
    r"(json|jsonl|ndjson)(\.gz|\.zst)?": "read_json({files}, filename=true, columns={columns},"
    " format='newline_delimited', ignore_errors=true)",
}
_LINES = "columns={'line': 'VARCHAR'}, auto_detect=false, header=false, delim='\1', quote='', escape=''"
_UNREADABLE = """
    SELECT DISTINCT ON (file_path, line) file_path, line - 1, error_message
    FROM reject_errors JOIN reject_scans USING (scan_id, file_id) ORDER BY file_path, line
"""

# The characters that RFC 3986 allows in a URI, and media types as those of a database.
_ALLOWED = r"[!#-;=?-\[\]_a-z~]"
_URL = rf"https?://[A-Za-z0-9._-]+(:[0-9]{{1,5}})?([/?#]{_ALLOWED}*)?"
_ABSOLUTE = f"[A-Za-z][A-Za-z0-9+.-]*:{_ALLOWED}+"
_MEDIA_TYPE = "[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*"


def _quoted(text: object) -> str:
    return "'{}'".format(str(text).replace("'", "''"))


def _matches(pattern: str, text: str) -> str:
    return f"regexp_full_match({text}, {_quoted(pattern)})"


def _escaped(text: str) -> str:
    """Return an expression that escapes the only characters of these texts that an attribute cannot have."""
    return f"replace(replace({text}, '&', '&amp;'), '''', '&apos;')"


_TIME = "try_cast(lastmod AS TIMESTAMPTZ)"
_TYPE = "lower(trim(split_part({}, ';', 1)))"
_LINK = f"""
    CASE WHEN {_matches(f"{_ALLOWED}+", "x.rel")} AND {_matches(_ABSOLUTE, "x.href")}
        AND (x.type IS NULL OR {_matches(_MEDIA_TYPE, _TYPE.format("x.type"))})
    THEN '    <rs:ln rel="' || {_escaped("x.rel")} || '" href="' || {_escaped("x.href")} || '"'
        || coalesce(' type="' || {_escaped(_TYPE.format("x.type"))} || '"', '') || '/>' || chr(10) END
"""
_LINKS = f"""list_transform(
    TRY(from_json(links, '[{{"rel": "VARCHAR", "href": "VARCHAR", "type": "VARCHAR"}}]')), lambda x: {_LINK})"""

#: The value of a column, from its text; NULL if that is invalid.
_VALUES = {
    "uri": f"CASE WHEN length(uri) < {LONGEST_LOC} AND {_matches(_URL, 'uri')} THEN uri END",
    "lastmod": f"CASE WHEN {_TIME} BETWEEN '0001-01-02 00:00:00Z' AND '9999-12-31 00:00:00Z'"
    f" THEN {_TIME} AT TIME ZONE 'UTC' END",
    "hash": f"CASE WHEN {_matches('(sha-256:)?[0-9a-f]{64}', 'lower(hash)')} THEN 'sha-256:' || lower(right(hash, 64))"
    f" WHEN {_matches('(md5:)?[0-9a-f]{32}', 'lower(hash)')} THEN 'md5:' || lower(right(hash, 32)) END",
    "length": f"CASE WHEN {_matches('[0-9]{1,18}([.]0+)?', 'length')}"
    " THEN CAST(split_part(length, '.', 1) AS BIGINT) END",
    "type": f"CASE WHEN {_matches(_MEDIA_TYPE, _TYPE.format('type'))} THEN {_TYPE.format('type')} END",
    "links": f"CASE WHEN TRY(json_type(links)) = 'ARRAY' AND len(list_filter({_LINKS}, lambda x: x IS NULL)) = 0"
    f" THEN array_to_string(list_sort(list_distinct({_LINKS})), '') END",
}

#: The rows of a sorted file as those of a publication.
_ROWS = f"""
    SELECT uri,
        CASE WHEN hash IS NULL AND length IS NULL AND type IS NULL THEN '' ELSE '    <rs:md'
            || coalesce(' hash="' || hash || '"', '') || coalesce(' length="' || length || '"', '')
            || coalesce(' type="' || {_escaped("type")} || '"', '') || '/>' || chr(10) END,
        coalesce(links, ''),
        coalesce(strftime(lastmod, '%Y-%m-%dT%H:%M:%S') || CASE WHEN microsecond(lastmod) % 1000000 = 0 THEN 'Z'
            WHEN microsecond(lastmod) % 1000 = 0 THEN strftime(lastmod, '.%gZ') ELSE strftime(lastmod, '.%fZ') END, '')
    FROM read_parquet(?) WHERE uri >= ? AND uri < ?
"""


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn an error of DuckDB, also that a signal interrupted it, into one clear message."""
    import duckdb

    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        message = f"{what}: {str(error).splitlines()[0]}"
        raise TableError(message) from error


@cache
def _engine() -> Any:
    """Return what reads sorted files in this process; each reading has a cursor of its own."""
    import duckdb

    return duckdb.connect(config={"threads": 1, "memory_limit": "1GB", "enable_external_file_cache": False})


_row = partial(tuple.__new__, Row)  # without a function in Python for each


@dataclass(frozen=True, slots=True)
class TableResources(Resources):
    """The resources in a sorted file, of which there are `total`. Any process that sees the file can read them."""

    file: Path
    total: int

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Yield the resources with URIs from `begin` to before `end`, sorted by URI."""
        with _explained(f"{self.file}, the sorted table, cannot be read"), closing(_engine().cursor()) as cursor:
            cursor.execute(_ROWS, [str(self.file), begin, end or "i"])  # all begin with http
            while batch := cursor.fetchmany(_BATCH):
                yield from map(_row, batch)

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI, whose bytes are elsewhere, or `None` if there is none."""
        for _, representation, links, lastmod in self.rows(uri, f"{uri}!"):  # there is no URI between these
            return Resource(uri, None, parse_time(lastmod), parse_representation(representation), parse_links(links))
        return None

    def boundaries(self) -> Sequence[str]:
        """Return URIs, sorted, at which a first publication is divided into ranges that are read independently."""
        size = max(_ROOMY, -(-self.total // _MOST_PARTS))
        numbered = "SELECT uri, row_number() OVER () - 1 AS number FROM read_parquet(?) WHERE uri IS NOT NULL"
        with closing(_engine().cursor()) as cursor:
            cursor.execute(f"SELECT uri FROM ({numbered}) WHERE number % ? = 0 AND number > 0", [str(self.file), size])
            return [uri for (uri,) in cursor.fetchall()]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTable:
    """A table: its `resources`, the number of its `bad` rows, which are left out, and sentences about some of these."""

    resources: TableResources
    bad: int
    examples: tuple[str, ...]


def sort_table(  # noqa: PLR0913 - keyword-only
    files: str, folder: Path, *, at: datetime, zone: ZoneInfo, memory: str, threads: int
) -> CheckedTable:
    """Check the rows in files (a path, perhaps with wildcards), and sort the good ones into a file in a folder.

    Of two rows with the same URI, the second is bad, by the names of the files and the numbers of the rows in them.
    Times without an offset are in `zone`, those after `at` are ignored. The `threads` take `memory` together, and spill
    the rest into the folder. Raises `TableError` if the files cannot be read or sorted.
    """
    import duckdb

    config: dict[str, Any] = {"threads": threads, "memory_limit": memory, "temp_directory": str(folder / "spill")}
    with _explained(f"{files} cannot be sorted"), closing(duckdb.connect(config=config)) as connection:
        connection.execute(f"SET TimeZone = {_quoted(zone)}; SET enable_progress_bar = false")
        return _Sorting(connection, files, folder).run(at)


class _Sorting:
    def __init__(self, connection: Any, files: str, folder: Path) -> None:
        self._query, self._files = connection.execute, files
        self._kind = next((each for each in _READERS if re.search(rf"\.({each})$", files.lower())), "")
        if not self._kind:
            message = f"{files} is not a table: its name must end in .parquet, .csv, .tsv or .jsonl, perhaps with .gz"
            raise TableError(message)
        self._separator = "\t" if ".tsv" in files.lower() else ","
        self._sorted, self._once = folder / "sorted.parquet", folder / "once.parquet"
        self._unreadable: list[tuple[str, int, str]] = []

    def run(self, at: datetime) -> CheckedTable:
        self._write(f"{self._checked(at)} ORDER BY uri NULLS FIRST, file, row", self._sorted)
        if "csv" in self._kind:
            self._unreadable = self._query(_UNREADABLE).fetchall()
        file, source = self._sorted, f"read_parquet({_quoted(self._sorted)})"
        pairs = f"(SELECT *, lag(uri) OVER () AS before FROM {source})"
        invalid = self._bad(f"{source} WHERE uri IS NULL", "'the invalid ' || wrong || ' ' || value")
        repeated = self._bad(f"{pairs} WHERE uri = before", "'the uri of an earlier row, ' || uri")
        if repeated[0]:
            file = self._once
            self._write(f"SELECT * EXCLUDE (before) FROM {pairs} WHERE uri IS DISTINCT FROM before", file)
        [(total,)] = self._query(f"SELECT count(uri) FROM read_parquet({_quoted(file)})").fetchall()
        unreadable = [f"row {row} of {name} cannot be read: {error}" for name, row, error in self._unreadable]
        return CheckedTable(
            resources=TableResources(file, total),
            bad=len(unreadable) + invalid[0] + repeated[0],
            examples=(*unreadable, *invalid[1], *repeated[1])[:_NAMED],
        )

    def _write(self, statement: str, file: Path) -> None:
        self._query(
            f"COPY ({statement}) TO {_quoted(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP})"
        )

    def _bad(self, source: str, problem: str) -> tuple[int, list[str]]:
        """Return the number of bad rows in a source, and sentences about the first of them."""
        [(number,)] = self._query(f"SELECT count(*) FROM {source}").fetchall()
        if not number:
            return 0, []
        # The numbers of rows go on from file to file, except in Parquet, where each file begins with 1.
        first = f"(SELECT min(row) FROM read_parquet({_quoted(self._sorted)}) AS rows WHERE rows.file = bad.file)"
        bad = f"(SELECT file, row, {problem} AS problem FROM {source} ORDER BY file, row LIMIT {_NAMED}) AS bad"
        found = self._query(f"SELECT file, row - {first} + 1, problem FROM {bad} ORDER BY file, row").fetchall()
        return number, [f"row {self._number(file, row)} of {file} has {text!a}" for file, row, text in found]

    def _number(self, file: str, row: int) -> int:
        """Return the number of a row in a file, with those that cannot be read."""
        for name, unreadable, _ in self._unreadable:
            row += name == file and unreadable <= row
        return row

    def _checked(self, at: datetime) -> str:
        """Return a statement that selects the values of all rows; of a bad one, it says what is `wrong` instead."""
        columns = self._columns()
        if "uri" not in columns:
            known = ", ".join(_COLUMNS)
            message = f"{self._files} has no column uri: its columns may be {known}, of which only uri is required"
            raise TableError(message)
        row = "file_row_number + 1" if "parquet" in self._kind else "row_number() OVER ()"
        texts = ", ".join(f"{_as_text(name, columns.get(name, ''))} AS {name}" for name in _COLUMNS)
        values = ", ".join(f"{_VALUES[name]} AS {name}_" for name in _COLUMNS)
        wrong = " ".join(f"WHEN {name} IS NOT NULL AND {name}_ IS NULL THEN '{name}'" for name in _COLUMNS[1:])
        text = " ".join(f"WHEN '{name}' THEN {name}" for name in _COLUMNS)
        return f"""
            SELECT CASE WHEN wrong IS NULL THEN uri_ END AS uri,
                CASE WHEN lastmod_ <= TIMESTAMP '{at.astimezone(UTC):{_SECONDS}}' THEN lastmod_ END AS lastmod,
                hash_ AS hash, length_ AS length, type_ AS type, nullif(links_, '') AS links, file, row, wrong,
                CASE WHEN wrong IS NOT NULL THEN coalesce(left(CASE wrong {text} END, {_SHOWN}), '(none)') END AS value
            FROM (SELECT *, CASE WHEN uri_ IS NULL THEN 'uri' {wrong} END AS wrong FROM (SELECT *, {values} FROM (
                SELECT {texts}, filename AS file, {row} AS row FROM {self._reader(columns)})))
        """

    def _columns(self) -> Mapping[str, str]:
        """Return the types of the columns, by name, in their order."""
        if "parquet" in self._kind:
            return {
                name.lower(): type_ for name, type_, *_ in self._query(f"DESCRIBE FROM {self._reader({})}").fetchall()
            }
        if "json" in self._kind:
            return dict.fromkeys(_COLUMNS, "VARCHAR")
        headers: dict[str, str] = {}
        for (file,) in self._query(f"SELECT file FROM glob({_quoted(self._files)}) ORDER BY file").fetchall():
            for (line,) in self._query(f"FROM read_csv({_quoted(file)}, {_LINES}) LIMIT 1").fetchall():
                headers.setdefault(line.rstrip("\r"), file)
        if len(headers) > 1:
            one, other, *_ = headers.values()
            message = f"{one} and {other} have different first lines: name the same columns in the first line of each"
            raise TableError(message)
        names = next(csv.reader(headers, delimiter=self._separator), [])
        return dict.fromkeys([name.strip().lower() for name in names], "VARCHAR")

    def _reader(self, columns: Mapping[str, str]) -> str:
        """Return the function that reads the files."""
        listed = "{" + ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in columns) + "}"
        return _READERS[self._kind].format(files=_quoted(self._files), columns=listed, separator=self._separator)


def _as_text(name: str, type: str) -> str:
    """Return an expression for the text of a column of this type, which is empty if the table does not have it."""
    value = f"to_json({name})" if type.endswith("]") else name if type else "NULL"
    return f"nullif(trim(CAST({value} AS VARCHAR)), '')"
