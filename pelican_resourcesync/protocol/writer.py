"""Write one document to one stream."""

from itertools import islice
from typing import BinaryIO

from pelican_resourcesync.protocol.model import Document
from pelican_resourcesync.protocol.render import Renderer

_BATCH = 256  # entries encoded at a time: fast, with little memory


def write(document: Document, stream: BinaryIO, *, edition: int = 2017) -> int:
    """Write a document as UTF-8 and return the number of its entries (X01).

    The entries are read once and are not held in memory. The same document always produces the same bytes.
    `edition=2014` leaves out what the edition of 2017 added (V1103), and `profile`, which is not in the schema of 2014.
    The size is not limited: see `write_parts`. Raises `DocumentError` for values that are not allowed in a document;
    what was already written stays in the stream.
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
