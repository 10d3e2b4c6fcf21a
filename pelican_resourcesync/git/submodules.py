"""Submodules: what a commit changes in the folders that other repositories fill.

A submodule is one name in its superproject's commits: that of a commit of its own. What lies between two of those are
the changes that landed with the superproject's commit. An object is told by its name, so it is no matter which
repository on this machine holds it, and `.gitmodules` is never asked.
"""

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pelican_resourcesync.git.log import SUBMODULE, PathChange, merged
from pelican_resourcesync.git.trees import Entry, MissingError, Trees

#: What is known of a submodule none of whose commits is there.
_NOTHING = ""


class Submodules:
    """Follows the submodules of one history, from its first commit on."""

    def __init__(self, trees: Trees, concerns: Callable[[str], bool], discover: Callable[[str], None]) -> None:
        """Take what reads trees, what tells which paths matter, and what is told where a submodule is met."""
        self._trees = trees
        self._concerns = concerns
        self._discover = discover
        self._modules: dict[str, str] = {}

    def expand(self, changes: Sequence[PathChange]) -> Sequence[PathChange]:
        """Give the changes with those of the files in submodules in place of the submodules'.

        A submodule stays as it is where it does not matter, or its commit is not on this machine: what it holds then
        is unknown, and counts as it was known last.
        """
        return merged(self._expanded(changes)) if any(map(self._is_one, changes)) else changes

    def __bool__(self) -> bool:
        """Tell whether there is any submodule now."""
        return bool(self._modules)

    def known(self, path: str) -> Entry | None:
        """Give the folder that the submodule at `path` holds; `None` where there is none or that is unknown."""
        with suppress(MissingError):
            return self._trees.root(self._modules[path]) if self._modules.get(path) else None
        return None

    def paths(self) -> Collection[str]:
        """Give the paths of the submodules that there are now."""
        return self._modules.keys()

    def _is_one(self, change: PathChange) -> bool:
        return change.mode == SUBMODULE or change.path in self._modules

    def _expanded(self, changes: Iterable[PathChange]) -> Iterator[PathChange]:
        waiting = deque(changes)
        while waiting:
            change = waiting.popleft()
            if not self._is_one(change):
                yield change
                continue
            was_one = change.path in self._modules
            inside = self._inside(change)
            if inside is None:
                yield change
                continue
            waiting += inside  # which may have submodules of its own
            if was_one and change.mode != SUBMODULE:
                yield PathChange(change.path, None, change.new, change.mode)
            elif not was_one and change.old is not None:
                yield PathChange(change.path, change.old, None)

    def _inside(self, change: PathChange) -> list[PathChange] | None:
        """Give what a submodule's change is to its files, and remember where it stands; `None` where it stays one."""
        path, new = change.path, change.new if change.mode == SUBMODULE else None
        concerned = self._concerns(path)
        if new is not None:
            self._discover(path)  # links may lead into one that does not matter itself
        before = self.known(path)
        last = self._modules.pop(path, _NOTHING)
        if new is not None:
            self._modules[path] = last if concerned else new
        if not concerned:
            return None
        try:
            inside = list(self._trees.difference(before, self._trees.root(new) if new else None, path))
        except MissingError:
            return None
        if new is not None:
            self._modules[path] = new
        return inside


def object_folders(git_dirs: Iterable[Path]) -> Iterator[Path]:
    """Give the folders of objects of all submodules that were ever cloned into repositories: below `modules`."""
    waiting = [folder / "modules" for folder in git_dirs]
    while waiting:
        folder = waiting.pop()
        if folder.is_symlink() or not folder.is_dir():
            continue
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            yield folder / "objects"
            waiting.append(folder / "modules")
        else:
            waiting += sorted(folder.iterdir())  # a name may have slashes


def embedded_objects(top: Path, path: str) -> Path | None:
    """Give the folder of objects of a submodule that lies whole in the work tree, as it did before git 1.7.8."""
    folder = top / path / ".git"
    real = Path(os.path.realpath(folder))
    inside = real == folder and real.is_relative_to(top)
    return real / "objects" if inside and (real / "objects").is_dir() else None
