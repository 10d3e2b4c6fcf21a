"""Divide bitstreams and changes into packages (`X04`, `RD07`)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from pelican_resourcesync.protocol import Entry, Metadata, Renderer, Root
from pelican_resourcesync.publication.documents.documents import change_entries
from pelican_resourcesync.publication.dumps.package import END_SIZE, MEMBER_SIZE, ListedBitstream, most_packed
from pelican_resourcesync.publication.dumps.paths import LONGEST_PATH
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.resource import parse_representation, parse_time

#: The most bytes of a manifest without its entries: leaves about 3,000 for the URIs of its links.
HEAD_SIZE = 4_096
#: The most bytes of a package without its bitstreams.
FRAME_SIZE = most_packed(HEAD_SIZE) + MEMBER_SIZE + 2 * LONGEST_PATH + END_SIZE

_PATH_SIZE = len('    <rs:md path=""/>\n') + LONGEST_PATH
_ESCAPED = ("&", "'", "%26", "%27")  # characters that a path may contain; escaping them in XML adds up to five bytes
_WRITTEN_LONGER = re.compile("[&'\"<>]|%2[67]")
_BARE_SIZE, _LASTMOD_SIZE = len("  <url>\n    <loc></loc>\n  </url>\n") + _PATH_SIZE, len("    <lastmod></lastmod>\n")
_RENDERER = Renderer(Root.URLSET, edition=2017)  # the entries of this edition are the longer ones

Item = TypeVar("Item")


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


def size_in_package(entry: Entry) -> PackageSize:
    """Return the weight of a bitstream from its entry; a deletion has no length.

    Raises `DocumentError` for an entry that no document can hold.
    """
    listed = len(_RENDERER.entry(entry).encode()) + _PATH_SIZE + 5 * sum(map(entry.loc.count, _ESCAPED))
    packed = listed + (listed >> 10) + 1
    if entry.md is None or entry.md.length is None:
        return PackageSize(packed, 1, listed)
    return PackageSize(packed + MEMBER_SIZE + 2 * LONGEST_PATH + most_packed(entry.md.length), 1, listed)


def size_of_listed(bitstream: ListedBitstream) -> PackageSize:
    """Return the weight of a bitstream from its row: that of its entry."""
    (uri, md, _, lastmod), (_, length, _), *_ = bitstream
    if length < 0 or not uri.isascii() or _WRITTEN_LONGER.search(uri):
        representation = parse_representation(md)
        metadata = Metadata(
            hash=(representation.hash,) if representation.hash else (),
            length=representation.length,
            type=representation.type,
        )
        return size_in_package(Entry(loc=uri, lastmod=parse_time(lastmod), md=metadata))
    listed = _BARE_SIZE + len(uri) + (len(md) if md.isascii() else len(md.encode()))
    listed += _LASTMOD_SIZE + len(lastmod) if lastmod else 0
    packed = listed + (listed >> 10) + 1
    return PackageSize(packed + MEMBER_SIZE + 2 * LONGEST_PATH + most_packed(length), 1, listed)


def divided(
    items: Iterable[Item],
    weigh: Callable[[Item], PackageSize],
    limits: PackageLimits = STANDARD_LIMITS,
) -> Iterator[Iterator[Item]]:
    """Divide items, in their order, into packages: each as full as is sure to fit.

    This is calculated from lengths alone, before anything is deflated. So the division depends on the resources and not
    on the version of zlib, nothing is packed twice, and no package is larger than requested (packages of text are much
    smaller). An item that is larger than a package gets a package of its own.

    Items are read one at a time: each portion must be used up before the next is requested. Otherwise `RuntimeError` is
    raised.
    """
    passing = _Passing(iter(items), weigh)
    while not passing.ended:
        portion = passing.portion(limits)
        yield portion
        if next(portion, None) is not None:
            message = "a portion was asked for before the one before it was used up"
            raise RuntimeError(message)


class _Passing(Generic[Item]):
    """An iterator over items that knows the next one."""

    __slots__ = ("_items", "_next", "_weigh")

    def __init__(self, items: Iterator[Item], weigh: Callable[[Item], PackageSize]) -> None:
        self._items = items
        self._weigh = weigh
        self._next: list[Item] = []
        self._step()

    @property
    def ended(self) -> bool:
        return not self._next

    def portion(self, limits: PackageLimits) -> Iterator[Item]:
        """Yield at least one item, and more as long as they fit."""
        size, entries, manifest = FRAME_SIZE, 0, HEAD_SIZE
        while self._next:
            item = self._next[0]
            weighed = self._weigh(item)
            size, entries, manifest = size + weighed.size, entries + weighed.entries, manifest + weighed.manifest
            fits = size <= limits.size and entries <= limits.entries and manifest <= limits.manifest
            if entries > weighed.entries and not fits:
                return
            self._step()
            yield item

    def _step(self) -> None:
        self._next = list(islice(self._items, 1))


_by_time = attrgetter("time")


class ChangePacker:
    """Divides changes by what one package can hold.

    Changes of the same time are never separated, because a package ends at a time.
    """

    def __init__(self, options: Options, limit: int) -> None:
        """Create it from the options and the number of changes that one document can hold."""
        self._asked = options.dumps.changedump
        self._limits = replace(package_limits(options), entries=limit)

    def of_one_time(self, changes: Sequence[Change]) -> Iterable[Sequence[Change]]:
        """Divide changes of the same time into parts that fit into a package; all but the first must come later."""
        return self._divide([each] for each in changes) if self._asked else (changes,)

    def into_packages(self, changes: Iterable[Change]) -> Iterable[Sequence[Change]]:
        """Divide changes, in chronological order, into packages."""
        return self._divide(list(group) for _, group in groupby(changes, key=_by_time))

    def _divide(self, groups: Iterable[list[Change]]) -> Iterator[list[Change]]:
        for portion in divided(groups, _weight, self._limits):
            yield [change for group in portion for change in group]


def package_limits(options: Options) -> PackageLimits:
    """Return the limits of a package: its manifest has the limits of any document (`X04`)."""
    limits = options.limits
    return PackageLimits(size=options.dumps.package_size, entries=limits.entries, manifest=limits.size)


def _weight(changes: Iterable[Change]) -> PackageSize:
    weights = [size_in_package(entry) for entry in change_entries(changes)]
    return PackageSize(*map(sum, zip(*weights, strict=True)))
