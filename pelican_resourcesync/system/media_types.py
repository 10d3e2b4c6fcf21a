"""Media types of files by the endings of their names, the same on every machine.

Python's `mimetypes` reads the configuration of the operating system, so results differ between machines. Our own table,
`media_types.json`, is checked first, and then only the built-in part of `mimetypes`. The types have no parameters, as
the official schema requires (`V1105`).
"""

import json
from functools import lru_cache
from mimetypes import MimeTypes
from pathlib import Path

#: The type of a TimeMap (RFC 7089).
LINK_FORMAT = "application/link-format"

#: The type of a file if nothing better is known.
UNKNOWN_TYPE = "application/octet-stream"

_KNOWN = json.loads(Path(__file__).with_suffix(".json").read_bytes())
TABLE: dict[str, str] = {ending: type_ for type_, endings in _KNOWN["endings"].items() for ending in endings}
_COMPRESSED, _UNCOMPRESSED = frozenset(_KNOWN["compressed"]), frozenset(_KNOWN["uncompressed"])
_FAMILIES = tuple(_KNOWN["compressed_families"])


def media_type(name: str) -> str:
    """Return the media type of a file by its name or path; the longest known ending of the name decides."""
    return _type_of(name.rpartition("/")[2].partition(".")[2].lower())


@lru_cache(maxsize=1_024)
def _type_of(ending: str) -> str:
    ends = ending.split(".")
    for start in range(len(ends)):
        known = TABLE.get(".".join(ends[start:]))
        if known:
            return known
    built_in = MimeTypes(filenames=())
    guessed, encoding = built_in.guess_type(f"name.{ends[-1]}", strict=True)
    return guessed if guessed and not encoding else UNKNOWN_TYPE


def is_compressed(media_type: str) -> bool:
    """Return whether bytes of this media type are already compressed."""
    name = media_type.partition(";")[0].strip().lower()
    if name in _COMPRESSED or name.endswith(("+zip", "+gzip")):
        return True
    return name.startswith(_FAMILIES) and name not in _UNCOMPRESSED
