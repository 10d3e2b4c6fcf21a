"""Commit ranges: the interval `(from, until]` that one Change List covers, and where one ends and the next begins.

There are no gaps between ranges. A range closes because a later change landed, never because time passed. A range
without changes gets no document: the `until` of the list before it covers it too (`CH06`, `AR06`). Only where there is
none before it, because nothing changed in the first period of a publication, a list without changes covers it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import EntryText, split_entries
from pelican_resourcesync.publication.model.history import Change, parse_change

_BEGIN, _END, _TAIL = b"  <url>\n", b"  </url>\n", b"</urlset>\n"
_CHUNK = 1 << 18  # bytes read at a time


class Calendar(NamedTuple):
    """Cuts at the beginning of each `period` (day, week from Monday, month, year) in UTC."""

    period: str

    def before(self, time: datetime) -> datetime:
        """Return the beginning of the period that contains `time`, which is never exactly on a boundary."""
        start = time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if self.period == "week":
            return start - timedelta(days=start.weekday())
        if self.period == "month":
            return start.replace(day=1)
        return start.replace(month=1, day=1) if self.period == "year" else start


class FixedBoundaries(NamedTuple):
    """Cuts at given times: those of tags, or of every nth commit."""

    times: Sequence[datetime]

    def before(self, time: datetime) -> datetime | None:
        """Return the last of the times before `time`, or `None` if there is none."""
        at = bisect_left(self.times, time)
        return self.times[at - 1] if at else None


#: The times at which ranges may be cut.
RangeBoundaries = Calendar | FixedBoundaries


class Body(NamedTuple):
    """Entries in a file: a draft, of which these are the bytes from `begin` to `end`, or a whole document of ours."""

    file: Path | BucketPath
    is_draft: bool
    begin: int = 0
    end: int | None = None

    def read(self) -> bytes:
        """Return the entries as they are written."""
        if self.is_draft:
            with self.file.open("rb") as stream:
                stream.seek(self.begin)
                return stream.read(-1 if self.end is None else self.end - self.begin)
        data = self.file.read_bytes()
        begin = data.find(_BEGIN)
        return data[begin : data.rindex(_TAIL)] if begin >= 0 else b""

    def batches(self) -> Iterator[list[EntryText]]:
        """Yield the entries, some thousands at a time. Raises `DocumentError` if they are not as written here."""
        if self.end is not None:
            yield split_entries(self.read().decode())
            return
        left = b""
        with self.file.open("rb") as stream:
            while data := stream.read(_CHUNK):
                left += data
                end = left.rfind(_END) + len(_END)
                if end >= len(_END):
                    yield split_entries(left[:end].decode())
                    left = left[end:]
        if left and not left.endswith(_TAIL):
            message = f"{self.file.name} was not written by this program"
            raise DocumentError(message)

    def entries(self) -> Iterator[EntryText]:
        """Yield the entries."""
        return chain.from_iterable(self.batches())


class Range(NamedTuple):
    """One commit range: its `start` (`from`), its `until` once it is closed, and where its changes are, in order.

    `counts` are the numbers of resources created, updated and deleted. `unchanged` ranges are as in the previous
    publication: their documents are kept, without being read.
    """

    start: datetime
    until: datetime | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    bodies: tuple[Body, ...] = ()
    unchanged: bool = False

    @property
    def closed(self) -> bool:
        """Whether the range has ended, so that its Change List never changes again (`X16`)."""
        return self.until is not None

    @property
    def changes(self) -> Iterator[Change]:
        """The changes, read from the files."""
        for each in self.bodies:
            yield from map(parse_change, each.entries())


class ChangePackage(NamedTuple):
    """A package of a Change Dump with the changes in `(start, until]`."""

    path: str
    start: datetime
    until: datetime


class DumpedRange(NamedTuple):
    """The time that one Change Dump covers: from `start` to `until`, once it is closed.

    `packages` exist already and never change; `new_changes` are the changes of each package still to be written. Ranges
    that are `unchanged` were closed by an earlier publication, and their document is kept as it is.
    """

    start: datetime
    until: datetime | None = None
    packages: tuple[ChangePackage, ...] = ()
    new_changes: tuple[tuple[Change, ...], ...] = ()
    unchanged: bool = False

    @property
    def closed(self) -> bool:
        """Whether the range has ended, so that its Change Dump never changes again (`X16`)."""
        return self.until is not None


def retain(ranges: Sequence[Range], keep: int | None) -> Sequence[Range]:
    """Return the ranges to keep: the last `keep` closed ones (all for `None`) and the open one.

    Only the oldest are removed, so there are still no gaps (`AR06`). The index and the archive list the same ranges, so
    they agree about the set (`CL06`).
    """
    closed = sum(each.closed for each in ranges)
    return ranges if keep is None else ranges[max(0, closed - keep) :]


def starts_of_closed(ranges: Iterable[Range | DumpedRange]) -> list[datetime]:
    """Return the starts of the ranges whose documents never change again, which are archived (AR)."""
    return [found.start for found in ranges if found.closed]


def latest(times: Iterable[datetime], keep: int | None) -> list[datetime]:
    """Return the times of the archived documents to keep: the last `keep`, or all for `None` (AR)."""
    ordered = sorted({*times})
    return ordered if keep is None else ordered[max(0, len(ordered) - keep) :]
