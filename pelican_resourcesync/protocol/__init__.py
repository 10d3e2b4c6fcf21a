"""Write and read ResourceSync documents (ANSI/NISO Z39.99).

`write` and `write_parts` turn a `Document` into XML, and `read` turns XML into a `Document`. All of them stream, so a
document of any size takes little memory. Faults in a single document raise `DocumentError`. The identifiers in messages
and docstrings (X10, CH02, …) name the rules of the standard, everywhere in this project.
"""

from pelican_resourcesync.protocol.datetimes import parse_datetime, render_datetime
from pelican_resourcesync.protocol.hashes import Hash, parse_hashes, render_hashes
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata, Rendered
from pelican_resourcesync.protocol.parts import Limits, write_parts
from pelican_resourcesync.protocol.quick import quick_link, quick_md
from pelican_resourcesync.protocol.reader import read
from pelican_resourcesync.protocol.render import Renderer
from pelican_resourcesync.protocol.vocabulary import RS_NS, SITEMAP_NS, Capability, ChangeFreq, ChangeKind, Root
from pelican_resourcesync.protocol.writer import write

__all__ = [
    "RS_NS",
    "SITEMAP_NS",
    "Capability",
    "ChangeFreq",
    "ChangeKind",
    "Document",
    "Entry",
    "Hash",
    "Limits",
    "Link",
    "Metadata",
    "Rendered",
    "Renderer",
    "Root",
    "parse_datetime",
    "parse_hashes",
    "quick_link",
    "quick_md",
    "read",
    "render_datetime",
    "render_hashes",
    "write",
    "write_parts",
]
