"""The git repository that a site lies in: found, asked, and its refusals made plain.

GitPython finds it and runs git; nothing here walks commits one by one.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.git.environment import prepared
from pelican_resourcesync.git.log import (
    LINE_OPTIONS,
    LINK,
    LOG_CONFIGURATION,
    LOG_OPTIONS,
    SUBMODULE,
    TREE_OPTIONS,
    Commit,
    PathChange,
    read_log,
    read_tree,
)
from pelican_resourcesync.git.store import Store
from pelican_resourcesync.git.submodules import Submodules
from pelican_resourcesync.git.symlinks import Symlinks
from pelican_resourcesync.git.trees import Trees
from pelican_resourcesync.git.worktree import UNCOMMITTED, WorkTree

if TYPE_CHECKING:
    import git

Read = TypeVar("Read")

_NO_FILES = (LINK, SUBMODULE)
_NO_GIT = "git cannot be run, so there is no history to publish: install git"

__all__ = ["UNCOMMITTED", "Repository", "find_repository"]


class Repository:
    """A git repository with a work tree and at least one commit; paths are relative to `top`."""

    def __init__(self, repo: "git.Repo") -> None:
        """Take a repository that `find_repository` has found usable."""
        self._repo = repo
        self._git = prepared(repo)
        self.top = Path(os.path.realpath(str(repo.working_tree_dir)))
        git_dirs = dict.fromkeys(Path(os.path.realpath(folder)) for folder in (repo.git_dir, repo.common_dir))
        self._store = Store(self._git, tuple(git_dirs), self.top)
        self._trees = Trees(self._store.get)
        self._follow(())

    def head(self) -> str:
        """Give the name of the commit that is checked out (a branch or a detached HEAD, as in every CI)."""
        return str(self._git.rev_parse("--verify", "HEAD^{commit}"))

    def is_shallow(self) -> bool:
        """Tell whether the history ends early, so that its first commit only seems to add everything."""
        return bool(self._git.rev_parse("--is-shallow-repository") == "true")

    def superproject(self) -> "Repository | None":
        """Give the repository of which this is a submodule, if it is one of any."""
        if not any(os.access(folder / ".git", os.F_OK) for folder in self.top.parents):
            return None
        folder = self._git.rev_parse("--show-superproject-working-tree", with_exceptions=False)
        with suppress(HistoryError):  # one that has no commits yet, say, has no history
            return find_repository(Path(folder)) if folder else None
        return None

    def commit(self, revision: str) -> str:
        """Give the name of the commit that `revision` names; `HistoryError` where it names none."""
        try:
            return str(self._git.rev_parse("--verify", "--end-of-options", f"{revision}^{{commit}}"))
        except self._failure() as error:
            message = (
                f"'history' is {revision!r}, which names no commit of {self.top}: give 'all', 'none' or a revision"
            )
            raise HistoryError(message) from error

    def line(self) -> Iterator[Commit]:
        """Give the first-parent commits of HEAD, oldest first, without what they change: a tenth of the work."""
        yield from self._read(read_log, "log", *LINE_OPTIONS, "HEAD", "--")

    def log(self, since: str | None = None) -> Iterator[Commit]:
        """Give the first-parent commits of HEAD, oldest first, from one run of `git log`.

        `since` is one of them: then those after it, and it before them, as if all that it holds had come with it.
        """
        if since is None:
            yield from self._read(read_log, "log", *LOG_OPTIONS, "HEAD", "--")
            return
        yield Commit(since, 0, tuple(self._read(read_tree, "ls_tree", *TREE_OPTIONS, since)))
        yield from self._read(read_log, "log", *LOG_OPTIONS, f"{since}..HEAD", "--")

    def _read(self, read: Callable[[BinaryIO], Iterator[Read]], command: str, *arguments: str) -> Iterator[Read]:
        process = getattr(self._git(c=LOG_CONFIGURATION), command)(*arguments, as_process=True)
        yield from read(process.stdout)
        try:
            process.wait()
        except self._failure() as error:
            message = f"git cannot read the history of {self.top}: {error}: run git fsck, or clone it anew"
            raise HistoryError(message) from error

    def history(self, paths: Iterable[str], since: str | None = None) -> Iterator[Commit]:
        """Give the commits of `log` with what they change in submodules and through symbolic links.

        These are followed as far as they matter to `paths`, relative to `top`.
        """
        self._follow(paths)
        parent = None
        for commit in self.log(since):
            followed = self._symlinks or self._submodules or [each for each in commit.changes if each.mode in _NO_FILES]
            yield self._expanded(commit, parent) if followed else commit
            parent = commit.sha

    def _expanded(self, commit: Commit, parent: str | None) -> Commit:
        changes = self._symlinks.expand(self._submodules.expand(commit.changes), commit.sha, parent)
        return commit if changes is commit.changes else replace(commit, changes=tuple(changes))

    def _follow(self, paths: Iterable[str]) -> None:
        self._symlinks = Symlinks(self._trees, self._store.blob, paths)
        self._submodules = Submodules(self._trees, self._symlinks.concerns, self._store.discover)

    def expect(self, names: Iterable[str]) -> None:
        """Take the names of blobs that are going to be asked for, most of them, in about this order."""
        self._store.expect(names)

    def blob(self, name: str) -> bytes | None:
        """Give the bytes of a file by the name of its blob, of a submodule too, as a work tree has them (Git LFS).

        `None` where they cannot be had.
        """
        return self._store.blob(name)

    def tags(self) -> Mapping[str, list[str]]:
        """Give the names of the tags by the commit that each names."""
        tags: dict[str, list[str]] = {}
        lines = self._git.for_each_ref("--format=%(refname:lstrip=2) %(objectname) %(*objectname)", "refs/tags")
        for line in filter(None, lines.split("\n")):
            name, named, *peeled = line.split(" ")
            tags.setdefault(peeled[0] if peeled and peeled[0] else named, []).append(name)
        return tags

    def uncommitted(self, paths: Iterable[Path]) -> tuple[PathChange, ...]:
        """Give what the work tree has below `paths`, relative to `top`, that HEAD has not: edits, additions, losses.

        The `new` name of such a file is none of git's: it begins with `UNCOMMITTED`, and `blob` does not know it.
        Submodules and links count as far as `history` followed them.
        """
        scope = [path.as_posix() if path.parts else "" for path in paths]
        tree = WorkTree(self._git, self.top, self._trees, self._submodules, self._symlinks)
        try:
            return tuple(tree.uncommitted(scope)) if scope else ()
        except self._failure() as error:
            message = f"git cannot compare {self.top} with its last commit: {error}: see what git status says there"
            raise HistoryError(message) from error

    def close(self) -> None:
        """End the processes that wait for questions about blobs."""
        self._store.close()
        self._repo.close()

    @staticmethod
    def _failure() -> type[Exception]:
        from git.exc import GitCommandError

        return GitCommandError


def find_repository(folder: Path) -> Repository:
    """Find the repository whose work tree holds `folder`, with its history.

    Raises `HistoryError`, with the reason and the cure, where there is none, it has no commits, git refuses it
    or git itself is missing.
    """
    try:
        import git
    except ImportError as error:
        raise HistoryError(_NO_GIT) from error
    outside = _none(folder)
    try:
        repo = git.Repo(folder, search_parent_directories=True)
    except (git.exc.InvalidGitRepositoryError, git.exc.NoSuchPathError, TypeError) as error:
        raise HistoryError(outside) from error
    if repo.working_tree_dir is None:
        raise HistoryError(outside)
    repository = Repository(repo)
    _require_history(repository)
    return repository


def _require_history(repository: Repository) -> None:
    import git

    try:
        repository.head()
    except git.exc.GitCommandNotFound as error:
        raise HistoryError(_NO_GIT) from error
    except git.exc.GitCommandError as error:
        raise HistoryError(_refusal(repository.top, str(error.stderr))) from error


def _none(folder: Path) -> str:
    return f"{folder} is in no git repository, so there is no history to publish: build in a clone"


def _refusal(top: Path, said: str) -> str:
    if "dubious ownership" in said:
        return (
            f"git refuses the repository {top} because it belongs to another user (dubious ownership): "
            f"run git config --global --add safe.directory {top}"
        )
    if "not a git repository" in said:
        return _none(top)
    if "Needed a single revision" in said:
        return f"the repository {top} has no commits yet, so there is no history to publish: commit the site"
    return f"git cannot read the repository {top}: {said.strip()}"
