"""What a Source says: its sets, lists, changes and dumps, read over HTTP or from a folder, within limits."""

from pelican_resourcesync.destination.source.changes import ChangeLists, in_order, text_of, uri_of
from pelican_resourcesync.destination.source.discovery import Discovery, ResourceSet
from pelican_resourcesync.destination.source.dumps import (
    AT_TIME,
    COST_OF_REQUEST,
    NEVER,
    Dumps,
    Package,
    Way,
    find_ways,
)
from pelican_resourcesync.destination.source.source import Source, waiting_time

__all__ = [
    "AT_TIME",
    "COST_OF_REQUEST",
    "NEVER",
    "ChangeLists",
    "Discovery",
    "Dumps",
    "Package",
    "ResourceSet",
    "Source",
    "Way",
    "find_ways",
    "in_order",
    "text_of",
    "uri_of",
    "waiting_time",
]
