"""A content: what a source, of now or of the past, is to Pelican, and what pages show of it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pelican_resourcesync.site.listings import Listing
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import Shown


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Content:
    """A content at one time: where it is published and what its pages and listings show of it.

    `version` is equal for two contents that show the same: bytes, and what was made of the path. `published` is
    false for drafts, hidden and skipped contents: those are no resources. `uri` is empty where nothing is written
    (a `…_SAVE_AS` that is empty); listings may show such a content all the same. `appears` is when the content
    becomes public by its own date, where Pelican's `WITH_FUTURE_DATES` is off. `family` is what it shares with its
    translations. `copies` are the URIs of `OUTPUT_SOURCES`. `template` makes its page. `metadata` and, by number of
    words, `excerpts` are what pages may show of it; `refers` are the paths of the sources that it links to. What
    is `linked` is published only while some content links to it: a static file outside `STATIC_PATHS`. `category` and
    `tags` are the names that it is filed under.
    """

    source: str
    role: Role
    uri: str
    version: tuple[object, ...]
    published: bool = True
    title: str = ""
    lang: str = ""
    family: tuple[object, ...] | None = None
    original: bool = True
    marked_translation: bool = False
    order: Any = None
    appears: datetime | None = None
    listings: tuple[Listing, ...] = ()
    listings_of_any: tuple[Listing, ...] = ()
    copies: tuple[str, ...] = ()
    template: str = ""
    metadata: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    excerpts: Mapping[int, str] = field(default_factory=dict)
    refers: tuple[str, ...] = ()
    linked: bool = False
    category: str = ""
    tags: tuple[str, ...] = ()
    _shows: dict[Shown, tuple[object, ...]] = field(default_factory=dict)
    _weights: dict[Shown, int] = field(default_factory=dict)

    def shows(self, shown: Shown) -> tuple[object, ...]:
        """Give what a page shows of this content: a value that is equal only if it shows the same."""
        value = self._shows.get(shown)
        if value is None:
            value = self._shows[shown] = self._show(shown)
        return value

    def weight(self, shown: Shown) -> int:
        """Give a number for what a page shows; its sum over many contents tells whether any of them is another."""
        value = self._weights.get(shown)
        if value is None:
            value = self._weights[shown] = weigh(self.shows(shown))
        return value

    def _show(self, shown: Shown) -> tuple[object, ...]:
        if not shown.named:
            return ()
        left_out = shown.without | shown.sort
        named = tuple([pair for pair in self.metadata.items() if pair[0] not in left_out])
        summed_up = "summary" in self.metadata and "summary" not in shown.without
        if shown.words is None:
            return (self.uri, named, self.version[0])
        return (self.uri, named, "" if summed_up else self.excerpts.get(shown.words, ""))


def weigh(value: object) -> int:
    """Give a number for a value: Python's own hashes of tuples are too much alike to be added up."""
    return int.from_bytes(hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=16).digest())


class Descending:
    """A value that sorts the other way round, for Pelican's `reversed-…` orders."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        """Take the value to compare by."""
        self.value = value

    def __lt__(self, other: "Descending") -> bool:
        """Tell whether this comes before `other`."""
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        """Tell whether neither comes first."""
        return isinstance(other, Descending) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]  # an order, not a key
