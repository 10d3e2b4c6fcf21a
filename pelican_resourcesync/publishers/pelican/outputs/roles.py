"""The role of a source, by Pelican's rules."""

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from typing import Any


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
