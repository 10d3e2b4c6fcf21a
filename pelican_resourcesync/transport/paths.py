"""File paths of URIs and URIs of file paths, and which paths are safe to write to."""

from urllib.parse import quote, unquote

INDEX = "index.html"
_RESERVED = frozenset('\\:*?"<>|')
#: The characters that are not percent-encoded in the path of a URI (RFC 3986, pchar and "/").
_PATH_SAFE = "/:@!$&'()*+,;=~-._"


def uri_of_path(base: str, path: str) -> str:
    """Return the URI of a file at `path` (relative, `/`-separated, not encoded) below the URL `base`."""
    return f"{base.rstrip('/')}/{quote(path, safe=_PATH_SAFE, errors='surrogateescape')}"


def path_of_uri(base: str, uri: str) -> str | None:
    """Return the path below the URL `base` that a URI names: the inverse of `uri_of_path`.

    Query and fragment are ignored. Returns None for a URI elsewhere, and for a path that leaves its folder or that no
    file can have.
    """
    below = f"{base.rstrip('/')}/"
    if not uri.startswith(below):
        return None
    path = unquote(uri.removeprefix(below).partition("#")[0].partition("?")[0], errors="surrogateescape")
    return None if "\0" in path or ".." in path.split("/") or path.startswith("/") else path


def served_paths(path: str) -> tuple[str, ...]:
    """Return the paths of the files that a static host may return for a path, in this order."""
    if not path or path.endswith("/"):
        return (path + INDEX,)
    return (path, f"{path}.html", f"{path}/{INDEX}")


def is_plain(path: str) -> bool:
    """Return whether a relative path is safe on every system: no root, drive, `..` or unprintable character."""
    return all(name.strip(". ") and name.isprintable() and not _RESERVED.intersection(name) for name in path.split("/"))
