"""The files below a URL, fetched past caches and hashed as they arrive, and the links in a page."""

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO
from urllib.parse import quote, urljoin

from pelican_resourcesync.errors import PermanentError
from pelican_resourcesync.http.client import STANDARD_BOUNDS, Bounds, Client, Headers, Request, Response, Sink
from pelican_resourcesync.http.urls import is_url, origin, shown
from pelican_resourcesync.version import USER_AGENT

_PAST_CACHES = {"Cache-Control": "no-cache", "Pragma": "no-cache"}
_HEAD = 512
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
        return looks_like_page(self.head, self.media_type)


def looks_like_page(head: bytes, media_type: str) -> bool:
    """Return whether bytes that begin like this are an HTML page."""
    start = head[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return media_type in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype html", b"<html"))


class Web:
    """The files below a URL, requested past caches.

    Redirects are followed only on the same host. Every failure raises `TransportError`; two subclasses, `AbsentError`
    and `NoHostError`, mean that nothing is there.
    """

    def __init__(self, base: str, bounds: Bounds = STANDARD_BOUNDS, client: Client | None = None) -> None:
        """Take an http(s) URL, the `bounds` for each file, and a client, by default one that uses proxies.

        Raises `TransportError` if it is not an http(s) URL, or has a user, a query or a fragment.
        """
        if origin(base) is None or "?" in base or "#" in base:
            seen = shown(base.rpartition("@")[2])  # a password may contain slashes
            message = f"{seen!a} must be an http(s) URL without a user name, query or fragment"
            raise PermanentError(message)
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

    def save(self, path: str, file: Path, bounds: Bounds | None = None, digest: str = "") -> Received:
        """Fetch a file and write it to `file`; if the transfer fails, the incomplete file is left there.

        If its SHA-256 is known, the `digest`, it decides whether what comes encoded is decoded.
        """
        with file.open("wb") as stream:
            return self._receive(path, stream, bounds or self.bounds, f"sha-256:{digest}" if digest else "")

    def visit(  # noqa: PLR0913 - keyword-only, as in `Request`
        self,
        url: str,
        stream: BinaryIO,
        *,
        public: bool = True,
        bounds: Bounds | None = None,
        hash: str = "",
        length: int | None = None,
    ) -> tuple[Received, Headers]:
        """Fetch any http(s) URL exactly as given, write it to `stream`, and return what was received with its headers.

        If `public` is True, loopback, private and link-local addresses are refused; use this for URLs from documents
        rather than from the user. `hash` and `length` are what is known of the bytes.
        """
        sink, bounds = Hashing(stream), bounds or self.bounds
        request = Request(
            url=url, sink=sink, headers=_PAST_CACHES, bounds=bounds, public=public, hash=hash, length=length
        )
        response = self._client.get(request)
        return sink.received(response), response.headers

    def _receive(self, path: str, stream: BinaryIO, bounds: Bounds, hash: str = "") -> Received:
        url = f"{self.url(path)}?resourcesync={token_hex(8)}"
        return self.visit(url, stream, public=False, bounds=bounds, hash=hash)[0]


class Hashing(Sink):
    """Writes to a stream what it receives, and keeps its hash, length and first bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self._length = 0
        self._head = b""

    def write(self, data: bytes) -> None:
        """Write and hash some bytes."""
        self._hash.update(data)
        self._length += len(data)
        if len(self._head) < _HEAD:
            self._head += data[: _HEAD - len(self._head)]
        self._stream.write(data)

    def received(self, response: Response) -> Received:
        """Return what was received with a response."""
        digest, media_type = self._hash.hexdigest(), response.headers.media_type
        date = response.headers.time("Date")
        return Received(digest=digest, length=self._length, media_type=media_type, head=self._head, date=date)


class _Links(HTMLParser):
    def __init__(self, rel: str) -> None:
        super().__init__(convert_charrefs=True)
        self._rel = rel
        self.base = ""
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        href, rels = given.get("href", "").strip(), given.get("rel", "").lower().split()
        if tag == "base":
            self.base = self.base or href
        elif tag == "link" and href and self._rel in rels and not {"alternate", "stylesheet"}.issubset(rels):
            self.found.append(href)

    handle_startendtag = handle_starttag


def links_of_page(data: bytes, uri: str, rel: str = "resourcesync") -> list[str]:
    """Return the targets of the links with a relation in an HTML page (DI02)."""
    parser = _Links(rel)
    try:
        parser.feed(data[:_PAGE].decode("utf-8", "replace"))
    except (AssertionError, ValueError):  # raised by Python's parser for declarations that it cannot read
        return []
    [base] = _absolute(uri, [parser.base]) if parser.base else [uri]
    return _absolute(base, parser.found)


def links_of_headers(headers: Headers, uri: str, wanted: str = "resourcesync") -> list[str]:
    """Return the targets of the `Link` headers with a relation (DI03)."""
    found = []
    for value in headers.get_all("Link"):
        for target, parameters in _LINK.findall(value[:65_536]):
            rel = _REL.search(parameters)
            if rel and wanted in (rel[1] or rel[2] or "").lower().split():
                found.append(target.strip())
    return _absolute(uri, found)


def _absolute(uri: str, links: list[str]) -> list[str]:
    """Return links as absolute URLs; those that are not URLs as they are."""
    return [urljoin(uri, link) if is_url(link) and is_url(uri) else link for link in links]


def new_client(*, proxies: bool = False, user_agent: str = USER_AGENT) -> Client:
    """Return the fastest client that is installed; proxies of the environment are used only on request."""
    if not proxies:
        with suppress(ImportError):
            from pelican_resourcesync.http.curl_client import CurlClient

            return CurlClient(user_agent)
    from pelican_resourcesync.http.urllib3_client import Urllib3Client

    client = Urllib3Client(user_agent, proxies=proxies)
    if not proxies:
        client.advice = (
            "after pip install 'pelican-resourcesync[mirror]', a mirror of many small files takes less than half the "
            "processor time"
        )
    return client
