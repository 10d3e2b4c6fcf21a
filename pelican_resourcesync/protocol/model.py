"""What a document says, as values.

These classes check nothing: a reader must be able to hold the imperfect documents of others. Writing checks (see
`writer`). Times are timezone-aware datetimes, lengths are bytes.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from pelican_resourcesync.protocol.hashes import Hash
from pelican_resourcesync.protocol.vocabulary import ChangeFreq, ChangeKind, Root

Attributes = tuple[tuple[str, str], ...]
"""Community attributes (X03): pairs of a name in Clark notation, `{namespace}name`, and a value, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """`rs:ln`: a link from a document or an entry to another resource (X06, X07, LN).

    `href` and `rel` are empty when a document that was read lacks them. `length` is in bytes; `modified` is the time of
    the linked resource's last change. `attributes` are sorted when the link is made.
    """

    href: str
    rel: str
    encoding: str | None = None
    hash: tuple[Hash, ...] = ()
    length: int | None = None
    modified: dt.datetime | None = None
    path: str | None = None
    pri: int | None = None
    type: str | None = None
    profile: str | None = None
    attributes: Attributes = ()

    def __post_init__(self) -> None:
        """Sort the community attributes, so that their order makes no difference."""
        if len(self.attributes) > 1:
            object.__setattr__(self, "attributes", tuple(sorted(self.attributes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """`rs:md`: what is said of a document, or of the resource of an entry (X02, X08, X09, X14, CH02, RD06).

    `capability` is an open set of words, of which `Capability` holds the defined ones. `from_` is the attribute `from`.
    `datetime` is the time of a change (V1101). `length` is in bytes. `attributes` are sorted when the object is made.
    """

    capability: str | None = None
    at: dt.datetime | None = None
    completed: dt.datetime | None = None
    from_: dt.datetime | None = None
    until: dt.datetime | None = None
    change: ChangeKind | None = None
    datetime: dt.datetime | None = None
    modified: dt.datetime | None = None
    encoding: str | None = None
    hash: tuple[Hash, ...] = ()
    length: int | None = None
    path: str | None = None
    type: str | None = None
    attributes: Attributes = ()

    def __post_init__(self) -> None:
        """Sort the community attributes, so that their order makes no difference."""
        if len(self.attributes) > 1:
            object.__setattr__(self, "attributes", tuple(sorted(self.attributes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`url` or `sitemap`: one resource that a document lists (X10, X11, X12)."""

    loc: str
    lastmod: dt.datetime | None = None
    changefreq: ChangeFreq | None = None
    md: Metadata | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered(Entry):
    """An entry that was written before, of which only the `loc` is read: `text` is what the `Renderer` gave for it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole document; `entries` may be an iterator that passes once, so that any size fits into memory.

    `md` is None only when a document that was read has none: it is required (X02).
    """

    root: Root
    md: Metadata | None
    links: tuple[Link, ...] = ()
    entries: Iterable[Entry] = ()
