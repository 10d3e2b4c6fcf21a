"""The HTTP client, with either engine: many requests at once, connections that are kept, credentials, and the pace."""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from io import BytesIO
from pathlib import Path

import pycurl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import AbsentError, PermanentError, StatusError, TransportError
from pelican_resourcesync.http import Bounds, Client, Headers, Pace, Request, Response, new_client, urllib3_client, urls
from pelican_resourcesync.http.curl_client import CurlClient, _Chunks
from pelican_resourcesync.http.urllib3_client import Urllib3Client
from tests.kit.live import Ask, Live, content, late, live, redirect, status, truncated

Guard = Callable[[], AbstractContextManager[None]]


class Sink(BytesIO):
    """Keeps the head and the body of a response."""

    response: Response

    def begin(self, response: Response) -> None:
        """Keep the head."""
        self.response = response


@pytest.fixture
def site(site: Live) -> Live:
    """Return a site that keeps connections alive."""
    site.keep_alive = True
    return site


def request(url: str, **options: object) -> Request:
    """Make a request of a URL that the user named."""
    return Request(**{"url": url, "sink": Sink(), "public": False} | options)  # type: ignore[arg-type]


def test_headers() -> None:
    """Names are the same in upper and lower case; folded lines are joined, and lines that are no headers left out."""
    lines = [b"A: 1\r\n", b"\tand\r\n", b" 2\n", b"no header\r\n", b" x\r\n", b"b : 3\r\n", b": 4\r\n", b"a:5\r\n"]
    headers = Headers([*lines, b"Content-Type:  Text/Plain ; charset=utf-8\r\n", b"\r\n"])
    assert (headers.get("a"), headers.get_all("A"), headers.get("b")) == ("1 and 2", ["1 and 2", "5"], "")
    assert headers.get_all("b") == []
    assert headers.media_type == "text/plain"
    assert (Headers().media_type, Headers([b"Content-Type: page"]).media_type) == ("", "")


def test_many(client: Client, site: Live) -> None:
    """All requests are made, over few connections, and each comes back with its own response."""
    site.manner = lambda ask: ask.send(200, ask.path.encode())
    requests = [request(f"{site.url}/{number}") for number in range(40)]
    done = {each.url: result for each, result in client.get_all(iter(requests), jobs=4)}
    assert all(isinstance(each, Response) for each in done.values())
    assert [each.sink.getvalue() for each in requests] == [b"%d" % number for number in range(40)]  # type: ignore[attr-defined]
    assert len(done) == 40
    assert len(site.connections) <= 4
    client.get(request(f"{site.url}/more"))
    assert list(client.get_all(iter(()), jobs=3)) == []
    assert len(site.connections) <= 4


def test_few_connections_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of many hosts keeps the last connections, and none for long."""
    monkeypatch.setattr(urllib3_client, "_KEPT", 2)
    with ExitStack() as stack, Urllib3Client() as client:
        sites = [stack.enter_context(live(content(b"abc"))) for _ in range(3)]
        for each in sites:
            each.keep_alive = True
        for each in [*sites, sites[2], sites[0]]:
            client.get(request(f"{each.url}/a"))
        assert [len(each.connections) for each in sites] == [2, 1, 1]
        monkeypatch.setattr(urllib3_client, "_IDLE", 0)
        client.get(request(f"{sites[2].url}/a"))
        assert len(sites[2].connections) == 2


def test_failures_beside_others(client: Client, site: Live) -> None:
    """A failure is the result of its request alone."""

    def cut(ask: Ask) -> None:
        truncated(b"abc")(ask)
        ask.handler.close_connection = True

    site.manners |= {"1": status(404), "2": status(503), "3": cut, "5": redirect("http://other.example/")}
    urls = [*(f"{site.url}/{number}" for number in range(6)), "ftp://museum.example/a"]
    done = {each.url: result for each, result in client.get_all(map(request, urls), jobs=2)}
    kinds = [type(done[url]) for url in urls]
    expected = [Response, AbsentError, StatusError, TransportError, Response, PermanentError, PermanentError]
    assert kinds == expected


def test_requests_are_not_read_ahead(client: Client, site: Live) -> None:
    """Memory does not grow with the number of requests, which are made in the caller's thread."""
    read = 0
    main = threading.get_ident()

    def requests() -> Iterator[Request]:
        nonlocal read
        for number in range(1000):
            assert threading.get_ident() == main
            read += 1
            yield request(f"{site.url}/{number}")

    for _ in client.get_all(requests(), jobs=2):
        break
    assert read <= 10


@pytest.mark.parametrize("rate", [0, 0.01])
def test_ended_early(client: Client, site: Live, rate: float, in_time: Guard) -> None:
    """A caller who has seen enough does not wait for the rest, and can go on with other requests."""
    site.manners["1"] = late(120, content(b"late"))
    requests = (request(f"{site.url}/{number}", bounds=Bounds(timeout=120)) for number in range(3))
    with in_time():
        results = client.get_all(requests, jobs=2, delay=Pace(requests=rate).delay)
        assert next(results)[0].url.endswith("/0")
        results.close()
        assert client.get(request(f"{site.url}/2")).status == 200


def test_errors_of_a_sink_are_raised(client: Client, site: Live) -> None:
    """A full disk is no failure of the site."""

    class Full(Sink):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        list(client.get_all(iter([request(f"{site.url}/a", sink=Full())]), jobs=1))


def test_a_connection_that_the_host_closed(client: Client, site: Live) -> None:
    """A kept connection may be closed meanwhile: a new one is opened."""

    def once(ask: Ask) -> None:
        ask.send(200, b"abc")
        ask.handler.close_connection = True

    site.manner = once
    for _ in range(3):
        assert client.get(request(f"{site.url}/a")).status == 200


def test_a_kept_connection_that_closes_when_it_is_used(client: Client, site: Live) -> None:
    """A host may close it at that very moment: the request is made again over a new one."""

    def close_first(ask: Ask) -> None:
        if ask.before:
            ask.send(200, b"abc")
        else:
            ask.handler.close_connection = True

    site.manners["b"] = close_first
    client.get(request(f"{site.url}/a"))
    assert client.get(request(f"{site.url}/b")).status == 200
    assert (site.asked(), len(site.connections)) == ({"a": 1, "b": 2}, 2)


def test_user_agent(engine: type[Client], site: Live) -> None:
    """A client may introduce itself by another name."""
    with engine("Museum/1.0") as client:
        client.get(request(f"{site.url}/a"))
    assert site.asks[0].headers["User-Agent"] == "Museum/1.0"


def test_a_response_that_is_refused_is_not_left_in_the_connection(client: Client, site: Live) -> None:
    """What follows a failure is the answer to its own request."""
    site.manners["a"] = content(b"x" * 100_000)
    with pytest.raises(TransportError, match="is larger than 10 bytes"):
        client.get(request(f"{site.url}/a", bounds=Bounds(size=10)))
    sink = Sink()
    client.get(request(f"{site.url}/b", sink=sink))
    assert sink.getvalue() == b"abc"


def test_accepted_statuses(client: Client, site: Live) -> None:
    """A caller may expect other statuses, and gets their heads."""
    site.manners |= {"a": lambda ask: ask.begin(304, ETag='"1"'), "b": lambda ask: ask.send(206, b"bc", X="y")}
    response = client.get(request(f"{site.url}/a", accept=(200, 304), headers={"If-None-Match": '"1"'}))
    assert (response.status, response.headers.get("ETag")) == (304, '"1"')
    assert site.asks[-1].headers["If-None-Match"] == '"1"'
    sink = Sink()
    assert client.get(request(f"{site.url}/b", accept=(206,), sink=sink)).headers.get("x") == "y"
    assert (sink.getvalue(), sink.response.status) == (b"bc", 206)


def test_post(client: Client, site: Live) -> None:
    """A body is posted over a new connection, and the next request there is a GET; a redirect is not followed."""

    def answer(ask: Ask) -> None:
        body = ask.handler.rfile.read(int(ask.headers["Content-Length"] or 0))
        status = 301 if ask.path == "moved" else 202
        ask.send(status, f"{ask.handler.command} {body!r}".encode(), Location="/other" if status == 301 else "")

    site.manner = answer
    for path, body, expected in (
        ("a", b"{}\xff", b"POST b'{}\\xff'"),
        ("b", None, b"GET b''"),
        ("c", b"", b"POST b''"),
    ):
        sink = Sink()
        client.get(request(f"{site.url}/{path}", sink=sink, body=body, accept=(202,)))
        assert sink.getvalue() == expected
    with pytest.raises(StatusError) as error:
        client.get(request(f"{site.url}/moved", body=b"{}"))
    assert error.value.status == 301
    assert len(site.connections) == 3


@pytest.mark.parametrize("code", [302, 307, 308])
def test_a_post_that_is_repeated(client: Client, site: Live, code: int) -> None:
    """If the request says so, it goes where 307 and 308 lead, without credentials, and to public addresses alone."""

    def answer(ask: Ask) -> None:
        body = ask.handler.rfile.read(int(ask.headers["Content-Length"]))
        ask.send(202, f"{ask.handler.command} {body!r} {ask.headers['Authorization']}".encode())

    with live(answer) as other:
        site.manner = redirect(f"{other.url.replace('127.0.0.1', 'localhost')}/hub", code)
        options = {"body": b"1", "accept": (202,), "credentials": {"Authorization": "secret"}}
        with pytest.raises(StatusError):
            client.get(request(f"{site.url}/a", **options))
        why = "answered 302" if code == 302 else "is not public"
        with pytest.raises(TransportError, match=why):
            client.get(request(f"{site.url}/a", **options, port_named=True, repeated=True))
        assert other.asks == []
        if code != 302:
            sink = Sink()
            client.get(request(f"{site.url}/a", **options, sink=sink, repeated=True))
            assert sink.getvalue() == b"POST b'1' None"


@pytest.mark.promise("Announced")
def test_a_post_is_sent_once(client: Client, site: Live) -> None:
    """A connection that closes without an answer is no reason to send it again: it may have been received."""

    def hang_up(ask: Ask) -> None:
        ask.handler.close_connection = True

    site.manners["b"] = hang_up
    client.get(request(f"{site.url}/a"))
    with pytest.raises(TransportError):
        client.get(request(f"{site.url}/b", body=b"1"))
    assert site.asked() == {"a": 1, "b": 1}


def test_a_large_post(client: Client, site: Live) -> None:
    """It is sent at once: no permission to go on is asked for."""
    expects: list[str | None] = []

    def answer(ask: Ask) -> None:
        expects.append(ask.headers["Expect"])
        ask.send(200, str(len(ask.handler.rfile.read(int(ask.headers["Content-Length"])))).encode())

    site.manner = answer
    sink = Sink()
    client.get(request(f"{site.url}/a", sink=sink, body=b"1" * 3_000_000))
    assert (sink.getvalue(), expects) == (b"3000000", [None])


def test_credentials_stay_with_their_origin(client: Client, site: Live) -> None:
    """They are sent to the origin that was asked, also after a redirect there, and to no other."""
    site.manners["a"] = redirect("/b")
    credentials = {"Authorization": "Basic c2VjcmV0"}
    client.get(request(f"{site.url}/a", credentials=credentials))
    assert [ask.headers["Authorization"] for ask in site.asks] == ["Basic c2VjcmV0"] * 2
    client.get(request(f"{site.url}/b"))
    assert site.asks[-1].headers["Authorization"] is None
    with live(content(b"other")) as other:
        site.manner = redirect(f"{other.url}/a")
        with pytest.raises(TransportError, match="redirects elsewhere"):
            client.get(request(f"{site.url}/c", credentials=credentials))
        assert other.asks == []


def test_redirect_to_a_host_that_is_named(client: Client, site: Live) -> None:
    """It gets no credentials, and may have no private address, though the host that was asked may."""
    with live(content(b"other")) as store:
        site.manner = redirect(f"{store.url.replace('127.0.0.1', 'localhost')}/a?signature=secret")
        with pytest.raises(TransportError, match=r"localhost is not requested: .* is not public$"):
            client.get(request(f"{site.url}/a", hosts={"localhost"}, port_named=True))
        with pytest.raises(TransportError, match=r"/a: add --allow-host localhost to follow it there$"):
            client.get(request(f"{site.url}/a", hosts={"other.test"}))
        assert store.asks == []
        credentials = {"Authorization": "Basic c2VjcmV0"}
        client.get(request(f"{site.url}/a", hosts={"localhost"}, credentials=credentials, headers={"X-Own": "1"}))
        assert [(ask.query, ask.headers["Authorization"], ask.headers["X-Own"]) for ask in store.asks] == [
            ("signature=secret", None, "1")
        ]


def test_redirect_to_the_secure_site(client: Client, site: Live, trusted: Path) -> None:
    """It has another origin, so it gets no credentials, and a port that the user may not have named."""
    with live(content(b"abc"), trusted) as secure:
        site.manner = redirect(f"{secure.url}/a")
        with pytest.raises(TransportError, match=r"its address 127\.0\.0\.1 is not public$"):
            client.get(request(f"{site.url}/a", port_named=True))
        assert secure.asks == []
        client.get(request(f"{site.url}/a", credentials={"Authorization": "Basic c2VjcmV0"}))
        assert [ask.headers["Authorization"] for ask in (*site.asks, *secure.asks)] == [None, "Basic c2VjcmV0", None]


def test_kept_connections_are_checked(client: Client, site: Live) -> None:
    """A connection to a private host that the user named does not serve a request that only a document makes."""
    client.get(request(f"{site.url}/a"))
    with pytest.raises(TransportError, match=r"its address 127\.0\.0\.1 is not public$"):
        client.get(request(f"{site.url}/b", public=True))
    assert [ask.path for ask in site.asks] == ["a"]


def test_public_addresses(client: Client, site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that only a document names is asked if its address is public; else no connection is even opened."""
    opened: list[object] = []
    new_socket = socket.socket.__init__

    def open_socket(self: socket.socket, *args: object, **kwargs: object) -> None:
        if not kwargs.get("fileno") and threading.current_thread() is threading.main_thread():
            opened.append(args)
        new_socket(self, *args, **kwargs)  # type: ignore[arg-type]

    name = site.url.replace("127.0.0.1", "localhost")
    monkeypatch.setattr(socket.socket, "__init__", open_socket)
    with pytest.raises(TransportError, match=r"^localhost is not requested: .* is not public$"):
        client.get(request(f"{name}/a", public=True))
    assert opened == []
    monkeypatch.setattr(urls, "is_public_address", lambda _address: True)
    assert client.get(request(f"{name}/b", public=True)).status == 200
    assert opened


def test_what_cannot_be_sent(client: Client, site: Live) -> None:
    """Neither a URL nor a header can smuggle in another line."""
    for url, headers in (
        (f"{site.url}/a\r\nX: y", {}),
        (f"{site.url}/a b", {}),
        (f"{site.url}/é", {}),
        (f"{site.url}/a", {"X": "y\r\nZ: z"}),
    ):
        with pytest.raises(TransportError, match="this URL cannot be requested"):
            client.get(request(url, headers=headers))
    assert site.asks == []


def test_pace() -> None:
    """Requests wait for their turn, for the bytes before them, and for what a host wants."""
    now = 100.0
    pace = Pace(requests=2, size=1000, clock=lambda: now)
    assert pace.delay() == 0
    assert pace.delay() == 0.5
    now += 0.5
    assert pace.delay() == 0
    pace.take(2000)
    assert pace.delay() == 2.5
    pace.pause(10)
    assert pace.delay() == 10
    now += 10
    pace.slow_down(0.1)
    pace.slow_down(5)
    assert (pace.delay(), pace.delay()) == (0, 10)
    pace = Pace(clock=lambda: now)
    pace.take(1_000_000)
    assert (pace.delay(), pace.delay()) == (0, 0)
    pace.slow_down(0.5)
    assert (pace.delay(), pace.delay()) == (0, 2)


def test_many_and_long_headers(client: Client, site: Live) -> None:
    """A hundred lines are read, with those that the server adds; more, and a line without end, are refused."""
    site.manner = lambda ask: ask.send(200, b"abc", **{f"X{number}": "y" for number in range(int(ask.path))})
    client.get(request(f"{site.url}/95"))
    site.manners["long"] = lambda ask: ask.send(200, b"abc", X="y" * 200_000)
    for path in ("101", "long"):
        with pytest.raises(TransportError):
            client.get(request(f"{site.url}/{path}"))


def test_the_head_comes_before_the_body(client: Client, site: Live) -> None:
    """A sink knows what comes before it comes, and gets nothing of what is refused."""
    said: list[object] = []

    class Listening(Sink):
        def begin(self, response: Response) -> None:
            said.append(response.status)

        def write(self, data: object) -> int:
            said.append(data)
            return super().write(data)  # type: ignore[arg-type]

    client.get(request(f"{site.url}/a", sink=Listening()))
    assert said == [200, b"abc"]
    site.manner = lambda ask: ask.send(404, b"not found")
    with pytest.raises(AbsentError):
        client.get(request(f"{site.url}/b", sink=Listening()))
    assert said == [200, b"abc"]


def test_no_connection_in_time(client: Client, in_time: Guard) -> None:
    """A host that accepts no connection has no more time than one that does not answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        for _ in range(4):  # more than the host lets wait
            each = waiting.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(server.getsockname())
        with in_time(), pytest.raises(TransportError, match=r"no answer for 0\.2 seconds$"):
            client.get(request(f"http://127.0.0.1:{server.getsockname()[1]}/a", bounds=Bounds(timeout=0.2)))


def test_interim_responses(client: Client, site: Live) -> None:
    """What comes before the response is none."""

    def early(ask: Ask) -> None:
        ask.write(b"HTTP/1.1 103 Early Hints\r\nX: early\r\n\r\n")
        ask.send(200, b"abc")

    site.manner = early
    response = client.get(request(f"{site.url}/a"))
    assert (response.status, response.headers.get("X")) == (200, "")


def test_waiting_is_no_work(client: Client, site: Live) -> None:
    """A client that may not ask yet sleeps until it may."""

    class Counted(Pace):
        asked = 0

        def delay(self) -> float:
            self.asked += 1
            return super().delay()

    pace, begin = Counted(requests=10), time.monotonic()
    list(client.get_all((request(f"{site.url}/{number}") for number in range(3)), jobs=2, delay=pace.delay))
    assert pace.asked < 20
    assert time.monotonic() - begin >= 0.19


def test_paths_are_sent_as_they_are(client: Client, site: Live) -> None:
    """Only the host says what `..` means in a URL."""
    client.get(request(f"{site.url}/a/../b/./c"))
    assert site.asks[-1].path == "a/../b/./c"


def test_curl_uses_no_proxy(site: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says: a proxy would see what only addresses that are public may get."""
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with CurlClient() as client:
        assert client.get(request(f"{site.url}/a")).status == 200


def test_the_fastest_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """With pycurl, that is used; without it, with an old one, or through a proxy, urllib3."""
    assert isinstance(new_client(), CurlClient)
    assert isinstance(new_client(proxies=True), Urllib3Client)
    monkeypatch.delitem(sys.modules, "pelican_resourcesync.http.curl_client")
    with monkeypatch.context() as old:  # a pycurl of 2024
        old.delattr(pycurl, "PREREQFUNCTION")
        assert isinstance(new_client(), Urllib3Client)
    monkeypatch.setitem(sys.modules, "pelican_resourcesync.http.curl_client", None)
    assert isinstance(new_client(), Urllib3Client)


def test_proxy_with_a_password(site: Live, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A proxy gets its own credentials."""
    monkeypatch.setenv("http_proxy", site.url.replace("//", "//us%40er:pass@"))
    monkeypatch.setenv("no_proxy", "direct.invalid")
    with Urllib3Client(proxies=True) as client:
        client.get(request("http://museum.invalid/a", public=True))
        assert site.asks[0].headers["Proxy-Authorization"] == "Basic dXNAZXI6cGFzcw=="
        with pytest.raises(TransportError):
            client.get(request("http://direct.invalid/a"))


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.lists(st.integers(1, 30)), st.booleans())
def test_chunks_however_they_come(parts: list[bytes], pieces: list[int], extended: bool) -> None:
    """Wherever the bytes of a connection are divided, the body is that of all chunks."""
    extension, end = (b' ;a="b;c"', b"\n") if extended else (b"", b"\r\n")
    wire = b"".join(b"%X%b%b%b%b" % (len(part), extension, end, part, end) for part in parts) + b"0\r\nA: b\r\n\r\n"
    chunks, body = _Chunks(), b""
    for size in [*pieces, len(wire)]:
        body += b"".join(chunks.decode(wire[:size]))
        wire = wire[size:]
    assert body == b"".join(parts)
