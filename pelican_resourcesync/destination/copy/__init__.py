"""The copy on disk: its files, its state in SQLite, and states that are built beside it."""

from pelican_resourcesync.destination.copy.atomic import States
from pelican_resourcesync.destination.copy.files import Copy, InTheWayError
from pelican_resourcesync.destination.copy.hashes import ALGORITHMS, hash_of, strongest
from pelican_resourcesync.destination.copy.parts import MismatchedError, PartSink, part_name
from pelican_resourcesync.destination.copy.paths import conflict_path_of, path_of
from pelican_resourcesync.destination.copy.state import Held, Pending, State, locked, open_state

__all__ = [
    "ALGORITHMS",
    "Copy",
    "Held",
    "InTheWayError",
    "MismatchedError",
    "PartSink",
    "Pending",
    "State",
    "States",
    "conflict_path_of",
    "hash_of",
    "locked",
    "open_state",
    "part_name",
    "path_of",
    "strongest",
]
