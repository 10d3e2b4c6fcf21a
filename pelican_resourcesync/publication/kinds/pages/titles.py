"""What people call resources: their titles, which may be in their bytes, or their paths."""

from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.media_types import media_type
from pelican_resourcesync.publication.model.resource import Resource
from pelican_resourcesync.system.html_titles import HTML, clean, short, title_of_html

_LONGEST_RECORD = 1 << 20  # bytes
_XML = ("application/xml", "text/xml")
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


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
            return title_of_html(resource.file, site_name, shown_path(resource.uri, layout))
        if type_ in _XML and resource.file.stat().st_size <= _LONGEST_RECORD:
            return clean(_title_of_record(resource.file))
    except (OSError, etree.XMLSyntaxError):
        pass  # the page shows the path instead
    return ""


def is_html(uri: str) -> bool:
    """Return whether a resource is probably a page, by its URI alone."""
    return uri.endswith("/") or media_type(uri.partition("?")[0]) in HTML


def shown_path(uri: str, layout: Layout) -> str:
    """Return a URI as people read it: without the address of the site, and with its characters."""
    path = uri.removeprefix(layout.siteurl) if uri.startswith(f"{layout.siteurl}/") else uri
    return short("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in unquote(path)))


def _title_of_record(file: Path) -> str:
    """Return the title of a record in Dublin Core; other XML has none at this place."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    return etree.parse(file, parser).getroot().findtext(_DC_TITLE) or ""
