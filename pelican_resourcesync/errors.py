"""The errors that this package raises on purpose."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

_PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses of failures that may pass

_REMEDIES = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space",
    errno.EFBIG: "raise the file size limit (ulimit -f)",
    errno.EIO: "check the disk",
    errno.ENOENT: "check its path",
    **dict.fromkeys((errno.EACCES, errno.EPERM), "give this user read and write access to it and its folder"),
    errno.ELOOP: "remove the loop of symbolic links",
    errno.ENAMETOOLONG: "use a shorter name",
    **dict.fromkeys((errno.EISDIR, errno.ENOTDIR, errno.EEXIST), "move away the file or folder in its place"),
}


class ResourceSyncError(Exception):
    """The base class of all errors that this package raises on purpose.

    `may_pass`: another attempt may succeed, although nobody changes what was asked for.
    """

    may_pass = False


class DocumentError(ResourceSyncError):
    """Raised when a document cannot be written or read; the next one there may be right.

    The message says what is wrong, where (the document's name, the entry or its `loc`, the line when reading) and what
    to do about it.
    """

    may_pass = True


class SettingsError(ResourceSyncError):
    """Raised when a setting cannot be used; the message names it, its valid values and the closest valid name."""


class HistoryError(ResourceSyncError):
    """Raised when git cannot provide the history; the message says why and what to do about it."""


class PublicationError(ResourceSyncError):
    """Raised when a publication fails; the message names the file or the URI and says what to do about it."""


class BytesError(PublicationError):
    """Raised when the bytes of a resource differ from what was listed; `uri` is the URI of the resource."""

    def __init__(self, message: str, uri: str) -> None:
        """Take the message and the URI of the resource."""
        super().__init__(message)
        self.uri = uri


class SourceError(ResourceSyncError):
    """Raised when a Source cannot be used as it was asked for; the message says why, and what to do about it."""


class MirrorError(SourceError):
    """Raised when nothing can be mirrored; the message says why, and what to do about it."""


class NoSourceError(MirrorError):
    """Raised when there is no Source, or not the set or list that was asked for; where there was one, it may return."""


class NotYetError(MirrorError):
    """Raised when the Source lists nothing of a set from before the time that was asked for."""


class ForeignError(SourceError):
    """Raised for a document on a host that may not be requested; the message names the option that allows it."""


class IncompleteError(SourceError):
    """Raised when a mirror stops before it changes anything, because that could do harm.

    Also when a follower cannot get some of the resources now; the message names the first of them, and the next run
    tries again. And when a run takes longer than it may, or an upload cannot go on now: the next one goes on.

    `may_pass` is false where the next run would stop again, unless somebody decides, or changes the Source.
    """

    def __init__(self, message: str, *, may_pass: bool = True) -> None:
        """Take the message, and whether the next run may succeed."""
        super().__init__(message)
        self.may_pass = may_pass


class StoppedError(ResourceSyncError):
    """Raised when a `signal` stopped a command; the message says what became of its work."""

    def __init__(self, message: str, signal: int) -> None:
        """Take the message and the number of the signal."""
        super().__init__(message)
        self.signal = signal


class TransportError(ResourceSyncError):
    """Raised when bytes cannot be fetched; the message names the URL, without its query, and says why."""

    may_pass = True


class PermanentError(TransportError):
    """Raised for what another attempt would meet again, such as a URL, a redirect or a size that is refused."""

    may_pass = False


class AbsentError(PermanentError):
    """Raised when the site answers that there is no such file."""


class TooLargeError(PermanentError):
    """Raised for a file that has more bytes than are read of any."""


class EncodingError(PermanentError):
    """Raised for what comes in an encoding that cannot be undone, which only its host can change."""


class PrivateError(PermanentError):
    """Raised for a host at a private address, which only the user may allow."""


class NoHostError(PermanentError):
    """Raised when there is no host with that name."""


class RefusedError(TransportError):
    """Raised when the host refuses the connection: nothing serves that address now."""


class StatusError(TransportError):
    """Raised for any other answer that is a failure; `retry_after` is how many seconds to wait first, if it says so."""

    def __init__(self, message: str, status: int, retry_after: float | None = None) -> None:
        """Take the message, the status and the seconds to wait."""
        super().__init__(message)
        self.status = status
        self.may_pass = status in _PASSING
        self.retry_after = retry_after


class MismatchError(PermanentError):
    """Raised when what comes is complete, but not the expected file."""


class ConflictError(PermanentError):
    """Raised when somebody else has written a file in a bucket; it stays as it is."""


def remedy(error: OSError) -> str:
    """Return what to do about an error of the disk."""
    return _REMEDIES.get(error.errno or 0, "make it and its folder writable")


def describe(outcome: str, error: OSError, advice: str = "", then: str = "") -> str:
    """Return an outcome, what failed on the disk, the file if that is another one, what to do, and what comes then."""
    where = "" if error.filename is None or str(error.filename) in outcome else f": {error.filename}"
    return f"{outcome}: {error.strerror or error}{where}: {advice or remedy(error)}{then}"


@contextmanager
def failing_disk(
    outcome: str, advice: str = "", kind: type[ResourceSyncError] = PublicationError, then: str = ""
) -> Iterator[None]:
    """Turn a disk error into one clear message: see `describe`."""
    try:
        yield
    except OSError as error:
        raise kind(describe(outcome, error, advice, then)) from error
