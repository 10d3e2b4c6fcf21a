"""Write and read ResourceSync documents (ANSI/NISO Z39.99).

`write` and `write_parts` turn a `Document` into XML, and `read` turns XML into a `Document`. All of them stream, so a
document of any size takes little memory. Faults in a single document raise `DocumentError`. The identifiers in messages
and docstrings (X10, CH02, …) name the rules of the standard, everywhere in this project.
"""

from typing import TYPE_CHECKING

from pelican_resourcesync.lazy import names_from

if TYPE_CHECKING:
    from pelican_resourcesync.protocol.attributes import LINK, METADATA, XML_SPACE
    from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata, RenderedEntry
    from pelican_resourcesync.protocol.reader import read
    from pelican_resourcesync.protocol.rendered import EntryText, as_written, parse_links, parse_metadata, read_texts
    from pelican_resourcesync.protocol.renderer import Renderer, render_link, render_metadata
    from pelican_resourcesync.protocol.spliced import splice
    from pelican_resourcesync.protocol.values import (
        LONGEST_LOC,
        Hash,
        escape_any_text,
        parse_datetime,
        parse_hashes,
        render_datetime,
        render_hashes,
        require_absolute,
    )
    from pelican_resourcesync.protocol.vocabulary import (
        EDITIONS,
        MOST_BYTES,
        MOST_ENTRIES,
        RS_NS,
        SITEMAP_NS,
        Capability,
        ChangeFreq,
        ChangeKind,
        Limits,
        Root,
    )
    from pelican_resourcesync.protocol.writer import Piece, write, write_parts
else:
    __getattr__ = names_from(
        __name__,
        {
            "attributes": "LINK METADATA XML_SPACE",
            "model": "Document Entry Link Metadata RenderedEntry",
            "reader": "read",
            "rendered": "EntryText as_written parse_links parse_metadata read_texts",
            "renderer": "Renderer render_link render_metadata",
            "spliced": "splice",
            "values": (
                "LONGEST_LOC Hash escape_any_text parse_datetime parse_hashes render_datetime "
                "render_hashes require_absolute"
            ),
            "vocabulary": (
                "EDITIONS MOST_BYTES MOST_ENTRIES RS_NS SITEMAP_NS Capability ChangeFreq ChangeKind Limits Root"
            ),
            "writer": "Piece write write_parts",
        },
    )

__all__ = [
    "EDITIONS",
    "LINK",
    "LONGEST_LOC",
    "METADATA",
    "MOST_BYTES",
    "MOST_ENTRIES",
    "RS_NS",
    "SITEMAP_NS",
    "XML_SPACE",
    "Capability",
    "ChangeFreq",
    "ChangeKind",
    "Document",
    "Entry",
    "EntryText",
    "Hash",
    "Limits",
    "Link",
    "Metadata",
    "Piece",
    "RenderedEntry",
    "Renderer",
    "Root",
    "as_written",
    "escape_any_text",
    "parse_datetime",
    "parse_hashes",
    "parse_links",
    "parse_metadata",
    "read",
    "read_texts",
    "render_datetime",
    "render_hashes",
    "render_link",
    "render_metadata",
    "require_absolute",
    "splice",
    "write",
    "write_parts",
]
