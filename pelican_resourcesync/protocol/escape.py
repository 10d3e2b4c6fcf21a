"""Escape text and attribute values for XML 1.0; only this module turns characters into markup.

A parser returns everything unchanged. All five characters that Sitemaps names are escaped everywhere (X10), and so is
white space that a parser would otherwise alter.
"""

import re
from collections.abc import Iterable

from pelican_resourcesync.errors import DocumentError

_HARMLESS = re.compile(r"[ !#-%(-;=?-~]*")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AMPERSAND = ("&", "&amp;")  # first, because the other replacements contain one
_TEXT = (_AMPERSAND, ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"), ("\r", "&#13;"))
_ATTRIBUTE = (*_TEXT, ("\t", "&#9;"), ("\n", "&#10;"))


def text(value: str) -> str:
    """Escape the content of an element; raises `DocumentError` for a character that XML 1.0 does not allow."""
    return _escape(value, _TEXT)


def any_text(value: str) -> str:
    """Escape the content of an element; replace characters that XML 1.0 does not allow with spaces."""
    try:
        return text(value)
    except DocumentError:
        return text(_FORBIDDEN.sub(" ", value))


def attribute(value: str) -> str:
    """Escape the value of an attribute, without the quotes; raises `DocumentError` as `text` does."""
    return _escape(value, _ATTRIBUTE)


def _escape(value: str, table: Iterable[tuple[str, str]]) -> str:
    # Most values are plain ASCII: they take one scan and no copy.
    if _HARMLESS.fullmatch(value):
        return value
    forbidden = _FORBIDDEN.search(value)
    if forbidden:
        message = f"XML 1.0 cannot hold the character U+{ord(forbidden[0]):04X}; remove it from {value[:80]!a}"
        raise DocumentError(message)
    for mark, written in table:
        if mark in value:
            value = value.replace(mark, written)
    return value
