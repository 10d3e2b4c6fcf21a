"""URIs of what Pelican writes: from its own URL where that leads to the file, else from the path (`X10`)."""

import posixpath
from urllib.parse import quote, unquote, urlsplit

_INDEX = "index.html"
#: What may stand in a path as it is (RFC 3986, pchar and "/").
_PATH_SAFE = "/:@!$&'()*+,;=~-._"


def uri_of_path(siteurl: str, path: str) -> str:
    """Give the URI of the output file at `path` (relative to the output, `/`-separated, not encoded)."""
    return f"{siteurl}/{quote(path, safe=_PATH_SAFE, errors='surrogateescape')}"


def uri_of(siteurl: str, url: str, save_as: str) -> str:
    """Give the URI of an output whose URL, by Pelican's rules, is `url` and whose file is `save_as`.

    That is the URL where a static host would answer it with that file: as it stands, as a slug with spaces makes it, or
    decoded, as a user writes it. Else it is the path of the file, which is always right: many a `SAVE_AS` is set
    without its `URL`.
    """
    relative = _relative(url)
    for candidate in (relative, unquote(relative, errors="surrogateescape")):
        if leads_to(candidate, save_as):
            return uri_of_path(siteurl, candidate)
    return uri_of_path(siteurl, posixpath.normpath(save_as))


def leads_to(url: str, save_as: str) -> bool:
    """Tell whether a static host answers a request for `url` (decoded, relative) with the file `save_as`."""
    folder = url if not url or url.endswith("/") else f"{url}/"
    return posixpath.normpath(save_as) in (url, f"{folder}{_INDEX}", f"{url}.html")


def _relative(url: str) -> str:
    """Give a URL relative to the site, without dot segments; one on another host, or no path alone, is none (`..`)."""
    try:
        parts = urlsplit(url)
    except ValueError:  # what looks like a host and is none
        return ".."
    if parts.scheme or parts.netloc or parts.query or parts.fragment:
        return ".."
    path = posixpath.normpath(url.lstrip("/") or ".")
    if path == ".":
        return ""
    return f"{path}/" if url.endswith(("/", "/.")) else path
