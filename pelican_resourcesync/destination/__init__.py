"""Keep an exact copy of a Source: what the standard calls a Destination."""

from pelican_resourcesync.destination.copy import conflict_path_of, locked, path_of
from pelican_resourcesync.destination.fetch import Result
from pelican_resourcesync.destination.following import Change, Following, follow
from pelican_resourcesync.destination.mirror import Difference, Mirror
from pelican_resourcesync.destination.options import STATE_FOLDER, IncompleteError, MirrorError, Options
from pelican_resourcesync.destination.past import Moment
from pelican_resourcesync.destination.plan import Plan
from pelican_resourcesync.destination.proof import check_proof

__all__ = [
    "STATE_FOLDER",
    "Change",
    "Difference",
    "Following",
    "IncompleteError",
    "Mirror",
    "MirrorError",
    "Moment",
    "Options",
    "Plan",
    "Result",
    "check_proof",
    "conflict_path_of",
    "follow",
    "locked",
    "path_of",
]
