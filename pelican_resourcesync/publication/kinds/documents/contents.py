"""The contents of one generation: everything that its documents will say, before any of them is written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol

from pelican_resourcesync.protocol import Hash
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.model.resource import Row
from pelican_resourcesync.publication.model.state import Part

#: Called with a URI, the hash of its bytes (if known) and the time since which it has them. Returns a function that
#: opens the bytes (and raises `OSError` if it cannot), or `None` if they are not available and not expected to be.
FindBytes = Callable[[str, Hash | None, datetime | None], Callable[[], BinaryIO] | None]


class PlannedList(Protocol):
    """The Resource List of a generation."""

    def rows(self) -> Iterator[Row]:
        """Yield the resources, sorted by URI, after they were written."""

    def write(self, stage: Stage, at: datetime, archive: str) -> tuple[Part, ...]:
        """Write it as of a time, with a link to the archive at a path if there is one, and return its parts."""


@dataclass(frozen=True, slots=True)
class ResourceSnapshot:
    """All resources at one time: a Resource List or a Resource Dump as of `at`.

    `listed` are the resources of a new Resource Dump, and `parts` the entries of a new archived Resource List. Without
    them, the documents of the previous generation are carried over.
    """

    at: datetime
    listed: PlannedList | None = None
    parts: Sequence[Sequence[Body]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePackage:
    """A package of a Change Dump with the changes in `(start, until]`."""

    path: str
    start: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDumpContents:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The contents of a generation as of `at`: resources by URI, ranges of changes, dumps and archives.

    `dump` is the Resource Dump, `None` for none; `dumped` are the Change Dumps. `lists` and `dumps` are the archived
    Resource Lists and Resource Dumps, oldest first. `bytes` finds the bytes that go into packages. `patches`
    are the files of new patches, by path.
    """

    at: datetime
    listed: PlannedList
    bytes: FindBytes
    ranges: Sequence[Range] = ()
    dump: ResourceSnapshot | None = None
    dumped: Sequence[ChangeDumpContents] = ()
    lists: Sequence[ResourceSnapshot] = ()
    dumps: Sequence[ResourceSnapshot] = ()
    patches: Mapping[str, Path] = field(default_factory=dict)
