"""ZIP files out, a member after the other (`RD03`): `zipfile`, told all that would depend on machine or hour."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

#: What a member takes beside its name, twice, and its data: the headers with all their extra fields, in bytes.
MEMBER_SIZE = 30 + 20 + 46 + 28
#: What ends a file, in bytes.
END_SIZE = 22 + 56 + 20

_UNIX, _MODE = 3, 0o100644

_Moment = tuple[int, int, int, int, int, int]
_FIRST: _Moment = (1980, 1, 1, 0, 0, 0)
_LAST: _Moment = (2107, 12, 31, 23, 59, 58)


def most_packed(length: int) -> int:
    """Give the most bytes that `length` bytes take, stored or deflated.

    zlib promises less: a 4,096th and a 16,384th and 13 bytes more.
    """
    return length + (length >> 10) + 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is known of a member before its bytes: name, length (bytes), time of change, and how to pack it."""

    name: str
    length: int
    modified: datetime | None
    deflated: bool


class ZipWriter:
    """Writes a ZIP file to a seekable stream, at the beginning of it; the end of a `with` completes it.

    Times are in UTC and even seconds, permissions those of a file that all may read (0644), names in UTF-8; ZIP64 is
    used where the format has no other way. The stream is left at its end.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Begin at the stream's beginning."""
        self._archive = ZipFile(stream, "w")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def add(self, member: Member, chunks: Iterable[bytes]) -> None:
        """Write a member; there have to be as many bytes as it says."""
        info = ZipInfo(member.name, _moment(member.modified))
        info.compress_type = ZIP_DEFLATED if member.deflated else ZIP_STORED
        info.create_system, info.external_attr = _UNIX, _MODE << 16
        info.file_size = member.length
        with self._archive.open(info, "w") as opened:
            for chunk in chunks:
                opened.write(chunk)


@lru_cache(maxsize=1_000)
def _moment(moment: datetime | None) -> _Moment:
    """Give a time as ZIP has it, the nearest where it has not this one; many members share one."""
    if moment is None:
        return _FIRST
    year, month, day, hour, minute, second, *_ = moment.astimezone(UTC).timetuple()
    return min(max((year, month, day, hour, minute, second), _FIRST), _LAST)
