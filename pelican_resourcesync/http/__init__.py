"""Fetch files over HTTP within limits, and read ZIP files that may mean harm."""

from pelican_resourcesync.http.client import (
    PASSING,
    USER_AGENT,
    Client,
    Headers,
    Request,
    Response,
    Sink,
    new_client,
)
from pelican_resourcesync.http.limits import STANDARD_BOUNDS, Bounds, Budget, Pace
from pelican_resourcesync.http.urls import (
    Origin,
    check_url,
    is_plain,
    origin,
    path_of_uri,
    served_paths,
    shown,
    uri_of_path,
)
from pelican_resourcesync.http.web import Received, Store, Web, links_of_headers, links_of_page
from pelican_resourcesync.http.zips import DamagedZipError, ZipLimits, ZipReader

__all__ = [
    "PASSING",
    "STANDARD_BOUNDS",
    "USER_AGENT",
    "Bounds",
    "Budget",
    "Client",
    "DamagedZipError",
    "Headers",
    "Origin",
    "Pace",
    "Received",
    "Request",
    "Response",
    "Sink",
    "Store",
    "Web",
    "ZipLimits",
    "ZipReader",
    "check_url",
    "is_plain",
    "links_of_headers",
    "links_of_page",
    "new_client",
    "origin",
    "path_of_uri",
    "served_paths",
    "shown",
    "uri_of_path",
]
