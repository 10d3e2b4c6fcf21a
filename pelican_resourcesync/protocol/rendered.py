"""Read documents that `write` wrote, and refuse others; entries as text, several times as fast as `read`.

Regular expressions describe exactly what a `Renderer` writes, so a match is as good as parsing. Entries that do not
match, such as those with characters that are not ASCII, are parsed, written again, and compared.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from io import BytesIO
from itertools import chain, islice, takewhile
from operator import itemgetter
from typing import BinaryIO, NamedTuple

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata
from pelican_resourcesync.protocol.reader import read
from pelican_resourcesync.protocol.renderer import Renderer, render_loc
from pelican_resourcesync.protocol.values import LONGEST_LOC, Hash, render_datetime, render_hashes, unescape
from pelican_resourcesync.protocol.vocabulary import LARGEST_ELEMENT, MOST_BYTES, MOST_ENTRIES, RS_NS, SITEMAP_NS, Root

_CHUNK = 131_072  # bytes
_RECENT = 4_096  # times: many entries share one
_SHOWN = 200  # characters of a URI in a message

_URI = r"[A-Za-z][A-Za-z0-9+.-]*+:(?:[!#-%(-;=?-~]++|&(?:amp|lt|gt|quot|apos);)++"
_WORD = r"[ !#-%(-;=?-~]*+"
_TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}"
    r"(?:\.(?:(?!000Z)[0-9]{3}|[0-9]{3}(?!000)[0-9]{3}))?Z"
)
_ENTRY = re.compile(
    rf"  <url>\n    <loc>({_URI})</loc>\n(?:    <lastmod>({_TIME})</lastmod>\n)?"
    rf'(?:    <rs:md(?: change="(created|updated|deleted)")?(?: datetime="({_TIME})")?'
    r'((?: hash="([a-z0-9-]+:[0-9a-f]+)")?(?: length="(0|[1-9][0-9]{0,17})")?'
    rf'(?: type="{_WORD}")?)(?: path="(/{_WORD})")?/>\n)?'
    rf'((?:    <rs:ln rel="{_WORD}(?<!")" href="{_URI}"(?: type="{_WORD}")?/>\n)*+)  </url>\n'
    r"|[\s\S]"  # anything else, one character at a time, and with an empty loc
)
_LINK = re.compile(rf'    <rs:ln rel="({_WORD})" href="({_URI})"(?: type="({_WORD})")?/>\n')
_MD = re.compile(
    r'    <rs:md(?: hash="([a-z0-9-]+):([0-9a-f]+)")?(?: length="(0|[1-9][0-9]{0,17})")?'
    rf'(?: type="({_WORD})")?/>\n'
)
_BEGIN, _END, _TAIL = b"\n  <url>\n", "  </url>\n", "</urlset>\n"
_AROUND = f'<urlset xmlns="{SITEMAP_NS}" xmlns:rs="{RS_NS}"><url><loc>urn:x</loc>', "</url></urlset>"
_EDITION = 2017
_RENDERER = Renderer(Root.URLSET, _EDITION)


class EntryText(NamedTuple):
    """An entry as text: `described` are the attributes `hash`, `length` and `type`, and `links` whole elements.

    The others are values without escapes; `hash` is the first one. Absent ones are empty.
    """

    loc: str
    lastmod: str
    change: str
    datetime: str
    described: str
    hash: str
    length: str
    path: str
    links: str

    @property
    def md(self) -> str:
        """The `rs:md` of the resource, as `render_metadata` returns it."""
        return f"    <rs:md{self.described}/>\n" if self.described else ""


_entry_text = partial(tuple.__new__, EntryText)  # without a function in Python for each
_loc_of = itemgetter(0)


def as_written(document: Document, stream: BinaryIO, *, name: str) -> Iterator[Entry]:
    """Yield the entries of a document that was read from the same bytes as there are in `stream`.

    Raises `DocumentError` for anything that `write` would not have written. Unknown elements and attributes, comments
    and processing instructions are not read, but where a document is published again as it is, they are too.
    """
    renderer = Renderer(document.root, _EDITION)

    def is_next(render: Callable[[], str]) -> bool:
        try:
            data = render().encode()
        except DocumentError as error:  # a value that no document may contain
            message = f"{name}: {error}"
            raise DocumentError(message) from None
        return stream.read(len(data)) == data

    where = "" if is_next(partial(renderer.head, document)) else "before its entries"
    for entry in document.entries if not where else ():
        yield entry
        if not is_next(partial(renderer.entry, entry)):
            where = f"in or before the entry of {printable(entry.loc[:_SHOWN])}"
            break
    if where or not is_next(renderer.tail) or stream.read(1):
        message = f"{name} has something {where or 'after its entries'} that is never written there"
        raise DocumentError(message)


@contextmanager
def read_texts(open: Callable[[], BinaryIO], *, name: str) -> Iterator[tuple[Document, Iterator[EntryText]]]:
    """Read a document that `write` wrote: yield it without its entries, and these as text.

    `open` opens it. Raises `DocumentError` as `read` and `as_written` do.
    """
    with open() as stream, ExitStack() as stack:
        other = partial(_entered, stack, open)
        begin = stream.read(_CHUNK)
        head, mark, _ = begin.partition(_BEGIN)
        document = _read_head(head + b"\n") if mark else None
        if document:
            yield document, chain.from_iterable(_texts(stream, other, begin[len(head) + 1 :], name))
        else:
            stream.seek(0)
            document = read(stream, name=name)
            yield document, map(partial(_text_of, name=name), as_written(document, other(), name=name))


def _entered(stack: ExitStack, open: Callable[[], BinaryIO]) -> BinaryIO:
    return stack.enter_context(open())


def _read_head(data: bytes) -> Document | None:
    """Return the document without entries that begins like this, if it is as written."""
    with suppress(DocumentError):  # the reader of the whole says what is wrong
        document = read(BytesIO(data + _TAIL.encode()), name="a head")
        if _RENDERER.head(document).encode() == data:
            return replace(document, entries=())
    return None


def _texts(stream: BinaryIO, other: Callable[[], BinaryIO], begin: bytes, name: str) -> Iterator[Iterable[EntryText]]:
    """Yield the entries that match, in batches, and from the first one that does not those that `read` finds."""
    count = 0
    for batch in _matches(stream, begin):
        if batch is None or count + len(batch) > MOST_ENTRIES:
            stream.seek(0)
            entries = as_written(read(stream, name=name), other(), name=name)
            yield map(partial(_text_of, name=name), islice(entries, count, None))
            return
        count += len(batch)
        yield batch


def parse_metadata(text: str) -> Metadata:
    """Parse what `Renderer.entry_md` or `render_metadata` wrote; without any text, return empty metadata."""
    found = _MD.fullmatch(text)
    if found is None:
        return (_parse(text).md if text else None) or Metadata()
    algorithm, digest, length, type_ = found.groups()
    return Metadata(
        hash=(Hash(algorithm=algorithm, digest=digest),) if algorithm else (),
        length=int(length) if length else None,
        type=type_,
    )


def parse_links(text: str) -> tuple[Link, ...]:
    """Parse what `Renderer.entry_links` or `render_link` wrote."""
    found, end = [], 0
    for match in iter(_LINK.scanner(text).match, None):  # type: ignore[attr-defined]  # unknown to typeshed
        rel, href, type_ = match.groups()
        found.append(Link(rel=rel, href=unescape(href), type=type_))
        end = match.end()
    return tuple(found) if end == len(text) else _parse(text).links


def _parse(text: str) -> Entry:
    [entry] = read(BytesIO(text.join(_AROUND).encode()), name="a rendered entry").entries
    return entry


def _matches(stream: BinaryIO, begin: bytes) -> Iterator[list[EntryText] | None]:
    """Yield the entries up to the end of the document, or up to one that does not match, and then `None`."""
    left = ""
    for data in _chunks(stream, begin):
        if stream.tell() > MOST_BYTES or len(left) > LARGEST_ELEMENT or not data.isascii():
            break
        text = left + data.decode("ascii")
        end = text.rfind(_END) + len(_END) if _END in text else 0
        found = _ENTRY.findall(text, 0, end)
        other = "" in map(_loc_of, found)
        if other:
            found = [*takewhile(_loc_of, found)]
        entries = [*map(_entry_text, found)]
        if "&" in text:
            entries = [each._replace(loc=unescape(each.loc)) if "&" in each.loc else each for each in entries]
        if not _are_valid(entries):
            yield [*takewhile(lambda each: _are_valid([each]), entries)]
            break
        yield entries
        if other:
            break
        left = text[end:]
    else:
        if left == _TAIL:
            return
    yield None


def _are_valid(entries: Sequence[EntryText]) -> bool:
    """Return whether entries that match have no `loc` that is too long, and only times that exist."""
    times = {each.lastmod for each in entries}.union([each.datetime for each in entries])
    return max(map(len, map(_loc_of, entries)), default=0) < LONGEST_LOC and all(map(_is_time, times))


def _chunks(stream: BinaryIO, begin: bytes) -> Iterator[bytes]:
    yield begin
    yield from iter(partial(stream.read, _CHUNK), b"")


@lru_cache(maxsize=_RECENT)
def _is_time(text: str) -> bool:
    try:
        return not text or bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _text_of(entry: Entry, name: str) -> EntryText:
    """Return an entry of any document as text."""
    md = entry.md or Metadata()
    try:
        render_loc(entry.loc)
        hash_ = render_hashes(md.hash[:1])
        whole = _RENDERER.entry_md(Metadata(hash=md.hash[:1], length=md.length, type=md.type))
        links = _RENDERER.entry_links(entry.links)
    except DocumentError as error:
        message = f"{name}: {entry.loc[:_SHOWN]!a} cannot be published: {error}"
        raise DocumentError(message) from None
    return EntryText(
        loc=entry.loc,
        lastmod=render_datetime(entry.lastmod) if entry.lastmod else "",
        change=str(md.change or ""),
        datetime=render_datetime(md.datetime) if md.datetime else "",
        described=whole.strip().removeprefix("<rs:md").removesuffix("/>"),
        hash=hash_,
        length="" if md.length is None else str(md.length),
        path=md.path or "",
        links=links,
    )
