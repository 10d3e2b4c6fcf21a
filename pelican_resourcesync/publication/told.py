"""What history tells of a set: the changes since its last publication, and the clock to publish by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.publication.change import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What history tells: `changes` since the last publication, of each URI oldest first, and the clock to publish by.

    `complete` is false where there is no history to tell anything from. `touched` says whether anything may explain a
    change of a resource that `changes` does not name: a commit, or an edit that is not committed. `commit` is the
    commit built, `landed` its landing time. `built` is the time of this build. `objects` gives the file with the bytes
    of a SHA-256, for changes whose bytes are no longer those of a resource, `None` where they are not at hand. `times`
    gives for URIs when the resources last changed or went, as far as a witness beside history knows, who was asked as
    of `evaluated`.
    """

    built: datetime
    evaluated: datetime | None = None
    changes: Sequence[Change] = ()
    complete: bool = True
    touched: bool = False
    commit: str | None = None
    landed: datetime | None = None
    held: Mapping[str, datetime] = field(default_factory=dict)
    objects: Callable[[str], Path | None] = field(default=lambda _digest: None)
    times: Callable[[Sequence[str]], Mapping[str, datetime]] = field(default=lambda _uris: {})
