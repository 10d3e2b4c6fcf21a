"""The errors of the bridge: each message says what is wrong, where, and what to do about it."""

from pelican_resourcesync.errors import ResourceSyncError


class BridgeError(ResourceSyncError):
    """The one root of every error the bridge raises on purpose."""


class DatabaseError(BridgeError):
    """A database that cannot be opened or read; the message never holds a password."""


class SchemaError(DatabaseError):
    """A database without a table or a column that is needed, or of a version that is not known."""


class DumpError(BridgeError):
    """A dump that cannot be read; the message names the file, and the line where there is one."""


class ArchiveError(BridgeError):
    """A folder in Simple Archive Format that cannot be read; the message names the file."""


class QueryError(BridgeError):
    """A row of a statement of the user's that is no resource; the message says which row and which column."""


class InventoryError(BridgeError):
    """What a repository has cannot be taken down, or is not one thing a URI; the message says where."""


class CrosswalkError(BridgeError):
    """A metadata format that no crosswalk makes; the message names those that there are."""
