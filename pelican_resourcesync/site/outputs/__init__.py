"""The files that a build wrote: which are resources, and of which set."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.site.outputs.discovery import (
        ROBOTS,
        add_discovery_files,
        add_robots_lines,
        is_linkable,
        link_pages,
        with_link,
    )
    from pelican_resourcesync.site.outputs.facets import UNFILED, Facets, facets_of, links_of
    from pelican_resourcesync.site.outputs.removed_sets import find_removed_sets, removed_layouts, removed_set_warnings
    from pelican_resourcesync.site.outputs.resources import (
        Exclusion,
        ResourceSet,
        SiteResources,
        find_resources,
        layouts_of,
        require_complete_copies,
    )
    from pelican_resourcesync.site.outputs.roles import Role, Roles
    from pelican_resourcesync.site.outputs.run import OutputFile, Run, copied_source, leads_outside
    from pelican_resourcesync.site.outputs.selection import Selector
    from pelican_resourcesync.site.outputs.sitemap import own_sitemaps, update_sitemap
    from pelican_resourcesync.site.outputs.uris import matches_pattern, uri_of
else:
    __getattr__ = names_from(
        __name__,
        {
            "discovery": "ROBOTS add_discovery_files add_robots_lines is_linkable link_pages with_link",
            "facets": "UNFILED Facets facets_of links_of",
            "removed_sets": "removed_layouts find_removed_sets removed_set_warnings",
            "resources": "Exclusion ResourceSet SiteResources find_resources layouts_of require_complete_copies",
            "roles": "Role Roles",
            "run": "OutputFile Run copied_source leads_outside",
            "selection": "Selector",
            "sitemap": "own_sitemaps update_sitemap",
            "uris": "matches_pattern uri_of",
        },
    )

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
    "find_removed_sets",
    "find_resources",
    "is_linkable",
    "layouts_of",
    "leads_outside",
    "link_pages",
    "links_of",
    "matches_pattern",
    "own_sitemaps",
    "removed_layouts",
    "removed_set_warnings",
    "require_complete_copies",
    "update_sitemap",
    "uri_of",
    "with_link",
]
