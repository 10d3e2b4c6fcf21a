"""Files by their hashes: what a folder already has is not fetched, and nothing has other bytes than it should."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pelican_resourcesync.errors import MismatchError, TransportError
from pelican_resourcesync.http import Bounds, Web, is_plain
from pelican_resourcesync.publication.previous.fetch import Budget, Store
from pelican_resourcesync.system.files import sha256
from tests.kit.live import Live, content, live, status

A, B = sha256(b"a"), sha256(b"b")


@pytest.fixture
def site() -> Iterator[Live]:
    """Yield a site with two files, and an HTML page for all other paths."""
    with live(lambda ask: ask.send(200, b"<html>", Content_Type="text/html")) as site:
        site.manners |= {"a": content(b"a"), "b": content(b"b"), "gone": status(404)}
        yield site


@pytest.fixture
def store(site: Live, tmp_path: Path) -> Store:
    """Return an empty store of that site."""
    (tmp_path / "store").mkdir()
    return Store(Web(site.url), tmp_path / "store")


def budget(**more: float) -> Budget:
    """Return a budget that is large enough."""
    given = {"size": 1000, "seconds": 60, "clock": lambda: 0.0} | more
    return Budget("all files", Bounds(), **given)  # type: ignore[arg-type]


def test_only_what_is_missing_is_fetched(site: Live, store: Store, tmp_path: Path) -> None:
    """Of several files with the same bytes one is fetched; each is laid out, and two have files of their own."""
    (tmp_path / "known").mkdir()
    (tmp_path / "known/a").write_bytes(b"a")
    (tmp_path / "known/b").write_bytes(b"damaged")
    store.adopt({"a": A, "b": B, "none": sha256(b"none")}, tmp_path / "known")
    assert (store.has(A), store.has(B)) == (True, False)
    files = {"a": A, "b": B, "d/copy-of-a": A}
    store.gather({**files, "b": B}, budget())
    assert site.asked() == Counter({"b": 1})
    assert store.received == 1
    store.lay_out(files, tmp_path / "out")
    laid = {path: (tmp_path / "out" / path).read_bytes() for path in files}
    assert laid == {"a": b"a", "b": b"b", "d/copy-of-a": b"a"}
    assert (tmp_path / "known/a").read_bytes() == b"a"
    assert (store.has(A), store.has(B)) == (False, False)
    (tmp_path / "known/b").write_bytes(b"b")
    store.adopt({"b": B}, tmp_path / "known")
    assert store.has(B)


@pytest.mark.parametrize(
    ("path", "digest", "why"),
    [("a", B, "/a is not the listed file"), ("page", A, "/page is an HTML page"), ("gone", A, "/gone: .*404")],
)
def test_other_files(store: Store, path: str, digest: str, why: str) -> None:
    """A file that is missing, or has other bytes, is an error, unless it is optional; what came before it is kept."""
    with pytest.raises(MismatchError, match=why):
        store.gather({"b": B, path: digest} if digest != B else {path: digest}, budget())
    assert not store.has(digest)
    store.gather({path: digest}, budget(), optional=[path])
    assert not store.has(digest)


def test_a_budget_is_for_all(store: Store) -> None:
    """Each file may have what is left of the bytes and of the time, or less; at the end nothing is left."""
    now = 0.0
    whole = budget(size=3, seconds=10, clock=lambda: now)  # type: ignore[arg-type]
    assert (whole.bounds().size, whole.bounds().total, whole.bounds(2).size) == (3, 10, 2)
    with pytest.raises(TransportError, match="larger than 2 bytes"):
        store._web.read("page", whole.bounds(2))
    whole.take(1)
    assert (whole.bounds().size, whole.bounds(2).size, whole.bounds(7).size) == (2, 2, 2)
    now = 9.5
    assert whole.bounds().total == 0.5
    whole.take(2)
    with pytest.raises(TransportError, match=r"^all files have more than 3 bytes"):
        whole.bounds()
    now = 10.0
    with pytest.raises(TransportError, match=r"^fetching all files takes longer than 10 seconds"):
        whole.bounds()


@pytest.mark.parametrize("path", ["a", "a/b.xml", ".well-known/x", "a b"])
def test_plain_paths(path: str) -> None:
    """These are the same file on every system."""
    assert is_plain(path)


@pytest.mark.parametrize("path", ["", "/a", "a//b", "..", "a/../b", ". .", "a/ ", "C:/a", "a\\b", "a\x00", "a\u202eb"])
def test_paths_that_are_not_plain(path: str) -> None:
    """These lead elsewhere on some system, or cannot be printed."""
    assert not is_plain(path)
