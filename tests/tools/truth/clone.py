"""A private clone of the user's repository: its commits, and their trees laid out in folders of ours."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

#: What every file of a tree is dated: a site that shows or sorts by the times of its files stays the same.
STAMP = 946_684_800  # 2000-01-01

#: Nothing of the machine's git, and nothing of a git that calls us, reaches ours.
_FOREIGN = ("GIT_", "COVERAGE_", "PYTHON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A first-parent commit: its name, that of its tree, and its committer time in seconds."""

    sha: str
    tree: str
    committed: int


def environment(**more: str) -> dict[str, str]:
    """Return an environment that is the same everywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    steady = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}
    plain = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_LFS_SKIP_SMUDGE": "1"}
    return {**kept, **steady, **plain, **more}


class Clone:
    """A clone that shares the objects of a repository; that one's own work tree is never touched."""

    def __init__(self, repository: Path, folder: Path) -> None:
        """Make it in `folder`, with nothing checked out."""
        self._folder = folder
        _run(["git", "clone", "--quiet", "--shared", "--no-checkout", str(repository.resolve()), str(folder)])

    def commits(self, until: str) -> list[Commit]:
        """Return the first-parent commits up to a revision, oldest first."""
        rows = self.git("log", "--first-parent", "--reverse", "--format=%H %T %ct", self.name(until), "--")
        fields = [row.split() for row in rows.splitlines()]
        return [Commit(sha=sha, tree=tree, committed=int(time)) for sha, tree, time in fields]

    def name(self, revision: str) -> str:
        """Return the full name of the commit that a revision means."""
        return self.git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()

    def paths(self, sha: str) -> frozenset[str]:
        """Return the paths of all files of a commit."""
        return frozenset(self.git("ls-tree", "-r", "-z", "--name-only", sha).split("\0"))

    def lay_out(self, sha: str, folder: Path) -> None:
        """Make `folder` the tree of a commit and nothing else. Of a partial clone it is what there is."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        index = folder.with_name(f"{folder.name}.index")
        where = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
        self.git("read-tree", sha, more=where)
        self.git("checkout-index", "--all", "--force", "--quiet", more=where, check=False)
        _stamp(folder)

    def check_out(self, sha: str) -> Path:
        """Check out a commit in this clone itself, git folder and all; return its folder."""
        self.git("checkout", "--quiet", "--detach", sha)
        _stamp(self._folder)
        self.git("update-index", "--quiet", "--refresh", check=False)
        return self._folder

    def git(self, *arguments: str, more: Mapping[str, str] | None = None, check: bool = True) -> str:
        """Run git in this clone and give what it prints."""
        where = {"GIT_DIR": str(self._folder / ".git"), "GIT_WORK_TREE": str(self._folder), **(more or {})}
        return _run(["git", "-c", "core.quotePath=false", *arguments], where, folder=self._folder, check=check)


def _run(
    command: Sequence[str],
    more: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    check: bool = True,
) -> str:
    process = subprocess.run(
        command,
        cwd=folder,
        env=environment(**(more or {})),
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    if check and process.returncode:
        message = f"{' '.join(command)}: {process.stderr.strip()}"
        raise SystemExit(message)
    return process.stdout


def _stamp(folder: Path) -> None:
    for root, folders, names in os.walk(folder):
        if ".git" in folders and Path(root) == folder:
            folders.remove(".git")
        for name in names:
            os.utime(Path(root, name), (STAMP, STAMP), follow_symlinks=False)


# --- landing times, reckoned from `docs/history.md`: when each commit became part of the published branch

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(milliseconds=1)
_AHEAD = timedelta(days=1)


class Landings:
    """The landing times of a whole first-parent line."""

    def __init__(self, line: Sequence[Commit], now: datetime) -> None:
        """Take all commits from the root on, and the time of the build."""
        self._names = [commit.sha for commit in line]
        self._times: list[datetime] = []
        for commit in line:
            self._times.append(self._land(commit, now))

    def _land(self, commit: Commit, now: datetime) -> datetime:
        before = self._times[-1] if self._times else None
        time = _EPOCH + timedelta(seconds=commit.committed)
        if time > now + _AHEAD:
            time = before or now
        if before is not None and time <= before:
            time = self._next(before, now)
        return self._next(time, now) if time == datetime.combine(time.date(), datetime.min.time(), UTC) else time

    @staticmethod
    def _next(time: datetime, now: datetime) -> datetime:
        second = datetime.fromtimestamp(int(time.timestamp()) + 1, UTC)
        return time + _TICK if second > now else second

    def time(self, sha: str) -> datetime:
        """Return the time at which a commit landed."""
        return self._times[self._names.index(sha)]
