"""The errors that this package raises on purpose."""


class ResourceSyncError(Exception):
    """The one root of every error this package raises on purpose."""


class DocumentError(ResourceSyncError):
    """A document that cannot be written or read.

    The message says what is wrong, where (the document's name, the entry or its `loc`, the line when reading) and what
    to do about it.
    """


class SettingsError(ResourceSyncError):
    """A setting that cannot be used; the message names it, says what it may be, and the nearest right name."""


class HistoryError(ResourceSyncError):
    """A history that git does not give; the message says why and what to do about it."""


class PublicationError(ResourceSyncError):
    """A publication that cannot be made; the message names the file or the URI and what to do about it."""
