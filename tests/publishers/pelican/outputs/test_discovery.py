"""The link in the head of a page (DI02): pages by hand, and what a parser of HTML sees."""

import os
import resource
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import Resource
from pelican_resourcesync.publishers.static_site.discovery import link_pages, with_link
from tests.kit.publications import LAYOUT

URI = "https://example.org/resourcesync/site/capabilitylist.xml"
LINK = f'<link rel="resourcesync" type="application/xml" href="{URI}" />\n'.encode()


class Links(HTMLParser):
    """What a parser sees of a page: the ResourceSync links, and whether each is in the head."""

    def __init__(self, page: bytes) -> None:
        """Parse a page."""
        super().__init__()
        self.found: list[tuple[str | None, bool]] = []
        self._head = False
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of the head and of links."""
        self._head = tag == "head" or (self._head and tag != "body")
        if tag == "link" and dict(attrs).get("rel") == "resourcesync":
            self.found.append((dict(attrs)["href"], self._head))

    def handle_endtag(self, tag: str) -> None:
        """Take note of the end of the head."""
        self._head = self._head and tag != "head"


@pytest.mark.parametrize(
    "page",
    [
        b"<html><head><title>T</title>@</head><body></body></html>",
        b"<!DOCTYPE html>\n<HTML><HEAD LANG=en>\n@</HEAD>\n<BODY></BODY></HTML>",
        b"<head>@</head\n>",
        b"<head><title>T</title>@<body>no end of the head",
        b"<head><!-- </head> -->@</head>",
        b"<head><script>'</head>'</script>@</head>",
        b"<head><SCRIPT type=x>'</head>'</Script >@</head>",
        b"<head><style>/* </head> <body> */</style>@</head>",
        b"<head><title></head></title>@</head>",
        b"<!-- <head></head> --><head>@</head>",
        b"<head><noscript><link rel=stylesheet href=x></noscript><template></head></template>@</head>",
        b"<head><!--[if IE]></head><![endif]--><link rel=alternate href=feed>@</head>",
        b"<head><link rel='stylesheet' href='resourcesync.css'>@</head>",
        b"<head><!-- <link rel=resourcesync href=old> -->@</head>",
        b"<head>@</head><body><link rel='resourcesync' href='x'></head></body>",
        b"<header></header><head>@</head>",
        b"<head><title>caf\xe9</title>@</head>",
        b"<!doctype html><html lang=en><meta charset=utf-8><title>T</title><link rel=icon href=i>@<body><p>x",
        b"\xef\xbb\xbf<!doctype html> <title>T</title>@<meta name=a content=b><p>No tag of the head or the body",
        b"<head><title>T</title>@<meta charset=utf-8><p>The head is not closed",
        b"<!doctype html><title>T</title><style>p{}</style>@</head><p>x",
        b"<html>@<body><head></head></body>",
    ],
)
def test_link_is_the_last_of_the_head(page: bytes) -> None:
    """The link comes just before the head's end, or after the title if no tag ends it; no other byte changes."""
    before, after = page.split(b"@")
    assert with_link(before + after, URI) == before + LINK + after


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<p>No head at all</p>",
        b"<p>Text</p><title>Of nothing</title><body>",
        b"Text<body></body>",
        b"<header><h1>T</h1></header>",
        b"<head><title>never ends",
        b"<!-- <head></head> -->",
        "<html><head></head></html>".encode("utf-16"),
    ],
)
def test_pages_without_a_head(page: bytes) -> None:
    """There is no place for a link."""
    assert with_link(page, URI) is None


@pytest.mark.parametrize(
    "page",
    [
        b'<head><link rel="resourcesync" href="x"></head>',
        b"<head><LINK HREF='x' REL='alternate ResourceSync'></head>",
        b"<head><link rel=resourcesync href=x></head>",
        b"<!doctype html><link rel=resourcesync href=x><title>T</title><p>x",
        *(with_link(page, URI) or b"" for page in (b"<head></head>", b"<title>T</title>x", b"<title>T</title><body>")),
    ],
)
def test_never_twice(page: bytes) -> None:
    """A page that was linked is left alone."""
    assert with_link(page, URI) == page


@pytest.mark.parametrize(
    ("link", "replaced"),
    [
        (LINK.replace(b"/site/", b"/site/20240301120000/"), True),
        (LINK.replace(b"/site/", b"/news/"), True),
        (LINK.replace(b"https://example.org", b"http://127.0.0.1:8105/a&amp;b"), True),
        (LINK.replace(b"example.org", b"example.org/docs"), False),  # another publication: of a part of the site
        (LINK.replace(b"/resourcesync/site", b""), False),
        (LINK.replace(b"/site/", b"/news/").replace(b" />", b">"), False),
        (LINK.replace(b"/site/", b"/news/").replace(b"\n", b""), False),
        (LINK.replace(b"/site/", b"/news/").replace(b"<link", b"<LINK"), False),
        (LINK.replace(b"https://example.org", b"\xff").replace(b"capabilitylist", b"description"), False),
    ],
)
def test_only_an_earlier_link_of_ours_is_replaced(link: bytes, *, replaced: bool) -> None:
    """Its form and its URI show that it was not the author of the page."""
    page = b"<head><title>T</title>%b<meta name=a></head>" + LINK
    assert with_link(page.replace(b"%b", link), URI) == page.replace(b"%b", LINK if replaced else link)


def test_uri_is_escaped() -> None:
    """What HTML would take for markup is escaped, and a parser reads the same URI."""
    uri = 'https://example.org/a&b="c"/capabilitylist.xml'
    page = with_link(b"<head></head>", uri)
    assert page is not None
    assert b"&amp;b=&quot;c&quot;" in page
    assert Links(page).found == [(uri, True)]


PIECES = st.lists(
    st.sampled_from(
        ["<!-- </head> -->", "<script>x</head></script>", "<style></style>", "<title>T</title>", "<meta charset=utf-8>",
         "text", "<link rel=next href=x>", "<!-- <body> -->", "\n", "<base href=/>"]
    ),
    max_size=6,
).map("".join)  # fmt: skip


@given(PIECES, PIECES, PIECES)
def test_a_parser_sees_one_link_in_the_head(before: str, head: str, body: str) -> None:
    """Whatever stands around, a parser of HTML sees the link once, and in the head."""
    page = f"<!DOCTYPE html>{before.replace('<body>', '')}<html><head>{head}</head><body>{body}</body></html>".encode()
    linked = with_link(page, URI)
    assert linked is not None
    assert Links(linked).found == [(URI, True)]
    assert linked.replace(LINK, b"") == page


def add_link(page: Path, *, ours: bool) -> None:
    """Link a page of an output, and compare what is said of it with what it is."""
    [(_, of)] = link_pages(page.parent, {page.name: LAYOUT}, [page.name], ours=ours)[0].items()
    assert (of.hash, of.length) == (Resource("", page).represent().hash, page.stat().st_size)


def test_pages_without_a_head_are_counted(tmp_path: Path) -> None:
    """One hint has their number and the first; such a page stays as it is."""
    pages = {"a.html": b"<p>A", "b.html": b"<title>B</title>", "c.html": b""}
    for name, data in pages.items():
        (tmp_path / name).write_bytes(data)
    _, hint = link_pages(tmp_path, dict.fromkeys(pages, LAYOUT), pages)
    assert hint == (
        "pages with neither <head> nor <title> do not link to the documents (2, such as a.html): add a <title>"
    )
    assert [(tmp_path / name).read_bytes() for name in pages] == [b"<p>A", b"<title>B</title>" + LINK, b""]


@pytest.mark.parametrize("ours", [False, True])
def test_file_is_linked_once(tmp_path: Path, *, ours: bool) -> None:
    """A page is changed once, in place only if it is ours, and keeps its permissions."""
    page = tmp_path / "a.html"
    page.write_bytes(b"<head></head>")
    page.chmod(0o640)
    number = page.stat().st_ino
    for _ in range(2):
        add_link(page, ours=ours)
        assert (page.stat().st_ino == number) == ours
        assert page.read_bytes() == b"<head>" + LINK + b"</head>"
        assert page.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]


def test_shorter_link(tmp_path: Path) -> None:
    """Nothing is left of the longer page."""
    page = tmp_path / "a.html"
    page.write_bytes(b"<head>" + LINK.replace(b"/site/", b"/site/20240301120000/") + b"</head>")
    add_link(page, ours=True)
    assert page.read_bytes() == b"<head>" + LINK + b"</head>"


@pytest.mark.promise("Yours stays yours")
@pytest.mark.parametrize("ours", [False, True])
def test_no_room_for_the_link(tmp_path: Path, *, ours: bool) -> None:
    """The page that does not fit keeps its bytes, whatever comes before it, and the next run links all of them."""
    pages = {"a.html": b"<head></head>", "b.html": b"<head></head>" + b"x" * 10_000, "c.html": b"<head></head>"}
    for name, data in pages.items():
        (tmp_path / name).write_bytes(data)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_020, hard))
    try:
        with pytest.raises(
            PublicationError, match=r"b\.html cannot be written: File too large: raise the file size limit"
        ):
            link_pages(tmp_path, dict.fromkeys(pages, LAYOUT), pages, ours=ours)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    linked = {name: data.replace(b"<head>", b"<head>" + LINK) for name, data in pages.items()}
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == pages | (
        {"a.html": linked["a.html"]} if ours else {}
    )
    link_pages(tmp_path, dict.fromkeys(pages, LAYOUT), pages, ours=ours)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == linked


@pytest.mark.parametrize("link", ["hard", "symbolic"])
def test_source_that_the_page_is_a_link_to_is_not_altered(tmp_path: Path, link: str) -> None:
    """With STATIC_CREATE_LINKS a page of the output is the source itself: that stays as it is."""
    source, page = tmp_path / "source.html", tmp_path / "page.html"
    source.write_bytes(b"<head></head>")
    os.link(source, page) if link == "hard" else page.symlink_to(source)
    add_link(page, ours=True)
    assert source.read_bytes() == b"<head></head>"
    assert page.read_bytes() == b"<head>" + LINK + b"</head>"
    assert not page.is_symlink()
