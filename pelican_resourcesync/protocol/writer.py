"""Write a document to a stream, or within size limits: as one file, or as parts with an index (X04, RL04, CH07)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from html import unescape
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata
from pelican_resourcesync.protocol.renderer import Renderer
from pelican_resourcesync.protocol.vocabulary import Limits, Root

_IN_MEMORY = 1_000_000  # bytes of a first part that are kept in memory instead of a file
_CHUNK = 65_536  # bytes passed to a stream at a time


STANDARD_LIMITS = Limits()

#: Entries as a `Renderer` writes them, together: their number and their bytes.
Piece = tuple[int, bytes]


def write(document: Document, stream: BinaryIO, *, edition: int = 2017) -> int:
    """Write a document as UTF-8 and return the number of its entries (X01).

    The entries are read once and are not held in memory. The same document always produces the same bytes.
    `edition=2014` leaves out what the edition of 2017 added (V1103), and `profile`, which is not in the schema of 2014.
    The size is not limited: see `write_parts`. Raises `DocumentError` for values that are not allowed in a document;
    what was already written stays in the stream.
    """
    renderer = Renderer(document.root, edition)
    stream.write(renderer.head(document).encode())
    written = 0
    for batch in renderer.entries(document):
        stream.write("".join(batch).encode())
        written += len(batch)
    stream.write(renderer.tail().encode())
    return written


def write_parts(  # noqa: PLR0913 - keyword-only, one option each: what, under which names, where to, how much
    document: Document,
    *,
    name: str,
    part_name: Callable[[int], str],
    uri: Callable[[str], str],
    open: Callable[[str], BinaryIO],
    limits: Limits = STANDARD_LIMITS,
    edition: int = 2017,
    pieces: Iterable[Piece] | None = None,
) -> tuple[str, ...]:
    """Write a document under `name`, or in parts with an index under that name if it exceeds the limits (X04).

    Parts are named `part_name(1)`, `part_name(2)`, …. Each is a `urlset` with the document's `rs:md` and links, and a
    link with `rel="index"` to `uri(name)` (X13). The index has the same `rs:md` and links, and lists `uri(part)` of
    every part with the document's interval. An index cannot be split, because no index lists indexes, so only the
    limits of the standard apply to it. `open(name)` returns a writable binary stream, which is closed here. The entries
    are read once, and only a few are held in memory, whatever their number. `pieces` are the document's entries if they
    are written already. Returns the names written, the index last.

    Raises `DocumentError` as `write` does, and if splitting does not help: for an entry larger than a part, for more
    parts than an index holds, and for a document that is an index itself. What was already written stays.
    """
    place = _Place(name=name, part_name=part_name, uri=uri, open=open)
    renderer = Renderer(document.root, edition)
    entries = _Entries(pieces if pieces is not None else _rendered(renderer, document), document.root)
    lone = _frame(document, renderer, limits)
    to_index = Link(rel="index", href=uri(name))
    part = _frame(replace(document, links=(*document.links, to_index)), renderer, limits)
    with SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        excess = _spool(entries, spool, lone.room(), part.room())
        first = _chunks(spool)
        if entries.are_done():
            return _write_lone(lone, chain(first, (data for _, data in excess)), place)
        entries.put_back(excess)
        return _Splitter(document, part, _index(document, edition), place).run(first, entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where documents are written and what they are called: the options of `write_parts`."""

    name: str
    part_name: Callable[[int], str]
    uri: Callable[[str], str]
    open: Callable[[str], BinaryIO]


@dataclass(slots=True)
class _Room:
    """How many entries and bytes still fit into a document."""

    entries: int
    size: int

    def admit(self, entries: int, size: int) -> bool:
        """Reserve the room that entries need, and return whether there was enough."""
        if self.entries < entries or size > self.size:
            return False
        self.entries -= entries
        self.size -= size
        return True


def _rendered(renderer: Renderer, document: Document) -> Iterator[Piece]:
    return ((len(batch), "".join(batch).encode()) for batch in renderer.entries(document))


class _Entries:
    """The written entries of a document that are not in any file yet."""

    __slots__ = ("_end", "_held", "_pieces")

    def __init__(self, pieces: Iterable[Piece], root: Root) -> None:
        self._pieces = iter(pieces)
        self._held: list[Piece] = []
        self._end = f"  </{root.entry}>\n".encode()  # which no value contains, because it would be escaped

    def are_done(self) -> bool:
        """Return whether there are no more."""
        self._held = self._held or [*islice(self._pieces, 1)]
        return not self._held

    def first(self) -> bytes:
        """Return the next one, which stays."""
        _, data = self._held[0]
        return data[: data.index(self._end) + len(self._end)]

    def put_back(self, pieces: list[Piece]) -> None:
        """Take back the last ones."""
        self._held = pieces + self._held

    def take(self, room: _Room) -> Iterator[Piece]:
        """Yield as many as there is room for."""
        while not self.are_done():
            count, data = self._held.pop(0)
            if room.admit(count, len(data)):
                yield count, data
                continue
            fitting, size = self._fitting(data, room)
            self.put_back([(count - fitting, data[size:])])
            if room.admit(fitting, size) and fitting:
                yield fitting, data[:size]
            return

    def _fitting(self, data: bytes, room: _Room) -> tuple[int, int]:
        """Return how many of the entries there is room for, and their size."""
        found = size = 0
        while found < room.entries:
            end = data.index(self._end, size) + len(self._end)
            if end > room.size:
                break
            found, size = found + 1, end
        return found, size


@dataclass(frozen=True, slots=True)
class _Frame:
    """What comes before and after the entries of a document, and the limits of the whole."""

    head: bytes
    tail: bytes
    limits: Limits

    def room(self) -> _Room:
        return _Room(self.limits.entries, self.limits.size - len(self.head) - len(self.tail))

    @contextmanager
    def around(self, stream: BinaryIO) -> Iterator["_Output"]:
        """Write the head, let the caller write entries, write the tail; close the stream, even after an error."""
        with closing(stream):
            output = _Output(stream)
            output.write(self.head)
            yield output
            output.write(self.tail)
            output.flush()


class _Output:
    """A buffer that collects small pieces, so that the stream receives large ones."""

    __slots__ = ("_held", "_stream")

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._held = bytearray()

    def write(self, data: bytes) -> None:
        if len(data) >= _CHUNK:
            self.flush()
            self._stream.write(data)
            return
        self._held += data
        if len(self._held) >= _CHUNK:
            self.flush()

    def flush(self) -> None:
        self._stream.write(bytes(self._held))
        self._held.clear()


class _Splitter:
    """Writes the parts of one document, and then their index."""

    def __init__(self, document: Document, part: _Frame, index: tuple[_Frame, Renderer], place: _Place) -> None:
        self._part = part
        self._place = place
        self._index, self._index_renderer = index
        self._index_room = self._index.room()
        self._index_entries: list[bytes] = []
        self._interval = _interval(document)
        self._names: dict[str, None] = {}

    def run(self, first: Iterable[bytes], rest: _Entries) -> tuple[str, ...]:
        """Write the spooled body of the first part, the rest of the entries in further parts, and the index."""
        chunk = next(iter(first), b"")
        if chunk:
            with self._next_part() as output:
                for data in chain([chunk], first):
                    output.write(data)
        while not rest.are_done():
            self._write_part(rest)
        with self._index.around(self._place.open(self._place.name)) as output:
            for data in self._index_entries:
                output.write(data)
        return (*self._names, self._place.name)

    def _write_part(self, rest: _Entries) -> None:
        """Write as many entries into a part as fit."""
        if not self._part.room().admit(1, len(rest.first())):
            raise DocumentError(_too_large(rest.first(), self._part))
        with self._next_part() as output:
            for _, data in rest.take(self._part.room()):
                output.write(data)

    @contextmanager
    def _next_part(self) -> Iterator[_Output]:
        name = self._place.part_name(len(self._names) + 1)
        if name in self._names or name == self._place.name:
            message = f"two documents would be named {name!a}; give every part a name of its own"
            raise DocumentError(message)
        listed = self._index_renderer.entry(Entry(loc=self._place.uri(name), md=self._interval)).encode()
        if not self._index_room.admit(1, len(listed)):
            message = (
                f"the index {self._place.name!a} cannot hold more than {len(self._names):,} parts within"
                f" {_shown(self._index.limits)}; publish the resources as several sets (X04)"
            )
            raise DocumentError(message)
        self._names[name] = None
        self._index_entries.append(listed)
        with self._part.around(self._place.open(name)) as output:
            yield output


def _frame(document: Document, renderer: Renderer, limits: Limits) -> _Frame:
    return _Frame(renderer.head(document).encode(), renderer.tail().encode(), limits)


def _index(document: Document, edition: int) -> tuple[_Frame, Renderer]:
    if document.root is Root.SITEMAPINDEX:
        message = "a sitemapindex exceeds the limits and no index lists indexes; publish several sets (X04)"
        raise DocumentError(message)
    renderer = Renderer(Root.SITEMAPINDEX, edition)
    # An index cannot be split, so tighter limits of the caller apply only to the parts.
    return _frame(replace(document, root=Root.SITEMAPINDEX), renderer, STANDARD_LIMITS), renderer


def _interval(document: Document) -> Metadata | None:
    md = document.md or Metadata()
    interval = Metadata(at=md.at, completed=md.completed, from_=md.from_, until=md.until)
    return None if interval == Metadata() else interval


def _spool(entries: _Entries, spool: SpooledTemporaryFile[bytes], lone: _Room, part: _Room) -> list[Piece]:
    """Spool the entries that fit into a first part, and return those that a lone document has room for besides.

    The head of a part is longer by the link to the index, so a lone document may hold a few more entries.
    """
    before = replace(part)
    for _, data in entries.take(part):
        spool.write(data)
    lone.admit(before.entries - part.entries, before.size - part.size)
    return [*entries.take(lone)]


def _chunks(spool: SpooledTemporaryFile[bytes]) -> Iterator[bytes]:
    spool.seek(0)
    return iter(partial(spool.read, _CHUNK), b"")


def _write_lone(frame: _Frame, body: Iterable[bytes], place: _Place) -> tuple[str, ...]:
    if frame.room().size < 0:
        message = f"the head of {place.name!a} alone exceeds {_shown(frame.limits)}; give it fewer links (X04)"
        raise DocumentError(message)
    with frame.around(place.open(place.name)) as output:
        for data in body:
            output.write(data)
    return (place.name,)


def _too_large(entry: bytes, part: _Frame) -> str:
    loc = unescape(entry.decode().partition("<loc>")[2].partition("</loc>")[0])
    return (
        f"the entry with loc {loc!a} has {len(entry):,} bytes and fits into no document of"
        f" {_shown(part.limits)}, of which the head takes {len(part.head):,} bytes; give it fewer links (X04)"
    )


def _shown(limits: Limits) -> str:
    return f"{limits.entries:,} entries and {limits.size:,} bytes"
