"""The repository that a site lies in: real ones, in every state that users have them in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from git.exc import GitCommandError

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.publishers.git import UNCOMMITTED, PathChange, Repository, find_repository, reason_of
from tests.kit.sites import Site

TIME = "2024-01-01T10:00:00Z"
HERE = ["."]


@pytest.fixture
def committed(site: Site) -> Site:
    """Return a site with one commit."""
    site.article("a.md")
    site.article("b.md")
    site.commit(TIME)
    return site


@pytest.fixture
def repository(committed: Site) -> Repository:
    """Return the repository of a site with one commit."""
    return find_repository(committed.folder)


def object_file(site: Site, name: str) -> Path:
    """Return the file of a loose object, made writable."""
    file = site.folder / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o644)
    return file


def test_no_repository(tmp_path: Path) -> None:
    """A folder in no repository, one that does not exist, and a bare repository, which holds no sources."""
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True)
    for folder in (tmp_path, tmp_path / "none", tmp_path / "bare"):
        with pytest.raises(
            HistoryError,
            match=f"{folder} is not in a git repository, .*: run git init there and commit the site, or build",
        ):
            find_repository(folder)


def test_git_file_that_leads_nowhere(tmp_path: Path) -> None:
    """A work tree whose repository was moved away is in none."""
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(HistoryError, match="is not in a git repository"):
        find_repository(tmp_path)


@pytest.mark.parametrize("name", ["site", "dubious ownership", "not a git repository"])
def test_no_commits(site: Site, name: str) -> None:
    """A repository without commits asks for one, whatever words its name has."""
    folder = site.folder.rename(site.folder.with_name(name))
    with pytest.raises(HistoryError, match=f"{folder} has no commits yet, .*: commit the site"):
        find_repository(folder)


def test_dubious_ownership(committed: Site) -> None:
    """A repository of another user, as in containers, is refused with the command that cures it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository away")
    os.chown(committed.folder, 12345, 12345)
    os.chown(committed.folder / ".git", 12345, 12345)
    cure = f"git config --global --add safe.directory {committed.folder}"
    with pytest.raises(HistoryError, match=rf"another user \(dubious ownership\): run {cure}$"):
        find_repository(committed.folder)
    subprocess.run(cure.split(), check=True)
    assert find_repository(committed.folder).head()


def test_damaged_head(committed: Site) -> None:
    """What else git cannot read is reported in its own words."""
    object_file(committed, committed.git("rev-parse", "HEAD")).write_bytes(b"")
    with pytest.raises(HistoryError, match=rf"git cannot read the repository {committed.folder}: (fatal|error): .*"):
        find_repository(committed.folder)


def test_reason_comes_first() -> None:
    """Of all that git prints, whatever it says before."""
    printed = "stderr: 'warning: no such hook\nhint: be careful\nfatal: bad object HEAD\nerror:  nothing  to do'"
    assert reason_of(GitCommandError(["git", "log"], 128, printed)) == "fatal: bad object HEAD error: nothing to do"
    assert reason_of(GitCommandError(["git", "log"], 128, "Killed")) == "Killed"


def test_damaged_history(committed: Site) -> None:
    """A commit of the past that git cannot read ends the history with one clear sentence, not early."""
    first = committed.git("rev-parse", "HEAD")
    committed.commit("2024-01-02T10:00:00Z")
    object_file(committed, first).unlink()
    repository = find_repository(committed.folder)
    with pytest.raises(
        HistoryError, match=rf"^git cannot read the history of {committed.folder} \((fatal|error): .*\): run git fsck"
    ):
        list(repository.log())


@pytest.mark.parametrize("refresh", ["raise", "quiet"])
def test_git_not_installed(committed: Site, refresh: str) -> None:
    """Without git, that is what is said, whether GitPython minds or not."""
    code = f"""
from pathlib import Path
from pelican_resourcesync.publishers.git import find_repository
from pelican_resourcesync.errors import HistoryError
try:
    find_repository(Path({str(committed.folder)!r}))
except HistoryError as error:
    print(error)
"""
    environment = {**os.environ, "PATH": "/nonexistent", "GIT_PYTHON_REFRESH": refresh}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "git cannot be run, so there is no history to publish: install git\n"


def test_head_and_top(committed: Site, repository: Repository) -> None:
    """The commit that is checked out, and where the work tree lies."""
    assert repository.head() == committed.git("rev-parse", "HEAD")
    assert repository.top == committed.folder.resolve()
    assert not repository.is_shallow


def test_linked_worktree(committed: Site, tmp_path: Path) -> None:
    """A linked work tree is a repository with its own head and top."""
    committed.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    (tmp_path / "linked" / "content" / "a.md").write_text("changed")
    repository = find_repository(tmp_path / "linked" / "content")
    assert repository.top == (tmp_path / "linked").resolve()
    assert [each.path for each in repository.uncommitted(HERE)] == ["content/a.md"]
    assert not repository.is_shallow


def test_subdirectory_and_symbolic_link(committed: Site, tmp_path: Path) -> None:
    """From a folder below, or through a link, the same top is found."""
    (tmp_path / "link").symlink_to(committed.folder)
    assert find_repository(committed.folder / "content").top == committed.folder.resolve()
    assert find_repository(tmp_path / "link" / "content").top == committed.folder.resolve()


def test_shallow_clone(committed: Site, tmp_path: Path) -> None:
    """A clone that is cut off is known as one, from a linked work tree too."""
    committed.commit("2024-01-02T10:00:00Z")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{committed.folder}", clone], check=True)
    assert find_repository(clone).is_shallow
    subprocess.run(["git", "worktree", "add", "-q", tmp_path / "linked"], cwd=clone, check=True, capture_output=True)
    assert find_repository(tmp_path / "linked").is_shallow


def test_revisions(committed: Site, repository: Repository) -> None:
    """A branch, a tag, an abbreviation and an expression name commits; the name of a blob does not."""
    first = repository.head()
    committed.git("tag", "-a", "-m", "one", "v1")
    committed.commit("2024-01-02T10:00:00Z")
    assert {repository.commit(each) for each in ("v1", first[:10], "HEAD~1", "main^")} == {first}
    for wrong in ("v2", "--all", committed.git("rev-parse", "HEAD:content/a.md"), ""):
        with pytest.raises(HistoryError, match=r"is not a commit in .*: use a revision, such as a tag"):
            repository.commit(wrong)


def test_tags(committed: Site, repository: Repository) -> None:
    """Lightweight and annotated tags name commits; several may name one."""
    assert repository.tags() == {}
    first = repository.head()
    committed.git("tag", "light")
    committed.git("tag", "-a", "-m", "A tag", "release/1.0")
    committed.commit("2024-01-02T10:00:00Z")
    second = committed.head
    committed.git("tag", "größe")
    assert repository.tags() == {first: ["light", "release/1.0"], second: ["größe"]}


def test_blobs(committed: Site, repository: Repository) -> None:
    """A blob's bytes are given as they are, of any size and kind; what is no blob has none."""
    data = bytes(range(256)) * 4000
    committed.write("content/image.png", data)
    committed.write("content/empty", b"")
    committed.commit("2024-01-02T10:00:00Z")
    assert repository.blob(committed.git("rev-parse", "HEAD:content/image.png")) == data
    assert repository.blob(committed.git("rev-parse", "HEAD:content/empty")) == b""
    assert repository.blob(committed.git("rev-parse", "HEAD^{tree}")) is None
    assert repository.blob("0" * 40) is None


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "missing"])
def test_damaged_blob_is_none_and_the_next_is_read(committed: Site, repository: Repository, damage: str) -> None:
    """A blob that is damaged in any way, or missing, is not there; that breaks no other."""
    committed.write("content/large.md", os.urandom(200_000), at="2024-01-02T10:00:00Z")
    names = [committed.git("rev-parse", f"HEAD:content/{name}.md") for name in ("large", "a", "b")]
    file = object_file(committed, names[0])
    whole = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"cut": whole[:-1000], "garbage": b"x" + whole, "empty": b""}[damage])
    first = (committed.folder / "content" / "a.md").read_bytes()
    assert [repository.blob(name) for name in (names[1], names[0], names[1])] == [first, None, first]
    assert repository.blob(names[2]) is not None


def test_process_that_was_killed(committed: Site, repository: Repository) -> None:
    """A question that nobody is there to answer has no answer; the next has one."""
    name = committed.git("rev-parse", "HEAD:content/a.md")
    assert repository.blob(name)
    process = repository._blobs._process.proc
    process.kill()
    process.wait()
    assert repository.blob(name) is None
    assert repository.blob(name)


def test_uncommitted_work(committed: Site, repository: Repository) -> None:
    """Edits, additions (staged or not) and losses (staged or not), by any name; ignored files are none."""
    for name in ("lost.md", "dropped.md", "staged.md", "two words.md", "größe.md", "same.md"):
        committed.write(f"content/{name}", name)
    committed.commit("2024-01-02T10:00:00Z")
    assert repository.uncommitted(HERE) == ()
    committed.remove("content/lost.md")
    committed.git("rm", "-q", "content/dropped.md")
    committed.write("content/staged.md", "changed")
    committed.write("content/added.md", "added")
    committed.git("add", "content/staged.md", "content/added.md")
    for name in ("two words.md", "größe.md", "new folder/new\nline.md", "100%.md", " "):
        committed.write(f"content/{name}", "changed")
    committed.write("output/index.html", "ignored")
    assert set(repository.uncommitted(HERE)) == {
        PathChange("content/lost.md", "HEAD", None),
        PathChange("content/dropped.md", "HEAD", None),
        PathChange("content/staged.md", "HEAD", f"{UNCOMMITTED}content/staged.md"),
        PathChange("content/added.md", None, f"{UNCOMMITTED}content/added.md"),
        PathChange("content/two words.md", "HEAD", f"{UNCOMMITTED}content/two words.md"),
        PathChange("content/größe.md", "HEAD", f"{UNCOMMITTED}content/größe.md"),
        PathChange("content/new folder/new\nline.md", None, f"{UNCOMMITTED}content/new folder/new\nline.md"),
        PathChange("content/100%.md", None, f"{UNCOMMITTED}content/100%.md"),
        PathChange("content/ ", None, f"{UNCOMMITTED}content/ "),
    }


def test_index_that_cannot_be_read(committed: Site, repository: Repository) -> None:
    """Where git cannot tell what is not committed, that is an error, not nothing."""
    committed.write(".git/index", "damaged")
    with pytest.raises(
        HistoryError, match=r"^(?s:git cannot compare .* with its last commit \(.*\): run git status there)"
    ):
        repository.uncommitted(HERE)


def test_uncommitted_rename_is_a_loss_and_an_addition(committed: Site, repository: Repository) -> None:
    """A staged rename is no rename to us, whatever the configuration says."""
    committed.git("config", "status.renames", "copies")
    committed.git("mv", "content/a.md", "content/z.md")
    assert set(repository.uncommitted(HERE)) == {
        PathChange("content/a.md", "HEAD", None),
        PathChange("content/z.md", None, f"{UNCOMMITTED}content/z.md"),
    }


def test_uncommitted_is_only_what_lies_below(committed: Site, repository: Repository) -> None:
    """Other folders are none of the site's, and a pattern in a name is a name."""
    committed.write("notes/idea.md", "idea")
    committed.write("content/*/x.md", "x")
    committed.write("content/y/x.md", "x")
    assert [each.path for each in repository.uncommitted(["content/*"])] == ["content/*/x.md"]
    assert repository.uncommitted([]) == ()


def test_bytes_of_the_work_tree_are_no_blob(committed: Site, repository: Repository) -> None:
    """The name of an uncommitted file is none that git knows."""
    committed.write("content/a.md", "changed")
    (change,) = repository.uncommitted(HERE)
    assert change.new is not None
    assert repository.blob(change.new) is None
