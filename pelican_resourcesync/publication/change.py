"""A change: what a Change List says of one resource at one time."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Self

from pelican_resourcesync.protocol import ChangeKind, Hash, Link

#: What the hash of our own bytes is called, and the one that repositories keep (X08).
SHA_256, MD5 = "sha-256", "md5"


@dataclass(frozen=True, slots=True)
class Representation:
    """The bytes of a resource as they are published (`X09`): their hash, length in bytes, and media type.

    What is not known is `None`: of bytes that others serve, their database may say less.
    """

    hash: Hash | None = None
    length: int | None = None
    type: str | None = None

    @classmethod
    def measured(cls, sha256: str, length: int, type: str) -> Self:
        """Make one of bytes that were read: SHA-256 (hexadecimal), length in bytes, media type."""
        return cls(Hash(algorithm=SHA_256, digest=sha256), length, type)

    def differs(self, other: "Representation") -> bool:
        """Tell whether these may be other bytes, by hash, else by length; a hash that comes or goes is a doubt."""
        if self.hash or other.hash:
            return self.hash != other.hash
        return None not in {self.length, other.length} and self.length != other.length


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
