"""Portions: which bitstreams share a package (`X04`, `RD07`)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from pelican_resourcesync.protocol import Entry, Root
from pelican_resourcesync.protocol.render import Renderer
from pelican_resourcesync.publication.dumps.package import Bitstream
from pelican_resourcesync.publication.dumps.paths import LONGEST_PATH
from pelican_resourcesync.publication.dumps.zip_writer import END_SIZE, MEMBER_SIZE, most_packed

#: What a manifest is beside its entries, at most, in bytes: that leaves some 3,000 for the URIs of its links.
HEAD_SIZE = 4_096
#: What a package takes beside its bitstreams, at most, in bytes.
FRAME_SIZE = most_packed(HEAD_SIZE) + MEMBER_SIZE + 2 * LONGEST_PATH + END_SIZE

_PATH_SIZE = len('    <rs:md path=""/>\n') + LONGEST_PATH
_ESCAPED = ("&", "'", "%26", "%27")  # what a path can hold of a URI that XML writes in up to five bytes more
_RENDERER = Renderer(Root.URLSET, edition=2017)  # its entries are the longer ones

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLimits:
    """The most that one package may hold: bytes of the ZIP file, entries, and bytes of its manifest (`X04`)."""

    size: int = 100_000_000
    entries: int = 50_000
    manifest: int = 50_000_000


STANDARD_LIMITS = PackageLimits()


class Weight(NamedTuple):
    """The most that something adds to a package: bytes of the ZIP file, entries, and bytes of its manifest."""

    size: int
    entries: int
    manifest: int


def weight(entry: Entry) -> Weight:
    """Give the weight of a bitstream, by its entry; that of a deletion has no length.

    Raises `DocumentError` for an entry that no document can hold.
    """
    listed = len(_RENDERER.entry(entry).encode()) + _PATH_SIZE + 5 * sum(map(entry.loc.count, _ESCAPED))
    packed = listed + (listed >> 10) + 1
    if entry.md is None or entry.md.length is None:
        return Weight(packed, 1, listed)
    return Weight(packed + MEMBER_SIZE + 2 * LONGEST_PATH + most_packed(entry.md.length), 1, listed)


def portions(bitstreams: Iterable[Bitstream], limits: PackageLimits = STANDARD_LIMITS) -> Iterator[Iterator[Bitstream]]:
    """Divide bitstreams, in their order, into those of one package each; see `divided`."""
    return divided(bitstreams, lambda bitstream: weight(bitstream.entry), limits)


def divided(
    items: Iterable[Item],
    weigh: Callable[[Item], Weight],
    limits: PackageLimits = STANDARD_LIMITS,
) -> Iterator[Iterator[Item]]:
    """Divide whatever is packed, in its order, into what shares a package: as much as is sure to fit.

    What is sure is told by lengths alone, before anything is deflated. So the division depends on the resources and not
    on the version of zlib, nothing is packed twice, and no package is larger than asked for; one of text is a good deal
    smaller. What alone is larger than a package has one to itself.

    The items pass once, and one is held at a time: each portion has to be used up before the next is asked for, else
    there is a `RuntimeError`.
    """
    passing = _Passing(iter(items), weigh)
    while not passing.ended:
        portion = passing.portion(limits)
        yield portion
        if next(portion, None) is not None:
            message = "a portion was asked for before the one before it was used up"
            raise RuntimeError(message)


class _Passing(Generic[Item]):
    """Items that pass, of which the next is known."""

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
        """Give one item at least, and more while they fit."""
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
