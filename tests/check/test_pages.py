"""Discovery from pages, headers and robots.txt."""

from email.message import Message
from time import monotonic

import pytest

from pelican_resourcesync.check.resources import links_of_headers, links_of_page, looks_like_page, sitemaps

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
    headers = Message()
    headers["Link"] = header
    assert links_of_headers(headers, PAGE) == links


def test_sitemaps() -> None:
    """DI04: the directives of robots.txt, wherever they stand."""
    assert sitemaps(b"User-agent: *\r\nsitemap:https://a/1\r\n # Sitemap: x\nSITEMAP: \t https://a/2") == [
        "https://a/1",
        "https://a/2",
    ]


def test_pages() -> None:
    """A page is known by its type or its beginning."""
    assert looks_like_page(b"\xef\xbb\xbf\n<!doctype HTML>", "")
    assert looks_like_page(b"x", "text/html")
    assert not looks_like_page(b"<urlset>", "application/xml")


@pytest.mark.parametrize(
    "piece", ["<!", "<", "&", "<a ", "<!--", "\n", " ", "<a>;", "; rel = ", '<a>; rel="', "</", "<![", "<?"]
)
def test_hostile_pages_take_no_time(piece: str) -> None:
    """What is slow to parse on purpose is not parsed for long."""
    data = piece * (1_000_000 // len(piece))
    headers = Message()
    headers["Link"] = data[:60_000].replace("\n", " ")
    before = monotonic()
    links_of_page(data.encode(), PAGE)
    links_of_headers(headers, PAGE)
    sitemaps(data.encode())
    assert monotonic() - before < 5
