"""The dates in the bytes of a sitemap that another program wrote; everything else in it stays as it is."""

import pyexpat
from collections.abc import Sequence
from dataclasses import dataclass, field

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import LONGEST_LOC, SITEMAP_NS, XML_SPACE

_ENTRY, _FIELD = 2, 3  # depths
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"<\0": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\0<": "utf-16-be"}


class UnreadableSitemapError(PublicationError):
    """Raised where the sitemap of another program cannot be read; says why."""


@dataclass(slots=True)
class _Element:
    """An element: its prefix, if any, its offsets in the bytes, and its text."""

    prefix: str
    begin: int
    end: int = 0
    text: str = ""


@dataclass(slots=True)
class SitemapEntry:
    """An entry of a sitemap, or with `is_part` one of an index of sitemaps: its first `loc` and `lastmod`."""

    is_part: bool
    fields: dict[str, _Element] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """The URL; empty if there is none."""
        return self.fields["loc"].text.strip(XML_SPACE) if "loc" in self.fields else ""

    @property
    def date(self) -> str:
        """The date; empty if there is none."""
        return self.fields["lastmod"].text.strip(XML_SPACE) if "lastmod" in self.fields else ""


class ForeignSitemap:
    """The entries of a sitemap with their places in its bytes, in any encoding that Expat knows."""

    def __init__(self, data: bytes) -> None:
        """Read it. Raises `UnreadableSitemapError`, also for a DOCTYPE, which could load or expand other content."""
        self._data, self.entries = data, list[SitemapEntry]()
        self._codec = _UTF_16.get(data[:2], "latin-1")  # also for UTF-8, of which only ASCII matters
        self._depth, self._is_sitemap = 0, False
        self._entry: SitemapEntry | None = None
        self._open: _Element | None = None
        self._closed: _Element | None = None  # it ends where the next event begins
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
            place = entry.fields.get("lastmod") or entry.fields.get("loc")
            if date == entry.date or place is None:
                continue
            tag, space = f"{place.prefix}:lastmod" if place.prefix else "lastmod", self._space_before(place.begin)
            is_dated = "lastmod" in entry.fields
            new += self._data[end : place.begin - len(space) if is_dated else place.end]
            new += space + f"<{tag}>{date}</{tag}>".encode(self._codec) if date else b""
            end = place.end
        return bytes(new) + self._data[end:]

    def _space_before(self, end: int) -> bytes:
        spaces, begin = [each.encode(self._codec) for each in XML_SPACE], end
        while self._data[begin - len(spaces[0]) : begin] in spaces:
            begin -= len(spaces[0])
        return self._data[begin:end]

    def _place(self, _: object = None) -> int:
        """Return the offset of an event; what was closed before it ends there."""
        place = self._parser.CurrentByteIndex
        if self._closed:
            self._closed.end, self._closed = place, None
        return place

    def _start(self, name: str, _: object) -> None:
        namespace, _, rest = name.partition(" ")
        local, _, prefix = rest.partition(" ")
        element = _Element(prefix, self._place())
        self._depth += 1
        if namespace != SITEMAP_NS:
            return
        if self._depth == 1:
            self._is_sitemap = local in ("urlset", "sitemapindex")
        elif self._depth == _ENTRY and local in ("url", "sitemap"):
            self._entry = SitemapEntry(local == "sitemap")
            self.entries.append(self._entry)
        elif self._depth == _FIELD and self._entry and local in ("loc", "lastmod"):
            self._open = element
            self._entry.fields.setdefault(local, element)

    def _end(self, _: str) -> None:
        self._place()
        if self._depth == _FIELD:
            self._closed, self._open = self._open, None
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
