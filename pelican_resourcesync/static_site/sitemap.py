"""The sitemap of a site: its pages, with the dates of the changes that were published."""

import gzip
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import merge
from io import BytesIO
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path
from xml.sax.saxutils import escape

from lxml import etree

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.protocol import SITEMAP_NS
from pelican_resourcesync.publication import (
    Layout,
    ResourceList,
    Row,
    is_later,
    parse_representation,
    read_state,
    replace_file,
)
from pelican_resourcesync.settings import CORRECT, REPLACE

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


def is_page(media_type: str | None) -> bool:
    """Return whether a resource of this media type is a page for search engines: HTML or PDF."""
    return (media_type or "").partition(";")[0].strip().lower() in _PAGES


def sitemap_name(output: Path) -> str:
    """Return the path of the sitemap in an output that search engines begin with, whoever wrote it or is to write."""
    return next((each for each in _ENTRY_POINTS if (output / each).is_file()), _SITEMAP)


def own_sitemaps(output: Path) -> list[Path]:
    """Return the sitemaps in an output that we wrote."""
    return [each for each in sorted(output.glob("sitemap*.xml")) if each.is_file() and _is_ours(each)]


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
        except _UnreadableSitemapError as error:
            return str(error)
    written = set()
    if wanted and (not taken or wanted == REPLACE):
        for part, text in _files(layouts, output, name):
            _save(output / part, text.encode())
            written.add(output / part)
    for each in before:
        if each not in written:
            each.unlink()
    message = (
        f"the sitemap is not written, because another program has written {name}: the setting sitemap may be "
        f"{REPLACE!r}, or {CORRECT!r} for true dates in that one"
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
    parts = _parts(_pages(layouts, output))
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
    states = [read_state(output, each) for each in layouts]
    lists = [ResourceList(output.joinpath, known.state.parts).rows() for known in states if known]
    for _, same in groupby(merge(*lists, key=itemgetter(0)), key=itemgetter(0)):
        row = next(same)
        if is_page(parse_representation(row.representation).type):
            yield row


def _parts(rows: Iterable[Row]) -> Iterator[tuple[list[str], str]]:
    """Yield the lines of each file, and the time of the latest change in it."""
    part: list[str] = []
    size, latest = _SPARE, ""
    for row in rows:
        line = _line("url", row.uri, row.lastmod)
        length = len(line.encode())
        if part and (len(part) == MOST_ENTRIES or size + length > MOST_BYTES):
            yield part, latest
            part, size, latest = [], _SPARE, ""
        part.append(line)
        size += length
        latest = row.lastmod if is_later(row.lastmod, latest) else latest
    if part:
        yield part, latest


def _text(root: str, lines: Iterable[str]) -> str:
    return "".join([_HEAD.format(root=root), *lines, f"</{root}>\n"])


def _line(name: str, loc: str, time: str) -> str:
    lastmod = f"<lastmod>{time}</lastmod>" if time else ""
    return f"<{name}><loc>{escape(loc)}</loc>{lastmod}</{name}>\n"


class _UnreadableSitemapError(PublicationError):
    """Raised where the sitemap of another program cannot be read."""


class _Correction:
    """Corrects the dates in a sitemap of another program, and nothing else in it.

    A page that was seen to change gets the time of that change. Every other URL has no date, because the program that
    wrote one has probably taken the time of the build.
    """

    def __init__(self, output: Path, layouts: Collection[Layout]) -> None:
        self._output = output
        self._siteurl = next(iter(layouts)).siteurl
        self._lastmods: Mapping[str, str] = {row.uri: row.lastmod for row in _pages(layouts, output)}
        self._unknown: list[str] = []

    def correct(self, file: Path) -> str:
        """Correct a sitemap and the parts that it lists; return a message about URLs that are no pages of the site."""
        self._correct(file, may_list=True)
        if not self._unknown:
            return ""
        number = len(self._unknown)
        which = f"{number:,} URLs" if number > 1 else "1 URL"
        return (
            f"{which} in {file.name} {'are' if number > 1 else 'is'} no page of this site, for example "
            f"{self._unknown[0]}, so no dates are known"
        )

    def _correct(self, file: Path, *, may_list: bool) -> str:
        """Correct a file, and return the time of the latest change that it lists."""
        tree = self._parse(file)
        root, changed, latest = tree.getroot(), False, ""
        for entry in root.iterchildren(_tag("url"), _tag("sitemap")):
            loc = (entry.findtext(_tag("loc")) or "").strip()
            is_part = entry.tag == _tag("sitemap")
            lastmod = self._of_part(loc, may_list=may_list) if is_part else self._of_page(loc)
            changed |= _set_lastmod(entry, lastmod)
            latest = max(latest, lastmod)
        if changed:
            encoding = tree.docinfo.encoding or "UTF-8"
            text = BytesIO()
            tree.write(text, encoding=encoding, xml_declaration=True)
            _save(file, text.getvalue() + b"\n")
        return latest

    def _of_part(self, loc: str, *, may_list: bool) -> str:
        path = path_of_uri(self._siteurl, loc)
        if not may_list or not path or not (self._output / path).is_file():
            self._unknown.append(loc)
            return ""
        return self._correct(self._output / path, may_list=False)

    def _of_page(self, loc: str) -> str:
        for uri in self._spellings(loc):
            if uri in self._lastmods:
                return self._lastmods[uri]
        self._unknown.append(loc)
        return ""

    def _spellings(self, loc: str) -> Iterator[str]:
        """Yield the URIs that the page at a URL may have: generators link to the same file in different ways."""
        yield loc
        path = path_of_uri(self._siteurl, loc)
        for file in served_paths(path) if path is not None else ():
            for end in ("", _INDEX, ".html"):
                if file.endswith(end):
                    yield uri_of_path(self._siteurl, file.removesuffix(end))

    @staticmethod
    def _parse(file: Path) -> "etree._ElementTree":
        advice = "let the generator write it again, or set sitemap to 'replace' or false"
        data = file.read_bytes() if file.stat().st_size <= MOST_BYTES else b""
        try:
            tree = etree.parse(BytesIO(data), etree.XMLParser(resolve_entities=False, no_network=True))
        except etree.XMLSyntaxError as error:
            message = f"the dates in {file} cannot be corrected: {error if data else 'it is too large'}: {advice}"
            raise _UnreadableSitemapError(message) from error
        if tree.getroot().tag not in (_tag("urlset"), _tag("sitemapindex")):
            message = f"the dates in {file} cannot be corrected, because it is not a sitemap: {advice}"
            raise _UnreadableSitemapError(message)
        return tree


def _tag(name: str) -> str:
    return f"{{{SITEMAP_NS}}}{name}"


def _set_lastmod(entry: "etree._Element", lastmod: str) -> bool:
    """Set the date of an entry, or remove it if it is empty; return whether that changes anything."""
    found, loc = entry.find(_tag("lastmod")), entry.find(_tag("loc"))
    if (found.text or "" if found is not None else "") == lastmod:
        return False
    if lastmod and found is not None:
        found.text = lastmod
    elif lastmod and loc is not None:
        added = etree.Element(_tag("lastmod"))
        added.text, added.tail, loc.tail = lastmod, loc.tail, entry.text
        loc.addnext(added)
    elif found is not None:
        before = found.getprevious()
        if before is not None and found.getnext() is None:
            before.tail = found.tail  # the indentation of the end tag
        found.tail = None
        entry.remove(found)
    return True
