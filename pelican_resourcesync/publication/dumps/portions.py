"""Divide bitstreams into packages (`X04`, `RD07`)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from pelican_resourcesync.protocol import Entry, Renderer, Root
from pelican_resourcesync.publication.dumps.package import Bitstream
from pelican_resourcesync.publication.dumps.paths import LONGEST_PATH
from pelican_resourcesync.publication.dumps.zip_writer import END_SIZE, MEMBER_SIZE, most_packed

#: The most bytes of a manifest without its entries: leaves about 3,000 for the URIs of its links.
HEAD_SIZE = 4_096
#: The most bytes of a package without its bitstreams.
FRAME_SIZE = most_packed(HEAD_SIZE) + MEMBER_SIZE + 2 * LONGEST_PATH + END_SIZE

_PATH_SIZE = len('    <rs:md path=""/>\n') + LONGEST_PATH
_ESCAPED = ("&", "'", "%26", "%27")  # characters that a path may contain; escaping them in XML adds up to five bytes
_RENDERER = Renderer(Root.URLSET, edition=2017)  # the entries of this edition are the longer ones

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLimits:
    """The most that one package may hold: bytes of the ZIP file, entries, and bytes of its manifest (`X04`)."""

    size: int = 100_000_000
    entries: int = 50_000
    manifest: int = 50_000_000


STANDARD_LIMITS = PackageLimits()


class Weight(NamedTuple):
    """The most that an item adds to a package: bytes of the ZIP file, entries, and bytes of its manifest."""

    size: int
    entries: int
    manifest: int


def weight(entry: Entry) -> Weight:
    """Return the weight of a bitstream from its entry; a deletion has no length.

    Raises `DocumentError` for an entry that no document can hold.
    """
    listed = len(_RENDERER.entry(entry).encode()) + _PATH_SIZE + 5 * sum(map(entry.loc.count, _ESCAPED))
    packed = listed + (listed >> 10) + 1
    if entry.md is None or entry.md.length is None:
        return Weight(packed, 1, listed)
    return Weight(packed + MEMBER_SIZE + 2 * LONGEST_PATH + most_packed(entry.md.length), 1, listed)


def portions(bitstreams: Iterable[Bitstream], limits: PackageLimits = STANDARD_LIMITS) -> Iterator[Iterator[Bitstream]]:
    """Divide bitstreams, in their order, into packages; see `divided`."""
    return divided(bitstreams, lambda bitstream: weight(bitstream.entry), limits)


def divided(
    items: Iterable[Item],
    weigh: Callable[[Item], Weight],
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

    def __init__(self, items: Iterator[Item], weigh: Callable[[Item], Weight]) -> None:
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
