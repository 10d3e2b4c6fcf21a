"""What a Source says: its sets, lists, changes and packages, read over HTTP or from a folder, within limits."""

from pelican_resourcesync.source.discovery import SourceSet, find_sets
from pelican_resourcesync.source.folder import WELL_KNOWN, SiteFolder
from pelican_resourcesync.source.lists import ChangeLists, GapError, Position, in_order
from pelican_resourcesync.source.options import (
    IncompleteError,
    ProgressCallback,
    Several,
    SourceError,
    SourceOptions,
    by_keyword,
)
from pelican_resourcesync.source.packages import ListedDumps, ListedPackage, OpenPackage, Packages, may_contain
from pelican_resourcesync.source.receive import ResourceSink, VerifiedContent, part_name
from pelican_resourcesync.source.resource import (
    ALGORITHMS,
    UNREADABLE,
    ListedResource,
    listed_resource,
    matches_type,
    strongest,
    text_of,
    uri_of,
    why_unreadable,
)
from pelican_resourcesync.source.signed import REBUILT, VERIFIED
from pelican_resourcesync.source.source import PRIVATE, Source, conditions

__all__ = [
    "ALGORITHMS",
    "PRIVATE",
    "REBUILT",
    "UNREADABLE",
    "VERIFIED",
    "WELL_KNOWN",
    "ChangeLists",
    "GapError",
    "IncompleteError",
    "ListedDumps",
    "ListedPackage",
    "ListedResource",
    "OpenPackage",
    "Packages",
    "Position",
    "ProgressCallback",
    "ResourceSink",
    "Several",
    "SiteFolder",
    "Source",
    "SourceError",
    "SourceOptions",
    "SourceSet",
    "VerifiedContent",
    "by_keyword",
    "conditions",
    "find_sets",
    "in_order",
    "listed_resource",
    "matches_type",
    "may_contain",
    "part_name",
    "strongest",
    "text_of",
    "uri_of",
    "why_unreadable",
]
