"""Errors raised when nothing can be checked."""

from pelican_resourcesync.errors import ResourceSyncError


class CheckError(ResourceSyncError):
    """Raised when a target or an option cannot be used; the message says why, and what to give instead."""
