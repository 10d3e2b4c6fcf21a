"""Pages that are made to cost much: they take no more time and memory than an ordinary large page, or are not read."""

from functools import cache
from time import process_time

import pytest

from pelican_resourcesync.content import content_hash, read_page
from tests.kit.bounds import bounded

URI = "https://site.example/p/"
MEMORY = 64 << 20
PARAGRAPH = (
    b'<h2>Head</h2><p>Some <a href="/y">linked</a> text with <em>words</em>, as in a manual.</p><ul><li>one</ul>'
)


def many(pattern: bytes, count: int) -> bytes:
    """Return a pattern with the numbers from zero."""
    return b"".join(pattern % number for number in range(count))


HOSTILE = {
    "size": b"<p>x" * 12_000_000,
    "size at the limit": b"<main>" + PARAGRAPH * 2_000 + b"x " * 640_000,
    "elements": b"<main>" + b"<a href=x>y" * 24_900,
    "ends": b"<main>" + b"</p>" * 24_900,
    "depth": b"<main>" + b"<b>" * 24_900 + b"x",
    "attributes": b"<main><p " + many(b"a%d=1 ", 100_000) + b">x",
    "attributes after a quoted end": b'<p "=">" ' + many(b"a%d ", 100_000) + b">x",
    "attributes without spaces": b"<p " + many(b'a%d="1"', 100_000) + b">x",
    "attributes after slashes": b"<p/" + many(b"a%d/", 100_000) + b">x",
    "attributes of an end": b"<p>x</p " + many(b"a%d ", 100_000) + b">x",
    "many tags with attributes": (b"<p " + many(b"a%d ", 99) + b">") * 2_500,
    "signs": b"<main>" + b"<a href=#x><div>" * 100 + b"<b></b>" * 20_000 + b"x",
    "menus": b"<main><ul>" + b"<ul><li><a href=#>x</a><a href=#></a><a href=#></a>" * 60 + b"<b></b>" * 20_000,
    "classes": b"<main>" + b"<div class=toc>" * 250 + b"<b></b>" * 20_000 + b"<h1>x",
    "a class": b'<main><p class="' + b"a-" * 500_000 + b'">x',
    "regions": b"<article>" * 250 + b"<article></article>" * 20_000 + b"x",
    "named regions": b"<div id=content>" * 250 + b"<div class=post></div>" * 20_000 + b"x",
    "titles": b"<title>" + b" - " * 400_000 + b"</title><main>x",
    "data": b'<script type="application/ld+json">' + b"[" * 1_000_000 + b"</script><main>x",
    "nested data": b'<script type="application/ld+json">' + b"[" * 900 + b"]" * 900 + b"</script><main>x",
    "accents": ("<main>a" + "\u0300\u0316" * 300_000).encode(),
    "accents on many letters": ("<main>" + ("a" + "\u0300\u0316" * 49 + " ") * 7_000).encode(),
    "parameters": b'<main><a href="?' + b"a&" * 500_000 + b'">x',
    "pictures": b"<main>" + (b'<img src="' + b"-a1" * 600 + b'.x">') * 700,
    "versions": b"<main>" + b"1-1-g" * 250_000,
    "refresh": b'<meta http-equiv=refresh content="0' + b" " * 1_000_000 + b'"><p>x',
    "robots": b'<meta name=robots content="' + b"," * 1_000_000 + b'"><p>x',
    "canonical": b'<link rel=canonical href="' + b"//" * 500_000 + b'"><p>x',
    "lines of code": b"<pre>" + b"\n" * 1_400_000 + b"x",
    "wide characters": ("<main>\U0001f600" + "a b" * 480_000).encode(),
    "unfinished tags": b"<a " * 24_900,
    "unfinished values": b"<a " + b'="' * 700_000,
    "binary": bytes(range(256)) * 5_000,
}


def seconds(body: bytes) -> float:
    """Return how long reading a page takes."""
    begin = process_time()
    read_page(body, URI)
    return process_time() - begin


@cache
def ordinary() -> float:
    """Return how long reading an ordinary page of 300 kB takes."""
    return min(seconds(b"<main>" + PARAGRAPH * 2_800) for _ in range(3))


@pytest.mark.parametrize("name", HOSTILE)
def test_costs(name: str) -> None:
    """A page of any form takes at most 64 MiB and the time of four ordinary large pages."""
    with bounded(MEMORY):
        assert any(seconds(HOSTILE[name]) < 4 * ordinary() for _ in range(3))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "size",
            "depth",
            "attributes",
            "attributes after a quoted end",
            "attributes without spaces",
            "unfinished values",
        )
    ],
)
def test_bytes_decide(name: str) -> None:
    """What exceeds a limit, and what says nothing, has the hash of its bytes."""
    body = HOSTILE[name]
    assert read_page(body, URI)[2:] == ("", "", "", (), (), (), (), "")
    assert content_hash(body, URI) != content_hash(body + b" ", URI)


def test_a_limit_is_no_truncation() -> None:
    """What follows the deepest element that is read counts: the page is then not read at all."""
    for depth in (200, 400):
        pages = (b"<main>" + b"<div>" * depth + b"</div>" * depth + word for word in (b"one", b"two"))
        assert len({content_hash(page, URI) for page in pages}) == 2


def test_empty_pages() -> None:
    """They are pages that say nothing."""
    assert len({content_hash(body, URI) for body in (b"", b" ", b"<html>", b"<!-- -->", b"\0")}) == 5
