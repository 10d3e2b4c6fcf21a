"""The reader's limits: whatever is large, deep or many is a `DocumentError`, in little time and memory."""

import tracemalloc
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import chain, repeat
from typing import Any, cast

import pytest

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import read, reader
from pelican_resourcesync.protocol.vocabulary import LARGEST_ELEMENT, MOST_BYTES, MOST_ENTRIES
from tests.protocol.support import urlset

URL = b"<url><loc>urn:a</loc></url>"
OPEN, CLOSE = urlset("|").split(b"|")


class Stream:
    """A stream of pieces, made while it is read, so that a document may be larger than memory."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.given = 0

    def read(self, size: int) -> bytes:
        """Give about as much as is asked for, and nothing at the end."""
        data = b""
        while len(data) < size and (piece := next(self._pieces, b"")):
            data += piece
        self.given += len(data)
        return data


def refusal(stream: Stream, memory: int = 60_000_000) -> str:
    """Read to the end, and give what is said against it."""
    tracemalloc.start()
    try:
        with pytest.raises(DocumentError) as caught:
            for _ in read(cast("Any", stream), name="list.xml").entries:
                pass
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_bytes() -> None:
    """A document without end is refused at its hundred-millionth byte, whatever it holds."""
    stream = Stream(chain([OPEN], repeat(b"<url><loc>urn:a</loc><a>" + b"a" * 60_000 + b"</a></url>")))
    assert "list.xml is larger than 100,000,000 bytes" in refusal(stream)
    assert stream.given < MOST_BYTES + 200_000


def test_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is one with more entries than are allowed; one with as many is read."""
    assert MOST_ENTRIES >= 50_000  # the standard's own limit (X04)
    monkeypatch.setattr(reader, "MOST_ENTRIES", 1_000)
    assert len(tuple(read(BytesIO(OPEN + URL * 1_000 + CLOSE), name="list.xml").entries)) == 1_000
    with pytest.raises(DocumentError, match=r"^list.xml, line 1, entry 1001 \('urn:a'\): more than 1,000 entries"):
        tuple(read(BytesIO(OPEN + URL * 1_001 + CLOSE), name="list.xml").entries)


INSIDE: dict[str, Callable[[], Iterator[bytes]]] = {
    "elements": lambda: chain([b"<url>"], repeat(b"<a/>" * 1000)),
    "links": lambda: chain([b"<url>"], repeat(b"<rs:ln/>" * 1000)),
    "text": lambda: chain([b"<url><loc>"], repeat(b"a" * 1000)),
    "attributes": lambda: chain([b"<url"], (b' a%d=""' % number for number in range(10**7))),
    "one attribute": lambda: chain([b'<url a="'], repeat(b"a" * 1000)),
    "hashes": lambda: chain([b'<rs:md hash="'], repeat(b"a " * 500)),
    "namespaces": lambda: chain([b"<url"], (b' xmlns:a%d="urn:a"' % number for number in range(10**7))),
    "a name": lambda: chain([b"<"], repeat(b"a" * 1000)),
    "a comment": lambda: chain([b"<!--"], repeat(b"a" * 1000)),
    "an instruction": lambda: chain([b"<?a "], repeat(b"a" * 1000)),
    "character data": lambda: chain([b"<url><loc><![CDATA["], repeat(b"a" * 1000)),
    "references": lambda: chain([b"<url><loc>"], repeat(b"&amp;" * 1000)),
    "depth": lambda: repeat(b"<a>" * 1000),
    "text beside the entries": lambda: repeat(b"a" * 1000),
    "elements beside the entries": lambda: repeat(b"<a>" + b"a" * 1000 + b"</a>"),
    "comments beside the entries": lambda: repeat(b"<!-- a -->a" * 100),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_one_element(kind: str) -> None:
    """One element is not read on and on, so that it may take all memory."""
    stream = Stream(chain([OPEN], INSIDE[kind]()))
    assert refusal(stream).startswith("list.xml")
    assert stream.given < LARGEST_ELEMENT + 400_000


def test_a_large_entry() -> None:
    """An entry of a quarter of a megabyte is read: some have hundreds of elements of others, such as images."""
    image = b'<i:image xmlns:i="urn:images"><i:loc>https://example.com/%s.png</i:loc></i:image>' % (b"a" * 100)
    images = image * (LARGEST_ELEMENT // len(image))
    whole = OPEN + b"<url><loc>urn:a</loc>" + images + b"</url>" + URL + CLOSE
    assert [entry.loc for entry in read(BytesIO(whole), name="list.xml").entries] == ["urn:a"] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"<" + b"a" * 20_000 + b"/>",
        b"<" + b"a" * 20_000 + b"></b>",
        b"<b></" + b"a" * 20_000 + b">",
        OPEN + b"<url><loc>" + b"a" * 20_000 + b"</loc><lastmod>" + b"b" * 20_000 + b"</lastmod></url>" + CLOSE,
        OPEN + b"<url><loc>a</loc><changefreq>" + b"b" * 20_000 + b"</changefreq></url>" + CLOSE,
        OPEN + b'<rs:md length="' + b"b" * 20_000 + b'"/>' + CLOSE,
        OPEN + b'<rs:md change="' + b"b" * 20_000 + b'"/>' + CLOSE,
        OPEN + b'<rs:md at="' + b"b" * 20_000 + b'"/>' + CLOSE,
        "<\u202eevil></\u202e>".encode(),
        "<\u00e9vil></\u00e9>".encode(),
        b"<a>&\xe2\x80\xae;</a>",
    ],
)
def test_messages_are_short_and_plain(data: bytes) -> None:
    """What others wrote is shown in ASCII, and not too much of it."""
    with pytest.raises(DocumentError) as caught:
        tuple(read(BytesIO(data), name="list.xml").entries)
    assert len(str(caught.value)) < 2_600  # a loc may take up to 2,048
    assert str(caught.value).isascii()
