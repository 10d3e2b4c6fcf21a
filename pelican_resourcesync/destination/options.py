"""What a user may ask of a mirror."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from pelican_resourcesync.source import Several, SourceError, SourceOptions
from pelican_resourcesync.system.printable import get_logger

#: The folder in the copy that has the state.
STATE_FOLDER = ".mirror"
_logger = get_logger("pelican_resourcesync")


class MirrorError(SourceError):
    """Raised when nothing can be mirrored; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorOptions(SourceOptions):
    """The options of a mirror, besides those of the Source that it reads.

    `adopt`: use what the folder of the copy has already, or follow a Source that has moved. `atomic`: build the next
    state beside the copy, of which `keep` earlier states stay. `max_deletions` is the percentage of the copy that a run
    may delete. `at` is a time of the past to restore. `sync`: wait until files are on disk. `prefer` are media types:
    a resource that has an alternate of one of them is replaced by that, of the first that there is. `ask` takes another
    host that has mirrors of resources, and returns whether it may be requested. `described`: record what the Source
    says of its resources, for an aggregator, which publishes the copy.
    """

    adopt: bool = False
    atomic: bool = False
    keep: int = 1
    max_deletions: float = 20.0
    at: datetime | None = None
    sync: bool = True
    prefer: Several = ()
    described: bool = False
    ask: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def selection(self) -> str:
        """The selection as text, to notice when it changes."""
        return f"{super(MirrorOptions, self).selection}{list(self.prefer) or ''}{' described' * self.described}"


def log_change(kind: str, uri: str) -> None:
    """Log what was done with a resource. `kind` and `uri` are attributes of the record, too."""
    _logger.info("%s %s", kind, uri, extra={"kind": kind, "uri": uri})
