"""What comes of publishing a repository, what would come of it, and who is told how far it has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.publish import Publication

#: How many of the files that are left out are named.
MOST_LEFT_OUT = 100

#: How many URIs are examples of many.
MOST_EXAMPLES = 5


class Progress(Protocol):
    """Who is told how far it has come."""

    def say(self, what: str) -> None:
        """Begin another stage, such as `reading the repository`."""

    def passed(self, number: int) -> None:
        """Take note that so many more items were read."""

    def packed(self, size: int) -> None:
        """Take note that so many more bytes were packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What is public: `items`, their `records` in all formats, their `files`; resources of a query are `files` too.

    `left_out` has a sentence for each file that is in no dump because its bytes cannot be had, at most `MOST_LEFT_OUT`
    of all `left_out_count`. `notes` are for the user to know.
    """

    items: int
    records: int
    files: int
    left_out: tuple[str, ...] = ()
    left_out_count: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Counts):
    """What was published, by the name of the set, in how many `seconds`; `warnings` are for the user to act on."""

    publications: Mapping[str, Publication]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What would be published of a set: how many `resources`, and which `changes`, none where it is the `first` time.

    `examples` are URIs of each kind of change, and `listed` of all resources: at most `MOST_EXAMPLES` each.
    """

    first: bool
    resources: int
    changes: Mapping[ChangeKind, int] = field(default_factory=dict)
    examples: Mapping[ChangeKind, tuple[str, ...]] = field(default_factory=dict)
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight(Counts):
    """What would be published, by the name of the set; `stopped` is what a guard would say, empty where none would."""

    sets: Mapping[str, Expected]
    stopped: str = ""
