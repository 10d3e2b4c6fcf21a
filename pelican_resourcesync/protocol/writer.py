"""Write a document to a stream, or within size limits: as one file, or as parts with an index (X04, RL04, CH07)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from html import unescape
from itertools import chain
from typing import BinaryIO

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata
from pelican_resourcesync.protocol.renderer import Renderer
from pelican_resourcesync.protocol.vocabulary import Limits, Root

STANDARD_LIMITS = Limits()


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
    for entry in renderer.entries(document):
        stream.write(entry.encode())
        written += 1
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
) -> tuple[str, ...]:
    """Write a document under `name`, or in parts with an index under that name if it exceeds the limits (X04).

    Parts are named `part_name(1)`, `part_name(2)`, …. Each is a `urlset` with the document's `rs:md` and links, and a
    link with `rel="index"` to `uri(name)` (X13). The index has the same `rs:md` and links, and lists `uri(part)` of
    every part with the document's interval. An index cannot be split, because no index lists indexes, so only the
    limits of the standard apply to it. `open(name)` returns a writable binary stream, which is closed here. The entries
    are read once, and no more than one document is held in memory. Returns the names written, the index last.

    Raises `DocumentError` as `write` does, and if splitting does not help: for an entry larger than a part, for more
    parts than an index holds, and for a document that is an index itself. What was already written stays.
    """
    renderer = Renderer(document.root, edition)
    lone = _Frame.of(document, renderer, limits)
    if lone.room < 0:
        message = f"the head of {name!a} alone exceeds {_shown(limits)}; give it fewer links (X04)"
        raise DocumentError(message)
    entries = (entry.encode() for entry in renderer.entries(document))
    held, more = lone.take(entries)
    if not more:
        lone.write(open(name), held)
        return (name,)
    if document.root is Root.SITEMAPINDEX:
        message = "a sitemapindex exceeds the limits and no index lists indexes; publish several sets (X04)"
        raise DocumentError(message)
    part = _Frame.of(replace(document, links=(*document.links, Link(rel="index", href=uri(name)))), renderer, limits)
    # An index cannot be split, so tighter limits of the caller apply only to the parts.
    index_renderer = Renderer(Root.SITEMAPINDEX, edition)
    index = _Frame.of(replace(document, root=Root.SITEMAPINDEX), index_renderer, STANDARD_LIMITS)
    interval, names, listed = _interval(document), dict[str, None](), list[bytes]()
    left, more = chain(held, more, entries), list[bytes]()
    while True:
        held, more = part.take(chain(more, left))
        if not held and more:
            raise DocumentError(_too_large(more[0], part))
        if not held:
            break
        number = len(names) + 1
        path = part_name(number)
        if path in names or path == name:
            message = f"two documents would be named {path!a}; give every part a name of its own"
            raise DocumentError(message)
        listed.append(index_renderer.entry(Entry(loc=uri(path), md=interval)).encode())
        if number > index.limits.entries or sum(map(len, listed)) > index.room:
            message = (
                f"the index {name!a} cannot hold more than {len(names):,} parts within {_shown(index.limits)}; publish"
                " the resources as several sets (X04)"
            )
            raise DocumentError(message)
        names[path] = None
        part.write(open(path), held)
    index.write(open(name), listed)
    return (*names, name)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What comes before and after the entries of a document, and the limits of the whole."""

    head: bytes
    tail: bytes
    limits: Limits

    @classmethod
    def of(cls, document: Document, renderer: Renderer, limits: Limits) -> "_Frame":
        return cls(renderer.head(document).encode(), renderer.tail().encode(), limits)

    @property
    def room(self) -> int:
        """The bytes that are left for entries."""
        return self.limits.size - len(self.head) - len(self.tail)

    def take(self, entries: Iterator[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return the next entries that there is room for, and the one after them, if there is one."""
        held: list[bytes] = []
        left = self.room
        for entry in entries:
            left -= len(entry)
            if left < 0 or len(held) == self.limits.entries:
                return held, [entry]
            held.append(entry)
        return held, []

    def write(self, stream: BinaryIO, entries: Iterable[bytes]) -> None:
        """Write a document, and close the stream, even after an error."""
        with closing(stream):
            stream.writelines(chain([self.head], entries, [self.tail]))


def _interval(document: Document) -> Metadata | None:
    md = document.md or Metadata()
    interval = Metadata(at=md.at, completed=md.completed, from_=md.from_, until=md.until)
    return None if interval == Metadata() else interval


def _too_large(entry: bytes, part: _Frame) -> str:
    loc = unescape(entry.decode().partition("<loc>")[2].partition("</loc>")[0])
    return (
        f"the entry with loc {loc!a} has {len(entry):,} bytes and fits into no document of"
        f" {_shown(part.limits)}, of which the head takes {len(part.head):,} bytes; give it fewer links (X04)"
    )


def _shown(limits: Limits) -> str:
    return f"{limits.entries:,} entries and {limits.size:,} bytes"
