"""The page for people who meet the documents: what they are, and where they begin. It is what `describedby` names."""

from datetime import datetime
from html import escape

from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication.layout import DESCRIPTION, Layout

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
here and of all that changed, for programs to read. It lists {count} resources, as of
<time datetime="{at}">{at}</time>.</p>
<dl>
{items}
</dl>
</main>
</body>
</html>
"""


def page(layout: Layout, site_name: str, at: datetime, count: int, documents: dict[str, str]) -> str:
    """Make the page; `documents` are the paths of documents by what they are called."""
    shown = {"Source Description": DESCRIPTION, "Capability List": layout.capability_list, **documents}
    items = "\n".join(
        f'<dt>{escape(name)}</dt><dd><a href="{uri}"><code>{uri}</code></a></dd>'
        for name, uri in ((name, escape(layout.uri(path))) for name, path in shown.items())
    )
    title = escape(f"{site_name} over ResourceSync" if site_name else "This site over ResourceSync")
    return _PAGE.format(title=title, count=count, at=render_datetime(at), items=items)
