"""Paths of bitstreams: the URL's own where it is plain, `~` and a hash where not; safe everywhere, each its own."""

import re
import time
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.http import is_plain
from pelican_resourcesync.publication.kinds.packages import MemberPaths

BASE = "https://x.example"
LONG = "long-name-of-a-page-" * 10


def add(*uris: str, base: str = BASE) -> list[str]:
    """Return the paths of URIs in one package."""
    paths = MemberPaths(base)
    return [paths.add(uri) for uri in uris]


def hashed(uri: str) -> str:
    """Return what the path of a URI is where its own is not plain."""
    return f"/resources/~{sha256(uri.encode()).hexdigest()}"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/posts/hello.html", "posts/hello.html"),
        ("/", "index.html"),
        ("", "index.html"),
        ("/posts/", "posts/index.html"),
        ("/about", "about"),
        ("/v1.2", "v1.2"),
        ("/feeds/all.atom.xml", "feeds/all.atom.xml"),
        ("/.well-known/security.txt", ".well-known/security.txt"),
        ("/a/~b/c~d_e-f.html", "a/~b/c~d_e-f.html"),
        ("/console.html", "console.html"),
        ("/com10/nullable", "com10/nullable"),
        (f"/{'x' * 189}", "x" * 189),
    ],
)
def test_plain(uri: str, path: str) -> None:
    """The path of a URL of the site, with the name that a server gives a folder, so that the package is the site."""
    assert add(BASE + uri) == [f"/resources/{path}"]


@pytest.mark.parametrize(
    "uri",
    [
        f"{BASE}/{path}"
        for path in (
            "M%C3%BCnze.html", "a b.html", "a&b.html", "list.html?page=2", "page?", "page#top", "a//b.html", "//",
            "a/../b.html", "./b", "..", "end.", "end./x.html", "C:/x.html", "a\\b", "con", "con/x.html", "a/AUX.html",
            "nul.tar.gz", "Com1.txt", "~x.html", f"~{'0' * 64}", "ü", "a\n", "x" * 190, "x" * 5_000,
        )
    ]
    + [f"{BASE}?p=1", "https://y.example/a.html", "http://x.example/a.html", "https://x.example.evil/a.html", "urn:a",
       "file:///etc/passwd", "nonsense", ""],
)  # fmt: skip
def test_odd(uri: str) -> None:
    """Everything else is `~` and the SHA-256 of the URI."""
    assert add(uri) == [hashed(uri)]
    assert len(hashed(uri)) <= 200


def test_the_hash_by_hand() -> None:
    """Printf '%s' 'https://x.example/a b' | sha256sum."""
    assert add(f"{BASE}/a b") == ["/resources/~bebeab32b3e9b986fabb206ee8efadef734293ed8dfc73119437961f78e371d3"]


def test_clashes() -> None:
    """Two names that differ in case, or of which one is a folder of the other: the second is hashed."""
    uris = [f"{BASE}/{path}" for path in ("a.html", "A.html", "b", "B/c", "d/e/f", "D/E", "d/E/F", "d/e/g")]
    expected = ["a.html", None, "b", None, "d/e/f", None, None, "d/e/g"]
    assert add(*uris) == [
        f"/resources/{path}" if path else hashed(uri) for uri, path in zip(uris, expected, strict=True)
    ]


_NASTY = st.sampled_from(
    ["", ".", "..", "...", " ", "con", "CON.txt", "nul.", "a", "A", "a.html", "A.HTML", "index.html", "ß", "~", "~2",
     "\u202e", "\x00", "\n", "\\", "C:", "a:b", "\ud800", "x" * 120, "長" * 50, "%2e%2e", "?", "&", "'",
     "resources", "manifest.xml"]
)  # fmt: skip
_SEGMENTS = st.one_of(_NASTY, st.text(max_size=8), st.text("aA.~2 ", max_size=4))
_ENCODED = _SEGMENTS.map(lambda segment: quote(segment, safe="", errors="surrogatepass"))
_PATHS = st.lists(st.one_of(_SEGMENTS, _ENCODED, st.sampled_from("abAB")), min_size=1, max_size=6).map("/".join)
_BEFORE = st.sampled_from([f"{BASE}/", f"{BASE}/", f"{BASE}/", BASE, "https://y.example/", "urn:", ""])
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)


@given(st.lists(st.builds(str.__add__, _BEFORE, _PATHS), min_size=1, max_size=40))
@example([f"{BASE}/a", f"{BASE}/a/a", f"{BASE}/A/a/a", f"{BASE}/a/a/a/a", f"{BASE}/a"] * 2)
def test_any_uris(uris: Sequence[str]) -> None:
    """Whatever the URIs: every path is safe on every system, and none is another or a folder of another."""
    paths = add(*uris)
    for path in paths:
        assert path.startswith("/resources/")
        assert path.isascii()
        assert len(path) <= 200
        assert is_plain(path[1:])
        for name in path[1:].split("/"):
            assert re.fullmatch("[A-Za-z0-9._~-]+", name)
            assert not name.endswith(".")
            assert not _DEVICE.match(name)
    known = {path.lower() for path in paths}
    assert len(known) == len(paths)
    assert not known & {path[: slash.start()] for path in known for slash in re.finditer("/", path)}
    assert add(*uris) == paths


def _seconds(form: str, count: int) -> float:
    """Return the processor time for so many paths."""
    paths = MemberPaths(BASE)
    start = time.process_time()
    for number in range(count):
        paths.add(f"{BASE}/{form.format(number, number)}")
    return time.process_time() - start


@pytest.mark.parametrize("form", ["a.html", "{}.html", "a/{}/b/{}.html", LONG + "{}.html", "a" + "." * 150])
def test_time_grows_no_faster_than_the_paths(form: str) -> None:
    """Twenty times the paths, versions of one URI or of as many, take about twenty times as long, not four hundred."""
    few = min(_seconds(form, 300) for _ in range(5))
    assert _seconds(form, 6_000) < 100 * max(few, 0.001)  # some systems count processor time in steps
