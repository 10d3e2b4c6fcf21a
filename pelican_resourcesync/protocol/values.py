"""The values that documents hold, and how each is written and read: times, hashes, URIs and text.

Times are W3C Datetimes in a document (X05) and timezone-aware `datetime` everywhere else. Only the `escape` functions
turn characters into markup: a parser returns everything unchanged. All five characters that Sitemaps names are escaped
everywhere (X10), and so is white space that a parser would otherwise alter.
"""

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pelican_resourcesync.errors import DocumentError

_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
_TIME = r"T(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d+)?)?"
_DATETIME = re.compile(rf"{_DATE}|\d{{4}}-\d\d-\d\d{_TIME}(?P<zone>Z|[+-]\d\d:\d\d)?", re.ASCII)
_TWO_DIGITS = [f"{number:02}" for number in range(60)]
_render_date = lru_cache(maxsize=4096)(dt.date.isoformat)


def render_datetime(moment: dt.datetime) -> str:
    """Write a timezone-aware datetime as `YYYY-MM-DDThh:mm:ss[.s]Z` (X05).

    The time is in UTC. A fraction is written only if there is one, in milliseconds or, if these are not enough, in
    microseconds. Raises `DocumentError` for a naive datetime, and for a time outside the years 1 to 9999 in UTC.
    """
    if moment.tzinfo is dt.UTC and not moment.microsecond:  # nearly every time; `isoformat` takes six times as long
        time = f"{_TWO_DIGITS[moment.hour]}:{_TWO_DIGITS[moment.minute]}:{_TWO_DIGITS[moment.second]}"
        return f"{_render_date(moment.date())}T{time}Z"
    utc = (moment if moment.tzinfo is dt.UTC else _in_utc(moment)).replace(tzinfo=None)
    in_milliseconds = utc.microsecond and utc.microsecond % 1000 == 0
    return f"{utc.isoformat(timespec='milliseconds' if in_milliseconds else 'auto')}Z"


def are_all(pattern: str, texts: Sequence[str]) -> bool:
    """Return whether each of the texts matches a regular expression that matches no line break."""
    text = "\n".join(texts)
    return text.count("\n") == len(texts) - 1 and bool(_repeated(pattern).fullmatch(text))


@lru_cache
def _repeated(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern}(?:\n{pattern})*+")


@lru_cache(maxsize=4096)  # many entries share a time
def parse_datetime(text: str) -> dt.datetime:
    """Read any form of W3C Datetime, from `YYYY` to a time with fraction and zone, as a datetime in UTC (X05).

    A year, month or day stands for its first moment in UTC; digits beyond the microsecond are dropped. Raises
    `DocumentError` for anything else, including a time without a zone.
    """
    form = _DATETIME.fullmatch(text)
    if form is None:
        message = f"{text[:80]!a} is not a W3C Datetime; write it as YYYY-MM-DDThh:mm:ssZ (X05)"
        raise DocumentError(message)
    try:
        if form["year"]:
            return dt.datetime(int(form["year"]), int(form["month"] or 1), int(form["day"] or 1), tzinfo=dt.UTC)
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text[:80]!a} is not a valid date or time: {error} (X05)"
        raise DocumentError(message) from None
    return moment if moment.tzinfo is dt.UTC else _in_utc(moment)


def _in_utc(moment: dt.datetime) -> dt.datetime:
    if moment.utcoffset() is None:
        message = f"the time {moment.isoformat()} has no time zone; add one, such as UTC (X05)"
        raise DocumentError(message)
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        message = f"the time {moment.isoformat()} lies outside the years 1 to 9999 in UTC (X05)"
        raise DocumentError(message) from None


_HASH = re.compile(r"([^\s:]+):\S+")


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Hash:
    """One digest of a representation, such as `sha-256:…`.

    `digest` is kept as text, because other publishers do not always write it in hexadecimal.
    """

    algorithm: str
    digest: str


def render_hashes(hashes: Iterable[Hash]) -> str:
    """Write the items separated by spaces.

    Raises `DocumentError` for an empty algorithm or digest, and for one that contains a separator.
    """
    return " ".join([_render_hash(item) for item in hashes])


def parse_hashes(value: str) -> tuple[Hash, ...]:
    """Read a list separated by white space; an item without a colon is a digest with an empty algorithm."""
    return tuple([_parse_hash(item) for item in value.split()])


def _render_hash(item: Hash) -> str:
    rendered = f"{item.algorithm}:{item.digest}"
    parts = _HASH.fullmatch(rendered)
    if parts is None or parts.end(1) != len(item.algorithm):
        message = (
            f"{item.algorithm!a}:{item.digest!a} is not a valid hash; write algorithm and digest without white space,"
            " and the algorithm without a colon (X08)"
        )
        raise DocumentError(message)
    return rendered


def _parse_hash(item: str) -> Hash:
    algorithm, colon, digest = item.partition(":")
    return Hash(algorithm=algorithm, digest=digest) if colon else Hash(algorithm="", digest=item)


LONGEST_LOC = 2048  # characters; a loc is shorter (X10)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")


def require_absolute(uri: str) -> str:
    """Return an absolute URI, of any scheme, unchanged; raises `DocumentError` for any other text."""
    if not _ABSOLUTE.fullmatch(uri):
        message = (
            f"{uri[:80]!a} is not an absolute URI; begin it with a scheme such as https: and percent-encode spaces,"
            " control and non-ASCII characters (X10)"
        )
        raise DocumentError(message)
    return uri


_HARMLESS = re.compile(r"[ !#-%(-;=?-~]*")
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]|[\ud800-\udfff\ufffe\uffff]")
_AMPERSAND = ("&", "&amp;")  # first, because the other replacements contain one
_TEXT_ESCAPES = (_AMPERSAND, ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"), ("\r", "&#13;"))
_ATTRIBUTE_ESCAPES = (*_TEXT_ESCAPES, ("\t", "&#9;"), ("\n", "&#10;"))


def escape_text(value: str) -> str:
    """Escape the content of an element; raises `DocumentError` for a character that XML 1.0 does not allow."""
    return _escape(value, _TEXT_ESCAPES)


def escape_any_text(value: str) -> str:
    """Escape the content of an element; replace characters that XML 1.0 does not allow with spaces."""
    try:
        return escape_text(value)
    except DocumentError:
        return escape_text(_FORBIDDEN.sub(" ", value))


def escape_attribute(value: str) -> str:
    """Escape the value of an attribute, without the quotes; raises `DocumentError` as `escape_text` does."""
    return _escape(value, _ATTRIBUTE_ESCAPES)


def _escape(value: str, table: Iterable[tuple[str, str]]) -> str:
    # Most values are plain ASCII: they take one scan and no copy.
    if _HARMLESS.fullmatch(value):
        return value
    forbidden = _FORBIDDEN.search(value)
    if forbidden:
        message = f"XML 1.0 does not allow the character U+{ord(forbidden[0]):04X}; remove it from {value[:80]!a}"
        raise DocumentError(message)
    for mark, written in table:
        if mark in value:
            value = value.replace(mark, written)
    return value


def unescape(value: str) -> str:
    """Return text without the escapes of `escape_text` and `escape_attribute`: the opposite."""
    if "&" not in value:
        return value
    for mark, written in reversed(_ATTRIBUTE_ESCAPES):
        value = value.replace(written, mark)
    return value
