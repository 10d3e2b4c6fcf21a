"""Where the bytes of a resource are: published with the set, in an assetstore, or not stored by us."""

import json
from typing import Any, NamedTuple

from repo_bridge.model import Bitstream


class Holding(NamedTuple):
    """A file that is published with the set: its path below the folder of records, length (bytes) and mtime (ns).

    The mtime is used to check that the file is unchanged.
    """

    path: str
    length: int
    time: int

    def render(self) -> str:
        """Return the holding as JSON."""
        return json.dumps(self)


class Stored(NamedTuple):
    """A file in an assetstore, as the database describes it."""

    store_number: int | None
    internal_id: str | None
    length: int | None
    name: str
    id: str

    @classmethod
    def of(cls, bitstream: Bitstream) -> "Stored":
        """Return what is needed to find the file of a bitstream."""
        return cls(bitstream.store_number, bitstream.internal_id, bitstream.length, bitstream.name, bitstream.id)

    def render(self) -> str:
        """Return the file's data as JSON."""
        return json.dumps(self)


def parse_place(text: str) -> Holding | Stored | None:
    """Parse where the bytes of a resource are; return `None` if they are not stored by us."""
    values: list[Any] = json.loads(text) if text else []
    if not values:
        return None
    return Holding(*values) if len(values) == len(Holding._fields) else Stored(*values)
