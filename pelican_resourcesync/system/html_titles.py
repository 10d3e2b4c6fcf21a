"""The titles of HTML pages, and text of others as one short line that is safe to show."""

import codecs
import re
import unicodedata
from pathlib import Path

from lxml import etree

#: The media types of pages.
HTML = ("text/html", "application/xhtml+xml")
_HEAD = 1 << 16  # bytes of a page that are searched for its title
_MOST_CHARACTERS = 200
#: Characters that change the direction of the text after them.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_CHARACTERS = frozenset("\ufffe\uffff")


def title_of_html(file: Path, site_name: str, path: str) -> str:
    """Return the title of a page, without the name of the site at its end, or a path if it has none.

    A page that only redirects has an empty title. Raises `OSError` if it cannot be read.
    """
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
    page = etree.fromstring(head, etree.HTMLParser(encoding=_encoding(head))) if head.strip() else None
    if page is not None and any(map(_leads_elsewhere, page.iter("meta"))):
        return ""
    title = clean(page.findtext("head/title") or "") if page is not None else ""
    name = clean(site_name)
    if name:
        title = re.sub(rf"(?<=.)\s*[-\u2013\u2014|\u00b7:\u00bb]\s*{re.escape(name)}$", "", title)
    return title or path


def clean(text: str) -> str:
    """Return a text as one line of limited length, without characters that XML cannot hold or that hide others."""
    return short(visible(text))


def visible(text: str) -> str:
    """Return a text as one line, without characters that XML cannot hold or that hide others; empty if none is seen."""
    if not text.isprintable():
        text = "".join(character for character in text if character.isspace() or _is_shown(character))
    return " ".join(text.split()) if any(character.isprintable() and character != " " for character in text) else ""


def short(text: str) -> str:
    """Return a text, shortened if it is long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cs"} and character not in _OVERRIDES | _NO_CHARACTERS


def _leads_elsewhere(meta: etree._Element) -> bool:
    refreshes = (meta.get("http-equiv") or "").lower() == "refresh"
    return refreshes and "url=" in (meta.get("content") or "").lower()


def _encoding(head: bytes) -> str | None:
    """Return UTF-8 if the beginning of a page is that; otherwise let the parser look for what the page says."""
    if b"\x1b" in head:  # ISO-2022 switches between alphabets in ASCII
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return None
    return "utf-8"
