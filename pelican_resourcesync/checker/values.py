"""Parse attribute values, and compare stated hashes and lengths with bytes."""

import datetime as dt
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.checker.scan import Attributes
from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import XML_SPACE, Hash, parse_datetime, parse_hashes
from pelican_resourcesync.source import ALGORITHMS

#: The link relations registered with IANA as of 2025 (RFC 8288), and those of ResourceSync.
REGISTERED = frozenset(Path(__file__).with_name("relations.txt").read_text("ascii").split())
_RECOMMENDED = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?Z", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
#: The number of hexadecimal digits in the digests of well-known algorithms.
_DIGITS = {
    name: 2 * hashlib.new(python_name, usedforsecurity=False).digest_size for name, python_name in ALGORITHMS.items()
}
_HASH = re.compile(r"sha-256:[0-9a-f]{64}|md5:[0-9a-f]{32}")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;.*)?", re.ASCII)
_DIGITS_OF_LENGTH = 18  # enough for any real length
_MICROSECONDS = len("2024-01-01T00:00:00.000000Z")


def read_time(text: str | None) -> dt.datetime | None:
    """Return the time that a W3C Datetime states, or None if the text is not a W3C Datetime (X05)."""
    return None if text is None else read_time_and_form(text)[0]


def is_recommended(text: str) -> bool:
    """Return whether a time is written as the standard recommends: in UTC, at least to the second (X05)."""
    return read_time_and_form(text)[1]


@lru_cache(maxsize=256)
def read_time_and_form(text: str) -> tuple[dt.datetime | None, bool]:
    """Return the results of `read_time` and `is_recommended`; cached, because many rules need those of one entry."""
    usual = _RECOMMENDED.fullmatch(text.strip(XML_SPACE)) is not None
    try:
        if usual and len(text) <= _MICROSECONDS:
            return dt.datetime.fromisoformat(text), True
        return parse_datetime(text.strip(XML_SPACE)), usual
    except (DocumentError, ValueError):
        return None, usual


@lru_cache(maxsize=1024)
def is_media_type(text: str) -> bool:
    """Return whether a text is a media type, with or without parameters (X09)."""
    return _MEDIA_TYPE.fullmatch(text.strip(XML_SPACE)) is not None


def number(text: str | None) -> int | None:
    """Return an unsigned integer, or None if the text is not one."""
    if text is None:
        return None
    if text.isdecimal() and text.isascii() and len(text) <= _DIGITS_OF_LENGTH:
        return int(text)
    stripped = text.strip(XML_SPACE)
    return None if stripped == text else number(stripped)


def wrong_hash(value: str) -> str:
    """Return what is wrong with a `hash`, a list of algorithms with hexadecimal digests (X08), or an empty text."""
    if _HASH.fullmatch(value):
        return ""
    items = parse_hashes(value)
    for item in items:
        algorithm, digits = item.algorithm, len(item.digest)
        if not algorithm or not item.digest:
            missing = "digest" if algorithm else "algorithm and colon before it"
            return f"{quoted(item.digest or algorithm)} has no {missing}"
        if not _HEXADECIMAL.fullmatch(item.digest):
            wrong = "".join(dict.fromkeys(_HEXADECIMAL.sub("", item.digest)))
            return f"the digest of {quoted(algorithm)} contains {quoted(wrong)}, which is not hexadecimal"
        if digits != (expected := _DIGITS.get(algorithm.lower(), digits)):
            return f"the digest of {quoted(algorithm)} has {digits:,} digits, not {expected}"
    return "" if items else "it is empty"


def digests(value: str | None) -> dict[str, str]:
    """Return the digests of a `hash` by algorithm, both in lower case."""
    items: tuple[Hash, ...] = parse_hashes(value) if value else ()
    return {item.algorithm.lower(): item.digest.lower() for item in items}


def known_hash(md: Attributes) -> str:
    """Return a hash that is stated and can be computed, as `algorithm:digest`, or an empty string."""
    stated = digests(md.get("hash")).items()
    return next((f"{name}:{digest}" for name, digest in stated if name in _ALGORITHMS), "")


def disagreement(one: str | None, other: str | None) -> str:
    """Return an algorithm whose digests differ between two values of `hash`, or an empty string."""
    first, second = digests(one), digests(other)
    return next((name for name in first if first[name] != second.get(name, first[name])), "")


def same_type(one: str, other: str) -> bool:
    """Return whether two media types are the same apart from their parameters."""
    return one.partition(";")[0].strip().lower() == other.partition(";")[0].strip().lower()


def quoted(text: object, length: int = 100) -> str:
    """Return untrusted text for a message: in ASCII, quoted and shortened."""
    return ascii(str(text)[:length])


_BLOCK = 1_048_576
_HEAD = 1_048_576
#: The supported algorithms by their names in `hash`: as IANA writes them, and without the hyphen.
_ALGORITHMS = ALGORITHMS | {name.replace("-", ""): python_name for name, python_name in ALGORITHMS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The length in bytes, the digests by algorithm name, and the first bytes (`head`), enough to examine a page."""

    length: int
    digests: dict[str, str]
    head: bytes

    def wrong_length(self, md: Attributes) -> str | None:
        """Return a message if the length differs from the stated one, or None."""
        stated = number(md.get("length"))
        return f"{self.length:,} bytes, not {stated:,}" if stated is not None and stated != self.length else None

    def wrong_digest(self, md: Attributes) -> str | None:
        """Return a message if a digest differs from the stated one, or None."""
        stated = digests(md.get("hash"))
        wrong = next((name for name, digest in self.digests.items() if stated[name] != digest), None)
        return f"the {wrong} is {self.digests[wrong]}, not {stated[wrong][:200]!a}" if wrong else None


def measure(stream: BinaryIO, md: Attributes, *, keep: int = _HEAD) -> Measurement:
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
    return Measurement(length=length, digests={name: digest.hexdigest() for name, digest in asked.items()}, head=head)
