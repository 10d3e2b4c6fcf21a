"""Fetch files over HTTP within limits, and measure, link or copy files on disk."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.transport.addresses import connect_to_public, is_public
    from pelican_resourcesync.transport.client import Client, Pace, Request, Response, Sink
    from pelican_resourcesync.transport.folder import link_or_copy, measure, sha256
    from pelican_resourcesync.transport.headers import Headers
    from pelican_resourcesync.transport.limits import STANDARD_BOUNDS, Bounds, Budget
    from pelican_resourcesync.transport.links import links_of_headers, links_of_page
    from pelican_resourcesync.transport.pooled import PooledClient, new_client
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
    from pelican_resourcesync.transport.zipreader import DamagedZipError, ZipLimits, ZipReader
else:
    __getattr__ = names_from(
        __name__,
        {
            "addresses": "connect_to_public is_public",
            "client": "Client Pace Request Response Sink",
            "folder": "link_or_copy measure sha256",
            "headers": "Headers",
            "limits": "STANDARD_BOUNDS Bounds Budget",
            "links": "links_of_headers links_of_page",
            "pooled": "PooledClient new_client",
            "store": "Store",
            "urls": "Origin check_url is_plain origin path_of_uri served_paths shown uri_of_path",
            "web": "Received Web",
            "zipreader": "DamagedZipError ZipLimits ZipReader",
        },
    )

__all__ = [
    "STANDARD_BOUNDS",
    "Bounds",
    "Budget",
    "Client",
    "DamagedZipError",
    "Headers",
    "Origin",
    "Pace",
    "PooledClient",
    "Received",
    "Request",
    "Response",
    "Sink",
    "Store",
    "Web",
    "ZipLimits",
    "ZipReader",
    "check_url",
    "connect_to_public",
    "is_plain",
    "is_public",
    "link_or_copy",
    "links_of_headers",
    "links_of_page",
    "measure",
    "new_client",
    "origin",
    "path_of_uri",
    "served_paths",
    "sha256",
    "shown",
    "uri_of_path",
]
