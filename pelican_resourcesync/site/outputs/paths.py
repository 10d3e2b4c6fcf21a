"""What a path means: the URI of an output, the role of a source, and whether it matches a pattern."""

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch, fnmatchcase
from typing import Any
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.http import path_of_uri, served_paths, uri_of_path


def uri_of(siteurl: str, url: str, save_as: str, *, clean_urls: bool = False) -> str:
    """Return the URI of an output (`X10`) with the URL `url`, by Pelican's rules, and the file `save_as`.

    The URL is used where every static host returns that file for it, either unchanged (a slug may contain spaces) or
    decoded (a user may have written it percent-encoded). With `clean_urls`, so is one that only some hosts resolve:
    `name` for the file `name.html`. Otherwise the path of the file is used, which is always correct: a `SAVE_AS` is
    often set without its `URL`.
    """
    path = posixpath.normpath(save_as)
    if url == path:  # nearly always
        return uri_of_path(siteurl, path)
    relative = _relative(url)
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


class Role(StrEnum):
    """What Pelican makes of a source."""

    ARTICLE = "article"
    PAGE = "page"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Roles:
    """Pelican's rules (`get_files`) for the role of a source, applied to a single path, which need not exist.

    Paths are relative to Pelican's `PATH`, `/`-separated.
    """

    settings: Mapping[str, Any]
    extensions: Collection[str]

    def of(self, path: str) -> Role | None:
        """Return the role of the source at `path`; `None` where no Pelican generator reads it."""
        if self._source("ARTICLE", path):
            return Role.ARTICLE
        if self._source("PAGE", path):
            return Role.PAGE
        if self._taken(path, self.settings["STATIC_PATHS"], self.settings["STATIC_EXCLUDES"]):
            return Role.STATIC
        return None

    def _source(self, kind: str, path: str) -> bool:
        if posixpath.splitext(path)[1][1:] not in self.extensions:
            return False
        return self._taken(path, self.settings[f"{kind}_PATHS"], self.settings[f"{kind}_EXCLUDES"])

    def _taken(self, path: str, roots: Collection[str], excludes: Collection[str]) -> bool:
        if self.ignored(posixpath.basename(path)):
            return False
        return any(self._below(path, root, {posixpath.split(name) for name in excludes}) for root in roots)

    def _below(self, path: str, root: str, excludes: Collection[tuple[str, str]]) -> bool:
        """Return whether a walk from `root` reaches `path`. Folder names are compared as written, as in Pelican."""
        top = _normal(root)
        if path == top:
            return True
        if top and not path.startswith(f"{top}/"):
            return False
        folder = root
        for name in path[len(top) :].lstrip("/").split("/")[:-1]:
            if (folder, name) in excludes or self.ignored(name):
                return False
            folder = posixpath.join(folder, name)
        return True

    def ignored(self, name: str) -> bool:
        """Return whether Pelican ignores files and folders of this name (`IGNORE_FILES`)."""
        return any(fnmatch(name, pattern) for pattern in self.settings["IGNORE_FILES"])


def _normal(path: str) -> str:
    normal = posixpath.normpath(path) if path else ""
    return "" if normal == "." else normal
