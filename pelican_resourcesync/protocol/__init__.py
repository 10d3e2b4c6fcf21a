"""Write and read ResourceSync documents (ANSI/NISO Z39.99).

`write` and `write_parts` turn a `Document` into XML, and `read` turns XML into a `Document`. All of them stream, so a
document of any size takes little memory. Faults in a single document raise `DocumentError`. The identifiers in messages
and docstrings (X10, CH02, …) name the rules of the standard, everywhere in this project.
"""

from pelican_resourcesync.protocol.attributes import LINK, LOWEST_PRIORITY, METADATA, XML_SPACE
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata, RenderedEntry
from pelican_resourcesync.protocol.reader import read
from pelican_resourcesync.protocol.renderer import Renderer, render_entries, render_link, render_metadata
from pelican_resourcesync.protocol.values import (
    LONGEST_LOC,
    Hash,
    escape_any_text,
    parse_datetime,
    parse_hashes,
    render_datetime,
    render_hashes,
    require_absolute,
    unescape,
)
from pelican_resourcesync.protocol.version_history import (
    Version,
    VersionHistory,
    parse_version_history,
    parse_versions,
    render_versions,
    version_lengths,
)
from pelican_resourcesync.protocol.vocabulary import (
    EDITIONS,
    MOST_BYTES,
    MOST_ENTRIES,
    PATCH,
    RS_NS,
    SITEMAP_NS,
    VERSION_HISTORY,
    Capability,
    ChangeFreq,
    ChangeKind,
    Limits,
    Root,
)
from pelican_resourcesync.protocol.writer import write, write_parts
from pelican_resourcesync.protocol.written import EntryText, attributes_in, parse_links, parse_metadata, split_entries

__all__ = [
    "EDITIONS",
    "LINK",
    "LONGEST_LOC",
    "LOWEST_PRIORITY",
    "METADATA",
    "MOST_BYTES",
    "MOST_ENTRIES",
    "PATCH",
    "RS_NS",
    "SITEMAP_NS",
    "VERSION_HISTORY",
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
    "RenderedEntry",
    "Renderer",
    "Root",
    "Version",
    "VersionHistory",
    "attributes_in",
    "escape_any_text",
    "parse_datetime",
    "parse_hashes",
    "parse_links",
    "parse_metadata",
    "parse_version_history",
    "parse_versions",
    "read",
    "render_datetime",
    "render_entries",
    "render_hashes",
    "render_link",
    "render_metadata",
    "render_versions",
    "require_absolute",
    "split_entries",
    "unescape",
    "version_lengths",
    "write",
    "write_parts",
]
