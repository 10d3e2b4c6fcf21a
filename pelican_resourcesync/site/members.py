"""The members of a listing: the articles that it lists now, and what its pages show of them."""

from bisect import bisect_left, insort
from operator import attrgetter
from typing import Protocol

from pelican_resourcesync.site.contents import Content
from pelican_resourcesync.site.listings import Listing, Listings

#: What each page of a listing shows, by URI: a value that is equal only if it shows the same.
Pages = dict[str, tuple[object, ...]]

_by_order = attrgetter("order")


class Members(Protocol):
    """The articles that a listing lists."""

    def add(self, content: Content) -> None:
        """List an article."""

    def remove(self, content: Content) -> None:
        """List an article no more."""

    def pages(self, listings: Listings, *, standing: bool) -> Pages:
        """Give what each page shows; a `standing` listing has a page even when it lists nothing."""


def members_of(listing: Listing) -> Members:
    """Give the members, none yet, of a listing: in order where its pages do not show all of them."""
    return Ordered(listing) if listing.per_page or listing.limit else Whole(listing)


class Whole:
    """The members of a listing that shows all of them on one page: a count and a sum, whatever their number.

    The sum is of the versions' hashes: a change of any member changes it, and taking back a change restores it.
    """

    def __init__(self, listing: Listing) -> None:
        """Begin with none."""
        self._listing = listing
        self._count = self._sum = 0

    def add(self, content: Content) -> None:
        """List an article."""
        self._count += 1
        self._sum += hash(content.version)

    def remove(self, content: Content) -> None:
        """List an article no more."""
        self._count -= 1
        self._sum -= hash(content.version)

    def pages(self, listings: Listings, *, standing: bool) -> Pages:
        """Give what the one page shows."""
        if not (self._count or standing):
            return {}
        return {uri: (self._count, self._sum) for uri, _start, _end in listings.pages(self._listing, self._count)}


class Ordered:
    """The members of a listing whose pages show some of them each: in Pelican's order."""

    def __init__(self, listing: Listing) -> None:
        """Begin with none."""
        self._listing = listing
        self._contents: list[Content] = []

    def add(self, content: Content) -> None:
        """List an article at its place."""
        insort(self._contents, content, key=_by_order)

    def remove(self, content: Content) -> None:
        """List an article no more."""
        at = bisect_left(self._contents, content.order, key=_by_order)
        self._contents.pop(self._contents.index(content, at))

    def pages(self, listings: Listings, *, standing: bool) -> Pages:
        """Give what each page shows: its articles, and how many pages there are."""
        if not (self._contents or standing):
            return {}
        versions = [content.version for content in self._contents]
        pages = list(listings.pages(self._listing, len(versions)))
        return {uri: (len(pages), *versions[start:end]) for uri, start, end in pages}
