"""The files that a build wrote: which are resources, and of which set."""

from pelican_resourcesync.publishers.pelican.outputs.resources import (
    ResourceSet,
    SiteResources,
    find_resources,
    require_complete_copies,
)
from pelican_resourcesync.publishers.pelican.outputs.roles import Role, Roles
from pelican_resourcesync.publishers.pelican.outputs.run import OutputFile, Run, copied_source, is_moved
from pelican_resourcesync.publishers.pelican.outputs.sets import facets_of, links_of, slugify_of

__all__ = [
    "OutputFile",
    "ResourceSet",
    "Role",
    "Roles",
    "Run",
    "SiteResources",
    "copied_source",
    "facets_of",
    "find_resources",
    "is_moved",
    "links_of",
    "require_complete_copies",
    "slugify_of",
]
