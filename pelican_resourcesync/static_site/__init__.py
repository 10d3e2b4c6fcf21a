"""What every site of files needs, whatever built it: its files, sets, sitemap and links, and what it continues."""

from pelican_resourcesync.static_site.discovery import (
    ROBOTS,
    add_discovery_files,
    add_robots_lines,
    is_linkable,
    link_pages,
    with_link,
)
from pelican_resourcesync.static_site.paths import (
    Exclusion,
    leads_outside,
    matches_pattern,
    scan,
    uri_of,
    walk,
)
from pelican_resourcesync.static_site.publishing import (
    ALLOW_DELETIONS,
    PublishResult,
    failing_disk,
    find_predecessors,
    find_removed_sets,
    layouts_of,
    options_of,
    removed_layouts,
    removed_set_warnings,
    require_private_work_folder,
    unstable_warnings,
)
from pelican_resourcesync.static_site.selection import UNFILED, Facets, Selector, Slugify, as_is, selection_warnings
from pelican_resourcesync.static_site.sitemap import is_page, own_sitemaps, update_sitemap

__all__ = [
    "ALLOW_DELETIONS",
    "ROBOTS",
    "UNFILED",
    "Exclusion",
    "Facets",
    "PublishResult",
    "Selector",
    "Slugify",
    "add_discovery_files",
    "add_robots_lines",
    "as_is",
    "failing_disk",
    "find_predecessors",
    "find_removed_sets",
    "is_linkable",
    "is_page",
    "layouts_of",
    "leads_outside",
    "link_pages",
    "matches_pattern",
    "options_of",
    "own_sitemaps",
    "removed_layouts",
    "removed_set_warnings",
    "require_private_work_folder",
    "scan",
    "selection_warnings",
    "unstable_warnings",
    "update_sitemap",
    "uri_of",
    "walk",
    "with_link",
]
