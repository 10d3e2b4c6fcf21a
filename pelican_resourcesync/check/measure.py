"""Bytes measured against what is said of them: hash and length."""

import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from pelican_resourcesync.check.scan import Attributes
from pelican_resourcesync.check.values import digests, number

_BLOCK = 1_048_576
_HEAD = 1_048_576
#: The algorithms that are checked, by their names in `hash`, as IANA writes them and without the hyphen.
_ALGORITHMS = {"md5": "md5", "sha-1": "sha1", "sha1": "sha1", "sha-256": "sha256", "sha256": "sha256"} | {
    f"sha{joint}{size}": f"sha{size}" for joint in ("-", "") for size in ("384", "512")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What bytes are: their length, their digests by the name of the algorithm, and as many of them as a page has."""

    length: int
    digests: dict[str, str]
    head: bytes


def measure(stream: BinaryIO, md: Attributes, *, keep: int = _HEAD) -> Measured:
    """Read a stream to its end, once, and compute what `md` says a digest of."""
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
    """Say that the length is another."""
    said = number(md.get("length"))
    return f"{measured.length:,} bytes, and not {said:,}" if said is not None and said != measured.length else None


def wrong_digest(measured: Measured, md: Attributes) -> str | None:
    """Say that a digest is another."""
    said = digests(md.get("hash"))
    wrong = [name for name, digest in measured.digests.items() if said[name] != digest]
    return f"the {wrong[0]} is {measured.digests[wrong[0]]}, and not {said[wrong[0]][:200]!a}" if wrong else None
