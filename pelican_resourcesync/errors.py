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


class BytesError(PublicationError):
    """Bytes that are not what was listed; `uri` says of which resource."""

    def __init__(self, message: str, uri: str) -> None:
        """Take the message, and the URI of the resource."""
        super().__init__(message)
        self.uri = uri


class TransportError(ResourceSyncError):
    """Bytes that cannot be had from elsewhere; the message names the URL, without its query, and says why."""


class AbsentError(TransportError):
    """The site answers that there is no such file."""


class NoHostError(TransportError):
    """There is no host of that name."""


class MismatchError(TransportError):
    """What the site answers is not the file that was promised."""
