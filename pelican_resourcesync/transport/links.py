"""Find the documents of a Source that a response names: the links with `rel=resourcesync` in its page and headers."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

from pelican_resourcesync.transport.headers import Headers

# All quantifiers are possessive, so that matching takes linear time whatever a host sends.
_HEADER = re.compile(r"<([^<>]*+)>((?:\s*+;\s*+[\w*-]++\s*+(?:=\s*+(?:\"[^\"]*+\"|[^\s\";,]*+))?+)*+)")
_REL = re.compile(r";\s*+rel\s*+=\s*+(?:\"([^\"]*+)\"|([^\s\";,]*+))", re.IGNORECASE)

#: How much of a page is parsed, in bytes: the head is at the beginning, and some pages are slow to parse on purpose.
_MOST = 65_536


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and "resourcesync" in given.get("rel", "").lower().split() and given.get("href"):
            self.found.append(given["href"].strip())

    handle_startendtag = handle_starttag


def links_of_page(data: bytes, uri: str) -> list[str]:
    """Return the targets of the `rel=resourcesync` links in an HTML page (DI02)."""
    parser = _Links()
    try:
        parser.feed(data[:_MOST].decode("utf-8", "replace"))
    except (AssertionError, ValueError):  # raised by Python's parser for declarations that it cannot read
        return []
    return _absolute(uri, parser.found)


def links_of_headers(headers: Headers, uri: str) -> list[str]:
    """Return the targets of the `Link` headers with `rel=resourcesync` (DI03)."""
    found = []
    for value in headers.get_all("Link"):
        for target, parameters in _HEADER.findall(value[:65_536]):
            rel = _REL.search(parameters)
            if rel and "resourcesync" in (rel[1] or rel[2] or "").lower().split():
                found.append(target.strip())
    return _absolute(uri, found)


def _absolute(uri: str, links: list[str]) -> list[str]:
    absolute = []
    for link in links:
        try:
            absolute.append(urljoin(uri, link))
        except ValueError:
            absolute.append(link)
    return absolute
