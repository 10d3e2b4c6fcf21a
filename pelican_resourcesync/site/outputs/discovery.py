"""The link to the Capability List in the head of HTML pages (`DI02`)."""

import html
import re
from pathlib import Path

from pelican_resourcesync.publication import replace_file

#: First the constructs that may contain text that only looks like a tag, then the relevant tags.
_TOKENS = re.compile(
    rb"<!--.*?-->"
    rb"|<(?P<raw>script|style|title|noscript|template)\b[^>]*>.*?</(?P=raw)\s*>"
    rb"|(?P<start><head(?:\s[^>]*)?>)"
    rb"|(?P<link><link\b[^>]*>)"
    rb"|(?P<end></head\s*>|<body\b)",
    re.DOTALL | re.IGNORECASE,
)
_RESOURCESYNC = re.compile(rb"""\brel\s*=\s*(?:["'][^"']*\bresourcesync\b|resourcesync\b)""", re.IGNORECASE)
#: A host may send a compressed copy instead of the page next to it, so a page with such a copy is not changed.
COMPRESSED = (".gz", ".br", ".zst")


def add_link(file: Path, capability_list: str) -> bool:
    """Add the link to the head of the page in `file`, and return whether the file changed.

    A page without a head, or with such a link already, is not changed.
    """
    page = file.read_bytes()
    linked = with_link(page, capability_list)
    if linked is None:
        return False
    if file.is_symlink() or file.stat().st_nlink > 1:
        replace_file(file, linked)  # with STATIC_CREATE_LINKS, writing would change the source
    else:
        file.write_bytes(linked)
    return True


def with_link(page: bytes, capability_list: str) -> bytes | None:
    """Return the bytes of an HTML page with the link at the end of its head; `None` where it stays unchanged."""
    inside = False
    for token in _TOKENS.finditer(page):
        if token["start"]:
            inside = True
        elif token["link"] and inside and _RESOURCESYNC.search(token["link"]):
            return None
        elif token["end"]:
            at = token.start()
            return page[:at] + _link(capability_list) + page[at:] if inside else None
    return None


def _link(capability_list: str) -> bytes:
    href = html.escape(capability_list)
    return f'<link rel="resourcesync" type="application/xml" href="{href}" />\n'.encode("ascii")
