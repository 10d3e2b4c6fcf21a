"""The members of a listing: the articles that it lists now, and what its pages show of them."""

from bisect import bisect_left, bisect_right
from collections import Counter
from functools import partial
from math import inf
from operator import attrgetter
from typing import Any, Protocol

from pelican_resourcesync.site.content import Content, weigh
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.view import UNSEEN, Shown, View

_by_order = attrgetter("order")


class Members(Protocol):
    """The articles that a listing lists."""

    def add(self, content: Content) -> None:
        """List an article."""

    def remove(self, content: Content) -> None:
        """List an article no more."""

    def turn(self, listings: Listings, *, standing: bool) -> dict[str, tuple[object, ...] | None]:
        """Give what each page shows that may show another thing since the last turn; `None` for one that is gone.

        A `standing` listing has a page even when it lists nothing.
        """


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
        self._there: set[str] = set()

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

    def turn(self, listings: Listings, *, standing: bool) -> dict[str, tuple[object, ...] | None]:
        """Give what the one page shows."""
        count = self._contents.total()
        now = {listings.page(self._listing, 1, 1, count)[0]: self._shown()} if count or standing else {}
        gone, self._there = self._there - now.keys(), set(now)
        return {**now, **dict.fromkeys(gone)}

    def _shown(self) -> tuple[object, ...]:
        return (self._contents.total(), self._sum, *(each.value for each in self._sorting.values()))


class Ordered:
    """The members of a listing whose pages show some of them each: in Pelican's order."""

    def __init__(self, listing: Listing, view: View) -> None:
        """Begin with none."""
        self._listing = listing
        self._view = view
        self._contents: list[Content] = []
        self._values: list[tuple[object, ...]] = []
        self._count = self._total = 0
        self._low, self._high = 0, -1
        self._one_file = False

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

    def _touch(self, at: int) -> None:
        """Remember between which places something came or went, or was moved by what did."""
        self._low, self._high = min(at, self._low), max(at, self._high) + 1

    def turn(self, listings: Listings, *, standing: bool) -> dict[str, tuple[object, ...] | None]:
        """Give what the pages show from the first place where something came or went to the last, if as many stay."""
        count, before = len(self._contents), self._total
        total = self._total = listings.total(self._listing, count) if count or standing else 0
        last = count if count != self._count else self._high
        low, self._count = self._low, count
        self._low, self._high = count, -1
        changed: dict[str, tuple[object, ...] | None] = {}
        if total != before or (total > 1 and self._one_file):
            low, last = 0, count
            pages = [listings.page(self._listing, number, total, 0)[0] for number in range(1, total + 1)]
            self._one_file = len(set(pages)) < len(pages)  # one is written over the other
            changed = {listings.page(self._listing, each + 1, before, 0)[0]: None for each in range(before)}
        for number in range(self._number(low, total), self._number(last, total) + 1) if total else ():
            uri, start, end = listings.page(self._listing, number, total, count)
            if self._view.first is not None:
                end = min(end, start + self._view.first)
            changed[uri] = (total, *self._values[start:end])
        return changed

    def _number(self, at: int, total: int) -> int:
        """Give the number of the page on which a place is."""
        return min(at // self._listing.per_page + 1, total) if self._listing.per_page else total
