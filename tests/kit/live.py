"""A live site on loopback, which answers as static hosts do, well and badly."""

import gzip
import mimetypes
import socket
import ssl
import subprocess
from _thread import start_new_thread
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import unquote

TYPES = {".json": "application/json", ".xml": "application/xml", ".html": "text/html; charset=utf-8"}
PAGE = b"<!DOCTYPE html>\n<title>The museum</title>\n<div id=app></div>\n"


@dataclass
class Ask:
    """One request: the path without the query, what the query is, the headers, and how often it was asked before.

    `site` is the scheme and host that a proxy was asked for.
    """

    site: str
    path: str
    query: str
    headers: Message
    before: int
    handler: "_Handler"

    def send(self, status: int, data: bytes, **headers: str) -> None:
        """Answer; headers are written with `_` for `-`, and an empty one is left out."""
        self.begin(status, **{"Content_Length": str(len(data)), **headers})
        if self.handler.command != "HEAD":
            self.write(data)

    def begin(self, status: int, **headers: str) -> None:
        """Answer with a head alone."""
        self.handler.send_response(status)
        for name, value in headers.items():
            if value:
                self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.handler.wfile.write(data)
        self.handler.wfile.flush()

    def wait(self, seconds: float) -> None:
        """Let time pass, no longer than the site is live."""
        self.handler.live.ended.wait(seconds)


Manner = Callable[[Ask], None]


@dataclass
class Live:
    """A site: its `manner` of answering, for some paths another, and what was asked of it.

    Or a `proxy`: then these are of whatever sites it is asked for.
    """

    manner: Manner
    manners: dict[str, Manner] = field(default_factory=dict)
    asks: list[Ask] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)
    url: str = ""
    proxy: bool = False
    keep_alive: bool = False
    connections: set[Any] = field(default_factory=set)
    ended: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def answer(self, handler: "_Handler") -> None:
        """Answer one request."""
        path, _, query = handler.path.removeprefix("/").partition("?")
        site = ""
        if self.proxy:
            scheme, _, rest = path.partition("://")
            host, _, path = rest.partition("/")
            site = f"{scheme}://{host}"
        with self.lock:
            ask = Ask(site, path, query, handler.headers, self.times[path], handler)
            self.times[path] += 1
            self.asks.append(ask)
        self.manners.get(path, self.manner)(ask)

    def asked(self) -> Counter[str]:
        """Return how often each path was asked since the last time, and forget it."""
        with self.lock:
            counter = Counter(each.path for each in self.asks)
            self.asks.clear()
            self.times.clear()
        return counter


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each response on a connection that is kept waits for 40 ms
    live: Live

    def do_GET(self) -> None:
        """Answer as the site does; what a manner leaves open is closed, unless the site keeps connections alive."""
        self.live.connections.add(self.client_address)
        self.close_connection = not self.live.keep_alive
        self.live.answer(self)

    do_HEAD = do_POST = do_GET  # noqa: N815 - the names that the base class calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """Answers each request in a thread of its own, which nobody traces.

    While coverage traces others, Python 3.11 may fail to start a thread that is traced, and waits for it for ever.
    """

    daemon_threads = True
    request_queue_size = 128  # a connection that finds no place is tried again a second later

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request beside others."""
        start_new_thread(self.process_request_thread, (request, client_address))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that has seen enough hangs up."""


@contextmanager
def live(
    manner: Manner, certificate: Path | None = None, *, proxy: bool = False, address: str = "127.0.0.1"
) -> Iterator[Live]:
    """Let a site be live; with a certificate, over TLS; as a proxy, those that it is asked for."""
    site = Live(manner, proxy=proxy)
    handler = type("_Handler", (_Handler,), {"live": site})
    with _Server((address, 0), handler) as server, ExitStack() as stack:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = stack.enter_context(context.wrap_socket(server.socket, server_side=True))
        site.url = f"http{'s' if certificate else ''}://{address}:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.ended.set()
            server.shutdown()
            thread.join()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve `folder`, which may come into being later, as any static host does; give its address without a slash."""
    with live(static(folder)) as site:
        yield site.url


def closed_port() -> int:
    """Return a port of loopback where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def self_signed(folder: Path, openssl: str) -> Path:
    """Make a certificate of 127.0.0.1 that signs itself, with its key, in one file."""
    file = folder / "certificate.pem"
    key = folder / "key.pem"
    subject = ["-days", "2", "-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1"]
    usage = ["-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
    made = ["-newkey", "rsa:2048", "-noenc", "-keyout", str(key), "-out", str(file)]
    command = [openssl, "req", "-x509", *made, *subject, *usage]
    subprocess.run(command, check=True, capture_output=True)
    file.write_bytes(key.read_bytes() + file.read_bytes())
    return file


# Manners of whole sites


def files(folder: Path) -> Manner:
    """Answer with the files of a folder as they are at that moment; 404 where there is none."""

    def answer(ask: Ask) -> None:
        file = folder / ask.path
        if file.is_file():
            ask.send(200, file.read_bytes(), Content_Type=TYPES.get(file.suffix, "application/octet-stream"))
        else:
            ask.send(404, PAGE, Content_Type="text/html")

    return answer


def static(folder: Path, headers: Mapping[str, Mapping[str, str]] | None = None) -> Manner:
    """Answer with the files of a folder, and the index of folders in it, as static hosts do; for some paths otherwise.

    `headers` are by path, or of all as `*`, and replace those of the same name.
    """

    def answer(ask: Ask) -> None:
        path = unquote(ask.path)
        file = folder / (f"{path}index.html" if not path or path.endswith("/") else path)
        if not file.is_file():
            ask.send(404, PAGE, Content_Type="text/html")
            return
        modified = formatdate(file.stat().st_mtime, usegmt=True)
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        usual = {"Content-Type": kind, "Last-Modified": modified}
        own = headers or {}
        ask.send(200, file.read_bytes(), **{**usual, **own.get("*", {}), **own.get(ask.path, {})})

    return answer


def no_dot_folders(manner: Manner) -> Manner:
    """Answer 404 below dot-folders, as hosts do that leave them out."""
    return lambda ask: (status(404) if ask.path.startswith(".") else manner)(ask)


def hosts(manners: dict[str, Manner]) -> Manner:
    """Answer for several sites as a proxy does, each in its own manner; of others it knows nothing."""

    def answer(ask: Ask) -> None:
        manners.get(ask.site, status(502))(ask)

    return answer


def page(ask: Ask) -> None:
    """Answer every path with a page, as hosts of single-page applications do."""
    ask.send(200, PAGE, Content_Type="text/html; charset=utf-8")


def front(page: bytes, others: Manner) -> Manner:
    """Answer with a front page, and in one manner for all other paths."""
    return lambda ask: (others if ask.path else content(page, Content_Type="text/html"))(ask)


def first(times: int, manner: Manner, then: Manner) -> Manner:
    """Answer the first requests of each path in one manner, and later ones in another."""
    return lambda ask: (manner if ask.before < times else then)(ask)


# Manners of one answer


def status(code: int) -> Manner:
    """Answer with a status and a page."""
    return lambda ask: ask.send(code, PAGE, Content_Type="text/html")


def content(data: bytes, **headers: str) -> Manner:
    """Answer with these bytes and headers."""
    return lambda ask: ask.send(200, data, **headers)


def redirect(location: str, code: int = 302) -> Manner:
    """Lead elsewhere; `{query}` stands for the query asked."""
    return lambda ask: ask.send(code, b"", Location=location.format(query=ask.query))


def zipped(data: bytes) -> Manner:
    """Answer in gzip, though it was not asked for."""
    return content(gzip.compress(data), Content_Encoding="gzip")


def truncated(data: bytes, missing: int = 1) -> Manner:
    """Promise more bytes than come."""
    return content(data, Content_Length=str(len(data) + missing))


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", **headers: str) -> Manner:
    """Answer in chunks, without the length of all."""

    def answer(ask: Ask) -> None:
        ask.begin(200, Transfer_Encoding="chunked", **headers)
        for chunk in filter(None, chunks):
            ask.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        ask.write(end)

    return answer


def endless(ask: Ask) -> None:
    """Answer with a body that does not end."""
    ask.begin(200)
    while not ask.handler.live.ended.is_set():
        ask.write(bytes(65_536))


def late(seconds: float, manner: Manner) -> Manner:
    """Answer after a while."""

    def answer(ask: Ask) -> None:
        ask.wait(seconds)
        manner(ask)

    return answer


def dripping(data: bytes, seconds: float, begin: bytes = b"") -> Manner:
    """Send one byte after another, with a pause before each; the head too, unless the answer begins with some of it."""

    def answer(ask: Ask) -> None:
        head = b"" if begin else b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data)
        ask.write(begin)
        for byte in head + data:
            ask.wait(seconds)
            ask.write(bytes([byte]))

    return answer


def raw(data: bytes) -> Manner:
    """Send these bytes in place of an answer, and hang up."""
    return lambda ask: ask.write(data)
