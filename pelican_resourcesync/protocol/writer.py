"""Documents out: one document into one stream."""

from itertools import islice
from typing import BinaryIO

from pelican_resourcesync.protocol.model import Document
from pelican_resourcesync.protocol.render import Renderer

_BATCH = 256  # entries encoded at a time: enough to be fast, little to hold


def write(document: Document, stream: BinaryIO, *, edition: int = 2017) -> int:
    """Write a document as UTF-8 and give back the number of its entries (X01).

    The entries pass once and are not held in memory. The same document always gives the same bytes. `edition=2014`
    leaves out what the edition of 2017 added (V1103) and `profile`, which the schema of 2014 does not know. No limit is
    imposed on the size: see `write_parts`. Raises `DocumentError` for what a document must not hold; what was written
    by then stays in the stream.
    """
    renderer = Renderer(document.root, edition)
    stream.write(renderer.head(document).encode())
    written = 0
    entries = iter(document.entries)
    while batch := [renderer.entry(entry) for entry in islice(entries, _BATCH)]:
        stream.write("".join(batch).encode())
        written += len(batch)
    stream.write(renderer.tail().encode())
    return written
