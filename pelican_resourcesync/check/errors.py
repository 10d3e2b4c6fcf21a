"""What cannot be checked at all."""

from pelican_resourcesync.errors import ResourceSyncError


class CheckError(ResourceSyncError):
    """A target or an option that nothing can be made of; the message says why, and what to give instead."""
