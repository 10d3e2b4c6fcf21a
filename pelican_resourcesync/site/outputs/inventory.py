"""The inventory: which files of the output are resources, and their URIs."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.layout import FOLDER, WELL_KNOWN
from pelican_resourcesync.site.outputs.written import Written

_INDEX = "index.html"

#: Files in the output that configure the host and are not served.
HOST_FILES = ("_headers", "_redirects", "CNAME")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The files that are never resources: the plug-in's own documents, host files, and matches of `exclude`."""

    patterns: Sequence[str]

    def covers(self, path: str) -> bool:
        """Return whether the output file at `path` is excluded."""
        if path == WELL_KNOWN or path.startswith(f"{FOLDER}/"):
            return True
        return path in HOST_FILES or any(matches(path, pattern) for pattern in self.patterns)

    def unused(self, paths: Iterable[str]) -> list[str]:
        """Return the patterns that match none of these paths: a pattern meant to hide a file may be misspelt."""
        paths = list(paths)
        return [pattern for pattern in self.patterns if not any(matches(path, pattern) for path in paths)]

    def covers_uri(self, siteurl: str, uri: str) -> bool:
        """Return whether a file that a static host may return for `uri`, a URI of the past, is excluded."""
        return any(map(self.covers, files_of(siteurl, uri)))


def take_inventory(outputs: Iterable[Written], exclusion: Exclusion) -> list[Written]:
    """Return the outputs that are resources, in the order of their URIs.

    Raises `PublicationError` where two files have the same URI.
    """
    found: dict[str, Written] = {}
    for output in outputs:
        if not output.public or exclusion.covers(output.path):
            continue
        other = found.setdefault(output.uri, output)
        if other is not output:
            message = (
                f"{_named(other)} and {_named(output)} both have the URI {output.uri}: "
                "give one of them another URL, or exclude it (RESOURCESYNC['exclude'])"
            )
            raise PublicationError(message)
    return [found[uri] for uri in sorted(found)]


def files_of(siteurl: str, uri: str) -> tuple[str, ...]:
    """Return the paths of the files that a static host may return for `uri`, a URI of the past."""
    path = unquote(uri.removeprefix(f"{siteurl}/"), errors="surrogateescape")
    if not path or path.endswith("/"):
        return (path + _INDEX,)
    return (path,) if posixpath.splitext(path)[1] else (path, f"{path}.html", f"{path}/{_INDEX}")


def matches(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern. A folder matches all below it; a leading `/` has no effect."""
    bare = pattern.strip("/")
    return fnmatchcase(path, f"{bare}/*") or (not pattern.endswith("/") and fnmatchcase(path, bare))


def _named(output: Written) -> str:
    return f"{output.path} (of {output.source})" if output.source else output.path


def is_html(path: str) -> bool:
    """Return whether a file is an HTML page, by its name."""
    return Path(path).suffix.lower() in (".html", ".htm")
