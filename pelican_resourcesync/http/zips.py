"""Read ZIP files that may mean harm: what they say of their members is checked before any is read."""

import stat
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, Self, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pelican_resourcesync.http.urls import is_plain

_ENCRYPTED, _PATCHED, _STRONGLY_ENCRYPTED = 0x1, 0x20, 0x40
_HEADER = 30  # bytes before each member, at least
_ENTRY = b"PK\1\2"  # how each entry of the list of members begins
_FAILURES = (BadZipFile, EOFError, OSError, OverflowError, RuntimeError, ValueError, struct.error, zlib.error)


class DamagedZipError(Exception):
    """Raised when a ZIP file or one of its members cannot be read; the message says why."""


class ZipLimitError(DamagedZipError):
    """Raised when more would have to be read than the limits allow, which need not be wrong."""


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
        self._limits = limits
        size = stream.seek(0, 2)
        self._left = min(limits.unpacked, max(limits.page, size * limits.ratio))
        try:
            self._zip = ZipFile(cast("BinaryIO", _LimitedStream(stream, limits)))
        except _FAILURES as error:
            raise _damaged(error) from error
        self._zip.fp = stream
        listed = self._zip.infolist()
        if not all(0 <= member.header_offset <= size for member in listed):
            message = "a member lies outside the file"
            raise DamagedZipError(message)
        self.names = [member.filename for member in listed if not member.filename.endswith("/")]
        self.twice = {name for name, count in Counter(member.filename for member in listed).items() if count > 1}
        self._overlapping = _overlapping(listed)

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def problem(self, name: str) -> str:
        """Return why a member must not be read, according to the ZIP file's own metadata, or an empty string."""
        member, problem = self._zip.NameToInfo.get(name), ""
        if member is None or name.endswith("/"):
            problem = "names no member of the package"
        elif name in self._overlapping:
            problem = "names a member that overlaps another"
        elif not is_plain(name):
            problem = "names a member that is not safe in a folder"
        elif stat.S_ISLNK(member.external_attr >> 16):
            problem = "names a member that is a symbolic link"
        elif member.flag_bits & (_ENCRYPTED | _STRONGLY_ENCRYPTED):
            problem = "names a member that is encrypted"
        elif member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or member.flag_bits & _PATCHED:
            problem = "names a member that has an unsupported compression method"
        return problem or self.excess(name)

    def excess(self, name: str) -> str:
        """Return why a member is not read because of the limits alone, or an empty string."""
        member, limits = self._zip.NameToInfo.get(name), self._limits
        if member and member.file_size > min(limits.member_size, self._left):
            return f"names a member that has {member.file_size:,} bytes, too many to unpack"
        if member and member.file_size > max(limits.page, member.compress_size * limits.ratio):
            return f"names a member that would grow to more than {limits.ratio} times its size"
        return ""

    def read(self, name: str, most: int) -> bytes | None:
        """Return a whole member; None if it has more than so many bytes."""
        if self._zip.NameToInfo[name].file_size > most:
            return None
        with self.open(name) as stream:
            return stream.read()

    def open(self, name: str) -> BinaryIO:
        """Open a member, for a `with` statement. The bytes read from all members count towards one limit."""
        listed = self._zip.NameToInfo[name]
        if listed.file_size > self._left:
            message = "its members have too many bytes to unpack"
            raise DamagedZipError(message)
        try:
            stream = self._zip.open(listed)
        except _FAILURES as error:
            raise _damaged(error) from error
        return cast("BinaryIO", _Member(stream, listed.file_size, self._spend))

    def _spend(self, length: int) -> None:
        self._left -= length


class _Member:
    """A member of a ZIP file while it is read."""

    def __init__(self, stream: IO[bytes], size: int, spend: Callable[[int], None]) -> None:
        self._stream, self._size, self._spend = stream, size, spend
        self._length = 0

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end. Raises `DamagedZipError` unless the member is as it is listed."""
        size = self._size - self._length + 1 if size < 0 else size
        try:
            data = self._stream.read(size)
        except _FAILURES as error:
            raise _damaged(error) from error
        self._length += len(data)
        if len(data) < size and self._length != self._size:
            message = "it is shorter than stated"
            raise DamagedZipError(message)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spend(self._length)


class _LimitedStream:
    """A stream from which no list of members is read that is too long: `ZipFile` reads it in one piece."""

    def __init__(self, stream: BinaryIO, limits: ZipLimits) -> None:
        self._stream, self._limits = stream, limits

    def read(self, size: int = -1) -> bytes:
        limits = self._limits
        if size > limits.directory:
            message = f"its list of members has more than {limits.directory:,} bytes"
            raise ZipLimitError(message)
        data = self._stream.read(size)
        if size >= 0 and data.count(_ENTRY) > limits.members:
            message = f"it has more than {limits.members:,} members"
            raise ZipLimitError(message)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _overlapping(listed: list[ZipInfo]) -> set[str]:
    """Return the names of the members that overlap, based on the minimum size of each."""
    found: set[str] = set()
    last, end = "", -1
    for member in sorted(listed, key=lambda member: member.header_offset):
        if member.header_offset < end:
            found |= {last, member.filename}
        if member.header_offset + _HEADER + member.compress_size > end:
            last, end = member.filename, member.header_offset + _HEADER + member.compress_size
    return found


def _damaged(error: Exception) -> DamagedZipError:
    """Return what `zipfile` raised as an error that says what is wrong."""
    match error:
        case UnicodeDecodeError():
            return DamagedZipError("the name of a member is not in UTF-8")
        case OSError(strerror=str(reason)):
            return DamagedZipError(reason)
        case BadZipFile():
            return DamagedZipError(str(error).removesuffix("."))
    return DamagedZipError("it cannot be unpacked")
