"""Fetch files over HTTP within limits, and measure, link or copy files on disk."""

from pelican_resourcesync.transport.addresses import connect_to_public, is_public
from pelican_resourcesync.transport.client import Client, Pace, PooledClient, Request, Response, Sink, new_client
from pelican_resourcesync.transport.folder import link_or_copy, measure, sha256
from pelican_resourcesync.transport.limits import STANDARD_BOUNDS, Bounds, Budget
from pelican_resourcesync.transport.store import Store
from pelican_resourcesync.transport.urls import (
    Origin,
    check_url,
    is_plain,
    origin,
    path_of_uri,
    served_paths,
    shown,
    uri_of_path,
)
from pelican_resourcesync.transport.web import Received, Web

__all__ = [
    "STANDARD_BOUNDS",
    "Bounds",
    "Budget",
    "Client",
    "Origin",
    "Pace",
    "PooledClient",
    "Received",
    "Request",
    "Response",
    "Sink",
    "Store",
    "Web",
    "check_url",
    "connect_to_public",
    "is_plain",
    "is_public",
    "link_or_copy",
    "measure",
    "new_client",
    "origin",
    "path_of_uri",
    "served_paths",
    "sha256",
    "shown",
    "uri_of_path",
]
