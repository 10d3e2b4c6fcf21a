"""A change: the entry of a Change List for one resource at one time."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Self

from pelican_resourcesync.protocol import ChangeKind, Hash, Link

#: The names of the hash that we compute and of the one that repositories keep (X08).
SHA_256, MD5 = "sha-256", "md5"


@dataclass(frozen=True, slots=True)
class Representation:
    """The bytes of a resource as they are published (`X09`): their hash, length in bytes, and media type.

    Unknown values are `None`: a database may know less about bytes that another server delivers.
    """

    hash: Hash | None = None
    length: int | None = None
    type: str | None = None

    @classmethod
    def measured(cls, sha256: str, length: int, type: str) -> Self:
        """Create the representation of bytes that were read: SHA-256 (hexadecimal), length in bytes, media type."""
        return cls(Hash(algorithm=SHA_256, digest=sha256), length, type)

    def differs(self, other: "Representation") -> bool:
        """Return whether the bytes may differ, by hash or else by length; a hash on only one side is a difference."""
        if self.hash or other.hash:
            return self.hash != other.hash
        return None not in {self.length, other.length} and self.length != other.length


class Change(NamedTuple):
    """One change (`CH02`): URI, time (UTC) and kind.

    `representation` describes the bytes at that publication. It is `None` for a deletion, and for a change before the
    first publication, whose bytes were never seen. `links` lead to related resources (LN). This is a tuple because
    there may be millions, and tuples are created faster.
    """

    time: datetime
    uri: str
    kind: ChangeKind
    representation: Representation | None = None
    links: tuple[Link, ...] = ()
