"""The vocabulary of the standard: namespaces, document roots and enumerated values (core §7)."""

from enum import StrEnum

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
RS_NS = "http://www.openarchives.org/rs/terms/"


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
