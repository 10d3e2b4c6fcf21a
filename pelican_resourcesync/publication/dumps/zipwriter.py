"""Write ZIP files as `zipfile` does, byte for byte, but faster, and also with members that are already deflated.

The format is that of APPNOTE 6.3.
"""

import struct
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self
from zlib import crc32

#: The methods of members.
STORED, DEFLATED = 0, 8
#: The header of a member: signature, version, flags, method, time, date, CRC-32, packed size, size, lengths of name and
#: extra fields.
HEADER = struct.Struct("<4s5H3L2H")
HEADER_SIGNATURE = b"PK\3\4"
#: The extra field of a header with 64 bits, which has the sizes: kind, length, size, packed size.
SIZES_64 = struct.Struct("<2H2Q")
#: The value of a field that has its true value in 64 bits.
IN_64, _IN_16 = 0xFFFFFFFF, 0xFFFF

_LISTED = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_LIMIT = (1 << 31) - 1  # larger numbers are written in 64 bits, although the format would allow twice as much
_MANY = (1 << 16) - 1  # more members are counted in 64 bits
_VERSION, _VERSION_64, _UNIX, _MODE, _UTF8, _KIND_64 = 20, 45, 3, 0o100644, 0x800, 1
_SMALL = 524_288  # bytes: a smaller member is packed in memory
_FIRST_YEAR, _LAST_YEAR = 1980, 2107


class Member(NamedTuple):
    """What is known of a member before its bytes: name, length (bytes), time of change, whether to deflate it."""

    name: str
    length: int
    modified: datetime | None
    deflated: bool


class ZipWriter:
    """Writes a ZIP file to an empty seekable stream; leaving the `with` block completes it.

    Times are in UTC and even seconds, permissions are 0644, and names are in UTF-8. ZIP64 is used only where `zipfile`
    would use it. The stream is left at its end.
    """

    __slots__ = ("_count", "_listed", "_offset", "_stream")

    def __init__(self, stream: BinaryIO) -> None:
        """Start at the beginning of the stream."""
        self._stream = stream
        self._offset = self._count = 0
        self._listed = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._stream.write(self._listed)
            self._stream.write(self._end())
            self._stream.flush()

    def add(self, member: Member, chunks: Iterable[bytes]) -> None:
        """Write a member, whose chunks must have exactly the length it states."""
        if member.length < _SMALL:
            data = b"".join(chunks)
            self.add_packed(member, crc32(data), _deflated(data) if member.deflated else data)
            return
        header, _ = _headers(member, 0, 0, self._offset)
        self._stream.write(header)
        begin = self._offset + len(header)
        crc, packed = self._write(chunks, deflated=member.deflated)
        header, listed = _headers(member, crc, packed, self._offset)
        self._stream.seek(self._offset)
        self._stream.write(header)
        self._stream.seek(begin + packed)
        self._list(listed, begin + packed)

    def add_packed(self, member: Member, crc: int, packed: bytes) -> None:
        """Write a member from its packed bytes: deflated, if it states so. `crc` is the CRC-32 of its bytes."""
        header, listed = _headers(member, crc, len(packed), self._offset)
        self._stream.write(header + packed)
        self._list(listed, self._offset + len(header) + len(packed))

    def _write(self, chunks: Iterable[bytes], *, deflated: bool) -> tuple[int, int]:
        """Write the bytes of a large member; return their CRC-32 and their packed size."""
        crc = packed = 0
        deflate = _deflate() if deflated else None
        for chunk in chunks:
            crc = crc32(chunk, crc)
            data = deflate.compress(chunk) if deflate else chunk
            packed += len(data)
            self._stream.write(data)
        rest = deflate.flush() if deflate else b""
        self._stream.write(rest)
        return crc, packed + len(rest)

    def _list(self, listed: bytes, end: int) -> None:
        """Add a member to the list at the end of the file; the next one begins at `end`."""
        self._listed += listed
        self._count += 1
        self._offset = end

    def _end(self) -> bytes:
        count, size, begin = self._count, len(self._listed), self._offset
        end = b""
        if count > _MANY or max(begin, size) > _LIMIT:
            end = _END_64.pack(b"PK\6\6", 44, _VERSION_64, _VERSION_64, 0, 0, count, count, size, begin)
            end += _LOCATOR_64.pack(b"PK\6\7", 0, begin + size, 1)
        count = min(count, _IN_16)
        return end + _END.pack(b"PK\5\6", 0, 0, count, count, min(size, IN_64), min(begin, IN_64), 0)


def _headers(member: Member, crc: int, packed: int, offset: int) -> tuple[bytes, bytes]:
    """Return the header of a member that begins at this offset, and its entry in the list of members."""
    name, size, modified, deflated = member
    data = name.encode()
    time, date = dos_time(modified)
    flags = 0 if len(data) == len(name) else _UTF8
    method = DEFLATED if deflated else STORED
    version, extra, sizes = _VERSION, b"", (packed, size)
    if size * 1.05 > _LIMIT:
        version, extra, sizes = _VERSION_64, SIZES_64.pack(_KIND_64, 16, size, packed), (IN_64, IN_64)
    header = HEADER.pack(
        HEADER_SIGNATURE, version, flags, method, time, date, crc, *sizes, len(data), len(extra)
    )  # fmt: skip
    header += data + extra
    sizes, extra = (packed, size), b""
    if size > _LIMIT or packed > _LIMIT or offset > _LIMIT:
        large: list[int] = []
        if size > _LIMIT or packed > _LIMIT:
            large, sizes = [size, packed], (IN_64, IN_64)
        if offset > _LIMIT:
            large, offset = [*large, offset], IN_64
        version, extra = _VERSION_64, struct.pack(f"<2H{len(large)}Q", _KIND_64, 8 * len(large), *large)
    listed = _LISTED.pack(
        b"PK\1\2", _UNIX << 8 | version, version, flags, method, time, date, crc, *sizes, len(data), len(extra),
        0, 0, 0, _MODE << 16, offset,
    )  # fmt: skip
    return header, listed + data + extra


def _deflate() -> "zlib._Compress":
    return zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)


def _deflated(data: bytes) -> bytes:
    deflate = _deflate()
    return deflate.compress(data) + deflate.flush()


def dos_time(moment: datetime | None) -> tuple[int, int]:
    """Return time and date in the format of ZIP, or the nearest possible ones."""
    if moment is None:
        return 0, 1 << 5 | 1
    moment = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return (0, 1 << 5 | 1) if moment.year < _FIRST_YEAR else (23 << 11 | 59 << 5 | 29, 127 << 9 | 12 << 5 | 31)
    return (
        moment.hour << 11 | moment.minute << 5 | moment.second // 2,
        (moment.year - _FIRST_YEAR) << 9 | moment.month << 5 | moment.day,
    )
