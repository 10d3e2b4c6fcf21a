"""URLs become paths: themselves where they can, never shared, and never anywhere else."""

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.destination import STATE_FOLDER, conflict_path_of, paths
from pelican_resourcesync.destination.paths import may_be_copy, path_of
from pelican_resourcesync.errors import TransportError

OWN = ("https", "example.org", 443)
SITE = "https://example.org/"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "index.html"),
        ("a/b.html", "a/b.html"),
        ("a/", "a/index.html"),
        ("a/index.html", "a/index.html"),
        ("a", "a~f"),
        ("a/b/c.txt", "a/b/c.txt"),
        ("v1.2/b.html", "v1.2~d/b.html"),
        ("v1.2", "v1.2"),
        ("README.md", "README.md"),
        ("IMG_1.JPG", "IMG_1.JPG"),
        ("readme.MD", "readme.MD"),
        ("LICENSE", "LICENSE~f"),
        ("caf%C3%A9.html", "café.html"),
        ("a%20b.html", "a b.html"),
        ("cafe%CC%81.html", "~cafe~25~43~43~2581.html"),
        ("%7Euser/x.html", "~~257~45user/x.html"),
        ("~user/x.html", "~~7euser/x.html"),
        ("a%2Fb.html", "~a~252~46b.html"),
        ("a//b.html", "a/~/b.html"),
        ("../b.html", "~~2e~2e/b.html"),
        ("%2e%2e/b.html", "~~252e~252e/b.html"),
        ("a/./b.html", "a/~~2e/b.html"),
        (".htaccess", "~~2ehtaccess~f"),
        (".user.ini", "~~2euser.ini"),
        (".git/config", "~~2egit/config~f"),
        (".mirror/state.sqlite3", "~~2emirror/state.sqlite3"),
        ("web.config", "~web.config"),
        ("con", "~con~f"),
        ("CON.txt", "~~43~4f~4e.txt"),
        ("com1.tar.gz", "~com1.tar.gz"),
        ("aux/b.html", "~aux/b.html"),
        ("a.", "~a~2e~f"),
        ("a%20", "~a~2520~f"),
        ("a:b.html", "~a~3ab.html"),
        ("a%3Fb.html", "~a~253~46b.html"),
        ("a\\b.html", "~a~5cb.html"),
        ("page?id=3", "page~qid~3d3~f"),
        ("page.php?id=3", "page.php~qid~3d3"),
        ("?x=1", "index.html~qx~3d1"),
        ("page?", "page~q~f"),
        ("page.html#top", "page.html~stop"),
        ("%FF.html", "~~25~46~46.html"),
        ("a%00b.html", "~a~2500b.html"),
        ("stra%C3%9Fe.html", "~stra~25~433~259~46e.html"),
        ("%C3%89t%C3%A9.html", "~~25~433~2589t~25~433~25~419.html"),
    ],
)
def test_paths(url: str, path: str) -> None:
    """As documented, by hand."""
    assert path_of(SITE + url, OWN) == path


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a/b.html", True), ("b/index.html", True), ("a~f", True), ("~origin/http+x.test+80/a.html", True),
     ("é.html", True), ("index.html", False), ("note", False), (".htaccess", False), ("b/.git/HEAD.html", False),
     ("v1.2/a.html", False)],
)  # fmt: skip
def test_paths_of_copies(path: str, expected: bool) -> None:
    """A file that nobody knows may be the copy of a URL; or it cannot be, or serves the copy."""
    assert may_be_copy(path) is expected


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("a/", "~conflict/a/index.html"),
        ("a/index.html", "~conflict/a/~index.html"),
        ("README.md", "~conflict/README~3f.md"),
        ("readme.md", "~conflict/readme.md"),
        ("readme.MD", "~conflict/readme~c0.MD"),
        ("Docs/LICENSE", "~conflict/Docs~1/LICENSE~7f~f"),
    ],
)
def test_conflict_paths(url: str, path: str) -> None:
    """Of URLs whose paths would be the same somewhere, as documented, by hand."""
    assert conflict_path_of(SITE + url, OWN) == path


def test_the_documented_table() -> None:
    """The examples in the module's own words hold."""
    assert paths.__doc__
    examples = ("a~f", "v1.2~d/b.html", "README.md", "page~qid~3d3~f", "~~2ehtaccess~f", "~con.txt", "~a~252~46b~f")
    for example in (*examples, "~origin/https+"):
        assert example in paths.__doc__


def test_long_names() -> None:
    """A name that no file system can hold is replaced by its hash, with its extension."""
    for name, ending in ((f"{'a' * 175}.html", ".html"), (f"{'a' * 178}", "~f"), (f"{'B' * 175}.jpeg", ".jpeg")):
        longest = path_of(SITE + name, OWN)
        assert longest == name + ending.removeprefix(".html").removeprefix(".jpeg")
        digest = hashlib.sha256(f"a{name}".encode()).hexdigest()
        assert path_of(f"{SITE}a{name}", OWN) == f"~h{digest}{ending}"
    assert path_of(f"{SITE}{'a' * 300}/b.html", OWN).endswith("/b.html")
    deep = "a/" * 445
    assert path_of(f"{SITE}{deep}index.html", OWN) == f"{deep}index.html"  # 900 characters
    url = f"{SITE}{deep}aindex.html"
    assert path_of(url, OWN) == f"~long/{hashlib.sha256(url.encode()).hexdigest()}"


def test_other_origins() -> None:
    """Each host, scheme and port has a folder of its own, wherever the Source is."""
    assert path_of("http://example.org/a.html", OWN) == "~origin/http+example.org+80/a.html"
    assert path_of("https://example.org:8443/a.html", OWN) == "~origin/https+example.org+8443/a.html"
    assert path_of("https://[::1]/a.html", OWN) == "~origin/https+~3a~3a1+443/a.html"
    assert path_of("https://EXAMPLE.org/a.html", OWN) == "a.html"
    assert path_of("https://example.org/a.html", None) == "~origin/https+example.org+443/a.html"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/a", "a.html", "https://user@example.org/a", ""]
)
def test_no_path(url: str) -> None:
    """What is no URL of the web has no path."""
    with pytest.raises(TransportError):
        path_of(url, OWN)


SEGMENT = st.one_of(
    st.text(st.sampled_from("abAB.~%2e/?#=q fds0\t\n"), max_size=12),
    st.text(max_size=6),
    st.sampled_from(["con", "NUL.txt", ".git", "..", "%2e", "a~f", "a~d", "a.b~d", "a" * 300]),
    st.sampled_from(["\xe9", "e\u0301", "\u0130", "\u0131", "\xdf"]),
)
URLS = st.lists(SEGMENT, max_size=4).map(lambda names: SITE + "/".join(names))


@pytest.mark.promise("A mirror stays inside")
@given(URLS, URLS)
def test_injective_and_safe(one: str, two: str) -> None:
    """Paths that are equal where case and normalization are ignored are known by their ASCII letters; none is special.

    Paths in a conflict are never equal, not even there.
    """
    paths = [path_of(one, OWN), path_of(two, OWN)]
    folded = [_folded(path) for path in paths]
    assert (paths[0].lower() == paths[1].lower()) == (folded[0] == folded[1])
    apart = [conflict_path_of(one, OWN), conflict_path_of(two, OWN)]
    assert (one == two) == (_folded(apart[0]) == _folded(apart[1]))
    for group in (folded, [_folded(path) for path in apart], [folded[0], _folded(apart[1])]):
        assert not any(f"{group[n]}/".startswith(f"{group[1 - n]}/") for n in (0, 1) if group[0] != group[1])
    assert folded[0] != _folded(apart[1])
    for path in paths + apart:
        assert not path.startswith(f"{STATE_FOLDER}/")
        for name in path.split("/"):
            assert 0 < len(name.encode()) <= 255
            assert name[0] != "."
            assert name[-1] not in ". "
            assert name.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}
            assert not set(name) & set('\\:*?"<>|/\0')
            assert name.isprintable()


@given(URLS, URLS)
def test_few_share_a_path(one: str, two: str) -> None:
    """Only case and `index.html` make two URLs meet."""
    if path_of(one, OWN).lower() == path_of(two, OWN).lower():
        assert _without_index(one) == _without_index(two)


def _without_index(url: str) -> str:
    path, hash_sign, fragment = url.partition("#")
    path, mark, query = path.partition("?")
    return f"{path.lower().removesuffix('index.html')}{mark}{query}{hash_sign}{fragment}"


def _folded(path: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFKC", path).casefold())


SPECIAL = ["con", "COM1", "lpt9", "web.config", "aux.", "git"]
PIECES = [*SPECIAL, "a", "B", "z9", "-", "_", ".", "/", "~", "%41", "\N{KELVIN SIGN}"]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_the_quick_way_is_the_same(path: str) -> None:
    """Most URLs are seen to be usual at once, and get the path that they would get anyway."""
    assert path_of(f"{SITE}{path}", OWN) == paths._path(f"{SITE}{path}", OWN, conflict=False)
