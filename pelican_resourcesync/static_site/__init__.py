"""What every site of files needs, whatever built it: its files, sets, sitemap and links, and what it continues."""

from pelican_resourcesync.static_site.discovery import (
    ROBOTS,
    add_discovery_files,
    add_robots_lines,
    alternates_of,
    is_linkable,
    link_pages,
    require_free_places,
    with_link,
)
from pelican_resourcesync.static_site.paths import (
    Exclusion,
    SiteUrls,
    files_of,
    is_html,
    leads_outside,
    matches_pattern,
    require_plain_names,
    scan,
    walk,
)
from pelican_resourcesync.static_site.publishing import (
    ALLOW_DELETIONS,
    PublishResult,
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
