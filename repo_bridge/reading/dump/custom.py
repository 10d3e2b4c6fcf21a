"""Dumps in custom format: a table of contents, then blocks of compressed rows, read from beginning to end.

The blocks follow the table of contents without a gap, so no offsets are needed. A dump that was written to a pipe has
none.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NoReturn

from repo_bridge.errors import DumpError
from repo_bridge.reading.dump.copy_format import END, LONGEST_ROW, TableRows, parse_head

MAGIC = b"PGDMP"

_OLDEST, _NEWEST = (1, 12), (1, 16)
_WITH_ACCESS_METHOD, _WITH_ALGORITHM, _WITH_KIND = (1, 14), (1, 15), (1, 16)
_CUSTOM = 1
_WIDTHS = frozenset(range(1, 9))  # of integers and offsets, in bytes
_NO_DATA = 3
_NONE, _GZIP = 0, 1
_ROWS, _LARGE_OBJECTS = 1, 3
_TABLE_DATA = b"TABLE DATA"
_LONGEST_TEXT = 16 * 1024 * 1024
_LONGEST_CONTENTS = 256 * 1024 * 1024
_MOST_ENTRIES = 1_000_000
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the table of contents that is needed: the rows of a table."""

    number: int
    table: str
    statement: bytes


class CustomDump:
    """A dump in custom format, read from beginning to end; `encoding` is the one that the dump declares."""

    def __init__(self, stream: BinaryIO, name: str, tables: frozenset[str]) -> None:
        """Start after the magic number. Messages call the dump `name`; rows of tables not in `tables` are skipped."""
        self.encoding = "UTF8"
        self._stream = stream
        self._name = name
        self._tables = tables
        self._compressed = False
        self._text_size = 0
        self._version = _OLDEST
        self._integer, self._offset = 4, 8

    def tables(self) -> Iterator[TableRows]:
        """Yield each table with its rows, which must be read before the next table.

        Raises `DumpError` if the dump is truncated, damaged, of an unknown version, or compressed with an unsupported
        algorithm.
        """
        self._read_head()
        wanted = {entry.number: entry for entry in self._entries()}
        while wanted and (kind := self._stream.read(1)):
            number = self._read_integer()
            if kind[0] == _LARGE_OBJECTS:
                self._skip_large_objects()
            elif kind[0] != _ROWS:
                self.fail(f"is damaged: it has a block of the kind {kind[0]}")
            elif number in wanted:
                yield from self._copied(wanted.pop(number))
            else:
                for _ in self._chunks():
                    pass
        if wanted:
            self.fail("is cut short: rows of tables are missing; dump again")

    def fail(self, what: str) -> NoReturn:
        """Raise a `DumpError` that says what is wrong with the dump."""
        message = f"{self._name} {what}"
        raise DumpError(message)

    def _copied(self, entry: _Entry) -> Iterator[TableRows]:
        copied = parse_head(entry.statement, self._rows())
        if copied is None or copied.table != entry.table:
            self.fail("has INSERT statements, or rows in another form: dump without --inserts")
        yield copied
        for _ in copied.lines:
            pass

    def _read_head(self) -> None:
        major, minor, _revision, self._integer, self._offset, form = self._read(6)
        self._version = (major, minor)
        if not _OLDEST <= self._version <= _NEWEST:
            self.fail(f"is in archive format {major}.{minor}, which is not known: dump with --format=plain")
        if form != _CUSTOM or not {self._integer, self._offset} <= _WIDTHS:
            self.fail("is not a dump in custom format: dump with --format=plain")
        algorithm = self._read(1)[0] if self._version >= _WITH_ALGORITHM else int(self._read_integer() != 0)
        if algorithm not in {_NONE, _GZIP}:
            self.fail("is compressed with lz4 or zstd: dump with --compress=gzip, or with --format=plain")
        self._compressed = algorithm == _GZIP
        for _part_of_its_time in range(7):
            self._read_integer()
        for _name_and_versions in range(3):
            self._read_text()

    def _entries(self) -> Iterator[_Entry]:
        """Read the table of contents and yield the entries needed."""
        count = self._read_integer()
        if not 0 <= count <= _MOST_ENTRIES:
            self.fail(f"is damaged: it counts {count} entries")
        for _ in range(count):
            entry = self._read_entry()
            if entry is not None:
                yield entry

    def _read_entry(self) -> _Entry | None:
        number = self._read_integer()
        self._read_integer()
        _oid, _of, tag, kind = (self._read_text() for _ in range(4))
        self._read_integer()
        definition, _drop, statement = (self._read_text() for _ in range(3))
        for _ in range(2 + (self._version >= _WITH_ACCESS_METHOD)):
            self._read_text()
        if self._version >= _WITH_KIND:
            self._read_integer()
        self._read_text()
        self._read_text()
        while self._read_text():
            pass
        has_rows = self._read(1 + self._offset)[0] != _NO_DATA
        if kind == b"ENCODING" and definition.count(b"'") > 1:
            self.encoding = definition.split(b"'")[1].decode(errors="replace")
        table = tag.decode(errors="replace")
        wanted = kind == _TABLE_DATA and table in self._tables and has_rows
        return _Entry(number, table, statement) if wanted else None

    def _rows(self) -> Iterator[bytes]:
        """Yield the rows of the block that begins here."""
        begun: list[bytes] = []
        length, ended = 0, False
        for piece in self._pieces():
            first, *more = piece.split(b"\n")
            begun.append(first)
            length += len(first)
            if length > LONGEST_ROW:
                self.fail(f"has a row longer than {LONGEST_ROW:,} bytes")
            for line in more:
                row, begun, length = b"".join(begun), [line], len(line)
                ended = ended or row == END
                if not ended:
                    yield row
        if not ended:
            self.fail("is cut short in the middle of a table: dump again")

    def _pieces(self) -> Iterator[bytes]:
        """Yield the decompressed bytes of a block, a limited number at a time."""
        inflate = zlib.decompressobj()
        for chunk in self._chunks():
            if not self._compressed:
                yield chunk
                continue
            rest = chunk
            while rest:
                try:
                    yield inflate.decompress(rest, _PIECE)
                except zlib.error:
                    self.fail("is damaged: its rows do not decompress")
                rest = inflate.unconsumed_tail

    def _chunks(self) -> Iterator[bytes]:
        """Yield the chunks of a block as stored."""
        while length := self._read_integer():
            yield self._read(length)

    def _skip_large_objects(self) -> None:
        while self._read_integer():
            for _ in self._chunks():
                pass

    def _read_integer(self) -> int:
        sign, *digits = self._read(1 + self._integer)
        value = int.from_bytes(digits, "little")
        return -value if sign else value

    def _read_text(self) -> bytes:
        length = max(0, self._read_integer())
        self._text_size += length
        if self._text_size > _LONGEST_CONTENTS:
            self.fail(f"is damaged: its table of contents is longer than {_LONGEST_CONTENTS:,} bytes")
        return self._read(length)

    def _read(self, length: int) -> bytes:
        if not 0 <= length <= _LONGEST_TEXT:
            self.fail(f"is damaged: something in it has a length of {length}")
        data = self._stream.read(length)
        if len(data) < length:
            self.fail("is cut short: dump again")
        return data
