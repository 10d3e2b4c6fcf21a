"""The contents of one generation: everything that its documents will say, before any of them is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from pelican_resourcesync.protocol import Hash
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.ranges import Range

#: Called with a URI, the hash of its bytes (if known) and the time since which it has them. Returns a function that
#: opens the bytes (and raises `OSError` if it cannot), or `None` if they are not available and not expected to be.
FindBytes = Callable[[str, Hash | None, datetime | None], Callable[[], BinaryIO] | None]


def no_bytes(_uri: str, _hash: Hash | None, _since: datetime | None) -> None:
    """Return `None`: for publications without dumps, which need no bytes."""


@dataclass(frozen=True, slots=True)
class ResourceSnapshot:
    """All resources at one time: a Resource List or a Resource Dump as of `at`.

    `listed` is `None` if the documents of the previous generation are carried over unchanged.
    """

    at: datetime
    listed: Listing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package of a Change Dump with the changes in `(start, until]`: its path, its length in bytes, its SHA-256."""

    path: str
    start: datetime
    until: datetime
    length: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDumpContents:
    """The time that one Change Dump covers: from `start` to `until`, once it is closed.

    `packages` exist already and never change; `new_changes` are the changes of each package still to be written. Ranges
    that are `unchanged` were closed by an earlier publication, and their document is kept as it is.
    """

    start: datetime
    until: datetime | None = None
    packages: tuple[Package, ...] = ()
    new_changes: tuple[tuple[Change, ...], ...] = ()
    unchanged: bool = False

    @property
    def closed(self) -> bool:
        """Whether the range has ended, so that its Change Dump never changes again (`X16`)."""
        return self.until is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The contents of a generation as of `at`: resources by URI, ranges of changes, dumps and archives.

    `dump` is the Resource Dump, `None` for none; `dumped` are the Change Dumps. `lists` and `dumps` are the archived
    Resource Lists and Resource Dumps, oldest first. `bytes` finds the bytes that go into packages.
    """

    at: datetime
    listed: Listing
    ranges: Sequence[Range] = ()
    dump: ResourceSnapshot | None = None
    dumped: Sequence[ChangeDumpContents] = ()
    lists: Sequence[ResourceSnapshot] = ()
    dumps: Sequence[ResourceSnapshot] = ()
    bytes: FindBytes = field(default=no_bytes)
