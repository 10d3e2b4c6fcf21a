"""Keep an exact copy of a Source, or follow its changes: what the standard calls a Destination."""

from pelican_resourcesync.destination.cloud import BucketMirror
from pelican_resourcesync.destination.fetch import MirrorResult
from pelican_resourcesync.destination.following import FollowedChange, Following, follow
from pelican_resourcesync.destination.mirroring import Differences, Mirror
from pelican_resourcesync.destination.past import Moment
from pelican_resourcesync.destination.paths import conflict_path_of
from pelican_resourcesync.destination.plan import FetchPlan
from pelican_resourcesync.destination.state import STATE_FOLDER, TRUSTED, CopyState, locked

__all__ = [
    "STATE_FOLDER",
    "TRUSTED",
    "BucketMirror",
    "CopyState",
    "Differences",
    "FetchPlan",
    "FollowedChange",
    "Following",
    "Mirror",
    "MirrorResult",
    "Moment",
    "conflict_path_of",
    "follow",
    "locked",
]
