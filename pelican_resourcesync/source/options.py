"""What is read of a Source, and within which limits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from mimetypes import guess_type

from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.http import USER_AGENT, Bounds

_QUERY = re.compile("[?#].*", re.DOTALL)


class SourceError(ResourceSyncError):
    """Raised when a Source cannot be used as it was asked for; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How a Source is read. Sizes are in bytes, times in seconds, rates per second; 0 means no limit of the rate.

    `sets`, `only` and `types` select resources: names of sets, patterns of URLs, media types. `hosts` are other hosts
    that may be requested; with `allow_private`, also at private addresses. `credentials` are headers for the Source's
    own origin. `proxies`: use those of the environment. `user_agent` is how requests introduce themselves, and its name
    before a slash is looked for in robots.txt.

    `keys` are public keys, of which one must have signed each set; without any, those seen first are remembered.
    `max_age` is how long ago, in seconds, a signed set may have been published, and 0 means forever. `accept_older`: go
    back with a Source that was set back.

    `jobs` is the number of simultaneous requests, `requests` and `bandwidth` limit their rate. A request that fails in
    a way that may pass is repeated `retries` times, first after `backoff` and never after more than `longest_wait`.
    `timeout` is the longest silence. The other fields limit documents, resources and their numbers.
    """

    sets: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    allow_private: bool = False
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxies: bool = False
    user_agent: str = USER_AGENT
    keys: tuple[str, ...] = ()
    max_age: float = 0
    accept_older: bool = False
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

    def wants_uri(self, uri: str) -> bool:
        """Return whether a resource with a URI may be selected."""
        return not self.only or any(fnmatchcase(uri, each) or fnmatchcase(uri, f"*{each}") for each in self.only)

    def wants(self, uri: str, media_type: str | None) -> bool:
        """Return whether a resource is selected."""
        if not self.wants_uri(uri):
            return False
        if not self.types:
            return True
        media_type = media_type or guess_type(_QUERY.sub("", uri).rpartition("/")[2])[0] or ""
        plain = media_type.partition(";")[0].strip().lower()
        return any(fnmatchcase(plain, each.lower()) for each in self.types)

    @property
    def selection(self) -> str:
        """The selection as text, to notice when it changes."""
        return repr((sorted(self.sets), sorted(self.only), sorted(self.types), sorted(self.hosts)))

    @property
    def document_bounds(self) -> Bounds:
        """The limits of one document."""
        return Bounds(timeout=self.timeout, total=self.document_time, size=self.document_size)

    @property
    def resource_bounds(self) -> Bounds:
        """The limits of one resource or package."""
        return Bounds(timeout=self.timeout, total=self.resource_time, size=self.resource_size)
