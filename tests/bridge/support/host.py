"""The living repository on the web: what was published of it one evening, and beside it the repository's own files."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from tests.bridge.support.garden import NUMBERS, served_bytes
from tests.bridge.support.living import Standing
from tests.support.servers import Server

#: Where the repository's REST server answers with files, below the address.
SERVER = "/server"
CONTENT = f"{SERVER}/api/core/bitstreams/"


class Host:
    """What is served at an address: the folder of one evening, and the files that stand then and no other."""

    def __init__(self) -> None:
        """Serve nothing yet."""
        self.address = ""
        self.folder = Path()
        self.stands: Standing | None = None

    def turn_to(self, folder: Path, stands: Standing) -> None:
        """Serve another evening."""
        self.folder, self.stands = folder, stands

    def content(self, path: str) -> bytes | None:
        """Return the bytes of a file at its path, `None` where there is none for everybody."""
        number = NUMBERS.get(path.removeprefix(CONTENT).removesuffix("/content"))
        public = self.stands is not None and number is not None and number in self.stands.listed
        return served_bytes(number, self.stands.at) if public and self.stands and number is not None else None


@contextmanager
def hosted() -> Iterator[Host]:
    """Yield a host at an address of its own."""
    host = Host()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
            """Say nothing."""

        def translate_path(self, path: str) -> str:
            """Find a file in the folder of the evening."""
            self.directory = str(host.folder)
            return super().translate_path(path)

        def do_GET(self) -> None:
            """Answer as the repository, or as the folder."""
            path = urlsplit(self.path).path
            if not path.startswith(CONTENT):
                super().do_GET()
                return
            data = host.content(path)
            if data is None:
                self.send_error(401)
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/pdf")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with Server(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            host.address = f"http://127.0.0.1:{server.server_address[1]}"
            yield host
        finally:
            server.shutdown()
            thread.join()
