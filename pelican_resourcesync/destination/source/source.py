"""A Source, seen from outside: its documents are read within limits, and its wishes are kept."""

import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from urllib.parse import urljoin, urlsplit

from pelican_resourcesync.destination.copy import State
from pelican_resourcesync.destination.options import MirrorError, Options
from pelican_resourcesync.destination.source.folder import FolderClient
from pelican_resourcesync.errors import AbsentError, DocumentError, StatusError, TransportError
from pelican_resourcesync.protocol import Document, Entry, Root, read
from pelican_resourcesync.transport import (
    Bounds,
    Client,
    Pace,
    Request,
    Response,
    Sink,
    new_client,
    origin,
    shown,
)

_REMEMBERED = 1_000_000  # bytes of a document that is kept for the next run
_IN_MEMORY = 1_000_000
_PAGE = 1_000_000  # bytes of a page or of robots.txt that are read
_DEPTH = 3  # of indexes
PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses of failures that may pass
_AGENT = "pelican-resourcesync"


class Source:
    """A Source: its sets, and its documents, each asked for at most once in a run."""

    def __init__(self, where: str, options: Options, state: State) -> None:
        """Take a URL or a folder, the options, and the state that remembers documents."""
        self._where = where
        self._options = options
        self._state = state
        self.pace = Pace(requests=options.requests, size=options.bandwidth)
        self.jobs = options.jobs
        self.requests = 0
        self.client: Client
        if origin(where) is None and Path(where).is_dir():
            folder = FolderClient(Path(where))
            self.client, self.start = folder, folder.start
        elif origin(where) is None:
            message = f"{shown(where)} is neither an http(s) URL nor a folder"
            raise MirrorError(message)
        else:
            self.client, self.start = new_client(proxies=options.proxies), where
        self.origin = origin(self.start)
        self._named = self.origin[1] if self.origin else ""
        self._hosts = {each.lower() for each in options.hosts}
        self._own = (urljoin(self.start, "/"),) if self.origin else ()

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    # Requests

    def allows(self, uri: str) -> bool:
        """Return whether a URI may be requested: that of the Source's host, or of another that the user allows."""
        if uri.startswith(self._own):
            return True
        found = origin(uri)
        return found is not None and (found[1] == self._named or found[1] in self._hosts)

    def request(self, uri: str, sink: Sink, bounds: Bounds, headers: dict[str, str] | None = None) -> Request:
        """Return a request within the limits of the options."""
        place = self.origin if uri.startswith(self._own) else origin(uri)
        return Request(
            url=uri,
            sink=sink,
            headers=headers or {},
            credentials=self._options.credentials if place == self.origin else {},
            bounds=bounds,
            public=not (self._options.allow_private or (place is not None and place[1] == self._named)),
            accept=_accepted(headers or {}),
        )

    def read_robots(self) -> None:
        """Keep to the pace that robots.txt asks for; it is read once a day."""
        from time import time

        remembered = self._state.get("robots")
        if not remembered or time() - remembered[0] > 86_400 or remembered[0] > time():  # noqa: PLR2004 - a day
            delay = 0.0
            with suppress(TransportError):
                delay = crawl_delay(self.beginning(urljoin(self.start, "/robots.txt"))[1].decode("utf-8", "replace"))
            remembered = [time(), delay]
            self._state.set("robots", remembered)
        if remembered[1] > 0:
            self.jobs = 1
            self.pace.slow_down(1 / min(remembered[1], self._options.longest_wait))

    def document(self, uri: str, capability: str, *, remembered: bool = True) -> "OpenDocument | None":
        """Return a document that is read as its entries are needed; None if it is `remembered` and has not changed.

        Small documents are returned even then. Raises `DocumentError` for anything that is no document of this
        capability, and `TransportError` if it cannot be fetched.
        """
        stream = self._fetch(uri, remembered=remembered)
        if stream is None:
            return None
        try:
            document = read(stream, name=shown(uri))
            found = document.md.capability if document.md else None
            if found != capability and not (capability == "" and found is None):
                message = f"{shown(uri)} is a document of kind {found!a}, not {capability or 'sitemap'!a}"
                raise DocumentError(message)  # noqa: TRY301
        except BaseException:
            stream.close()
            raise
        return OpenDocument(document, stream)

    def whole_document(self, uri: str, capability: str) -> "OpenDocument":
        """Return a document, also if it has not changed and is too large to be remembered."""
        opened = self.document(uri, capability) or self.document(uri, capability, remembered=False)
        assert opened is not None  # noqa: S101 - it was not remembered
        return opened

    def entries(self, uri: str, capability: str, *, remembered: bool = True) -> "Entries":
        """Return the entries of a list, of all its parts if it is an index."""
        return Entries(self, uri, capability, self._options, remembered=remembered)

    def _fetch(self, uri: str, *, remembered: bool) -> BinaryIO | None:
        if not self.allows(uri):
            message = f"{shown(uri)} is on another host: add --allow-host {urlsplit(uri).hostname} to follow it there"
            raise MirrorError(message)
        known = self._state.document(uri) if remembered else None
        headers = {"Cache-Control": "no-cache"}
        if known and known[0]:
            headers["If-None-Match"] = known[0]
        elif known and known[1]:
            headers["If-Modified-Since"] = known[1]
        stream = cast("BinaryIO", SpooledTemporaryFile(_IN_MEMORY, dir=str(self._state.parts)))  # noqa: SIM115 - returned open
        try:
            response = self._get(uri, headers, stream)
            if response.status == 304:  # noqa: PLR2004 - Not Modified
                if known is None or known[2] is None:
                    stream.close()
                    return None
                stream.write(zlib.decompress(known[2]))
            else:
                size = stream.tell()
                stream.seek(0)
                body = zlib.compress(stream.read(), 1) if size <= _REMEMBERED else None
                self._state.set_document(uri, *response.validators, body)
        except BaseException:
            stream.close()
            raise
        stream.seek(0)
        return stream

    def _get(self, uri: str, headers: dict[str, str], stream: BinaryIO) -> Response:
        """Make one request, again after a while if it fails in a way that may pass."""
        from time import sleep

        options = self._options
        bounds = Bounds(timeout=options.timeout, total=options.document_time, size=options.document_size)
        for attempt in range(options.retries + 1):
            while delay := self.pace.delay():
                sleep(delay)
            stream.seek(0)
            stream.truncate()
            self.requests += 1
            try:
                return self.client.get(self.request(uri, _StreamSink(stream), bounds, headers))
            except AbsentError:
                raise
            except TransportError as error:
                wait = waiting_time(error, attempt, options)
                if wait is None or attempt == options.retries:
                    raise
                sleep(wait)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def beginning(self, uri: str) -> tuple[Response, bytes]:
        """Return the first bytes of a document or page."""
        sink = _HeadSink()
        options = self._options
        bounds = Bounds(timeout=options.timeout, total=options.document_time, size=options.document_size)
        self.requests += 1
        response = self.client.get(self.request(uri, sink, bounds))
        return response, bytes(sink.data)

    def kind(self, uri: str, data: bytes | None = None) -> tuple[str | None, str | None]:
        """Return the capability of a document, and the URI of the document above it; `data` is how it begins."""
        stream = BytesIO(data) if data else self._fetch(uri, remembered=False)
        assert stream is not None  # noqa: S101 - it was not remembered
        with stream:
            document = read(stream, name=shown(uri))
            up = next((urljoin(uri, each.href) for each in document.links if each.rel == "up"), None)
            return (document.md.capability if document.md else None), up


class OpenDocument:
    """A document that is being read; close it after use."""

    def __init__(self, document: Document, stream: BinaryIO) -> None:
        self.document = document
        self._stream = stream

    @property
    def entries(self) -> Iterator[Entry]:
        """The entries, read as they are needed."""
        return iter(self.document.entries)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class Entries:
    """The entries of a list with all its parts; `root` is its first document, None if nothing has changed."""

    def __init__(self, source: Source, uri: str, capability: str, options: Options, *, remembered: bool) -> None:
        self._source, self._uri, self._capability, self._options = source, uri, capability, options
        self._first = source.document(uri, capability, remembered=remembered)
        self._read = {uri}
        self._open = [self._first] if self._first else []
        self.root = self._first.document if self._first else None

    def __iter__(self) -> Iterator[Entry]:
        if self._first is not None:
            for count, entry in enumerate(self._of(self._first, self._uri, _DEPTH)):
                if count >= self._options.max_resources:
                    most = f"{self._options.max_resources} resources (--max-resources)"
                    message = f"{shown(self._uri)} has more than {most}"
                    raise MirrorError(message)
                yield entry

    def close(self) -> None:
        """Close the documents that are being read."""
        for opened in self._open:
            opened.close()

    def _of(self, opened: OpenDocument, uri: str, depth: int) -> Iterator[Entry]:
        with closing(opened):
            if opened.document.root is Root.URLSET:
                yield from opened.entries
                return
            for part in opened.entries:
                loc = urljoin(uri, part.loc)
                if loc in self._read or not depth:
                    message = f"{shown(uri)} names {shown(loc)} again, or is an index of too many indexes"
                    raise DocumentError(message)
                self._read.add(loc)
                if len(self._read) > self._options.max_documents:
                    message = f"{shown(self._uri)} has more than {self._options.max_documents} parts (--max-documents)"
                    raise DocumentError(message)
                inner = self._source.document(loc, self._capability, remembered=False)
                assert inner is not None  # noqa: S101 - it was not remembered
                self._open.append(inner)
                yield from self._of(inner, loc, depth - 1)
                self._open.remove(inner)


def waiting_time(error: TransportError, attempt: int, options: Options) -> float | None:
    """Return how long to wait before another attempt; None if another would fail, too."""
    import random

    if isinstance(error, StatusError):
        if error.status not in PASSING:
            return None
        asked = retry_after(error.retry_after)
        if asked is not None:
            return min(asked, options.longest_wait)
    elif type(error) is not TransportError or "redirect" in str(error) or "not public" in str(error):
        return None
    exponential: float = options.backoff * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
    return min(exponential, options.longest_wait)


def retry_after(text: str) -> float | None:
    """Return the seconds that a header `Retry-After` asks for, if it does."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    if text.strip().isdigit():
        return float(text.strip()[:9])
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return None


def crawl_delay(robots: str) -> float:
    """Return the seconds between requests that a robots.txt asks for, or 0."""
    try:
        from protego import Protego
    except ImportError:
        from urllib.robotparser import RobotFileParser

        parser = RobotFileParser()
        parser.parse(robots.splitlines())
        return float(parser.crawl_delay(_AGENT) or 0)
    return float(Protego.parse(robots).crawl_delay(_AGENT) or 0)


def _accepted(headers: dict[str, str]) -> tuple[int, ...]:
    if "Range" in headers:
        return (200, 206)
    return (200, 304) if "If-None-Match" in headers or "If-Modified-Since" in headers else (200,)


class _StreamSink:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def begin(self, response: Response) -> None:
        """Need nothing of the head."""

    def write(self, data: bytes) -> None:
        self._stream.write(data)


class _HeadSink:
    def __init__(self) -> None:
        self.data = bytearray()

    def begin(self, response: Response) -> None:
        """Need nothing of the head."""

    def write(self, data: bytes) -> None:
        if len(self.data) < _PAGE:
            self.data += data[: _PAGE - len(self.data)]
