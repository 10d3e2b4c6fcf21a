"""From rows of files to values: there is a row for each title and each policy of a file."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from repo_bridge.access import AnonymousView, Period, closed, opened, readable
from repo_bridge.model import Bitstream, HiddenBitstream
from repo_bridge.reading.execution import Row
from repo_bridge.reading.statements import Key

_MD5 = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*", re.ASCII)
_LAST = 10**9

#: Positions, in a row of `Statements.bitstreams`, of the columns that group, sort and select rows.
_KEY, _BUNDLE, _ORDER = 1, 2, 3
_TITLE_PLACE, _TITLE_NUMBER, _TITLE = 4, 5, 6
_SEQUENCE_ID, _ACTION, _START, _END = 7, 14, 15, 16
_BUNDLE_ACTION, _BUNDLE_START, _BUNDLE_END = 17, 18, 19


@dataclass(frozen=True, slots=True)
class File:
    """A file of an item, from all its rows: the first of them, the file's title, and when everybody may read it."""

    row: Row
    name: str
    periods: Sequence[Period]

    def is_public(self, view: AnonymousView) -> bool:
        """Return whether everybody may read the file today, if its item is public (rule 6)."""
        return readable(self.periods, view.today)

    def publish(self, view: AnonymousView) -> Bitstream:
        """Return the value for a public file."""
        _, key, bundle, _, _, _, _, sequence_id, size, *more = self.row
        checksum, algorithm, mimetype, store_number, internal_id, *_ = more
        return Bitstream(
            id=str(key),
            name=self.name,
            bundle=bundle,
            sequence_id=sequence_id,
            length=_length(size) if view.fingerprints else None,
            md5=md5_of(checksum, algorithm) if view.fingerprints else None,
            type=media_type_of(mimetype),
            store_number=store_number,
            internal_id=internal_id,
            opened=opened(self.periods, view),
        )

    def hide(self, view: AnonymousView) -> HiddenBitstream:
        """Return the value for a file that is not public."""
        return HiddenBitstream(
            id=str(self.row[_KEY]),
            name=self.name,
            sequence_id=self.row[_SEQUENCE_ID],
            closed=closed(self.periods, view),
        )


def files_of(rows: Iterable[Row], view: AnonymousView) -> list[File]:
    """Return the files in the rows of one item, each once, in the order of `view.bundles`, then of each bundle."""
    bundles = view.bundles
    files: dict[Key, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (bundles.index(row[_BUNDLE]), _order(row), row[_KEY])):
        files.setdefault(row[_KEY], []).append(row)
    return [File(_shown(same, view), _name(same), _periods(same, view)) for same in files.values()]


def _shown(rows: Sequence[Row], view: AnonymousView) -> Row:
    """Return the first row of a file in a bundle that everybody may read, else the first."""
    if len(rows) == 1:
        return rows[0]
    return next((same[0] for same in _by_bundle(rows) if readable(_periods(same, view), view.today)), rows[0])


def _by_bundle(rows: Sequence[Row]) -> Iterator[list[Row]]:
    return ([*same] for _, same in groupby(rows, itemgetter(_BUNDLE)))


def _order(row: Row) -> int:
    order: int | None = row[_ORDER]
    return _LAST if order is None else order


def _name(rows: Iterable[Row]) -> str:
    """Return the first title."""
    titles = [(row[_TITLE_PLACE] or 0, row[_TITLE_NUMBER] or 0, row[_TITLE]) for row in rows if row[_TITLE] is not None]
    return str(min(titles)[-1]) if titles else ""


def _periods(rows: Iterable[Row], view: AnonymousView) -> list[Period]:
    """Return the days on which everybody may read both the file and its bundle (rule 6)."""
    return [
        view.period(row[_START], row[_END]).within(view.period(row[_BUNDLE_START], row[_BUNDLE_END]))
        for row in rows
        if row[_ACTION] is not None and row[_BUNDLE_ACTION] is not None
    ]


def md5_of(checksum: str | None, algorithm: str | None) -> str | None:
    """Return the MD5 (hexadecimal) if the checksum is one (rule 16); `None` otherwise."""
    if not isinstance(checksum, str) or not isinstance(algorithm, str) or algorithm.strip().upper() != "MD5":
        return None
    return checksum.lower() if _MD5.fullmatch(checksum) else None


@lru_cache(maxsize=1024)
def media_type_of(text: str | None) -> str | None:
    """Return a media type without its parameters; `None` if it is invalid."""
    bare = (text or "").partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else None


def _length(size: int | None) -> int | None:
    return size if isinstance(size, int) and size >= 0 else None  # SQLite does not enforce types
