"""Hosts and documents that mean harm: what is never asked, and what never takes longer than it may."""

import socket
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.transport import Bounds, Web, connect_to_public, is_public
from tests.support.live import Ask, Live, Manner, content, live, raw, redirect

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PUBLIC = "93.184.216.34"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site() -> Iterator[Live]:
    """Yield a site on loopback, which no document may send us to."""
    with live(content(b"secret")) as site:
        yield site


def visited(url: str, *, public: bool = True, **bounds: Any) -> bytes:
    """Return what is at a URL that a document names, or that the user does."""
    sink = BytesIO()
    Web("https://museum.example", Bounds(**bounds)).visit(url, sink, public=public)
    return sink.getvalue()


#: This machine, and others that are not public, as their names may be written.
WRITTEN = [
    "127.0.0.1", "127.1", "127.000.000.001", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "0", "0.0.0.0",
    "localhost", "LOCALHOST", "localhost.", "%31%32%37.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
]  # fmt: skip


@pytest.mark.parametrize("host", WRITTEN)
def test_this_machine_however_it_is_written(site: Live, host: str) -> None:
    """No way to write this machine's address leads a document to it."""
    with pytest.raises(TransportError):
        visited(f"http://{host}:{site.url.rpartition(':')[2]}/a", timeout=5)
    assert site.asks == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "169.254.169.254", "10.0.0.1", "[::1]", "localhost"]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_not_by_way_of_a_proxy(site: Live, monkeypatch: pytest.MonkeyPatch, host: str, scheme: str) -> None:
    """A proxy is not asked for an address that a document may not name, save where the user did."""
    monkeypatch.setenv(f"{scheme}_proxy", site.url)
    with pytest.raises(TransportError, match=r" only a document names it, and its address .* is not public$"):
        visited(f"{scheme}://{host}/latest/meta-data")
    assert site.asks == []
    if scheme == "http":
        assert visited(f"http://{host}/a", public=False) == b"secret"


def test_public_names_go_through_the_proxy(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a name stands for only the proxy knows."""
    monkeypatch.setenv("http_proxy", site.url)
    assert visited("http://museum.invalid:8080/a") == b"secret"
    assert visited(f"http://{PUBLIC}/a") == b"secret"


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://museum.example/a", "gopher://museum.example/", "data:,a", "jar:http://a!/b",
        "//a/b", "http:///a", "http://", "http:/a", "http:a", "", "http://user@museum.example/", "http://user:secret@127.0.0.1/",
        "http://museum.example\\@127.0.0.1/", "http://museum.example:99999/", "http://museum.example:0/", "http://[::1/",
        "http://museum.example:port/",
    ],
)  # fmt: skip
def test_other_addresses(url: str) -> None:
    """Only http and https are asked, and no address with a user; what is secret in it is not repeated."""
    with pytest.raises(TransportError) as caught:
        visited(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("path", ["/a b", "/a\tb", "/a\0b", "/\u00e9", "/a\r\nX-Injected: b", "/%0d%0aX: b", "/\ud800"])
def test_paths_with_odd_characters(site: Live, path: str) -> None:
    """A path that cannot be asked for is a failure, and none is more than a path."""
    try:
        visited(f"{site.url}{path}", public=False)
    except TransportError:
        pass
    else:
        (ask,) = site.asks
        assert "X-Injected" not in ask.headers


@pytest.mark.parametrize(
    "address",
    [
        "fec0::1",
        "64:ff9b:1::a00:1",
        "::10.0.0.1",
        "::ffff:0:0",
        "2001:0:7f00:1::",
        "255.255.255.255",
        "240.0.0.1",
        "198.18.0.1",
    ],
)
def test_more_private_addresses(address: str) -> None:
    """Old and rare forms of what is not public."""
    assert not is_public(address)


def names_stand_for(monkeypatch: pytest.MonkeyPatch, *addresses: list[str]) -> None:
    """Let names stand for these addresses, for others each time that they are looked up."""
    answers = iter(addresses)

    def resolve(host: str, *_: object, flags: int = 0, **__: object) -> list[Any]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        return [(0, 0, 0, "", (address, 80)) for address in next(answers)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_redirect_is_looked_at_anew(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that was public when it was first asked, and leads on to itself, is looked at again."""

    def connect(address: tuple[str, int], _: float) -> socket.socket:
        assert address[0] == PUBLIC
        opened = socket.socket()
        opened.connect(("127.0.0.1", address[1]))
        return opened

    names_stand_for(monkeypatch, [PUBLIC], ["127.0.0.1"])
    monkeypatch.setattr(socket, "create_connection", connect)
    site.manner = redirect("/elsewhere")
    with pytest.raises(TransportError, match=r"museum\.example is not requested: .* 127\.0\.0\.1 is not public$"):
        visited(f"http://museum.example:{site.url.rpartition(':')[2]}/a")
    assert [ask.path for ask in site.asks] == ["a"]


def test_redirect_to_another_port_or_scheme(site: Live) -> None:
    """A host that the user named leads to nothing else on this machine."""
    with live(content(b"other")) as other:
        site.manner = redirect(f"{other.url}/a")
        with pytest.raises(TransportError, match="redirects elsewhere"):
            visited(f"{site.url}/a", public=False)
        assert other.asks == []


def test_many_addresses_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with very many addresses takes no longer than one: all of them together have the time of one answer."""
    waits: list[float] = []

    def connect(_: object, timeout: float) -> socket.socket:
        waits.append(timeout)
        time.sleep(min(timeout, 0.1))
        raise TimeoutError

    hundred = [f"93.184.216.{number}" for number in range(100)]
    names_stand_for(monkeypatch, hundred, hundred)
    monkeypatch.setattr(socket, "create_connection", connect)
    begin = time.monotonic()
    with pytest.raises(TransportError, match=r"the transfer takes longer than 0\.3 seconds$"):
        visited("http://museum.example/a", timeout=30, total=0.3)
    assert time.monotonic() - begin < 5
    assert len(waits) <= 4
    with pytest.raises(TimeoutError):
        connect_to_public(("museum.example", 80), 0.001)


def forever(data: bytes, begin: bytes = b"") -> Manner:
    """Answer with the same again and again."""

    def answer(ask: Ask) -> None:
        ask.write(begin)
        while not ask.handler.live.ended.is_set():
            ask.write(data)

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "manner",
    [
        forever(b"HTTP/1.1 100 Continue\r\n\r\n"),
        forever(b"X: y\r\n", b"HTTP/1.1 200 OK\r\n"),
        forever(b"x" * 1000, b"HTTP/1.1 200 "),
        forever(b"x" * 1000, b"HTTP/1.1 200 OK\r\nX: "),
        forever(b"X: y\r\n", CHUNKED + b"0\r\n"),
        forever(b"x" * 1000, CHUNKED + b"1;"),
        forever(b"1\r\nx\r\n", CHUNKED),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\nabcde"),
        raw(b"HTTP/1.1 999999999 OK\r\n\r\n"),
        raw(b"HTTP/1.1 301 Moved\r\nLocation: \xff\xfe\r\n\r\n"),
        raw(b"\x16\x03\x01" + bytes(100)),
    ],
)
def test_answers_without_end_or_sense(site: Live, manner: Manner) -> None:
    """Whatever comes is a failure or a small file, in the time and the size that were allowed."""
    site.manner = manner
    begin = time.monotonic()
    said, got = "", b""
    try:
        got = visited(f"{site.url}/a", public=False, total=0.5, size=100_000)
    except TransportError as error:
        said = str(error)
    assert said.isascii()
    assert len(got) <= 100_000
    assert time.monotonic() - begin < 5
