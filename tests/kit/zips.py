"""ZIP files byte by byte, in which everything can be a lie."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tests.kit.documents import RESOURCE_MANIFEST, A, B

STORED, DEFLATED = 0, 8
UTF8, ENCRYPTED = 0x800, 0x1
LINK = 0o120777 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A member as its bytes are; what is None is as it ought to be.

    `listed` is the name in the list of members, and `at` where that list says that the member begins; `packed` are the
    bytes as they lie there; `size`, `packed_size` and `crc` are what the list says. `hidden` leaves the member's own
    bytes out, so that it has only a place in the list.
    """

    name: bytes
    data: bytes = b""
    method: int = DEFLATED
    flags: int = 0
    attributes: int = 0
    extra: bytes = b""
    listed: bytes | None = None
    packed: bytes | None = None
    size: int | None = None
    packed_size: int | None = None
    crc: int | None = None
    at: int | None = None
    hidden: bool = False

    @property
    def stored(self) -> bytes:
        """The bytes as they lie in the file."""
        if self.packed is not None:
            return self.packed
        return deflated(self.data) if self.method == DEFLATED else self.data


def deflated(data: bytes) -> bytes:
    """Compress as ZIP files do."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


def _said(value: int | None, real: int, most: int = 0xFFFFFFFF) -> int:
    return (real if value is None else value) & most


def zipped(
    pieces: Sequence[Piece], *, before: bytes = b"", count: int | None = None, size: int | None = None,
    offset: int | None = None, comment: bytes = b"", after: bytes = b"",
) -> bytes:  # fmt: skip
    """Make a ZIP file; `count`, `size` and `offset` are what its end says of the list of members."""
    body, listed = before, b""
    for piece in pieces:
        name = piece.name if piece.listed is None else piece.listed
        crc, packed = _said(piece.crc, zlib.crc32(piece.data)), _said(piece.packed_size, len(piece.stored))
        sizes = (crc, packed, _said(piece.size, len(piece.data)))
        at = _said(piece.at, len(body) - len(before))
        common = struct.pack("<HHHHH", 20, piece.flags, piece.method, 0, 0x21)
        if not piece.hidden:
            body += b"PK\3\4" + common + struct.pack("<IIIHH", *sizes, len(piece.name), len(piece.extra))
            body += piece.name + piece.extra + piece.stored
        listed += b"PK\1\2" + struct.pack("<H", 0x0314) + common
        listed += struct.pack("<IIIHHHHHII", *sizes, len(name), len(piece.extra), 0, 0, 0, piece.attributes, at)
        listed += name + piece.extra
    numbers = (_said(count, len(pieces), 0xFFFF),) * 2
    ends = (_said(size, len(listed)), _said(offset, len(body) - len(before)), len(comment))
    return body + listed + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, *numbers, *ends) + comment + after


MANIFEST = Piece(name=b"manifest.xml", data=RESOURCE_MANIFEST.encode())
ALPHA, BETA = Piece(name=b"a.txt", data=A), Piece(name=b"sub/b.txt", data=B)
GOOD = (MANIFEST, ALPHA, BETA)
