"""Measure bytes, and compare them with the stated hash and length."""

import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from pelican_resourcesync.check.scan import Attributes
from pelican_resourcesync.check.values import digests, number

_BLOCK = 1_048_576
_HEAD = 1_048_576
#: The supported algorithms by their names in `hash`: as IANA writes them, and without the hyphen.
_ALGORITHMS = {"md5": "md5", "sha-1": "sha1", "sha1": "sha1", "sha-256": "sha256", "sha256": "sha256"} | {
    f"sha{joint}{size}": f"sha{size}" for joint in ("-", "") for size in ("384", "512")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The length in bytes, the digests by algorithm name, and the first bytes (`head`), enough to examine a page."""

    length: int
    digests: dict[str, str]
    head: bytes


def measure(stream: BinaryIO, md: Attributes, *, keep: int = _HEAD) -> Measured:
    """Read a stream once to its end, and compute the digests that `md` states."""
    asked = {
        name: hashlib.new(_ALGORITHMS[name], usedforsecurity=False)
        for name in digests(md.get("hash"))
        if name in _ALGORITHMS
    }
    length, head = 0, b""
    while block := stream.read(_BLOCK):
        length += len(block)
        if len(head) < keep:
            head += block[: keep - len(head)]
        for digest in asked.values():
            digest.update(block)
    return Measured(length=length, digests={name: each.hexdigest() for name, each in asked.items()}, head=head)


def wrong_length(measured: Measured, md: Attributes) -> str | None:
    """Return a message if the length differs from the stated one, or None."""
    said = number(md.get("length"))
    return f"{measured.length:,} bytes, and not {said:,}" if said is not None and said != measured.length else None


def wrong_digest(measured: Measured, md: Attributes) -> str | None:
    """Return a message if a digest differs from the stated one, or None."""
    said = digests(md.get("hash"))
    wrong = [name for name, digest in measured.digests.items() if said[name] != digest]
    return f"the {wrong[0]} is {measured.digests[wrong[0]]}, and not {said[wrong[0]][:200]!a}" if wrong else None
