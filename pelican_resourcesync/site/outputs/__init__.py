"""The files that a build wrote: which are resources, and of which set."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.site.outputs.discovery import COMPRESSED, with_link
    from pelican_resourcesync.site.outputs.facets import UNFILED, Facets, facets_of, links_of
    from pelican_resourcesync.site.outputs.removed_sets import find_removed_sets, removed_layouts, removed_set_warnings
    from pelican_resourcesync.site.outputs.resources import (
        ROBOTS,
        Exclusion,
        ResourceSet,
        SiteResources,
        collect,
        layouts_of,
    )
    from pelican_resourcesync.site.outputs.roles import Role, Roles
    from pelican_resourcesync.site.outputs.run import OutputFile, Run, copied_source
    from pelican_resourcesync.site.outputs.selection import Selector
    from pelican_resourcesync.site.outputs.uris import is_html, matches_pattern, uri_of
else:
    __getattr__ = names_from(
        __name__,
        {
            "discovery": "COMPRESSED with_link",
            "facets": "UNFILED Facets facets_of links_of",
            "removed_sets": "removed_layouts find_removed_sets removed_set_warnings",
            "resources": "ROBOTS Exclusion ResourceSet SiteResources collect layouts_of",
            "roles": "Role Roles",
            "run": "OutputFile Run copied_source",
            "selection": "Selector",
            "uris": "is_html matches_pattern uri_of",
        },
    )

__all__ = [
    "COMPRESSED",
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
    "collect",
    "copied_source",
    "facets_of",
    "find_removed_sets",
    "is_html",
    "layouts_of",
    "links_of",
    "matches_pattern",
    "removed_layouts",
    "removed_set_warnings",
    "uri_of",
    "with_link",
]
