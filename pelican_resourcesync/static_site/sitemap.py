"""The sitemap of a site."""

from collections.abc import Collection, Iterable, Iterator
from heapq import merge
from itertools import chain, count, groupby
from operator import attrgetter
from pathlib import Path
from xml.sax.saxutils import escape

from pelican_resourcesync.protocol import SITEMAP_NS, Entry, Root, read
from pelican_resourcesync.publication import Layout, render_time, replace_file

SITEMAP = "sitemap.xml"
#: Tells our sitemaps from those of other programs.
_MARK = "<!-- Written by pelican-resourcesync -->"
#: The limits of a sitemap: entries, and bytes.
MOST_ENTRIES, MOST_BYTES = 50_000, 50_000_000
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n{_MARK}\n<{{root}} xmlns="{SITEMAP_NS}">\n'
_SPARE = 1_000  # bytes for the beginning and the end of a file


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
