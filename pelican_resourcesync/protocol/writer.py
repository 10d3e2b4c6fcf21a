"""The text of our documents: written to a stream, as one file or in parts (X04, RL04, CH07), and read back as text.

Text is concatenated directly, because lists have hundreds of thousands of entries; the functions `escape_…` of `values`
make this safe. No value contains a line break or a `<`, because these are escaped, so the lines of a document are its
elements. Documents whose bytes are known to be ours are read by these lines, several times faster than by `reader`.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from io import BytesIO
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.attributes import LINK, METADATA, element_renderer, parse_attributes
from pelican_resourcesync.protocol.model import (
    EDITIONS,
    RS_NS,
    SITEMAP_NS,
    Document,
    Entry,
    Limits,
    Link,
    Metadata,
    Root,
)
from pelican_resourcesync.protocol.reader import read
from pelican_resourcesync.protocol.values import (
    LONGEST_LOC,
    are_all,
    escape_attribute,
    escape_text,
    render_datetime,
    require_absolute,
    unescape,
)

# Nearly every loc is like this: valid, and without anything to escape.
_PLAIN_LOC = "[A-Za-z][A-Za-z0-9+.-]*+:[!#-%(-;=?-~]++"
_INDENT = "    "

#: Size of the cache: many resources link to the same collections, profiles and the like.
_RECENT = 4_096
#: The number of entries that are checked together, which is several times as fast as one by one.
_BATCH = 512


class Renderer:
    """Writes the head, the entries and the tail of documents with one root and in one edition, as text.

    Raises `DocumentError` for an edition that does not exist.
    """

    __slots__ = ("_entry", "_ln", "_md", "_root")

    def __init__(self, root: Root, edition: int, prefixes: Iterable[tuple[str, str]] = ()) -> None:
        """Prepare what depends on the root, the edition and the `prefixes` of a document, once for all entries."""
        if edition not in EDITIONS:
            message = f"there is no edition {edition} of the core specification; choose one of {EDITIONS}"
            raise DocumentError(message)
        self._root = root
        self._entry = root.entry
        self._md = element_renderer("rs:md", METADATA, edition, prefixes)
        self._ln = element_renderer("rs:ln", LINK, edition, prefixes)

    def head(self, document: Document) -> str:
        """Write everything before the first entry.

        Raises `DocumentError`, which names the document's capability, for values that are not allowed in a document;
        `rs:md` and its `capability` are required (X02).
        """
        md = document.md
        if md is None or not md.capability:
            message = f"a {self._root} must have an rs:md with a capability; add it, to say what the document is (X02)"
            raise DocumentError(message)
        try:
            elements = self._links(document.links, "  ") + f"  {self._md(md)}"
        except DocumentError as error:
            message = f"the document with capability {str(md.capability)!a}: {error}"
            raise DocumentError(message) from None
        indent = "\n" + " " * len(f"<{self._root} ")
        declared = [("xmlns", SITEMAP_NS), ("xmlns:rs", RS_NS)]
        declared += [(f"xmlns:{prefix}", uri) for prefix, uri in document.prefixes]
        namespaces = indent.join(f'{name}="{escape_attribute(uri)}"' for name, uri in declared)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<{self._root} {namespaces}>\n{elements}'

    def entries(self, document: Document) -> Iterator[str]:
        """Write all entries of a document; raises `DocumentError` as `entry` does."""
        yield from map(self.entry, document.entries)
        rendered = iter(document.rendered)
        while rows := [*islice(rendered, _BATCH)]:
            locs, mds, links, lastmods = zip(*rows, strict=True)
            lines = [f"    <lastmod>{lastmod}</lastmod>\n" if lastmod else "" for lastmod in lastmods]
            yield from render_entries(locs, lines, mds, links, self._entry)

    def entry(self, entry: Entry) -> str:
        """Write one entry; raises `DocumentError`, which names its `loc`, for values that are not allowed."""
        try:
            lastmod = "" if entry.lastmod is None else f"    <lastmod>{_lastmod(entry.lastmod)}</lastmod>\n"
            if entry.changefreq is not None:
                lastmod += f"    <changefreq>{escape_text(entry.changefreq)}</changefreq>\n"
            md = "" if entry.md is None else self.entry_md(entry.md)
            links = self.entry_links(entry.links) if entry.links else ""
            loc = render_loc(entry.loc)
        except DocumentError as error:
            raise _error_of_entry(entry.loc, error) from None
        return f"  <{self._entry}>\n    <loc>{loc}</loc>\n{lastmod}{md}{links}  </{self._entry}>\n"

    def tail(self) -> str:
        """Write everything after the last entry."""
        return f"</{self._root}>\n"

    def entry_links(self, links: tuple[Link, ...]) -> str:
        """Write the links of an entry; raises `DocumentError` as `entry` does."""
        return self._links(links, "    ")

    def entry_md(self, md: Metadata) -> str:
        """Write the `rs:md` of an entry; raises `DocumentError` as `entry` does."""
        return f"    {self._md(md)}"

    def _links(self, links: tuple[Link, ...], indent: str) -> str:
        rendered = ""
        for link in links:
            try:
                rendered += f"{indent}{self._ln(link)}"
            except DocumentError as error:
                message = f"the link to {link.href[:80]!a}, {error}"
                raise DocumentError(message) from None
        return rendered


def render_entries(
    locs: Sequence[str], lastmods: Sequence[str], mds: Sequence[str], links: Sequence[str], element: str = "url"
) -> list[str]:
    """Write entries whose `lastmod`, `rs:md` and links are whole elements; raises `DocumentError` for a `loc`."""
    begin, end = f"  <{element}>\n    <loc>", f"  </{element}>\n"
    return [
        f"{begin}{loc}</loc>\n{lastmod}{md}{ln}{end}"
        for loc, lastmod, md, ln in zip(_render_locs(locs), lastmods, mds, links, strict=True)
    ]


def _error_of_entry(loc: str, error: DocumentError) -> DocumentError:
    return DocumentError(f"the entry with loc {loc[:LONGEST_LOC]!a}: {error}")


def _render_locs(locs: Sequence[str]) -> list[str]:
    if max(map(len, locs), default=0) < LONGEST_LOC and are_all(_PLAIN_LOC, locs):
        return [*locs]
    rendered = []
    for loc in locs:
        try:
            rendered.append(render_loc(loc))
        except DocumentError as error:
            raise _error_of_entry(loc, error) from None
    return rendered


def render_loc(loc: str) -> str:
    """Write a `loc`; raises `DocumentError` for one that is not allowed."""
    if len(loc) >= LONGEST_LOC:
        message = f"its loc has {len(loc):,} characters; a loc must be shorter than {LONGEST_LOC:,} (X10)"
        raise DocumentError(message)
    return escape_text(require_absolute(loc))


def _lastmod(moment: dt.datetime) -> str:
    try:
        return render_datetime(moment)
    except DocumentError as error:
        message = f"lastmod: {error}"
        raise DocumentError(message) from None


@lru_cache(maxsize=_RECENT)
def render_link(rel: str, href: str, type: str | None = None, pri: int | None = None) -> str:
    """Write a link of an entry (X06), as a `Renderer` does but without a model, as large lists consist of these."""
    typed = "" if type is None else f' type="{LINK["type"].render(type)}"'
    ranked = "" if pri is None else f' pri="{LINK["pri"].render(pri)}"'
    return f'{_INDENT}<rs:ln rel="{LINK["rel"].render(rel)}" href="{LINK["href"].render(href)}"{ranked}{typed}/>\n'


def render_metadata(hash: str | None, length: int | None, type: str | None) -> str:
    """Write the `rs:md` of an entry (X08, X09), as a `Renderer` does, but without a model.

    `hash` is `algorithm:digest`, both in letters and digits. Returns an empty string if nothing is known.
    """
    hashed = "" if hash is None else f' hash="{hash}"'
    sized = "" if length is None else f' length="{METADATA["length"].render(length)}"'
    typed = "" if type is None else f' type="{METADATA["type"].render(type)}"'
    return f"{_INDENT}<rs:md{hashed}{sized}{typed}/>\n" if hashed or sized or typed else ""


STANDARD_LIMITS = Limits()


def write(document: Document, stream: BinaryIO, *, edition: int = 2017) -> int:
    """Write a document as UTF-8 and return the number of its entries (X01).

    The entries are read once and are not held in memory. The same document always produces the same bytes.
    `edition=2014` leaves out what the edition of 2017 added (V1103), and `profile`, which is not in the schema of 2014.
    The size is not limited: see `write_parts`. Raises `DocumentError` for values that are not allowed in a document;
    what was already written stays in the stream.
    """
    renderer = Renderer(document.root, edition, document.prefixes)
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
    renderer = Renderer(document.root, edition, document.prefixes)
    lone = _Frame.of(document, renderer, limits)
    if lone.room < 0:
        message = f"the head of {name!a} alone exceeds {_limits_in_words(limits)}; give it fewer links (X04)"
        raise DocumentError(message)
    entries = (entry.encode() for entry in renderer.entries(document))
    held, more = lone.take(entries)
    if not more:
        lone.write(open(name), held)
        return (name,)
    if document.root is Root.SITEMAPINDEX:
        message = "a sitemapindex exceeds the limits, and an index must not list indexes; publish several sets (X04)"
        raise DocumentError(message)
    part = _Frame.of(replace(document, links=(*document.links, Link(rel="index", href=uri(name)))), renderer, limits)
    # An index cannot be split, so tighter limits of the caller apply only to the parts.
    index_renderer = Renderer(Root.SITEMAPINDEX, edition, document.prefixes)
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
                f"the index {name!a} cannot hold more than {len(names):,} parts within "
                f"{_limits_in_words(index.limits)}; publish the resources as several sets (X04)"
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
        f"the entry with loc {loc!a} has {len(entry):,} bytes and does not fit into a document of"
        f" {_limits_in_words(part.limits)}, of which the head takes {len(part.head):,} bytes; give it fewer links (X04)"
    )


def _limits_in_words(limits: Limits) -> str:
    return f"{limits.entries:,} entries and {limits.size:,} bytes"


_ENTRY = re.compile(
    r"  <url>\n    <loc>([^<]*+)</loc>\n(?:    <lastmod>([^<]*+)</lastmod>\n)?"
    r"((?:    <rs:md[^\n]*+\n)?)((?:    <rs:ln [^\n]*+\n)*+)  </url>\n"
)
_ATTRIBUTE = re.compile(r' ([a-z]++)="([^"]*+)"')
_OF_A_COMMUNITY = re.compile(r' [^ "=:]++:[^ "=]*+="')
_BEFORE = f'<urlset xmlns="{SITEMAP_NS}" xmlns:rs="{RS_NS}"><url><loc>urn:x</loc>'
_AROUND = _BEFORE, "</url></urlset>"


class EntryText(NamedTuple):
    """An entry as text: `loc` and `lastmod` are values, `md` and `links` whole elements. Absent ones are empty."""

    loc: str
    lastmod: str
    md: str
    links: str


_entry_text = partial(tuple.__new__, EntryText)  # without a function in Python for each


def split_entries(document: str) -> list[EntryText]:
    """Return the entries of a `urlset` that `write` wrote. Raises `DocumentError` if it is none."""
    entries = [*map(_entry_text, _ENTRY.findall(document))]
    if len(entries) != document.count("</url>"):
        message = "a document is not in the form that this program writes"
        raise DocumentError(message)
    if "&" in document:
        entries = [entry._replace(loc=unescape(entry.loc)) if "&" in entry.loc else entry for entry in entries]
    return entries


def attributes_in(element: str) -> dict[str, str]:
    """Return the values of an element's attributes without a namespace, by name."""
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(element)}


def parse_metadata(text: str) -> Metadata:
    """Parse what `Renderer.entry_md` or `render_metadata` wrote, which may be nothing, without community attributes."""
    return Metadata(**parse_attributes(METADATA, attributes_in(text).items()))


def parse_links(text: str) -> tuple[Link, ...]:
    """Parse what `Renderer.entry_links` or `render_link` wrote."""
    if _OF_A_COMMUNITY.search(text):
        [entry] = read(BytesIO(text.join(_AROUND).encode()), name="the links of an entry").entries
        return entry.links
    return tuple([Link(**parse_attributes(LINK, attributes_in(line).items())) for line in text.split("\n")[:-1]])
