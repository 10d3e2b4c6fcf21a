"""The client that needs the standard library alone, with connections that are kept open."""

import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from http.client import InvalidURL, RemoteDisconnected
from queue import SimpleQueue
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.transport.addresses import check_literal
from pelican_resourcesync.transport.client import (
    HEADERS,
    MOST_REDIRECTS,
    REDIRECTS,
    Client,
    Pace,
    ProxyError,
    Request,
    Response,
    check_answer,
    failing,
    too_large,
    too_many_redirects,
)
from pelican_resourcesync.transport.connections import Connection, Reply, connect
from pelican_resourcesync.transport.limits import Deadline
from pelican_resourcesync.transport.urls import Origin, check_url, redirected, target_of

_BLOCK = 65_536
_IDLE = 30.0  # seconds that an unused connection is kept
_KEPT = 16  # unused connections that are kept

#: What a connection can be used for: the origin, whether it must be public, and the proxy.
_Key = tuple[Origin, bool, str]


class _Batch:
    """The threads of one call of `get_all`, which can be stopped at once."""

    def __init__(self) -> None:
        self.todo: SimpleQueue[Request | None] = SimpleQueue()
        self.done: SimpleQueue[tuple[Request, Response | BaseException]] = SimpleQueue()
        self.stopped = threading.Event()
        self.threads: list[threading.Thread] = []
        self._active: set[Connection] = set()
        self._lock = threading.Lock()

    def run(self, get: Callable[[Request], Response], pace: Pace | None) -> None:
        """Make requests until there are no more."""
        while (request := self.todo.get()) is not None and not self.stopped.is_set():
            try:
                while pace and (delay := pace.delay()):
                    if self.stopped.wait(min(delay, 1)):
                        return
                self.done.put((request, get(request)))
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                self.done.put((request, error))

    def add(self, connection: Connection) -> None:
        """Note a connection that is in use."""
        with self._lock:
            self._active.add(connection)
        if self.stopped.is_set():
            connection.abort()

    def remove(self, connection: Connection) -> None:
        """Forget a connection."""
        with self._lock:
            self._active.discard(connection)

    def stop(self) -> None:
        """End all requests and threads."""
        self.stopped.set()
        with self._lock:
            for connection in self._active:
                connection.abort()
        for _ in self.threads:
            self.todo.put(None)
        for thread in self.threads:
            thread.join()


class PooledClient(Client):
    """A client of the standard library, with connections that are kept open."""

    def __init__(self, *, proxies: bool = False) -> None:
        """Use the proxies of the environment, or none."""
        self._proxies = getproxies() if proxies else {}
        self._context: ssl.SSLContext | None = None
        self._idle: dict[_Key, list[Connection]] = {}
        self._lock = threading.Lock()

    def get(self, request: Request) -> Response:
        """Make one request."""
        return self._get(_Batch(), request)

    def get_all(
        self, requests: Iterator[Request], *, jobs: int, pace: Pace | None = None
    ) -> Iterator[tuple[Request, Response | TransportError]]:
        """Make many requests, each thread one at a time."""
        batch, waiting = _Batch(), 0
        try:
            while True:
                while waiting < 2 * jobs and (request := next(requests, None)) is not None:
                    batch.todo.put(request)
                    waiting += 1
                    if len(batch.threads) < min(jobs, waiting):
                        thread = threading.Thread(target=batch.run, args=(partial(self._get, batch), pace), daemon=True)
                        batch.threads.append(thread)
                        thread.start()
                if not waiting:
                    return
                request, result = batch.done.get()
                waiting -= 1
                if not isinstance(result, Response | TransportError):
                    raise result
                yield request, result
        finally:
            batch.stop()

    def close(self) -> None:
        """Close all connections that are kept open."""
        with self._lock:
            kept = [connection for each in self._idle.values() for connection in each]
            self._idle.clear()
        for connection in kept:
            connection.close()

    def _get(self, batch: _Batch, request: Request) -> Response:
        deadline, url = Deadline(request.bounds), request.url
        first = check_url(url)
        for _ in range(MOST_REDIRECTS + 1):
            place = check_url(url)
            headers = {**HEADERS, **request.headers, **(request.credentials if place == first else {})}
            proxy = self._proxy(place)
            if request.public:
                check_literal(place[1])
            key = (place, request.public, proxy)
            with failing(url, deadline, direct=not proxy):
                connection, response = self._ask(key, _request(url, place, headers, proxy), deadline, batch)
            head = Response(url=url, status=response.status, headers=response.headers)
            with self._kept_after(key, connection, response, batch):
                if head.status in REDIRECTS and head.status not in request.accept:
                    url = redirected(url, head.headers.get("Location"))
                    for _ in _blocks(response, url, _BLOCK, deadline):
                        pass
                    continue
                check_answer(head, request.accept)
                request.sink.begin(head)
                for block in _blocks(response, url, request.bounds.size, deadline):
                    request.sink.write(block)
                return head
        raise too_many_redirects(request.url, url)

    @contextmanager
    def _kept_after(self, key: _Key, connection: Connection, response: Reply, batch: _Batch) -> Iterator[None]:
        """Keep a connection whose response was read to its end; close any other."""
        try:
            yield
        finally:
            batch.remove(connection)
            if response.whole:
                self._keep(key, connection)
            else:
                connection.close()

    def _ask(self, key: _Key, data: bytes, deadline: Deadline, batch: _Batch) -> tuple[Connection, Reply]:
        """Send a request over a connection that was kept, or over a new one if there is none or it was closed."""
        connection = self._kept(key)
        if connection is not None:
            try:
                return connection, _exchange(connection, data, deadline, batch)
            except (RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                pass
        connection = self._connect(key, deadline)
        return connection, _exchange(connection, data, deadline, batch)

    def _connect(self, key: _Key, deadline: Deadline) -> Connection:
        place, public, proxy = key
        with self._lock:
            if place[0] == "https" and self._context is None:
                self._context = ssl.create_default_context()
        if not proxy:
            return connect(place, deadline, public=public, context=self._context)
        parts = urlsplit(proxy)
        if parts.scheme != "http" or not parts.hostname:
            message = "the proxy is not an HTTP proxy"
            raise ProxyError(message)
        through = (parts.hostname, parts.port or 80)
        return connect(place, deadline, through=through, tunnel=_proxy_headers(proxy), context=self._context)

    def _proxy(self, place: Origin) -> str:
        proxy = self._proxies.get(place[0]) or self._proxies.get("all", "")
        if proxy and proxy_bypass(f"{place[1]}:{place[2]}"):
            return ""
        return proxy if not proxy or "://" in proxy else f"http://{proxy}"

    def _kept(self, key: _Key) -> Connection | None:
        """Return a connection that was kept and is still open."""
        while True:
            with self._lock:
                kept = self._idle.get(key)
                if not kept:
                    return None
                connection = kept.pop()
            if time.monotonic() - connection.idle_since < _IDLE and connection.is_quiet():
                return connection
            connection.close()

    def _keep(self, key: _Key, connection: Connection) -> None:
        connection.idle_since = time.monotonic()
        with self._lock:
            kept = self._idle.setdefault(key, [])
            if len(kept) < _KEPT:
                kept.append(connection)
                return
        connection.close()


def _exchange(connection: Connection, data: bytes, deadline: Deadline, batch: _Batch) -> Reply:
    """Send a request and read the head of its response; the connection is closed if that fails."""
    connection.deadline = deadline
    batch.add(connection)
    try:
        connection.send(data)
        return Reply(connection)
    except BaseException:
        batch.remove(connection)
        connection.close()
        raise


def _request(url: str, place: Origin, headers: Mapping[str, str], proxy: str) -> bytes:
    """Return the request as it is sent; raises `InvalidURL` for anything that cannot be sent in one line."""
    parts = urlsplit(url)
    target = target_of(url)
    host = parts.hostname or ""
    host = host if host.isascii() else host.encode("idna").decode("ascii")
    if ":" in host:
        host = f"[{host}]"
    if parts.port is not None:
        host += f":{parts.port}"
    if proxy and place[0] == "http":
        target = f"http://{host}{target}"
        headers = {**headers, **_proxy_headers(proxy)}
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
    if url != "".join(url.split()) or not target.isascii():  # `urlsplit` drops tabs and line feeds
        raise InvalidURL
    for line in (target.replace(" ", "\n"), host, *lines):
        if not line.isprintable():
            raise InvalidURL
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    word = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(word.encode()).decode()}"}


def _blocks(response: Reply, url: str, size: int, deadline: Deadline) -> Iterator[bytes]:
    """Yield the bytes of a response; raises `TransportError` if it is incomplete or too large."""
    left = size
    blocks = response.blocks()
    while response.length is None or response.length <= size:
        with failing(url, deadline):
            block = next(blocks, None)
        if block is None:
            return
        left -= len(block)
        if left < 0:
            break
        yield block
    raise too_large(url, size)


def new_client(*, proxies: bool = False) -> Client:
    """Return the fastest client that is installed; proxies of the environment are used only on request."""
    if not proxies:
        with suppress(ImportError):
            from pelican_resourcesync.transport.curl import CurlClient

            return CurlClient()
    return PooledClient(proxies=proxies)
