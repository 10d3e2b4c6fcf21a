"""A host that says of a Source's resources what it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Lock, Thread
from time import sleep
from typing import Any

from tests.check.documents import Files, lay
from tests.support.servers import Server

Headers = dict[str, dict[str, str]]
"""Headers by the path, and by the name of the header; a path that is not named has those that any host sends."""


class Host(Server):
    """Serves a folder; `most` is the greatest number of requests that it answered at once, `count` that of all."""

    headers: Headers
    delay = 0.0
    most = 0
    now = 0
    count = 0
    lock = Lock()


class _Handler(SimpleHTTPRequestHandler):
    server: Host

    def do_GET(self) -> None:
        """Answer, and count who else is being answered."""
        with self.server.lock:
            self.server.now += 1
            self.server.count += 1
            self.server.most = max(self.server.most, self.server.now)
        # The longer the name, the later the answer: so they come in another order than they were asked for.
        sleep(self.server.delay * (20 - len(self.path) % 20))
        with self.server.lock:
            self.server.now -= 1  # before the answer: who has that may ask again at once
        super().do_GET()

    def end_headers(self) -> None:
        """Say what this host was told to."""
        for name, value in self._told().items():
            if name != "Content-Type":
                self.send_header(name, value)
        super().end_headers()

    def guess_type(self, path: Any) -> str:
        """Return the media type that this host was told to, or the usual one."""
        return self._told().get("Content-Type") or super().guess_type(path)

    def _told(self) -> dict[str, str]:
        return self.server.headers.get(self.path, {})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing."""


@contextmanager
def serving(folder: Path, headers: Headers | None = None, delay: float = 0.0) -> Iterator[Host]:
    """Serve a folder, with an answer later by up to 20 times `delay` (seconds)."""
    folder.mkdir(parents=True, exist_ok=True)
    with Host(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) as server:
        server.headers, server.delay = headers or {}, delay
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def hosted(folder: Path, headers: Headers | None = None, changed: Files | None = None) -> Iterator[str]:
    """Serve the Source under an address of its own, which all documents name; give that address."""
    with serving(folder, headers) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        lay(folder, {**(changed or {})}, f"{address}/")
        yield address
