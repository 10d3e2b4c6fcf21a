"""Reads PostgreSQL dumps without a server: the rows of tables in a plain script, which `pg_restore` makes of others.

A plain script is what `pg_dump` writes, compressed with gzip or not. Rows are in the text format of `COPY`.
"""

import gzip
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from repo_bridge.errors import DumpError

_CUSTOM = b"PGDMP"
_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"(\xb5/\xfd": "compressed with zstd",
    b'\x04"M\x18': "compressed with lz4",
    b"PK\x03\x04": "a ZIP file",
    b"SQLite format 3\0": "a database of SQLite, which needs no import",
}
_FIRST = 512

_END = b"\\."

#: The longest row accepted, in bytes.
_LONGEST_ROW = 64 * 1024 * 1024

#: The last line that `pg_dump` and `pg_restore` write to a script.
_COMPLETE = b"-- PostgreSQL database dump complete"

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


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of one table: its schema, its name, its columns in order, and each row as a line without its ending."""

    schema: str
    table: str
    columns: Sequence[str]
    lines: Iterator[bytes]


@contextmanager
def open_dump(file: Path, tables: Collection[str]) -> Iterator["Dump"]:
    """Open a dump, plain or in custom format, to read some tables; raise `DumpError` for any other file."""
    with ExitStack() as stack:
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
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or "it is cut short or damaged: make the dump again"
            message = f"{file} cannot be read: {reason}"
            raise DumpError(message) from error


def _require_plain(first: bytes, file: Path) -> None:
    what = next((what for magic, what in _OTHERS.items() if first.startswith(magic)), None)
    if what is None and first.startswith(_CUSTOM):
        what = "in custom format, compressed with gzip once more"
    if what is None and first[257:262] == b"ustar":
        what = "in tar format"
    if what is None and b"\0" in first:
        what = "no dump"
    if what is not None:
        message = f"{file} is {what}: dump with --format=plain (which may be compressed with gzip) or --format=custom"
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
    command = [program, "--file=-", "--data-only", *(f"--table={each}" for each in tables), str(file.absolute())]
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

    def tables(self) -> Iterator[TableRows]:
        """Yield each table with its rows, which must be read before the next table.

        Raises `DumpError` if the script is truncated, or has rows as INSERT statements.
        """
        closing, before, found = b"", 0, False
        for line in self._lines():
            before += 0 if found else len(line)
            if before > _MOST_BEFORE_TABLES:
                self.fail(f"has no table in its first {_MOST_BEFORE_TABLES:,} bytes: is it a dump of a whole database?")
            if not closing:
                self._notice(line)
                copied = parse_head(line, self._rows())
                if copied is not None:
                    found = True
                    yield copied
                    for _ in copied.lines:
                        pass
                    continue
            closing = _open_after(line, closing)
        if not self._complete:
            self.fail("is cut short: its last line is not there; dump again")

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
        for line in self._lines():
            row = line.rstrip(b"\r\n") if line.startswith(_END) else line.removesuffix(b"\n")
            if row == _END:
                return
            yield row
        self.fail("is cut short in the middle of a table: dump again")

    def _lines(self) -> Iterator[bytes]:
        while line := self._stream.readline(_LONGEST_ROW):
            self._number += 1
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


def parse_row(line: bytes) -> list[bytes | None]:
    r"""Parse the fields of a row; `\N` is `None`. Raises `DumpError` for an incomplete escape."""
    fields = line.split(b"\t")
    if b"\\" not in line:
        return [*fields]
    return [None if field == b"\\N" else _unescaped(field) for field in fields]


def _unescaped(field: bytes) -> bytes:
    if b"\\" not in field:
        return field
    plain = _ESCAPE.sub(_character, field)
    if field.endswith(b"\\") and (len(field) - len(field.rstrip(b"\\"))) % 2:
        message = "a row ends in the middle of an escape"
        raise DumpError(message)
    return plain


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
