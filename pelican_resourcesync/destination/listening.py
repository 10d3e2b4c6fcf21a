"""Listen to the hubs of a Source (WebSub): what they send is a hint to read the Source now, and nothing else.

Whoever calls is not trusted. Without the signature of a subscription a call does nothing; with it, the next run begins
at once, and reads and verifies the lists as always. So no call changes a copy, and one that is lost costs time only.
"""

import hmac
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from io import BytesIO
from secrets import token_hex, token_urlsafe
from threading import Event, Lock, Thread
from time import monotonic, sleep, time
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode
from wsgiref.simple_server import WSGIRequestHandler

from pelican_resourcesync.errors import DocumentError, PrivateError, SettingsError, TransportError
from pelican_resourcesync.http import Bounds, Client, LimitedServer, Request, origin, shown
from pelican_resourcesync.protocol import Capability, read, unreported
from pelican_resourcesync.system.printable import get_logger

_LEASE = 86_400  # seconds that a hub is asked for
_SHORTEST = 60.0  # seconds between two renewals, whatever a hub grants
_MOST = 100  # subscriptions
_TICK = 1.0  # seconds between two looks at what is due
_QUIET = 60.0  # seconds between two lines about refused calls
_REST = 0.2  # seconds between two runs, however many hints come
_FAREWELL = 5.0  # seconds to unsubscribe
_BOUNDS = Bounds(timeout=5, total=5, size=100_000)
_TAKEN = (200, 201, 202, 204)  # the statuses of a hub that means to verify
_METHODS = ("sha1", "sha256", "sha384", "sha512")
_DIGITS = 8  # of the length of a notification: a document has 50 MB at most
_BLOCK = 65_536  # bytes
_LONGEST_CALL = 10.0  # seconds
_logger = get_logger("pelican_resourcesync")

#: A status with the body of the answer, or with why the call is refused.
_Answer = tuple[HTTPStatus, str]


@dataclass(eq=False, slots=True)
class _Subscription:
    """A subscription: the topic, a request to the hub, and what only that hub knows.

    `asked` is the mode that the hub is to verify, `due` when to ask the hub next, and `ends` when the lease ends, both
    by the clock `monotonic`. `reached` is the time (POSIX) up to which notifications have come.
    """

    topic: str
    hub: Request
    token: str = field(default_factory=lambda: token_urlsafe(24))
    secret: str = field(default_factory=token_hex)
    asked: str = ""
    due: float = 0.0
    ends: float = 0.0
    reached: float = 0.0

    @property
    def key(self) -> tuple[str, str]:
        """The topic, and the URL of the hub."""
        return self.topic, self.hub.url

    def request(self, mode: str, callback: str) -> Request:
        """Return the request that asks the hub to `subscribe` or `unsubscribe`, and to call below a URL."""
        form = {"hub.mode": mode, "hub.topic": self.topic, "hub.callback": f"{callback}/{self.token}"}
        if mode == "subscribe":
            form |= {"hub.lease_seconds": str(_LEASE), "hub.secret": self.secret}
        body, headers = urlencode(form).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
        return replace(self.hub, body=body, headers=headers, bounds=_BOUNDS, accept=_TAKEN, repeated=True)


class Listener:
    """Subscriptions at the hubs of a Source, and the server for their calls, as a WSGI application.

    One thread subscribes, renews and reports; the server has a few more.
    """

    def __init__(self, address: tuple[str, int], callback: str, client: Client, *, every: float) -> None:
        """Listen at an address, which hubs reach at the URL `callback`; what fails is repeated after `every` seconds.

        Raises `SettingsError` if one of the two cannot be used.
        """
        if origin(callback) is None or "?" in callback or "#" in callback:
            message = f"--callback {callback!a}: use the http(s) URL at which hubs reach --listen, without a query"
            raise SettingsError(message)
        try:
            self._server = LimitedServer(address, _Handler, _LONGEST_CALL)
            self._server.set_app(self)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", "") or error
            message = f"--listen: port {address[1]} of {address[0]} cannot be used ({why}): choose another"
            raise SettingsError(message) from error
        self._callback, self._client, self._every = callback.rstrip("/"), client, every
        self._subscriptions: dict[str, _Subscription] = {}  # by their tokens
        self._lock, self._hint, self._woken = Lock(), Event(), Event()
        self._closing = self._informed = False
        self._refused, self._why, self._next_report = 0, "", 0.0
        self._thread = Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(_TICK / 10,), daemon=True).start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Unsubscribe, for some seconds at most, and stop."""
        end, subscriptions = monotonic() + _FAREWELL, self._subscriptions.values()
        with suppress(KeyboardInterrupt):  # who stops it twice is in a hurry
            self._closing = True
            self._woken.set()
            self._thread.join()
            for subscription in subscriptions:
                if (subscription.asked or subscription.ends) and monotonic() < end:
                    self._ask(subscription, "unsubscribe")
            while monotonic() < end and (self._server.requests or any(one.asked for one in subscriptions)):
                sleep(0.02)
        self._server.shutdown()
        self._server.server_close()
        self._client.close()

    def update(self, channels: Sequence[tuple[str, Request]]) -> None:
        """Take the topics of the sets that are read, each with a request to a hub: subscribe to what is new.

        A hub that is no longer named is answered that its subscription is gone.
        """
        if not channels and not self._informed:
            _logger.warning("the Source has no hub, so it is read every %g seconds", self._every)
        self._informed = True
        known = {subscription.key: subscription for subscription in self._subscriptions.values()}
        new = [_Subscription(topic, hub) for topic, hub in channels[:_MOST]]
        subscriptions = {added.key: known.get(added.key, added) for added in new}.values()
        self._subscriptions = {subscription.token: subscription for subscription in subscriptions}
        self._woken.set()

    def wait(self, seconds: float) -> None:
        """Wait until a hub has called since the last time, no longer than some seconds."""
        sleep(min(_REST, seconds))
        self._hint.wait(seconds)
        self._hint.clear()

    # What hubs are asked for

    def _keep(self) -> None:
        """Subscribe, and renew, what is due."""
        while not self._closing:
            for subscription in self._subscriptions.values():
                if subscription.asked and subscription.due <= monotonic():
                    what = "the hub %s has not verified the subscription: make sure that it can reach %s"
                    _logger.warning(what, shown(subscription.hub.url), self._callback)
                if subscription.due <= monotonic() and not self._closing:
                    self._ask(subscription, "subscribe")
            self._report()
            self._woken.wait(_TICK)
            self._woken.clear()

    def _ask(self, subscription: _Subscription, mode: str) -> None:
        subscription.asked, subscription.due = mode, monotonic() + self._every
        try:
            self._client.get(subscription.request(mode, self._callback))
        except TransportError as error:
            subscription.asked = ""
            advice = ": if you trust the Source, add --allow-private" if isinstance(error, PrivateError) else ""
            _logger.warning("the hub cannot be asked to %s now: %s%s", mode, error, advice)

    def _report(self) -> None:
        """Log how many calls were refused, once a minute at most: whoever calls could fill the disk."""
        if self._refused and monotonic() >= self._next_report:
            with self._lock:
                refused, self._refused = self._refused, 0
            self._next_report = monotonic() + _QUIET
            _logger.warning("refused calls to the callback: %s; the last one: %s", f"{refused:,}", self._why)

    # What hubs say

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a call; who is refused is not told why."""
        status, text = self._answer(environ)
        if status is not HTTPStatus.OK:
            with self._lock:
                self._refused, self._why, text = self._refused + 1, text, ""
        body = text.encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    def _answer(self, environ: dict[str, Any]) -> _Answer:
        subscription = self._subscriptions.get(environ["PATH_INFO"].rpartition("/")[2])
        if subscription is None:
            return HTTPStatus.GONE, "it belongs to no subscription"
        if environ["REQUEST_METHOD"] == "GET":
            return self._verify(subscription, dict(parse_qsl(environ.get("QUERY_STRING", ""))))
        if environ["REQUEST_METHOD"] == "POST":
            return self._take(subscription, environ)
        return HTTPStatus.METHOD_NOT_ALLOWED, "it is neither GET nor POST"

    def _verify(self, subscription: _Subscription, given: dict[str, str]) -> _Answer:
        """Return the challenge of a hub if it verifies what it was asked for."""
        mode, granted = given.get("hub.mode", ""), given.get("hub.lease_seconds", "")
        with self._lock:
            if not mode or given.get("hub.topic") != subscription.topic or mode not in ("denied", subscription.asked):
                return HTTPStatus.NOT_FOUND, "it verifies a subscription that was not requested"
            now, before = monotonic(), subscription.ends
            subscription.asked, subscription.ends, subscription.due = "", 0.0, now + self._every
            if mode == "denied":
                return HTTPStatus.ACCEPTED, f"{shown(subscription.hub.url)} denies the subscription"
            if mode == "subscribe":
                lease = min(int(granted[:9]), _LEASE) if granted.isdecimal() else _LEASE
                subscription.ends, subscription.due = now + lease, now + max(lease / 2, _SHORTEST)
                if before <= now:
                    self._hint.set()  # for what happened before
        return HTTPStatus.OK, given.get("hub.challenge", "")

    def _take(self, subscription: _Subscription, environ: dict[str, Any]) -> _Answer:
        """Take a notification: if it is genuine and new, it is a hint."""
        length, links = environ.get("CONTENT_LENGTH") or "", environ.get("HTTP_LINK", "")
        if not length.isdecimal() or len(length) > _DIGITS:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "its length is too large, or unknown"
        method, _, given = environ.get("HTTP_X_HUB_SIGNATURE", "").partition("=")
        if method not in _METHODS:
            return HTTPStatus.FORBIDDEN, "it has no signature"
        left, found, head = int(length), hmac.new(subscription.secret.encode(), digestmod=method), b""
        while left and (data := environ["wsgi.input"].read(min(left, _BLOCK))):
            found.update(data)
            head, left = head or data, left - len(data)
        if left or not hmac.compare_digest(found.hexdigest().encode(), given.lower().encode("latin-1")):
            return HTTPStatus.FORBIDDEN, "its signature is wrong"
        if links and f"<{subscription.topic}>" not in links:
            return HTTPStatus.FORBIDDEN, "it is about another topic"
        until = _until(head)
        with self._lock:  # what is repeated, or late, says nothing new: the lists have been read since
            if not until or until > subscription.reached:
                subscription.reached = min(until or subscription.reached, time())
                self._hint.set()
        return HTTPStatus.OK, ""


def _until(head: bytes) -> float:
    """Return the time at the end of a notification that begins like this; 0 if it is not one."""
    try:
        md = read(BytesIO(head), name="the notification", left_out=unreported).md
    except DocumentError:
        return 0.0
    return md.until.timestamp() if md and md.until and md.capability == Capability.CHANGE_NOTIFICATION else 0.0


class _Handler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Write nothing: `Listener` counts."""
