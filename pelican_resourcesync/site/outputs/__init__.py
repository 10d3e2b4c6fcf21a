"""The files that a build wrote: which are resources, and of which set."""

from pelican_resourcesync.site.outputs.discovery import (
    ROBOTS,
    add_discovery_files,
    add_robots_lines,
    is_linkable,
    link_pages,
    own_sitemaps,
    update_sitemap,
    with_link,
)
from pelican_resourcesync.site.outputs.paths import Role, Roles, matches_pattern, uri_of
from pelican_resourcesync.site.outputs.resources import (
    Exclusion,
    ResourceSet,
    SiteResources,
    find_resources,
    layouts_of,
    require_complete_copies,
)
from pelican_resourcesync.site.outputs.run import OutputFile, Run, copied_source, leads_outside
from pelican_resourcesync.site.outputs.sets import UNFILED, Facets, Selector, facets_of, links_of

__all__ = [
    "ROBOTS",
    "UNFILED",
    "Exclusion",
    "Facets",
    "OutputFile",
    "ResourceSet",
    "Role",
    "Roles",
    "Run",
    "Selector",
    "SiteResources",
    "add_discovery_files",
    "add_robots_lines",
    "copied_source",
    "facets_of",
    "find_resources",
    "is_linkable",
    "layouts_of",
    "leads_outside",
    "link_pages",
    "links_of",
    "matches_pattern",
    "own_sitemaps",
    "require_complete_copies",
    "update_sitemap",
    "uri_of",
    "with_link",
]
