"""What git says: the repository of a site, its commits, paths, blobs and landing times, and work trees of its commits.

GitPython finds the repository and runs git. `git log --raw -z` tells the whole history in one pass: nothing here walks
commits one by one. Where git refuses, the errors are clear. A work tree includes submodules, and checks out one commit
after another. Nothing here knows Pelican.

A commit lands when it enters first-parent history, so a merged branch lands with its merge. Landing times increase
strictly, depend only on the past, and do not change when commits are added (promise 4, *never back-dated*).
"""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.publication import later
from pelican_resourcesync.system.durable import remove_tree
from pelican_resourcesync.system.files import measure

if TYPE_CHECKING:
    import git

#: The options for `git log` where only the commits matter, not what they changed. The user's configuration must not
#: change the output format.
_LINE_OPTIONS = (
    "--first-parent",
    "-z",
    "--reverse",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--format=%H %ct",
)

#: The options for the changes, too. `-m --first-parent` shows the whole effect of a merge in every git since 2.0.
#: Renames are not detected, because what matters is the URL.
_LOG_OPTIONS = (
    *_LINE_OPTIONS,
    "-m",
    "--root",
    "--raw",
    "-r",
    "--no-abbrev",
    "--no-renames",
    "--ignore-submodules=none",
    "--no-ext-diff",
    "--no-relative",
)

#: Configuration, because not every git has an option for it: with it, `-m` has its documented meaning.
_LOG_CONFIGURATION = "log.diffMerges=separate"

#: The modes of entries that are not files: a symbolic link, whose blob is its target, and a submodule, which is a
#: commit of another repository.
LINK, SUBMODULE = "120000", "160000"

_NO_FILE = "000000"
_CHUNK = 1 << 16


class PathChange(NamedTuple):
    """A change of one path in one commit.

    `path` is relative to the top of the work tree, `/`-separated, decoded like file system names. `old` and `new` are
    the names of the blobs before and after, `None` where there was or is no file. `mode` is git's mode after the
    change; for a deletion, the mode before it.
    """

    path: str
    old: str | None
    new: str | None
    mode: str = "100644"


class Commit(NamedTuple):
    """One first-parent commit: its name, its committer time (seconds since the epoch, UTC) and what it changed.

    A time that git cannot read (before the epoch, or not a number) is 0.
    """

    sha: str
    committed: int
    changes: tuple[PathChange, ...]


def read_log(stream: BinaryIO) -> Iterator[Commit]:
    """Yield the commits of a stream made with `_LOG_OPTIONS`, oldest first.

    The stream is a sequence of NUL-terminated fields: a commit's header, then for each change a field that begins with
    a colon and one with the path.
    """
    header: list[bytes] = []
    changes: list[PathChange] = []
    fields = _fields(stream)
    for raw in fields:
        field = raw.lstrip(b"\n")
        if field.startswith(b":"):
            changes.append(_path_change(field, next(fields)))
        elif field:
            if header:
                yield _commit(header, changes)
            header, changes = field.split(b" "), []
    if header:
        yield _commit(header, changes)


def _fields(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(_CHUNK):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest.strip():
        yield rest


def _commit(header: list[bytes], changes: list[PathChange]) -> Commit:
    sha, committed = header[:2]
    return Commit(sha.decode("ascii"), int(committed or b"0"), tuple(changes))


def _path_change(field: bytes, path: bytes) -> PathChange:
    old_mode, new_mode, old, new, _status = field[1:].decode("ascii").split(" ")
    return PathChange(
        path=os.fsdecode(path),
        old=None if old_mode == _NO_FILE else old,
        new=None if new_mode == _NO_FILE else new,
        mode=old_mode if new_mode == _NO_FILE else new_mode,
    )


#: A commit dated further ahead of the build than this was made on a machine with a wrong clock.
TOLERANCE = timedelta(days=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


class Landing(NamedTuple):
    """A commit and the time (UTC) at which it landed; `postponed` where that depends on the time of the first build."""

    commit: Commit
    time: datetime
    postponed: bool = False


def landing_times(
    commits: Iterable[Commit], *, built: datetime, known: Mapping[str, datetime] | None = None
) -> Iterator[Landing]:
    """Yield each of `commits` (first-parent, oldest first) with its landing time.

    This is its committer time, or the next second after the landing time of the commit before it, whichever is later.
    A commit dated more than a day ahead of `built`, the time of this build, lands just after its parent, and one whose
    next second is later than that a millisecond after it. `known` holds the landing times of such commits as published
    before, by commit name: these are used from then on.
    """
    known = known or {}
    before: datetime | None = None
    for commit in commits:
        postponed = commit.sha in known
        time = known[commit.sha] if postponed else committer_time(commit)
        if not postponed and time > built + TOLERANCE:
            time, postponed = before or built, True
        before = later(time, before, built)
        yield Landing(commit, before, postponed or before.microsecond > 0)


def committer_time(commit: Commit) -> datetime:
    """Return the committer time of a commit in UTC, limited to the years that a datetime can hold."""
    return _EPOCH + timedelta(seconds=max(0, min(commit.committed, _LAST)))


#: Git must not take optional locks, prompt, translate its messages, or apply replacements and grafts, which exist on
#: this machine only.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


#: Configuration for all commands: no hooks and no helper programs as remotes, and no hint about the file for grafts.
_CONFIGURATION = (
    ("core.hooksPath", os.devnull),
    ("protocol.ext.allow", "never"),
    ("advice.graftFileDeprecated", "false"),
)
#: By the beginning and the end of its name, the harmless value of what makes git run a program.
_HARMLESS = (
    ("core.fsmonitor", "", "false"),
    ("core.sshcommand", "", "ssh"),
    ("core.gitproxy", "", ""),
    ("credential.", "helper", ""),
    ("filter.", ".clean", ""),
    ("filter.", ".process", ""),
    ("filter.", ".required", "false"),
    ("filter.", ".smudge", ""),
    ("remote.", ".uploadpack", "git-upload-pack"),
)


def configuration(values: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return environment variables that add configuration to that of the user."""
    before = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(before) if before.isdigit() else 0
    environment = {"GIT_CONFIG_COUNT": str(first + len(values))}
    for number, (key, value) in enumerate(values, first):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def reason_of(error: Exception) -> str:
    """Return what git printed when it failed, from the line that says why on."""
    printed = str(getattr(error, "stderr", "")).strip().removeprefix("stderr: ").strip("'\n ")
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    reasons = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return " ".join(filter(None, reasons or lines)) or str(error)


def prepared(repo: "git.Repo") -> "git.Git":
    """Return a git runner for this repository only. In a hook, the environment would name the hook's repository."""
    folder = Path(os.path.realpath(repo.git_dir))
    own = {"GIT_DIR": folder, "GIT_INDEX_FILE": folder / "index", "GIT_WORK_TREE": repo.working_tree_dir}
    named = {name for name in own if name in os.environ}
    if "GIT_DIR" in named:
        named.add("GIT_WORK_TREE")  # else git would use the current folder
    repo.git.update_environment(**_ENVIRONMENT, **{name: os.path.realpath(str(own[name])) for name in named})
    return repo.git


#: Git must not fetch. Git before 2.45 ignores the first variable, so all protocols are forbidden too.
_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
#: The name of an object, in a SHA-1 or a SHA-256 repository. Git would resolve anything else, such as `worktree:a.md`.
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

#: The prefix of the name of an uncommitted file in the work tree, which is not a blob of git.
UNCOMMITTED = "worktree:"

_NO_GIT = "git cannot be run, so there is no history to publish: install git"
_STATUS_OPTIONS = ("--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
_LFS = {"filter.lfs.clean", "filter.lfs.process"}
_PROMISORS = r"^remote\..*\.promisor$"
#: How many paths are passed to git at once. Where there are more, git compares the whole work tree.
_MOST_PATHS = 1000


class UnreadableHistoryError(HistoryError):
    """Raised where git cannot read a commit or a tree of the past."""


class Repository:
    """A git repository with a work tree and at least one commit; paths are relative to `top`.

    Symbolic links and submodules are not followed: they are paths of their own.
    """

    def __init__(self, repo: "git.Repo") -> None:
        """Wrap a repository opened by `find_repository`."""
        self._repo = repo
        self._git = prepared(repo)
        self.top = Path(os.path.realpath(str(repo.working_tree_dir)))
        self._blobs = Blobs(self._git)
        self.is_shallow = False  # whether the history ends early, so that its first commit seems to add everything
        self._without_lfs = False

    def run_nothing(self) -> None:
        """Let git run no program that the repository's own configuration names: it may come from somebody else."""
        self._git.update_environment(**configuration(_CONFIGURATION))
        listing = self._git.config("--null", "--list", "--show-scope", "--name-only", with_exceptions=False)
        fields = str(listing).split("\0")
        own = {name for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in ("local", "worktree")}
        harmless = {
            name: value
            for name in sorted(own)
            for begin, end, value in _HARMLESS
            if name.startswith(begin) and name.endswith(end)
        }
        self._git.update_environment(**configuration([*_CONFIGURATION, *harmless.items()]))
        self._without_lfs = not _LFS.isdisjoint(harmless)

    def head(self) -> str:
        """Return the name of the commit that is checked out (on a branch, or with a detached HEAD as in CI)."""
        shallow, name = str(self._git.rev_parse("--is-shallow-repository", "--verify", "HEAD^{commit}")).split("\n")
        self.is_shallow = shallow == "true"
        return name

    def superproject(self) -> "Repository | None":
        """Return the repository of which this one is a submodule; `None` where it is not a submodule."""
        if not any(os.access(folder / ".git", os.F_OK) for folder in self.top.parents):
            return None
        folder = self._git.rev_parse("--show-superproject-working-tree", with_exceptions=False)
        with suppress(HistoryError):  # for example, it has no commits yet
            return find_repository(Path(folder)) if folder else None
        return None

    def commit(self, revision: str) -> str:
        """Return the name of the commit that `revision` resolves to; `HistoryError` where there is none."""
        try:
            return str(self._git.rev_parse("--verify", "--end-of-options", f"{revision}^{{commit}}"))
        except _failure() as error:
            message = f"{revision!r} is not a commit in {self.top}: use a revision, such as a tag or v1.0~2"
            raise HistoryError(message) from error

    def first_parent_commits(self) -> Iterator[Commit]:
        """Return the first-parent commits of HEAD, oldest first, without their changes: ten times as fast as `log`."""
        return self._read_log(*_LINE_OPTIONS, "HEAD", "--")

    def log(self, since: str | None = None, paths: Iterable[str] = ()) -> Iterator[Commit]:
        """Return the first-parent commits of HEAD after `since`, oldest first, from one run of `git log`.

        With `paths`, only commits that changed one of these files are returned, with these changes.
        """
        literal = [f":(top,literal){path}" for path in paths]
        return self._read_log(*_LOG_OPTIONS, f"{since}..HEAD" if since else "HEAD", "--", *literal)

    def head_commit(self) -> Commit:
        """Return the commit that is checked out, without its changes."""
        (commit,) = self._read_log(*_LINE_OPTIONS, "--max-count=1", "HEAD", "--")
        return commit

    def _read_log(self, *arguments: str) -> Iterator[Commit]:
        process = self._git(c=_LOG_CONFIGURATION).log(*arguments, as_process=True)
        stream: BinaryIO = process.stdout
        yield from read_log(stream)
        try:
            process.wait()
        except _failure() as error:
            message = f"git cannot read the history of {self.top} ({reason_of(error)}): run git fsck, or clone it again"
            raise UnreadableHistoryError(message) from error

    def prefetch(self, names: Sequence[str]) -> None:
        """Fetch the blobs that a partial clone lacks, all at once; `blob` returns `None` for those that cannot be."""
        lines = self._git.config("--get-regexp", _PROMISORS, with_exceptions=False).split("\n")
        promisors = [line.split(" ")[0].removeprefix("remote.").removesuffix(".promisor") for line in lines if line]
        for remote in promisors if names else ():
            everything = ("--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
            blobs = {name for name in names if not name.startswith(UNCOMMITTED)}
            missing = blobs.difference(self._git.cat_file(*everything).split("\n"))
            if missing:
                options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--stdin")
                fetch = self._git.fetch(
                    *options, "--filter=blob:none", remote, istream=subprocess.PIPE, as_process=True
                )
                fetch.proc.communicate("".join(f"{name}\n" for name in missing).encode())

    def blob(self, name: str) -> bytes | None:
        """Return the bytes of a blob by its name; `None` where they are not on this machine."""
        return self._blobs.get(name)

    def tags(self) -> Mapping[str, list[str]]:
        """Return the names of the tags by the commit that they point to."""
        tags: dict[str, list[str]] = {}
        lines = self._git.for_each_ref("--format=%(refname:lstrip=2) %(objectname) %(*objectname)", "refs/tags")
        for line in filter(None, lines.split("\n")):
            name, named, *peeled = line.split(" ")
            tags.setdefault(peeled[0] if peeled and peeled[0] else named, []).append(name)
        return tags

    def uncommitted(self, paths: Iterable[str]) -> tuple[PathChange, ...]:
        """Return the uncommitted changes below `paths`: edited, added and removed files.

        The `new` name of such a file is not a blob of git: it begins with `UNCOMMITTED`, and `blob` does not find it.
        """
        scope = [f":(top,literal){'' if path == os.curdir else path}" for path in paths]
        if not scope:
            return ()
        scope = scope if len(scope) <= _MOST_PATHS else []
        as_bytes: dict[str, bool] = {"strip_newline_in_stdout": False, "stdout_as_string": False}
        try:
            listing = self._git.status(*_STATUS_OPTIONS, "--", *scope, **as_bytes)
        except _failure() as error:
            message = f"git cannot compare {self.top} with its last commit ({reason_of(error)}): run git status there"
            raise HistoryError(message) from error
        entries = [os.fsdecode(entry) for entry in bytes(listing).split(b"\0") if entry.strip()]
        return tuple(change for entry in entries if (change := self._uncommitted(entry)))

    def _uncommitted(self, entry: str) -> PathChange | None:
        kind, *fields = entry.split(" ", {"1": 8, "u": 10}.get(entry[0], 1))
        path = fields[-1]
        there, known = (self.top / path).is_file(), kind != "?" and fields[0][0] != "A"
        if not (there or known) or (there and kind == "1" and self._is_in_lfs(path, fields[-3])):
            return None
        return PathChange(path, "HEAD" if known else None, f"{UNCOMMITTED}{path}" if there else None)

    def _is_in_lfs(self, path: str, committed: str) -> bool:
        """Return whether a file differs from what is committed only because no filter of Git LFS was run."""
        pointer = (self.blob(committed) or b"") if self._without_lfs else b""
        return b"oid sha256:%b" % measure(self.top / path)[0].encode() in pointer.splitlines()

    def close(self) -> None:
        """End the git process that reads blobs."""
        self._blobs.close()
        self._repo.close()


def _failure() -> type[Exception]:
    """Return the error of a git command that failed."""
    from git.exc import GitCommandError

    return GitCommandError


class Blobs:
    """A reader of blobs that are on this machine, through one `git cat-file`, started with the first request.

    GitPython has one, too, but only for names of SHA-1, and it waits for all the bytes of a damaged object.
    """

    def __init__(self, git: "git.Git") -> None:
        """Use this git runner."""
        self._git = git
        self._process: Any = None

    def get(self, name: str) -> bytes | None:
        """Return the bytes of the blob `name`; `None` where it is missing, unreadable or not a blob."""
        if not _NAME.fullmatch(name):
            return None
        try:
            head, data = self._ask(name)
        except (OSError, EOFError):  # git exits, as it does for a damaged object
            self.close()
            return None
        return data[:-1] if head == f"{name} blob {len(data) - 1}".encode() else None

    def _ask(self, name: str) -> tuple[bytes, bytes]:
        """Return what git says of an object, and its bytes with a line break.

        A damaged object may be shorter than git says, so the answer to a name that no object has shows where it ends.
        """
        if self._process is None:
            with self._git.custom_environment(**_NO_FETCH):
                self._process = self._git.cat_file("--batch", istream=subprocess.PIPE, as_process=True)
        nothing = token_hex()
        self._process.stdin.write(f"{name}\n{nothing}\n".encode())
        self._process.stdin.flush()
        end, answer = f"{nothing} missing\n".encode(), bytearray()
        while not answer.endswith(end):
            data = self._process.stdout.read1()
            if not data:
                raise EOFError
            answer += data
        head, _, data = bytes(answer.removesuffix(end)).partition(b"\n")
        return head, data

    def close(self) -> None:
        """End the process. A later request starts a new one."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.stderr.close()
            process.proc.wait()


def find_repository(folder: Path) -> Repository:
    """Return the repository whose work tree contains `folder`.

    Raises `HistoryError`, with the reason and what to do, where there is no repository, it has no commits, git refuses
    it, or git is not installed.
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
    try:
        repository.run_nothing()
        repository.head()
    except git.exc.GitCommandNotFound as error:
        raise HistoryError(_NO_GIT) from error
    except git.exc.GitCommandError as error:
        raise HistoryError(_refusal(repository.top, reason_of(error))) from error
    return repository


def _none(folder: Path) -> str:
    return (
        f"{folder} is not in a git repository, so there is no history to publish: "
        "run git init there and commit the site, or build in a clone of its repository"
    )


def _refusal(top: Path, output: str) -> str:
    output = output.replace(str(top), "…")  # whose name may have any words
    if "dubious ownership" in output:
        return (
            f"git refuses the repository {top} because it belongs to another user (dubious ownership): "
            f"run git config --global --add safe.directory {top}"
        )
    if "not a git repository" in output:
        return _none(top)
    if "Needed a single revision" in output:
        return f"the repository {top} has no commits yet, so there is no history to publish: commit the site"
    return f"git cannot read the repository {top}: {output}"


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
        try:
            self._git.checkout("--quiet", "--force", "--detach", sha)
            self._git.clean("-ffdxq")
            if (self.top / ".gitmodules").is_file():
                self._git.submodule("--quiet", "update", "--recursive", "--force")
                self._git.submodule("--quiet", "foreach", "--quiet", "--recursive", "git clean -ffdxq")
        except _failure() as error:
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
        place = self.folder / name
        try:
            self._git.worktree("add", "--quiet", "--force", "--detach", "--no-checkout", str(place), sha)
        except _failure() as error:
            message = f"git cannot create a work tree in {self.folder}: {reason_of(error)}"
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
