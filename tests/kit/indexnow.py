"""A small server that keeps the rules of IndexNow, as its documentation states them."""

import json
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from tests.kit.live import Ask

_open = build_opener(ProxyHandler({})).open


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
