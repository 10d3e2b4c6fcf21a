"""A change: what a Change List says of one resource at one time."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pelican_resourcesync.protocol import ChangeKind, Link


@dataclass(frozen=True, slots=True)
class Representation:
    """The bytes of a resource as they are published: SHA-256 (hexadecimal), length in bytes, media type (`X09`)."""

    sha256: str
    length: int
    type: str


class Change(NamedTuple):
    """One change (`CH02`): which URI, when (UTC), of what kind.

    `representation` is of the bytes at that publication; `None` for a deletion, and for a change that happened before
    the first publication, whose bytes were not seen. `links` lead to related resources (LN). A tuple, which is made
    faster: there may be millions.
    """

    time: datetime
    uri: str
    kind: ChangeKind
    representation: Representation | None = None
    links: tuple[Link, ...] = ()
