"""What every site of files needs, whatever built it: its files, sets, sitemap and links, and what it continues."""

from pelican_resourcesync.publishers.static_site.discovery import (
    ROBOTS,
    add_discovery_files,
    add_robots_lines,
    alternates_of,
    is_linkable,
    with_link,
)
from pelican_resourcesync.publishers.static_site.files import (
    Exclusion,
    Facets,
    Selector,
    SiteUrls,
    Slugify,
    as_is,
    files_of,
    is_html,
    leads_outside,
    matches_pattern,
    require_plain_names,
    scan,
    selection_warnings,
    walk,
)
from pelican_resourcesync.publishers.static_site.publishing import (
    ALLOW_DELETIONS,
    PublishResult,
    SitePublisher,
    layouts_of,
    options_of,
    require_private_work_folder,
)
from pelican_resourcesync.publishers.static_site.sitemap import is_page, own_sitemaps, update_sitemap
from pelican_resourcesync.publishers.static_site.unstable import differences

__all__ = [
    "ALLOW_DELETIONS",
    "ROBOTS",
    "Exclusion",
    "Facets",
    "PublishResult",
    "Selector",
    "SitePublisher",
    "SiteUrls",
    "Slugify",
    "add_discovery_files",
    "add_robots_lines",
    "alternates_of",
    "as_is",
    "differences",
    "files_of",
    "is_html",
    "is_linkable",
    "is_page",
    "layouts_of",
    "leads_outside",
    "matches_pattern",
    "options_of",
    "own_sitemaps",
    "require_plain_names",
    "require_private_work_folder",
    "scan",
    "selection_warnings",
    "update_sitemap",
    "walk",
    "with_link",
]
