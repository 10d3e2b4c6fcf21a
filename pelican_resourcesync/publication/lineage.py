"""Lineage: which of two copies of a publication descends from the other, and what a new one goes on from."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.state import State, parse_state
from pelican_resourcesync.transport.folder import sha256


class Known(Protocol):
    """A generation that is known by its state and the SHA-256 of the state's bytes."""

    @property
    def state(self) -> State:
        """What it says of itself."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the state's bytes."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A state and the SHA-256 of its bytes, without any of the documents."""

    state: State
    digest: str

    @classmethod
    def parse(cls, data: bytes, name: str) -> "Sealed":
        """Take the bytes of a state; `PublicationError` names `name` where they are none."""
        return cls(parse_state(data, name), sha256(data))


class Lineage(Enum):
    """How one generation stands to another."""

    SAME = auto()
    #: It descends from the other.
    AHEAD = auto()
    #: The other descends from it.
    BEHIND = auto()
    #: Neither descends from the other, as far as is known: both may have what the other has not.
    APART = auto()


def lineage(one: Known, other: Known) -> Lineage:
    """Tell how `one` stands to `other`, as far as the ancestors that a state remembers (`MOST_ANCESTORS`) tell."""
    if one.digest == other.digest:
        return Lineage.SAME
    if other.digest in one.state.ancestry:
        return Lineage.AHEAD
    return Lineage.BEHIND if one.digest in other.state.ancestry else Lineage.APART


def layout_after(layout: Layout, previous: Known | None, over: Known | None = None) -> Layout:
    """Give where the next publication's documents lie.

    That is where the `previous` one's are, which it carries forward; or beside those of the one that it begins anew
    `over`; else where `layout` says.
    """
    if previous:
        return replace(layout, start=previous.state.start)
    return replace(layout, start=over.state.start + 1) if over else layout
