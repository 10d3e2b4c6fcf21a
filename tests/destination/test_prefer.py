"""Another representation in place of a resource: `mirror --prefer` (2012, §6)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.options import MirrorOptions
from tests.destination.linked import LinkedSource, link
from tests.kit.sources import FAST, digest, files_of, living

TEXT = replace(FAST, prefer=["text/plain"], max_deletions=100)


def alternate(source: LinkedSource, path: str, type: str = "text/plain", **more: object) -> str:
    """Write a link to an alternate."""
    return link("alternate", f"{source.url}{path}", type=type, **more)


@pytest.fixture
def source() -> Iterator[LinkedSource]:
    """Yield a Source that lists two pages, the text of one of them before its page, and a picture."""
    listed = {"a.txt": "a's text", "b.html": "b", "b.txt": "b's text", "a.html": "a", "c.html": "c", "d.png": "d"}
    with living(LinkedSource, listed) as source:
        source.links = {f"{name}.html": alternate(source, f"{name}.txt") for name in "ab"}
        source.publish()
        yield source


def names(source: LinkedSource, folder: Path, options: MirrorOptions = TEXT) -> Sequence[str]:
    """Mirror the Source, which is then complete and right, also for an audit; return the files that are in the copy."""
    result = Mirror(source.url, folder, options).run()
    assert result.complete
    assert Mirror(source.url, folder, options).audit() == []
    found = files_of(folder)
    assert found == {path: source.published[path] for path in found}
    return sorted(found)


def test_alternates_that_are_listed(source: LinkedSource, folder: Path) -> None:
    """They stand for their pages, and are compared with their own hash, wherever they are in the list."""
    assert names(source, folder, FAST) == ["a.html", "a.txt", "b.html", "b.txt", "c.html", "d.png"]
    assert names(source, folder) == ["a.txt", "b.txt", "c.html", "d.png"]
    source.update({"a.txt": "a's new text", "c.html": "new c", "b.txt": None, "b.html": None})
    assert names(source, folder) == ["a.txt", "c.html", "d.png"]
    source.links.clear()
    source.publish()
    assert names(source, folder) == ["a.html", "a.txt", "c.html", "d.png"]
    source.links = {"a.html": alternate(source, "a.txt")}
    source.publish()
    assert names(source, folder) == ["a.txt", "c.html", "d.png"]
    assert names(source, folder, FAST) == ["a.html", "a.txt", "c.html", "d.png"]


def test_alternates_that_are_not_listed(source: LinkedSource, folder: Path) -> None:
    """They change when their page does, or when their hash does, and go with it."""
    for path in ("a.txt", "b.txt"):
        source.delete(path)
    source.put("c.html", "new c")
    source.links["b.html"] = alternate(source, "b.txt", hash=digest(b"text"))
    source.publish()
    more = {"a.txt": b"text", "b.txt": b"text"}
    source.published |= more
    assert names(source, folder) == ["a.txt", "b.txt", "c.html", "d.png"]
    source.put("a.html", "another")
    source.links["b.html"] = alternate(source, "b.txt", hash=digest(b"news"))
    source.publish()
    source.published |= dict.fromkeys(more, b"news")
    assert names(source, folder) == ["a.txt", "b.txt", "c.html", "d.png"]
    source.update({"a.html": None})
    source.published |= {"b.txt": b"news"}
    assert names(source, folder) == ["b.txt", "c.html", "d.png"]


def test_the_first_type_that_there_is(source: LinkedSource, folder: Path) -> None:
    """A page that has a type that is preferred to others stays."""
    source.links["a.html"] += alternate(source, "d.png", "image/png")
    source.publish()
    of = replace(TEXT, prefer=["application/pdf", "image/*", "text/*"])
    assert names(source, folder, of) == ["a.txt", "b.txt", "c.html", "d.png"]
    del source.resources["a.txt"]
    source.publish()
    assert names(source, folder, of) == ["b.txt", "c.html", "d.png"]
    lists = source.published["rs/resourcelist.xml"]
    typed = f"<loc>{source.url}b.html</loc>", "<rs:md ", '<rs:md type="text/html" '
    before, after = lists.decode().split(typed[0])
    source.published["rs/resourcelist.xml"] = f"{before}{typed[0]}{after.replace(*typed[1:], 1)}".encode()
    assert names(source, folder, of) == ["b.html", "b.txt", "c.html", "d.png"]


def test_what_may_not_be_requested_is_not_preferred(source: LinkedSource, folder: Path) -> None:
    """Neither an alternate on another host, nor one that the user did not select."""
    elsewhere = link("alternate", "https://other.example/a.txt", type="text/plain")
    source.links["a.html"] = elsewhere
    source.publish()
    assert names(source, folder) == ["a.html", "a.txt", "b.txt", "c.html", "d.png"]
    assert names(source, folder, replace(TEXT, only=["*.html"])) == ["a.html", "b.html", "c.html"]
