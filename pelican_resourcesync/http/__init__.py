"""Fetch files over HTTP within limits, and read ZIP files that may mean harm."""

from pelican_resourcesync.http.buckets import LONGEST_REQUEST, Bucket, BucketPath, Version, is_bucket
from pelican_resourcesync.http.client import (
    USER_AGENT,
    Client,
    Headers,
    Request,
    Response,
    Sink,
    is_sendable,
    new_client,
    retry_after,
)
from pelican_resourcesync.http.limits import STANDARD_BOUNDS, Bounds, Pace, Turns
from pelican_resourcesync.http.server import LimitedServer
from pelican_resourcesync.http.urls import (
    Origin,
    address_of,
    check_url,
    host_to_name,
    is_plain,
    is_public,
    is_url,
    normalized,
    origin,
    path_of_uri,
    served_paths,
    shown,
    uri_of_path,
    without_query,
)
from pelican_resourcesync.http.web import Received, Web, links_of_headers, links_of_page, looks_like_page
from pelican_resourcesync.http.zips import DamagedZipError, ZipLimitError, ZipLimits, ZipReader
