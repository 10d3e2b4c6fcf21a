"""The client that uses urllib3: for documents, through proxies, and for everything where pycurl is not installed."""

import errno
import http.client
import socket
import ssl
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from queue import SimpleQueue
from typing import cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.http.client import Client, Headers, Request, Response, Result, Transfer, Wait, network_failure
from pelican_resourcesync.http.urls import Origin, check_literal, require_public, target_of
from pelican_resourcesync.version import USER_AGENT

_FAILURES = (OSError, http.client.HTTPException, HTTPError, UnicodeError)
_BLOCK = 65_536
_IDLE = 30.0  # seconds that an unused connection is kept
_LONGEST_WAIT = 1.0  # seconds between two looks at the pace
_KEPT = 32  # unused connections that are kept

#: What a connection can be used for: the origin, whether its address must be public, and the proxy.
_Key = tuple[Origin, bool, str]


class _Timed(socket.socket):
    """A socket that waits for each byte no longer than the whole transfer may take: urllib3 has no such limit."""

    transfer: Transfer

    def recv_into(self, *arguments: object, **options: object) -> int:
        self.settimeout(self.transfer.wait())
        length = super().recv_into(*arguments, **options)  # type: ignore[arg-type]
        self.transfer.arrive(length)
        return length


class _TimedTLS(_Timed, ssl.SSLSocket):
    """The same over TLS."""


class _Head(http.client.HTTPResponse):
    """The response as the standard library reads it, without what urllib3 would only log a warning of."""

    def begin(self) -> None:
        super().begin()
        while http.HTTPStatus.PROCESSING <= self.status < http.HTTPStatus.OK:  # an interim response, such as 103
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        self.msg.defects.clear()
        self.msg.set_payload("")
        if self.chunked:
            del self.msg["Content-Length"]


class _Connection(HTTPConnection):
    """A connection to the very address that was checked.

    `transfer` is the current request, and `forwarding` the headers for a proxy that is asked for whole URLs.
    """

    response_class = _Head
    public = False
    forwarding: Mapping[str, str] | None = None
    transfer: Transfer
    idle_since = 0.0

    def _new_conn(self) -> socket.socket:
        found = socket.getaddrinfo(self._dns_host, self.port, type=socket.SOCK_STREAM)
        if self.public:
            for *_, address in found:
                require_public(self._dns_host, str(address[0]))
        failure = OSError()
        for family, kind, protocol, _, address in found:
            sock = _Timed(family, kind, protocol)
            try:
                sock.transfer = self.transfer
                sock.settimeout(self.transfer.wait())
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.connect(address)
            except OSError as error:
                sock.close()
                failure = error
            else:
                return sock
        raise failure

    def ask(self, transfer: Transfer, common: Mapping[str, str], running: "_Running") -> BaseHTTPResponse:
        """Send a request, and return the head of the response; if that fails, the connection is closed."""
        try:
            self.transfer, self.timeout = transfer, transfer.wait()
            headers, target = transfer.headers(common), target_of(transfer.url)
            if self.forwarding is not None:
                target = f"http://{urlsplit(transfer.url).netloc.encode('idna').decode()}{target}"
                headers = {**headers, **self.forwarding}
            if self.sock is None:
                self.connect()
            sock = cast("_Timed", self.sock)
            sock.transfer = transfer
            running.begin(sock)
            body = transfer.request.body
            method = "GET" if body is None else "POST"
            self.request(method, target, body, headers, preload_content=False, decode_content=False)
            return self.getresponse()
        except BaseException:
            running.end()
            self.close()
            raise


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Running:
    """What some requests send and receive, each in a thread of its own; all of it can be ended at once."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._active: dict[int, socket.socket] = {}

    def begin(self, sock: socket.socket) -> None:
        """Note the socket that this thread uses."""
        self._active[threading.get_ident()] = sock
        if self.stopped.is_set():
            self.stop()

    def end(self) -> None:
        """Forget the socket that this thread used."""
        self._active.pop(threading.get_ident(), None)

    def stop(self) -> None:
        """End everything."""
        self.stopped.set()
        for sock in [*self._active.values()]:  # other threads go on to note and forget theirs
            with suppress(OSError):  # closed already
                sock.shutdown(socket.SHUT_RDWR)


class Urllib3Client(Client):
    """A client that uses urllib3, with connections that are kept open; several threads may use it at once."""

    def __init__(self, user_agent: str = USER_AGENT, *, proxies: bool = False) -> None:
        """Use the proxies of the environment, or none."""
        super().__init__(user_agent)
        self._proxies = getproxies() if proxies else {}
        self._idle: list[tuple[_Key, _Connection]] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._idle)

    def get(self, request: Request) -> Response:
        """Make one request."""
        return self._get(request, _Running())

    def get_all(self, requests: Iterator[Request], *, jobs: int, delay: Wait = None) -> Generator[Result, None, None]:
        """Make many requests, each thread one at a time."""
        running, waiting = _Running(), 0
        done: SimpleQueue[Future[Result]] = SimpleQueue()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while True:
                    while waiting < 2 * jobs and (request := next(requests, None)) is not None:
                        pool.submit(self._get_paced, request, running, delay).add_done_callback(done.put)
                        waiting += 1
                    if not waiting:
                        return
                    result = done.get().result()
                    waiting -= 1
                    yield result
            finally:
                running.stop()
                pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Close all connections that are kept open."""
        with self._lock:
            _close_all(self._idle)

    def _get_paced(self, request: Request, running: _Running, delay: Wait) -> Result:
        while delay and (pause := delay()):
            if running.stopped.wait(min(pause, _LONGEST_WAIT)):
                return request, TransportError()
        try:
            return request, self._get(request, running)
        except TransportError as error:
            return request, error

    def _get(self, request: Request, running: _Running) -> Response:
        transfer = Transfer(request)
        while True:
            with self._asked(transfer, running) as answer:
                lines = [f"{name}: {value}\n".encode("latin-1") for name, value in answer.headers.items()]
                response = Response(url=transfer.url, status=answer.status, headers=Headers(lines))
                if not transfer.leads_on(response):
                    transfer.begin(response)
                    while block := _read_block(answer, transfer):
                        transfer.write(block)
                    transfer.end()
                    return response
                transfer.follow(response)
                _read_block(answer, transfer)  # all of a short body, so that the connection can be kept

    @contextmanager
    def _asked(self, transfer: Transfer, running: _Running) -> Iterator[BaseHTTPResponse]:
        """Make a request and yield the response; the connection is kept, if it can be used again."""
        proxy, public = self._proxy(transfer.origin), transfer.public
        if proxy and public:
            check_literal(transfer.origin[1])
        key = (transfer.origin, public, proxy)
        try:
            connection, answer = self._send(key, transfer, running)
        except _FAILURES as error:
            raise network_failure(error, transfer, direct=not proxy) from error
        try:
            yield answer
        finally:
            running.end()
            if answer.closed and not connection.is_closed:
                self._keep(key, connection)
            else:
                answer.close()
                connection.close()

    def _send(self, key: _Key, transfer: Transfer, running: _Running) -> tuple[_Connection, BaseHTTPResponse]:
        """Send a request over a connection that was kept, or over a new one if there is none or it was closed."""
        kept = self._kept(key) if transfer.request.body is None else None
        if kept is not None:
            with suppress(http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                return kept, kept.ask(transfer, self.headers, running)
        connection = self._new(key)
        return connection, connection.ask(transfer, self.headers, running)

    def _new(self, key: _Key) -> _Connection:
        """Return a connection that is not open yet."""
        (scheme, host, port), public, proxy = key
        connect_to = _place_of(proxy) if proxy else (host, port)
        if scheme == "http":
            connection = _Connection(*connect_to)
            connection.forwarding = _proxy_headers(proxy) if proxy else None
        else:
            connection = _SecureConnection(*connect_to, ssl_context=self._context)
            if proxy:
                connection.set_tunnel(host.encode("idna").decode(), port, _proxy_headers(proxy))
        connection.public = public and not proxy
        return connection

    @cached_property
    def _context(self) -> ssl.SSLContext:
        """What verifies hosts; it takes long to make."""
        context = ssl.create_default_context()
        context.sslsocket_class = _TimedTLS
        return context

    def _proxy(self, place: Origin) -> str:
        proxy = self._proxies.get(place[0]) or self._proxies.get("all", "")
        if proxy and proxy_bypass(f"{place[1]}:{place[2]}"):
            return ""
        return proxy if not proxy or "://" in proxy else f"http://{proxy}"

    def _kept(self, key: _Key) -> _Connection | None:
        """Return a connection that was kept and is still open."""
        with self._lock:
            found = next((kept for kept in reversed(self._idle) if kept[0] == key), None)
            if found is None:
                return None
            self._idle.remove(found)
        connection = found[1]
        if time.monotonic() - connection.idle_since < _IDLE and connection.is_connected:
            return connection
        connection.close()  # any other was kept for longer
        return None

    def _keep(self, key: _Key, connection: _Connection) -> None:
        """Keep a connection for the next request; of too many, close the oldest."""
        connection.idle_since = time.monotonic()
        with self._lock:
            self._idle.append((key, connection))
            if len(self._idle) > _KEPT:
                self._idle.pop(0)[1].close()


def _close_all(idle: list[tuple[_Key, _Connection]]) -> None:
    while idle:
        idle.pop()[1].close()


def _read_block(answer: BaseHTTPResponse, transfer: Transfer) -> bytes:
    try:
        return answer.read1(_BLOCK)
    except _FAILURES as error:
        raise network_failure(error, transfer) from error


def _place_of(proxy: str) -> tuple[str, int]:
    with suppress(ValueError):  # for a port that is none
        parts = urlsplit(proxy)
        if parts.scheme == "http" and parts.hostname:
            return parts.hostname, parts.port or 80
    raise OSError(errno.EPROTONOSUPPORT, "the proxy is not an HTTP proxy")


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    word = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(word.encode()).decode()}"}
