"""The git repository that a site lies in: found, asked, and its refusals made plain.

GitPython finds it and runs git; nothing here walks commits one by one.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.site.log import LOG_CONFIGURATION, LOG_OPTIONS, Commit, PathChange, read_log

if TYPE_CHECKING:
    import git

#: Git must neither lock, nor ask, nor fetch what a partial clone left out, nor speak another language.
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}

#: The first letter of a status: untracked, or added to the index.
_NOT_IN_HEAD = "?A"

_NO_GIT = "git cannot be run, so there is no history to publish: install git"

#: What the name of a file in the work tree, which is no blob of git, begins with.
UNCOMMITTED = "worktree:"


class Repository:
    """A git repository with a work tree and at least one commit; paths are relative to `top`."""

    def __init__(self, repo: "git.Repo") -> None:
        """Take a repository that `find_repository` has found usable."""
        self._repo = repo
        self._git = repo.git
        self._git.update_environment(**_ENVIRONMENT)
        self.top = Path(os.path.realpath(str(repo.working_tree_dir)))

    def head(self) -> str:
        """Give the name of the commit that is checked out (a branch or a detached HEAD, as in every CI)."""
        return str(self._git.rev_parse("--verify", "HEAD^{commit}"))

    def is_shallow(self) -> bool:
        """Tell whether the history ends early, so that its first commit only seems to add everything."""
        return bool(self._git.rev_parse("--is-shallow-repository") == "true")

    def commit(self, revision: str) -> str:
        """Give the name of the commit that `revision` names; `HistoryError` where it names none."""
        try:
            return str(self._git.rev_parse("--verify", "--end-of-options", f"{revision}^{{commit}}"))
        except self._failure() as error:
            message = (
                f"'history' is {revision!r}, which names no commit of {self.top}: give 'all', 'none' or a revision"
            )
            raise HistoryError(message) from error

    def log(self) -> Iterator[Commit]:
        """Give the first-parent commits of HEAD, oldest first, from one run of `git log`."""
        process = self._git(c=LOG_CONFIGURATION).log(*LOG_OPTIONS, "HEAD", "--", as_process=True)
        yield from read_log(process.stdout)
        try:
            process.wait()
        except self._failure() as error:
            message = f"git cannot read the history of {self.top}: {error}: run git fsck, or clone it anew"
            raise HistoryError(message) from error

    def blob(self, name: str) -> bytes | None:
        """Give the bytes of a blob; `None` where the repository lacks it (a partial clone) or cannot read it."""
        try:
            _name, kind, size, data = self._git.get_object_data(name)
        except (ValueError, OSError):
            size, kind, data = -1, "", b""
        if len(data) != size:
            self._git.clear_cache()  # a damaged object ends the process that was asked
            return None
        return data if kind in ("blob", b"blob") else None  # GitPython says text and gives bytes

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

        The `new` name of such a file is none of git's: it begins with `UNCOMMITTED`, and `blob` does not know
        it.
        """
        options = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")
        scope = [":(top,literal)" + (path.as_posix() if path.parts else "") for path in paths]
        if not scope:
            return ()
        listing = self._git.status(*options, "--", *scope, strip_newline_in_stdout=False, stdout_as_string=False)
        entries = (os.fsdecode(entry) for entry in bytes(listing).split(b"\0") if entry.strip())
        return tuple(self._uncommitted(entry) for entry in entries)

    def _uncommitted(self, entry: str) -> PathChange:
        status, path = entry[:2], entry[3:]
        there = (self.top / path).is_file()
        new = f"{UNCOMMITTED}{path}" if there else None
        return PathChange(path, None if status[0] in _NOT_IN_HEAD else "HEAD", new)

    def close(self) -> None:
        """End the processes that wait for questions about blobs."""
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
