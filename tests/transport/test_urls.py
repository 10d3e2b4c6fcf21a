"""File paths of URIs and back."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.transport import path_of_uri, served_paths, uri_of_path

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
