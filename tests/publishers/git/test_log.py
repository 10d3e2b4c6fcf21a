"""The stream of git's log: compared with what git itself says of real repositories, commit by commit."""

import os
import subprocess
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.publishers.git import Commit, PathChange, find_repository, read_log
from tests.kit.sites import Site

ODD_NAMES = ("two words.md", "größe.md", "new\nline.md", "100%.md", '"quoted".md', ":100644 000000", "tab\t.md", " ")
CONFIGURATIONS = (
    ("log.diffMerges", "combined"),
    ("log.diffMerges", "off"),
    ("log.showRoot", "false"),
    ("log.showSignature", "true"),
    ("log.decorate", "full"),
    ("log.follow", "true"),
    ("diff.renames", "copies"),
    ("diff.relative", "true"),
    ("diff.ignoreSubmodules", "all"),
    ("core.abbrev", "7"),
    ("core.quotePath", "true"),
    ("color.ui", "always"),
    ("format.pretty", "fuller"),
)
A, B, C = "a" * 40, "b" * 40, "c" * 40
NONE = "0" * 40


def logged(site: Site) -> list[Commit]:
    """Read the log of a site's repository."""
    repository = find_repository(site.folder)
    try:
        return list(repository.log())
    finally:
        repository.close()


def trees(site: Site) -> list[dict[str, tuple[str, str]]]:
    """Return what git says is in the tree of each first-parent commit: (mode, blob) by path."""
    found = []
    for commit in site.git("rev-list", "--first-parent", "--reverse", "HEAD").split():
        command = ["git", "ls-tree", "-r", "-z", commit]
        listing = subprocess.run(command, cwd=site.folder, capture_output=True, check=True).stdout.split(b"\0")
        entries = (os.fsdecode(each).partition("\t") for each in listing if each)
        found.append({path: (head.split()[0], head.split()[2]) for head, _tab, path in entries})
    return found


def replayed(commits: list[Commit]) -> list[dict[str, tuple[str, str]]]:
    """Return the tree after each commit, made of the changes alone; each change must fit the tree before it."""
    tree: dict[str, tuple[str, str]] = {}
    found = []
    for commit in commits:
        for change in commit.changes:
            assert change.old == (tree[change.path][1] if change.path in tree else None)
            if change.new is None:
                del tree[change.path]
            else:
                tree[change.path] = (change.mode, change.new)
        found.append(dict(tree))
    return found


@pytest.fixture
def eventful(site: Site) -> Site:
    """Return a repository in which everything happened that git knows."""
    for name in ODD_NAMES:
        site.write(f"content/{name}", name)
    site.commit("2024-01-01T10:00:00Z")
    site.commit("2024-01-02T10:00:00Z", "empty")
    site.write("content/größe.md", "changed")
    (site.folder / "content" / "100%.md").chmod(0o755)
    site.remove("content/two words.md")
    site.git("mv", "content/new\nline.md", "content/renamed.md")
    site.commit("2024-01-03T10:00:00Z")
    site.git("checkout", "-q", "-b", "side")
    site.write("content/side.md", "side")
    site.commit("2024-01-04T10:00:00Z")
    site.git("checkout", "-q", "main")
    site.write("content/main.md", "main")
    site.commit("2024-01-05T10:00:00Z")
    date = {"GIT_AUTHOR_DATE": "2024-01-06T10:00:00Z", "GIT_COMMITTER_DATE": "2024-01-06T10:00:00Z"}
    site.git("merge", "-q", "--no-ff", "-m", "merge", "side", **date)
    (site.folder / "content" / "link.md").symlink_to("main.md")
    site.git("update-index", "--add", "--cacheinfo", f"160000,{A},module")
    (site.folder / "module").mkdir()
    site.commit("2024-01-07T10:00:00Z")
    site.git("rm", "-q", "--cached", "module")
    (site.folder / "module").rmdir()
    (site.folder / "content" / "link.md").unlink()
    site.write("content/link.md", "a file now", at="2024-01-08T10:00:00Z")
    return site


def test_changes_replayed_give_the_trees_of_git(eventful: Site) -> None:
    """After each commit, what the changes add up to is what `git ls-tree` lists."""
    commits = logged(eventful)
    assert replayed(commits) == trees(eventful)
    assert len(commits) == 7


def test_commits_are_those_of_the_first_parent(eventful: Site) -> None:
    """Names and committer times are git's, oldest first; a side branch's commits are none of them."""
    said = eventful.git("log", "--first-parent", "--reverse", "--format=%H %ct").split("\n")
    assert [f"{each.sha} {each.committed}" for each in logged(eventful)] == said


def test_modes_tell_links_and_submodules(eventful: Site) -> None:
    """A symbolic link and a submodule are known by their mode, also when they go; a file made executable too."""
    modes = [{each.path: each.mode for each in commit.changes} for commit in logged(eventful)]
    assert modes[2]["content/100%.md"] == "100755"
    assert modes[2]["content/two words.md"] == "100644"
    assert modes[5] == {"content/link.md": "120000", "module": "160000"}
    assert modes[6] == {"content/link.md": "100644", "module": "160000"}


def test_name_that_is_not_utf8(site: Site) -> None:
    """A name in another encoding is decoded as the file system's names are."""
    name = os.fsdecode(b"content/caf\xe9.md")
    site.write(name, "coffee", at="2024-01-01T10:00:00Z")
    assert name in {each.path for each in logged(site)[0].changes}


def test_configuration_changes_nothing(eventful: Site) -> None:
    """Whatever a user has configured for people to read, the log that we read is the same."""
    plain = logged(eventful)
    for name, value in CONFIGURATIONS:
        eventful.git("config", name, value)
        assert logged(eventful) == plain, f"{name} = {value}"
        eventful.git("config", "--unset", name)


@pytest.mark.parametrize(
    ("written", "read"),
    [("-86400 +0000", 0), ("tomorrow", 0), ("253402300800 +0000", 253402300800), ("0 +0000", 0), ("1 +1400", 1)],
)
def test_committer_times_at_the_edge(site: Site, written: str, read: int) -> None:
    """A time before the epoch, which git cannot tell, or none at all is 0; a time far ahead is as it is."""
    site.commit("2024-01-01T10:00:00Z")
    tree = site.git("rev-parse", "HEAD^{tree}")
    commit = site.folder / "commit"
    commit.write_text(f"tree {tree}\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> {written}\n\nm\n")
    name = site.git("hash-object", "-t", "commit", "-w", "--literally", "commit")
    site.git("update-ref", "HEAD", name)
    assert [(each.sha, each.committed) for each in logged(site)] == [(name, read)]


class Chunks(BytesIO):
    """A stream that gives its bytes in pieces, as a pipe may."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        """Take the bytes and the sizes of the pieces, which repeat."""
        super().__init__(data)
        self._sizes = sizes
        self._number = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next piece."""
        self._number += 1
        return super().read(self._sizes[self._number % len(self._sizes)])


STREAM = (
    f"{A} 10\0\n:000000 100644 {NONE} {B} A\0one\n.md\0:000000 120000 {NONE} {C} A\0:x\0"
    f"{B} 20\0{C} 30\0\n:100644 000000 {B} {NONE} D\0one\n.md\0"
).encode()
COMMITS = [
    Commit(A, 10, (PathChange("one\n.md", None, B), PathChange(":x", None, C, "120000"))),
    Commit(B, 20, ()),
    Commit(C, 30, (PathChange("one\n.md", B, None),)),
]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_any_chunks_give_the_same_commits(sizes: list[int]) -> None:
    """However a pipe cuts the stream, the commits are the same."""
    assert list(read_log(Chunks(STREAM, sizes))) == COMMITS


def test_end_without_nul_and_empty_stream() -> None:
    """The last field may lack its end; a stream of nothing has no commits."""
    assert list(read_log(BytesIO(STREAM.rstrip(b"\0") + b"\n"))) != []
    assert list(read_log(BytesIO(f"{A} 10".encode()))) == [Commit(A, 10, ())]
    assert list(read_log(BytesIO(b""))) == []
