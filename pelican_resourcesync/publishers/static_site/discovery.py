"""What leads from a site to the documents: links in pages (DI02), a file of `Link` headers (DI03), `robots.txt` (DI04).

Also `.nojekyll`, with which GitHub Pages publishes `.well-known`.
"""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from os.path import lexists
from pathlib import Path
from urllib.parse import urlsplit

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import links_of_page
from pelican_resourcesync.publication import Layout, Representation, find_other_sets, is_loopback, set_of
from pelican_resourcesync.publishers.static_site.files import is_html
from pelican_resourcesync.publishers.static_site.sitemap import sitemap_name
from pelican_resourcesync.settings import Hub, Settings, key_file
from pelican_resourcesync.system.durable import extend_file, replace_file, replace_files
from pelican_resourcesync.system.files import sha256
from pelican_resourcesync.system.media_types import media_type

#: How much of a page is searched for its head, in bytes.
_SEARCHED = 1 << 20
#: First the constructs that may contain text that only looks like a tag, then the relevant tags. As browsers see it,
#: each ends with the page if nothing ends it earlier, so nothing is read twice and matching takes linear time.
_TOKENS = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(?P<raw>script|style|title|noscript|template)\b[^>]*+(?:>|\Z).*?(?:(?P<closed></(?P=raw)\s*+>)|\Z)"
    rb"|<(?:!doctype|html|meta)\b[^>]*+(?:>|\Z)"
    rb"|(?P<start><head(?![^\s>])[^>]*+(?:>|\Z))"
    rb"|(?P<link><(?:link|base)\b[^>]*+(?:>|\Z))"
    rb"|(?P<end></head\s*+>|<body\b)",
    re.DOTALL | re.IGNORECASE,
)
_BOM = b"\xef\xbb\xbf"
_RESOURCESYNC = re.compile(rb"""\brel\s*=\s*(?:["'][^"']*\bresourcesync\b|resourcesync\b)""", re.IGNORECASE)
#: A link as `with_link` writes it.
_OURS = re.compile(rb'<link rel="resourcesync" type="application/xml" href="([^"<>]*)" />\n')
_ALTERNATE = re.compile(rb"alternate|<base", re.IGNORECASE)
ROBOTS = "robots.txt"
#: A host may send a compressed copy instead of the page next to it, so a page with such a copy is not changed.
_COMPRESSED = (".gz", ".br", ".zst")

_BEGIN, _END = "# resourcesync: begin", "# resourcesync: end"
_BLOCK = re.compile(rf"^{_BEGIN}\r?$(?:(?!^{_BEGIN}).)*?^{_END}\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def add_discovery_files(output: Path, settings: Settings, layouts: Mapping[str, Layout]) -> None:
    """Add what leads to the documents besides pages: lines in `robots.txt` and in files for the host, by the settings.

    `layouts` are those of the sets, by name. Hosts that hide folders with a dot are told to keep `.well-known`.
    """
    keep_dot_folders(output)
    if settings.indexnow_key:
        file, key = output / key_file(settings.indexnow_key), settings.indexnow_key.encode()
        if not file.is_file() or file.read_bytes() != key:
            replace_file(file, key)
    if settings.robots:
        add_robots_lines(output, settings, layouts)
    whole = next((set_settings.name for set_settings in settings.sets if set_settings.selection.everything), None)
    if whole is not None:
        add_link_headers(output, layouts[whole], settings.link_headers, _topics(layouts.values(), settings.hubs))


def require_free_places(output: Path, settings: Settings, layouts: Mapping[str, Layout]) -> None:
    """Raise `PublicationError` if something else is where a publication is written, before anything is written."""
    find_other_sets(output, [*layouts.values()])
    places = {
        ".nojekyll",
        *settings.link_headers,
        *(path for layout in layouts.values() for path in layout.entry_points),
    }
    places |= {ROBOTS} if settings.robots else set()
    places |= {sitemap_name(output)} if settings.sitemap else set()
    places |= {key_file(settings.indexnow_key)} if settings.indexnow_key else set()
    for place in (output / path for path in sorted(places)):
        if lexists(place) and not place.is_file():
            message = f"{place} is not a file, but the publication needs a file with this name: move it away"
            raise PublicationError(message)
        if lexists(place.parent) and not place.parent.is_dir():
            message = f"{place.parent} is not a folder, but the publication needs a folder with this name: move it away"
            raise PublicationError(message)


def _topics(layouts: Iterable[Layout], hubs: Sequence[Hub]) -> dict[str, str]:
    """Return the `Link` headers of the topics of hubs: of each set the notification and the feed (`CN03`), by path."""
    known = "".join(f', <{hub.url}>; rel="hub"' for hub in hubs)
    topics = {path: layout for layout in layouts if hubs for path in (layout.notification, layout.feed)}
    return {path: f'<{layout.uri(path)}>; rel="self"{known}' for path, layout in topics.items()}


def add_robots_lines(folder: Path, settings: Settings, layouts: Mapping[str, Layout]) -> None:
    """Add the Resource List of each set, and the sitemap if there is one, to `robots.txt` in a folder."""
    for layout in layouts.values():
        add_robots_line(folder, layout)
    if settings.sitemap:
        add_robots_line(folder, next(iter(layouts.values())), sitemap_name(folder))


def add_robots_line(output: Path, layout: Layout, sitemap: str = "") -> None:
    """Add the Resource List, or the `sitemap` at a path, to the end of the site's own `robots.txt`, once (`DI04`).

    Lines for the same from before the set was started over, or from a trial at a loopback address, are removed.
    """
    file, line = output / ROBOTS, f"Sitemap: {layout.uri(sitemap or layout.resource_list)}"
    path = re.escape(sitemap) or rf"{layout.home}/(?:[0-9]+/)?resourcelist\.xml"

    def is_current(present: str) -> bool:
        old = re.fullmatch(rf"Sitemap: (.+)/{path}\s*", present)
        return present.strip() == line or not old or not (old[1] == layout.siteurl or is_loopback(old[1]))

    text = "".join(filter(is_current, _text(file).splitlines(keepends=True)))
    present = line in map(str.strip, text.splitlines())
    _save(file, text if present else _with_newline(text) + line + "\n")


def add_link_headers(output: Path, layout: Layout, files: Iterable[str], topics: Mapping[str, str] = {}) -> None:
    """Add rules to the hosts' header files so that every response links to the Capability List (`DI03`).

    `topics` are further links of the files at these paths.
    """
    links = {"*": f'<{layout.uri(layout.capability_list)}>; rel="resourcesync"; type="application/xml"', **topics}
    for name in files:
        file = output / name
        block = f"{_BEGIN}\n{_header_rules(name, layout, links)}\n{_END}\n"
        _save(file, _with_newline(_BLOCK.sub("", _text(file))) + block)


def keep_dot_folders(output: Path) -> None:
    """Write `.nojekyll`, so that GitHub Pages publishes dot-folders when it publishes a branch."""
    file = output / ".nojekyll"
    if not file.exists():
        _save(file, "")


def _header_rules(name: str, layout: Layout, links: Mapping[str, str]) -> str:
    if name == "_headers":
        base = urlsplit(layout.siteurl).path
        return "\n".join(f"{base}/{path}\n  Link: {link}" for path, link in links.items())
    escaped = {path: link.replace("%", "%%").replace('"', '\\"') for path, link in links.items()}
    only = {path: f" \"expr=%{{REQUEST_URI}} -strmatch '*/{path}'\"" for path in links if path != "*"}
    rules = "".join(f'  Header add Link "{link}"{only.get(path, "")}\n' for path, link in escaped.items())
    return f"<IfModule mod_headers.c>\n{rules}</IfModule>"


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else ""


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _save(file: Path, text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    if not file.is_file() or file.read_bytes() != data:
        replace_file(file, data)


def link_pages(
    output: Path, pages: Mapping[str, Layout], paths: Collection[str], *, write: bool = True, ours: bool = False
) -> tuple[dict[str, Representation], str]:
    """Add to each of the `pages`, by path, a link to the Capability List of that layout; `paths` are all resources.

    A page without a head, or with such a link of its author, is not changed. Returns what these pages are then, so that
    they need not be read again, and a hint if some have no head. Without `write`, no page is changed. Pages that are
    `ours`, because this run has written them, are changed in place where possible.
    """
    uris = {layout: layout.uri(layout.capability_list) for layout in set(pages.values())}
    linked, headless = {}, list[str]()

    def changed() -> Iterator[tuple[Path, bytes]]:
        for path, layout in pages.items():
            if is_linkable(path, paths):
                page = (output / path).read_bytes()
                new = with_link(page, uris[layout])
                linked[path] = Representation.measured(sha256(new or page), len(new or page), media_type(path))
                headless.extend([path] if new is None else [])
                if new is None or new == page or not write:
                    continue
                if not (ours and len(new) > len(page) and extend_file(output / path, page, new)):
                    yield output / path, new

    replace_files(changed())
    if not headless:
        return linked, ""
    which = f"({len(headless):,}, such as {headless[0]})"
    return linked, f"pages with neither <head> nor <title> do not link to the documents {which}: add a <title>"


def is_linkable(path: str, paths: Collection[str]) -> bool:
    """Return whether a resource is an HTML page without a compressed copy among all `paths`."""
    return is_html(path) and not any(path + end in paths for end in _COMPRESSED)


def alternates_of(page: bytes, uri: str) -> list[str]:
    """Return the URIs that the head of an HTML page at a URI names as its alternates."""
    if b"alternate" not in page[:_SEARCHED].lower():  # as in most pages: finding the head takes longer
        return []
    head = takewhile(lambda token: not token["end"], _TOKENS.finditer(page, 0, _SEARCHED))
    links = (token["link"] for token in head if token["link"])
    return links_of_page(b"".join(filter(_ALTERNATE.search, links)), uri, "alternate")


def with_link(page: bytes, capability_list: str) -> bytes | None:
    """Return the bytes of an HTML page with the link at the end of its head.

    An earlier link of ours gets the new URI. A page with a link that its author wrote, or that the publication of a
    part of the site did, is returned unchanged.

    The tags of the head may be missing, as in minified pages: then it ends before the body, or else the link comes
    after the title. Returns `None` if there is neither.
    """
    link = f'<link rel="resourcesync" type="application/xml" href="{html.escape(capability_list)}" />\n'.encode("ascii")
    inside, in_body, at, end = False, False, None, len(page) - len(page.removeprefix(_BOM))
    for token in _TOKENS.finditer(page, 0, _SEARCHED):
        in_body = in_body or bool(not inside and page[end : token.start()].strip())
        end = token.end()
        if token["start"]:
            inside = True
        elif token["link"] and (inside or not in_body) and _RESOURCESYNC.search(token["link"]):
            own = _OURS.match(page, token.start())
            if not own or not _replaces(capability_list, html.unescape(own[1].decode(errors="replace"))):
                return page
            return page[: own.start()] + link + page[own.end() :]
        elif token["closed"] and token["raw"].lower() == b"title" and not in_body:
            at = at or end
        elif token["end"]:
            at = token.start() if inside or not in_body else at
            break
    if at is None:
        return None
    return page[:at] + link + page[at:]


def _replaces(new: str, old: str) -> bool:
    """Return whether `old` is the URI of a Capability List like `new`, but not that of a part of the same site."""
    ours, theirs = set_of(new), set_of(old)
    return bool(ours and theirs and not theirs[0].startswith(f"{ours[0]}/"))
