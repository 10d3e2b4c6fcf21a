"""A Source, seen from outside: finding its documents, and reading them within limits."""

import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from urllib.parse import unquote, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from pelican_resourcesync.destination.options import MirrorError, Options
from pelican_resourcesync.destination.state import State
from pelican_resourcesync.errors import AbsentError, DocumentError, StatusError, TransportError
from pelican_resourcesync.protocol import Capability, Document, Entry, Root, read
from pelican_resourcesync.transport import (
    Bounds,
    Client,
    Headers,
    Pace,
    Request,
    Response,
    Sink,
    is_plain,
    links_of_headers,
    links_of_page,
    new_client,
    origin,
    shown,
)

WELL_KNOWN = ".well-known/resourcesync"
_FOLDER_STARTS = (
    WELL_KNOWN,
    "resourcesync/description.xml",
    "description.xml",
    "capabilitylist.xml",
    "resourcelist.xml",
)
_REMEMBERED = 1_000_000  # bytes of a document that is kept for the next run
_IN_MEMORY = 1_000_000
_PAGE = 1_000_000  # bytes of a page or of robots.txt that are read
_DEPTH = 3  # of indexes
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses of failures that may pass
_MOST_SETS = 1_000
_AGENT = "pelican-resourcesync"

#: A set: its name, and the URI and capability of the document to begin with.
_Named = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSet:
    """A set of resources of a Source: its name, and the URIs of its documents by capability."""

    name: str
    uri: str
    documents: dict[str, str]


class FolderClient(Client):
    """Reads the output folder of a site as a static host would serve it, at the URL that its documents name."""

    def __init__(self, folder: Path) -> None:
        """Take the folder. Raises `MirrorError` if no document tells its URL."""
        self._folder = folder.resolve()
        self.start, self._base = self._learn()

    def get(self, request: Request) -> Response:
        """Read one file."""
        path = unquote(request.url.partition("#")[0].partition("?")[0].removeprefix(self._base)).strip("/")
        file = self._folder / path
        inside = request.url.startswith(self._base) and (not path or is_plain(path))
        if inside and file.is_dir():
            file /= "index.html"
        if inside and not file.exists():  # a clean URL, as many hosts serve it
            file = file.with_name(f"{file.name}.html")
        if not inside or not file.is_file() or not file.resolve().is_relative_to(self._folder):
            message = f"{shown(request.url)} is not in the folder {self._folder}"
            raise AbsentError(message)
        if file.stat().st_size > request.bounds.size:
            message = f"{shown(request.url)} is larger than {request.bounds.size} bytes"
            raise TransportError(message)
        response = Response(url=request.url, status=200, headers=Headers())
        with file.open("rb") as stream:
            request.sink.begin(response)
            while data := stream.read(1 << 16):
                request.sink.write(data)
        return response

    def get_all(
        self,
        requests: Iterator[Request],
        *,
        jobs: int,  # noqa: ARG002
        pace: Pace | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[Request, Response | TransportError]]:
        """Read files one after another."""
        for request in requests:
            try:
                yield request, self.get(request)
            except TransportError as error:
                yield request, error

    def close(self) -> None:
        """Hold nothing open."""

    def _learn(self) -> tuple[str, str]:
        for name in _FOLDER_STARTS:
            file = self._folder / name
            if file.is_file():
                with file.open("rb") as stream:
                    document = read(stream, name=str(file))
                    uris = [link.href for link in document.links]
                    uris += [entry.loc for entry, _ in zip(document.entries, range(100), strict=False)]
                for uri in uris:
                    base = self._base_of(uri)
                    if base:
                        return base + name, base
        message = f"{self._folder} has no Source Description or Capability List that names one of its files"
        raise MirrorError(message)

    def _base_of(self, uri: str) -> str:
        if origin(uri) is None:
            return ""
        parts = urlsplit(uri)
        names = parts.path.removeprefix("/").split("/")
        for count in range(len(names)):
            path = unquote("/".join(names[count:]))
            if path and is_plain(path) and (self._folder / path).is_file():
                return "/".join([f"{parts.scheme}://{parts.netloc}", *names[:count], ""])
        return ""


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

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    # Requests

    def allows(self, uri: str) -> bool:
        """Return whether a URI may be requested: that of the Source's host, or of another that the user allows."""
        found = origin(uri)
        return found is not None and (found[1] == self._named or found[1] in self._hosts)

    def request(self, uri: str, sink: Sink, bounds: Bounds, headers: dict[str, str] | None = None) -> Request:
        """Return a request within the limits of the options."""
        place = origin(uri)
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
                text = self._small(urljoin(self.start, "/robots.txt"))[1].decode("utf-8", "replace")
                delay = crawl_delay(text)
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

    def _small(self, uri: str) -> tuple[Response, bytes]:
        stream = BytesIO()
        bounds = Bounds(timeout=self._options.timeout, total=self._options.document_time, size=_PAGE)
        self.requests += 1
        return self.client.get(self.request(uri, _StreamSink(stream), bounds)), stream.getvalue()

    # Discovery

    def sets(self) -> list[ResourceSet]:
        """Return the sets of the Source, or those that the options name."""
        found = None
        known = self._state.get("discovered")
        if known:
            try:
                found = self._described(known[0]) if known[0] else known[1]
            except AbsentError:  # moved: find it again
                found = None
        if not found:
            description, found = self._discover(self.start)
            self._state.set("discovered", [description, found])
        names = [name for name, _, _ in found]
        for each in self._options.sets:
            if each not in names:
                message = f"the Source has no set {each!a}: it has {', '.join(names)}"
                raise MirrorError(message)
        return [self._set(*each) for each in found if not self._options.sets or each[0] in self._options.sets]

    def _described(self, uri: str, depth: int = _DEPTH) -> list[_Named]:
        """Return the sets that a Source Description names."""
        opened = self.document(uri, Capability.DESCRIPTION)
        if opened is None:
            opened = self.document(uri, Capability.DESCRIPTION, remembered=False)
        assert opened is not None  # noqa: S101 - it was not remembered
        with closing(opened):
            locs = [urljoin(uri, each.loc) for each in opened.entries]
            if opened.document.root is Root.SITEMAPINDEX and depth:
                return [found for loc in locs for found in self._described(loc, depth - 1)]
        if not locs or len(locs) > _MOST_SETS:
            message = f"{shown(uri)} names {len(locs)} Capability Lists"
            raise DocumentError(message)
        return _named(locs)

    def _set(self, name: str, uri: str, kind: str) -> ResourceSet:
        """Return a set, with what its Capability List names now."""
        if kind != Capability.CAPABILITYLIST:
            return ResourceSet(name=name, uri=uri, documents={kind: uri})
        opened = self.document(uri, kind)
        if opened is None:  # too large to remember
            opened = self.document(uri, kind, remembered=False)
        assert opened is not None  # noqa: S101 - it was not remembered
        with closing(opened):
            named = {each.md.capability: each.loc for each in opened.entries if each.md and each.md.capability}
        return ResourceSet(name=name, uri=uri, documents={key: urljoin(uri, value) for key, value in named.items()})

    def _discover(self, uri: str) -> tuple[str, list[_Named]]:
        """Find the sets; return the URI of the Source Description, if there is one, with them."""
        tried = []
        for place in (uri, urljoin(uri, "/" + WELL_KNOWN), urljoin(uri, "/sitemap.xml")):
            try:
                response, data = self._beginning(place)
            except (AbsentError, StatusError) as error:
                if isinstance(error, StatusError) and error.status in _PASSING:
                    raise
                tried.append(str(error))
                continue
            for link in links_of_headers(response.headers, response.url) + links_of_page(data, response.url):
                if self.allows(link):
                    return self._above(link, exactly=False)
            if b"<urlset" in data or b"<sitemapindex" in data:
                return self._above(place, exactly=place == uri, data=data)
            tried.append(f"{shown(place)} is not a ResourceSync document and names none")
        message = f"no Source was found: {'; '.join(tried)}"
        raise MirrorError(message)

    def _beginning(self, uri: str) -> tuple[Response, bytes]:
        """Return the first bytes of a document or page."""
        sink = _HeadSink()
        bounds = Bounds(
            timeout=self._options.timeout, total=self._options.document_time, size=self._options.document_size
        )
        self.requests += 1
        response = self.client.get(self.request(uri, sink, bounds))
        return response, bytes(sink.data)

    def _above(self, uri: str, *, exactly: bool, data: bytes | None = None) -> tuple[str, list[_Named]]:
        """Return the Source Description of a document and its sets; `exactly`: only the set that it belongs to."""
        kind, up = self._kind(uri, data)
        if kind == Capability.DESCRIPTION:
            return uri, self._described(uri)
        if kind == Capability.CAPABILITYLIST:
            if up and not exactly:
                with suppress(TransportError, DocumentError, MirrorError):
                    found = self._described(up)
                    if any(each[1] == uri for each in found):
                        return up, found
            return "", _named([uri])
        if kind is not None and up:
            with suppress(TransportError, DocumentError, MirrorError):
                if self._kind(up)[0] == Capability.CAPABILITYLIST:
                    return "", _named([up])
        if kind in (None, Capability.RESOURCELIST):
            return "", [("sitemap" if kind is None else "list", uri, kind or "")]
        message = f"{shown(uri)} is a document of kind {kind!a}: name a site, a Capability List or a Resource List"
        raise MirrorError(message)

    def _kind(self, uri: str, data: bytes | None = None) -> tuple[str | None, str | None]:
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
            yield from self._of(self._first, self._uri, _DEPTH)

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
        if error.status not in _PASSING:
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
        parser = RobotFileParser()
        parser.parse(robots.splitlines())
        return float(parser.crawl_delay(_AGENT) or 0)
    return float(Protego.parse(robots).crawl_delay(_AGENT) or 0)


def _accepted(headers: dict[str, str]) -> tuple[int, ...]:
    if "Range" in headers:
        return (200, 206)
    return (200, 304) if "If-None-Match" in headers or "If-Modified-Since" in headers else (200,)


def _named(uris: list[str]) -> list[_Named]:
    """Return sets with the names of their folders, which are what our own documents are in."""
    named: list[_Named] = []
    for uri in uris:
        folder = urlsplit(uri).path.split("/")[-2:-1]
        name = folder[0] if folder and folder[0] else "all"
        while any(name == other for other, _, _ in named):
            name += "+"
        named.append((name, uri, str(Capability.CAPABILITYLIST)))
    return named


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
