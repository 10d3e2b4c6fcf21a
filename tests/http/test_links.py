"""Links to the documents of a Source, in pages and in headers."""

import pytest

from pelican_resourcesync.http import Headers, links_of_headers, links_of_page

PAGE = "https://example.org/a/b.html"


@pytest.mark.parametrize(
    ("page", "links"),
    [
        ('<link rel="resourcesync" href="/c.xml">', ["https://example.org/c.xml"]),
        ("<LINK REL='alternate ResourceSync' HREF=c.xml />", ["https://example.org/a/c.xml"]),
        ('<link rel="resourcesync" href="http://[">', ["http://["]),
        ('<link rel="stylesheet" href="/c.css"><link rel="resourcesync">', []),
        ('<!-- <link rel="resourcesync" href="/c.xml"> -->', []),
        ("<![foo[", []),
    ],
)
def test_links_of_page(page: str, links: list[str]) -> None:
    """DI02: a link element with that relation among others, in whatever case."""
    assert links_of_page(page.encode(), PAGE) == links


@pytest.mark.parametrize(
    ("header", "links"),
    [
        ('</c.xml>; rel="resourcesync"', ["https://example.org/c.xml"]),
        ('<x>; rel=up, </c.xml>; type="application/xml"; REL=resourcesync', ["https://example.org/c.xml"]),
        ('<c.xml>;rel="up resourcesync"', ["https://example.org/a/c.xml"]),
        ('<c.xml>; title="rel=resourcesync"', []),
        ("resourcesync", []),
    ],
)
def test_links_of_headers(header: str, links: list[str]) -> None:
    """DI03: a Link header with that relation among others."""
    headers = Headers([b"Link: " + header.encode()])
    assert links_of_headers(headers, PAGE) == links
