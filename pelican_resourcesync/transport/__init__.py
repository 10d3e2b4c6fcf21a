"""Fetch files over HTTP within limits, and measure, link or copy files on disk."""

from pelican_resourcesync.transport.addresses import connect_to_public, is_public
from pelican_resourcesync.transport.bounds import STANDARD_BOUNDS, Bounds, Budget
from pelican_resourcesync.transport.folder import link_or_copy, measure, sha256
from pelican_resourcesync.transport.http import Received, Web
from pelican_resourcesync.transport.paths import is_plain, path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.transport.store import Store
from pelican_resourcesync.transport.urls import shown

__all__ = [
    "STANDARD_BOUNDS",
    "Bounds",
    "Budget",
    "Received",
    "Store",
    "Web",
    "connect_to_public",
    "is_plain",
    "is_public",
    "link_or_copy",
    "measure",
    "path_of_uri",
    "served_paths",
    "sha256",
    "shown",
    "uri_of_path",
]
