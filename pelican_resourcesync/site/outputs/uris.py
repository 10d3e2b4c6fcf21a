"""URIs of what Pelican writes: from Pelican's URL where it leads to the file, else from the path (`X10`)."""

import posixpath
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.transport import path_of_uri, served_paths, uri_of_path


def uri_of(siteurl: str, url: str, save_as: str, *, clean_urls: bool = False) -> str:
    """Return the URI of an output with the URL `url`, by Pelican's rules, and the file `save_as`.

    The URL is used where every static host returns that file for it, either unchanged (a slug may contain spaces) or
    decoded (a user may have written it percent-encoded). With `clean_urls`, so is one that only some hosts resolve:
    `name` for the file `name.html`. Otherwise the path of the file is used, which is always correct: a `SAVE_AS` is
    often set without its `URL`.
    """
    relative, path = _relative(url), posixpath.normpath(save_as)
    for candidate in (relative, unquote(relative, errors="surrogateescape")):
        if serves(candidate, save_as):
            if clean_urls or candidate in ("", path) or candidate.endswith("/"):
                return uri_of_path(siteurl, candidate)
            if path != f"{candidate}.html":
                return uri_of_path(siteurl, f"{candidate}/")
    return uri_of_path(siteurl, path)


def serves(url: str, save_as: str) -> bool:
    """Return whether a static host returns the file `save_as` for `url` (decoded, relative)."""
    return posixpath.normpath(save_as) in served_paths(url)


def _relative(url: str) -> str:
    """Return a URL relative to the site, without dot segments; `..` for another host, or more than a path."""
    try:
        parts = urlsplit(url)
    except ValueError:  # an invalid host
        return ".."
    if parts.scheme or parts.netloc or parts.query or parts.fragment:
        return ".."
    path = posixpath.normpath(url.lstrip("/") or ".")
    if path == ".":
        return ""
    return f"{path}/" if url.endswith(("/", "/.")) else path


def files_of(siteurl: str, uri: str) -> tuple[str, ...]:
    """Return the paths of the files that a static host may return for `uri`, a URI of the past."""
    path = path_of_uri(siteurl, uri)
    return () if path is None else served_paths(path)[: 1 if posixpath.splitext(path)[1] else None]


def matches_pattern(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern. A folder matches all below it; a leading `/` has no effect."""
    bare = pattern.strip("/")
    return fnmatchcase(path, f"{bare}/*") or (not pattern.endswith("/") and fnmatchcase(path, bare))


def is_html(path: str) -> bool:
    """Return whether a file is an HTML page, by its name."""
    return path.lower().endswith((".html", ".htm"))
