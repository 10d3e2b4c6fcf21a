"""The HTTP client of the project: requests within limits, over pooled connections, to the hosts that are allowed.

`Client` is the interface. `PooledClient` needs the standard library alone; `CurlClient`, in `curl`, is faster and needs
pycurl. Both behave alike: redirects stay on the host, no content encoding is accepted, private addresses are refused
where a request says so, every transfer ends within its bounds, and credentials are sent to one origin only.
"""

import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead, InvalidURL, RemoteDisconnected
from queue import SimpleQueue
from typing import Any, Protocol, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pelican_resourcesync.errors import AbsentError, NoHostError, StatusError, TransportError
from pelican_resourcesync.transport.addresses import check_literal
from pelican_resourcesync.transport.connections import Connection, LeanResponse, connect
from pelican_resourcesync.transport.limits import STANDARD_BOUNDS, Bounds, Deadline
from pelican_resourcesync.transport.urls import Origin, check_url, redirected, shown
from pelican_resourcesync.version import __version__

HEADERS = {
    "User-Agent": f"pelican-resourcesync/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
}
REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 5
_ABSENT = (404, 410)
_SETTLED = 1  # seconds after which a `Last-Modified` tells two states apart
_BLOCK = 65_536
_IDLE = 30.0  # seconds that an unused connection is kept
_KEPT = 16  # unused connections that are kept

#: What a connection can be used for: the origin, whether it must be public, and the proxy.
_Key = tuple[Origin, bool, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The head of a response: the URL that was finally requested, the status and the headers."""

    url: str
    status: int
    headers: Message

    @property
    def media_type(self) -> str:
        """The media type stated by the host, or an empty string."""
        return self.headers.get_content_type() if "Content-Type" in self.headers else ""

    @property
    def validators(self) -> tuple[str, str]:
        """The `ETag` for a conditional request, or where there is none the `Last-Modified`; empty if they do not serve.

        A time counts in seconds: what was modified just before it was sent may have been modified again since, so
        such a time is left out (RFC 9110, 8.8.2.2).
        """
        tag, modified = self.headers.get("ETag", ""), self.headers.get("Last-Modified", "")
        if tag:
            return tag, ""
        try:
            age = parsedate_to_datetime(self.headers.get("Date", "")) - parsedate_to_datetime(modified)
            settled = age.total_seconds() > _SETTLED
        except (TypeError, ValueError):
            settled = False
        return "", modified if settled else ""


class Sink(Protocol):
    """What receives a response. It may raise an error of its own, which ends the transfer."""

    def begin(self, response: Response) -> None:
        """Receive the head of the response, once, before any data; also before a second attempt."""

    def write(self, data: bytes) -> object:
        """Receive some of the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A GET request, and where its response goes.

    `public`: refuse hosts with loopback, private and link-local addresses; for URLs from documents rather than from the
    user. `accept`: the statuses that are no failure. `credentials`: headers for the origin of `url` alone. `tag` is for
    the caller.
    """

    url: str
    sink: Sink
    headers: Mapping[str, str] = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict)
    bounds: Bounds = STANDARD_BOUNDS
    public: bool = True
    accept: tuple[int, ...] = (200,)
    tag: Any = None


class Pace:
    """When the next request may be made: a rate of requests or of bytes per second, and pauses that the host wants."""

    def __init__(self, *, requests: float = 0, size: float = 0, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the rates, 0 for none."""
        self._requests, self._size, self._clock = requests, size, clock
        self._next = 0.0
        self._lock = threading.Lock()

    def delay(self) -> float:
        """Return how many seconds to wait before the next request; 0 if it may be made now, and then it counts."""
        with self._lock:
            now = self._clock()
            if self._next > now:
                return self._next - now
            if self._requests:
                self._next = now + 1 / self._requests
            return 0.0

    def take(self, length: int) -> None:
        """Count bytes that were received."""
        if self._size:
            with self._lock:
                self._next = max(self._next, self._clock()) + length / self._size

    def pause(self, seconds: float) -> None:
        """Make no request for some seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)

    def slow_down(self, requests: float) -> None:
        """Make no more than so many requests per second."""
        with self._lock:
            self._requests = min(self._requests or requests, requests)


class Client(ABC):
    """Makes requests; close it after use, or use it in a `with` statement."""

    @abstractmethod
    def get(self, request: Request) -> Response:
        """Make one request. Raises `TransportError` if it fails; its sink may then have received a part."""

    @abstractmethod
    def get_all(
        self, requests: Iterator[Request], *, jobs: int, pace: Pace | None = None
    ) -> Iterator[tuple[Request, Response | TransportError]]:
        """Make many requests, `jobs` at a time, and yield each with its response or failure when it is complete.

        `requests` is read in the caller's thread, no further than needed. Other errors, those of sinks, are raised.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
    def _kept_after(self, key: _Key, connection: Connection, response: HTTPResponse, batch: _Batch) -> Iterator[None]:
        """Keep a connection whose response was read to its end; close any other."""
        try:
            yield
        finally:
            whole = response.isclosed() and not response.will_close and not batch.stopped.is_set()
            response.close()
            batch.remove(connection)
            if whole:
                self._keep(key, connection)
            else:
                connection.close()

    def _ask(self, key: _Key, data: bytes, deadline: Deadline, batch: _Batch) -> tuple[Connection, HTTPResponse]:
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
            raise _ProxyError(message)
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


def _exchange(connection: Connection, data: bytes, deadline: Deadline, batch: _Batch) -> HTTPResponse:
    """Send a request and read the head of its response; the connection is closed if that fails."""
    connection.deadline = deadline
    batch.add(connection)
    response: HTTPResponse | None = None
    try:
        connection.send(data)
        response = LeanResponse(connection, method="GET")
        response.begin()
    except BaseException:
        if response is not None:
            response.close()
        batch.remove(connection)
        connection.close()
        raise
    return response


class _ProxyError(OSError):
    """Raised for a proxy that cannot be used."""


def _request(url: str, place: Origin, headers: Mapping[str, str], proxy: str) -> bytes:
    """Return the request as it is sent; raises `InvalidURL` for anything that cannot be sent in one line."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
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


def check_answer(response: Response, accept: tuple[int, ...]) -> None:
    """Raise `TransportError` unless the status is accepted, and nothing encoded; `AbsentError` for 404 and 410."""
    where = shown(response.url)
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if response.status not in accept:
        if response.status in _ABSENT:
            message = f"{where}: not found ({_status(response.status)})"
            raise AbsentError(message)
        message = f"{where}: the server answered {_status(response.status)}"
        raise StatusError(message, response.status, response.headers.get("Retry-After", ""))
    if encoding not in ("", "identity"):
        message = f"{where}: the server sent it encoded as {encoding!a}, which was not asked for"
        raise TransportError(message)


def too_large(url: str, size: int) -> TransportError:
    """Return the failure of a response that is larger than it may be."""
    return TransportError(f"{shown(url)} is larger than {size} bytes")


def too_many_redirects(url: str, last: str) -> TransportError:
    """Return the failure of a URL that leads on and on."""
    return TransportError(f"{shown(url)} redirects more than {MOST_REDIRECTS} times, last to {shown(last)}")


def _blocks(response: HTTPResponse, url: str, size: int, deadline: Deadline) -> Iterator[bytes]:
    """Yield the bytes of a response; raises `TransportError` if it is incomplete or too large."""
    come, promised = 0, response.length
    buffer = bytearray(min(_BLOCK, max(promised, 1)) if promised is not None else _BLOCK)
    view = memoryview(buffer)
    while come <= size and (promised is None or promised <= size):
        with failing(url, deadline):
            # `read` would read everything for a chunk with a negative length.
            count = 0 if response.isclosed() else response.readinto(buffer)
            if not count and promised is not None and come < promised:
                raise IncompleteRead(b"")  # noqa: EM101 - the bytes read so far, not a message
        if not count:
            return
        come += count
        if come <= size:
            yield bytes(view[:count])
    raise too_large(url, size)


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


@contextmanager
def failing(url: str, deadline: Deadline, *, direct: bool = True) -> Iterator[None]:
    """Turn errors of the network into a `TransportError`; `direct`: an unknown name is that of the host."""
    try:
        yield
    except (OSError, HTTPException, UnicodeError) as error:
        if direct and isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
            message = f"{shown(url)}: no such host"
            raise NoHostError(message) from error
        message = f"{shown(url)}: {_why(error, deadline)}"
        raise TransportError(message) from error


def _why(error: object, deadline: Deadline) -> str:
    """Return what went wrong, without quoting the other side."""
    match error:
        case TimeoutError():
            why = str(deadline)
        case ssl.SSLCertVerificationError(verify_message=reason):
            why = f"its certificate cannot be trusted ({reason})"
        case ssl.SSLError(reason=reason):
            why = f"no secure connection can be made ({reason})"
        case IncompleteRead():
            why = "the transfer ended early"
        case _ProxyError():
            why = str(error)
        case ConnectionError(strerror=None):
            why = "the connection was closed without an answer"
        case OSError(strerror=reason):
            why = reason or "no connection can be made through the proxy"
        case UnicodeError() | InvalidURL():
            why = "this URL cannot be requested"
        case other:
            why = f"the answer is not valid HTTP ({type(other).__name__})"
    return why


def new_client(*, proxies: bool = False) -> Client:
    """Return the fastest client that is installed; proxies of the environment are used only on request."""
    if not proxies:
        with suppress(ImportError):
            from pelican_resourcesync.transport.curl import CurlClient

            return CurlClient()
    return PooledClient(proxies=proxies)
