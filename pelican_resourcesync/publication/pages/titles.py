"""What people call resources: their titles, which may be in their bytes, or their paths."""

import codecs
import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.media_types import media_type
from pelican_resourcesync.publication.model.resource import Resource

#: How much of a page is searched for its title, and how long a record may be, in bytes.
_HEAD, _LONGEST_RECORD = 1 << 16, 1 << 20
_MOST_CHARACTERS = 200

HTML, _XML = ("text/html", "application/xhtml+xml"), ("application/xml", "text/xml")
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
#: Characters that change the direction of the text after them.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_CHARACTERS = frozenset("\ufffe\uffff")


def title_of(resource: Resource, layout: Layout, site_name: str) -> str:
    """Return the title of a resource, without the name of the site at its end; empty if people do not read it.

    People read pages, other HTML that does not only redirect, and the first record of an item, by its `dc:title`. A
    page without a title has its path as the title.
    """
    if resource.title is not None:
        return (clean(resource.title) or shown_path(resource.uri, layout)) if resource.title else ""
    type_ = (resource.measured.type if resource.measured else None) or ""
    if resource.file is None or any(link.rel == "canonical" for link in resource.links):
        return ""
    try:
        if type_ in HTML:
            return _title_of_html(resource.file, site_name, shown_path(resource.uri, layout))
        if type_ in _XML and resource.file.stat().st_size <= _LONGEST_RECORD:
            return clean(_title_of_record(resource.file))
    except (OSError, etree.XMLSyntaxError):
        pass  # the page shows the path instead
    return ""


def is_html(uri: str) -> bool:
    """Return whether a resource is probably a page, by its URI alone."""
    return uri.endswith("/") or media_type(uri.partition("?")[0]) in HTML


def clean(text: str) -> str:
    """Return a text as one line of limited length, without characters that XML cannot hold or that hide others."""
    return short(visible(text))


def visible(text: str) -> str:
    """Return a text as one line, without characters that XML cannot hold or that hide others; empty if none is seen."""
    if not text.isprintable():
        text = "".join(each for each in text if each.isspace() or _is_shown(each))
    return " ".join(text.split()) if any(each.isprintable() and each != " " for each in text) else ""


def shown_path(uri: str, layout: Layout) -> str:
    """Return a URI as people read it: without the address of the site, and with its characters."""
    path = uri.removeprefix(layout.siteurl) if uri.startswith(f"{layout.siteurl}/") else uri
    return short("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in unquote(path)))


def short(text: str) -> str:
    """Return a text, shortened if it is long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cs"} and character not in _OVERRIDES | _NO_CHARACTERS


def _title_of_html(file: Path, site_name: str, path: str) -> str:
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
    page = etree.fromstring(head, etree.HTMLParser(encoding=_encoding(head))) if head.strip() else None
    if page is not None and any(map(_leads_elsewhere, page.iter("meta"))):
        return ""
    title = clean(page.findtext("head/title") or "") if page is not None else ""
    name = clean(site_name)
    if name:
        title = re.sub(rf"(?<=.)\s*[-\u2013\u2014|\u00b7:\u00bb]\s*{re.escape(name)}$", "", title)
    return title or path


def _leads_elsewhere(meta: etree._Element) -> bool:
    refreshes = (meta.get("http-equiv") or "").lower() == "refresh"
    return refreshes and "url=" in (meta.get("content") or "").lower()


def _encoding(head: bytes) -> str | None:
    """Return UTF-8 if the beginning of a page is that; otherwise let the parser look for what the page says."""
    if b"\x1b" in head:  # ISO-2022 switches between alphabets in ASCII
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _title_of_record(file: Path) -> str:
    """Return the title of a record in Dublin Core; other XML has none at this place."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    return etree.parse(file, parser).getroot().findtext(_DC_TITLE) or ""
