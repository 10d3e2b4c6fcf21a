"""Publishes a repository's database as a ResourceSync Source, with the same documents as for a Pelican site.

The bridge publishes through ``pelican_resourcesync.publication`` and does not depend on Pelican or git. Its errors are
here: each message says what is wrong, where, and what to do about it.
"""

from pelican_resourcesync.errors import ResourceSyncError


class BridgeError(ResourceSyncError):
    """The base class of all errors that the bridge raises on purpose."""


class DatabaseError(BridgeError):
    """Raised when a database cannot be opened or read; the message never contains a password."""


class SchemaError(DatabaseError):
    """Raised when a database lacks a table or a column that is needed, or is of an unknown version."""


class DumpError(BridgeError):
    """Raised when a dump cannot be read; the message names the file, and the line if there is one."""


class ArchiveError(BridgeError):
    """Raised when a folder in Simple Archive Format cannot be read; the message names the file."""


class QueryError(BridgeError):
    """Raised when a row of the user's statement is not a valid resource; the message names the row and the column."""


class TableError(BridgeError):
    """Raised when a table cannot be read or has too many bad rows; the message names the file, and rows of it."""


class InventoryError(BridgeError):
    """Raised when the inventory cannot be read or written, or two things have the same URI; the message says where."""


class CrosswalkError(BridgeError):
    """Raised when a crosswalk cannot be used, or makes no record; the message names its file."""
