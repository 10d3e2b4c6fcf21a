"""Answer requests over HTTP, a limited number at once."""

import socket
from contextlib import suppress
from socketserver import ThreadingMixIn
from threading import Lock
from time import monotonic
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

_MOST = 64  # requests at once
_QUEUE = 128  # connections that wait to be accepted


class LimitedServer(ThreadingMixIn, WSGIServer):
    """Serves a WSGI application to a limited number of clients at once.

    For one more, that ends which has not sent its request for the longest time, or else the oldest. So clients that are
    slow cannot keep others out. What a handler does not `note` ends after some seconds.
    """

    daemon_threads = True
    request_queue_size = _QUEUE

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler], seconds: float) -> None:
        """Listen at an address. Raises `OSError` or `OverflowError` if that cannot be used."""
        self.requests: dict[Any, tuple[bool, float]] = {}  # whether each was noted, and since when it is open
        self._seconds, self._lock = seconds, Lock()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def note(self, request: Any) -> None:
        """Note that a request was read, so that its answer may take any time."""
        with self._lock:
            if request in self.requests:
                self.requests[request] = True, monotonic()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread of its own."""
        with self._lock:
            if len(self.requests) >= _MOST:
                self._hang_up(min(self.requests, key=self.requests.__getitem__))
            self.requests[request] = False, monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self.requests.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that take too long: the base class calls this several times a second."""
        with self._lock:
            for request, (is_noted, begin) in [*self.requests.items()]:
                if not is_noted and monotonic() - begin > self._seconds:
                    self._hang_up(request)

    def handle_error(self, *_: object) -> None:
        """Write nothing about a client that hangs up."""

    def _hang_up(self, request: Any) -> None:
        del self.requests[request]
        with suppress(OSError):  # it has ended
            request.shutdown(socket.SHUT_RDWR)
