"""Bytes over HTTP: real answers on loopback, good and bad."""

import re
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import (
    AbsentError,
    EncodingError,
    NoHostError,
    PermanentError,
    StatusError,
    TooLargeError,
    TransportError,
)
from pelican_resourcesync.http import Bounds, Received, Web
from pelican_resourcesync.http.urllib3_client import Urllib3Client
from pelican_resourcesync.version import __version__
from tests.kit.live import (
    PAGE,
    Live,
    Manner,
    chunked,
    closed_port,
    content,
    dripping,
    endless,
    late,
    live,
    page,
    raw,
    redirect,
    status,
    truncated,
    zipped,
)

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
Guard = Callable[[], AbstractContextManager[None]]

pytestmark = pytest.mark.usefixtures("engine")
#: For tests of what only one client does, and of how it does it.
urllib3_only = pytest.mark.parametrize("engine", [Urllib3Client], indirect=True)


def failure(site: Live, manner: Manner, **bounds: Any) -> str:
    """Return what is said of an answer that fails, with `URL` for the address asked."""
    site.manner = manner
    web = Web(site.url, Bounds(**bounds))
    with pytest.raises(TransportError) as caught:
        web.read("a/b.xml")
    kinds = (TransportError, PermanentError, TooLargeError, StatusError, EncodingError)
    assert type(caught.value) in kinds, "no other kind, which would mean that nothing is there"
    message = str(caught.value)
    assert message.count("resourcesync=") == 0, "the query is no one's business"
    return message.replace(f"{site.url}/a/b.xml", "URL").replace(site.url, "SITE")


def test_found(site: Live) -> None:
    """A small file comes with its bytes, their hash, length and media type."""
    received, data = Web(site.url).read("a/b.xml")
    assert data == b"abc"
    assert received == Received(digest=ABC, length=3, media_type="text/plain", head=b"abc")
    assert not received.is_html
    assert received.date
    assert abs(received.date - datetime.now(UTC)) < timedelta(minutes=5)
    assert [ask.path for ask in site.asks] == ["a/b.xml"]


def test_path_is_asked_as_it_is_written(site: Live) -> None:
    """No part of a path is resolved or written in another way, nor those of later requests over a connection."""
    web = Web(site.url)
    paths = ["a%2fb/%2e%2e/%C3%a9", "a/../b", "a%2Fb?%2f=%2F", "", "?%2f"]
    for path in paths:
        web.visit(f"{site.url}/{path}", BytesIO(), public=False)
    assert [f"{ask.path}?{ask.query}".rstrip("?") for ask in site.asks] == paths


def test_what_is_asked(site: Live) -> None:
    """Caches are passed by, what is not packed yet may come encoded, and the tool says who it is."""
    web = Web(site.url)
    web.read("a")
    web.read("a")
    one, two = site.asks
    assert one.headers["User-Agent"] == f"pelican-resourcesync/{__version__}"
    assert one.headers["Accept-Encoding"].startswith("gzip")
    assert (one.headers["Cache-Control"], one.headers["Pragma"]) == ("no-cache", "no-cache")
    assert re.fullmatch("resourcesync=[0-9a-f]{16}", one.query)
    assert one.query != two.query


def test_paths_are_encoded_below_the_base(site: Live) -> None:
    """A path is one, whatever characters it has, and lies below a base in a subpath."""
    web = Web(f"{site.url}/a%20site/")
    web.read("été/a b?c#d%e")
    assert [ask.path for ask in site.asks] == ["a%20site/%C3%A9t%C3%A9/a%20b%3Fc%23d%25e"]
    assert web.url("a b") == f"{site.url}/a%20site/a%20b"


def test_saved(site: Live, tmp_path: Path) -> None:
    """A file larger than any buffer is written as it is; its first bytes are told, and its type where one was given."""
    data = bytes(range(256)) * 2_000
    site.manner = content(data)
    received = Web(site.url).save("a", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == data
    assert received == Received(
        digest=sha256(data).hexdigest(), length=512_000, media_type="", head=bytes(range(256)) * 2
    )


@pytest.mark.parametrize(
    ("manner", "data"),
    [
        (content(b""), b""),
        (chunked(b"a", b"bc" * 50_000, b"d"), b"a" + b"bc" * 50_000 + b"d"),
        (raw(b"HTTP/1.0 200 OK\r\n\r\nabc"), b"abc"),  # ends with its connection
        (content(b"abc", Content_Encoding="Identity"), b"abc"),
        (zipped(b"abc"), b"abc"),
        (dripping(b"abc", 0.001), b"abc"),
        (late(0.1, content(b"abc")), b"abc"),
    ],
)
def test_whole_answers(site: Live, manner: Manner, data: bytes) -> None:
    """However it comes, what is complete and in time is a file, up to the limit of size."""
    site.manner = manner
    received, found = Web(site.url, Bounds(timeout=20, size=len(data))).read("a")
    assert (found, received.length, received.head) == (data, len(data), data[:512])


@pytest.mark.parametrize(
    ("data", "media_type", "html"),
    [
        (PAGE, "text/html; charset=utf-8", True),
        (b"not found", "text/html", True),
        (b"\xef\xbb\xbf\n <!doctype HTML><p>", "text/plain", True),
        (b"<html lang='en'>", "", True),
        (b"<?xml version='1.0'?><urlset/>", "application/xml", False),
        (b"{}", "application/json", False),
    ],
)
def test_html_is_known(site: Live, data: bytes, media_type: str, html: bool) -> None:
    """A page is known by what it says it is, or by how it begins."""
    site.manner = content(data, Content_Type=media_type)
    assert Web(site.url).read("a")[0].is_html is html


@pytest.mark.parametrize(
    ("manner", "code"),
    [(status(404), 404), (status(410), 410), (lambda ask: ask.send(404, b"", Content_Encoding="gzip"), 404)],
)
def test_absent(site: Live, manner: Manner, code: int) -> None:
    """Only 404 and 410 say that there is no such file; a page of error may be encoded: nobody reads it."""
    site.manner = manner
    with pytest.raises(AbsentError, match=rf"^{site.url}/a: not found \({code} "):
        Web(site.url).read("a")


EARLY = "URL: the transfer ended early"
FAILURES: list[tuple[Manner, str]] = [
    (status(500), "URL: the server answered 500 Internal Server Error"),
    (status(503), "URL: the server answered 503 Service Unavailable"),
    (status(403), "URL: the server answered 403 Forbidden"),
    (status(401), "URL: the server answered 401 Unauthorized"),
    (status(429), "URL: the server answered 429 Too Many Requests"),
    (status(304), "URL: the server answered 304 Not Modified"),
    (status(599), "URL: the server answered 599"),
    (lambda ask: ask.begin(204), "URL: the server answered 204 No Content"),
    (raw(b""), "URL: the connection was closed without an answer"),
    (truncated(b"abc"), EARLY),
    (truncated(b""), EARLY),
    (truncated(b"a" * 200_000), EARLY),
    *((chunked(b"abc", end=end), EARLY) for end in (b"", b"5\r\nab", b"zz\r\n", b"\r\n", b"-1\r\n")),
    (content(b"abc", Content_Encoding="exi"), "URL: the server encoded it as 'exi', which was not requested"),
    (content(b"abc", Content_Encoding="gzip"), "URL: the server says that it is encoded as 'gzip', but it is not"),
]


@pytest.mark.parametrize(("manner", "said"), FAILURES)
def test_failures(site: Live, manner: Manner, said: str) -> None:
    """Any other status, less than was promised, and what cannot be decoded is a failure: something may be there."""
    assert failure(site, manner) == said


@pytest.mark.parametrize("manner", [content(b"abcd"), truncated(b"", 10**12), chunked(b"ab", b"cd"), endless])
def test_too_large(site: Live, manner: Manner) -> None:
    """The limit of size holds whatever the answer says of its length."""
    assert failure(site, manner, size=3) == "URL is larger than 3 bytes"


def test_no_such_host() -> None:
    """A name that is reserved to be none's (RFC 6761) has no host, if the name servers answer at all."""
    try:
        socket.getaddrinfo("nothing.invalid", 80)
    except OSError as error:
        kind = NoHostError if error.errno == socket.EAI_NONAME else TransportError
    with pytest.raises(kind, match=r"^http://nothing\.invalid/a: ") as caught:
        Web("http://nothing.invalid").read("a")
    assert type(caught.value) is kind


@urllib3_only
@pytest.mark.parametrize(
    ("number", "proxy", "kind"),
    [
        (socket.EAI_NONAME, "", NoHostError),
        (socket.EAI_AGAIN, "", TransportError),
        (socket.EAI_FAIL, "", TransportError),
        (socket.EAI_NONAME, "http", TransportError),
        (socket.EAI_NONAME, "https", TransportError),
    ],
)
def test_names_that_do_not_resolve(
    monkeypatch: pytest.MonkeyPatch, number: int, proxy: str, kind: type[TransportError]
) -> None:
    """Only the answer that there is no such name says that there is no host; a failing name server says nothing.

    Neither does a proxy that is not found.
    """

    def resolve(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(number, "the name servers say nothing")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    if proxy:
        monkeypatch.setenv(f"{proxy}_proxy", "http://proxy.example:3128")
    url = f"{proxy or 'https'}://museum.example"
    with pytest.raises(TransportError) as caught:
        Web(url).read("a")
    said = "no such host" if kind is NoHostError else "the name servers say nothing"
    assert (type(caught.value), str(caught.value)) == (kind, f"{url}/a: {said}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"http://{'a' * 64}.example", "this URL cannot be requested"),
        ("http://a museum.example", "this URL cannot be requested"),
        ("http://127.0.0.1:PORT", "Connection refused"),
    ],
)
def test_nobody_is_there(url: str, said: str) -> None:
    """A name that cannot be one, and a server that is gone, are failures with a sentence; neither says "no host"."""
    with pytest.raises(TransportError, match=rf"/a: {said}$") as caught:
        Web(url.replace("PORT", str(closed_port()))).read("a")
    assert not isinstance(caught.value, AbsentError | NoHostError)


def test_no_answer(site: Live) -> None:
    """Words that are no answer, and a head without end."""
    for data in (b"220 welcome\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200):
        assert failure(site, raw(data)).startswith("URL: the answer is not valid HTTP (")


SLOW = "the transfer takes longer than 0.2 seconds"
IN_THE_HEAD, IN_THE_BODY = b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"


@pytest.mark.parametrize(
    ("manner", "seconds", "said"),
    [
        (late(120, page), (0.2, 120), "no answer for 0.2 seconds"),
        (late(120, page), (120, 0.2), SLOW),
        (dripping(b"a" * 5000, 0.05, IN_THE_HEAD), (10, 0.2), SLOW),
        (dripping(b"a" * 5000, 0.05, IN_THE_BODY), (10, 0.2), SLOW),
    ],
)
def test_silence(site: Live, manner: Manner, seconds: tuple[float, float], said: str, in_time: Guard) -> None:
    """Nothing for too long, or a byte now and then, in the head or in the body, does not hold a build for ever."""
    with in_time():
        assert failure(site, manner, timeout=seconds[0], total=seconds[1]) == f"URL: {said}"


def test_no_time_at_all(site: Live) -> None:
    """Where no time is left, nothing is asked."""
    assert failure(site, page, total=0) == "URL: the transfer takes longer than 0 seconds"
    assert site.asks == []


def test_too_large_for_the_disk(site: Live, tmp_path: Path) -> None:
    """No more than the limit is ever written."""
    site.manner = endless
    with pytest.raises(TransportError, match=r"is larger than 70000 bytes$"):
        Web(site.url, Bounds(size=70_000)).save("a", tmp_path / "a")
    assert (tmp_path / "a").stat().st_size <= 70_000


def test_chunk_of_a_negative_length(site: Live) -> None:
    """What is after it is not taken into memory whole."""
    said = failure(site, chunked(b"abc", end=b"-1\r\n" + bytes(10_000_000)), size=100_000)
    assert said in ("URL: the transfer ended early", "URL is larger than 100000 bytes")


def test_redirected_on_the_same_host(site: Live) -> None:
    """A host may lead to another path of its own, with whole URLs or parts of one."""
    site.manners |= {
        "a": redirect("/b c?x=1", 301),
        "b%20c": redirect("c", 307),
        "c": redirect(f"{site.url}/d", 308),
        "d": redirect("./é", 303),
    }
    assert Web(site.url).read("a")[1] == b"abc"
    assert [ask.path for ask in site.asks] == ["a", "b%20c", "c", "d", "%E9"]


def test_five_redirects(site: Live) -> None:
    """Five are followed, and no sixth."""
    site.manners |= {f"{number}": redirect(f"/{number + 1}") for number in range(6)}
    assert Web(site.url).read("1")[1] == b"abc"
    with pytest.raises(TransportError, match=rf"/0 redirects more than 5 times, last to {site.url}/6$"):
        Web(site.url).read("0")


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("https://other.example/x?secret=1#y", "https://other.example/x"),
        ("//other.example/x", "http://other.example/x"),
        ("http://user:password@other.example/x", "http://other.example/x"),
        ("http://user:password@127.0.0.1:{port}/x", "SITE/x"),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:1/x"),
        ("http://localhost:{port}/x", "http://localhost:{port}/x"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("ftp://127.0.0.1:{port}/x", "ftp://127.0.0.1:{port}/x"),
        ("http://[::1/x", "something that is not a URL"),
        ("http://127.0.0.1:99999/x", "something that is not a URL"),
        ("", "something that is not a URL"),
    ],
)
def test_redirected_elsewhere(site: Live, location: str, said: str) -> None:
    """No other host, port, scheme or user is ever asked; the message says where it led, without secrets."""
    port = site.url.rpartition(":")[2]
    expected = f"URL redirects elsewhere, to {said.replace('{port}', port)}"
    assert failure(site, redirect(location.replace("{port}", port))) == expected
    assert len(site.asks) == 1


def test_plain_port_asked_over_tls(site: Live) -> None:
    """A server that does not speak TLS is a failure."""
    with pytest.raises(TransportError, match=r"/a: no secure connection can be made \([\w ]+\)$"):
        Web(site.url.replace("http:", "https:")).read("a")


def test_certificate_that_nobody_trusts(certificate: Path) -> None:
    """A host that cannot prove who it is is not believed."""
    with (
        live(content(b"abc"), certificate) as site,
        pytest.raises(
            TransportError, match=r"trusted \(self-signed certificate\): if the host is yours, set \$SSL_CERT_FILE"
        ),
    ):
        Web(site.url).read("a")


def test_secure(trusted: Path, in_time: Guard) -> None:
    """A file over TLS, within the same bounds."""
    with live(content(b"abc"), trusted) as site, in_time():
        assert Web(site.url).read("a")[1] == b"abc"
        assert (
            failure(site, dripping(b"a" * 5000, 0.05), total=0.6) == "URL: the transfer takes longer than 0.6 seconds"
        )
        assert failure(site, truncated(b"abc")) == "URL: the transfer ended early"


@urllib3_only
def test_proxy(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that the environment names is asked, as by all of Python."""
    monkeypatch.setenv("http_proxy", site.url)
    assert Web("http://nothing.invalid").read("a")[1] == b"abc"
    assert [ask.path for ask in site.asks] == ["http://nothing.invalid/a"]


@urllib3_only
def test_proxies_that_do_not_lead_there(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that refuses, or is none for HTTP, is a failure."""
    monkeypatch.setenv("https_proxy", site.url)
    with pytest.raises(TransportError, match=r"/a: no connection can be made through the proxy$"):
        Web("https://museum.example").read("a")
    for proxy in ("socks5://127.0.0.1:1", "http://127.0.0.1:port"):
        monkeypatch.setenv("http_proxy", proxy)
        with pytest.raises(TransportError, match=r"/a: the proxy is not an HTTP proxy$"):
            Web("http://museum.example").read("a")


@pytest.mark.parametrize(
    "base",
    [
        "file:///etc", "ftp://museum.example", "museum.example", "", "http://", "http://museum.example:99999",
        "http://[::1", "https://user:secret@museum.example", "https://user:sec/secret@museum.example",
        "https://museum.example?secret=1", "https://museum.example#secret",
    ],
)  # fmt: skip
def test_no_address(base: str) -> None:
    """What is no http(s) URL, or has more than a place in it, is refused, and what may be secret is not repeated."""
    with pytest.raises(TransportError, match=r"must be an http\(s\) URL") as caught:
        Web(base)
    assert "secret" not in str(caught.value)


def test_disk_errors_are_no_failures_of_the_web(site: Live, tmp_path: Path) -> None:
    """Where a file cannot be written, that is what is said."""
    with pytest.raises(FileNotFoundError):
        Web(site.url).save("a", tmp_path / "missing" / "a")
