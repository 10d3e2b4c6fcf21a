"""Connections that stay open between requests and enforce a deadline, however slowly the other side sends."""

import re
import select
import socket
import ssl
import weakref
from collections.abc import Iterator, Mapping
from functools import partial
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPSConnection,
    IncompleteRead,
    LineTooLong,
    RemoteDisconnected,
    UnknownProtocol,
)

from pelican_resourcesync.transport.addresses import connect_to_public
from pelican_resourcesync.transport.headers import Headers
from pelican_resourcesync.transport.limits import Deadline
from pelican_resourcesync.transport.urls import Origin

_LONGEST_LINE = 65_536
_BLOCK = 131_072  # bytes
_STATUS = re.compile(r"(HTTP/\S*)\s+([1-9][0-9]{2})(?:\s|$)")
_CHUNK = re.compile(rb"\s*+([0-9a-fA-F]{1,16})\s*+(?:;|$)")
_CLOSING = ("HTTP/1.0", "HTTP/0.9")  # versions that close connections unless they say otherwise
MOST_HEADERS = 100


class Connection:
    """An open connection; `deadline` is that of the current request."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._close = weakref.finalize(self, sock.close)
        self._wait = -1.0
        self._buffer = b""  # what has come, and is not read from `_at` on
        self._at = 0
        self.deadline = deadline
        self.idle_since = 0.0

    def send(self, data: bytes) -> None:
        """Send a request."""
        self._set_timeout()
        self._sock.sendall(data)

    def _receive(self) -> bytes:
        """Return some bytes that come; the deadline holds however slowly they do. Empty at the end."""
        self._set_timeout()
        return self._sock.recv(_BLOCK)

    def _set_timeout(self) -> None:
        wait = self.deadline.wait()
        if wait != self._wait:
            self._sock.settimeout(wait)
            self._wait = wait

    def read(self, most: int) -> bytes:
        """Return some bytes of a body, at most so many; empty at the end."""
        if self._at == len(self._buffer):
            self._buffer, self._at = self._receive(), 0
        data = self._buffer[self._at : self._at + most]
        self._at += len(data)
        return data

    def read_line(self, what: str) -> bytes:
        """Return a line with its end; without, where the other side closed the connection."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            if len(self._buffer) - self._at > _LONGEST_LINE:
                raise LineTooLong(what)
            data = self._receive()
            self._buffer, self._at = self._buffer[self._at :] + data, 0
            if not data:
                end = len(self._buffer) - 1
                break
        line = self._buffer[self._at : end + 1]
        self._at = end + 1
        return line

    def is_quiet(self) -> bool:
        """Return whether the other side neither closed the connection nor sent what nobody asked for."""
        if self._at < len(self._buffer) or (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()):
            return False
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._sock, select.POLLIN)
            return not poll.poll(0)
        return not select.select([self._sock], [], [], 0)[0]  # pragma: no cover - Windows

    def abort(self) -> None:
        """End what is being sent or received, from another thread."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # closed already
            return

    def close(self) -> None:
        """Close the connection."""
        self._close()


class Reply:
    """The response to a request, read from its connection: the head at once, then the body.

    `length` is None for a body that shows where it ends. `whole`: all was read, and the connection can be used again.
    """

    def __init__(self, connection: Connection) -> None:
        """Read the head; interim responses are skipped. Raises the errors of `http.client`."""
        self._connection = connection
        version = ""
        self.status = 0
        while self.status < 200 and self.status != 101:  # noqa: PLR2004 - the statuses of interim responses
            version, self.status = self._status_line()
            lines = self._header_lines()
        self.headers = Headers(lines)
        self.whole = False
        self._chunked = self.headers.get("Transfer-Encoding").lower() == "chunked"
        self.length: int | None = None
        length = self.headers.get("Content-Length")
        if length.isascii() and length.isdigit() and not self._chunked:
            self.length = int(length)
        if self.status in (204, 304):
            self.length = 0
        kept = self.headers.get("Connection").lower()
        ends = self._chunked or self.length is not None
        self._stays = ends and "close" not in kept and (version not in _CLOSING or "keep-alive" in kept)

    def _status_line(self) -> tuple[str, int]:
        line = self._connection.read_line("status line").decode("latin-1")
        if not line:
            message = "the connection was closed"
            raise RemoteDisconnected(message)
        found = _STATUS.match(line)
        if found is None:
            raise BadStatusLine(line)
        if not found[1].startswith("HTTP/1.") and found[1] not in _CLOSING:
            raise UnknownProtocol(found[1])
        return found[1], int(found[2])

    def _header_lines(self) -> list[bytes]:
        lines: list[bytes] = []
        while (line := self._connection.read_line("header line")) not in (b"\r\n", b"\n", b""):
            lines.append(line)
            if len(lines) > MOST_HEADERS:
                message = f"got more than {MOST_HEADERS} headers"
                raise HTTPException(message)
        return lines

    def blocks(self) -> Iterator[bytes]:
        """Yield the body; raises `IncompleteRead` if it ends early."""
        if self._chunked:
            while left := self._chunk_length():
                yield from self._read(left)
                self._connection.read_line("chunk")
            self._header_lines()
        elif self.length is not None:
            yield from self._read(self.length)
        else:
            while data := self._connection.read(_BLOCK):
                yield data
        self.whole = self._stays

    def _chunk_length(self) -> int:
        found = _CHUNK.match(self._connection.read_line("chunk size"))
        if found is None:
            raise IncompleteRead(b"")  # noqa: EM101 - the bytes read so far, not a message
        return int(found[1], 16)

    def _read(self, left: int) -> Iterator[bytes]:
        while left:
            data = self._connection.read(left)
            if not data:
                raise IncompleteRead(b"")  # noqa: EM101 - the bytes read so far, not a message
            left -= len(data)
            yield data


def connect(  # noqa: PLR0913
    place: Origin,
    deadline: Deadline,
    *,
    public: bool = False,
    through: tuple[str, int] | None = None,
    tunnel: Mapping[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> Connection:
    """Connect to an origin, directly or `through` a proxy, and check the address if it must be `public`."""
    scheme, host, port = place
    to, wait = through or (host, port), deadline.wait()
    connection = (
        HTTPSConnection(*to, timeout=wait, context=context) if scheme == "https" else HTTPConnection(*to, timeout=wait)
    )
    if public:
        connection._create_connection = partial(connect_to_public, wait=deadline.wait)  # type: ignore[attr-defined]  # noqa: SLF001
    if through and scheme == "https":
        connection.set_tunnel(host, port, dict(tunnel or {}))
    connection.connect()
    return Connection(connection.sock, deadline)
