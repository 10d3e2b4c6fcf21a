"""Absolute URIs (X10)."""

import re

from pelican_resourcesync.errors import DocumentError

LONGEST_LOC = 2048  # characters; a loc is shorter (X10)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")


def require_absolute(uri: str) -> str:
    """Return an absolute URI, of any scheme, unchanged; raises `DocumentError` for any other text."""
    if not _ABSOLUTE.fullmatch(uri):
        message = (
            f"{uri[:80]!a} is no absolute URI; begin it with a scheme such as https: and percent-encode spaces,"
            " control and non-ASCII characters (X10)"
        )
        raise DocumentError(message)
    return uri
