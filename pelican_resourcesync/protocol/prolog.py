"""Read the bytes before the root element, where a document type declaration would be."""

import re
from typing import BinaryIO

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.limits import LONGEST_PROLOG

_MISCELLANEOUS = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r\n]++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)


def read_prolog(stream: BinaryIO, *, name: str) -> bytes:
    """Read a stream up to its root element or a little further, and return what was read.

    No parser receives any byte before it is known that there is no DOCTYPE, so nothing that one declares is ever loaded
    or expanded. Raises `DocumentError` for a DOCTYPE, and for a stream whose first 65,536 bytes contain no element in
    UTF-8 (X01); `name` is the document's name in the message.
    """
    seen = b""
    while len(seen) < LONGEST_PROLOG and (chunk := stream.read(LONGEST_PROLOG - len(seen))):
        seen += chunk
    found = _MISCELLANEOUS.match(seen)
    end = found.end() if found else 0
    if seen.startswith(b"<!DOCTYPE", end):
        line = seen.count(b"\n", 0, end) + 1
        message = f"{name}, line {line}: a DOCTYPE is refused, for what it could load or expand; remove it"
        raise DocumentError(message)
    if not seen.startswith(b"<", end) or seen.startswith((b"<!", b"<?"), end):
        message = f"{name}: no XML element in UTF-8 in the first {len(seen):,} bytes; check what was published (X01)"
        raise DocumentError(message)
    return seen
