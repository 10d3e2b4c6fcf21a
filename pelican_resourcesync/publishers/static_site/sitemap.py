"""The sitemap of a site: its pages, with the dates of the changes that were published.

In a sitemap that another program wrote, the dates alone are corrected; everything else in it stays as it is.
"""

import gzip
import pyexpat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Self
from xml.sax.saxutils import escape

from pelican_resourcesync.content import Stamps
from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.http import path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.protocol import (
    LONGEST_LOC,
    SITEMAP_NS,
    XML_SPACE,
    content_time,
    is_for_people,
    parse_datetime,
)
from pelican_resourcesync.publication import (
    Layout,
    ResourceList,
    Row,
    build_time,
    is_later,
    parse_representation,
    read_state,
)
from pelican_resourcesync.publishers.static_site.files import leads_outside
from pelican_resourcesync.settings import CORRECT, REPLACE
from pelican_resourcesync.system.durable import replace_file

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
        parser.StartElementHandler, parser.EndElementHandler = self._start_element, self._end_element
        parser.CharacterDataHandler, parser.DefaultHandler = self._characters, self._place
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(data, True)  # noqa: FBT003 - its parameters have no names
        except (pyexpat.ExpatError, LookupError, ValueError) as error:  # the others: an encoding that is not known
            message = f" ({error})"
            raise UnreadableSitemapError(message) from error
        if not self._is_sitemap:
            message = ", because it is not a sitemap"
            raise UnreadableSitemapError(message)

    def with_dates(self, dates: Sequence[str]) -> bytes:
        """Return the bytes with the date of each entry: its `lastmod` is replaced, inserted or, if empty, removed."""
        new, end = bytearray(), 0
        for entry, lastmod in zip(self.entries, dates, strict=True):
            place = entry.fields.get("lastmod") or entry.fields.get("loc")
            if lastmod == entry.date or place is None:
                continue
            tag, space = f"{place.prefix}:lastmod" if place.prefix else "lastmod", self._space_before(place.begin)
            is_dated = "lastmod" in entry.fields
            new += self._data[end : place.begin - len(space) if is_dated else place.end]
            new += space + f"<{tag}>{lastmod}</{tag}>".encode(self._codec) if lastmod else b""
            end = place.end
        return bytes(new) + self._data[end:]

    def _space_before(self, end: int) -> bytes:
        spaces, begin = [character.encode(self._codec) for character in XML_SPACE], end
        while self._data[begin - len(spaces[0]) : begin] in spaces:
            begin -= len(spaces[0])
        return self._data[begin:end]

    def _place(self, _: object = None) -> int:
        """Return the offset of an event; what was closed before it ends there."""
        place = self._parser.CurrentByteIndex
        if self._closed:
            self._closed.end, self._closed = place, None
        return place

    def _start_element(self, name: str, _: object) -> None:
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

    def _end_element(self, _: str) -> None:
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


_SITEMAP = "sitemap.xml"
#: The names that generators give to the file that search engines begin with.
_ENTRY_POINTS = (_SITEMAP, "sitemap-index.xml", "sitemap_index.xml")
#: Tells our sitemaps from those of other programs.
_MARK = "<!-- Written by pelican-resourcesync -->"
#: The limits of a sitemap: entries, and bytes.
MOST_ENTRIES, MOST_BYTES = 50_000, 50_000_000
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n{_MARK}\n<{{root}} xmlns="{SITEMAP_NS}">\n'
_SPARE = 1_000  # bytes for the beginning and the end of a file
#: The media types of what search engines show as pages.
_PAGES = frozenset(("text/html", "application/xhtml+xml", "application/pdf"))
_INDEX = "index.html"
_DAY = len("2026-01-01")


def is_page(media_type: str | None) -> bool:
    """Return whether a resource of this media type is a page for search engines: HTML or PDF."""
    return (media_type or "").partition(";")[0].strip().lower() in _PAGES


def sitemap_name(output: Path) -> str:
    """Return the path of the sitemap in an output that search engines begin with, whoever wrote it or is to write."""
    return next((name for name in _ENTRY_POINTS if (output / name).is_file()), _SITEMAP)


def own_sitemaps(output: Path) -> list[Path]:
    """Return the sitemaps in an output that we wrote."""
    return [file for file in sorted(output.glob("sitemap*.xml")) if file.is_file() and _is_ours(file)]


def _is_ours(file: Path) -> bool:
    with file.open("rb") as stream:
        return _MARK.encode() in stream.read(_SPARE)


def update_sitemap(output: Path, layouts: Collection[Layout], *, wanted: bool | str) -> str:
    """Write the sitemap of the published sets, or remove it if it is not `wanted`.

    A sitemap of another program is left alone, unless `wanted` says to replace it, or to correct its dates. Returns a
    message if there is something for the user to know about it, for example that it cannot be read.
    """
    before, name = own_sitemaps(output), sitemap_name(output)
    file = output / name
    taken = file.is_file() and file not in before
    if taken and wanted == CORRECT:
        try:
            return _Correction(output, layouts).correct(file)
        except UnreadableSitemapError as error:
            return str(error)
    written = set()
    if wanted and (not taken or wanted == REPLACE):
        for part, text in _files(layouts, output, name):
            _save(output / part, text.encode())
            written.add(output / part)
    for former in before:
        if former not in written:
            former.unlink()
    message = (
        f"the sitemap was not written, because another program has written {name}: set sitemap to {REPLACE!r} to "
        f"overwrite it, or to {CORRECT!r} to correct its dates"
    )
    return message if taken and wanted is True else ""


def _save(file: Path, data: bytes) -> None:
    """Write a file and the compressed copy beside it, if there is one, unless they have these bytes already."""
    if not file.is_file() or file.read_bytes() != data:
        replace_file(file, data)
    copy = file.with_name(f"{file.name}.gz")
    if copy.is_file() and copy.read_bytes() != (packed := gzip.compress(data, mtime=0)):
        replace_file(copy, packed)


def _files(layouts: Collection[Layout], output: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file: parts before their index, or a single file."""
    siteurl = next(iter(layouts)).siteurl
    parts = _parts(row for row in _pages(layouts, output) if is_for_people(row.representation))
    first, second = next(parts, ([], "")), next(parts, None)
    if second is None:
        yield name, _text("urlset", first[0])
        return
    index = []
    names = (_SITEMAP.replace(".", f"-{number}.") for number in count(1))
    free = (name for name in names if not (output / name).exists() or _is_ours(output / name))
    for part_name, (lines, latest) in zip(free, chain([first, second], parts), strict=False):
        yield part_name, _text("urlset", lines)
        index.append(_line("sitemap", f"{siteurl}/{part_name}", latest))
    yield name, _text("sitemapindex", index)


def _pages(layouts: Iterable[Layout], output: Path) -> Iterator[Row]:
    """Yield the pages in all Resource Lists, each URI once."""
    states = [read_state(output, layout) for layout in layouts]
    lists = [ResourceList(output.joinpath, known.parts).rows() for known in states if known]
    for _, same in groupby(merge(*lists, key=itemgetter(0)), key=itemgetter(0)):
        row = next(same)
        if is_page(parse_representation(row.representation).type):
            yield row


def _parts(rows: Iterable[Row]) -> Iterator[tuple[list[str], str]]:
    """Yield the lines of each file, and the time of the latest change in it."""
    part: list[str] = []
    size, latest = _SPARE, ""
    for row in rows:
        time = content_time(row.representation, row.lastmod)
        line = _line("url", row.uri, time)
        length = len(line.encode())
        if part and (len(part) == MOST_ENTRIES or size + length > MOST_BYTES):
            yield part, latest
            part, size, latest = [], _SPARE, ""
        part.append(line)
        size += length
        latest = time if is_later(time, latest) else latest
    if part:
        yield part, latest


def _text(root: str, lines: Iterable[str]) -> str:
    return "".join([_HEAD.format(root=root), *lines, f"</{root}>\n"])


def _line(name: str, loc: str, time: str) -> str:
    lastmod = f"<lastmod>{time}</lastmod>" if time else ""
    return f"<{name}><loc>{escape(loc)}</loc>{lastmod}</{name}>\n"


class _Known(NamedTuple):
    """What is known of a page: when it was seen to change, if it was, or what it says itself; and since when."""

    changed: str = ""
    said: str = ""
    began: datetime | None = None

    @classmethod
    def of(cls, page: Row, began: datetime) -> Self:
        time = content_time(page.representation, page.lastmod)
        return cls(time, "", began) if page.lastmod else cls("", time, began)


class _Correction:
    """Corrects the dates in a sitemap of another program, and nothing else in it.

    A page that was seen to change gets the time of that change. Every other one keeps its date, unless that is a stamp,
    which says when the site was built or copied.
    """

    def __init__(self, output: Path, layouts: Collection[Layout]) -> None:
        self._output, self._built = output, build_time()
        self._siteurl = next(iter(layouts)).siteurl
        self._known = dict[str, _Known]()
        for layout in layouts:
            if known := read_state(output, layout):
                began = min(known.began, self._built)
                pages = {page.uri: _Known.of(page, began) for page in _pages([layout], output)}
                self._known = pages | self._known
        self._unknown: list[str] = []

    def correct(self, file: Path) -> str:
        """Correct a sitemap and the parts that it lists; return a message about URLs that are no pages of the site.

        Nothing is written if one of them cannot be read.
        """
        parts = {file: None} | {
            part: None for entry in _read_foreign(file).entries if (part := self._part(entry, file))
        }
        self._stamps = self._find_stamps(entry for part in parts for entry in _read_foreign(part).entries)
        latest: dict[Path | None, str] = {}
        for part in reversed(parts):  # the index is the last one
            sitemap = _read_foreign(part)
            dates = [self._date(entry, latest.get(self._part(entry, file))) for entry in sitemap.entries]
            latest[part] = max(filter(_moment, dates), key=lambda lastmod: _moment(lastmod) or self._built, default="")
            _save(part, sitemap.with_dates(dates))
        if not self._unknown:
            return ""
        number, site = len(self._unknown), f"{self._siteurl}/"
        which = f"{number:,} URLs in {file.name} are not pages" if number > 1 else f"1 URL in {file.name} is not a page"
        elsewhere = next((uri for uri in self._unknown if not uri.startswith(site)), None)
        remedy = f". Set the base URL of the generator to {site}" if elsewhere else ""
        return (
            f"{which} of this site, for example {elsewhere or self._unknown[0]}. "
            f"Their dates stay unchanged, except dates of a build{remedy}"
        )

    def _part(self, entry: SitemapEntry, index: Path) -> Path | None:
        path = path_of_uri(self._siteurl, entry.uri) if entry.is_part else None
        part = self._output / path if path else index
        return part if part != index and part.is_file() and not leads_outside(part, self._output) else None

    def _find_stamps(self, entries: Iterable[SitemapEntry]) -> Stamps:
        """Find the stamps among the dates of all pages that were not seen to change, in all files together.

        The other pages do not count: their dates may come from an earlier run, and a second run must change nothing.
        """
        unseen = [entry.date for entry in entries if not (entry.is_part or self._page(entry.uri).changed)]
        moments = [moment for date in unseen if len(date) >= _DAY and (moment := _moment(date))]  # a year is no day
        return Stamps(moments, len(unseen))

    def _date(self, entry: SitemapEntry, latest: str | None) -> str:
        """Return the right date of an entry: the one that it has, if that means the same; of a part the `latest`."""
        before, right = _moment(entry.date), latest
        if right is None:
            page = self._page(entry.uri)
            if page.began is None:
                self._unknown.append(entry.uri)
            right = page.changed or self._without_stamp(entry.date, before, page)
        return entry.date if before and before == _moment(right) else right

    def _without_stamp(self, text: str, moment: datetime | None, page: _Known) -> str:
        """Return the date of a page that was not seen to change: its own instead of a stamp, or an empty text."""
        if moment is None:
            return text or page.said
        return page.said if self._stamps.has(moment, page.began or self._built) else text

    def _page(self, loc: str) -> _Known:
        """Return what is known of the page at a URL."""
        return next((self._known[uri] for uri in self._spellings(loc) if uri in self._known), _Known())

    def _spellings(self, loc: str) -> Iterator[str]:
        """Yield the URIs that the page at a URL may have: generators link to the same file in different ways."""
        yield loc
        path = path_of_uri(self._siteurl, loc)
        for file in served_paths(path) if path is not None else ():
            for end in ("", _INDEX, ".html"):
                if file.endswith(end):
                    yield uri_of_path(self._siteurl, file.removesuffix(end))


def _read_foreign(file: Path) -> ForeignSitemap:
    is_too_large = file.stat().st_size > MOST_BYTES
    try:
        return ForeignSitemap(b"" if is_too_large else file.read_bytes())
    except UnreadableSitemapError as error:
        advice = "generate it again as a standard sitemap, or set sitemap to 'replace' or false"
        why = ", because it is too large" if is_too_large else error
        message = f"the dates in {file} cannot be corrected{why}: {advice}"
        raise UnreadableSitemapError(message) from error


def _moment(text: str) -> datetime | None:
    """Return the time that a date means, in its own zone, else in UTC; `None` if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return parse_datetime(text)  # a year, or a month
        except DocumentError:
            return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
