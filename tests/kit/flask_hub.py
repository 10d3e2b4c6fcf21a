"""A hub that none of us wrote, Flask-WebSub, live on loopback."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from flask import Flask
from flask_websub.hub import Hub, SQLite3HubStorage
from werkzeug.serving import make_server


class _Queue:
    """Does in threads what Flask-WebSub gives to Celery, and nothing again that failed."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool, self.failed = pool, list[BaseException]()

    def task(self, *, bind: bool = False, **_: object) -> Callable[[Callable[..., object]], Any]:
        """Decorate a task."""

        def decorate(function: Callable[..., object]) -> Any:
            function.delay = partial(self._delay, partial(function, self) if bind else function)  # type: ignore[attr-defined]
            return function

        return decorate

    def retry(self, **_: object) -> None:
        """Note that a request failed."""
        self.failed.append(OSError("a subscriber did not answer"))

    def _delay(self, function: Callable[..., object], *arguments: object) -> None:
        def run() -> None:
            try:
                function(*arguments)
            except Exception as error:  # noqa: BLE001 - for the test to show
                self.failed.append(error)

        self._pool.submit(run)


@contextmanager
def flask_hub(folder: Path) -> Iterator[tuple[str, list[BaseException]]]:
    """Run the hub, with its database in a folder; yield its URL, and the errors of its tasks."""
    with ThreadPoolExecutor(4) as pool:
        queue = _Queue(pool)
        app = Flask(__name__)
        app.config["PUBLISH_SUPPORTED"] = True
        hub = Hub(SQLite3HubStorage(str(folder / "hub.sqlite")), queue)
        app.register_blueprint(hub.build_blueprint(url_prefix="/hub"))
        server = make_server("127.0.0.1", 0, app, threaded=True)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.port}/hub", queue.failed
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
