"""The contents of documents, as data classes, with the vocabulary of the standard (core §7) and the limits for reading.

The classes check nothing, because the reader must be able to represent imperfect documents of other publishers.
They must not be changed once created, but are not frozen, because creating frozen objects takes three times as long.
Values are checked on writing (see `writer`). Times are timezone-aware datetimes, and lengths are in bytes.

A document larger than the limits for reading is refused. The limits of the standard (X04: 50,000 entries and 50 MB)
apply to the writer and to the checker's rules.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pelican_resourcesync.protocol.values import Hash

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
RS_NS = "http://www.openarchives.org/rs/terms/"
CONTENT_NS = "https://github.com/pelican-resourcesync/pelican-resourcesync/blob/main/docs/content.md"
"""The namespace of our own attributes of pages (X03), which leads to what they mean."""
CONTENT_HASH, CONTENT_MODIFIED = f"{{{CONTENT_NS}}}hash", f"{{{CONTENT_NS}}}modified"
"""The hash of what a page says, empty for one that is not for people; and the time since which it says that."""

PATCH = "http://www.openarchives.org/rs/terms/patch"
"""The relation of a changed resource to a patch from its previous bytes (LN03)."""

EDITIONS = (2014, 2017)
"""The editions of the core specification, by year."""

MOST_BYTES = 100_000_000
"""The size of a whole document in bytes."""
MOST_ENTRIES = 200_000
"""The number of entries in a document."""
LARGEST_ELEMENT = 262_144
"""The size in bytes of one entry, or of one other child of the root, which takes many times as much memory."""
LONGEST_PROLOG = 65_536
"""The size in bytes of what comes before the root."""
LONGEST_SHOWN = 80
"""The number of characters of untrusted text that a message shows."""


class Root(StrEnum):
    """The root element of a document (X01)."""

    URLSET = "urlset"
    SITEMAPINDEX = "sitemapindex"

    @property
    def entry(self) -> str:
        """The name of the entry elements under this root."""
        return "url" if self is Root.URLSET else "sitemap"


class Capability(StrEnum):
    """The values of `capability` that the specifications define; communities may add others."""

    DESCRIPTION = "description"
    CAPABILITYLIST = "capabilitylist"
    RESOURCELIST = "resourcelist"
    RESOURCEDUMP = "resourcedump"
    RESOURCEDUMP_MANIFEST = "resourcedump-manifest"
    CHANGELIST = "changelist"
    CHANGEDUMP = "changedump"
    CHANGEDUMP_MANIFEST = "changedump-manifest"
    RESOURCELIST_ARCHIVE = "resourcelist-archive"
    RESOURCEDUMP_ARCHIVE = "resourcedump-archive"
    CHANGELIST_ARCHIVE = "changelist-archive"
    CHANGEDUMP_ARCHIVE = "changedump-archive"
    CHANGE_NOTIFICATION = "change-notification"


#: The relation of the link from a Capability List to our list of all versions (RFC 5829).
VERSION_HISTORY = "version-history"


class ChangeKind(StrEnum):
    """What happened to a resource: the values of `change` (CH02)."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


class ChangeFreq(StrEnum):
    """How often a resource is likely to change: the values of `changefreq` (X12)."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one document: entries, and bytes of uncompressed XML (X04)."""

    entries: int = 50_000
    size: int = 50_000_000


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

    `unreadable` has the values of a document that were left out because they cannot be read, with the reasons.
    """

    loc: str
    lastmod: dt.datetime | None = None
    changefreq: ChangeFreq | None = None
    md: Metadata | None = None
    links: tuple[Link, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


RenderedEntry = tuple[str, str, str, str]
"""The `loc` of an entry, its `rs:md` and its links as a `Renderer` writes them, and its bare `lastmod`; or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole document; `entries` may be a one-pass iterator, so that a document of any size fits into memory.

    `md` is required (X02); it is None only if a document that was read lacks it. `rendered` are further entries to be
    written, whose parts are written already; only their `loc` is checked again. `prefixes` are the namespaces of
    communities that the root declares, by prefix. `unreadable` is as in `Entry`.
    """

    root: Root
    md: Metadata | None
    links: tuple[Link, ...] = ()
    entries: Iterable[Entry] = ()
    rendered: Iterable[RenderedEntry] = ()
    prefixes: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
