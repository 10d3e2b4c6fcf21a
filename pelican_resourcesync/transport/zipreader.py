"""Read ZIP files that may mean harm: members are inspected before they are read, and read within limits.

Of a member, only what is needed to find and to judge it is kept, so that the list of 50,000 members takes a few
megabytes. A member is stored or deflated; its name, size and checksum are those that the list of members gives.
"""

import stat
import struct
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from pelican_resourcesync.transport.urls import is_plain

_STORED, _DEFLATED = 0, 8  # the output of other methods cannot be limited while unpacking
_ENCRYPTED, _PATCHED, _STRONGLY_ENCRYPTED, _UTF8 = 0x1, 0x20, 0x40, 0x800
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_LISTED = struct.Struct("<4s4B4HL2L5H2L")
_HEADER = struct.Struct("<4s5H3L2H")
_COMMENT = 65_535  # bytes of the longest comment
_MANY, _MANY_64 = 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF
_BLOCK = 65_536
_SHARE = 32  # bytes: each member takes more than twice as many, so that each can be read twice
_FREE = 1_000


class DamagedZipError(Exception):
    """Raised when a ZIP file or one of its members cannot be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipLimits:
    """How much is read from a ZIP file; sizes are in bytes, after unpacking.

    `directory` limits the size of the member list, `members` the number of members, `member_size` one member, and
    `unpacked` everything that is read. `ratio` limits how much larger than its compressed bytes a member, or everything
    read from a file, may be; up to `page` bytes it may be more.
    """

    directory: int = 16_000_000
    members: int = 100_000
    member_size: int = 2_000_000_000
    unpacked: int = 16_000_000_000
    ratio: int = 200
    page: int = 1_048_576


class ZipReader:
    """An open ZIP file. Raises `DamagedZipError` for a stream that is not a ZIP file.

    `names` are those of its members, `twice` those that several members have; of these, the last is read.
    """

    def __init__(self, stream: BinaryIO, limits: ZipLimits) -> None:
        self._stream, self._limits = stream, limits
        self._size = stream.seek(0, 2)
        self._left = min(limits.unpacked, max(limits.page, self._size * limits.ratio))
        self._times = _FREE + self._size // _SHARE
        self._numbers: dict[str, int] = {}
        self._offsets, self._packed, self._sizes = array("Q"), array("Q"), array("Q")
        self._sums, self._attributes = array("I"), array("I")
        self._methods, self._flags = array("H"), array("H")
        self.names: list[str] = []
        self.twice: set[str] = set()
        self._read_list()
        self._overlapping = self._overlaps()

    def problem(self, name: str) -> str:
        """Return why a member must not be read, according to the ZIP file's own metadata, or an empty string."""
        number = self._numbers.get(name)
        if number is None or name.endswith("/"):
            return "names no member of the package"
        if number in self._overlapping:
            return "names a member that overlaps another"
        if not self._times:
            return "names a member, as so many do that this is read no more"
        return self._suspicion(name, number)

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def size(self, name: str) -> int:
        """Return the length of a member after unpacking."""
        return int(self._sizes[self._numbers[name]])

    def read(self, name: str, most: int) -> bytes | None:
        """Return a whole member, as `open` does; None if it has more than so many bytes."""
        if self.size(name) > most:
            return None
        self._count(name)
        member = _Member(self._stream, *self._find(name))
        data = member.read(most + 1)
        self._left -= len(data)
        return data

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member as a stream, whose `read` raises `DamagedZipError` unless it is as it is listed.

        The bytes read from all members count towards one limit.
        """
        self._count(name)
        member = _Member(self._stream, *self._find(name))
        try:
            yield cast("BinaryIO", member)
        finally:
            self._left -= member.length

    def _count(self, name: str) -> None:
        if self._times <= 0 or self.size(name) > self._left:
            message = "it is one of so many that this is read no more"
            raise DamagedZipError(message)
        self._times -= 1

    def _suspicion(self, name: str, number: int) -> str:
        size, limits, problem = self._sizes[number], self._limits, ""
        if not is_plain(name):
            problem = "names a member that no folder could hold under that name"
        elif stat.S_ISLNK(self._attributes[number] >> 16):
            problem = "names a member that is a symbolic link"
        elif self._flags[number] & (_ENCRYPTED | _STRONGLY_ENCRYPTED):
            problem = "names a member that is encrypted"
        elif self._methods[number] not in (_STORED, _DEFLATED) or self._flags[number] & _PATCHED:
            problem = "names a member that is neither stored nor deflated, which is not unpacked"
        elif size > min(limits.member_size, self._left):
            problem = f"names a member of {size:,} bytes, which is not unpacked"
        elif size > max(limits.page, self._packed[number] * limits.ratio):
            problem = f"names a member that would grow more than {limits.ratio} times, which is not unpacked"
        return problem

    # The list of members

    def _read_list(self) -> None:
        end, size, offset = self._read_end()
        begin = end - size
        shift = begin - offset  # bytes before the file, such as a program that unpacks it
        if begin < 0:
            message = "its list of members would begin before the file"
            raise DamagedZipError(message)
        if size > self._limits.directory:
            message = f"its list of members has more than {self._limits.directory:,} bytes"
            raise DamagedZipError(message)
        data = self._read(begin, size)
        place = 0
        while place < len(data):
            place = self._read_listed(data, place, shift)

    def _read_end(self) -> tuple[int, int, int]:
        """Return where the list of members ends, its size, and where it is said to begin."""
        begin = max(0, self._size - _COMMENT - _END.size)
        tail = self._read(begin, self._size - begin)
        found = tail.rfind(b"PK\5\6")
        if found < 0 or len(tail) - found < _END.size:
            message = "it has no end of a ZIP file"
            raise DamagedZipError(message)
        *_, size, offset, _ = _END.unpack_from(tail, found)
        end = begin + found
        before = end - _LOCATOR_64.size - _END_64.size
        if before >= 0:
            both = self._read(before, _END_64.size + _LOCATOR_64.size)
            if both.startswith(b"PK\6\6") and both[_END_64.size :].startswith(b"PK\6\7"):
                *_, size, offset = _END_64.unpack_from(both)
                end = before
        return end, size, offset

    def _read_listed(self, data: bytes, place: int, shift: int) -> int:
        """Read an entry of the list of members; return where the next begins."""
        try:
            (signature, _, _, _, _, flags, method, _, _, crc, packed, size, name_size, extra_size, comment_size, _, _,
             attributes, offset) = _LISTED.unpack_from(data, place)  # fmt: skip
        except struct.error:
            signature = b""
        if signature != b"PK\1\2":
            message = "its list of members is cut or damaged"
            raise DamagedZipError(message)
        begin = place + _LISTED.size
        extra = data[begin + name_size : begin + name_size + extra_size]
        end: int = begin + name_size + extra_size + comment_size
        if end > len(data):
            message = "its list of members is cut or damaged"
            raise DamagedZipError(message)
        size, packed, offset = _extended(extra, size, packed, offset)
        offset += shift
        if not 0 <= offset <= self._size or max(size, packed) > _MANY_64:
            message = "a member would lie outside the file"
            raise DamagedZipError(message)
        if len(self.names) >= self._limits.members:
            message = f"it has more than {self._limits.members:,} members"
            raise DamagedZipError(message)
        self._add(_decoded(data[begin : begin + name_size], flags), offset, packed, size)
        self._sums.append(crc)
        self._attributes.append(attributes)
        self._methods.append(method)
        self._flags.append(flags)
        return end

    def _add(self, name: str, offset: int, packed: int, size: int) -> None:
        if name in self._numbers:
            self.twice.add(name)
        self._numbers[name] = len(self._offsets)
        if not name.endswith("/"):
            self.names.append(name)
        self._offsets.append(offset)
        self._packed.append(packed)
        self._sizes.append(size)

    def _overlaps(self) -> set[int]:
        """Return the members that overlap, based on the minimum size of each."""
        found: set[int] = set()
        last, end = -1, -1
        for number in sorted(range(len(self._offsets)), key=self._offsets.__getitem__):
            begin = self._offsets[number]
            if begin < end:
                found |= {last, number}
            if begin + _HEADER.size + self._packed[number] > end:
                last, end = number, begin + _HEADER.size + self._packed[number]
        return found

    # A member

    def _find(self, name: str) -> tuple[int, int, int, int, int]:
        """Return where the bytes of a member begin, how many there are, their method, and its size and checksum."""
        number = self._numbers[name]
        offset = self._offsets[number]
        header = self._read(offset, _HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(b"PK\3\4"):
            message = "it is not where it is said to be"
            raise DamagedZipError(message)
        _, _, flags, *_, name_size, extra_size = _HEADER.unpack(header)
        if _decoded(self._stream.read(name_size), flags) != name:
            message = "it has another name where it lies than in the list"
            raise DamagedZipError(message)
        begin = offset + _HEADER.size + name_size + extra_size
        return begin, self._packed[number], self._methods[number], self._sizes[number], self._sums[number]

    def _read(self, offset: int, size: int) -> bytes:
        try:
            self._stream.seek(offset)
            return self._stream.read(size)
        except OSError as error:
            raise DamagedZipError(error.strerror or "it cannot be read") from error


def _extended(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Return the sizes and the offset of a member, from its extra field if they are too large for the list."""
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        field = extra[place + 4 : place + 4 + length]
        if len(field) < length:
            message = "an extra field of its list of members is cut"
            raise DamagedZipError(message)
        if kind == 1:
            values = iter(struct.unpack_from(f"<{length // 8}Q", field))
            try:
                size = next(values) if size == _MANY else size
                packed = next(values) if packed == _MANY else packed
                offset = next(values) if offset == _MANY else offset
            except StopIteration:
                message = "an extra field of its list of members is cut"
                raise DamagedZipError(message) from None
        place += 4 + length
    return size, packed, offset


def _decoded(name: bytes, flags: int) -> str:
    try:
        return name.decode("utf-8" if flags & _UTF8 else "cp437").partition("\0")[0]
    except UnicodeDecodeError:
        message = "a name is not in UTF-8"
        raise DamagedZipError(message) from None


class _Member:
    """A member while it is read; `length` counts the bytes."""

    def __init__(self, stream: BinaryIO, begin: int, packed: int, method: int, size: int, crc: int) -> None:  # noqa: PLR0913, PLR0917 - from `_find` alone
        self._stream, self._place, self._packed = stream, begin, packed
        self._engine = zlib.decompressobj(-15) if method == _DEFLATED else None
        self._size, self._crc, self._sum = size, crc, 0
        self._done = False
        self.length = 0

    def read(self, size: int = -1) -> bytes:
        """Return up to so many bytes, nothing at the end."""
        if self._done:
            return b""
        size = self._size - self.length + 1 if size < 0 else size
        found = self._next(size)
        blocks = [found]
        length = len(found)
        while found and length < size:
            found = self._next(size - length)
            length += len(found)
            blocks.append(found)
        data = blocks[0] if len(blocks) == 1 else b"".join(blocks)
        self.length += length
        self._sum = zlib.crc32(data, self._sum)
        if self.length > self._size:
            message = "it is longer than it is said to be"
            raise DamagedZipError(message)
        if not found and size:
            self._finish()
        return data

    def _next(self, most: int) -> bytes:
        """Return some bytes, at most so many."""
        engine = self._engine
        try:
            if engine is None:
                return self._raw(most)
            data = b""
            while not data and not engine.eof and most:
                taken = engine.unconsumed_tail or self._raw(_BLOCK)
                data = engine.decompress(taken, most)
                if not taken and not data:
                    message = "it is cut"
                    raise DamagedZipError(message)
        except zlib.error as error:
            message = "it cannot be unpacked"
            raise DamagedZipError(message) from error
        except OSError as error:
            raise DamagedZipError(error.strerror or "it cannot be read") from error
        return data

    def _raw(self, most: int) -> bytes:
        self._stream.seek(self._place)
        data = self._stream.read(min(most, self._packed))
        self._place += len(data)
        self._packed -= len(data)
        return data

    def _finish(self) -> None:
        """Raise `DamagedZipError` unless the whole member is as it is listed."""
        if self.length != self._size:
            message = "it is shorter than it is said to be"
            raise DamagedZipError(message)
        if self._sum != self._crc:
            message = "its checksum is another"
            raise DamagedZipError(message)
        self._done = True
