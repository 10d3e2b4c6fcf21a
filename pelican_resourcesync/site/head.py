"""The link in the head of an HTML page that leads a Destination to the Capability List (`DI02`)."""

import html
import re
from pathlib import Path

from pelican_resourcesync.publication.staging import replace_file

#: What may hold text that looks like a tag and is none, then the tags that matter.
_TOKENS = re.compile(
    rb"<!--.*?-->"
    rb"|<(?P<raw>script|style|title|noscript|template)\b[^>]*>.*?</(?P=raw)\s*>"
    rb"|(?P<start><head(?:\s[^>]*)?>)"
    rb"|(?P<link><link\b[^>]*>)"
    rb"|(?P<end></head\s*>|<body\b)",
    re.DOTALL | re.IGNORECASE,
)
_RESOURCESYNC = re.compile(rb"""\brel\s*=\s*(?:["'][^"']*\bresourcesync\b|resourcesync\b)""", re.IGNORECASE)
#: A host may send the compressed copy that stands beside a page: that page is to be left alone.
COMPRESSED = (".gz", ".br", ".zst")


def add_link(file: Path, capability_list: str) -> bool:
    """Put the link into the head of the page in `file` and tell whether that changed it.

    Left alone are a page without a head, and one that has such a link.
    """
    page = file.read_bytes()
    linked = with_link(page, capability_list)
    if linked is None:
        return False
    if file.is_symlink() or file.stat().st_nlink > 1:
        replace_file(file, linked)  # a link to the source (STATIC_CREATE_LINKS) must not carry ours back to it
    else:
        file.write_bytes(linked)
    return True


def with_link(page: bytes, capability_list: str) -> bytes | None:
    """Give the bytes of an HTML page with the link at the end of its head; `None` where it is to be left alone."""
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
