"""The HTTP client of the project: requests within limits, over pooled connections, to the hosts that are allowed.

`Client` is the interface. `PooledClient`, in `pooled`, needs the standard library alone; `CurlClient`, in `curl`, is
faster and needs pycurl. Both behave alike: redirects stay on the host, no content encoding is accepted, private
addresses are refused where a request says so, every transfer ends within its bounds, and credentials are sent to one
origin only.
"""

import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead, InvalidURL
from typing import Any, Protocol, Self

from pelican_resourcesync.errors import AbsentError, NoHostError, StatusError, TransportError
from pelican_resourcesync.transport.headers import Headers
from pelican_resourcesync.transport.limits import STANDARD_BOUNDS, Bounds, Deadline
from pelican_resourcesync.transport.urls import shown
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


@dataclass(slots=True, kw_only=True)
class Response:
    """The head of a response: the URL that was finally requested, the status and the headers."""

    url: str
    status: int
    headers: Headers

    @property
    def media_type(self) -> str:
        """The media type stated by the host, or an empty string."""
        return self.headers.media_type

    @property
    def validators(self) -> tuple[str, str]:
        """The `ETag` for a conditional request, or where there is none the `Last-Modified`; empty if they do not serve.

        A time counts in seconds: what was modified just before it was sent may have been modified again since, so
        such a time is left out (RFC 9110, 8.8.2.2).
        """
        tag = self.headers.get("ETag")
        if tag:
            return tag, ""
        modified = self.headers.get("Last-Modified")
        try:
            age = parsedate_to_datetime(self.headers.get("Date")) - parsedate_to_datetime(modified)
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


@dataclass(slots=True, kw_only=True, eq=False)
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


def check_answer(response: Response, accept: tuple[int, ...]) -> None:
    """Raise `TransportError` unless the status is accepted, and nothing encoded; `AbsentError` for 404 and 410."""
    encoding = response.headers.get("Content-Encoding").lower()
    if response.status in accept and encoding in ("", "identity"):
        return
    where = shown(response.url)
    if response.status not in accept:
        if response.status in _ABSENT:
            message = f"{where}: not found ({_status(response.status)})"
            raise AbsentError(message)
        message = f"{where}: the server answered {_status(response.status)}"
        raise StatusError(message, response.status, response.headers.get("Retry-After"))
    message = f"{where}: the server sent it encoded as {encoding!a}, which was not asked for"
    raise TransportError(message)


def too_large(url: str, size: int) -> TransportError:
    """Return the failure of a response that is larger than it may be."""
    return TransportError(f"{shown(url)} is larger than {size} bytes")


def too_many_redirects(url: str, last: str) -> TransportError:
    """Return the failure of a URL that leads on and on."""
    return TransportError(f"{shown(url)} redirects more than {MOST_REDIRECTS} times, last to {shown(last)}")


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


class ProxyError(OSError):
    """Raised for a proxy that cannot be used."""


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
        case ProxyError():
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
