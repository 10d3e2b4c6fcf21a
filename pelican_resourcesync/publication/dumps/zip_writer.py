"""Write ZIP files member by member (`RD03`), with nothing in them that depends on the machine or the time of day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

#: The bytes of a member besides its data and its name, which is written twice: the headers with all extra fields.
MEMBER_SIZE = 30 + 20 + 46 + 28
#: The bytes at the end of a file.
END_SIZE = 22 + 56 + 20

_UNIX, _MODE = 3, 0o100644

_Moment = tuple[int, int, int, int, int, int]
_FIRST: _Moment = (1980, 1, 1, 0, 0, 0)
_LAST: _Moment = (2107, 12, 31, 23, 59, 58)


def most_packed(length: int) -> int:
    """Return the most bytes that `length` bytes take, stored or deflated.

    The limit of zlib itself is lower: the length, a 4,096th and a 16,384th of it, and 13 bytes.
    """
    return length + (length >> 10) + 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is known of a member before its bytes: name, length (bytes), time of change, whether to deflate it."""

    name: str
    length: int
    modified: datetime | None
    deflated: bool


class ZipWriter:
    """Writes a ZIP file to the beginning of a seekable stream; leaving the `with` block completes it.

    Times are in UTC and even seconds, permissions are 0644, and names are in UTF-8. ZIP64 is used only where the format
    requires it. The stream is left at its end.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Start at the beginning of the stream."""
        self._archive = ZipFile(stream, "w")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def add(self, member: Member, chunks: Iterable[bytes]) -> None:
        """Write a member, whose chunks must have exactly the length it states."""
        info = ZipInfo(member.name, _moment(member.modified))
        info.compress_type = ZIP_DEFLATED if member.deflated else ZIP_STORED
        info.create_system, info.external_attr = _UNIX, _MODE << 16
        info.file_size = member.length
        with self._archive.open(info, "w") as opened:
            for chunk in chunks:
                opened.write(chunk)


@lru_cache(maxsize=1_000)
def _moment(moment: datetime | None) -> _Moment:
    """Return a time in the format of ZIP, or the nearest possible one; cached, because many members share it."""
    if moment is None:
        return _FIRST
    year, month, day, hour, minute, second, *_ = moment.astimezone(UTC).timetuple()
    return min(max((year, month, day, hour, minute, second), _FIRST), _LAST)
