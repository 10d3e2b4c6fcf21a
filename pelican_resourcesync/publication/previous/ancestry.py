"""Determine which of two copies of a publication is the later one, and the URLs at which the next is published."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

from pelican_resourcesync.files import sha256
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.state import PublicationState, parse_state


class KnownGeneration(Protocol):
    """A generation known by its state and the SHA-256 of the state's bytes."""

    @property
    def state(self) -> PublicationState:
        """The content of its `publication.json`."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the state's bytes."""


@dataclass(frozen=True, slots=True)
class HashedState:
    """A state and the SHA-256 of its bytes, without any documents."""

    state: PublicationState
    digest: str

    @classmethod
    def parse(cls, data: bytes, name: str) -> "HashedState":
        """Parse the bytes of a state. Raises `PublicationError`, which contains `name`, if they are invalid."""
        return cls(parse_state(data, name), sha256(data))


class Ancestry(Enum):
    """The relation of one generation to another."""

    SAME = auto()
    #: It descends from the other.
    AHEAD = auto()
    #: The other descends from it.
    BEHIND = auto()
    #: Neither is known to descend from the other, so each may have changes that the other lacks.
    DIVERGED = auto()


def compare_ancestry(one: KnownGeneration, other: KnownGeneration) -> Ancestry:
    """Return the relation of `one` to `other`; a state knows up to `MOST_ANCESTORS` ancestors."""
    if one.digest == other.digest:
        return Ancestry.SAME
    if other.digest in one.state.ancestry:
        return Ancestry.AHEAD
    return Ancestry.BEHIND if one.digest in other.state.ancestry else Ancestry.DIVERGED


def layout_after(
    layout: Layout, previous: KnownGeneration | None, restarted_from: KnownGeneration | None = None
) -> Layout:
    """Return the layout of the next publication.

    It has the folder of the `previous` publication, which it continues; or a new folder next to that of the publication
    `restarted_from` which it starts over; otherwise that of `layout`.
    """
    if previous:
        return replace(layout, restart_number=previous.state.restart_number)
    return replace(layout, restart_number=restarted_from.state.restart_number + 1) if restarted_from else layout
