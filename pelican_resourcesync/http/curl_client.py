"""The client that uses pycurl, several times as fast as urllib3; part of the extra `mirror`."""

import re
import socket
import ssl
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pycurl

from pelican_resourcesync.errors import RefusedError, TransportError
from pelican_resourcesync.http.client import (
    MOST_HEADERS,
    Client,
    Headers,
    Request,
    Response,
    Result,
    Transfer,
    Wait,
    network_failure,
    untrusted,
)
from pelican_resourcesync.http.urls import require_public, shown, target_of
from pelican_resourcesync.version import USER_AGENT

if not hasattr(pycurl, "PREREQFUNCTION"):  # then private addresses cannot be refused
    message = f"pycurl {pycurl.version_info()[1]} is too old"
    raise ImportError(message)

_LONGEST_WAIT = 1.0  # seconds
_MOST_DIGITS = 20  # of the size of a chunk
_SIZE = re.compile(b"[0-9A-Fa-f]{1,16}")
_WHY = {
    pycurl.E_PARTIAL_FILE: "the transfer ended early",
    pycurl.E_GOT_NOTHING: "the connection was closed without an answer",
}


class CurlClient(Client):
    """A client that makes all its requests in one thread. It uses no proxy."""

    def __init__(self, user_agent: str = USER_AGENT) -> None:
        """Start without connections."""
        super().__init__(user_agent)
        self._multi = pycurl.CurlMulti()
        self._free: list[_Handle] = []

    def get(self, request: Request) -> Response:
        """Make one request."""
        ((_, result),) = self.get_all(iter([request]), jobs=1)
        if isinstance(result, TransportError):
            raise result
        return result

    def get_all(self, requests: Iterator[Request], *, jobs: int, delay: Wait = None) -> Generator[Result, None, None]:
        """Make many requests; the caller's work between two results should be short."""
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(jobs, 8))
        active: dict[pycurl.Curl, _Handle] = {}
        done: deque[Result] = deque()
        request: Request | None = None
        try:
            while True:
                pause = 0.0
                while len(active) < jobs and (request := request or next(requests, None)) is not None:
                    if delay and (pause := delay()):
                        break
                    self._start(request, active, done)
                    request = None
                if active:  # the next requests are on their way before the caller gets what is complete
                    complete, done = done, deque()
                    wait = 0.0 if complete else min(pause or _LONGEST_WAIT, _LONGEST_WAIT)
                    self._perform(active, done, wait)
                    while complete:
                        yield complete.popleft()
                elif done:
                    yield done.popleft()
                elif request is None:
                    return
                else:
                    time.sleep(min(pause, _LONGEST_WAIT))
        finally:
            for curl, handle in active.items():
                self._multi.remove_handle(curl)
                handle.close()

    def close(self) -> None:
        """Close all connections."""
        for handle in self._free:
            handle.close()
        self._free.clear()
        self._multi.close()

    def _start(self, request: Request, active: "dict[pycurl.Curl, _Handle]", done: deque[Result]) -> None:
        handle = self._free.pop() if self._free else _Handle(self.headers)
        try:
            handle.transfer = Transfer(request)
            handle.ask()
        except TransportError as error:
            self._free.append(handle)
            done.append((request, error))
        else:
            active[handle.curl] = handle
            self._multi.add_handle(handle.curl)

    def _perform(self, active: "dict[pycurl.Curl, _Handle]", done: deque[Result], wait: float) -> None:
        """Let curl work, and where nothing is complete then, wait until it has more to do, or for `wait` seconds."""
        self._multi.perform()
        _, good, bad = self._multi.info_read()
        if not good and not bad and wait:
            self._multi.select(wait)
        for curl, code, text in [*((curl, 0, "") for curl in good), *bad]:
            self._multi.remove_handle(curl)
            handle = active.pop(curl)
            result: Response | TransportError | None
            try:
                result = handle.end(code, text)
            except TransportError as error:
                result = error
            if result is None:  # redirected
                active[curl] = handle
                self._multi.add_handle(curl)
            else:
                done.append((handle.transfer.request, result))
                self._free.append(handle)


class _Handle:
    """A handle of curl, which makes one request at a time."""

    transfer: Transfer

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._common = headers
        self._sockets: list[socket.socket] = []
        self._lines: list[bytes] = []  # the heads that have come, with their status lines
        self._chunks: _Chunks | None = None
        self.curl = curl = pycurl.Curl()
        paths = ssl.get_default_verify_paths()  # the certificates that Python trusts
        if paths.cafile:
            curl.setopt(pycurl.CAINFO, paths.cafile)
        if paths.capath:
            curl.setopt(pycurl.CAPATH, paths.capath)
        if sys.platform in ("win32", "darwin"):  # pragma: no cover
            curl.setopt(pycurl.SSL_OPTIONS, pycurl.SSLOPT_NATIVE_CA)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_TRANSFER_DECODING, 0)  # to see the size of chunks with all that belongs to them
        curl.setopt(pycurl.BUFFERSIZE, 524_288)
        curl.setopt(pycurl.LOW_SPEED_LIMIT, 1)
        curl.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._write)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        curl.setopt(pycurl.PREREQFUNCTION, self._before)

    def ask(self) -> None:
        """Prepare the request of the transfer; raises `TransportError` if it may not be made."""
        transfer, curl, bounds = self.transfer, self.curl, self.transfer.request.bounds
        url, headers, left = transfer.url.partition("#")[0], transfer.headers(self._common), transfer.left()
        if left <= 0:
            raise transfer.failure(transfer.delayed)
        if not url.isascii():
            raise transfer.unusable()
        self._lines.clear()
        self._response: Response | None = None
        self._failure: BaseException | None = None
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.REQUEST_TARGET, target_of(url))  # curl would write escapes with capital letters
        body = transfer.request.body
        curl.setopt(pycurl.FRESH_CONNECT, body is not None)
        if body is None:
            curl.setopt(pycurl.HTTPGET, 1)
        else:
            curl.setopt(pycurl.POSTFIELDS, body)
            headers = {**headers, "Expect": ""}  # else curl waits for an answer before it sends a large body
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in headers.items()])
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(int(bounds.timeout * 1000), 1))
        curl.setopt(pycurl.LOW_SPEED_TIME, max(int(bounds.timeout), 1))
        curl.setopt(pycurl.TIMEOUT_MS, max(int(left * 1000), 1))

    def end(self, code: int, text: str) -> Response | None:
        """Return the response of a complete transfer, None if it goes on elsewhere. Raises what went wrong."""
        while self._sockets:  # curl has its own copies of them
            self._sockets.pop().close()
        if self._failure is not None:
            raise self._failure
        response = self._response
        if response is None and code in (0, pycurl.E_PARTIAL_FILE):  # without a body
            response = self._complete_head()
            if self.transfer.leads_on(response):
                self.transfer.follow(response)
                self.ask()
                return None
            self.transfer.begin(response)
        if response is None or code:
            raise self._error(code, text)
        self.transfer.end()
        return response

    def close(self) -> None:
        """Close the handle."""
        while self._sockets:
            self._sockets.pop().close()
        self.curl.close()

    def _error(self, code: int, text: str) -> TransportError:
        transfer = self.transfer
        if code == pycurl.E_COULDNT_RESOLVE_HOST:
            try:
                socket.getaddrinfo(transfer.origin[1], None)
            except (OSError, UnicodeError) as error:
                return network_failure(error, transfer)
        if code == pycurl.E_COULDNT_CONNECT:
            return RefusedError(f"{shown(transfer.url)}: Connection refused")
        if code == pycurl.E_URL_MALFORMAT:
            return transfer.unusable()
        why = _WHY.get(code)
        if code == pycurl.E_OPERATION_TIMEDOUT:
            why = transfer.delayed
        elif code == pycurl.E_RECV_ERROR and self._lines:
            why = "the transfer ended early"
        elif code == pycurl.E_PEER_FAILED_VERIFICATION:
            why = untrusted(_reason(text))
        elif code == pycurl.E_SSL_CONNECT_ERROR:
            why = f"no secure connection can be made ({_reason(text)})"
        return transfer.failure(why or f"the answer is not valid HTTP (curl {code})")

    def _complete_head(self) -> Response:
        """Return the head that came last, after interim ones."""
        lines = self._lines
        begin = len(lines) - 1
        while begin > 0 and not lines[begin].startswith(b"HTTP/"):
            begin -= 1
        head = lines[begin:]
        try:
            status = int(head[0].split(maxsplit=2)[1])
        except (IndexError, ValueError):
            status = 0
        if not status or len(head) > MOST_HEADERS + 2:  # with the status line and an empty one
            why = f"the answer is not valid HTTP ({len(head)} lines)"
            raise self.transfer.failure(why)
        del head[0]
        return Response(url=self.transfer.url, status=status, headers=Headers(head))

    # What curl calls

    def _write(self, data: bytes) -> int:
        try:
            if self._response is None:
                response = self._complete_head()
                if self.transfer.leads_on(response):
                    return len(data)
                self.transfer.begin(response)
                self._response = response
                self._chunks = _Chunks() if "chunked" in response.headers.get("Transfer-Encoding").lower() else None
            if self._chunks is None:
                self.transfer.write(data)
            else:
                self.transfer.arrive(len(data))
                for block in self._chunks.decode(data):
                    self.transfer.write(block)
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self._failure = self.transfer.failure("the transfer ended early") if type(error) is ValueError else error
            return -1
        return len(data)

    def _open(self, _purpose: int, address: Any) -> Any:
        """Open a socket, unless the request may not connect to that address."""
        if not self._allows(str(address.addr[0])):
            return pycurl.SOCKET_BAD
        self._sockets.append(socket.socket(address.family, address.socktype, address.protocol))
        return self._sockets[-1]

    def _before(self, address: str, *_: object) -> int:
        """Check the address of a connection again, which may have been opened for another request."""
        return int(pycurl.PREREQFUNC_OK if self._allows(address) else pycurl.PREREQFUNC_ABORT)

    def _allows(self, address: str) -> bool:
        if self.transfer.public:
            try:
                require_public(self.transfer.origin[1], address)
            except TransportError as error:
                self._failure = error
                return False
        return True


class _Chunks:
    """Takes the body out of chunks, whose end curl finds: it would not count what belongs to them."""

    def __init__(self) -> None:
        self._left = 0  # bytes of the current chunk
        self._line = b""  # how the line before it begins
        self._ended = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what some bytes have of the body. Raises `ValueError` for a size that is none."""
        while data and not self._ended:
            if self._left:
                block, data = data[: self._left], data[self._left :]
                self._left -= len(block)
                yield block
            else:
                line, end, data = data.partition(b"\n")
                self._line += line[: _MOST_DIGITS - len(self._line)]
                size = self._line.partition(b";")[0].strip()
                if end:
                    self._line = b""
                if end and size:  # else the line only ends the chunk before
                    self._left = int(size, 16) if _SIZE.fullmatch(size) else -1
                    self._ended = self._left <= 0
                if self._left < 0:
                    raise ValueError


def _reason(text: str) -> str:
    """Return the reason at the end of an error message of OpenSSL."""
    text = text.removeprefix("SSL certificate problem: ")
    return ascii(text.rpartition("verify result: ")[2].rpartition("::")[2].partition(" (")[0])[1:-1]
