"""Paths of bitstreams: readable, safe everywhere, each its own."""

import re
import time
import tracemalloc
import unicodedata
from collections.abc import Sequence
from unittest.mock import patch
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.publication.dumps.paths import PackagePaths
from pelican_resourcesync.transport import is_plain

BASE = "https://x.example"
HTML = "text/html"
LONG = "long-name-of-a-page-" * 10


def take(*uris: str, media_type: str = HTML) -> list[str]:
    """Return the paths of URIs in one package."""
    paths = PackagePaths(BASE)
    return [paths.take(uri, media_type) for uri in uris]


@pytest.mark.parametrize(
    ("uri", "media_type", "path"),
    [
        ("/posts/hello.html", HTML, "posts/hello.html"),
        ("/", HTML, "index.html"),
        ("", HTML, "index.html"),
        ("/posts/", HTML, "posts/index.html"),
        ("/pictures/", "image/jpeg", "pictures/index.jpg"),
        ("/odd/", "application/octet-stream", "odd/index"),
        ("/about", HTML, "about.html"),
        ("/CNAME", "application/octet-stream", "CNAME"),
        ("/v1.2", HTML, "v1.2"),
        ("/feeds/all.atom.xml", "application/atom+xml", "feeds/all.atom.xml"),
        ("/.well-known/security.txt", "text/plain", ".well-known/security.txt"),
        ("/M%C3%BCnze%201.svg", "image/svg+xml", "Münze 1.svg"),
        ("/%E5%8F%A4%E9%8C%A2/", HTML, "古錢/index.html"),
        ("/Mu%CC%88nze.html", HTML, "Münze.html"),  # decomposed there, composed here
        ("/a&b='c'(1),d;e=f~g@h!$.html", HTML, "a&b='c'(1),d;e=f~g@h!$.html"),
        ("/latin-%FC.html", HTML, "latin-%FC.html"),
        ("/100%25.html", HTML, "100%.html"),
        ("/%252e%252e/x.html", HTML, "%2e%2e/x.html"),
        ("/a/../../etc/passwd.html", HTML, "a/__/__/etc/passwd.html"),
        ("/%2e%2e/%2E/x.html", HTML, "__/_/x.html"),
        ("/..%2f..%5c..%2Fx.html", HTML, ".._.._.._x.html"),
        ("/a//b///c.html", HTML, "a/_/b/_/_/c.html"),
        ("//", HTML, "_/index.html"),
        ("/C:/x.html", HTML, "C_/x.html"),
        ("/%3C%3E%3A%22%7C%3F%2A%00%1F%7F.html", HTML, "__________.html"),
        ("/end.", "text/x", "end_"),
        ("/end%20./x..%20/y.html", HTML, "end__/x___/y.html"),
        ("/%20%20start.html", HTML, "__start.html"),
        ("/end%E2%80%A6/x.html", HTML, "end_/x.html"),  # an ellipsis is dots to some
        ("/con/AUX.html", HTML, "con_/AUX_.html"),
        ("/nul.tar.gz", "application/gzip", "nul_.tar.gz"),
        ("/Com1.txt/lpt%C2%B9", "text/x", "Com1_.txt/lpt¹_"),
        ("/conin$/CONOUT$%20.x", "text/x", "conin$_/CONOUT$ _.x"),
        ("/console.html", HTML, "console.html"),
        ("/gpj.%E2%80%AEtxt", "text/plain", "gpj._txt"),  # a turn from right to left
        ("/a%E2%80%8Bb%C2%ADc%EF%BB%BFd%EF%B8%8Fe%E3%85%A4.txt", "text/plain", "a_b_c_d_e_.txt"),
        ("/a%C2%A0b%E2%80%A8c%E3%80%80d.txt", "text/plain", "a_b_c_d.txt"),
        ("/%EF%BC%8F%E2%84%80%EF%BC%BC.txt", "text/plain", "___.txt"),  # slashes to some
        ("/list.html?page=2", HTML, "list_page=2.html"),
        ("/?p=1", HTML, "index_p=1.html"),
        ("?p=1", HTML, "index_p=1.html"),
        ("/search?q=a/../b%2F%26c", HTML, "search_q=a_.._b_&c.html"),
        ("/page?", HTML, "page.html"),
    ],
)
def test_table(uri: str, media_type: str, path: str) -> None:
    """What a path is for each kind of URI of the site."""
    assert take(BASE + uri, media_type=media_type) == [f"/resources/{path}"]


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("https://y.example/a/b.html", "y.example/a/b.html"),
        ("https://Y.example:8080/", "Y.example_8080/index.html"),
        ("http://x.example/a.html", "x.example/a.html"),
        ("https://x.example.evil/a.html", "x.example.evil/a.html"),
        ("https://name:secret@y.example/a.html", "y.example/a.html"),
        ("https://y.example", "y.example/index.html"),
        ("https://y.example?q=1", "y.example/index_q=1.html"),
        ("urn:isbn:978-3", "urn/isbn_978-3.html"),
        ("file:///etc/passwd", "file/etc/passwd.html"),
        ("nonsense", "nonsense.html"),
        ("", "index.html"),
    ],
)
def test_elsewhere(uri: str, path: str) -> None:
    """A URI that is not below the site's has its host, else its scheme, as first folder; who logs in is not told."""
    assert take(uri) == [f"/resources/{path}"]


def test_site_below_a_folder() -> None:
    """A site's URL may have a path of its own; what is beside that is elsewhere."""
    paths = PackagePaths("https://x.example/~me")
    assert paths.take("https://x.example/~me/a.html", HTML) == "/resources/a.html"
    assert paths.take("https://x.example/~meg/a.html", HTML) == "/resources/x.example/~meg/a.html"


def test_versions_of_one_resource() -> None:
    """CD04: each version of one URI has a path of its own, in the order of the changes."""
    uri = f"{BASE}/a.tar.gz"
    assert take(uri, uri, uri) == [f"/resources/{name}" for name in ("a.tar.gz", "a.tar~2.gz", "a.tar~3.gz")]


def test_clashes() -> None:
    """Names that some system takes for one are told apart: by case, by spelling, by what they are here."""
    uris = [
        f"{BASE}/{each}"
        for each in (
            "A.html",
            "a.html",
            "a~2.html",
            "%EF%BD%81.html",
            "a",
            "%61.html",
            "Stra%C3%9Fe.html",
            "STRASSE.html",
        )
    ]
    assert take(*uris) == [
        "/resources/A.html",
        "/resources/a~2.html",
        "/resources/a~2~2.html",
        "/resources/\uff41~3.html",
        "/resources/a~4.html",
        "/resources/a~5.html",
        "/resources/Straße.html",
        "/resources/STRASSE~2.html",
    ]


def test_files_and_folders_clash() -> None:
    """What is a file is not a folder, whichever comes first; a folder that was renamed stays so for all in it."""
    plain = "text/x"
    assert take(f"{BASE}/a", f"{BASE}/A/b", f"{BASE}/a/c/d", f"{BASE}/a~2", media_type=plain) == [
        "/resources/a",
        "/resources/A~2/b",
        "/resources/A~2/c/d",
        "/resources/a~2~2",
    ]
    assert take(f"{BASE}/a/b", f"{BASE}/A", f"{BASE}/a/c", media_type=plain) == [
        "/resources/a/b",
        "/resources/A~2",
        "/resources/a/c",
    ]


def test_folders_that_differ_in_case_are_one() -> None:
    """Two folders that some system takes for one hold no two names that it would take for one."""
    assert take(f"{BASE}/A/x.html", f"{BASE}/a/X.html", f"{BASE}/a/y.html") == [
        "/resources/A/x.html",
        "/resources/a/X~2.html",
        "/resources/a/y.html",
    ]


def test_long_names() -> None:
    """A long name is cut, keeps its extension, and tells what it was by a piece of the SHA-256 of the URI."""
    one, other, again = take(f"{BASE}/{LONG}1.html", f"{BASE}/{LONG}2.html", f"{BASE}/{LONG}1.html")
    # printf '%s' "https://x.example/long-name-…1.html" | sha256sum
    assert one == f"/resources/{LONG[:86]}~641c20b1.html"
    assert other == f"/resources/{LONG[:86]}~54ccd3c4.html"
    assert again == f"/resources/{LONG[:84]}~641c20b1~2.html"


def test_long_folders_keep_together() -> None:
    """What was in one folder stays in one folder, however long its name or its path."""
    for folder in (LONG, "/".join(f"folder-{number:02}" for number in range(40))):
        one, other, elsewhere = take(f"{BASE}/{folder}/a.html", f"{BASE}/{folder}/b.html", f"{BASE}/{folder}x/a.html")
        assert one.rpartition("/")[0] == other.rpartition("/")[0] != elsewhere.rpartition("/")[0]
        assert one.endswith("/a.html")


def test_characters_are_not_cut_in_two() -> None:
    """A name of long characters is cut between two of them."""
    path = take(f"{BASE}/{quote('古' * 60)}.html")[0]
    assert re.fullmatch(r"/resources/古{28}~[0-9a-f]{8}\.html", path)


_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)", re.IGNORECASE)
_NASTY = st.sampled_from(
    ["", ".", "..", "...", " ", "con", "CON.txt", "nul.", "aux .x", "COM¹", "a", "A", "\uff41", "a~2", "a.html",
     "A.HTML", "\ufe0f", "index.html",
     "index", "ß", "ss", "ﬁ", "fi", "K", "\u212a", "é", "e\u0301", "\u202e", "\u200d", "\ufeff", "\x00",
     "\n", "\\", "/", "C:", "a:b", "|", "\ud800", "\ue000", "\U000e0041", "…", "\uff0e\uff0e", "℀", "x" * 120,
     "長" * 50, "a." + "b" * 40, "~2", "%2e%2e", "?", "&", "'", "🙂" * 30, "resources", "manifest.xml"]
)  # fmt: skip
_SEGMENTS = st.one_of(_NASTY, st.text(max_size=8), st.text("aA.~2 ", max_size=4), st.text(max_size=130))


def _encoded(segment: str) -> str:
    return quote(segment, safe="", errors="surrogatepass")


_PATHS = st.lists(st.one_of(_SEGMENTS, _SEGMENTS.map(_encoded), st.sampled_from("ab")), min_size=1, max_size=12).map(
    "/".join
)
_BEFORE = st.sampled_from([f"{BASE}/", f"{BASE}/", f"{BASE}/", BASE, "https://y.example/", "urn:", "", "http://"])
_URIS = st.builds(str.__add__, _BEFORE, st.one_of(_PATHS, st.builds("{}?{}".format, _PATHS, _SEGMENTS)))
_TYPES = st.sampled_from([HTML, "text/plain", "application/octet-stream", ""])


def _same_to_some_system(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


@given(st.lists(st.tuples(_URIS, _TYPES), min_size=1, max_size=40))
@example(
    [(f"{BASE}/a", ""), (f"{BASE}/a/a", ""), (f"{BASE}/A/a/a", ""), (f"{BASE}/a/a/a/a", ""), (f"{BASE}/a~2/a", "")]
)
@example([(f"{BASE}/" + "/".join("a" * length), "") for length in range(1, 90)] * 2)
def test_any_uris(asked: Sequence[tuple[str, str]]) -> None:
    """Whatever the URIs: every path is safe on every system, and none is another or a folder of another."""
    paths = PackagePaths(BASE)
    given_paths = [paths.take(uri, media_type) for uri, media_type in asked]
    for path in given_paths:
        assert path.startswith("/resources/")
        assert len(path.encode()) <= 200
        assert is_plain(path[1:])
        assert unicodedata.is_normalized("NFC", path)
        for name in path[1:].split("/"):
            assert 1 <= len(name.encode()) <= 100
            assert not name.endswith((".", " "))
            assert not name.startswith(" ")
            assert not set(name) & set('<>:"/\\|?*')
            assert not {unicodedata.category(each) for each in name} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
            assert not _DEVICE.match(name)
    known = [_same_to_some_system(path) for path in given_paths]
    assert len(set(known)) == len(known)
    folders = {known_path[: match.start()] for known_path in known for match in re.finditer("/", known_path)}
    assert not folders & set(known)
    again = PackagePaths(BASE)
    assert [again.take(uri, media_type) for uri, media_type in asked] == given_paths


_SHORT = "a.b A.b a~2.b con.txt CON.txt nul.a.b conx.b a..b .b -.b a a. a.b. %61.b a.b? a.b#"
_LONG = [f"a.{'e' * 15}", f"a.{'e' * 16}", *(f"{'x' * length}.c" for length in (97, 98, 99)), "a b.c"]
_FOLDERS = [
    *(f"{BASE}{path}" for path in ("", "/a", "/a.b", "#", "?a", "b", f"/{'a/' * 50}a")),
    *("https://y.example", "https://y.example/a", "https:/", "", "?", "urn:a", "urn:a/b/c"),
]
_IN_FOLDERS = st.builds("{}/{}".format, st.sampled_from(_FOLDERS), st.sampled_from([*_SHORT.split(), *_LONG]))


@given(st.lists(_IN_FOLDERS, min_size=1, max_size=30))
def test_plain_names(uris: Sequence[str]) -> None:
    """Plain names in one folder, which are not looked at more closely, get the same paths as if they were."""
    for asked in (uris, sorted(uris)):
        found = take(*asked, media_type="")
        with patch.object(PackagePaths, "_take_plain", lambda *_: None):
            expected = take(*asked, media_type="")
        assert found == expected


_SLUGS = st.text("abcdefgh-_0123456789éüß古 ", min_size=1, max_size=12).filter(lambda text: text.strip() == text)


@given(st.sets(st.lists(_SLUGS, min_size=1, max_size=4).map(lambda names: "/".join(names) + ".html"), max_size=20))
def test_an_ordinary_site_is_as_it_was(files: set[str]) -> None:
    """Where no two files are alike and no name is odd, the paths are those of the files."""
    files = {unicodedata.normalize("NFC", file) for file in files}
    if len({_same_to_some_system(file) for file in files}) < len(files):
        return
    paths = PackagePaths(BASE)
    for file in sorted(files):
        assert paths.take(f"{BASE}/{quote(file)}", HTML) == f"/resources/{file}"


_FORMS = ["a.html", "{}.html", "{}/", "a/{}/b/{}.html", "D%C3%BC/{}.html", LONG + "{}.html"]


def _take_many(form: str, count: int) -> float:
    """Take so many paths, and give the seconds of the processor."""
    paths = PackagePaths(BASE)
    start = time.process_time()
    for number in range(count):
        paths.take(f"{BASE}/{form.format(number, number)}", HTML)
    return time.process_time() - start


@pytest.mark.parametrize("form", _FORMS)
def test_time_grows_no_faster_than_the_paths(form: str) -> None:
    """Twenty times the paths, versions of one URI or of as many, take about twenty times as long, not four hundred."""
    few = min(_take_many(form, 1_000) for _ in range(5))
    assert _take_many(form, 20_000) < 100 * few


@pytest.mark.parametrize(
    "form", ["{}/", pytest.param("{}/a-rather-long-slug-as-titles-make-them.html", marks=pytest.mark.long)]
)
def test_fifty_thousand_paths_take_little_memory(form: str) -> None:
    """Less than 20 MB for what a package holds at most, half of them folders or none."""
    tracemalloc.start()
    _take_many(form, 50_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
