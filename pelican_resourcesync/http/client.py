"""The HTTP client of the project: requests within limits, over kept connections, to the hosts that are allowed.

`Client` is the interface. `Urllib3Client` (`urllib3_client`) is there always; `CurlClient` (`curl_client`) is faster,
and needs pycurl. Both behave alike: redirects stay on the host or lead to one that a request names, what comes encoded
is decoded (`encodings`), private addresses are refused where a request says so, every transfer ends within its bounds,
and credentials are sent to one origin only.
`Bounds` limit the time and the size of one response, and a `Pace` says when the next request may be made.
"""

import http.client
import re
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from threading import Lock
from typing import NamedTuple, Self

from pelican_resourcesync.errors import (
    AbsentError,
    NoHostError,
    PermanentError,
    RefusedError,
    StatusError,
    TooLargeError,
    TransportError,
)
from pelican_resourcesync.http.encodings import Decoding, acceptable, accepted, decoding
from pelican_resourcesync.http.urls import check_url, redirected, shown
from pelican_resourcesync.version import USER_AGENT


class Bounds(NamedTuple):
    """The limits for one file.

    `timeout` applies to connecting and to each wait, `total` to the whole transfer, both in seconds; `size` is in
    bytes.
    """

    timeout: float = 30.0
    total: float = 300.0
    size: int = 100_000_000


STANDARD_BOUNDS = Bounds()


class Pace:
    """When the next request may be made: a rate of requests or of bytes per second, and pauses that the host wants."""

    def __init__(self, requests: float = 0, size: float = 0, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the rates, 0 for none."""
        self._requests, self._size, self._clock = requests, size, clock
        self._next = 0.0
        self._lock = Lock()

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


# What a status means that a request does not accept; any other is a failure that stays.
REDIRECTS = (301, 302, 303, 307, 308)
_REPEATED = (307, 308)  # with the same method
ABSENT = (404, 410)  # nothing is there

MOST_HEADERS = 100
_MOST_REDIRECTS = 5
_SECURE_PORT = 443
_OVERHEAD = 1_000_000  # bytes of heads and chunks; as much again as the body may have
_FIELD = re.compile(r"^([^\s:]++):[ \t]*+([^\n]*+)", re.MULTILINE)
_FOLDED = re.compile(r"\r?\n[ \t]++")


class Headers:
    """The headers of a response by name, in upper or lower case; they are read when one is asked for.

    The parser of e-mail, which the standard library uses, takes most of the time of a small response.
    """

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        """Take the lines as they came, without the status line; those that are no headers are left out."""
        self._lines = lines

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a header."""
        return next(iter(self.get_all(name)), default)

    def get_all(self, name: str) -> Sequence[str]:
        """Return all values of a header."""
        return self._values.get(name.lower(), [])

    @property
    def media_type(self) -> str:
        """The media type without its parameters, in lower case; empty if there is none, or none that can be read."""
        text = self.get("Content-Type").partition(";")[0].strip().lower()
        return text if text.count("/") == 1 else ""

    def number(self, name: str) -> int | None:
        """Return a number that is not negative; None if there is none. It need not be right beyond 18 digits."""
        text = self.get(name)
        return int(text[:18]) if text.isascii() and text.isdigit() else None

    def time(self, name: str) -> datetime | None:
        """Return a time in UTC, None if there is none that can be read."""
        return http_time(self.get(name))

    @cached_property
    def _values(self) -> Mapping[str, Sequence[str]]:
        """The values by name, in lower case."""
        values: dict[str, list[str]] = {}
        text = _FOLDED.sub(" ", b"".join(self._lines).decode("latin-1"))
        for name, value in _FIELD.findall(text):
            values.setdefault(name.lower(), []).append(value.rstrip())
        return values


@dataclass(slots=True, kw_only=True)
class Response:
    """The head of a response: the URL that was finally requested, the status and the headers.

    `decoded`: what its sink receives are not the bytes that were sent.
    """

    url: str
    status: int
    headers: Headers
    decoded: bool = False

    @property
    def etag(self) -> str:
        """The `ETag` for a conditional request, or an empty string if it does not serve.

        `Last-Modified` never does: a host may answer that an older state, put back, was not modified since.
        """
        return tag if is_sendable(tag := self.headers.get("ETag")) else ""


class Sink:
    """What receives a response, by default nothing of it. It may raise an error of its own, which ends the transfer."""

    def begin(self, response: Response) -> None:
        """Receive the head of the response, once, before any data; also before a second attempt."""

    def write(self, data: bytes) -> None:
        """Receive some of the body."""


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    """A GET request, or with a `body` a POST request, and where its response goes.

    A POST request is sent once, over a new connection, since a kept one may be closed when it has been received. It is
    not redirected, unless it is `repeated` where a status 307 or 308 leads, on any host.

    `public`: refuse hosts with loopback, private and link-local addresses; for URLs from documents rather than from the
    user. `port_named`: refuse them too where a redirect leads to another host or port. `hosts`: other hosts to which
    redirects may lead. `accept`: the statuses that are no failure. `credentials`: headers for the origin of `url`
    alone.

    `hash` (`algorithm:hexadecimal`) and `length` are those of the bytes that are meant, as far as they are known: they
    decide whether what comes encoded is decoded. `unzip`: a file in gzip is unpacked, however it is sent.
    """

    url: str
    sink: Sink
    headers: Mapping[str, str] = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict)
    bounds: Bounds = STANDARD_BOUNDS
    public: bool = True
    port_named: bool = False
    hosts: AbstractSet[str] | None = None
    accept: tuple[int, ...] = (200,)
    body: bytes | None = None
    repeated: bool = False
    hash: str = ""
    length: int | None = None
    unzip: bool = False


class Transfer:
    """A request on its way: the URL that is asked for now, which redirects change, and how much has come.

    The time by which it must be complete starts to run when the object is created.
    """

    def __init__(self, request: Request) -> None:
        """Raise `TransportError` if the URL of the request cannot be requested."""
        self.request, self._end = request, time.monotonic() + request.bounds.total
        self.url, self.origin = request.url, check_url(request.url)
        self._first, self._redirects, self._received, self._arrived = self.origin, 0, 0, 0
        self._decoding: Decoding | None = None
        self._length = 0  # of what was decoded
        self.public = request.public

    def left(self) -> float:
        """Return how many seconds are left for the whole transfer."""
        return self._end - time.monotonic()

    def wait(self) -> float:
        """Return how many seconds to wait for the next bytes; raises `TimeoutError` if no time is left."""
        if (left := self.left()) <= 0:
            raise TimeoutError
        return min(left, self.request.bounds.timeout)

    @property
    def delayed(self) -> str:
        """What to say of a transfer that takes too long."""
        bounds = self.request.bounds
        if self.left() <= 0:
            return f"the transfer takes longer than {bounds.total:g} seconds"
        return f"no answer for {bounds.timeout:g} seconds"

    def headers(self, common: Mapping[str, str]) -> Mapping[str, str]:
        """Return the headers to send, `common` ones among them. Raises `TransportError` if they cannot be sent."""
        request, headers = self.request, common
        encodings = accepted(request.url, request.headers)
        if request.headers or request.credentials or encodings != common["Accept-Encoding"]:
            credentials = request.credentials if self.origin == self._first else {}
            headers = {**common, "Accept-Encoding": encodings, **request.headers, **credentials}
        if " " in self.url or not self.url.isprintable() or not all(map(is_sendable, headers.values())):
            raise self.unusable()
        return headers

    def leads_on(self, response: Response) -> bool:
        """Return whether the response is a redirect that is to be followed."""
        request = self.request
        followed = REDIRECTS if request.body is None else _REPEATED if request.repeated else ()
        return response.status in followed and response.status not in request.accept

    def follow(self, response: Response) -> None:
        """Go where a redirect leads. Raises `TransportError` if that is elsewhere, or too many were followed."""
        location, request = response.headers.get("Location"), self.request
        url = redirected(self.url, location, request.hosts, anywhere=request.repeated)
        self._redirects += 1
        if self._redirects > _MOST_REDIRECTS:
            first = shown(self.request.url)
            message = f"{first} redirects more than {_MOST_REDIRECTS} times, last to {shown(url)}"
            raise PermanentError(message)
        self.url, self.origin = url, check_url(url)
        (_, host, port), (_, first, _) = self.origin, self._first
        if self.request.port_named and self.origin != self._first and (host != first or port != _SECURE_PORT):
            self.public = True

    def begin(self, response: Response) -> None:
        """Pass the head to the sink. Raises `TransportError` unless the request accepts it.

        `AbsentError` says that nothing is there, and `StatusError` has the status.
        """
        where = shown(response.url)
        if response.status not in self.request.accept:
            if response.status in ABSENT:
                message = f"{where}: not found ({_status(response.status)})"
                raise AbsentError(message)
            message = f"{where}: the server answered {_status(response.status)}"
            raise StatusError(message, response.status, retry_after(response.headers.get("Retry-After")))
        declared = response.headers.number("Content-Length")
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:  # else these are parts of the bytes that were sent
            values = response.headers.get_all("Content-Encoding")
            self._decoding = decoding(self.request, where, values, declared)
            response.decoded = self._decoding is not None
        self._require_size((declared or 0) - response.decoded * _OVERHEAD)
        self.request.sink.begin(response)

    def arrive(self, length: int) -> None:
        """Count bytes of the connection. Raises `TransportError` if there are many more than the body may have."""
        self._arrived += length
        if self._arrived > _OVERHEAD + 2 * self.request.bounds.size:
            self._require_size(self._arrived)

    def write(self, data: bytes) -> None:
        """Pass some of the body to the sink. Raises `TransportError` if it is larger than it may be."""
        self._received += len(data)
        if self._decoding is None:
            self._require_size(self._received)
            self.request.sink.write(data)
        else:
            self._require_size(self._received - _OVERHEAD)
            self._pass(self._decoding.decode(data))

    def end(self) -> None:
        """Pass what is left when all has come. Raises `TransportError` if something is missing."""
        if self._decoding is not None:
            self._pass(self._decoding.finish())

    def _pass(self, blocks: Iterator[bytes]) -> None:
        for block in blocks:
            self._length += len(block)
            self._require_size(self._length)
            self.request.sink.write(block)

    def failure(self, why: str) -> TransportError:
        """Return the error that says why the transfer failed."""
        return TransportError(f"{shown(self.url)}: {why}")

    def unusable(self) -> PermanentError:
        """Return the error that says that no request can be made for the URL."""
        return PermanentError(f"{shown(self.url)}: this URL cannot be requested")

    def _require_size(self, size: int) -> None:
        if size > self.request.bounds.size:
            message = f"{shown(self.url)} is larger than {self.request.bounds.size} bytes"
            raise TooLargeError(message)


#: What returns how many seconds to wait before the next request: 0 if it may be made now, and then it counts.
Wait = Callable[[], float] | None
#: A request with its response or failure.
Result = tuple[Request, Response | TransportError]


class Client(ABC):
    """Makes requests; close it after use, or use it in a `with` statement."""

    #: What would make this client faster, for people who fetch much.
    advice = ""

    def __init__(self, user_agent: str = USER_AGENT) -> None:
        """Take how it introduces itself to hosts."""
        self.headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": acceptable()}

    @abstractmethod
    def get(self, request: Request) -> Response:
        """Make one request. Raises `TransportError` if it fails; its sink may then have received a part."""

    @abstractmethod
    def get_all(self, requests: Iterator[Request], *, jobs: int, delay: Wait = None) -> Generator[Result, None, None]:
        """Make many requests, `jobs` at a time, and yield each with its response or failure when it is complete.

        `requests` is read in the caller's thread, no further than needed. Other errors, those of sinks, are raised.
        """

    def close(self) -> None:  # noqa: B027 - nothing is open by default
        """Close all connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def http_time(text: str) -> datetime | None:
    """Return the time that a header has, in UTC; None if there is none that can be read."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        return None


def retry_after(text: str) -> float | None:
    """Return the seconds that a header `Retry-After` asks for, if it does."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    time = http_time(text)
    return None if time is None else max(0.0, (time - datetime.now(UTC)).total_seconds())


def untrusted(reason: str) -> str:
    """Return why a certificate cannot be trusted, and what to do where nobody known has signed it."""
    hint = ": if the host is yours, set $SSL_CERT_FILE to a file with the certificates to trust"
    return f"its certificate cannot be trusted ({reason}){hint if 'self' in reason or 'issuer' in reason else ''}"


def network_failure(error: BaseException, transfer: Transfer, *, direct: bool = True) -> TransportError:
    """Return the failure of a transfer for an error of the network; `direct`: an unknown name is that of the host."""
    if direct and isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
        return NoHostError(f"{shown(transfer.url)}: no such host")
    if direct and isinstance(error, ConnectionRefusedError):
        return RefusedError(f"{shown(transfer.url)}: {error.strerror}")
    match error.__cause__ or error:  # urllib3 has errors of its own, with the one that was raised as their cause
        case TimeoutError():
            why = transfer.delayed
        case ssl.SSLCertVerificationError(verify_message=reason):
            why = untrusted(reason)
        case ssl.SSLError(reason=reason):
            why = f"no secure connection can be made ({reason})"
        case http.client.IncompleteRead():
            why = "the transfer ended early"
        case ConnectionError(strerror=None):
            why = "the connection was closed without an answer"
        case OSError(strerror=reason):
            why = reason or "no connection can be made through the proxy"
        case UnicodeError() | http.client.InvalidURL():
            return transfer.unusable()
        case other:
            why = f"the answer is not valid HTTP ({type(other).__name__})"
    return transfer.failure(why)


def is_sendable(text: str) -> bool:
    """Return whether a text can be the value of a header."""
    return text.isascii() and text.isprintable()


def _status(status: int) -> str:
    return f"{status} {http.client.responses.get(status, '')}".strip()
