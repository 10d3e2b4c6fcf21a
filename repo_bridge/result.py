"""The results of publishing a repository or of a dry run, and the interface for reporting progress."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Publication
from repo_bridge.model import Reason

#: At most this many of the files left out are named.
MOST_LEFT_OUT = 100

#: At most this many URIs are given as examples.
MOST_EXAMPLES = 10


class Progress(Protocol):
    """Receives reports of progress."""

    def say(self, what: str) -> None:
        """Begin another stage, such as `reading the repository`."""

    def advance(self, number: int) -> None:
        """Report that this many more items were read."""

    def packed(self, size: int) -> None:
        """Report that this many more bytes were packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What is public: `items`, their `records` in all formats and their `files`; resources of a query count as `files`.

    `left_out` has a sentence for each file that no dump contains because its bytes are not available, at most
    `MOST_LEFT_OUT` of all `left_out_count`. `notes` are information for the user.
    """

    items: int
    records: int
    files: int
    left_out: tuple[str, ...] = ()
    left_out_count: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Counts):
    """What was published, by name of the set, in how many `seconds`; `warnings` are for the user to act on."""

    publications: Mapping[str, Publication]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedSet:
    """How many `resources` of a set would be published, and which `changes` (none if it is the `first` publication).

    `examples` are URIs of each kind of change, and `listed` URIs of all resources: at most `MOST_EXAMPLES` each.
    """

    first: bool
    resources: int
    changes: Mapping[ChangeKind, int] = field(default_factory=dict)
    examples: Mapping[ChangeKind, tuple[str, ...]] = field(default_factory=dict)
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenItems:
    """How many items are not public for the same reason, with handles of at most `MOST_EXAMPLES` of them."""

    items: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(Counts):
    """What would be published, by name of the set; `stopped` is the message that would stop it, or empty.

    `hidden` are the items that are not public, by reason, and `hidden_files` the number of files of public items that
    are not.
    """

    sets: Mapping[str, ExpectedSet]
    stopped: str = ""
    hidden: Mapping[Reason, HiddenItems] = field(default_factory=dict)
    hidden_files: int = 0
