"""Files for the web host: lines of `robots.txt`, a file of `Link` headers, `.nojekyll` (DI03, DI04)."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from pelican_resourcesync.publication.disk.durable import replace_file
from pelican_resourcesync.publication.model.layout import Layout

_BEGIN, _END = "# resourcesync: begin", "# resourcesync: end"
_BLOCK = re.compile(rf"^{_BEGIN}\r?$(?:(?!^{_BEGIN}).)*?^{_END}\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)

#: The files from which hosts read headers: `_headers` (Netlify, Cloudflare Pages) and `.htaccess` (Apache).
HEADER_FILES = ("_headers", ".htaccess")


def add_robots_line(output: Path, layout: Layout, sitemap: str = "") -> None:
    """Add the Resource List, or the `sitemap` at a path, to the end of the site's own `robots.txt`, once (`DI04`)."""
    file = output / "robots.txt"
    line = f"Sitemap: {layout.uri(sitemap or layout.resource_list)}"
    text = _text(file)
    if line not in (each.strip() for each in text.splitlines()):
        _save(file, _with_newline(text) + line + "\n")


def add_link_headers(output: Path, layout: Layout, files: Iterable[str]) -> None:
    """Add rules to the hosts' header files so that every response links to the Capability List (`DI03`)."""
    link = f'<{layout.uri(layout.capability_list)}>; rel="resourcesync"; type="application/xml"'
    for name in files:
        file = output / name
        block = f"{_BEGIN}\n{_header_rule(name, layout, link)}\n{_END}\n"
        _save(file, _with_newline(_BLOCK.sub("", _text(file))) + block)


def keep_dot_folders(output: Path) -> None:
    """Write `.nojekyll`, so that GitHub Pages publishes dot-folders when it publishes a branch."""
    file = output / ".nojekyll"
    if not file.exists():
        _save(file, "")


def well_known_reachable(siteurl: str) -> bool:
    """Return whether the host's well-known URI is part of the site: only if `siteurl` has no path (SD01)."""
    return urlsplit(siteurl).path in ("", "/")


def _header_rule(name: str, layout: Layout, link: str) -> str:
    if name == "_headers":
        return f"{urlsplit(layout.siteurl).path}/*\n  Link: {link}"
    escaped = link.replace("%", "%%").replace('"', '\\"')
    return f'<IfModule mod_headers.c>\n  Header add Link "{escaped}"\n</IfModule>'


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else ""


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _save(file: Path, text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    if not file.is_file() or file.read_bytes() != data:
        replace_file(file, data)
