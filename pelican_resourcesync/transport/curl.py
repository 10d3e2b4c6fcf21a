"""The client that uses pycurl, several times as fast as the standard library; part of the extra `mirror`."""

import re
import socket
import ssl
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pycurl

from pelican_resourcesync.errors import NoHostError, TransportError
from pelican_resourcesync.transport.addresses import is_public
from pelican_resourcesync.transport.client import (
    HEADERS,
    MOST_REDIRECTS,
    REDIRECTS,
    Client,
    Pace,
    Request,
    Response,
    check_answer,
    too_large,
    too_many_redirects,
)
from pelican_resourcesync.transport.connections import MOST_HEADERS
from pelican_resourcesync.transport.headers import Headers
from pelican_resourcesync.transport.limits import Bounds, Deadline
from pelican_resourcesync.transport.urls import Origin, check_url, redirected, shown, target_of

_LONGEST_WAIT = 1.0  # seconds
_LINES = [f"{name}: {value}" for name, value in HEADERS.items()]
_ESCAPED = re.compile("/.*%(?:[a-f]|.[a-f])")
_WHY = {
    pycurl.E_COULDNT_CONNECT: "Connection refused",
    pycurl.E_PARTIAL_FILE: "the transfer ended early",
    pycurl.E_GOT_NOTHING: "the connection was closed without an answer",
    pycurl.E_URL_MALFORMAT: "this URL cannot be requested",
}
_Result = tuple[Request, Response | TransportError]


class CurlClient(Client):
    """A client that makes all its requests in one thread. It uses no proxy."""

    def __init__(self) -> None:
        """Start without connections."""
        self._multi = pycurl.CurlMulti()
        self._free: list[_Transfer] = []

    def get(self, request: Request) -> Response:
        """Make one request."""
        ((_, result),) = self.get_all(iter([request]), jobs=1)
        if isinstance(result, TransportError):
            raise result
        return result

    def get_all(self, requests: Iterator[Request], *, jobs: int, pace: Pace | None = None) -> Iterator[_Result]:
        """Make many requests; the caller's work between two results should be short."""
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(jobs, 8))
        active: dict[pycurl.Curl, _Transfer] = {}
        held: deque[Request] = deque()
        done: deque[_Result] = deque()
        more = True
        try:
            while True:
                delay = 0.0
                while len(active) < jobs and (held or more):
                    request = held.popleft() if held else next(requests, None)
                    if request is None:
                        more = False
                        break
                    if pace and (delay := pace.delay()):
                        held.append(request)
                        break
                    self._start(request, active, done)
                if active:  # the next requests are on their way before the caller gets what is complete
                    complete, done = done, deque()
                    wait = 0.0 if complete else min(delay or _LONGEST_WAIT, _LONGEST_WAIT)
                    self._run(active, done, wait)
                    while complete:
                        yield complete.popleft()
                elif done:
                    yield done.popleft()
                elif not held and not more:
                    return
                else:
                    time.sleep(min(delay, _LONGEST_WAIT))
        finally:
            for transfer in active.values():
                self._multi.remove_handle(transfer.curl)
                transfer.close()

    def close(self) -> None:
        """Close all connections."""
        for transfer in self._free:
            transfer.close()
        self._free.clear()
        self._multi.close()

    def _start(self, request: Request, active: "dict[pycurl.Curl, _Transfer]", done: deque[_Result]) -> None:
        transfer = self._free.pop() if self._free else _Transfer()
        try:
            transfer.begin(request)
        except TransportError as error:
            self._free.append(transfer)
            done.append((request, error))
        else:
            active[transfer.curl] = transfer
            self._multi.add_handle(transfer.curl)

    def _run(self, active: "dict[pycurl.Curl, _Transfer]", done: deque[_Result], wait: float) -> None:
        """Let curl work until something is complete, or `wait` seconds have passed."""
        self._multi.perform()
        ended = self._ended()
        if not ended and wait:
            self._multi.select(wait)
            self._multi.perform()
            ended = self._ended()
        for curl, code, text in ended:
            self._multi.remove_handle(curl)
            transfer = active.pop(curl)
            try:
                response = transfer.end(code, text)
            except TransportError as error:
                done.append((transfer.request, error))
            else:
                if response is None:  # redirected
                    active[curl] = transfer
                    self._multi.add_handle(curl)
                    continue
                done.append((transfer.request, response))
            self._free.append(transfer)

    def _ended(self) -> list[tuple[pycurl.Curl, int, str]]:
        ended: list[tuple[pycurl.Curl, int, str]] = []
        while True:
            waiting, good, bad = self._multi.info_read()
            ended += [(curl, 0, "") for curl in good]
            ended += bad
            if not waiting:
                return ended


class _Transfer:
    """One request at a time, over one handle of curl."""

    request: Request
    deadline: Deadline

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._lines: list[bytes] = []  # the heads that have come, with their status lines
        self._sent = _LINES
        self._bounds: Bounds | None = None  # those that curl was told
        self._exact = False  # whether curl was told what to write in the request line; it cannot be told to forget
        self.curl = curl = pycurl.Curl()
        _trust(curl)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.BUFFERSIZE, 524_288)
        curl.setopt(pycurl.HTTPHEADER, _LINES)
        curl.setopt(pycurl.LOW_SPEED_LIMIT, 1)
        curl.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._write)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        curl.setopt(pycurl.PREREQFUNCTION, self._before)

    def begin(self, request: Request) -> None:
        """Prepare a request; raises `TransportError` if it may not be made."""
        self.request = request
        self.deadline = Deadline(request.bounds)
        self._redirects = 0
        self._first = check_url(request.url)
        self._ask(request.url, self._first)

    def _ask(self, url: str, place: Origin) -> None:
        request, curl = self.request, self.curl
        self.url = url
        self._lines.clear()
        self._response: Response | None = None
        self._received = 0
        self._failure: BaseException | None = None
        lines = _LINES
        if request.headers or (request.credentials and place == self._first):
            headers = {**HEADERS, **request.headers, **(request.credentials if place == self._first else {})}
            lines = [f"{name}: {value}" for name, value in headers.items()]
        checked = url if lines is _LINES else "".join([url, *lines])
        if " " in url or not checked.isascii() or not checked.isprintable():
            message = f"{shown(url)}: {_WHY[pycurl.E_URL_MALFORMAT]}"
            raise TransportError(message)
        url = url.partition("#")[0]
        curl.setopt(pycurl.URL, url)
        if self._exact or _ESCAPED.search(url):  # curl would write escapes with capital letters
            self._exact = True
            curl.setopt(pycurl.REQUEST_TARGET, target_of(url))
        if lines != self._sent:
            curl.setopt(pycurl.HTTPHEADER, lines)
            self._sent = lines
        if request.bounds != self._bounds or self._redirects:
            self._set_bounds(request.bounds)

    def _set_bounds(self, bounds: Bounds) -> None:
        left = int(self.deadline.left() * 1000)
        if left <= 0:
            message = f"{shown(self.url)}: {self.deadline}"
            raise TransportError(message)
        curl = self.curl
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(int(bounds.timeout * 1000), 1))
        curl.setopt(pycurl.LOW_SPEED_TIME, max(int(bounds.timeout), 1))
        curl.setopt(pycurl.TIMEOUT_MS, left)
        self._bounds = None if self._redirects else bounds

    def end(self, code: int, text: str) -> Response | None:
        """Return the response of a complete transfer, None if it goes on elsewhere. Raises what went wrong."""
        while self._sockets:  # curl has its own copies of them
            self._sockets.pop().close()
        if self._failure is not None:
            raise self._failure
        if code:
            if code == pycurl.E_PARTIAL_FILE and self._response is None:
                self._check_size(self._complete_head())
            raise self._error(code, text)
        response = self._response or self._complete_head()
        if self._leads_on(response):
            self._redirects += 1
            url = redirected(self.url, response.headers.get("Location"))
            if self._redirects > MOST_REDIRECTS:
                raise too_many_redirects(self.request.url, url)
            self._ask(url, check_url(url))
            return None
        if self._response is None:  # without a body
            self._deliver(response)
        return response

    def close(self) -> None:
        """Close the handle."""
        while self._sockets:
            self._sockets.pop().close()
        self.curl.close()

    def _error(self, code: int, text: str) -> TransportError:
        where = shown(self.url)
        if code == pycurl.E_COULDNT_RESOLVE_HOST:
            try:
                socket.getaddrinfo(check_url(self.url)[1], None)
            except socket.gaierror as error:
                if error.errno == socket.EAI_NONAME:
                    return NoHostError(f"{where}: no such host")
                return TransportError(f"{where}: {error.strerror}")
            except UnicodeError:
                return TransportError(f"{where}: this URL cannot be requested")
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return TransportError(f"{where}: {self.deadline}")
        if code == pycurl.E_RECV_ERROR and self._lines:
            return TransportError(f"{where}: the transfer ended early")
        why = _WHY.get(code)
        if code == pycurl.E_PEER_FAILED_VERIFICATION:
            why = f"its certificate cannot be trusted ({_reason(text)})"
        elif code == pycurl.E_SSL_CONNECT_ERROR:
            why = f"no secure connection can be made ({_reason(text)})"
        return TransportError(f"{where}: {why or f'the answer is not valid HTTP (curl {code})'}")

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
            message = f"{shown(self.url)}: the answer is not valid HTTP ({len(head)} lines)"
            raise TransportError(message)
        del head[0]
        return Response(url=self.url, status=status, headers=Headers(head))

    def _deliver(self, response: Response) -> None:
        check_answer(response, self.request.accept)
        self._check_size(response)
        self._response = response
        self.request.sink.begin(response)

    def _check_size(self, response: Response) -> None:
        promised = response.headers.get("Content-Length")
        if promised.isdigit() and int(promised) > self.request.bounds.size:
            raise too_large(self.url, self.request.bounds.size)

    # What curl calls

    def _write(self, data: bytes) -> int:
        try:
            self._receive(data)
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self._failure = error
            return -1
        return len(data)

    def _receive(self, data: bytes) -> None:
        size = self.request.bounds.size
        if self._response is None:
            response = self._complete_head()
            if self._leads_on(response):
                return
            self._deliver(response)
        self._received += len(data)
        if self._received > size:
            raise too_large(self.url, size)
        self.request.sink.write(data)

    def _leads_on(self, response: Response) -> bool:
        return response.status in REDIRECTS and response.status not in self.request.accept

    def _open(self, _purpose: int, address: Any) -> Any:
        """Open a socket, unless the request may not connect to that address."""
        if self.request.public and not self._allow(str(address.addr[0])):
            return pycurl.SOCKET_BAD
        self._sockets.append(socket.socket(address.family, address.socktype, address.protocol))
        return self._sockets[-1]

    def _before(self, address: str, *_: object) -> int:
        """Check the address of a connection again, which may have been opened for another request."""
        allowed = not self.request.public or self._allow(address)
        return int(pycurl.PREREQFUNC_OK if allowed else pycurl.PREREQFUNC_ABORT)

    def _allow(self, address: str) -> bool:
        if is_public(address):
            return True
        host = check_url(self.url)[1]
        self._failure = TransportError(
            f"{host} is not requested: only a document names it, and its address {address} is not public"
        )
        return False


def _trust(curl: pycurl.Curl) -> None:
    """Trust the certificates that Python trusts."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        curl.setopt(pycurl.CAINFO, paths.cafile)
    if paths.capath:
        curl.setopt(pycurl.CAPATH, paths.capath)
    if sys.platform in ("win32", "darwin"):  # pragma: no cover
        curl.setopt(pycurl.SSL_OPTIONS, pycurl.SSLOPT_NATIVE_CA)


def _reason(text: str) -> str:
    """Return the reason at the end of an error message of OpenSSL."""
    return ascii(text.rpartition("verify result: ")[2].rpartition("::")[2].partition(" (")[0])[1:-1]
