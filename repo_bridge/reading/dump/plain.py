"""Plain dumps: an SQL script that contains the rows of tables."""

import re
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from repo_bridge.errors import DumpError
from repo_bridge.reading.dump.copy_format import END, LONGEST_ROW, TableRows, parse_head

#: The last line that `pg_dump` writes to a script.
_COMPLETE = b"-- PostgreSQL database dump complete"

#: A script that goes on for so many bytes without rows is not a dump that can be used.
_MOST_BEFORE_TABLES = 256 * 1024 * 1024

_ENCODING = re.compile(rb"SET client_encoding = '([^']*)';")
_INSERT = re.compile(rb'INSERT INTO (?:[^\s."]+\.|"[^"]*"\.)?"?(\w+)"?[\s(]')
#: What begins a comment or quoted text, in which nothing is a statement.
_OPENING = re.compile(rb"--|'|\"|/\*|\$[A-Za-z0-9_]*\$")


class PlainDump:
    """A script, read from beginning to end; `encoding` is the one declared in the part read so far."""

    def __init__(self, stream: BinaryIO, name: str, tables: frozenset[str]) -> None:
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
            row = line.rstrip(b"\r\n") if line.startswith(END) else line.removesuffix(b"\n")
            if row == END:
                return
            yield row
        self.fail("is cut short in the middle of a table: dump again")

    def _lines(self) -> Iterator[bytes]:
        while line := self._stream.readline(LONGEST_ROW):
            self._number += 1
            if len(line) == LONGEST_ROW:
                self.fail(f"is longer than {LONGEST_ROW:,} bytes")
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
