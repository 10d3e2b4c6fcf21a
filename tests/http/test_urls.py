"""File paths of URIs and back."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.http import path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.http.urls import Origin, origin, redirected

SITE = "https://example.org/a/site"
_TEXT = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=20)
_BYTES = st.binary(min_size=1, max_size=8).filter(lambda name: not {0, 47} & set(name)).map(os.fsdecode)
NAMES = (_TEXT | _BYTES).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@given(PATHS, st.sampled_from([SITE, f"{SITE}/"]), st.sampled_from(["", "?query=a/../b", "#part", "?a#b"]))
def test_a_path_has_a_uri_and_comes_back(path: str, base: str, rest: str) -> None:
    """The URI of any file leads back to it, with or without query and fragment, and is ASCII."""
    uri = uri_of_path(base, path)
    assert uri.isascii()
    assert path_of_uri(base, uri + rest) == path
    assert path in served_paths(path)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        (f"{SITE}/", ""),
        (f"{SITE}/a/b.html", "a/b.html"),
        (f"{SITE}/a%3Ab%3F.txt?x#y", "a:b?.txt"),
        (f"{SITE}/a%2Fb", "a/b"),
        (f"{SITE}/caf%E9", os.fsdecode(b"caf\xe9")),
        (SITE, None),
        (f"{SITE}s/a", None),
        (f"{SITE}/../b", None),
        (f"{SITE}/a/%2e%2e/b", None),
        (f"{SITE}/%2e%2e%2fb", None),
        (f"{SITE}//etc/passwd", None),
        (f"{SITE}/%2Fetc/passwd", None),
        (f"{SITE}/a%00", None),
        ("https://elsewhere.example/a/site/b", None),
        ("urn:a", None),
    ],
)
def test_paths_by_hand(uri: str, path: str | None) -> None:
    """Query and fragment are no part of a path; what leads out of the folder has none."""
    assert path_of_uri(SITE, uri) == path


def test_served_paths() -> None:
    """A static host answers a path by that file, or else by a page."""
    assert served_paths("") == ("index.html",)
    assert served_paths("a/") == ("a/index.html",)
    assert served_paths("a") == ("a", "a.html", "a/index.html")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x", ("https", "a.example", 443)),
        ("https://a.example", ("https", "a.example", 443)),
        ("http://a.example/", ("http", "a.example", 80)),
        ("HTTP://A.example", ("http", "a.example", 80)),
        ("http://a.example:8080/x?y#z", ("http", "a.example", 8080)),
        ("http://[::1]:8080", ("http", "::1", 8080)),
        ("http://a.example:65535/", ("http", "a.example", 65535)),
        ("http://a.example:65536/", None),
        ("http://a.example:0/", None),
        ("http://u@a.example/", None),
        ("ftp://a.example/", None),
        ("http://", None),
        ("a.example", None),
    ],
)
def test_origins(url: str, expected: Origin | None) -> None:
    """Scheme, host and port, in whatever form; no other text has an origin, and no URL with a user."""
    assert origin(url) == expected


def test_redirects_to_the_secure_site() -> None:
    """A redirect may lead to https on the same host, and not back."""
    assert redirected("http://a.example/x", "https://a.example/y") == "https://a.example/y"
    for old, new in (("https://a.example/", "http://a.example/"), ("http://a.example/", "https://b.example/")):
        with pytest.raises(TransportError, match="redirects elsewhere"):
            redirected(old, new)
