"""The dates in the bytes of a sitemap that another program wrote; everything else in it stays as it is."""

import pyexpat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import LONGEST_LOC, SITEMAP_NS, XML_SPACE

_ENTRY, _FIELD = 2, 3  # depths
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"<\0": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\0<": "utf-16-be"}


class UnreadableSitemapError(PublicationError):
    """Raised where the sitemap of another program cannot be read; says why."""


@dataclass(slots=True)
class _Element:
    """An element: the text in it, and the offsets of its start tag, its content, its end tag and what follows."""

    prefix: str
    offsets: list[int]
    text: str = ""


@dataclass(slots=True)
class SitemapEntry:
    """An entry of a sitemap, or with `is_part` one of an index of sitemaps."""

    is_part: bool
    loc: _Element | None = None
    lastmods: list[_Element] = field(default_factory=list)

    @property
    def uri(self) -> str:
        """The URL; empty if there is none."""
        return self.loc.text.strip(XML_SPACE) if self.loc else ""

    @property
    def date(self) -> str:
        """The date; empty if there is none."""
        return self.lastmods[0].text.strip(XML_SPACE) if self.lastmods else ""


class ForeignSitemap:
    """The entries of a sitemap with their places in its bytes, in any encoding that Expat knows."""

    def __init__(self, data: bytes) -> None:
        """Read it. Raises `UnreadableSitemapError`, also for a DOCTYPE, which could load or expand other content."""
        self._data, self.entries = data, list[SitemapEntry]()
        self._codec = _UTF_16.get(data[:2], "latin-1")  # also for UTF-8, of which only ASCII matters
        self._spaces = [each.encode(self._codec) for each in XML_SPACE]
        self._depth, self._is_sitemap = 0, False
        self._entry: SitemapEntry | None = None
        self._open: _Element | None = None  # the `loc` or `lastmod` that is being read
        self._tag: list[int] | None = None  # the offsets of an element whose tag ends where the next event begins
        parser = self._parser = pyexpat.ParserCreate(namespace_separator=" ")
        parser.namespace_prefixes = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.DefaultHandler = self._characters, self._place
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(data, True)  # noqa: FBT003 - its parameters have no names
        except (pyexpat.ExpatError, LookupError, ValueError) as error:  # the others: an encoding that is not known
            message = f": {error}"
            raise UnreadableSitemapError(message) from error
        if not self._is_sitemap:
            message = ", because it is not a sitemap"
            raise UnreadableSitemapError(message)

    def with_dates(self, dates: Sequence[str]) -> bytes:
        """Return the bytes with the date of each entry: its `lastmod` is replaced, inserted or, if empty, removed."""
        new, end = bytearray(), 0
        for entry, date in zip(self.entries, dates, strict=True):
            for begin, until, text in self._edits(entry, date) if date != entry.date else ():
                new += self._data[end:begin] + text.encode(self._codec)
                end = until
        return bytes(new) + self._data[end:]

    def _edits(self, entry: SitemapEntry, date: str) -> Iterator[tuple[int, int, str]]:
        """Yield what replaces which bytes."""
        if date and not entry.lastmods and entry.loc:
            begin, _, _, end = entry.loc.offsets
            indentation = self._data[self._without_space(begin) : begin].decode(self._codec)
            yield end, end, indentation + _lastmod(entry.loc.prefix, date)
        for number, each in enumerate(entry.lastmods):
            begin, content, content_end, end = each.offsets
            if not date or number:
                yield self._without_space(begin), end, ""
            elif content == end:  # an empty element, which has no end tag
                yield begin, end, _lastmod(each.prefix, date)
            else:
                yield content, content_end, date

    def _without_space(self, end: int) -> int:
        """Return where the white space before an offset begins."""
        width = len(self._spaces[0])
        while self._data[end - width : end] in self._spaces:
            end -= width
        return end

    def _place(self, _: object = None) -> int:
        """Return the offset of an event; the tag before it ends there."""
        place = self._parser.CurrentByteIndex
        if self._tag is not None:
            self._tag.append(place)
            self._tag = None
        return place

    def _start(self, name: str, _: object) -> None:
        namespace, _, rest = name.partition(" ")
        local, _, prefix = rest.partition(" ")
        element = _Element(prefix, [self._place()])
        self._depth += 1
        if namespace != SITEMAP_NS:
            return
        if self._depth == 1:
            self._is_sitemap = local in ("urlset", "sitemapindex")
        elif self._depth == _ENTRY and local in ("url", "sitemap"):
            self._entry = SitemapEntry(local == "sitemap")
            self.entries.append(self._entry)
        elif self._depth == _FIELD and self._entry and local in ("loc", "lastmod"):
            if local == "lastmod":
                self._entry.lastmods.append(element)
            else:
                self._entry.loc = self._entry.loc or element
            self._open, self._tag = element, element.offsets

    def _end(self, _: str) -> None:
        place = self._place()
        if self._depth == _FIELD and self._open:
            self._open.offsets.append(place)
            self._tag, self._open = self._open.offsets, None
        elif self._depth == _ENTRY:
            self._entry = None
        self._depth -= 1

    def _characters(self, text: str) -> None:
        self._place()
        if self._open and self._depth == _FIELD and len(self._open.text) < LONGEST_LOC:
            self._open.text += text

    def _doctype(self, *_: object) -> None:
        message = ", because it has a DOCTYPE, which could load or expand other content"
        raise UnreadableSitemapError(message)


def _lastmod(prefix: str, date: str) -> str:
    tag = f"{prefix}:lastmod" if prefix else "lastmod"
    return f"<{tag}>{date}</{tag}>"
