"""Plain dumps: a script of SQL with the rows of tables in it."""

import re
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from repo_bridge.dump.copy_text import END, LONGEST_ROW, Copied, parse_head
from repo_bridge.errors import DumpError

#: What `pg_dump` ends its scripts with.
_COMPLETE = b"-- PostgreSQL database dump complete"

_ENCODING = re.compile(rb"SET client_encoding = '([^']*)';")
_INSERT = re.compile(rb'INSERT INTO (?:[^\s."]+\.|"[^"]*"\.)?"?(\w+)"?[\s(]')
#: What begins a text in which a statement is no statement.
_OPENING = re.compile(rb"--|'|\"|/\*|\$[A-Za-z0-9_]*\$")


class PlainDump:
    """A script that is read from its beginning to its end; `encoding` is what it says, as far as it was read."""

    def __init__(self, stream: BinaryIO, name: str, tables: frozenset[str]) -> None:
        """Begin; messages call the script `name`. Rows of other tables than `tables` are passed over."""
        self.encoding = "UTF8"
        self._stream = stream
        self._name = name
        self._tables = tables
        self._number = 0
        self._complete = False

    def tables(self) -> Iterator[Copied]:
        """Give each table with its rows, which are to be taken before the next.

        Raises `DumpError` where the script is cut short, or has rows as INSERT statements.
        """
        closing = b""
        for line in self._lines():
            if not closing:
                self._notice(line)
                copied = parse_head(line, self._rows())
                if copied is not None:
                    yield copied
                    for _ in copied.lines:
                        pass
                    continue
            closing = _open_after(line, closing)
        if not self._complete:
            self.fail("is cut short: its last line is not there; dump again")

    def fail(self, what: str) -> NoReturn:
        """Raise the `DumpError` that says what is wrong with the dump, and where."""
        message = f"{self._name}, line {self._number}, {what}"
        raise DumpError(message)

    def _notice(self, line: bytes) -> None:
        """Take note of what is said beside rows."""
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
    """Tell what will close the text that is still open at the end of a line; nothing where none is."""
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
