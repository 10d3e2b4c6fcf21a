"""What is added to an output: links from pages to the documents (DI02), files for the web host, and the sitemap."""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import merge
from itertools import chain, count, groupby
from operator import attrgetter
from pathlib import Path
from stat import S_ISLNK
from xml.sax.saxutils import escape

from pelican_resourcesync.files import sha256
from pelican_resourcesync.protocol import SITEMAP_NS, Entry, Root, read
from pelican_resourcesync.publication import (
    Layout,
    Representation,
    add_link_headers,
    add_robots_line,
    keep_dot_folders,
    media_type,
    render_time,
    replace_file,
)
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.outputs.paths import is_html

#: First the constructs that may contain text that only looks like a tag, then the relevant tags.
_TOKENS = re.compile(
    rb"<!--.*?-->"
    rb"|<(?P<raw>script|style|title|noscript|template)\b[^>]*>.*?</(?P=raw)\s*>"
    rb"|(?P<start><head(?:\s[^>]*)?>)"
    rb"|(?P<link><link\b[^>]*>)"
    rb"|(?P<end></head\s*>|<body\b)",
    re.DOTALL | re.IGNORECASE,
)
_RESOURCESYNC = re.compile(rb"""\brel\s*=\s*(?:["'][^"']*\bresourcesync\b|resourcesync\b)""", re.IGNORECASE)
SITEMAP = "sitemap.xml"
#: Tells our sitemaps from those of other programs.
_MARK = "<!-- Written by pelican-resourcesync (RESOURCESYNC['sitemap']) -->"
#: The limits of a sitemap: entries, and bytes.
MOST_ENTRIES, MOST_BYTES = 50_000, 50_000_000
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n{_MARK}\n<{{root}} xmlns="{SITEMAP_NS}">\n'
_SPARE = 1_000  # bytes for the beginning and the end of a file
ROBOTS = "robots.txt"
#: A host may send a compressed copy instead of the page next to it, so a page with such a copy is not changed.
_COMPRESSED = (".gz", ".br", ".zst")


def add_discovery_files(output: Path, settings: Settings, layouts: Mapping[str, Layout]) -> None:
    """Add what leads to the documents besides pages: lines in `robots.txt` and in files for the host, by the settings.

    `layouts` are those of the sets, by name. Hosts that hide folders with a dot are told to keep `.well-known`.
    """
    keep_dot_folders(output)
    if settings.robots:
        add_robots_lines(output, settings, layouts)
    whole = next((each.name for each in settings.sets if each.selection.everything), None)
    if whole is not None:
        add_link_headers(output, layouts[whole], settings.link_headers)


def add_robots_lines(folder: Path, settings: Settings, layouts: Mapping[str, Layout]) -> None:
    """Add the Resource List of each set, and the sitemap if there is one, to `robots.txt` in a folder."""
    for layout in layouts.values():
        add_robots_line(folder, layout)
    if settings.sitemap:
        add_robots_line(folder, next(iter(layouts.values())), SITEMAP)


def link_pages(output: Path, pages: Mapping[str, Layout], paths: Collection[str]) -> dict[str, Representation]:
    """Add to each of the `pages`, by path, a link to the Capability List of that layout; `paths` are all resources.

    Returns what these pages are then, so that they need not be read again.
    """
    uris = {layout: layout.uri(layout.capability_list) for layout in set(pages.values())}
    linked = {}
    for path, layout in pages.items():
        if is_linkable(path, paths):
            page = add_link(output / path, uris[layout])
            linked[path] = Representation.measured(sha256(page), len(page), media_type(path))
    return linked


def is_linkable(path: str, paths: Collection[str]) -> bool:
    """Return whether a resource is an HTML page without a compressed copy among all `paths`."""
    return is_html(path) and not any(path + end in paths for end in _COMPRESSED)


def add_link(file: Path, capability_list: str) -> bytes:
    """Add the link to the head of the page in `file`, and return the page.

    A page without a head, or with such a link already, is not changed.
    """
    page = file.read_bytes()
    linked = with_link(page, capability_list)
    if linked is None:
        return page
    stat = file.lstat()
    if S_ISLNK(stat.st_mode) or stat.st_nlink > 1:
        replace_file(file, linked)  # with STATIC_CREATE_LINKS, writing would change the source
    else:
        with file.open("r+b") as stream:  # emptying it first would take several times as long
            stream.write(linked)
    return linked


def with_link(page: bytes, capability_list: str) -> bytes | None:
    """Return the bytes of an HTML page with the link at the end of its head; `None` where it stays unchanged."""
    inside = False
    for token in _TOKENS.finditer(page):
        if token["start"]:
            inside = True
        elif token["link"] and inside and _RESOURCESYNC.search(token["link"]):
            return None
        elif token["end"]:
            at = token.start()
            return page[:at] + _link(capability_list) + page[at:] if inside else None
    return None


def _link(capability_list: str) -> bytes:
    href = html.escape(capability_list)
    return f'<link rel="resourcesync" type="application/xml" href="{href}" />\n'.encode("ascii")


def own_sitemaps(output: Path) -> list[Path]:
    """Return the sitemaps in an output that we wrote."""
    return [each for each in sorted(output.glob("sitemap*.xml")) if each.is_file() and _is_ours(each)]


def _is_ours(file: Path) -> bool:
    with file.open("rb") as stream:
        return _MARK.encode() in stream.read(_SPARE)


def update_sitemap(output: Path, layouts: Collection[Layout], *, wanted: bool) -> str:
    """Write the sitemap of the published sets, or remove it if it is not `wanted`.

    If another program wrote a sitemap, return a message that says so, and leave that one alone.
    """
    before, file = own_sitemaps(output), output / SITEMAP
    taken = wanted and file.is_file() and file not in before
    written = set()
    if wanted and not taken:
        for name, text in _files(layouts, output):
            replace_file(output / name, text.encode())
            written.add(output / name)
    for each in before:
        if each not in written:
            each.unlink()
    return f"the sitemap is not written, because another program has written {SITEMAP}" if taken else ""


def _files(layouts: Collection[Layout], output: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file: parts before their index, or a single file."""
    siteurl = next(iter(layouts)).siteurl
    parts = _parts(_resources(layouts, output))
    first, second = next(parts, []), next(parts, None)
    if second is None:
        yield SITEMAP, _text("urlset", "url", first)
        return
    index = []
    names = (SITEMAP.replace(".", f"-{number}.") for number in count(1))
    free = (name for name in names if not (output / name).exists() or _is_ours(output / name))
    for name, part in zip(free, chain([first, second], parts), strict=False):
        yield name, _text("urlset", "url", part)
        latest = max((each.lastmod for each in part if each.lastmod), default=None)
        index.append(Entry(loc=f"{siteurl}/{name}", lastmod=latest))
    yield SITEMAP, _text("sitemapindex", "sitemap", index)


def _resources(layouts: Iterable[Layout], output: Path) -> Iterator[Entry]:
    """Yield the entries of all Resource Lists, each URI once."""
    lists = [_entries(output, each, each.resource_list) for each in layouts]
    for _, same in groupby(merge(*lists, key=attrgetter("loc")), key=attrgetter("loc")):
        yield next(same)


def _entries(output: Path, layout: Layout, path: str) -> Iterator[Entry]:
    with (output / path).open("rb") as stream:
        document = read(stream, name=path)
        for entry in document.entries:
            if document.root is Root.SITEMAPINDEX:
                yield from _entries(output, layout, entry.loc.removeprefix(f"{layout.siteurl}/"))
            else:
                yield entry


def _parts(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    part: list[Entry] = []
    size = _SPARE
    for entry in entries:
        length = len(_line("url", entry).encode())
        if part and (len(part) == MOST_ENTRIES or size + length > MOST_BYTES):
            yield part
            part, size = [], _SPARE
        part.append(entry)
        size += length
    if part:
        yield part


def _text(root: str, name: str, entries: Iterable[Entry]) -> str:
    return "".join([_HEAD.format(root=root), *(_line(name, each) for each in entries), f"</{root}>\n"])


def _line(name: str, entry: Entry) -> str:
    lastmod = f"<lastmod>{render_time(entry.lastmod)}</lastmod>" if entry.lastmod else ""
    return f"<{name}><loc>{escape(entry.loc)}</loc>{lastmod}</{name}>\n"
