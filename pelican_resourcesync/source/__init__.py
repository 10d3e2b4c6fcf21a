"""What a Source says: its sets, lists, changes and packages, read over HTTP or from a folder, within limits."""

from pelican_resourcesync.source.discovery import REBUILT, VERIFIED, SourceSet, find_sets
from pelican_resourcesync.source.folder import WELL_KNOWN, SiteFolder
from pelican_resourcesync.source.lists import ChangeLists, GapError, Position, in_order, why_unusable
from pelican_resourcesync.source.packages import ListedDumps, ListedPackage, OpenPackage, Packages, may_contain
from pelican_resourcesync.source.receive import ResourceSink, VerifiedContent, part_name
from pelican_resourcesync.source.resource import (
    ALGORITHMS,
    UNREADABLE,
    ListedResource,
    listed_resource,
    strongest,
    text_of,
    uri_of,
    why_unreadable,
)
from pelican_resourcesync.source.source import PRIVATE, UNREAD, Source, conditions, elsewhere, note_host

__all__ = [
    "ALGORITHMS",
    "PRIVATE",
    "REBUILT",
    "UNREAD",
    "UNREADABLE",
    "VERIFIED",
    "WELL_KNOWN",
    "ChangeLists",
    "GapError",
    "ListedDumps",
    "ListedPackage",
    "ListedResource",
    "OpenPackage",
    "Packages",
    "Position",
    "ResourceSink",
    "SiteFolder",
    "Source",
    "SourceSet",
    "VerifiedContent",
    "conditions",
    "elsewhere",
    "find_sets",
    "in_order",
    "listed_resource",
    "may_contain",
    "note_host",
    "part_name",
    "strongest",
    "text_of",
    "uri_of",
    "why_unreadable",
    "why_unusable",
]
