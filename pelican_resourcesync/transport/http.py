"""Bytes over HTTP, within bounds, hashed as they pass: the only network code."""

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
    """What came: its SHA-256 (hexadecimal), its length in bytes, its media type and its first bytes, 512 at most."""

    digest: str
    length: int
    media_type: str
    head: bytes

    @property
    def is_html(self) -> bool:
        """Whether it is a page, which some hosts answer to any path."""
        start = self.head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
        return self.media_type in ("text/html", "application/xhtml+xml") or start.startswith(
            (b"<!doctype html", b"<html")
        )


class Web:
    """The files below a URL, asked past caches.

    Redirects are followed on the same host alone. Whatever fails raises `TransportError`, and two kinds of it tell
    that nothing is there: `AbsentError`, `NoHostError`.
    """

    def __init__(self, base: str, bounds: Bounds = STANDARD_BOUNDS) -> None:
        """Take an http(s) URL; `TransportError` where it is none, or has a user or a query.

        `bounds` are for each file.
        """
        check_base(base)
        self.base = base.rstrip("/")
        self.bounds = bounds
        self._opener = OpenerDirector()  # neither files nor FTP, as the usual one has
        self._opener.addheaders = []
        for handler in (ProxyHandler(), _Handler(), UnknownHandler()):
            self._opener.add_handler(handler)

    def url(self, path: str) -> str:
        """Give the URL of the file at a path."""
        return f"{self.base}/{quote(path)}"

    def read(self, path: str, bounds: Bounds | None = None) -> tuple[Received, bytes]:
        """Give a small file with its bytes."""
        stream = BytesIO()
        return self._receive(path, stream, bounds or self.bounds), stream.getvalue()

    def save(self, path: str, file: Path, bounds: Bounds | None = None) -> Received:
        """Write a file to `file`; what came of it is left there where it does not come whole."""
        with file.open("wb") as stream:
            return self._receive(path, stream, bounds or self.bounds)

    def visit(self, url: str, sink: BinaryIO, *, public: bool = True) -> tuple[Received, Message]:
        """Write what is at any http(s) URL to `sink`, asked as it stands, and give it with its headers.

        Where `public`, nothing is asked of a loopback, private or link-local address: so for a URL that a document
        names, and not the user.
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
        """Ask for a URL, and for those that it leads to."""
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
                # Through a proxy, the name that is not known may be the proxy's.
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
        """Whether no proxy is asked, which may well have a private address."""
        return not self.has_proxy() and not getattr(self, "_tunnel_host", None)


class _Handler(AbstractHTTPHandler):
    """Opens connections that keep to the deadline of their request."""

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
    """Let an answer pass that is one file as it is."""
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
    """Give the bytes of an answer, to its end or not at all."""
    url, come, promised = response.url, 0, response.length
    buffer = bytearray(_BLOCK)  # `read` would take all there is for a chunk of a negative length
    while come <= size and (promised is None or promised <= size):
        with _failing(url, deadline):
            count = response.readinto(buffer)
            if not count and promised is not None and come < promised:
                raise IncompleteRead(b"")  # noqa: EM101 - what came of it, no message
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
    """Say what went wrong, in no words of the other side."""
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
        case str():  # the scheme of a proxy that urllib does not know
            why = "the proxy is none for HTTP"
        case UnicodeError() | InvalidURL():
            why = "this cannot be asked for"
        case other:
            why = f"what came is no answer in HTTP ({type(other).__name__})"
    return why
