"""Divide bitstreams and changes into packages (`X04`, `RD07`)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeVar
from zlib import crc32

from pelican_resourcesync.publication.kinds.documents.documents import change_entries
from pelican_resourcesync.publication.kinds.dumps.package import LONGEST_PATH, Bitstream
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.options import Options

#: The bytes of a member besides its data and its name, which is written twice: the headers with all extra fields.
_MEMBER_SIZE = 30 + 20 + 46 + 28 + 2 * LONGEST_PATH
#: The bytes at the end of a ZIP file.
_END_SIZE = 22 + 56 + 20

Item = TypeVar("Item")


def _most_packed(length: int) -> int:
    """Return the most bytes that `length` bytes take, stored or deflated.

    The limit of zlib itself is lower: the length, a 4,096th and a 16,384th of it, and 13 bytes.
    """
    return length + (length >> 10) + 64


#: The most bytes of a manifest without its entries: leaves about 3,000 for the URIs of its links.
HEAD_SIZE = 4_096
#: The most bytes of a package without its bitstreams.
FRAME_SIZE = _most_packed(HEAD_SIZE) + _MEMBER_SIZE + _END_SIZE

_ENTRY_SIZE = len('  <url>\n    <loc></loc>\n  </url>\n    <rs:md path=""/>\n') + LONGEST_PATH
_LASTMOD_SIZE = len("    <lastmod></lastmod>\n")

#: A package of resources has at least so many, and on average twice as many, if its size permits.
_EVERY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLimits:
    """The most that one package may hold: bytes of the ZIP file, entries, and bytes of its manifest (`X04`)."""

    size: int = 100_000_000
    entries: int = 50_000
    manifest: int = 50_000_000


STANDARD_LIMITS = PackageLimits()


class PackageSize(NamedTuple):
    """The most that an item adds to a package: bytes of the ZIP file, entries, and bytes of its manifest."""

    size: int
    entries: int
    manifest: int


def size_in_package(bitstream: Bitstream) -> PackageSize:
    """Return the most that a bitstream adds to a package; a deletion has no bytes."""
    uri, md, links, lastmod = bitstream.entry
    listed = _ENTRY_SIZE + len(uri) + 5 * sum(map(uri.count, "&'\"<>"))  # escaping adds up to five bytes
    listed += len(md.encode()) + len(links.encode()) + (_LASTMOD_SIZE + len(lastmod) if lastmod else 0)
    packed = listed + (listed >> 10) + 1
    if bitstream.expected.length is None:
        return PackageSize(packed, 1, listed)
    return PackageSize(packed + _MEMBER_SIZE + _most_packed(bitstream.expected.length), 1, listed)


def begins_package(bitstream: Bitstream) -> bool:
    """Return whether a package of resources may begin with this one, which depends on its URI alone.

    So a resource that comes or goes changes one package, and the others stay.
    """
    return crc32(bitstream.entry[0].encode()) % _EVERY == 0


def divided(
    items: Iterable[Item],
    size_of: Callable[[Item], PackageSize],
    limits: PackageLimits = STANDARD_LIMITS,
    begins: Callable[[Item], bool] = lambda _: False,
) -> Iterator[Iterator[Item]]:
    """Divide items, in their order, into packages: each as full as is sure to fit.

    A package of many items ends before one that `begins` another.

    This is calculated from lengths alone, before anything is deflated. So the division depends on the resources and not
    on the version of zlib, nothing is packed twice, and no package is larger than requested (packages of text are much
    smaller). An item that is larger than a package gets a package of its own.

    Items are read one at a time: use up each package before you ask for the next, as with `itertools.groupby`.
    """
    number, size, entries, manifest = 0, FRAME_SIZE, 0, HEAD_SIZE

    def package_of(item: Item) -> int:
        nonlocal number, size, entries, manifest
        added = size_of(item)
        size, entries, manifest = size + added.size, entries + added.entries, manifest + added.manifest
        fits = size <= limits.size and entries <= limits.entries and manifest <= limits.manifest
        is_first = entries > _EVERY + added.entries and begins(item)
        if entries > added.entries and (is_first or not fits):
            number += 1
            size, entries, manifest = FRAME_SIZE + added.size, added.entries, HEAD_SIZE + added.manifest
        return number

    return (package for _, package in groupby(items, package_of))


class ChangePacker:
    """Divides changes by what one package can hold.

    Changes of the same time are never separated, because a package ends at a time.
    """

    def __init__(self, options: Options) -> None:
        """Create it from the options."""
        self._asked = options.dumps.changedump
        self._limits = package_limits(options)

    def of_one_time(self, changes: Sequence[Change]) -> Iterable[Sequence[Change]]:
        """Divide changes of the same time into parts that fit into a package; all but the first must come later."""
        return self._divide([each] for each in changes) if self._asked else (changes,)

    def into_packages(self, changes: Iterable[Change]) -> Iterable[Sequence[Change]]:
        """Divide changes, in chronological order, into packages."""
        return self._divide(list(group) for _, group in groupby(changes, key=attrgetter("time")))

    def _divide(self, groups: Iterable[list[Change]]) -> Iterator[list[Change]]:
        for package in divided(groups, _size_of_changes, self._limits):
            yield [change for group in package for change in group]


def package_limits(options: Options) -> PackageLimits:
    """Return the limits of a package: its manifest has the limits of any document (`X04`)."""
    limits = options.limits
    return PackageLimits(size=options.dumps.package_size, entries=limits.entries, manifest=limits.size)


def _size_of_changes(changes: Iterable[Change]) -> PackageSize:
    sizes = [size_in_package(Bitstream.of(entry)) for entry in change_entries(changes)]
    return PackageSize(*map(sum, zip(*sizes, strict=True)))
