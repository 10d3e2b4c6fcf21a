"""The contents of documents, as data classes.

These classes check nothing, because the reader must be able to represent imperfect documents of other publishers.
They must not be changed once created, but are not frozen, because creating frozen objects takes three times as long.
Values are checked on writing (see `writer`). Times are timezone-aware datetimes, and lengths are in bytes.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from pelican_resourcesync.protocol.values import Hash
from pelican_resourcesync.protocol.vocabulary import ChangeFreq, ChangeKind, Root

Attributes = tuple[tuple[str, str], ...]
"""Community attributes (X03): pairs of a name in Clark notation, `{namespace}name`, and a value, sorted."""


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class _Described:
    """What both `rs:md` and `rs:ln` say of bytes (X08).

    `length` is in bytes; `modified` is the time of their last change. `attributes` are sorted when the object is
    created.
    """

    encoding: str | None = None
    hash: tuple[Hash, ...] = ()
    length: int | None = None
    modified: dt.datetime | None = None
    path: str | None = None
    type: str | None = None
    attributes: Attributes = ()

    def __post_init__(self) -> None:
        """Sort the community attributes, so that their original order does not matter."""
        if len(self.attributes) > 1:
            self.attributes = tuple(sorted(self.attributes))


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Link(_Described):
    """`rs:ln`: a link from a document or an entry to another resource (X06, X07, LN).

    `href` and `rel` are empty if a document that was read lacks them.
    """

    href: str
    rel: str
    pri: int | None = None
    profile: str | None = None


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Metadata(_Described):
    """`rs:md`: metadata about a document, or about the resource of an entry (X02, X08, X09, X14, CH02, RD06).

    `capability` may be any word; `Capability` holds the defined ones. `from_` is the attribute `from`. `datetime` is
    the time of a change (V1101).
    """

    capability: str | None = None
    at: dt.datetime | None = None
    completed: dt.datetime | None = None
    from_: dt.datetime | None = None
    until: dt.datetime | None = None
    change: ChangeKind | None = None
    datetime: dt.datetime | None = None


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Entry:
    """`url` or `sitemap`: one resource that a document lists (X10, X11, X12).

    `unreadable` says which values of a document that was read leniently cannot be read, and are left out.
    """

    loc: str
    lastmod: dt.datetime | None = None
    changefreq: ChangeFreq | None = None
    md: Metadata | None = None
    links: tuple[Link, ...] = ()
    unreadable: str = ""


RenderedEntry = tuple[str, str, str, str]
"""The `loc` of an entry, its `rs:md` and its links as a `Renderer` writes them, and its bare `lastmod`; or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole document; `entries` may be a one-pass iterator, so that a document of any size fits into memory.

    `md` is required (X02); it is None only if a document that was read lacks it. `rendered` are further entries to be
    written, whose parts are written already; only their `loc` is checked again.
    """

    root: Root
    md: Metadata | None
    links: tuple[Link, ...] = ()
    entries: Iterable[Entry] = ()
    rendered: Iterable[RenderedEntry] = ()
