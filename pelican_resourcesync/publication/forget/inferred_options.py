"""Infer the options of a publication from its own documents, in order to write it again in the same way."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

from pelican_resourcesync.protocol import Document, Entry, read
from pelican_resourcesync.publication.model.layout import HTML_PAGE, Layout
from pelican_resourcesync.publication.model.options import Dumps, Options, PageOptions
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage

_NAME = re.compile(r'<meta name="application-name" content="([^"]*)">')
_LANGUAGE = re.compile(r'<html lang="([^"]*)">')
#: Pages of earlier versions have the name only here.
_TITLE = re.compile(r"<title>(.*) over ResourceSync</title>")


def options_as_before(
    previous: PreviousPublication, output: Path, layout: Layout, site_name: str | None = None
) -> Options:
    """Return the options with which `previous` was published, but for `output` and `layout`.

    `site_name` is the name of the site on the HTML page. `None` keeps the name on the page in the output, because a
    fetched publication has no page; so does the language. Raises `PublicationError` if a document cannot be read.
    """
    file = output / HTML_PAGE
    page = file.read_text("utf-8", "replace") if file.is_file() else ""
    tag = _LANGUAGE.search(page)
    return Options(
        output=output,
        layout=layout,
        site_name=_name_on_page(page) if site_name is None else site_name,
        edition=_edition(previous),
        describedby=_describedby(previous),
        dumps=Dumps(
            resourcedump=previous.layout.resource_dump in previous.state.documents,
            changedump=previous.layout.change_dump_index in previous.state.documents,
        ),
        page=PageOptions(language=tag[1] if tag else "en"),
    )


def entries_of(previous: PreviousPublication, path: str) -> Iterator[Entry]:
    """Yield the entries of a document of a publication. Raises `PublicationError` if it cannot be read."""
    with _opened(previous, path) as document:
        yield from document.entries


@contextmanager
def _opened(previous: PreviousPublication, path: str) -> Iterator[Document]:
    with explain_damage(previous.where), (previous.folder / path).open("rb") as stream:
        yield read(stream, name=path)


def _edition(previous: PreviousPublication) -> int:
    """Return the edition, inferred from the last listed change: 2014 has no `datetime` attribute (V1101)."""
    edition = 2017
    for each in [previous.open] if previous.open else []:
        for entry in entries_of(previous, previous.layout.change_list(each.start)):
            edition = 2017 if entry.md and entry.md.datetime else 2014
    return edition


def _describedby(previous: PreviousPublication) -> str:
    with _opened(previous, previous.layout.capability_list) as document:
        links = {link.rel: link.href for link in document.links}
    own = previous.layout.uri(HTML_PAGE)
    return "" if links.get("describedby", own) == own else links["describedby"]


def _name_on_page(page: str) -> str:
    found = _NAME.search(page) or _TITLE.search(page)
    name = unescape(found[1]) if found else ""
    return "" if name == "This site" else name
