"""Pages that were built: what stands on them, and where they link to."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pelican_resourcesync.site.page import Page, key_of, links, squeezed, words_of

BASE = "https://example.org/a/b.html"


def page(folder: Path, html: str, content: Any = None) -> Page:
    """Make a page."""
    file = folder / "page.html"
    file.write_text(html, "utf-8")
    return Page(BASE, "article", file, content)


def test_words() -> None:
    """Words are what a reader sees: no tags, scripts or comments, one blank between them."""
    source = (
        "<p title='x'>A <b>mill</b>&amp;<!-- not\nseen -->\n river<script>x = '<i>'</script><STYLE>p {}</STYLE></p>"
    )
    assert words_of(source) == "A mill & a river".replace(" a ", " ")
    assert words_of("a &lt; b") == "a < b"
    assert squeezed("a  b\n c") == "abc"


@pytest.mark.parametrize(
    ("html", "key"),
    [
        ('<a href="c.html">', "https://example.org/a/c"),
        ("<a href='/c/index.html#top'>", "https://example.org/c"),
        ("<a class=x href=../c/?d=e&amp;f=g>", "https://example.org/c"),
        ('<A HREF = "https://example.org/c/">', "https://example.org/c"),
        ('<a href="https://example.org/gr%C3%B6%C3%9Fe.html">', "https://example.org/größe"),
        ('<a href="//example.net/c">', "https://example.net/c"),
        ('<a href="#top">', "https://example.org/a/b"),
        ('<link rel="next" href=" http://example.org/c ">', "http://example.org/c"),
    ],
)
def test_links(html: str, key: str) -> None:
    """However an address is written, it is the one at which a host answers with the same page."""
    assert links(html, BASE) == {key}


def test_links_that_lead_nowhere() -> None:
    """What is no address is none."""
    assert links('<a name="x"> <a href="//[x">', BASE) == set()


def test_addresses_of_one_page() -> None:
    """A page may be asked for with its file's name, without, and with a slash at the end."""
    assert (
        len({key_of(f"https://example.org/a{end}") for end in ("", "/", ".html", "/index.html", "?b", "#c/d.html")})
        == 1
    )
    assert key_of("https://example.org/a.xml") != key_of("https://example.org/a")


def test_page(tmp_path: Path) -> None:
    """Its words, its links and what they are called; what its own content links to."""
    content = SimpleNamespace(content='<a href="/own">Own</a>')
    made = page(
        tmp_path, '<h1>The\n mill</h1> <a href="/own">Own</a> <a href="c"><i>See</i> the <b>o</b>ther</a>', content
    )
    assert made.text == "ThemillOwnSeetheother"
    assert made.links == {"https://example.org/own", "https://example.org/a/c"}
    assert made.anchors == {"Own", "Seetheother"}
    assert made.own_links == {"https://example.org/own"}
    assert made.own == {id(content)}
    assert page(tmp_path, "").own_links == set()
    assert page(tmp_path, "", SimpleNamespace()).own_links == set()


def test_numbers(tmp_path: Path) -> None:
    """A number belongs to the link that it is in, or that it stands right behind."""
    far = "<p class='far from all that stands before'>"
    html = f'<a href="c">C <i>12</i></a>{far}<a href="d">D</a> (3){far}<a href="e">E</a><p>in 2024</p>{far}5'
    keys = {f"https://example.org/a/{name}": name for name in "cdef"}
    found = {keys[key]: numbers for key, numbers in page(tmp_path, html).numbers(keys)}
    assert found == {"c": ["12"], "d": ["3"], "e": ["2024"]}
    assert list(page(tmp_path, html).numbers(["https://example.org/x"])) == []
