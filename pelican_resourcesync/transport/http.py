"""Fetch files over HTTP, within limits, and hash them as they arrive. All network requests are made here."""

import hashlib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead, InvalidURL
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import AbstractHTTPHandler, OpenerDirector, ProxyHandler, Request, UnknownHandler

from pelican_resourcesync.errors import AbsentError, NoHostError, TransportError
from pelican_resourcesync.transport.addresses import check_literal
from pelican_resourcesync.transport.bounds import (
    STANDARD_BOUNDS,
    Bounds,
    Deadline,
    PlainConnection,
    SecureConnection,
)
from pelican_resourcesync.transport.urls import check_address, check_base, redirected, shown
from pelican_resourcesync.version import __version__

_HEADERS = {
    "User-Agent": f"pelican-resourcesync/{__version__}",
    "Accept-Encoding": "identity",
    "Cache-Control": "no-cache",
    "Pragma": "no-cache",
}
_ABSENT = (404, 410)
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_BLOCK = 65_536
_HEAD = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What was received: SHA-256 (hexadecimal), length in bytes, media type and the first bytes, at most 512."""

    digest: str
    length: int
    media_type: str
    head: bytes

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page, which some hosts return for any path."""
        start = self.head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
        return self.media_type in ("text/html", "application/xhtml+xml") or start.startswith(
            (b"<!doctype html", b"<html")
        )


class Web:
    """The files below a URL, requested past caches.

    Redirects are followed only on the same host. Every failure raises `TransportError`; two subclasses, `AbsentError`
    and `NoHostError`, mean that nothing is there.
    """

    def __init__(self, base: str, bounds: Bounds = STANDARD_BOUNDS) -> None:
        """Take an http(s) URL, and the `bounds` for each file.

        Raises `TransportError` if it is not an http(s) URL, or has a user, a query or a fragment.
        """
        check_base(base)
        self.base = base.rstrip("/")
        self.bounds = bounds
        self._opener = OpenerDirector()  # without the file and FTP handlers of the default opener
        self._opener.addheaders = []
        for handler in (ProxyHandler(), _Handler(), UnknownHandler()):
            self._opener.add_handler(handler)

    def url(self, path: str) -> str:
        """Return the URL of the file at a path."""
        return f"{self.base}/{quote(path)}"

    def read(self, path: str, bounds: Bounds | None = None) -> tuple[Received, bytes]:
        """Fetch a small file, and return what was received with its bytes."""
        stream = BytesIO()
        return self._receive(path, stream, bounds or self.bounds), stream.getvalue()

    def save(self, path: str, file: Path, bounds: Bounds | None = None) -> Received:
        """Fetch a file and write it to `file`; if the transfer fails, the incomplete file is left there."""
        with file.open("wb") as stream:
            return self._receive(path, stream, bounds or self.bounds)

    def visit(self, url: str, sink: BinaryIO, *, public: bool = True) -> tuple[Received, Message]:
        """Fetch any http(s) URL exactly as given, write it to `sink`, and return what was received with its headers.

        If `public` is True, loopback, private and link-local addresses are refused; use this for URLs from documents
        rather than from the user.
        """
        check_address(url)
        return self._take(url, sink, self.bounds, public=public)

    def _receive(self, path: str, sink: BinaryIO, bounds: Bounds) -> Received:
        return self._take(f"{self.url(path)}?resourcesync={token_hex(8)}", sink, bounds)[0]

    def _take(self, url: str, sink: BinaryIO, bounds: Bounds, *, public: bool = False) -> tuple[Received, Message]:
        deadline = Deadline(bounds)
        with self._answer(url, deadline, public=public) as response:
            digest, length, head = hashlib.sha256(), 0, b""
            for block in _blocks(response, bounds.size, deadline):
                digest.update(block)
                length += len(block)
                head += block[: _HEAD - len(head)]
                sink.write(block)
            media_type = response.headers.get_content_type() if "Content-Type" in response.headers else ""
            received = Received(digest=digest.hexdigest(), length=length, media_type=media_type, head=head)
            return received, response.headers

    def _answer(self, url: str, deadline: Deadline, *, public: bool = False) -> HTTPResponse:
        """Request a URL, and follow its redirects."""
        asked = url
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._ask(asked, deadline, public=public)
            if response.status not in _REDIRECTS:
                _check_answer(response, asked)
                return response
            with response:
                asked = redirected(asked, response.headers.get("Location"))
        message = f"{shown(url)} is redirected more than {_MOST_REDIRECTS} times, last to {shown(asked)}"
        raise TransportError(message)

    def _ask(self, url: str, deadline: Deadline, *, public: bool = False) -> HTTPResponse:
        request = _Request(url, headers=_HEADERS)
        request.deadline, request.public, host = deadline, public, request.host
        if public:
            check_literal(host)
        with _failing(url, deadline):
            try:
                response: HTTPResponse = self._opener.open(request, timeout=deadline.wait())
            except URLError as error:
                # If a proxy is used, the unknown name may be that of the proxy.
                if _unknown_name(error.reason) and request.host == host:
                    message = f"{shown(url)}: there is no host of that name"
                    raise NoHostError(message) from error
                raise
        return response


class _Request(Request):
    deadline: Deadline
    public: bool

    @property
    def direct(self) -> bool:
        """Whether no proxy is used; a proxy may well have a private address."""
        return not self.has_proxy() and not getattr(self, "_tunnel_host", None)


class _Handler(AbstractHTTPHandler):
    """Opens connections that enforce the deadline of their request."""

    def __init__(self) -> None:
        super().__init__()
        self._context = ssl.create_default_context()

    http_request = https_request = AbstractHTTPHandler.do_request_

    def http_open(self, request: _Request) -> HTTPResponse:
        connection: Any = partial(PlainConnection, deadline=request.deadline, public=request.public and request.direct)
        return self.do_open(connection, request)

    def https_open(self, request: _Request) -> HTTPResponse:
        connection: Any = partial(SecureConnection, deadline=request.deadline, public=request.public and request.direct)
        return self.do_open(connection, request, context=self._context)


def _check_answer(response: HTTPResponse, url: str) -> None:
    """Raise `TransportError` unless the response is 200 OK without content encoding; `AbsentError` for 404 and 410."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if response.status == HTTPStatus.OK and encoding in ("", "identity"):
        return
    response.close()
    if response.status in _ABSENT:
        message = f"{shown(url)} is not there ({_status(response.status)})"
        raise AbsentError(message)
    if response.status != HTTPStatus.OK:
        message = f"{shown(url)} was answered with {_status(response.status)}"
    else:
        message = f"{shown(url)} came encoded as {encoding!a}, though it was asked for as it is"
    raise TransportError(message)


def _blocks(response: HTTPResponse, size: int, deadline: Deadline) -> Iterator[bytes]:
    """Yield the bytes of a response; raises `TransportError` if it is incomplete or too large."""
    url, come, promised = response.url, 0, response.length
    buffer = bytearray(_BLOCK)  # `read` would read everything for a chunk with a negative length
    while come <= size and (promised is None or promised <= size):
        with _failing(url, deadline):
            count = response.readinto(buffer)
            if not count and promised is not None and come < promised:
                raise IncompleteRead(b"")  # noqa: EM101 - the bytes read so far, not a message
        if not count:
            return
        come += count
        if come <= size:
            yield bytes(buffer[:count])
    message = f"{shown(url)} is larger than {size} bytes"
    raise TransportError(message)


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _unknown_name(reason: object) -> bool:
    return isinstance(reason, socket.gaierror) and reason.errno == socket.EAI_NONAME


@contextmanager
def _failing(url: str, deadline: Deadline) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException, UnicodeError) as error:
        message = f"{shown(url)}: {_why(error, deadline)}"
        raise TransportError(message) from error


def _why(error: object, deadline: Deadline) -> str:
    """Return what went wrong, without quoting the other side."""
    match error.reason if isinstance(error, URLError) else error:
        case TimeoutError():
            why = str(deadline)
        case ssl.SSLCertVerificationError(verify_message=reason):
            why = f"its certificate cannot be trusted ({reason})"
        case ssl.SSLError(reason=reason):
            why = f"no secure connection can be made ({reason})"
        case IncompleteRead():
            why = "it ended before it was whole"
        case ConnectionError(strerror=None):
            why = "the connection was closed without an answer"
        case OSError(strerror=reason):
            why = reason or "no connection can be made through the proxy"
        case str():  # a proxy scheme that urllib does not know
            why = "the proxy is none for HTTP"
        case UnicodeError() | InvalidURL():
            why = "this cannot be asked for"
        case other:
            why = f"what came is no answer in HTTP ({type(other).__name__})"
    return why
