"""Which bytes an answer means, with either client: what was sent, or what it is when it is decoded."""

import gzip
import zlib
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from typing import NamedTuple

import pytest

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.http import Bounds, Client, Request, Response
from pelican_resourcesync.system.dcz import zstd
from tests.kit.live import Live, Manner, chunked, content

DATA = b"".join(b"This is line %d.\n" % number for number in range(1_000))
GZIP = gzip.compress(DATA)
LARGE = b"".join(sha256(b"%d" % number).digest() for number in range(20_000))  # does not get smaller
LARGE_GZIP = gzip.compress(LARGE)
TINY = sha256().digest()


class Row(NamedTuple):
    """What is sent, in which encoding, which bytes are meant, and what is listed of them."""

    sent: bytes
    encoding: str
    meant: bytes
    listed: str = ""
    path: str = "page.html"


ROWS: dict[str, Row] = {
    "in gzip": Row(GZIP, "gzip", DATA),
    "in gzip, by an old name": Row(GZIP, "X-Gzip", DATA),
    "in deflate": Row(zlib.compress(DATA), "deflate", DATA),
    "in zstd": Row(zstd.compress(DATA), "zstd", DATA),
    "in two frames of zstd": Row(zstd.compress(DATA[:9]) + zstd.compress(DATA[9:]), "zstd", DATA),
    "in several members": Row(gzip.compress(DATA[:9]) + gzip.compress(b"") + gzip.compress(DATA[9:]), "gzip", DATA),
    "in both": Row(gzip.compress(zlib.compress(DATA)), "deflate,gzip", DATA),
    "with garbage after it": Row(GZIP + b"garbage" * 50_000, "gzip", DATA),
    "with zeros after it": Row(GZIP + bytes(512), "gzip", DATA),
    "with half a header after it": Row(GZIP + b"\x1f", "gzip", DATA),
    "zstd, with garbage after it": Row(zstd.compress(DATA) + b"garbage", "zstd", DATA),
    "nothing": Row(b"", "gzip", b""),
    "in no encoding of HTTP": Row(DATA, "utf-8", DATA),
    "as a client of S3 sends it": Row(GZIP, "gzip, aws-chunked", DATA),
    "a file in gzip": Row(GZIP, "", GZIP),
    "by its hash": Row(GZIP, "gzip", DATA, "hash"),
    "by its length": Row(GZIP, "gzip", DATA, "length"),
    "by both": Row(GZIP, "gzip", DATA, "hash length"),
    "the file itself, by its hash": Row(GZIP, "gzip", GZIP, "hash"),
    "the file itself, by its length": Row(GZIP, "gzip", GZIP, "length"),
    "the file itself, by both": Row(GZIP, "x-gzip", GZIP, "hash length"),
    "the file itself, in an encoding that is not decoded": Row(GZIP, "exi", GZIP, "hash"),
    "a file that is not encoded at all": Row(DATA, "gzip", DATA, "hash"),
    "a file in gzip, sent in gzip": Row(gzip.compress(GZIP), "gzip, gzip", GZIP, "hash length"),
    "a file in gzip, sent in gzip once more": Row(gzip.compress(GZIP), "gzip", GZIP, "length"),
    "a few bytes": Row(gzip.compress(TINY), "gzip", TINY, "hash length"),
    "a large file, by both": Row(LARGE_GZIP, "gzip", LARGE, "hash length"),
    "a large file itself, by both": Row(LARGE_GZIP, "gzip", LARGE_GZIP, "hash length", "a.warc.gz"),
    "a large file, by its hash": Row(LARGE_GZIP, "gzip", LARGE, "hash"),
    "a large file itself, by its hash and its name": Row(LARGE_GZIP, "gzip", LARGE_GZIP, "hash", "page.csv.gz?v=1"),
}  # fmt: skip


class Kept(BytesIO):
    """Keeps the head and the body of a response."""

    response: Response

    def begin(self, response: Response) -> None:
        """Keep the head."""
        self.response = response


def fetched(client: Client, site: Live, manner: Manner, path: str = "page.html", **wanted: object) -> Kept:
    """Return what a sink receives of an answer."""
    site.manner, sink = manner, Kept()
    client.get(Request(**{"url": f"{site.url}/{path}", "sink": sink, "public": False} | wanted))  # type: ignore[arg-type]
    return sink


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_bytes_that_are_meant(client: Client, site: Live, row: Row, is_chunked: bool) -> None:
    """A listed hash or length decides; without one, what is known is decoded."""
    pieces = [row.sent[begin : begin + 100_000] for begin in range(0, len(row.sent), 100_000)]
    manner = (
        chunked(*pieces, Content_Encoding=row.encoding)
        if is_chunked
        else content(row.sent, Content_Encoding=row.encoding)
    )
    wanted = {"hash": f"sha-256:{sha256(row.meant).hexdigest()}", "length": len(row.meant)}
    sink = fetched(client, site, manner, row.path, **{name: wanted[name] for name in row.listed.split()})
    assert sink.getvalue() == row.meant
    assert sink.response.decoded or row.meant == row.sent


def test_brotli(client: Client, site: Live) -> None:
    """It is asked for and decoded where a module has it that can limit what it gives."""
    brotli = pytest.importorskip("brotlicffi")
    packed = brotli.compress(DATA)
    assert fetched(client, site, content(packed, Content_Encoding="br")).getvalue() == DATA
    assert "br" in site.asks[-1].headers["Accept-Encoding"].split(", ")
    for sent, said in (
        (packed[:-1], "early"),
        (brotli.compress(bytes(20_000_000)), "200 times"),
        (DATA, "encoded as 'br', but it is not"),
    ):
        with pytest.raises(TransportError, match=said):
            fetched(client, site, content(sent, Content_Encoding="br"))


@pytest.mark.parametrize("data", [DATA, b"", b"\x1f", b"\x1f\x8c", LARGE])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_documents_are_unpacked(client: Client, site: Live, data: bytes, pack: Callable[[bytes], bytes]) -> None:
    """A list may be in gzip, and be sent in gzip, too."""
    sent = pack(data)
    for manner in (content(sent), chunked(sent[:1], sent[1:]), content(gzip.compress(sent), Content_Encoding="gzip")):
        assert fetched(client, site, manner, unzip=True).getvalue() == data


@pytest.mark.parametrize(
    ("path", "headers", "asked"),
    [
        ("page.html", {}, "gzip"),
        ("", {}, "gzip"),
        ("list.xml?page=a.jpg", {}, "gzip"),
        ("photo.JPG", {}, "identity"),
        ("list.xml.gz", {}, "identity"),
        ("page.html", {"Range": "bytes=1-", "If-Range": '"a"'}, "identity"),
        ("page.html", {"Accept-Encoding": "identity"}, "identity"),
        (f"{'.x' * 30_000}.html", {}, "gzip"),
    ],
)
def test_what_is_asked(client: Client, site: Live, path: str, headers: dict[str, str], asked: str) -> None:
    """What can be packed may come so; what is packed, and what is a part, is to come as it is."""
    fetched(client, site, content(b"abc"), path, headers=headers)
    assert site.asks[-1].headers["Accept-Encoding"].split(",")[0] == asked


def test_parts_are_what_was_sent(client: Client, site: Live) -> None:
    """They go on where other bytes that were sent ended."""
    part = lambda ask: ask.send(206, GZIP[9:], Content_Encoding="gzip")  # noqa: E731
    sink = fetched(client, site, part, accept=(206,))
    assert (sink.getvalue(), sink.response.decoded) == (GZIP[9:], False)


def zeros(gigabytes: int) -> bytes:
    """Pack zeros into one member of gzip, whose checksum is missing."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(1 << 26)) + packer.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + block * (16 * gigabytes)


ZEROS = gzip.compress(bytes(20_000_000))
GROWS, EARLY = "URL: it would grow to more than 200 times its size", "URL: the transfer ended early"
DAMAGED = "URL: the server says that it is encoded as 'zstd', but it is not"
BOMBS: dict[str, tuple[bytes, str, str]] = {
    "ratio": (ZEROS, "gzip", GROWS),
    "nested": (gzip.compress(ZEROS), "gzip, gzip", GROWS),
    "nested thrice": (gzip.compress(ZEROS), "gzip, gzip, gzip", "URL: the server encoded it more than 2 times"),
    "trailing": (GZIP + ZEROS, "gzip", GROWS),
    "cut short": (GZIP[:-1], "gzip", EARLY),
    "cut short inside": (GZIP[:-500], "gzip", EARLY),
    "ten gigabytes of zeros": (zeros(10), "gzip", GROWS),
    "ten gigabytes of zeros in a frame": (zstd.compress(bytes(20_000_000)), "zstd", GROWS),
    "a header without end": (b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 2_000_000, "gzip", EARLY),
    "a window of a gigabyte": (bytes.fromhex("28b52ffd00a0190000") + b"abc", "zstd", DAMAGED),
    "large": (LARGE_GZIP, "gzip", "URL is larger than 600000 bytes"),
    "endless garbage": (GZIP + bytes(2_000_000), "gzip", "URL is larger than 600000 bytes"),
}  # fmt: skip


@pytest.mark.promise("A mirror stays inside")
@pytest.mark.parametrize("is_stated", [False, True], ids=["nothing is listed", "a hash is listed"])
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_bombs(client: Client, site: Live, bomb: tuple[bytes, str, str], is_stated: bool) -> None:
    """No more is unpacked than a few times the limit, whatever it would be."""
    sent, encoding, said = bomb
    lengths = []

    class Counting(Kept):
        def write(self, data: bytes) -> int:  # type: ignore[override]
            lengths.append(len(data))
            return len(data)

    bounds = Bounds(size=600_000 if "larger" in said else 100_000_000)
    hash_ = f"sha-256:{'0' * 64}" if is_stated else ""
    site.manner, url = chunked(sent, Content_Encoding=encoding), f"{site.url}/page.html"
    with pytest.raises(TransportError) as caught:
        client.get(Request(url=url, sink=Counting(), public=False, bounds=bounds, hash=hash_))  # type: ignore[arg-type]
    assert str(caught.value).replace(url, "URL") == said
    assert sum(lengths) <= 110_000_000
    assert max(lengths, default=0) <= 65_536
