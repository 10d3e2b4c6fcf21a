"""Connections that stay open between requests and enforce a deadline, however slowly the other side sends."""

import io
import select
import socket
import ssl
import weakref
from collections.abc import Mapping
from functools import partial
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    LineTooLong,
    UnknownProtocol,
)
from typing import Any

from pelican_resourcesync.transport.addresses import connect_to_public
from pelican_resourcesync.transport.headers import Headers
from pelican_resourcesync.transport.limits import Deadline
from pelican_resourcesync.transport.urls import Origin

_LONGEST_LINE = 65_536
MOST_HEADERS = 100


class Connection:
    """An open connection; `deadline` is that of the current request."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._close = weakref.finalize(self, sock.close)
        self.deadline = deadline
        self.idle_since = 0.0

    def send(self, data: bytes) -> None:
        """Send a request."""
        self._sock.settimeout(self.deadline.wait())
        self._sock.sendall(data)

    def makefile(self, *_: object) -> io.BufferedReader:
        """Return a reader of one response."""
        return io.BufferedReader(_TimedReader(self._sock, self))

    def is_quiet(self) -> bool:
        """Return whether the other side neither closed the connection nor sent what nobody asked for."""
        if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
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


class _TimedReader(io.RawIOBase):
    """Reads from a socket until the deadline; the socket's own timeout would restart with every byte."""

    def __init__(self, sock: socket.socket, connection: Connection) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._connection.deadline.wait())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class LeanResponse(HTTPResponse):
    """A response whose head is read without the standard library's parser of e-mail, which takes most of the time."""

    def __init__(self, connection: Connection, method: str) -> None:
        super().__init__(connection, method=method)  # type: ignore[arg-type]  # only `makefile` is used

    def begin(self) -> None:
        """Read the head; interim responses are skipped."""
        while True:
            version, status, reason = self._read_status()  # type: ignore[attr-defined]
            lines = self._head()
            if status >= 200 or status == 101:  # noqa: PLR2004 - the statuses of interim responses
                break
        if version in ("HTTP/1.0", "HTTP/0.9"):
            self.version = 10
        elif version.startswith("HTTP/1."):
            self.version = 11
        else:
            raise UnknownProtocol(version)
        self.code = self.status = status
        self.reason = reason.strip()
        self.fields = Headers(lines)
        self.chunked = self.fields.get("Transfer-Encoding").lower() == "chunked"
        self.chunk_left = None
        self.length = None
        length = self.fields.get("Content-Length")
        if length.isascii() and length.isdigit() and not self.chunked:
            self.length = int(length)
        if status in (204, 304):
            self.length = 0
        connection = self.fields.get("Connection").lower()
        keep = self.version == 11 or "keep-alive" in connection  # noqa: PLR2004 - HTTP/1.1
        self.will_close = "close" in connection or not keep or (not self.chunked and self.length is None)

    def _head(self) -> list[bytes]:
        lines: list[bytes] = []
        while True:
            line = self.fp.readline(_LONGEST_LINE + 1)
            if len(line) > _LONGEST_LINE:
                raise LineTooLong("header line")  # noqa: EM101, TRY003 - as the standard library does
            if line in (b"\r\n", b"\n", b""):
                return lines
            lines.append(line)
            if len(lines) > MOST_HEADERS:
                message = f"got more than {MOST_HEADERS} headers"
                raise HTTPException(message)


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
