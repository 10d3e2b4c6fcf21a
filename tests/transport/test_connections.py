"""Connections of the standard library's client: what is read from them, and whether they can be used again."""

import socket
from collections.abc import Iterator
from http.client import LineTooLong

import pytest

from pelican_resourcesync.transport.connections import Connection, Reply
from pelican_resourcesync.transport.limits import Bounds, Deadline


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    """Yield a connection, and its other side."""
    here, there = socket.socketpair()
    with here, there:
        yield Connection(here, Deadline(Bounds(timeout=20))), there


def test_lines(ends: tuple[Connection, socket.socket]) -> None:
    """A line may come in pieces, after many others; the end of the connection ends a line too."""
    connection, there = ends
    there.sendall(b"x" * 40_000 + b"\n" + b"y" * 30_000)
    assert connection.read_line("line") == b"x" * 40_000 + b"\n"
    there.sendall(b"z\n")
    assert connection.read_line("line") == b"y" * 30_000 + b"z\n"
    there.sendall(b"last")
    there.shutdown(socket.SHUT_WR)
    assert [connection.read_line("line") for _ in range(2)] == [b"last", b""]


def test_a_line_has_an_end(ends: tuple[Connection, socket.socket]) -> None:
    """No more than 64 KiB are read in search of it, and what comes with them."""
    connection, there = ends
    there.sendall(b"x" * 66_000)
    with pytest.raises(LineTooLong):
        connection.read_line("line")


def test_quiet(ends: tuple[Connection, socket.socket]) -> None:
    """A connection is quiet if nothing has come that is not read, and it is open."""
    connection, there = ends
    assert connection.is_quiet()
    there.sendall(b"1\n2\n")
    assert not connection.is_quiet()
    connection.read_line("line")
    assert not connection.is_quiet()
    connection.read_line("line")
    assert connection.is_quiet()
    there.close()
    assert not connection.is_quiet()


@pytest.mark.parametrize(
    ("reply", "body", "whole"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", b"ab", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nab", b"ab", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", b"ab", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nab", b"ab", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", b"ab", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n", b"ab", True),
        (b"HTTP/1.1 200 OK\r\n\r\nab", b"ab", False),
    ],
)
def test_replies(ends: tuple[Connection, socket.socket], reply: bytes, body: bytes, whole: bool) -> None:
    """A connection is used again after a whole reply whose end was known, and then nothing of it is left."""
    connection, there = ends
    there.sendall(reply)
    if not whole:
        there.shutdown(socket.SHUT_WR)
    received = Reply(connection)
    assert (b"".join(received.blocks()), received.whole) == (body, whole)
    if whole:
        assert connection.is_quiet()
