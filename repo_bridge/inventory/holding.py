"""Where the bytes of a resource are: among what is published with the set, in an assetstore, or nowhere of ours."""

import json
from typing import Any, NamedTuple

from repo_bridge.model import Bitstream


class Holding(NamedTuple):
    """A file that is published with the set: its path below the folder of holdings, length (bytes) and time (ns).

    The time is that of the file's last change, by which it is known again.
    """

    path: str
    length: int
    time: int

    def render(self) -> str:
        """Write it."""
        return json.dumps(self)


class Stored(NamedTuple):
    """A file in an assetstore, with what the database says of it."""

    store_number: int | None
    internal_id: str | None
    length: int | None
    name: str
    id: str

    @classmethod
    def of(cls, bitstream: Bitstream) -> "Stored":
        """Take what is needed to find the file of a bitstream."""
        return cls(bitstream.store_number, bitstream.internal_id, bitstream.length, bitstream.name, bitstream.id)

    def render(self) -> str:
        """Write it."""
        return json.dumps(self)


def parse_place(text: str) -> Holding | Stored | None:
    """Read where bytes are; `None` for nowhere."""
    values: list[Any] = json.loads(text) if text else []
    if not values:
        return None
    return Holding(*values) if len(values) == len(Holding._fields) else Stored(*values)
