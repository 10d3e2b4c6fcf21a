"""A folder served over HTTP on loopback, as any static host does."""

from _thread import start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Answers each request in a thread of its own, which nobody traces.

    While coverage traces others, Python 3.11 may fail to start a thread that is traced, and waits for it for ever.
    """

    daemon_threads = True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request beside others."""
        start_new_thread(self.process_request_thread, (request, client_address))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve `folder`, which may come into being later, and give its address without a slash at its end."""
    with Server(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def public_files(output: Path, *private: str) -> dict[str, bytes]:
    """Return the files of an output by path, without ResourceSync's documents, dot files and what is named private."""
    found = {}
    for file in output.rglob("*"):
        path = file.relative_to(output).as_posix()
        if file.is_file() and not path.startswith((".", "resourcesync/")) and path not in private:
            found[path] = file.read_bytes()
    return found


def file_of(uri: str, siteurl: str) -> str:
    """Return the path of the file that a static host answers with for a URI of the site."""
    path = unquote(uri.removeprefix(f"{siteurl}/"))
    return f"{path}index.html" if not path or path.endswith("/") else path
