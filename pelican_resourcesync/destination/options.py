"""What a user may ask of a mirror, and its limits, all in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from mimetypes import guess_type
from urllib.parse import urlsplit

from pelican_resourcesync.errors import ResourceSyncError

#: The folder in the copy that holds the state.
STATE_FOLDER = ".mirror"
#: Where the standard has the Source Description of a host.
WELL_KNOWN = ".well-known/resourcesync"


class MirrorError(ResourceSyncError):
    """Raised when nothing can be mirrored; the message says why, and what to do about it."""


class IncompleteError(MirrorError):
    """Raised when a mirror stops before it changes anything, because that could do harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a mirror. Sizes are in bytes, times in seconds, rates per second; 0 means no limit of the rate.

    `sets`, `only` and `types` select resources: names of sets, patterns of URLs, media types. `hosts` are other hosts
    that may be asked. `credentials` are headers for the Source's own origin. `by` is how to get what is to be fetched:
    `lists`, one by one; `dumps`, from packages where there are some; or `auto`. `at` is a time of the past to restore.
    """

    sets: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    allow_private: bool = False
    adopt: bool = False
    atomic: bool = False
    keep: int = 1
    accept_older: bool = False
    proxies: bool = False
    max_deletions: float = 20.0
    jobs: int = 8
    requests: float = 0
    bandwidth: float = 0
    retries: int = 4
    backoff: float = 1.0
    longest_wait: float = 300.0
    timeout: float = 30.0
    document_time: float = 300.0
    resource_time: float = 3600.0
    document_size: int = 100_000_000
    resource_size: int = 10_000_000_000
    max_documents: int = 10_000
    max_resources: int = 10_000_000
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    sync: bool = True
    by: str = "auto"
    at: datetime | None = None

    def wants_uri(self, uri: str) -> bool:
        """Return whether a resource with a URI may be selected."""
        return not self.only or any(fnmatchcase(uri, each) or fnmatchcase(uri, f"*{each}") for each in self.only)

    def wants(self, uri: str, media_type: str | None) -> bool:
        """Return whether a resource is selected."""
        if not self.wants_uri(uri):
            return False
        if not self.types:
            return True
        media_type = media_type or guess_type(urlsplit(uri).path)[0] or ""
        plain = media_type.partition(";")[0].strip().lower()
        return any(fnmatchcase(plain, each.lower()) for each in self.types)

    @property
    def selection(self) -> str:
        """The selection as text, to notice when it changes."""
        return repr((sorted(self.sets), sorted(self.only), sorted(self.types), sorted(self.hosts)))
