"""The work tree: what is changed, added or lost there and not committed, in submodules and through links too."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pelican_resourcesync.git.environment import prepared
from pelican_resourcesync.git.log import PathChange
from pelican_resourcesync.git.submodules import Submodules
from pelican_resourcesync.git.symlinks import Symlinks
from pelican_resourcesync.git.trees import MissingError, Trees

if TYPE_CHECKING:
    import git

#: What the name of a file in the work tree, which is no blob of git, begins with.
UNCOMMITTED = "worktree:"

_OPTIONS = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")

#: The first letter of a status: untracked, or added to the index.
_NOT_IN_HEAD = "?A"
_IN_HEAD = "HEAD"
#: How many paths git is asked about at once; where there are more, about all.
_MOST_PATHS = 1000

#: A path, and a name of what HEAD has there; `None` for nothing.
Touched = tuple[str, str | None]


class WorkTree:
    """Compares a work tree with HEAD, of which the submodules and links are known."""

    def __init__(self, git: "git.Git", top: Path, trees: Trees, submodules: Submodules, symlinks: Symlinks) -> None:
        """Take what runs git, the top of the work tree, and what is known of HEAD."""
        self._git = git
        self._top = top
        self._trees = trees
        self._submodules = submodules
        self._symlinks = symlinks

    def uncommitted(self, paths: Iterable[str]) -> Iterator[PathChange]:
        """Give what there is below `paths` that HEAD has not: edits, additions, losses.

        The `new` name of such a file is none of git's: it begins with `UNCOMMITTED`.
        """
        modules = filter(self._symlinks.concerns, self._submodules.paths())
        found: dict[str, str | None] = {}
        for path, old in self._touched(self._git, "", [*paths, *modules, *self._symlinks.targets()]):
            for name in (path, *self._other_names(path)):
                found[name] = found.get(name) or old
        for path, old in found.items():
            there = (self._top / path).is_file()
            if there or old:
                yield PathChange(path, old, f"{UNCOMMITTED}{path}" if there else None)

    def _touched(self, git: "git.Git", prefix: str, paths: Iterable[str]) -> Iterator[Touched]:
        for status, inner in _status(git, paths):
            path = prefix + inner.rstrip("/")
            if path in self._submodules.paths():
                yield from self._in_submodule(path)
            elif self._symlinks.is_link(path):
                yield from ((each, _IN_HEAD) for each in self._symlinks.shown(path))
                yield from self._files(path)
            elif (self._top / path).is_dir():  # another repository, or a link that is new
                yield from self._files(path)
            else:
                yield path, None if status[0] in _NOT_IN_HEAD else _IN_HEAD

    def _in_submodule(self, path: str) -> Iterator[Touched]:
        """Give what the work tree of a submodule has that the commit named in HEAD has not."""
        known, git = self._submodules.known(path), self._git_of(path)
        with suppress(MissingError):
            head = self._trees.root(git.rev_parse("HEAD", with_exceptions=False)) if git else None
            if known is not None:
                yield from ((each.path, each.old) for each in self._trees.difference(known, head, path))
        yield from self._touched(git, f"{path}/", [""]) if git else self._files(path)

    def _git_of(self, submodule: str) -> "git.Git | None":
        from git import Repo
        from git.exc import InvalidGitRepositoryError, NoSuchPathError

        with suppress(InvalidGitRepositoryError, NoSuchPathError):
            return prepared(Repo(self._top / submodule))
        return None

    def _other_names(self, path: str) -> Iterator[str]:
        """Give the other paths of a file through links, of those that lead to it in the work tree too."""
        for name in self._symlinks.names(path):
            if os.path.realpath(self._top / name) == os.path.realpath(self._top / path):
                yield name

    def _files(self, path: str) -> Iterator[Touched]:
        """Give the files below a folder or link of the work tree, or the one that it is; no folder twice."""
        if not (self._top / path).is_dir():
            yield path, None
        seen = set()
        for folder, folders, files in os.walk(self._top / path, followlinks=True):
            real = os.path.realpath(folder)
            folders[:] = [] if real in seen else [name for name in folders if name != ".git"]
            if real not in seen:
                yield from (((Path(folder, name).relative_to(self._top)).as_posix(), None) for name in files)
            seen.add(real)


def _status(git: "git.Git", paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give git's two letters and the path of all that is not as in HEAD.

    A submodule that git cannot look into (it was moved, or belongs to another user) is passed over.
    """
    from git.exc import GitCommandError

    scope = [":(top,literal)" + path for path in paths]
    scope = scope if len(scope) <= _MOST_PATHS else []
    as_bytes: dict[str, Any] = {"strip_newline_in_stdout": False, "stdout_as_string": False}
    try:
        listing = git.status(*_OPTIONS, "--ignore-submodules=none", "--", *scope, **as_bytes)
    except GitCommandError:
        listing = git.status(*_OPTIONS, "--ignore-submodules=all", "--", *scope, **as_bytes)
    entries = (os.fsdecode(entry) for entry in bytes(listing).split(b"\0") if entry.strip())
    return ((entry[:2], entry[3:]) for entry in entries)
