"""Loads the rows of a dump into an SQLite database, with only the tables and columns needed."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

from sqlalchemy import Boolean, Text
from sqlalchemy.types import TypeEngine

from repo_bridge.dump.copy_text import Copied, parse_row
from repo_bridge.schema import VERSIONS, describe

_MOST_DIGITS = 18

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

_Value = str | int | None
_Convert = Callable[[bytes], _Value]
Fail = Callable[[str], NoReturn]


class Kind(Enum):
    """What a column holds. Keys and numbers are stored as written, because versions differ in their types."""

    FLAG = "BOOLEAN"
    TEXT = "TEXT"
    NUMBER_OR_KEY = ""


def needed_columns() -> Mapping[str, Mapping[str, Kind]]:
    """Return the tables, and their columns, that at least one version needs."""
    needed: dict[str, dict[str, Kind]] = {}
    for version in VERSIONS:
        for table in describe(version).all:
            columns = needed.setdefault(table.name, {})
            for column in table.c:
                if columns.get(column.name) is not Kind.NUMBER_OR_KEY:
                    columns[column.name] = _kind(column.type)
    return needed


def _kind(type_: TypeEngine[object]) -> Kind:
    if isinstance(type_, Boolean):
        return Kind.FLAG
    return Kind.TEXT if isinstance(type_, Text) else Kind.NUMBER_OR_KEY


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
}


@dataclass(slots=True)
class Loader:
    """Fills a database table by table. `fail` raises an error that names the dump and, if known, the line."""

    connection: sqlite3.Connection
    fail: Fail
    loaded: dict[str, str]

    def load(self, copied: Copied, encoding: str) -> int:
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
        converters = [
            (place, _converter(kinds[column], codec_of(encoding, self.fail))) for column, place in places.items()
        ]
        definition = ", ".join(f'"{column}" {kinds[column].value}' for column in places)
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

    def _values(self, copied: Copied, converters: list[tuple[int, _Convert]]) -> Iterator[tuple[_Value, ...]]:
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


def _converter(kind: Kind, codec: str) -> _Convert:
    """Return the function that converts a field to a value."""
    if kind is Kind.FLAG:
        return _flag
    if kind is Kind.NUMBER_OR_KEY:
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
