"""The documents of a publication, the HTML page, and what hosts need to make them known."""

from pelican_resourcesync.publication.documents.discovery import (
    HEADER_FILES,
    add_link_headers,
    add_robots_line,
    keep_dot_folders,
    well_known_reachable,
)

__all__ = ["HEADER_FILES", "add_link_headers", "add_robots_line", "keep_dot_folders", "well_known_reachable"]
