"""The members of a listing: the articles that it lists now, and what its pages show of them."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection
from functools import partial
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from pelican_resourcesync.site.content import Content, weigh
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.view import UNSEEN, Shown, View

_by_order = attrgetter("order")


class Turn(NamedTuple):
    """What became of the pages of a listing: their URIs, those that went, that came, and that show another thing."""

    gone: Collection[str] = ()
    come: Collection[str] = ()
    other: Collection[str] = ()


class Members(Protocol):
    """The articles that a listing lists."""

    def add(self, content: Content) -> None:
        """List an article."""

    def remove(self, content: Content) -> None:
        """List an article no more."""

    def swap(self, before: Content, content: Content) -> None:
        """List an article in the place of another, which it has too."""

    def turn(self, listings: Listings, *, standing: bool) -> Turn:
        """Turn to what is listed now, and tell what became of the pages since the last turn.

        A `standing` listing has a page even when it lists nothing.
        """

    def shown(self, uri: str) -> tuple[object, ...]:
        """Give what one of the pages shows since the last turn: a value that is equal only if it shows the same."""


def members_of(listing: Listing, view: View = UNSEEN) -> Members:
    """Give the members, none yet, of a listing: in order where its pages do not show all of them."""
    if listing.per_page or listing.limit or view.first is not None:
        return Ordered(listing, view)
    return Whole(listing, view)


class Sorting:
    """The orders of contents by each of the metadata that a theme may sort them by, kept up to date.

    An order is a sum over the contents that are next to each other: equal, to all intents, only if the order is.
    """

    def __init__(self, shown: Shown) -> None:
        """Begin with none."""
        self._rows: dict[str, list[Content]] = {name: [] for name in sorted(shown.sort)}
        self._sums = dict.fromkeys(self._rows, 0)

    def add(self, content: Content) -> None:
        """Put a content in its places."""
        for name, row in self._rows.items():
            at = bisect_right(row, _rank(name, content), key=partial(_rank, name))
            self._sums[name] += self._joint(row[at - 1 : at] if at else [], row[at : at + 1], content)
            row.insert(at, content)

    def remove(self, content: Content) -> None:
        """Take a content away."""
        for name, row in self._rows.items():
            at = row.index(content, bisect_left(row, _rank(name, content), key=partial(_rank, name)))
            row.pop(at)
            self._sums[name] -= self._joint(row[at - 1 : at] if at else [], row[at : at + 1], content)

    @property
    def value(self) -> tuple[int, ...]:
        """Give the orders: a value that is equal only if they are."""
        return tuple(self._sums.values())

    @staticmethod
    def _joint(before: list[Content], after: list[Content], content: Content) -> int:
        """Give by how much the sum grows when a content comes between two others."""
        left, here, right = (each[0].uri if each else None for each in (before, [content], after))
        return weigh((left, here)) + weigh((here, right)) - weigh((left, right))


def _rank(name: str, content: Content) -> tuple[float, str, Any]:
    value = str(content.metadata.get(name, ""))
    try:
        return float(value), "", content.order
    except ValueError:
        return inf, value, content.order


class Whole:
    """The members of a listing that shows all of them on one page: a count and a sum, whatever their number.

    The sum is of hashes of what is shown: a change of any member changes it, and taking back a change restores it.
    """

    def __init__(self, listing: Listing, view: View) -> None:
        """Begin with none."""
        self._listing = listing
        self._view = view
        self._contents: Counter[Content] = Counter()
        self._sum = 0
        self._sorting = {role: Sorting(shown) for role, shown in view.listed.items() if shown.sort}
        self._uri: str | None = None
        self._shown: tuple[object, ...] = ()

    def add(self, content: Content) -> None:
        """List an article."""
        if content not in self._contents and content.role in self._sorting:
            self._sorting[content.role].add(content)
        self._contents[content] += 1
        self._sum += content.weight(self._view.of(content.role))

    def remove(self, content: Content) -> None:
        """List an article no more."""
        self._contents[content] -= 1
        if not self._contents[content]:
            del self._contents[content]
            if content.role in self._sorting:
                self._sorting[content.role].remove(content)
        self._sum -= content.weight(self._view.of(content.role))

    def swap(self, before: Content, content: Content) -> None:
        """List an article in the place of another."""
        self.remove(before)
        self.add(content)

    def turn(self, listings: Listings, *, standing: bool) -> Turn:
        """Turn to what the one page shows now."""
        count, before, shown = self._contents.total(), self._uri, self._shown
        self._uri = listings.page_uri(self._listing, 1, 1) if count or standing else None
        self._shown = (count, self._sum, *(each.value for each in self._sorting.values()))
        if before != self._uri:
            return Turn(gone=[before] if before else (), come=[self._uri] if self._uri else ())
        return Turn(other=[before] if before and shown != self._shown else ())

    def shown(self, uri: str) -> tuple[object, ...]:
        """Give what the one page shows; `uri` is its own."""
        return self._shown if uri == self._uri else ()


class Ordered:
    """The members of a listing whose pages show some of them each: in Pelican's order."""

    def __init__(self, listing: Listing, view: View) -> None:
        """Begin with none."""
        self._listing = listing
        self._view = view
        self._contents: list[Content] = []
        self._values: list[tuple[object, ...]] = []
        self._before: list[tuple[object, ...]] = []
        self._numbers: dict[str, int] = {}
        self._uris: list[str] = []
        self._low, self._high = 0, -1

    def add(self, content: Content) -> None:
        """List an article at its place."""
        at = bisect_right(self._contents, content.order, key=_by_order)
        self._contents.insert(at, content)
        self._values.insert(at, content.shows(self._view.of(content.role)))
        self._touch(at)

    def remove(self, content: Content) -> None:
        """List an article no more."""
        at = self._contents.index(content, bisect_left(self._contents, content.order, key=_by_order))
        del self._contents[at], self._values[at]
        self._touch(at)

    def swap(self, before: Content, content: Content) -> None:
        """List an article in the place of another: nothing else moves."""
        at = self._contents.index(before, bisect_left(self._contents, before.order, key=_by_order))
        self._contents[at] = content
        self._values[at] = content.shows(self._view.of(content.role))
        self._low, self._high = min(at, self._low), max(at, self._high)

    def _touch(self, at: int) -> None:
        """Remember between which places something came or went, or was moved by what did."""
        self._low, self._high = min(at, self._low), max(at, self._high) + 1

    def turn(self, listings: Listings, *, standing: bool) -> Turn:
        """Turn to what the pages show now; each of them shows how many there are."""
        count = len(self._values)
        total = listings.total(self._listing, count) if count or standing else 0
        if total == len(self._uris):
            turn = Turn(other=self._others())
        else:
            before = self._numbers
            self._uris = [listings.page_uri(self._listing, number, total) for number in range(1, total + 1)]
            self._numbers = now = {uri: number for number, uri in enumerate(self._uris, 1)}
            turn = Turn(before.keys() - now.keys(), now.keys() - before.keys(), before.keys() & now.keys())
        self._before = self._values.copy()
        self._low, self._high = count, -1
        return turn

    def _others(self) -> list[str]:
        """Give the pages that show another thing, from the first place where something came or went to the last.

        Where several pages have one file, the last of them is what stands there.
        """
        total, before, now = len(self._uris), self._before, self._values
        if not total or self._low > max(self._high, len(before) - 1, len(now) - 1):
            return []
        last = self._high if len(before) == len(now) else len(now)
        first, last = self._number(self._low, total), self._number(last, total)
        step, least = self._listing.per_page or 0, min(len(before), len(now))
        changed = [
            number
            for number, start in enumerate(range(step * (first - 1), step * last, step) if step else [0], first)
            if (start < least and before[start] != now[start]) or self._part(before, number) != self._part(now, number)
        ]
        return [self._uris[each - 1] for each in changed if self._numbers[self._uris[each - 1]] == each]

    def shown(self, uri: str) -> tuple[object, ...]:
        """Give how many pages there are, and what one of them shows."""
        return (len(self._uris), *self._part(self._before, self._numbers[uri]))

    def _part(self, values: list[tuple[object, ...]], number: int) -> list[tuple[object, ...]]:
        start, end = self._listing.span(number, len(self._uris), len(values))
        first = self._view.first
        return values[start : end if first is None else min(end, start + first)]

    def _number(self, at: int, total: int) -> int:
        """Give the number of the page on which a place is."""
        return min(at // self._listing.per_page + 1, total) if self._listing.per_page else total
