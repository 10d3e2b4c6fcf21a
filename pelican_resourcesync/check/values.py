"""Parse attribute values; results are cached, because many entries share the same values."""

import datetime as dt
import re
from functools import lru_cache

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import XML_SPACE, Hash, parse_datetime, parse_hashes

_RECOMMENDED = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?Z", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
#: The number of hexadecimal digits in the digests of well-known algorithms.
_DIGITS = {"md5": 32, "sha-1": 40, "sha-256": 64, "sha-384": 96, "sha-512": 128}
_HASH = re.compile(r"sha-256:[0-9a-f]{64}|md5:[0-9a-f]{32}")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;.*)?", re.ASCII)
_DIGITS_OF_LENGTH = 18  # enough for any real length
_MICROSECONDS = len("2024-01-01T00:00:00.000000Z")
_REMEMBERED = 64  # characters: longer texts are rare or hostile, and are not cached


def moment(text: str | None) -> dt.datetime | None:
    """Return the time that a W3C Datetime states, or None if the text is not a W3C Datetime (X05)."""
    return None if text is None else look(text)[0]


def is_recommended(text: str) -> bool:
    """Return whether a time is written as the standard recommends: in UTC, at least to the second (X05)."""
    return look(text)[1]


def look(text: str) -> tuple[dt.datetime | None, bool]:
    """Return the results of `moment` and `is_recommended`; cached, because many rules need them for the same text."""
    return _remember(text) if len(text) <= _REMEMBERED else _look(text)


def _look(text: str) -> tuple[dt.datetime | None, bool]:
    usual = _RECOMMENDED.fullmatch(text.strip(XML_SPACE)) is not None
    try:
        if usual and len(text) <= _MICROSECONDS:
            return dt.datetime.fromisoformat(text), True
        return parse_datetime(text.strip(XML_SPACE)), usual
    except (DocumentError, ValueError):
        return None, usual


_remember = lru_cache(maxsize=4096)(_look)


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
    """Return the first item of a `hash` that is not an algorithm with a hexadecimal digest, or an empty text (X08)."""
    if _HASH.fullmatch(value):
        return ""
    items = parse_hashes(value)
    for item in items:
        if not item.algorithm or not _HEXADECIMAL.fullmatch(item.digest):
            return f"{item.algorithm}:{item.digest}" if item.algorithm else item.digest
        if len(item.digest) != _DIGITS.get(item.algorithm.lower(), len(item.digest)):
            return f"{item.algorithm}:{item.digest}"
    return "" if items else "nothing"


def digests(value: str | None) -> dict[str, str]:
    """Return the digests of a `hash` by algorithm, both in lower case."""
    items: tuple[Hash, ...] = parse_hashes(value) if value else ()
    return {item.algorithm.lower(): item.digest.lower() for item in items}


def disagreement(one: str | None, other: str | None) -> str:
    """Return an algorithm whose digests differ between two values of `hash`, or an empty string."""
    first, second = digests(one), digests(other)
    return next((name for name in first if first[name] != second.get(name, first[name])), "")


def same_type(one: str, other: str) -> bool:
    """Return whether two media types are the same apart from their parameters."""
    return one.partition(";")[0].strip().lower() == other.partition(";")[0].strip().lower()


def cut(text: object, length: int = 100) -> str:
    """Return untrusted text for a message: in ASCII, quoted and shortened."""
    return ascii(str(text)[:length])
