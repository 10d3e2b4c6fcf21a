"""The store: what a repository on this machine holds of itself, of its submodules and of Git LFS.

Nothing is ever fetched but the blobs of a partial clone that are asked for, and git itself fetches those.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pelican_resourcesync.git.lfs import is_pointer, pointed_to
from pelican_resourcesync.git.objects import Objects
from pelican_resourcesync.git.submodules import embedded_objects, object_folders

if TYPE_CHECKING:
    import git

#: Git must not fetch. Before git 2.45 it knows no such wish, so no way to fetch is allowed either.
_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_FOLDERS = "GIT_ALTERNATE_OBJECT_DIRECTORIES"
_PROMISES = r"^(remote\..*\.promisor|extensions\.partialclone)$"
#: After so many blobs in a row that could not be fetched, no more are asked for: the remote is gone.
_PATIENCE = 3


class Store:
    """Gives objects by name: blobs from wherever they can be had, everything else from this machine alone."""

    def __init__(self, git: "git.Git", git_dirs: tuple[Path, ...], top: Path) -> None:
        """Take what runs git, the folders of git (of a linked work tree, and of the repository), and the work tree."""
        self._git = git
        self._git_dirs = git_dirs
        self._top = top
        self._here = Objects(git, _NO_FETCH)
        self._there = Objects(git, {})
        self._folders: list[Path] = []
        self._looked = False
        self._patience: int | None = None

    def get(self, name: str, kind: str) -> bytes | None:
        """Give the bytes of an object that is on this machine."""
        return self._here.get(name, kind)

    def expect(self, names: Iterable[str]) -> None:
        """Take the names of blobs that are going to be asked for, most of them, in about this order."""
        self._here.expect(names)

    def blob(self, name: str) -> bytes | None:
        """Give the bytes of a file by the name of its blob; `None` where they cannot be had."""
        data = self._here.get(name, "blob")
        if data is None:
            data = self._fetched(name)
        if data is not None and is_pointer(data):
            return pointed_to(data, (*self._git_dirs, *(folder.parent for folder in self._folders)))
        return data

    def discover(self, submodule: str) -> None:
        """Look for the objects of the submodule at a path; the first time, for those of all."""
        found = [] if self._looked else list(object_folders(self._git_dirs))
        self._looked = True
        embedded = embedded_objects(self._top, submodule)
        if embedded is not None and embedded not in self._folders:
            found.append(embedded)
        if found:
            self._folders += found
            others = filter(None, [os.environ.get(_FOLDERS)])
            self._here.environment[_FOLDERS] = os.pathsep.join([*others, *map(_quoted, self._folders)])
            self._here.close()

    def close(self) -> None:
        """End the processes that wait for questions."""
        self._here.close()
        self._there.close()

    def _fetched(self, name: str) -> bytes | None:
        if self._patience is None:
            promises = self._git.config("--get-regexp", _PROMISES, with_exceptions=False)
            self._patience = _PATIENCE if promises else 0
        if not self._patience:
            return None
        data = self._there.get(name, "blob")
        self._patience = self._patience - 1 if data is None else _PATIENCE
        return data


def _quoted(folder: Path) -> str:
    """Give a folder as git reads it from a list, whatever its name."""
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
