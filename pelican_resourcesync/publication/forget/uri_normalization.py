"""Compare URIs that may be written in several ways, and suggest corrections."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import quote

from pelican_resourcesync.errors import PublicationError

_PUNCTUATION = "%/:?#[]@!$&'()*+,;="
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ORIGIN = re.compile(r"[^/]*//[^/]*")
_NEAR = 2


def normalize_uri(uri: str) -> str:
    """Return the normal form of a URI by RFC 3986 (6.2.2), which equivalent URIs share, including non-ASCII ones.

    Scheme and host are in lower case, and only characters that must be are percent-encoded.
    """
    encoded = quote(uri, safe=_PUNCTUATION, errors="surrogateescape")
    plain = _ESCAPE.sub(lambda escape: _decoded(escape[0]), encoded)
    return _ORIGIN.sub(lambda origin: origin[0].lower(), plain, count=1)


def find_uris(asked: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return the known URIs that are asked for, in any spelling.

    Raises `PublicationError` for an unknown one, and suggests similar URIs.
    """
    spelt: dict[str, set[str]] = defaultdict(set)
    for uri in known:
        spelt[normalize_uri(uri)].add(uri)
    found: set[str] = set()
    for uri in asked:
        if normalize_uri(uri) not in spelt:
            near = difflib.get_close_matches(normalize_uri(uri), spelt, n=_NEAR)
            hint = f"did you mean {' or '.join(near)}?" if near else "write it as the Resource List does"
            message = f"{uri} is not in the publication, and no Change List names it: {hint}"
            raise PublicationError(message)
        found |= spelt[normalize_uri(uri)]
    return found


def _decoded(escape: str) -> str:
    character = chr(int(escape[1:], 16))
    return character if _UNRESERVED.fullmatch(character) else escape.upper()
