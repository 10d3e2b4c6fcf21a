"""The files below a URL, fetched past caches and hashed as they arrive, a store for them, and the links in a page."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import BinaryIO
from urllib.parse import quote, urljoin

from pelican_resourcesync.errors import AbsentError, MismatchError
from pelican_resourcesync.files import link_or_copy, measure
from pelican_resourcesync.http.client import Client, Headers, Request, Response, new_client
from pelican_resourcesync.http.limits import STANDARD_BOUNDS, Bounds, Budget
from pelican_resourcesync.http.urls import check_base

_PAST_CACHES = {"Cache-Control": "no-cache", "Pragma": "no-cache"}
_HEAD = 512
#: As many connections as a browser opens to one host: documents are small, so round trips take most of the time.
_AT_ONCE = 6
# All quantifiers are possessive, so that matching takes linear time whatever a host sends.
_LINK = re.compile(r"<([^<>]*+)>((?:\s*+;\s*+[\w*-]++\s*+(?:=\s*+(?:\"[^\"]*+\"|[^\s\";,]*+))?+)*+)")
_REL = re.compile(r";\s*+rel\s*+=\s*+(?:\"([^\"]*+)\"|([^\s\";,]*+))", re.IGNORECASE)

#: How much of a page is parsed, in bytes: the head is at the beginning, and some pages are slow to parse on purpose.
_PAGE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What was received: SHA-256 (hexadecimal), length in bytes, media type and the first bytes, at most 512.

    `date` is the time by the host's clock, if it says so.
    """

    digest: str
    length: int
    media_type: str
    head: bytes
    date: datetime | None = field(default=None, compare=False)

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page, which some hosts return for any path."""
        start = self.head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
        return self.media_type in ("text/html", "application/xhtml+xml") or start.startswith(
            (b"<!doctype html", b"<html")
        )


class Web:
    """The files below a URL, requested past caches.

    Redirects are followed only on the same host. Every failure raises `TransportError`; two subclasses, `AbsentError`
    and `NoHostError`, mean that nothing is there.
    """

    def __init__(self, base: str, bounds: Bounds = STANDARD_BOUNDS, client: Client | None = None) -> None:
        """Take an http(s) URL, the `bounds` for each file, and a client, by default one that uses proxies.

        Raises `TransportError` if it is not an http(s) URL, or has a user, a query or a fragment.
        """
        check_base(base)
        self.base = base.rstrip("/")
        self.bounds = bounds
        self._client = client or new_client(proxies=True)

    def url(self, path: str) -> str:
        """Return the URL of the file at a path."""
        return f"{self.base}/{quote(path)}"

    def read(self, path: str, bounds: Bounds | None = None) -> tuple[Received, bytes]:
        """Fetch a small file, and return what was received with its bytes."""
        stream = BytesIO()
        return self._receive(path, stream, bounds or self.bounds), stream.getvalue()

    def save(self, path: str, file: Path, bounds: Bounds | None = None) -> Received:
        """Fetch a file and write it to `file`; if the transfer fails, the incomplete file is left there."""
        with file.open("wb") as stream:
            return self._receive(path, stream, bounds or self.bounds)

    def visit(
        self, url: str, stream: BinaryIO, *, public: bool = True, bounds: Bounds | None = None
    ) -> tuple[Received, Headers]:
        """Fetch any http(s) URL exactly as given, write it to `stream`, and return what was received with its headers.

        If `public` is True, loopback, private and link-local addresses are refused; use this for URLs from documents
        rather than from the user.
        """
        sink = _Hashing(stream)
        request = Request(url=url, sink=sink, headers=_PAST_CACHES, bounds=bounds or self.bounds, public=public)
        response = self._client.get(request)
        return sink.received(response), response.headers

    def _receive(self, path: str, stream: BinaryIO, bounds: Bounds) -> Received:
        url = f"{self.url(path)}?resourcesync={token_hex(8)}"
        return self.visit(url, stream, public=False, bounds=bounds)[0]


class _Hashing:
    """Writes to a stream what it receives, and keeps its hash, length and first bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self._length = 0
        self._head = b""

    def begin(self, response: Response) -> None:
        """Need nothing of the head."""

    def write(self, data: bytes) -> None:
        self._hash.update(data)
        self._length += len(data)
        if len(self._head) < _HEAD:
            self._head += data[: _HEAD - len(self._head)]
        self._stream.write(data)

    def received(self, response: Response) -> Received:
        digest = self._hash.hexdigest()
        date = response.headers.time("Date")
        return Received(digest=digest, length=self._length, media_type=response.media_type, head=self._head, date=date)


class Store:
    """Files in a folder of their own, each named by its SHA-256, which is always verified.

    Downloads are written to disk as they arrive, and existing files are hard-linked if the file system supports it, so
    that large files take little memory and no disk space twice.
    """

    def __init__(self, web: Web, folder: Path) -> None:
        """Take the web client, and an existing empty folder."""
        self._web = web
        self._folder = folder
        self._lock = Lock()
        self.received = 0

    def read(self, path: str, budget: Budget, size: int) -> tuple[Received, bytes]:
        """Fetch and return a small file of at most `size` bytes; its contents are not verified, and it is not kept."""
        received, data = self._web.read(path, budget.bounds(size))
        budget.take(received.length)
        return received, data

    def adopt(self, files: Mapping[str, str], folder: Path) -> None:
        """Add those of the files that a folder already has; `files` maps paths to SHA-256 hashes."""
        for path, digest in files.items():
            if not self.has(digest):
                with suppress(OSError):  # a file that cannot be read counts as missing
                    self._keep(folder / path, digest)

    def gather(self, files: Mapping[str, str], budget: Budget, optional: Collection[str] = ()) -> None:
        """Fetch the missing files, within a budget; the `optional` ones need not exist.

        Of several files with the same bytes, only the last is requested.

        Raises `MismatchError` if any other file does not exist or has the wrong contents; files fetched until then are
        kept.
        """
        wanted = {digest: path for path, digest in files.items() if not self.has(digest)}

        def fetch(digest: str, path: str) -> None:
            with suppress(*([MismatchError] if path in optional else [])):
                self._fetch(path, digest, budget)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(fetch, wanted.keys(), wanted.values()):
                pass

    def lay_out(self, files: Mapping[str, str], folder: Path) -> None:
        """Move the files that were collected to their paths below a folder."""
        left = Counter(files.values())
        for path, digest in files.items():
            if self.has(digest):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(self._folder / digest, target)
                left[digest] -= 1
                if not left[digest]:
                    (self._folder / digest).unlink()

    def has(self, digest: str) -> bool:
        """Return whether the store has the file with a SHA-256."""
        return (self._folder / digest).exists()

    def _keep(self, file: Path, digest: str) -> None:
        """Add a file if it has the right hash, which is checked after the file was linked or copied here."""
        taken = self._folder / f"{digest}.known"  # never the name used for downloads, because this may be a link
        taken.unlink(missing_ok=True)
        link_or_copy(file, taken)
        if measure(taken)[0] == digest:
            taken.replace(self._folder / digest)

    def _fetch(self, path: str, digest: str, budget: Budget) -> None:
        file = self._folder / f"{digest}.part"
        try:
            received = self._web.save(path, file, budget.bounds())
        except AbsentError as error:
            raise MismatchError(str(error)) from error
        budget.take(received.length)
        if received.digest != digest:
            message = f"{self._web.url(path)} is {'an HTML page' if received.is_html else 'another file'}"
            raise MismatchError(message)
        file.replace(self._folder / digest)
        with self._lock:
            self.received += 1


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and "resourcesync" in given.get("rel", "").lower().split() and given.get("href"):
            self.found.append(given["href"].strip())

    handle_startendtag = handle_starttag


def links_of_page(data: bytes, uri: str) -> list[str]:
    """Return the targets of the `rel=resourcesync` links in an HTML page (DI02)."""
    parser = _Links()
    try:
        parser.feed(data[:_PAGE].decode("utf-8", "replace"))
    except (AssertionError, ValueError):  # raised by Python's parser for declarations that it cannot read
        return []
    return _absolute(uri, parser.found)


def links_of_headers(headers: Headers, uri: str) -> list[str]:
    """Return the targets of the `Link` headers with `rel=resourcesync` (DI03)."""
    found = []
    for value in headers.get_all("Link"):
        for target, parameters in _LINK.findall(value[:65_536]):
            rel = _REL.search(parameters)
            if rel and "resourcesync" in (rel[1] or rel[2] or "").lower().split():
                found.append(target.strip())
    return _absolute(uri, found)


def _absolute(uri: str, links: list[str]) -> list[str]:
    absolute = []
    for link in links:
        try:
            absolute.append(urljoin(uri, link))
        except ValueError:
            absolute.append(link)
    return absolute
