"""What git says: commits, paths, blobs, landing times and work trees. Nothing here knows Pelican."""

from pelican_resourcesync.publishers.git.log import (
    LINK,
    SUBMODULE,
    Commit,
    Landing,
    PathChange,
    committer_time,
    landing_times,
)
from pelican_resourcesync.publishers.git.repository import (
    UNCOMMITTED,
    Checkout,
    Checkouts,
    Repository,
    UnreadableHistoryError,
    find_repository,
)

__all__ = [
    "LINK",
    "SUBMODULE",
    "UNCOMMITTED",
    "Checkout",
    "Checkouts",
    "Commit",
    "Landing",
    "PathChange",
    "Repository",
    "UnreadableHistoryError",
    "committer_time",
    "find_repository",
    "landing_times",
]
