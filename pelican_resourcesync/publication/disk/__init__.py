"""Files on disk: the lock on an output, staging, installation as a whole, and durable file operations."""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.publication.disk.durable import TEMPORARY_PREFIX, remove_tree, sync, temporary_sibling
    from pelican_resourcesync.publication.disk.lock import locked
    from pelican_resourcesync.publication.disk.reuse import same_bytes
    from pelican_resourcesync.publication.disk.staging import recover, replace_file
else:
    __getattr__ = names_from(
        __name__,
        {
            "durable": "TEMPORARY_PREFIX remove_tree sync temporary_sibling",
            "lock": "locked",
            "reuse": "same_bytes",
            "staging": "recover replace_file",
        },
    )

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
