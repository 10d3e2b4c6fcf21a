"""A bucket on loopback: moto's S3 server, which serves the bucket to the public, too, and can be slow or fail."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock, Thread
from typing import Any
from urllib.request import Request, urlopen

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

from pelican_resourcesync.http import buckets

#: How clients of the object store are told where it is, and who they are.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
_SIGNED = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request"
_PREFIX = "site"


@dataclass
class BucketServer:
    """The server: at `url` it serves the site in the bucket at `bucket`, and counts requests to the store by method.

    `fault` may answer a request to the store in place of it: its result is the status, or 0. `deaf` does so after the
    store has done what was asked. `missing` are the files that the public asked for in vain.
    """

    store: Any = field(default_factory=lambda: DomainDispatcherApplication(create_backend_app))
    url: str = ""
    bucket: str = f"s3://bucket/{_PREFIX}"
    requests: Counter[str] = field(default_factory=Counter)
    fault: Callable[[str, str], int] = lambda _method, _path: 0
    deaf: Callable[[str, str], int] = lambda _method, _path: 0
    conditional: Lock = field(default_factory=Lock)
    missing: list[str] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request: of a client of the store, or of the public for a file in the bucket."""
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if "HTTP_AUTHORIZATION" not in environ:
            index = "index.html" if path.endswith("/") else ""
            environ |= {
                "HTTP_AUTHORIZATION": _SIGNED,
                "PATH_INFO": f"/bucket/{_PREFIX}{path}{index}",
                "QUERY_STRING": "",
            }
            raw = environ["RAW_URI"].partition("?")[0]
            environ["RAW_URI"] = environ["REQUEST_URI"] = f"/bucket/{_PREFIX}{raw}{index}"
            return self.store(environ, self._noting(path, start))  # type: ignore[no-any-return]
        self.requests[method] += 1
        status = self.fault(method, path)
        if status:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(f"{status} Fault", [("Content-Length", "0")])
            return []
        answer: list[Any] = []
        # moto compares and writes in two steps.
        with self.conditional if "HTTP_IF_MATCH" in environ or "HTTP_IF_NONE_MATCH" in environ else nullcontext():
            body = b"".join(self.store(environ, lambda *head: answer.extend(head)))
        if status := self.deaf(method, path):
            answer, body = [f"{status} Fault", [("Content-Length", "0")]], b""
        start(*answer[:2])
        return [body]

    def contents(self) -> dict[str, bytes]:
        """Return the files in the bucket."""
        keys = self._bucket().keys
        return {name.removeprefix(f"{_PREFIX}/"): bytes(keys[name].value) for name in [*keys]}

    def put(self, path: str, data: bytes) -> None:
        """Write a file into the bucket, as another program does."""
        s3_backends["123456789012"]["aws"].put_object("bucket", f"{_PREFIX}/{path}", data)

    def delete(self, path: str) -> None:
        """Delete a file from the bucket, as another program does."""
        s3_backends["123456789012"]["aws"].delete_object("bucket", f"{_PREFIX}/{path}")

    def snapshot(self) -> dict[str, Any]:
        """Return what is in the bucket, with what the store knows of it."""
        keys = self._bucket().keys
        return {name: (bytes(key.value), dict(key.metadata), key.last_modified) for name, key in keys.items()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Let the bucket be as it was, and requests have no faults."""
        self.fault = self.deaf = lambda _method, _path: 0
        store = s3_backends["123456789012"]["aws"]
        for name in self._bucket().keys.keys() - snapshot:
            store.delete_object("bucket", name)
        for name, (data, metadata, modified) in snapshot.items():
            key = store.put_object("bucket", name, data)
            key.set_metadata(metadata)
            key.last_modified = modified

    def age(self, but: str, seconds: float = 60) -> None:
        """Let all files but one, if it is named, be written earlier."""
        for name, key in self._bucket().keys.items():
            if not (but and name.endswith(but)):
                key.last_modified -= timedelta(seconds=seconds)

    def _bucket(self) -> Any:
        return s3_backends["123456789012"]["aws"].buckets["bucket"]

    def _noting(self, name: str, start: Callable[..., Any]) -> Callable[..., Any]:
        def begin(status: str, headers: Any, *rest: Any) -> Any:
            if not status.startswith(("2", "304")):
                self.missing.append(name)
            return start(status, headers, *rest)

        return begin


class _Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def bucket_server(monkeypatch: Any) -> Iterator[BucketServer]:
    """Serve an empty bucket, and set the environment that leads clients to it."""
    server = BucketServer()
    s3_backends["123456789012"]["aws"].reset()  # one for all servers of a process
    buckets._bucket.cache_clear()  # each server has another port
    http = make_server("127.0.0.1", 0, server, threaded=True, request_handler=_Silent)
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": server.url}.items():
        monkeypatch.setenv(name, value)
    try:
        urlopen(Request(f"{server.url}/bucket", method="PUT", headers={"Authorization": _SIGNED})).close()
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def unreliable(dice: random.Random, share: float, seconds: float = 0.0) -> Callable[[str, str], int]:
    """Return a fault: some requests are answered with 503, and others late."""

    def fault(_method: str, _path: str) -> int:
        if dice.random() < share:
            return 503
        time.sleep(dice.random() * seconds)
        return 0

    return fault
