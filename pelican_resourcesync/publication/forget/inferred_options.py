"""Infer the options of a publication from its own documents, in order to write it again in the same way."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

from pelican_resourcesync.protocol import Capability, Document, Entry, read
from pelican_resourcesync.publication.model.layout import HTML_PAGE, Layout
from pelican_resourcesync.publication.model.options import Dumps, Options
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage

_TITLE = re.compile(r"<title>(.*) over ResourceSync</title>")


def options_as_before(
    previous: PreviousPublication, output: Path, layout: Layout, site_name: str | None = None
) -> Options:
    """Return the options with which `previous` was published, but for `output` and `layout`.

    `site_name` is the name of the site on the HTML page. `None` keeps the name on the page in the output, because a
    fetched publication has no page. Raises `PublicationError` if a document cannot be read.
    """
    return Options(
        output=output,
        layout=layout,
        site_name=_name_on_page(output) if site_name is None else site_name,
        edition=_edition(previous),
        describedby=_describedby(previous),
        dumps=Dumps(
            resourcedump=previous.layout.resource_dump in previous.state.documents,
            changedump=previous.layout.change_dump_index in previous.state.documents,
        ),
    )


def capabilities_of(previous: PreviousPublication) -> dict[Capability, str]:
    """Return the paths of the documents that the Capability List of a publication names, by capability."""
    layout = previous.layout
    return {
        Capability(entry.md.capability): entry.loc.removeprefix(f"{layout.siteurl}/")
        for entry in previous.entries(layout.capability_list)
        if entry.md and entry.md.capability
    }


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


def _name_on_page(output: Path) -> str:
    page = output / HTML_PAGE
    found = _TITLE.search(page.read_text("utf-8", "replace")) if page.is_file() else None
    name = unescape(found[1]) if found else ""
    return "" if name == "This site" else name
