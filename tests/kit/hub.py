"""A WebSub hub for tests, written after the recommendation of the W3C.

Use it as the manner of a live site: `with live(Hub()) as site`. It takes the thin ping of public hubs
(`hub.mode=publish`, `hub.url`) and the fat one of Change Notification 1.0.1, §4.1: the notification itself, with the
topic in a `Link` header.
"""

import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from threading import Condition, Lock, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from tests.kit.live import Ask

_open = build_opener(ProxyHandler({})).open


@dataclass
class Subscription:
    """Who gets what is sent to a topic: the callback, its secret, and when the lease ends."""

    callback: str
    topic: str
    secret: str
    ends: float


@dataclass
class Published:
    """What a publisher sent: a fat ping has a body."""

    topic: str
    body: bytes | None
    headers: dict[str, str]


@dataclass
class Hub:
    """A hub: its subscriptions, what publishers sent, and the statuses with which subscribers answered.

    `method` is how it signs. `lease` is what it grants, at most. `verifies` may be `before` it answers a request to
    subscribe, `after` it, or `never`. With `down` it answers 503.
    """

    method: str = "sha256"
    lease: int = 3600
    verifies: str = "after"
    down: bool = False
    url: str = ""
    subscriptions: dict[tuple[str, str], Subscription] = field(default_factory=dict)
    published: list[Published] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    turned_away: list[bytes] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)

    def __call__(self, ask: Ask) -> None:
        """Answer a subscriber or a publisher."""
        self.url = f"http://{ask.headers['Host']}/{ask.path}"
        body = ask.handler.rfile.read(int(ask.headers["Content-Length"] or 0))
        if self.down:
            self._note(self.turned_away, body)
            ask.send(503, b"")
        elif ask.headers["Content-Type"] == "application/x-www-form-urlencoded":
            self._take_form(ask, {name: values[0] for name, values in parse_qs(body.decode()).items()})
        else:
            self._take_fat(ask, body)

    def wait(self, done: Callable[[], Any], seconds: float = 20) -> None:
        """Wait until something is true of this hub."""
        with self.changed:
            assert self.changed.wait_for(done, seconds), (self.asked, self.answers)

    def deliver(self, topic: str, body: bytes, **headers: str) -> None:
        """Deliver something to the subscribers of a topic; headers replace those that it usually has."""
        for each in [*self.subscriptions.values()]:
            if each.topic == topic and each.ends > time.monotonic():
                self._deliver(each, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def verify(self, callback: str, **values: str) -> tuple[int, bytes]:
        """Ask a callback for its intent; return the status and the body of its answer."""
        query = urlencode({f"hub.{name}": value for name, value in values.items()})
        return call(f"{callback}{'&' if '?' in callback else '?'}{query}")

    # What it is asked for

    def _take_form(self, ask: Ask, form: dict[str, str]) -> None:
        mode = form.get("hub.mode")
        if mode == "publish" and (topic := form.get("hub.url") or form.get("hub.topic")):
            self._note(self.published, Published(topic, None, dict(ask.headers)))
            ask.send(204, b"")
            status, body = call(topic)
            if status == 200:
                self.deliver(topic, body)
        elif mode in ("subscribe", "unsubscribe") and {"hub.topic", "hub.callback"} <= form.keys():
            self._note(self.asked, form)
            if self.verifies == "before":
                self._take_intent(form)
            ask.send(202, b"")
            if self.verifies == "after":
                Thread(target=self._take_intent, args=(form,), daemon=True).start()
        else:
            ask.send(400, b"")

    def _take_fat(self, ask: Ask, body: bytes) -> None:
        links = ask.headers["Link"] or ""
        topics = [each.partition(">")[0].strip(" <") for each in links.split(",") if 'rel="self"' in each]
        if len(topics) != 1 or 'rel="hub"' not in links or ask.headers["Content-Type"] != "application/xml":
            ask.send(400, b"")
            return
        self._note(self.published, Published(topics[0], body, dict(ask.headers)))
        ask.send(200, b"")
        self.deliver(topics[0], body)

    def _take_intent(self, form: dict[str, str]) -> None:
        """Ask whether that is what the subscriber wants, and if so, do it."""
        mode, topic, callback = form["hub.mode"], form["hub.topic"], form["hub.callback"]
        lease = min(self.lease, int(form.get("hub.lease_seconds", self.lease)))
        challenge = token_hex(16)
        granted = {"lease_seconds": str(lease)} if mode == "subscribe" else {}
        status, body = self.verify(callback, mode=mode, topic=topic, challenge=challenge, **granted)
        if status // 100 != 2 or body != challenge.encode():
            return
        with self.changed:
            if mode == "subscribe":
                ends = time.monotonic() + lease
                self.subscriptions[callback, topic] = Subscription(callback, topic, form.get("hub.secret", ""), ends)
            else:
                self.subscriptions.pop((callback, topic), None)
            self.changed.notify_all()

    # What it delivers

    def _deliver(self, to: Subscription, body: bytes, headers: dict[str, str]) -> None:
        usual = {"Content-Type": "application/xml", "Link": f'<{to.topic}>; rel="self", <{self.url}>; rel="hub"'}
        if to.secret:
            signature = hmac.new(to.secret.encode(), body, self.method).hexdigest()
            usual["X-Hub-Signature"] = f"{self.method}={signature}"
        self._note(self.answers, call(to.callback, body, usual | headers)[0])

    def _note(self, where: list[Any], what: object) -> None:
        with self.changed:
            where.append(what)
            self.changed.notify_all()


def call(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Make a request; return the status and the body of the answer, or 0 if there is none."""
    try:
        with _open(Request(url, body, headers or {}), timeout=10) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return 0, b""


# --- A small server that keeps the rules of IndexNow, as its documentation states them


@dataclass
class IndexNow:
    """What it was told, request by request; and the answers that come first, each a status and headers."""

    told: list[list[str]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    first: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, ask: Ask) -> None:
        """Answer a request."""
        body = ask.handler.rfile.read(int(ask.headers["Content-Length"] or 0))
        with self.lock:
            if self.first:
                status, headers = self.first.pop(0)
            else:
                status, headers = self._judge(ask, body), {}
            (self.told.append(json.loads(body)["urlList"]) if status in (200, 202) else self.refused.append(status))
        ask.send(status, b"", **headers)

    def _judge(self, ask: Ask, body: bytes) -> int:
        if ask.handler.command != "POST" or ask.headers["Content-Type"] != "application/json; charset=utf-8":
            return 400
        content = json.loads(body)
        urls, location, key = content["urlList"], urlsplit(content["keyLocation"]), content["key"]
        if not urls or len(urls) > 10_000 or len(set(urls)) < len(urls):
            return 400
        folder = location.path.rpartition("/")[0] + "/"
        if location.netloc != content["host"] or not all(
            urlsplit(each).netloc == content["host"] and urlsplit(each).path.startswith(folder) for each in urls
        ):
            return 422
        try:
            with _open(content["keyLocation"], timeout=5) as answer:
                return 200 if answer.read().decode() == key else 403
        except OSError:
            return 403
