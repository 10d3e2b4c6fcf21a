"""From rows of files to values: a row for each title and each policy that a file has."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from repo_bridge.discretion import Period, View, closed, opened, readable
from repo_bridge.model import Bitstream, HiddenBitstream
from repo_bridge.reading.follower import Row
from repo_bridge.reading.queries import Key

_MD5 = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*", re.ASCII)
_LAST = 10**9


class _FileRow(NamedTuple):
    """One row, as `Queries.bitstreams` asks for it."""

    item: Key
    key: Key
    bundle: str
    order: int | None
    title_place: int | None
    title_number: int | None
    title: str | None
    sequence_id: int | None
    size_bytes: int | None
    checksum: str | None
    checksum_algorithm: str | None
    mimetype: str | None
    store_number: int | None
    internal_id: str | None
    action_id: int | None
    start_date: str | None
    end_date: str | None


@dataclass(slots=True)
class File:
    """A file of an item, from all its rows: the first in the order of files, its title, and when it may be read."""

    row: _FileRow
    place: tuple[int, int]
    title: tuple[int, int, str] | None = None
    periods: set[Period] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The first title."""
        return self.title[2] if self.title else ""

    def add(self, row: _FileRow, place: tuple[int, int]) -> None:
        """Take in another row."""
        if place < self.place:
            self.row, self.place = row, place
        if row.title is not None:
            title = row.title_place or 0, row.title_number or 0, row.title
            self.title = min(self.title or title, title)
        if row.action_id is not None:
            self.periods.add(Period.parse(row.start_date, row.end_date))

    def is_public(self, view: View) -> bool:
        """Whether everybody may read it today, where its item is public (rule 6)."""
        return readable(self.periods, view.today)

    def publish(self, view: View) -> Bitstream:
        """Make the value of a file that is public."""
        row = self.row
        return Bitstream(
            id=str(row.key),
            name=self.name,
            bundle=row.bundle,
            sequence_id=row.sequence_id,
            length=_length(row.size_bytes) if view.fingerprints else None,
            md5=md5_of(row.checksum, row.checksum_algorithm) if view.fingerprints else None,
            type=media_type_of(row.mimetype),
            store_number=row.store_number,
            internal_id=row.internal_id,
            opened=opened([*self.periods], view),
        )

    def hide(self, view: View) -> HiddenBitstream:
        """Make the value of a file that is not public."""
        return HiddenBitstream(
            id=str(self.row.key),
            name=self.name,
            sequence_id=self.row.sequence_id,
            closed=closed(self.periods, view),
        )


def files_of(rows: Iterable[Row], view: View) -> list[File]:
    """Give the files that the rows of one item tell, each once, in the order of the bundles asked for and in theirs."""
    places = {bundle: place for place, bundle in enumerate(view.bundles)}
    files: dict[Key, File] = {}
    for each in rows:
        row = _FileRow(*each)
        place = places[row.bundle], _LAST if row.order is None else row.order
        files.setdefault(row.key, File(row, place)).add(row, place)
    return sorted(files.values(), key=lambda file: (file.place, file.row.key))


def md5_of(checksum: str | None, algorithm: str | None) -> str | None:
    """Rule 16: give the MD5 (hexadecimal), where the checksum is one."""
    if checksum is None or algorithm is None or algorithm.strip().upper() != "MD5":
        return None
    return checksum.lower() if _MD5.fullmatch(checksum) else None


def media_type_of(text: str | None) -> str | None:
    """Give a media type without its parameters; `None` for what is none."""
    bare = (text or "").partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else None


def _length(size: int | None) -> int | None:
    return size if size is not None and size >= 0 else None
