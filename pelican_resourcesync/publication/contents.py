"""The contents of one generation: all that its documents are to say, before any of them is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from pelican_resourcesync.protocol import Hash
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.listing import Listing
from pelican_resourcesync.publication.ranges import Range

#: Gives what opens the bytes that a resource has since a time, and which have a hash as far as one is known (`OSError`
#: where it cannot), `None` where they are not at hand and are not expected to be.
FindBytes = Callable[[str, Hash | None, datetime | None], Callable[[], BinaryIO] | None]


def no_bytes(_uri: str, _hash: Hash | None, _since: datetime | None) -> None:
    """Have nothing: where there are no dumps, nobody asks."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All resources at one time: a Resource List or a Resource Dump as of `at`.

    `listed` is `None` where the documents are those of the previous generation, which are carried as they are.
    """

    at: datetime
    listed: Listing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package of a Change Dump, of the changes in `(start, until]`: its path, its length in bytes, its SHA-256."""

    path: str
    start: datetime
    until: datetime
    length: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedRange:
    """What one Change Dump covers: from `start` to `until`, once it is closed.

    `packages` are there already and never change; `fresh` are the changes of each package that is yet to be written.
    `carried` ones were closed by an earlier publication: their document is kept as it is.
    """

    start: datetime
    until: datetime | None = None
    packages: tuple[Package, ...] = ()
    fresh: tuple[tuple[Change, ...], ...] = ()
    carried: bool = False

    @property
    def closed(self) -> bool:
        """Tell whether the range has ended, so that its Change Dump never changes again (`X16`)."""
        return self.until is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a generation holds, as of `at`: resources by URI, ranges of changes, and what of it is dumped and archived.

    `dump` is the Resource Dump, `None` for none; `dumped` are the Change Dumps. `lists` and `dumps` are the archived
    Resource Lists and Resource Dumps, oldest first. `bytes` finds those of what goes into packages.
    """

    at: datetime
    listed: Listing
    ranges: Sequence[Range] = ()
    dump: Snapshot | None = None
    dumped: Sequence[DumpedRange] = ()
    lists: Sequence[Snapshot] = ()
    dumps: Sequence[Snapshot] = ()
    bytes: FindBytes = field(default=no_bytes)
