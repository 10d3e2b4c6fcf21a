"""Hosts and documents that mean harm: what is never asked, and what never takes longer than it may."""

import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Any

import pytest

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.http import Bounds, Web
from pelican_resourcesync.http.urllib3_client import Urllib3Client, _Timed
from tests.kit.live import Ask, Live, Manner, content, raw, redirect

PUBLIC = "93.184.216.34"
Guard = Callable[[], AbstractContextManager[None]]

pytestmark = pytest.mark.usefixtures("engine")
urllib3_only = pytest.mark.parametrize("engine", [Urllib3Client], indirect=True)


@pytest.fixture
def site(site: Live) -> Live:
    """Return a site on loopback, which no document may send us to."""
    site.manner = content(b"secret")
    return site


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


@pytest.mark.promise("A mirror stays inside")
@pytest.mark.parametrize("host", WRITTEN)
def test_this_machine_however_it_is_written(site: Live, host: str) -> None:
    """No way to write this machine's address leads a document to it."""
    with pytest.raises(TransportError):
        visited(f"http://{host}:{site.url.rpartition(':')[2]}/a", timeout=5)
    assert site.asks == []


@urllib3_only
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "169.254.169.254", "10.0.0.1", "[::1]", "localhost"]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_not_by_way_of_a_proxy(site: Live, monkeypatch: pytest.MonkeyPatch, host: str, scheme: str) -> None:
    """A proxy is not asked for an address that a document may not name, save where the user did."""
    monkeypatch.setenv(f"{scheme}_proxy", site.url)
    with pytest.raises(
        TransportError, match=r" only URLs that you enter may have private addresses, and its address .* is not public$"
    ):
        visited(f"{scheme}://{host}/latest/meta-data")
    assert site.asks == []
    if scheme == "http":
        assert visited(f"http://{host}/a", public=False) == b"secret"


@urllib3_only
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


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Let connections to public addresses lead to this machine; return the addresses that are connected to."""
    addresses: list[tuple[str, int]] = []
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: tuple[str, int]) -> None:
        addresses.append(address)
        connect(self, ("127.0.0.1", address[1]))

    monkeypatch.setattr(_Timed, "connect", connect_here, raising=False)
    return addresses


def names_stand_for(monkeypatch: pytest.MonkeyPatch, *addresses: list[str]) -> None:
    """Let names stand for these addresses, for others each time that they are looked up."""
    answers = iter(addresses)

    def resolve(_: str, port: int, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in next(answers)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.mark.promise("A mirror stays inside")
@urllib3_only
def test_the_address_looked_at_is_the_one_connected_to(
    site: Live, monkeypatch: pytest.MonkeyPatch, connected: list[tuple[str, int]]
) -> None:
    """A name that stands for another address a moment later gains nothing; one private address is enough to refuse."""
    names_stand_for(monkeypatch, [PUBLIC], [PUBLIC, "127.0.0.1"])
    port = int(site.url.rpartition(":")[2])
    assert visited(f"http://museum.example:{port}/a") == b"secret"
    with pytest.raises(TransportError, match=r"its address 127\.0\.0\.1 is not public$"):
        visited(f"http://museum.example:{port}/a")
    assert connected == [(PUBLIC, port)]


@pytest.mark.promise("A mirror stays inside")
@urllib3_only
def test_redirect_is_looked_at_anew(
    site: Live, monkeypatch: pytest.MonkeyPatch, connected: list[tuple[str, int]]
) -> None:
    """A host that was public when it was first asked, and leads on to itself, is looked at again."""
    names_stand_for(monkeypatch, [PUBLIC], ["127.0.0.1"])
    site.manner = redirect("/elsewhere")
    with pytest.raises(TransportError, match=r"museum\.example is not requested: .* 127\.0\.0\.1 is not public$"):
        visited(f"http://museum.example:{site.url.rpartition(':')[2]}/a")
    assert [ask.path for ask in site.asks] == ["a"]
    assert len(connected) == 1


@urllib3_only
def test_many_addresses_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with very many addresses takes no longer than one: all of them together have the time of one answer."""
    waits: list[float | None] = []

    def connect(self: socket.socket, _: object) -> None:
        wait = self.gettimeout()
        waits.append(wait)
        time.sleep(min(wait or 0, 0.1))
        raise TimeoutError

    names_stand_for(monkeypatch, [f"93.184.216.{number}" for number in range(100)])
    monkeypatch.setattr(_Timed, "connect", connect, raising=False)
    with pytest.raises(TransportError, match=r"the transfer takes longer than 0\.3 seconds$"):
        visited("http://museum.example/a", timeout=30, total=0.3)
    assert len(waits) <= 4
    assert all(wait and wait <= 0.3 for wait in waits)


@urllib3_only
def test_another_address_after_one_that_refuses(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses of a name are tried one after another."""
    names_stand_for(monkeypatch, ["127.0.0.2", "127.0.0.1"])
    assert visited(f"http://museum.example:{site.url.rpartition(':')[2]}/a", public=False) == b"secret"


def forever(data: bytes, begin: bytes = b"") -> Manner:
    """Answer with the same again and again."""

    def answer(ask: Ask) -> None:
        ask.write(begin)
        while not ask.handler.live.ended.is_set():
            ask.write(data)

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.promise("A mirror stays inside")
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
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\nab"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3, 5\r\n\r\nabcde"),
        raw(b"HTTP/1.1 200 OK\r\nno header\r\n\xff\xfe: \0\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\nabcde"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        raw(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        raw(b"HTTP/1.1 999999999 OK\r\n\r\n"),
        raw(b"HTTP/1.1 301 Moved\r\nLocation: \xff\xfe\r\n\r\n"),
        raw(b"\x16\x03\x01" + bytes(100)),
    ],
)
def test_answers_without_end_or_sense(
    site: Live, manner: Manner, in_time: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever comes is a failure or a small file, in the time and the size that were allowed; nothing is logged."""
    site.manner = manner
    said, got = "", b""
    with in_time():
        try:
            got = visited(f"{site.url}/a", public=False, total=0.2, size=100_000)
        except TransportError as error:
            said = str(error)
    assert said.isascii()
    assert len(got) <= 100_000
    assert caplog.text == ""


@pytest.mark.parametrize(
    "manner", [forever(b"x" * 1000, CHUNKED + b"1;"), forever(b"1;" + b"x" * 1000 + b"\r\nx\r\n", CHUNKED)]
)
def test_what_belongs_to_chunks_counts(site: Live, manner: Manner, in_time: Guard) -> None:
    """Extensions without end are bytes like others."""
    site.manner = manner
    with in_time(), pytest.raises(TransportError, match=r"is larger than 100000 bytes|not valid HTTP|ended early"):
        visited(f"{site.url}/a", public=False, total=90, size=100_000)
