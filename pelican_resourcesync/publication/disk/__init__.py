"""Files on disk: the lock on an output, staging, installation as a whole, and durable file operations."""

from pelican_resourcesync.lock import locked
from pelican_resourcesync.publication.disk.durable import (
    TEMPORARY_PREFIX,
    remove_tree,
    replace_file,
    same_bytes,
    sync,
    temporary_sibling,
)
from pelican_resourcesync.publication.disk.staging import recover

__all__ = [
    "TEMPORARY_PREFIX",
    "locked",
    "recover",
    "remove_tree",
    "replace_file",
    "same_bytes",
    "sync",
    "temporary_sibling",
]
