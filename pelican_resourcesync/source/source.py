"""A Source, seen from outside: its documents are read within limits, and its wishes are kept."""

import hashlib
import math
import random
import time
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, suppress
from http import HTTPStatus
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Protocol, cast
from urllib.parse import urljoin

from pelican_resourcesync.errors import (
    DocumentError,
    ForeignError,
    IncompleteError,
    NoHostError,
    PermanentError,
    ResourceSyncError,
    SourceError,
    StatusError,
    TransportError,
)
from pelican_resourcesync.http import (
    Bounds,
    Client,
    Origin,
    Pace,
    Request,
    Response,
    Result,
    Sink,
    allowing,
    host_to_name,
    is_private,
    is_sendable,
    is_url,
    new_client,
    origin,
    parse_host,
    shown,
    without_query,
)
from pelican_resourcesync.options import SourceOptions
from pelican_resourcesync.protocol import Document, Entry, LeftOut, Metadata, Root, read, unreported
from pelican_resourcesync.source.folder import FolderClient
from pelican_resourcesync.source.receive import ResourceSink, Space
from pelican_resourcesync.source.resource import ListedResource, listed_resource, uri_of
from pelican_resourcesync.system.signing import SignatureError

_REMEMBERED = 1_000_000  # bytes of a document that is kept for the next run
_IN_MEMORY = 1_000_000
_PAGE = 1_000_000  # bytes of a page or of robots.txt that are read
_DEPTH = 3  # of indexes
_MOST_PAGES = 50_000
_MOST_HOSTS = 3  # of those that are not requested, which are named
_MOST_SITEMAPS = 1_000  # of robots.txt
_DAY = 86_400  # seconds
_PARTIAL = {"Range": 206, "If-None-Match": 304}  # the status of the answer to a request that has such a header
#: What is remembered: whether the Source was at a private address when it was first requested.
PRIVATE = "private"
#: The errors of a document that cannot be read, apart from those that end a run.
UNREAD = (TransportError, DocumentError, ForeignError)


class Memory(Protocol):
    """What remembers a Source from one run to the next. `parts` is a folder for what is being received."""

    parts: Path

    def get(self, key: str) -> Any:
        """Return a remembered value, or None."""

    def set(self, key: str, value: Any) -> None:
        """Remember a value that JSON can hold."""

    def document(self, uri: str) -> tuple[str, bytes | None] | None:
        """Return the `ETag` of a document and, if it was small, its compressed bytes."""

    def set_document(self, uri: str, etag: str, body: bytes | None) -> None:
        """Remember the `ETag` of a document, and its compressed bytes if they are given."""


class Source:
    """A Source: its documents, each requested at most once in a run, and requests at the pace that it asks for."""

    def __init__(self, where: str, options: SourceOptions, memory: Memory) -> None:
        """Take a URL or a folder, the options, and what remembers documents."""
        self.options = options
        self.memory = memory
        self.pace = options.pace or Pace(*options.limits_of_rate)
        self.space = Space(memory.parts, options.max_total, options.min_free)
        self._end = time.monotonic() + (options.max_run or math.inf)
        self.jobs = options.jobs
        self.requests = 0
        self._documents: set[str] = set()  # those that were requested in this run
        self._read: set[str] = set()  # those since it began to read the Source
        self.remarks: list[str] = []  # on its documents
        self._left_out: dict[str, dict[str, list[Any]]] = {}  # how often what cannot be read, by its name and document
        self._private: bool | None = None  # whether the Source is at a private address
        self.is_folder = False
        self.signed: dict[str, str] | None = None  # the SHA-256 of each document, if the sets are signed
        self.client: Client
        if origin(where) is None and Path(where).is_dir():
            folder = FolderClient(Path(where))
            self.client, self.start = folder, folder.start
            self._private = False  # no host is asked for anything
            self.is_folder = True
        elif origin(where) is None:
            message = f"{shown(where)} is neither an http(s) URL nor a folder: enter one, such as https://example.org/"
            raise SourceError(message)
        else:
            self.client, self.start = new_client(proxies=options.proxy, user_agent=options.user_agent), where
        self.origin = origin(self.start)
        self._credentials = options.credentials(self.start)
        self._named = self.origin[1] if self.origin else ""
        self._hosts = {parse_host(host) for host in options.allow_host}
        self._own = (urljoin(self.start, "/"),) if self.origin else ()
        timeout = options.timeout
        self._document_bounds = Bounds(timeout=timeout, total=options.document_time, size=options.max_document_size)
        self._resource_bounds = Bounds(timeout=timeout, total=options.max_time, size=options.max_size)

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

    def request(
        self, uri: str, sink: Sink, headers: dict[str, str] | None = None, bounds: Bounds | None = None
    ) -> Request:
        """Return a request, within the limits of resources unless other bounds are given."""
        if isinstance(sink, ResourceSink):
            sink.signed, sink.space = self.signed is not None, self.space
        bounds = bounds or self._resource_bounds
        if self.options.max_run:
            bounds = bounds._replace(total=min(bounds.total, self._left()))
        place = self.origin if uri.startswith(self._own) else origin(uri)
        listed = sink.expected if isinstance(sink, ResourceSink) else None
        headers = {name: value for name, value in (headers or {}).items() if is_sendable(value)}
        return Request(
            url=uri,
            sink=sink,
            headers=headers,
            credentials=self._credentials if place == self.origin else {},
            bounds=bounds,
            public=not (self.options.allow_private or self._is_private(place)),
            port_named=not self.options.allow_private,
            hosts=self._hosts if isinstance(sink, ResourceSink) else None,  # a document stays on its host
            accept=(200, *(status for name, status in _PARTIAL.items() if name in headers)),
            hash=listed.hash if listed else "",
            length=listed.length if listed else None,
            unzip=listed is None,  # lists are in gzip where the Sitemap protocol is followed
        )

    def _is_private(self, place: Origin | None) -> bool:
        """Return whether a host is the one that the user typed, with that port, and had a private address at first."""
        if self.origin is None or place is None or place[1:] != self.origin[1:]:
            return False
        if self._private is None:
            self._private = self.memory.get(PRIVATE)
        if self._private is None:
            private = is_private(place)
            self._private = bool(private)
            if private is not None:  # asked for once a run: behind a proxy, names may have no address here
                self.memory.set(PRIVATE, private)
        return self._private

    def fetch(self, make_request: Callable[[], Request]) -> Response:
        """Make one request, again after a while if it fails in a way that may pass; each attempt makes it anew."""

        def requests() -> list[Request]:
            self.requests += 1
            return [make_request()]

        [(_, result)] = self.fetch_all(requests)
        if isinstance(result, TransportError):
            raise result
        return result

    def delay(self) -> float:
        """Return how long to wait before the next request. Raises `IncompleteError` if the run may not take so long."""
        delay = self.pace.delay()
        self._left(delay)
        return delay

    def _left(self, seconds: float = 0) -> float:
        """Return how long the run may take yet. Raises `IncompleteError` if that is no more than some seconds."""
        left = self._end - time.monotonic()
        if left <= seconds:
            pause = f", including the pause of {seconds:.0f} seconds that the host asks for" if seconds else ""
            message = (
                f"the run takes longer than {self.options.max_run:g} seconds (--max-run){pause}: the next run continues"
            )
            raise IncompleteError(message)
        return left

    def fetch_all(self, make_requests: Callable[[], Iterable[Request]]) -> Generator[Result, None, None]:
        """Make many requests, and yield each with its response or failure.

        What fails in a way that may pass is not yielded: after a while, the requests that are left are made anew.
        """
        for attempt in range(self.options.retries + 1):
            longest, again = 0.0, False
            requests = iter(make_requests())
            with closing(self.client.get_all(requests, jobs=self.jobs, delay=self.delay)) as results:
                for request, result in results:
                    wait = None
                    if isinstance(result, TransportError):
                        wait = self._waiting_time(request, result, attempt)
                    if wait is None:
                        yield request, result
                    else:
                        longest, again = max(longest, wait), True
            if not again:
                return
            self.pace.pause(longest)

    def _waiting_time(self, request: Request, error: TransportError, attempt: int) -> float | None:
        """Return how long to wait before another attempt; None if there is none, or another would fail, too."""
        options, sink = self.options, request.sink
        at_mirror = False
        if isinstance(sink, ResourceSink):
            at_mirror = sink.expected.uri != request.url
            if isinstance(error, PermanentError) and not isinstance(error, NoHostError):
                sink.discard()  # it is not what may be received
            else:
                sink.close()
        if attempt == options.retries or at_mirror:  # another place may have it
            return None
        if isinstance(error, StatusError):
            if error.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and isinstance(sink, ResourceSink):
                sink.discard()  # it is longer than the resource is now
                return 0.0
            if error.may_pass and error.retry_after is not None:
                return min(error.retry_after, options.max_wait)
        if not error.may_pass:
            return None
        exponential: float = options.backoff * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
        return min(exponential, options.max_wait)

    def read_robots(self) -> None:
        """Keep to the pace that robots.txt asks for; it is read once a day."""
        remembered = self.memory.get("robots")
        if not remembered or time.time() - remembered[0] > _DAY or remembered[0] > time.time():
            delay, lists, robots = 0.0, list[str](), urljoin(self.start, "/robots.txt")
            with suppress(TransportError, ValueError, OverflowError):
                text = self.beginning(robots)[1].decode("utf-8", "replace")
                delay, lists = robots_rules(text, self.options.user_agent.partition("/")[0])
                self.pace.pause(min(delay, self.options.max_wait))
            remembered = [time.time(), delay, [uri_of(sitemap, robots) for sitemap in lists[:_MOST_SITEMAPS]]]
            self.memory.set("robots", remembered)
        if remembered[1] > 0:
            self.jobs = 1
            self.pace.slow_down(1 / min(remembered[1], self.options.max_wait))

    @property
    def sitemaps(self) -> list[str]:
        """The lists that robots.txt names, once it was read."""
        return [*(self.memory.get("robots") or [0, 0, []])[2]]

    # Documents

    def limited(self, entries: Iterable[Entry], uri: str) -> Iterator[Entry]:
        """Yield the entries of a document that lists documents or packages, up to the most that are read."""
        most = self.options.max_documents
        for count, entry in enumerate(entries):
            if count >= most:
                message = f"{shown(uri)} lists more than {most} entries (--max-documents)"
                raise DocumentError(message)
            yield entry

    def key(self, uri: str) -> str:
        """Return what a document is remembered by: its URI, or that of the user without what may be secret."""
        return without_query(uri) if uri == self.start else uri

    def begin(self) -> None:
        """Begin to read the documents: those that are remembered from before may have changed."""
        self._read.clear()
        self._left_out.clear()
        self.remarks.clear()

    @property
    def notes(self) -> list[str]:
        """What could not be read since `begin` and is ignored: one sentence for each kind."""
        notes = [*self.remarks]
        for what, places in self._left_out.items():
            for uri, (_, why) in [*places.items()][:1]:
                count = sum(number for number, _ in places.values())
                first = f"{count:,} in total, the first in {shown(uri)}: {why}"
                notes.append(f"{what} cannot be read and is ignored ({first})")
        return notes

    def document(self, uri: str, capability: str, *, remembered: bool = False) -> "OpenDocument | None":
        """Return a document that is read as its entries are needed; None if it is `remembered` and has not changed.

        Small documents are returned even then. Raises `DocumentError` for anything that is no document of this
        capability, and `TransportError` if it cannot be fetched.
        """
        stream = self._fetch(uri, remembered=remembered)
        if stream is None:
            return None
        try:
            document = read(stream, name=shown(uri), left_out=self._counted(uri))
            found = document.md.capability if document.md else None
            if found != capability and not (capability == "" and found is None):
                message = f"{shown(uri)} is a document of kind {found!a}, not {capability or 'sitemap'!a}"
                raise DocumentError(message)  # noqa: TRY301 - the stream is closed below
            return OpenDocument(self, uri, document, stream)
        except BaseException:
            stream.close()
            raise

    def _counted(self, uri: str) -> LeftOut:
        """Return what counts the values of a document that cannot be read."""
        for places in self._left_out.values():  # it is read again
            places.pop(uri, None)

        def count(what: str, why: str) -> None:
            self._left_out.setdefault(what, {}).setdefault(uri, [0, why])[0] += 1

        return count

    def whole_document(self, uri: str, capability: str) -> "OpenDocument":
        """Return a document, also if it has not changed."""
        opened = self.document(uri, capability)
        assert opened is not None  # noqa: S101 - it was not remembered
        return opened

    def entries(
        self, uri: str, capability: str, *, remembered: bool = True, unread: list[str] | None = None
    ) -> "Entries":
        """Return the entries of a list, of all its parts if it is an index.

        Where `unread` is given, it takes the reasons why parts cannot be read, and the others are read.
        """
        return Entries(self, uri, capability, remembered=remembered, unread=unread)

    def forget(self, uri: str) -> None:
        """Forget a document, so that the next run reads it whether it has changed or not."""
        self.memory.set_document(self.key(uri), "", None)

    def require(self, uri: str) -> None:
        """Raise `DocumentError` or `ForeignError` unless a document may be requested."""
        if not is_url(uri):
            message = f"{shown(uri)} cannot be requested: it is not a URL"
            raise DocumentError(message)
        if not self.allows(uri):
            host = host_to_name(uri)
            hint = f": add {allowing([host])} to read it there" if host else ""
            message = f"{shown(uri)} is on another host{hint}"
            raise ForeignError(message)

    def _fetch(self, uri: str, *, remembered: bool = False) -> BinaryIO | None:
        """Return the bytes of a document; None if it is `remembered`, has not changed, and is large.

        Of those that were read since `begin`, small ones are not requested again.
        """
        self.require(uri)
        self._documents.add(uri)
        if len(self._documents) > self.options.max_documents:
            message = f"there are more than {self.options.max_documents} documents to read (--max-documents)"
            raise DocumentError(message)
        known = self.memory.document(self.key(uri))
        if known and known[1] is not None and uri in self._read:
            again = BytesIO(zlib.decompress(known[1]))
            self._authenticate(uri, again)
            again.seek(0)
            return again
        # Of a large one, only the `ETag` is known, so that it has not changed could not be verified.
        if known and known[1] is None and (not remembered or self.signed is not None):
            known = None
        headers = {"Cache-Control": "no-cache", **(conditions(known[0]) if known else {})}
        stream = cast("BinaryIO", SpooledTemporaryFile(_IN_MEMORY, dir=str(self.memory.parts)))  # noqa: SIM115 - returned open

        def make_request() -> Request:
            stream.seek(0)
            stream.truncate()
            return self.request(uri, _StreamSink(stream), headers, self._document_bounds)

        try:
            response = self.fetch(make_request)
            if response.status == HTTPStatus.NOT_MODIFIED:
                if known is None or known[1] is None:
                    stream.close()
                    return None
                stream.write(zlib.decompress(known[1]))
            size = stream.tell()
            stream.seek(0)
            self._authenticate(uri, stream)
            stream.seek(0)
            if response.status != HTTPStatus.NOT_MODIFIED:
                body = zlib.compress(stream.read(), 1) if size <= _REMEMBERED else None
                self.memory.set_document(self.key(uri), response.etag, body)
        except BaseException:
            stream.close()
            raise
        stream.seek(0)
        self._read.add(uri)
        return stream

    def _authenticate(self, uri: str, stream: BinaryIO) -> None:
        """Raise `SignatureError` if the sets are signed and a document is not one that they list."""
        if self.signed is not None and self.signed.get(uri) != _sha256(stream):
            raise not_signed(uri)

    def whole(self, uri: str) -> bytes:
        """Return the bytes of a file within the limits of documents."""
        stream = self._fetch(uri)
        assert stream is not None  # noqa: S101 - it was not remembered
        with stream:
            return stream.read()

    def beginning(self, uri: str) -> tuple[Response, bytes]:
        """Return the first bytes of a document or page."""
        stream = BytesIO()
        while delay := self.delay():
            time.sleep(delay)
        self.requests += 1
        response = self.client.get(self.request(uri, _StreamSink(stream, _PAGE), bounds=self._document_bounds))
        return response, stream.getvalue()

    def kind(self, uri: str, data: bytes | None = None) -> tuple[str | None, dict[str, str]]:
        """Return the capability of a document, and the URIs of its links by relation; `data` is how it begins."""
        stream = self._fetch(uri) if data is None else BytesIO(data)
        assert stream is not None  # noqa: S101 - it was not remembered
        with stream:
            document = read(stream, name=shown(uri), left_out=unreported)
            links = {each.rel: uri_of(each.href, uri) for each in reversed(document.links)}
            return (document.md.capability if document.md else None), links


class OpenDocument:
    """A document that is being read; close it after use.

    `is_index`: its entries are parts of it. That is so of a `urlset`, too, whose entries have its own capability.
    """

    def __init__(self, source: Source, uri: str, document: Document, stream: BinaryIO) -> None:
        self._source, self._uri = source, uri
        self.document = document
        self._stream = stream
        entries = iter(document.entries)
        first = [*islice(entries, 1)]
        self._entries = chain(first, entries)
        self._capability = (document.md.capability if document.md else None) or ""
        listed = first[0].md.capability if first and first[0].md else None
        self.is_index = document.root is Root.SITEMAPINDEX or (listed is not None and listed == self._capability)

    @property
    def entries(self) -> Iterator[Entry]:
        """The entries, read as they are needed. Raises `DocumentError` for one without a `loc`."""
        for entry in self.read():
            if not entry.loc:
                raise _without_loc(entry, self._uri)
            yield entry

    def read(self) -> Iterator[Entry]:
        """Yield the entries, and those of the next pages, also those without a `loc`."""
        yield from self._entries
        page, read = self, {self._uri}
        while following := page.link("next"):
            page = self._page(following, read)
            with closing(page):
                yield from page._entries  # noqa: SLF001 - of this class

    def _page(self, uri: str, read: set[str]) -> "OpenDocument":
        """Return the next page, after those that were read. Raises `DocumentError` if it may not be one."""
        reasons = {
            "was already read": uri in read,
            f"comes after {_MOST_PAGES:,} others": len(read) >= _MOST_PAGES,
            "is on another host": origin(uri) != origin(self._uri),
        }
        why = next((reason for reason, is_so in reasons.items() if is_so), "")
        page = None if why else self._source.whole_document(uri, self._capability)
        if page is None or page.link("up") not in ("", self.link("up")):
            if page:
                page.close()
            message = f"{shown(self._uri)} has a next page, {shown(uri)}, that {why or 'belongs to another set'}"
            raise DocumentError(message)
        read.add(uri)
        return page

    def link(self, rel: str) -> str:
        """Return the URI that the document links to with a relation, or an empty text."""
        return next((uri_of(each.href, self._uri) for each in self.document.links if each.rel == rel), "")

    def sha256(self) -> str:
        """Return the SHA-256 of the document, after its entries were read."""
        self._stream.seek(0)
        return _sha256(self._stream)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class Entries:
    """The entries of a list with all its parts. `changed`: it is not what was remembered; `md` is that of the list."""

    def __init__(
        self, source: Source, uri: str, capability: str, *, remembered: bool, unread: list[str] | None
    ) -> None:
        self._source, self._uri, self._capability = source, uri, capability
        self._unread = unread
        self._first = source.document(uri, capability, remembered=remembered)
        self._read = {uri}
        self.changed = self._first is not None
        self.md = (self._first.document.md if self._first else None) or Metadata()

    def __iter__(self) -> Iterator[Entry]:
        if self._first is not None:
            most = self._source.options.max_resources
            for count, entry in enumerate(self._of(self._uri, _DEPTH, self._first)):
                if count >= most:
                    message = f"{shown(self._uri)} has more than {most} resources (--max-resources)"
                    raise SourceError(message)
                if entry.loc:
                    yield entry
                else:
                    self._fail(_without_loc(entry, self._uri))
            if self._unread or self._first.link("next"):  # that it is not modified would say nothing of the others
                self._source.forget(self._uri)

    def resources(self) -> Iterator[ListedResource]:
        """Yield what the entries say of resources."""
        return (listed_resource(entry, self._uri) for entry in self)

    def close(self) -> None:
        """Close the document; a part of it is closed when nobody reads on."""
        if self._first is not None:
            self._first.close()

    def _of(self, uri: str, depth: int, opened: OpenDocument | None = None) -> Iterator[Entry]:
        """Yield the entries of a document, and of its parts if it is an index."""
        try:
            with closing(opened or self._part(uri, depth)) as document:
                if not document.is_index:
                    yield from document.read()
                    return
                for part in document.entries:
                    yield from self._of(uri_of(part.loc, uri), depth - 1)
        except UNREAD as error:
            self._fail(error)

    def _part(self, uri: str, depth: int) -> OpenDocument:
        if uri in self._read or depth < 0:
            message = f"{shown(uri)} is listed twice, or nested in too many indexes"
            raise DocumentError(message)
        self._read.add(uri)
        return self._source.whole_document(uri, self._capability)

    def _fail(self, error: ResourceSyncError) -> None:
        if self._unread is None:
            raise error
        self._unread.append(str(error))


def _without_loc(entry: Entry, uri: str) -> DocumentError:
    """Return the error for an entry that does not say what it is about."""
    return DocumentError(f"{shown(uri)}: {dict(entry.unreadable)['loc']}")


def note_host(hosts: dict[str, None], uri: str) -> None:
    """Note the host of a resource that is not requested, if it is one of the first."""
    if len(hosts) < _MOST_HOSTS and (host := host_to_name(uri)):
        hosts[host] = None


def elsewhere(count: int, hosts: Collection[str]) -> str:
    """Return how many resources are on hosts that are not requested, and the options that allow these."""
    named = [*hosts][:_MOST_HOSTS]
    where = f"{'hosts such as ' * (len(named) == _MOST_HOSTS)}{', '.join(named) or 'other hosts'}"
    hint = f" ({allowing(named)} includes them)" if named else ""
    return f"{count:,} resource{'s' * (count != 1)} on {where}{hint}"


def conditions(etag: str) -> dict[str, str]:
    """Return the headers that ask for something only if it does not have this `ETag`."""
    plain = etag.removesuffix('-gzip"')  # Apache adds this, and then compares with the rest
    return {"If-None-Match": etag if plain == etag else f'{etag}, {plain}"'} if etag else {}


def _sha256(stream: BinaryIO) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # these streams have `readinto`


def not_signed(uri: str) -> SignatureError:
    """Return the error for a document that is not the one that its set's signed state lists."""
    error = SignatureError(
        f"{shown(uri)} does not match the signed publication.json of its set: the set may just have been "
        "published again, so run it again; if that does not help, somebody else has changed the document"
    )
    error.may_pass = True
    return error


def robots_rules(robots: str, agent: str) -> tuple[float, list[str]]:
    """Return the seconds between requests that a robots.txt asks of a program, or 0, and the lists that it names."""
    try:
        from protego import Protego
    except ImportError:
        from urllib.robotparser import RobotFileParser

        parser = RobotFileParser()
        parser.parse(robots.splitlines())
        return float(parser.crawl_delay(agent) or 0), parser.site_maps() or []
    rules = Protego.parse(robots)
    return float(rules.crawl_delay(agent) or 0), [*rules.sitemaps]


class _StreamSink(Sink):
    """Writes what comes to a stream, or how it begins."""

    def __init__(self, stream: BinaryIO, most: int | None = None) -> None:
        self._stream, self._most = stream, most

    def write(self, data: bytes) -> None:
        self._stream.write(data if self._most is None else data[: max(0, self._most - self._stream.tell())])
