"""The vocabulary of the standard (core §7) — namespaces, document roots, enumerated values — and limits for reading.

Anything larger than these limits is refused. The limits of the standard (X04: 50,000 entries and 50 MB) apply to the
writer and to the checker's rules.
"""

from dataclasses import dataclass
from enum import StrEnum

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
RS_NS = "http://www.openarchives.org/rs/terms/"

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
