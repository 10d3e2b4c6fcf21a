"""The inventory: the public resources of a repository, stored on disk, and the cache kept for the next run."""

from repo_bridge.inventory.cache import Cache, cache_key_of
from repo_bridge.inventory.inventory import Inventory, Seen
from repo_bridge.inventory.loading import (
    EntryBuilder,
    InventoryLoader,
    may_compare_row_versions,
    record_removals,
)
from repo_bridge.inventory.record_files import (
    PublishedFile,
    RecordFiles,
    StoredFile,
    new_record_files,
    parse_location,
)

__all__ = [
    "Cache",
    "EntryBuilder",
    "Inventory",
    "InventoryLoader",
    "PublishedFile",
    "RecordFiles",
    "Seen",
    "StoredFile",
    "cache_key_of",
    "may_compare_row_versions",
    "new_record_files",
    "parse_location",
    "record_removals",
]
