"""The packed bytes of resources in the Resource Dump of the previous publication, so that they are not packed again.

A previous publication is untrusted, even if its hashes agree with each other. So nothing of its packages is used but
the packed bytes of members, and only those that unpack to bytes with the length and the hash that are listed now.
"""

import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from html import unescape
from typing import BinaryIO, NamedTuple

from pelican_resourcesync.protocol import read
from pelican_resourcesync.publication.dumps.verifier import ExpectedBytes
from pelican_resourcesync.publication.dumps.zipwriter import (
    HEADER,
    HEADER_SIGNATURE,
    IN_64,
    SIZES_64,
)
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage

_LARGEST = 1_000_000  # bytes: larger members are packed again, because each is held in memory
_BUFFER = 262_144  # bytes read at a time


class PackedBytes(NamedTuple):
    """The bytes of a member as they are in a package, and the CRC-32 of what they unpack to."""

    data: bytes
    crc: int


def dump_of(previous: PreviousPublication) -> datetime | None:
    """Return the `at` of the current Resource Dump, which may be empty; `None` if there is none."""
    path = previous.layout.resource_dump
    if path not in previous.state.documents:
        return None
    with explain_damage(previous.where), (previous.folder / path).open("rb") as stream:
        md = read(stream, name=path).md
    return md.at if md else None


class PreviousPackages:
    """The packages of a Resource Dump with these paths, which are read once, from beginning to end.

    Raises `PublicationError` if a file cannot be read.
    """

    def __init__(self, previous: PreviousPublication, paths: Sequence[str]) -> None:
        """Create it; nothing is read yet."""
        self._previous = previous
        self._members = self._read(paths)
        self._next: tuple[str, bytes] | None = ("", b"")

    def find(self, claim: ExpectedBytes, *, deflated: bool) -> PackedBytes | None:
        """Return the packed bytes of a resource, verified; `None` if they are not there.

        The resources must be asked for in the order of their URIs, which is that of the packages.
        """
        while self._next is not None and self._next[0] < claim.uri:
            self._next = next(self._members, None)
        if self._next is None or self._next[0] != claim.uri or claim.hash is None or claim.length > _LARGEST:
            return None
        return _verified(self._next[1], claim, deflated=deflated)

    def close(self) -> None:
        """Close the package that is open."""
        self._members.close()

    def _read(self, paths: Sequence[str]) -> Generator[tuple[str, bytes]]:
        """Yield the URI and the packed bytes of each member; these are empty if there are too many."""
        previous = self._previous
        for path in paths:
            manifest = previous.folder / previous.layout.manifest(path)
            with ExitStack() as stack:
                stack.enter_context(explain_damage(previous.where))
                listed = stack.enter_context(manifest.open("rb"))
                package = stack.enter_context((previous.folder / path).open("rb", _BUFFER))
                yield from zip(_uris(listed), _members(package), strict=False)


def _uris(manifest: BinaryIO) -> Iterator[str]:
    """Yield the URIs in a manifest that we wrote; those in another one do no harm, because all bytes are verified."""
    left = b""
    while chunk := manifest.read(_BUFFER):
        *entries, left = (left[-_BUFFER:] + chunk).split(b"</loc>")
        for entry in entries:
            yield unescape(entry.rpartition(b"<loc>")[2].decode(errors="replace"))


def _members(package: BinaryIO) -> Iterator[bytes]:
    """Yield the packed bytes of each member of a package that we wrote, up to anything else."""
    while (header := package.read(HEADER.size)).startswith(HEADER_SIGNATURE) and len(header) == HEADER.size:
        *_, packed, _, name_size, extra_size = HEADER.unpack(header)
        extra = package.read(name_size + extra_size)[name_size:]
        if packed == IN_64:
            if len(extra) != SIZES_64.size:
                return
            _, _, _, packed = SIZES_64.unpack(extra)
        if packed <= _LARGEST:
            yield package.read(packed)
        else:
            yield b""
            package.seek(packed, 1)


def _verified(data: bytes, claim: ExpectedBytes, *, deflated: bool) -> PackedBytes | None:
    """Return packed bytes if they are those of a resource, and nothing besides."""
    unpacked = data
    if deflated:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            unpacked = inflate.decompress(data, claim.length + 1)
        except zlib.error:
            return None
        if not inflate.eof or inflate.unused_data:
            return None
    return PackedBytes(data, zlib.crc32(unpacked)) if claim.is_met_by(unpacked) else None
