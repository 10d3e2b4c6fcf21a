"""Imports a dump: its rows are streamed into an SQLite database, which appears only when it is complete."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from sqlalchemy import Boolean, Text

from repo_bridge.access import ENTITY_TYPE, hidden
from repo_bridge.errors import DumpError
from repo_bridge.model import Field
from repo_bridge.reading.database import open_database
from repo_bridge.reading.dump import TableRows, open_dump, parse_row
from repo_bridge.schema import VERSIONS, describe, find_tables

_MOST_DIGITS = 18

#: The schema of the metadata of people who log in, from version 6 on.
_PEOPLE = "eperson"

#: Progress is reported after so many rows.
_STEP = 10_000

#: PostgreSQL's names of server encodings, and Python's.
_ENCODINGS = {
    **dict.fromkeys(("UTF8", "UNICODE", "SQL_ASCII"), "utf-8"),
    **{f"LATIN{number}": f"latin{number}" for number in range(1, 11)},
    **{f"WIN{number}": f"cp{number}" for number in (866, 874, *range(1250, 1259))},
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "EUC_CN": "gb2312",
    "EUC_JP": "euc-jp",
    "EUC_KR": "euc-kr",
}

#: Types of columns in SQLite. Keys and numbers are stored as written, because versions differ in their types.
_FLAG, _TEXT, _NUMBER_OR_KEY = "BOOLEAN", "TEXT", ""

_Value = str | int | None
_Convert = Callable[[bytes], _Value]
Fail = Callable[[str], NoReturn]


def needed_columns() -> Mapping[str, Mapping[str, str]]:
    """Return the tables that at least one version needs, and their columns with their types."""
    needed: dict[str, dict[str, str]] = {}
    for table in (table for version in VERSIONS for table in describe(version).all):
        columns = needed.setdefault(table.name, {})
        for column in table.c:
            type_ = _FLAG if isinstance(column.type, Boolean) else _TEXT
            known = type_ if isinstance(column.type, Boolean | Text) else _NUMBER_OR_KEY
            columns[column.name] = min(known, columns.get(column.name, known))  # if versions differ, it is a key
    return needed


NEEDED = needed_columns()
_INDEXED = {
    "metadatavalue": ("dspace_object_id", "resource_id"),
    "resourcepolicy": ("dspace_object", "resource_id"),
    "handle": ("resource_id",),
    "item": ("uuid", "item_id"),
    "bitstream": ("uuid", "bitstream_id"),
    "item2bundle": ("item_id",),
    "bundle2bitstream": ("bundle_id",),
    "collection2item": ("item_id",),
    "relationship": ("left_id", "right_id"),
}


@dataclass(slots=True)
class Loader:
    """Fills a database table by table. `fail` raises an error that names the dump and, if known, the line."""

    connection: sqlite3.Connection
    fail: Fail
    loaded: dict[str, str]

    def load(self, copied: TableRows, encoding: str) -> int:
        """Insert the rows of a table if it is needed; return how many."""
        if copied.table not in NEEDED:
            return 0
        if copied.table in self.loaded:
            first = self.loaded[copied.table]
            message = f"has the table {copied.table} twice, in {first} and {copied.schema}: dump one with --schema"
            self.fail(message)
        self.loaded[copied.table] = copied.schema
        kinds = NEEDED[copied.table]
        places = {column: place for place, column in enumerate(copied.columns) if column in kinds}
        if not places:
            self.fail(f"has a table {copied.table} without the columns that DSpace has")
        text = codec_of(encoding, self.fail)
        converters = [(place, _converter(kinds[column], text)) for column, place in places.items()]
        definition = ", ".join(f'"{column}" {kinds[column]}' for column in places)
        self.connection.execute(f'CREATE TABLE "{copied.table}" ({definition})')
        marks = ", ".join("?" * len(places))
        insert = f'INSERT INTO "{copied.table}" VALUES ({marks})'  # noqa: S608 - the table is one of `NEEDED`
        return self._insert(insert, self._values(copied, converters))

    def finish(self) -> None:
        """Create the indexes needed for reading."""
        for table, columns in _INDEXED.items():
            for column in columns:
                if column in self._columns(table):
                    self.connection.execute(f'CREATE INDEX "{table}_{column}" ON "{table}" ("{column}")')
        self.connection.execute("ANALYZE")

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self.connection.execute(f'PRAGMA table_info("{table}")')}

    def _insert(self, statement: str, values: Iterable[tuple[_Value, ...]]) -> int:
        before = self.connection.total_changes
        self.connection.executemany(statement, values)
        return self.connection.total_changes - before

    def _values(self, copied: TableRows, converters: list[tuple[int, _Convert]]) -> Iterator[tuple[_Value, ...]]:
        width = len(copied.columns)
        for line in copied.lines:
            fields = parse_row(line)
            if len(fields) != width:
                self.fail(f"has a row of {copied.table} with {len(fields)} columns for {width}: dump again")
            try:
                yield tuple([_convert(fields[place], convert) for place, convert in converters])
            except ValueError as error:
                self.fail(f"has a row of {copied.table} that cannot be read: {error}")


def codec_of(encoding: str, fail: Fail) -> str:
    """Return Python's name of a PostgreSQL encoding."""
    if encoding.upper() not in _ENCODINGS:
        fail(f"is in the encoding {encoding!r}, which is not known: dump with --encoding=UTF8")
    return _ENCODINGS[encoding.upper()]


def _convert(field: bytes | None, convert: _Convert) -> _Value:
    return None if field is None else convert(field)


def _converter(kind: str, codec: str) -> _Convert:
    """Return the function that converts a field to a value."""
    if kind == _FLAG:
        return _flag
    if kind == _NUMBER_OR_KEY:
        return _number_or_key
    return bytes.decode if codec == "utf-8" else lambda field: field.decode(codec)


def _flag(field: bytes) -> int:
    if field not in {b"t", b"f"}:
        message = f"{field[:40]!a} is neither t nor f"
        raise ValueError(message)
    return int(field == b"t")


def _number_or_key(field: bytes) -> _Value:
    text = field.decode("ascii")
    if text.lstrip("-").isdigit() and len(text) <= _MOST_DIGITS:
        return int(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What was imported: the version of DSpace, and the number of rows of each table."""

    version: int
    rows: Mapping[str, int]


def import_dump(
    dump: Path,
    export: Path,
    version: int | None = None,
    on_rows: Callable[[int], None] = lambda _: None,
    hidden_fields: AbstractSet[str] = frozenset(),
) -> ImportResult:
    """Import the tables needed from a `pg_dump` into a new SQLite database, which replaces `export`.

    Hidden metadata (those of `hidden_fields` too) and that of people is left out. `on_rows` is told every so often how
    many more rows of any table were read.

    Raises `DumpError` if the dump cannot be read to its end, and `SchemaError` if it is not from a known version of
    DSpace or lacks a table or a column. The previous `export` is then kept.
    """
    if export.exists() and dump.exists() and export.samefile(dump):
        message = f"{export} is the dump itself: name another file for the database"
        raise DumpError(message)
    part = export.with_name(f"{export.name}.part")
    try:
        part.unlink(missing_ok=True)
        with _explained(export), closing(_new(part)) as connection:
            rows = _load(dump, connection, on_rows)
        found = _version(part, version)
        with _explained(export), closing(_open(part)) as connection:
            rows["metadatavalue"] -= _remove_hidden(connection, hidden_fields)
        imported = ImportResult(version=found, rows=rows)
        part.replace(export)
    except OSError as error:
        message = f"{export} cannot be written: {error.strerror or error}"
        raise DumpError(message) from error
    finally:
        part.unlink(missing_ok=True)
    return imported


@contextmanager
def _explained(export: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        message = f"{export} cannot be written: {error}"
        raise DumpError(message) from error


def _new(file: Path) -> sqlite3.Connection:
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it has what is not public, too
    return _open(file)


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _load(dump: Path, connection: sqlite3.Connection, on_rows: Callable[[int], None]) -> dict[str, int]:
    rows: dict[str, int] = {}
    connection.execute("BEGIN")
    with open_dump(dump, NEEDED.keys()) as reader:
        loader = Loader(connection, reader.fail, {})
        for table in reader.tables():
            counted = replace(table, lines=_counted(table.lines, on_rows))
            count = loader.load(counted, reader.encoding)
            if table.table in loader.loaded:
                rows[table.table] = count
            for _ in counted.lines:  # of a table that is not needed
                pass
    loader.finish()
    connection.execute("COMMIT")
    return rows


def _remove_hidden(connection: sqlite3.Connection, hidden_fields: AbstractSet[str]) -> int:
    """Remove the metadata that is never published: of hidden fields (rule 8), and of people; return how many values."""
    rows = connection.execute(
        "SELECT metadata_field_id, short_id, element, qualifier FROM metadatafieldregistry "
        "JOIN metadataschemaregistry USING (metadata_schema_id)"
    )
    fields = ((number, Field(*(name or "" for name in names))) for number, *names in rows)
    numbers = [
        number
        for number, field in fields
        if field != ENTITY_TYPE and (field.schema == _PEOPLE or hidden(field, hidden_fields))
    ]
    marks = ", ".join("?" * len(numbers))
    statement = f"DELETE FROM metadatavalue WHERE metadata_field_id IN ({marks})"  # noqa: S608 - question marks alone
    return connection.execute(statement, numbers).rowcount


def _counted(lines: Iterator[bytes], on_rows: Callable[[int], None]) -> Iterator[bytes]:
    """Yield lines unchanged, and report how many there were."""
    number = 0
    for number, line in enumerate(lines, 1):
        yield line
        if number % _STEP == 0:
            on_rows(_STEP)
    on_rows(number % _STEP)


def _version(file: Path, version: int | None) -> int:
    """Return the version of DSpace, once all tables are loaded."""
    with open_database(f"sqlite:///{file}") as connection:
        return find_tables(connection, version).version
