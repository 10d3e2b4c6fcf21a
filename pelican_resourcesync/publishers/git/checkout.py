"""Temporary work trees of the repository, submodules included, each of which checks out one commit after another."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.publication import remove_tree
from pelican_resourcesync.publishers.git.repository import configuration, prepared, reason_of

#: The modification time of every file. Git stores none, and a site that shows file times must look the same each time.
STAMP = 946684800  # 2000-01-01

_PREFIX = "resourcesync-backfill-"


class Checkout:
    """A work tree in which one commit after another is checked out."""

    def __init__(self, top: Path, configuration: Mapping[str, str]) -> None:
        """Open the work tree at `top`; `configuration` is added to the user's own git configuration."""
        import git

        self.top = top
        self._git = prepared(git.Repo(top))
        self._git.update_environment(**configuration)

    def turn_to(self, sha: str) -> None:
        """Check out a commit and remove every other file, so that the tree is as in a fresh checkout by the user.

        Raises `HistoryError` where git fails.
        """
        from git.exc import GitCommandError

        try:
            self._git.checkout("--quiet", "--force", "--detach", sha)
            self._git.clean("-ffdxq")
            if (self.top / ".gitmodules").is_file():
                self._git.submodule("--quiet", "update", "--recursive", "--force")
                self._git.submodule("--quiet", "foreach", "--quiet", "--recursive", "git clean -ffdxq")
        except GitCommandError as error:
            message = f"git cannot check it out: {reason_of(error)}"
            raise HistoryError(message) from error
        _stamp(self.top)
        self._git.update_index("-q", "--refresh", with_exceptions=False)


class Checkouts:
    """The work trees of one backfill, in a temporary folder, while it is used as a context manager."""

    folder: Path

    def __init__(self, top: Path, owner: Path) -> None:
        """Use the repository at `top`; `owner` is a path that identifies work trees left by a killed backfill."""
        import git

        self._repo = git.Repo(top)
        self._git = prepared(self._repo)
        self._configuration = _configuration(Path(self._repo.common_dir))
        self._git.update_environment(**self._configuration)
        digest = hashlib.sha256(os.fsencode(os.path.realpath(owner))).hexdigest()[:12]
        self._prefix = f"{_PREFIX}{digest}-"

    def __enter__(self) -> Self:
        self._remove_left()
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=self._prefix)))
        return self

    def __exit__(self, *_: object) -> None:
        self._remove_left(self.folder)
        self._repo.close()

    def add(self, name: str, sha: str) -> Checkout:
        """Create a work tree of a commit."""
        from git.exc import GitCommandError

        place = self.folder / name
        try:
            self._git.worktree("add", "--quiet", "--force", "--detach", "--no-checkout", str(place), sha)
        except GitCommandError as error:
            message = f"git cannot make a work tree in {self.folder}: {reason_of(error)}"
            raise HistoryError(message) from error
        return Checkout(place, self._configuration)

    def _remove_left(self, *own: Path) -> None:
        """Remove our work trees, and those left by a backfill that was killed."""
        listing = self._git.worktree("list", "--porcelain").splitlines()
        trees = [Path(line.removeprefix("worktree ")) for line in listing if line.startswith("worktree ")]
        folders = {tree.parent for tree in trees if tree.parent.name.startswith(self._prefix)}
        for folder in {*folders, *own}:
            with suppress(OSError):
                remove_tree(folder)
        self._git.worktree("prune", "--expire=now")


def _configuration(common: Path) -> Mapping[str, str]:
    """Return environment variables with which git runs no hooks and takes submodules from this machine.

    The submodules checked out are those of the user's own work tree, and those that were ever cloned there.
    """
    values = [("core.hooksPath", os.devnull)]
    for modules in [folder for folder in [common / "modules"] if folder.is_dir()]:
        values.append(("protocol.file.allow", "always"))
        for folder in sorted(modules.rglob("HEAD")):
            if (folder.parent / "objects").is_dir():
                name = folder.parent.relative_to(modules).as_posix().rpartition("/modules/")[2]
                values += [(f"submodule.{name}.url", str(folder.parent)), (f"submodule.{name}.active", "true")]
    return configuration(values)


def _stamp(top: Path) -> None:
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            file = Path(folder, name)
            if name != ".git" and file.lstat().st_mtime != STAMP:
                os.utime(file, (STAMP, STAMP), follow_symlinks=False)
