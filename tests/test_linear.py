"""What is searched in bytes of others takes time in proportion to their size, whatever they are filled with."""

from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from pelican_resourcesync.checker.resources import _SITEMAP
from pelican_resourcesync.content import read_title
from pelican_resourcesync.http import Headers, links_of_headers, links_of_page
from pelican_resourcesync.http.buckets import _why
from pelican_resourcesync.http.client import _FIELD
from pelican_resourcesync.protocol import SITEMAP_NS
from pelican_resourcesync.publication.kinds.pages.pages import _with_others
from pelican_resourcesync.publication.model.options import PageOptions
from pelican_resourcesync.publishers.pelican.site import _SITEURL
from pelican_resourcesync.publishers.static_site import alternates_of, with_link
from pelican_resourcesync.publishers.static_site.sitemap import ForeignSitemap
from pelican_resourcesync.system.printable import printable
from repo_bridge.reading.dump import parse_head, parse_row
from repo_bridge.reading.saf import _PERMISSION
from repo_bridge.setup import _parse, _value

URL = "https://site.example/"
SMALL = 8_000

#: What hostile pages are full of: what opens something that nothing closes.
MARKUP = (
    *("<!-- ", "<!", "<?", "<![CDATA[", "<script>", "<script ", "<style>", "<template>", "<noscript>", "<title>"),
    *("<head ", "</head ", "<link ", "<link rel='", "<base ", "<a href=", "<script></", "</script ", "<", "&", "='"),
)


def title_of(page: str, folder: Path) -> str | None:
    """Return the title of a page."""
    (folder / "page.html").write_text(page, "utf-8")
    return read_title(folder / "page.html", URL)


#: For each function what comes before the filler, and the fillers.
SEARCHES: dict[str, tuple[Callable[[str, Path], object], str, tuple[str, ...]]] = {
    "link": (lambda text, _: with_link(text.encode(), URL), "<head>", MARKUP),
    "alternates": (lambda text, _: alternates_of(text.encode(), URL), "<head>alternate", MARKUP),
    "links": (lambda text, _: links_of_page(text.encode(), URL), "<head>", MARKUP),
    "links in a tag": (lambda text, _: links_of_page(text.encode(), URL), "<link ", MARKUP),
    "title": (title_of, "<head><title>", MARKUP),
    "page of the site": (
        lambda text, _: _with_others(text, [], PageOptions()),
        "",
        ("<!-- other sets: begin -->\n", "<!-- "),
    ),
    "Link headers": (
        lambda text, _: links_of_headers(Headers([f"Link: {text}".encode()]), URL),
        "<a>",
        ("<", "<a>", ";", ";a", ";a=", '; rel="', " ", "="),
    ),
    "headers": (lambda text, _: _FIELD.findall(text), "a", ("a", ":", " ", "\n", "a:", "a: ")),
    "robots.txt": (lambda text, _: _SITEMAP.findall(text), "", ("sitemap", "sitemap:", " ", "\n", "\t", "sitemap:\n")),
    "shown text": (
        lambda text, _: printable(text),
        "https://host/?",
        ("//", "//a:b", "/", "@", "?a", "a", "token", "&token", "&token=", "#auth", "&sig"),
    ),
    "sitemap": (
        lambda text, _: ForeignSitemap(f"{text}</urlset>".encode()),
        f'<urlset xmlns="{SITEMAP_NS}">',
        ("<url/>", "<url><loc/> <lastmod/></url>", "<!-- -->", " ", "&#32;", "<![CDATA[]]>", "<lastmod/>"),
    ),
    "entry of a sitemap": (
        lambda text, _: ForeignSitemap(f"{text}</loc></url></urlset>".encode()).with_dates(["2026-01-01"]),
        f'<urlset xmlns="{SITEMAP_NS}"><url>  <loc>',
        ("a", "\n", "&amp;", "<x/>", "<![CDATA[>]]>", "<!-- -->", "</loc> <loc>", "</loc> <lastmod/> <loc>"),
    ),
    "error of a bucket": (lambda text, _: _why(text), "", ("<Message>", "<Message></Message>", "\n")),
    "settings in git": (lambda text, _: _SITEURL.findall(text.encode()), "", ("\n", " ", "SITEURL\n", "SITEURL=")),
    "settings of DSpace": (lambda text, _: _parse(f"{text}c"), "a = b", (" ", "\t", "\\\n", "=", "= ", "\n")),
    "property of DSpace": (lambda text, _: _value({"a": text}, "a"), "", ("${", "$", "{", "}", "${b}")),
    "archive": (lambda text, _: _PERMISSION.fullmatch(f"{text}''x"), "-r ", (" ", "'", "a", " '", "\t")),
    "head of a table": (lambda text, _: parse_head(text.encode(), iter(())), 'COPY a ("', ('"', '", "', "a, ", '"."')),
    "row of a table": (lambda text, _: parse_row(text.encode()), "a", ("\\\\", "\\x", "\\0", "a\t", "\\N\t")),
}


@pytest.mark.promise("Nothing stops a build")
@pytest.mark.parametrize("name", SEARCHES)
def test_twice_the_size_takes_twice_the_time(name: str, tmp_path: Path) -> None:
    """Four times the size takes less than eight times the time; if a search was quadratic, it would take sixteen."""
    search, before, fillers = SEARCHES[name]

    def seconds(filler: str, size: int) -> float:
        text = before + filler * (size // len(filler))
        begun = process_time()
        search(text, tmp_path)
        return process_time() - begun

    for filler in fillers:
        assert any(seconds(filler, 4 * SMALL) < 0.02 + 8 * seconds(filler, SMALL) for _ in range(3)), filler


@pytest.mark.promise("Nothing stops a build")
@pytest.mark.parametrize(("length", "linked"), [(1_000_000, True), (1_100_000, False)])
def test_only_so_much_of_a_page_is_searched(length: int, linked: bool) -> None:
    """A head that ends in the first 1,048,576 bytes gets the link, and its alternates are read."""
    page = b"<html><head><style>" + b" " * length + b"</style><link rel='alternate' href='feed.xml'></head></html>"
    assert (with_link(page, URL) is not None) == linked
    assert alternates_of(page, URL) == ([f"{URL}feed.xml"] if linked else [])
