"""URIs of outputs: values by hand, from RFC 3986."""

import os
import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.http import uri_of_path
from pelican_resourcesync.publishers.static_site import SiteUrls
from tests.publishers.pelican.support import SITEURL

#: Any names of files: text, and bytes that are none.
PATHS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30),
    st.binary(min_size=1, max_size=10).filter(lambda name: b"\0" not in name).map(os.fsdecode),
)
URI = re.compile(r"https://example\.org/([A-Za-z0-9/:@!$&'()*+,;=~._-]|%[0-9A-F]{2})*")


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a.html", "a.html"),
        ("two words.html", "two%20words.html"),
        ("größe/ü.html", "gr%C3%B6%C3%9Fe/%C3%BC.html"),
        ("100%.html", "100%25.html"),
        ("a%20b.html", "a%2520b.html"),
        ("what?.html", "what%3F.html"),
        ("c#.html", "c%23.html"),
        ("a+b,c;d=e&f@g:h!$'()*~.html", "a+b,c;d=e&f@g:h!$'()*~.html"),
        ('[x]\\^`{|}<>".html', "%5Bx%5D%5C%5E%60%7B%7C%7D%3C%3E%22.html"),
        ("line\nbreak", "line%0Abreak"),
        (os.fsdecode(b"caf\xe9.html"), "caf%E9.html"),
    ],
)
def test_paths_are_encoded(path: str, uri: str) -> None:
    """What may not stand in a URI's path is percent-encoded from its UTF-8, or from its bytes."""
    assert uri_of_path(SITEURL, path) == f"{SITEURL}/{uri}"


@given(PATHS.filter(lambda path: not path.startswith("/")))
def test_path_can_be_had_back(path: str) -> None:
    """The URI of any path is one, and decodes to that path alone."""
    uri = uri_of_path(SITEURL, path)
    assert URI.fullmatch(uri)
    assert unquote_to_bytes(uri.removeprefix(f"{SITEURL}/")) == os.fsencode(path)


@pytest.mark.promise("One URL a page")
@pytest.mark.parametrize(
    ("url", "save_as", "uri"),
    [
        ("a.html", "a.html", "a.html"),
        ("posts/a/", "posts/a/index.html", "posts/a/"),
        ("posts/a", "posts/a/index.html", "posts/a/"),
        ("posts/a/index.html", "posts/a/index.html", "posts/a/"),
        ("elsewhere.html", "posts/a/index.html", "posts/a/"),
        (None, "posts/a/index.html", "posts/a/"),
        ("posts/a", "posts/a.html", "posts/a.html"),
        ("", "index.html", ""),
        ("index.html", "index.html", ""),
        (None, "index.html", ""),
        (None, "./index.html", ""),
        (None, "my-index.html", "my-index.html"),
        (None, "a/index.htm", "a/index.htm"),
        ("two%20words/", "two words/index.html", "two%20words/"),
        ("gr%C3%B6%C3%9Fe.html", "größe.html", "gr%C3%B6%C3%9Fe.html"),
        ("a%20b.html", "a%20b.html", "a%2520b.html"),
        ("100%/x%20y/", "100%/x y/index.html", "100%25/x%20y/"),
        ("elsewhere/", "./a/../b.html", "b.html"),
        ("caf%E9/", os.fsdecode(b"caf\xe9/index.html"), "caf%E9/"),
        ("https://other.example/a", "a.html", "a.html"),
        ("//[other/a", "a.html", "a.html"),
        ("a.html?version=2", "a.html", "a.html"),
        ("what?.txt", "what?.txt", "what%3F.txt"),
    ],
)
def test_urls_that_every_host_answers(url: str | None, save_as: str, uri: str) -> None:
    """A page has the URL of its file, and an `index.html` that of its folder, whatever Pelican's settings say."""
    assert SiteUrls(SITEURL).uri(save_as, url) == f"{SITEURL}/{uri}"


@pytest.mark.promise("One URL a page")
@pytest.mark.parametrize(
    ("url", "save_as", "uri"),
    [
        ("posts/a", "posts/a/index.html", "posts/a/"),
        ("posts/a", "posts/a.html", "posts/a"),
        ("/posts/./a", "posts/a.html", "posts/a"),
        ("posts/a.html", "posts/a.html", "posts/a.html"),
        ("posts/a/", "posts/a.html", "posts/a.html"),
        (None, "posts/a.html", "posts/a"),
        (None, "a.pdf", "a.pdf"),
        (None, "index.html", ""),
        ("caf%E9", os.fsdecode(b"caf\xe9.html"), "caf%E9"),
        ("a%20b", "a b.html", "a%20b"),
        ("100%", "100%.html", "100%25"),
        ("a", "b.html", "b.html"),
        ("https://other.example/a", "a.html", "a.html"),
        ("a?version=2", "a.html", "a.html"),
        ("//[other/a", "a.html", "a.html"),
    ],
)
def test_clean_urls(url: str | None, save_as: str, uri: str) -> None:
    """With the setting, a page has no ending in its URL, unless the generator links to it by its file."""
    assert SiteUrls(SITEURL, clean_urls=True).uri(save_as, url) == f"{SITEURL}/{uri}"


@pytest.mark.parametrize("clean_urls", [False, True])
@pytest.mark.parametrize(("url", "save_as"), [("", "index.html"), ("a/", "a/index.html"), (None, "index.html")])
def test_index_pages_by_their_files(url: str | None, save_as: str, clean_urls: bool) -> None:
    """For programs that cannot store a URL that ends in a slash, an `index.html` may have its own URL."""
    urls = SiteUrls(SITEURL, clean_urls, index_urls="file")
    assert urls.uri(save_as, url) == f"{SITEURL}/{save_as}"


@given(st.none() | PATHS, PATHS, st.booleans(), st.sampled_from(["folder", "file"]))
def test_any_url_gives_a_uri(url: str | None, save_as: str, clean_urls: bool, index_urls: str) -> None:
    """Nothing that metadata may hold makes anything but a URI of the site."""
    assert URI.fullmatch(SiteUrls(SITEURL, clean_urls, index_urls).uri(save_as, url))


@pytest.mark.parametrize("siteurl", ["https://example.org/a/path", "http://example.org:8000"])
def test_siteurl_comes_before(siteurl: str) -> None:
    """A site in a subpath, or at a port, has it in every URI."""
    assert uri_of_path(siteurl, "a.html") == f"{siteurl}/a.html"
    assert SiteUrls(siteurl).uri("b/index.html", "/b/") == f"{siteurl}/b/"
