"""The documents that all sets share, where Destinations (clients that keep a copy) and people start."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from pelican_resourcesync.protocol import Capability, Entry, render_datetime, write
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.documents.contents import Contents
from pelican_resourcesync.publication.documents.documents import description
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE, WELL_KNOWN, Layout
from pelican_resourcesync.publication.model.options import Options

#: The names of the documents on the page, by capability.
_NAMES = {
    Capability.RESOURCELIST: "Resource List",
    Capability.RESOURCEDUMP: "Resource Dump",
    Capability.CHANGELIST: "Change List Index",
    Capability.CHANGEDUMP: "Change Dump Index",
    Capability.RESOURCELIST_ARCHIVE: "Resource List Archive",
    Capability.RESOURCEDUMP_ARCHIVE: "Resource Dump Archive",
    Capability.CHANGELIST_ARCHIVE: "Change List Archive",
    Capability.CHANGEDUMP_ARCHIVE: "Change Dump Archive",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem; color: #222; }}
a {{ color: #0b5394; }} dt {{ font-weight: 600; margin-top: 1rem; }} dd {{ margin: 0; }}
code {{ overflow-wrap: anywhere; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #1b1b1b; color: #ddd; }} a {{ color: #8ab8e6; }} }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>This site can be mirrored and followed with <abbr title="ANSI/NISO Z39.99">ResourceSync</abbr>: lists of all that is
here and of all that changed, for programs to read. {about}, as of
<time datetime="{at}">{at}</time>.</p>
{parts}
</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class PageSet:
    """A set on the page: its layout, its number of resources, and the paths of its documents by capability."""

    layout: Layout
    count: int
    capabilities: Mapping[Capability, str]


def page(site_name: str, at: datetime, sets: Sequence[PageSet], others: Sequence[str] = ()) -> str:
    """Return the HTML page of a site, whose sets were published as of `at`.

    `others` are the URIs of the Capability Lists of other publishers' sets.
    """
    layout = sets[0].layout
    parts = [_list(layout, {"Source Description": DESCRIPTION, **_documents(sets[0])})] if len(sets) == 1 else []
    if not parts:
        parts = [_list(layout, {"Source Description": DESCRIPTION}), *map(_section, sets)]
    if others:
        parts.append(f"<h2>Other sets</h2>\n{_links([('Capability List', uri) for uri in others])}")
    title = escape(f"{site_name} over ResourceSync" if site_name else "This site over ResourceSync")
    about = f"It lists {sets[0].count} resources" if len(sets) == 1 else f"It has {len(sets)} sets of resources"
    return _PAGE.format(title=title, about=about, at=render_datetime(at), parts="\n".join(parts))


def _section(shown: PageSet) -> str:
    name = escape(shown.layout.set_name)
    return f"<h2>{name}</h2>\n<p>{shown.count} resources</p>\n{_list(shown.layout, _documents(shown))}"


def _documents(shown: PageSet) -> dict[str, str]:
    named = {_NAMES[capability]: path for capability, path in shown.capabilities.items()}
    return {"Capability List": shown.layout.capability_list, **named}


def _list(layout: Layout, documents: Mapping[str, str]) -> str:
    return _links([(name, layout.uri(path)) for name, path in documents.items()])


def _links(named: Iterable[tuple[str, str]]) -> str:
    items = "\n".join(
        f'<dt>{escape(name)}</dt><dd><a href="{uri}"><code>{uri}</code></a></dd>'
        for name, uri in ((name, escape(uri)) for name, uri in named)
    )
    return f"<dl>\n{items}\n</dl>"


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A published set: its options, its contents, and the paths of its documents by capability."""

    options: Options
    contents: Contents
    capabilities: Mapping[Capability, str]


def write_entry_points(stage: Stage, sets: Sequence[PublishedSet], neighbours: Sequence[Entry]) -> None:
    """Write the Source Description, its well-known copy and the HTML page, for these sets and other publishers'."""
    options = sets[0].options
    people = options.layout.uri(HTML_PAGE)
    lists = {
        each.options.layout.uri(each.options.layout.capability_list): each.options.describedby or people
        for each in sets
    }
    document = description(lists, options.describedby or people, neighbours)
    with stage.open(DESCRIPTION) as stream:
        write(document, stream, edition=options.edition)
    stage.write(WELL_KNOWN, stage.read(DESCRIPTION))
    shown = [PageSet(each.options.layout, len(each.contents.listed), each.capabilities) for each in sets]
    others = [each.loc for each in neighbours]
    stage.write(HTML_PAGE, page(options.site_name, sets[0].contents.at, shown, others).encode())
