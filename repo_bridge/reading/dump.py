"""Imports PostgreSQL dumps without a server: rows are streamed into an SQLite database.

A plain script is what `pg_dump` writes, compressed with gzip or not; `pg_restore` makes one of others. Rows are in the
text format of `COPY`.
"""

import gzip
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn, TypeVar, cast

from sqlalchemy import Boolean, Text

from pelican_resourcesync.errors import failing_disk
from pelican_resourcesync.terminal import format_count
from repo_bridge import DumpError
from repo_bridge.access import ENTITY_TYPE, hidden, require_hidden_exist
from repo_bridge.model import Field
from repo_bridge.reading.database import open_database
from repo_bridge.schema import MIGRATIONS, VERSIONS, describe, find_tables

_CUSTOM = b"PGDMP"
_GZIP = b"\x1f\x8b"
_OTHERS = {
    _CUSTOM: "in custom format, compressed with gzip once more",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"(\xb5/\xfd": "compressed with zstd",
    b'\x04"M\x18': "compressed with lz4",
    b"PK\x03\x04": "a ZIP file",
}
_FIRST = 512

_END = b"\\."

#: The longest row accepted, in bytes.
_LONGEST_ROW = 64 * 1024 * 1024

#: The last line that `pg_dump` and `pg_restore` write to a script.
_COMPLETE = b"-- PostgreSQL database dump complete"

_NO_DUMP = "has neither rows nor the last line of a dump: it is not a dump of pg_dump, or it is cut short"

#: A script that goes on for so many bytes without rows is not a dump that can be used.
_MOST_BEFORE_TABLES = 256 * 1024 * 1024

_NAME = rb'(?:[A-Za-z_\x80-\xff][A-Za-z0-9_$\x80-\xff]*|"(?:[^"]|"")+")'
_HEAD = re.compile(rb"COPY (?:(%b)\.)?(%b) \((%b(?:, %b)*)\) FROM stdin;\s*" % (_NAME, _NAME, _NAME, _NAME))
_NAMES = re.compile(_NAME)
_ENCODING = re.compile(rb"SET client_encoding = '([^']*)';")
_INSERT = re.compile(rb'INSERT INTO (?:[^\s."]+\.|"[^"]*"\.)?"?(\w+)"?[\s(]')
_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CONTROLS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
#: What begins a comment or quoted text, in which nothing is a statement.
_OPENING = re.compile(rb"--|'|\"|/\*|\$[A-Za-z0-9_]*\$")


class TableRows(NamedTuple):
    """The rows of one table: its schema, its name, its columns in order, and each row as a line without its ending."""

    schema: str
    table: str
    columns: Sequence[str]
    lines: Iterator[bytes]


@contextmanager
def open_dump(file: Path, tables: Collection[str]) -> Iterator["Dump"]:
    """Open a dump, plain or in custom format, to read some tables; raise `DumpError` for any other file."""
    if file.is_dir():
        message = (
            f"{file} is a folder, as pg_dump --format=directory writes it: convert it to one file with pg_restore"
            f" --file=dump.sql {shlex.quote(str(file))}, or dump with --format=custom"
        )
        raise DumpError(message)
    with ExitStack() as stack, failing_disk(f"{file} cannot be read", "check its path", DumpError):
        try:
            stream: BinaryIO = stack.enter_context(file.open("rb"))
            packed = _peek(stream).startswith(_GZIP)
            if packed:
                stream = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
            first = _peek(stream)
            if first.startswith(_CUSTOM) and not packed:
                stream = stack.enter_context(_restored(file, tables))
            else:
                _require_plain(first, file)
            yield Dump(stream, str(file), tables)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"{file} is cut short or damaged: make the dump again"
            raise DumpError(message) from error


def _require_plain(first: bytes, file: Path) -> None:
    if first.startswith(b"SQLite format 3\0"):
        message = f"{file} is an SQLite database already: pass it to --database"
        raise DumpError(message)
    kinds = [kind for magic, kind in _OTHERS.items() if first.startswith(magic)]
    kinds += ["in tar format"] if first[257:262] == b"ustar" else []
    kinds += ["not a dump"] if b"\0" in first else []
    if kinds:
        message = (
            f"{file} is {kinds[0]}: dump with --format=plain (which may be compressed with gzip) or --format=custom"
        )
        raise DumpError(message)


def _peek(stream: BinaryIO) -> bytes:
    first = stream.read(_FIRST)
    stream.seek(0)
    return first


@contextmanager
def _restored(file: Path, tables: Collection[str]) -> Iterator[BinaryIO]:
    """Yield the rows of some tables in a dump in custom format, as the script that `pg_restore` makes of it."""
    program = shutil.which("pg_restore")
    if program is None:
        message = (
            f"{file} is in custom format, and pg_restore is not installed: install PostgreSQL's client"
            " (postgresql-client in Debian), or dump with --format=plain"
        )
        raise DumpError(message)
    command = [program, "--file=-", "--data-only", *(f"--table={table}" for table in tables), str(file.absolute())]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - the program of the user's PATH, with no shell
            command, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, "LC_ALL": "C"}
        ) as process,
    ):
        script = cast("BinaryIO", process.stdout)
        try:
            yield script
        except DumpError:
            if not script.read(1):  # it ended, so what it says is the reason
                _require_success(process, errors, file)
            raise
        else:
            _require_success(process, errors, file)
        finally:
            process.kill()


def _require_success(process: subprocess.Popen[bytes], errors: BinaryIO, file: Path) -> None:
    if process.wait():
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines() or [f"exit status {process.returncode}"]
        reason = lines[0].removeprefix("pg_restore: ").removeprefix("error: ")
        message = (
            f"{file} cannot be read by pg_restore: {reason}: make the dump again, install the PostgreSQL client of the"
            " version that made it, or dump with --format=plain"
        )
        raise DumpError(message)


class Dump:
    """A script, read from beginning to end; `encoding` is the one declared in the part read so far."""

    def __init__(self, stream: BinaryIO, name: str, tables: Collection[str]) -> None:
        """Messages call the script `name`; INSERT statements are ignored for tables not in `tables`."""
        self.encoding = "UTF8"
        self._stream = stream
        self._name = name
        self._tables = tables
        self._number = 0
        self._complete = False
        self._lines = self._numbered()

    def tables(self) -> Iterator[TableRows]:
        """Yield each table with its rows, which must be read before the next table.

        Raises `DumpError` if the script is truncated, or has rows as INSERT statements.
        """
        closing, before, found = b"", 0, False
        for line in self._lines:
            before += 0 if found else len(line)
            if before > _MOST_BEFORE_TABLES:
                self.fail(f"has no table in its first {_MOST_BEFORE_TABLES:,} bytes: dump the whole database of DSpace")
            if not closing:
                self._notice(line)
                table = parse_head(line, self._rows())
                if table is not None:
                    found = True
                    yield table
                    for _ in table.lines:
                        pass
                    continue
            closing = _open_after(line, closing)
        if self._complete and not found:
            self.fail("has no rows: dump without --schema-only")
        if not self._complete:
            self.fail("is cut short, because its last line is missing: make the dump again" if found else _NO_DUMP)

    def fail(self, what: str) -> NoReturn:
        """Raise a `DumpError` that says what is wrong with the dump, and where."""
        message = f"{self._name}, line {self._number}, {what}"
        raise DumpError(message)

    def _notice(self, line: bytes) -> None:
        """Interpret a line outside of rows: the encoding, INSERT statements and the last line."""
        self._complete = self._complete or line.startswith(_COMPLETE)
        encoding = _ENCODING.match(line)
        if encoding:
            self.encoding = encoding[1].decode(errors="replace")
        inserted = _INSERT.match(line)
        if inserted and inserted[1].decode(errors="replace") in self._tables:
            self.fail("has INSERT statements: dump without --inserts")

    def _rows(self) -> Iterator[bytes]:
        for line in self._lines:
            row = line.rstrip(b"\r\n") if line.startswith(_END) else line.removesuffix(b"\n")
            if row == _END:
                return
            yield row
        self.fail("is cut short in the middle of a table: make the dump again")

    def _numbered(self) -> Iterator[bytes]:
        read = partial(self._stream.readline, _LONGEST_ROW)
        for number, line in enumerate(iter(read, b""), 1):
            self._number = number
            if len(line) == _LONGEST_ROW:
                self.fail(f"is longer than {_LONGEST_ROW:,} bytes")
            yield line


def _open_after(line: bytes, closing: bytes) -> bytes:
    """Return what will close the quoted text or comment that is open at the end of a line; empty if none is."""
    place = 0
    while True:
        if closing:
            place = line.find(closing, place)
            if place < 0:
                return closing
            place, closing = place + len(closing), b""
        begun = _OPENING.search(line, place)
        if begun is None or begun[0] == b"--":
            return b""
        place, closing = begun.end(), b"*/" if begun[0] == b"/*" else begun[0]


def parse_head(line: bytes, lines: Iterator[bytes]) -> TableRows | None:
    """Parse the `COPY` statement that comes before rows; return `None` for any other line."""
    head = _HEAD.fullmatch(line)
    if head is None:
        return None
    columns = [_unquoted(name) for name in _NAMES.findall(head[3])]
    return TableRows(_unquoted(head[1] or b""), _unquoted(head[2]), columns, lines)


def parse_row(line: bytes, codec: str = "utf-8") -> list[str | None]:
    r"""Return the fields of a row; `\N` is `None`. Raises `ValueError` for an incomplete escape."""
    fields = line.decode(codec, _KEEP).split("\t")  # as a whole, because there are millions of rows
    return [None if text == "\\N" else _unescaped(text, codec) if "\\" in text else text for text in fields]


def _unescaped(text: str, codec: str) -> str:
    field = text.encode(codec, _KEEP)
    if field.endswith(b"\\") and (len(field) - len(field.rstrip(b"\\"))) % 2:
        message = "it ends in the middle of an escape"
        raise ValueError(message)
    return _ESCAPE.sub(_character, field).decode(codec, _KEEP)


def _character(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code.isdigit() and code < b"8":
        return bytes([int(code, 8) & 0xFF])
    return _CONTROLS.get(code, code)


def _unquoted(name: bytes) -> str:
    text = name.decode(errors="replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


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

#: Types of columns in SQLite. In a column of numbers, text becomes one. The type of some keys differs by version, and
#: SQLite would use no index to compare them with those that are texts in all.
_FLAG, _TEXT, _NUMBER, _KEY = "BOOLEAN", "TEXT", "INTEGER", ""

#: Bytes that are wrong in an encoding do not matter in columns that are not needed; in others they are refused.
_KEEP = "surrogateescape"

_Value = str | int | None
Fail = Callable[[str], NoReturn]
Thing = TypeVar("Thing")


#: The tables that at least one version needs, and that of migrations, and their columns with their types.
NEEDED: dict[str, dict[str, str]] = {}
for _table in (*(table for version in VERSIONS for table in describe(version).all), MIGRATIONS):
    for _column in _table.c:
        _columns, _kind = NEEDED.setdefault(_table.name, {}), _column.type
        _type = _FLAG if isinstance(_kind, Boolean) else _TEXT if isinstance(_kind, Text) else _NUMBER
        _columns[_column.name] = _type if _columns.get(_column.name, _type) == _type else _KEY

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
    "versionitem": ("item_id", "versionhistory_id"),
}


def _insert(connection: sqlite3.Connection, copied: TableRows, reader: Dump, on_rows: Callable[[int], None]) -> int:
    """Insert the rows of a table that is needed, and return how many."""
    kinds, fail, width = NEEDED[copied.table], reader.fail, len(copied.columns)
    places = {column: place for place, column in enumerate(copied.columns) if column in kinds}
    if not places:
        fail(f"has a table {copied.table} without DSpace's columns: dump the database of DSpace")
    codec = _ENCODINGS.get(reader.encoding.upper())
    if codec is None:
        fail(f"is in the unknown encoding {reader.encoding!r}: dump with --encoding=UTF8")
    definition = ", ".join(f'"{column}" {kinds[column]}' for column in places)
    connection.execute(f'CREATE TABLE "{copied.table}" ({definition})')
    converted = [(number, convert) for number, name in enumerate(places) if (convert := _CONVERT.get(kinds[name]))]

    def values() -> Iterator[list[_Value]]:
        for line in copied.lines:
            fields = parse_row(line, codec)
            if len(fields) != width:
                fail(f"has a row of {copied.table} with {len(fields)} columns, not {width}: make the dump again")
            row: list[_Value] = [fields[place] for place in places.values()]
            for number, convert in converted:
                if isinstance(value := row[number], str):
                    row[number] = convert(value)
            yield row

    insert = f'INSERT INTO "{copied.table}" VALUES ({", ".join("?" * len(places))})'  # noqa: S608 - one of `NEEDED`
    try:
        return connection.executemany(insert, counted(values(), on_rows, _STEP)).rowcount
    except ValueError as error:
        fail(f"has a row of {copied.table} that cannot be read: {error}: make the dump again")


def _flag(text: str) -> int:
    if text not in {"t", "f"}:
        message = f"{text[:40]!a} is neither t nor f"
        raise ValueError(message)
    return int(text == "t")


def _key(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else text


_CONVERT = {_FLAG: _flag, _KEY: _key}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What was imported: the version of DSpace, and the number of rows of each table."""

    version: int
    rows: Mapping[str, int]

    def text(self, export: Path) -> str:
        """Return what the database in the file `export` has, as lines of text."""
        tables = [f"  {table}: {format_count(number, 'row')}" for table, number in self.rows.items()]
        return "\n".join([f"{export}: a repository of DSpace {self.version}", *tables])


def import_dump(  # noqa: PLR0913 - keyword-only options
    dump: Path,
    export: Path,
    version: int | None = None,
    on_rows: Callable[[int], None] = lambda _: None,
    hidden_fields: AbstractSet[str] | None = frozenset(),
    *,
    dry_run: bool = False,
) -> ImportResult:
    """Import the tables needed from a `pg_dump` into a new SQLite database, which replaces `export`.

    Metadata of people is left out, and hidden metadata, those of `hidden_fields` too, unless that is `None`. `on_rows`
    is told every so often how many more rows of any table were read. A `dry_run` replaces nothing.

    Raises `DumpError` if the dump cannot be read to its end, and `SchemaError` if it is not from a known version of
    DSpace or lacks a table or a column. The previous `export` is then kept.
    """
    if export.exists() and dump.exists() and export.samefile(dump):
        message = f"{export} is the dump itself: choose another file for the database"
        raise DumpError(message)
    part = export.with_name(f"{export.name}.part")
    try:
        with failing_disk(f"{export} cannot be written", kind=DumpError):
            part.unlink(missing_ok=True)
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it has what is not public, too
            with closing(_open(part)) as connection:
                rows = _load(dump, connection, on_rows)
            with open_database(f"sqlite:///{part}") as database:
                found = find_tables(database, version).version
            with closing(_open(part)) as connection:
                rows["metadatavalue"] -= _remove_hidden(connection, hidden_fields)
            if not dry_run:
                part.replace(export)
    except sqlite3.Error as error:
        message = f"{export} cannot be written: {error}: free disk space, or choose another file"
        raise DumpError(message) from error
    finally:
        part.unlink(missing_ok=True)
    return ImportResult(version=found, rows=rows)


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _load(dump: Path, connection: sqlite3.Connection, on_rows: Callable[[int], None]) -> dict[str, int]:
    """Insert the tables that are needed, with the indexes for reading, and return their numbers of rows."""
    rows: dict[str, int] = {}
    schemas: dict[str, str] = {}
    connection.execute("BEGIN")
    with open_dump(dump, NEEDED.keys()) as reader:
        for copied in (table for table in reader.tables() if table.table in NEEDED):
            first = schemas.setdefault(copied.table, copied.schema)
            if copied.table in rows:
                of_one = f"in {first} and {copied.schema}: dump one with --schema"
                of_all = "perhaps because it is of pg_dumpall: dump one database with pg_dump"
                reader.fail(f"has the table {copied.table} twice, {of_all if copied.schema == first else of_one}")
            rows[copied.table] = max(0, _insert(connection, copied, reader, on_rows))
    for table, columns in _INDEXED.items():
        there = {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
        for column in there.intersection(columns):
            connection.execute(f'CREATE INDEX "{table}_{column}" ON "{table}" ("{column}")')
    connection.execute("ANALYZE")
    connection.execute("COMMIT")
    return rows


def _remove_hidden(connection: sqlite3.Connection, hidden_fields: AbstractSet[str] | None) -> int:
    """Remove the metadata that is never published: of hidden fields (rule 8), and of people; return how many values."""
    rows = connection.execute(
        "SELECT metadata_field_id, short_id, element, qualifier FROM metadatafieldregistry "
        "JOIN metadataschemaregistry USING (metadata_schema_id)"
    )
    fields = [(number, Field(*(name or "" for name in names))) for number, *names in rows]
    require_hidden_exist(hidden_fields or (), (field for _, field in fields))
    numbers = [
        number
        for number, field in fields
        if field != ENTITY_TYPE
        and (field.schema == _PEOPLE or (hidden_fields is not None and hidden(field, hidden_fields)))
    ]
    marks = ", ".join("?" * len(numbers))
    statement = f"DELETE FROM metadatavalue WHERE metadata_field_id IN ({marks})"  # noqa: S608 - question marks alone
    return connection.execute(statement, numbers).rowcount


def counted(things: Iterable[Thing], report: Callable[[int], None], step: int) -> Iterator[Thing]:
    """Yield things unchanged, and report after every `step` of them, and at the end, how many more there were."""
    number = 0
    for number, thing in enumerate(things, 1):
        yield thing
        if number % step == 0:
            report(step)
    report(number % step)
