"""What a commit may say of links and submodules to lead astray: nothing outside is read, and nothing takes for ever."""

import subprocess
from pathlib import Path

import pytest

from pelican_resourcesync.git.log import LINK, SUBMODULE
from pelican_resourcesync.git import worktree
from tests.git.repositories import NOW, T, add_submodule, bare, built, followed, link, opened, repository
from tests.sites import Site

ARTICLE = "Title: Secret\nDate: 2024-01-01\n"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Give a site of contents alone."""
    return bare(tmp_path / "site", STATIC_PATHS=["images"], ARTICLE_EXCLUDES=["images"])


def written(site: Site, kind: str, data: bytes) -> str:
    """Write an object of any content, and give its name."""
    command = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    return subprocess.run(command, cwd=site.folder, input=data, check=True, capture_output=True).stdout.decode().strip()


def entry(mode: str, name: str, object_name: str) -> bytes:
    """Give one entry of a tree, whatever its name."""
    return f"{mode} {name}\0".encode() + bytes.fromhex(object_name)


def commit(site: Site, tree: bytes, time: str) -> str:
    """Make a commit of a tree on top of HEAD, without touching the work tree."""
    name = site.git("commit-tree", "-p", "HEAD", "-m", "x", written(site, "tree", tree), GIT_COMMITTER_DATE=time)
    site.git("update-ref", "HEAD", name)
    return name


@pytest.mark.parametrize(
    "target",
    [
        b"..",
        b"../..",
        b"../../outside",
        b"/",
        b"/etc/passwd",
        b"",
        b".",
        b"/" * 5000,
        b"a/" * 5000,
        b"nul\0nul",
        b"\xff\xfe",
        b"link",
        b"./link/link",
        b"../content",
        b"../.git/config",
        b"../content/../../site/outside",
    ],
)
def test_target_of_any_kind(site: Site, target: bytes) -> None:
    """A link that leads out, up, to itself, into git's own folder or nowhere shows nothing."""
    site.article("own.md", "Own")
    site.commit(T[2])
    blob = written(site, "blob", target)
    site.git("update-index", "--add", "--cacheinfo", f"{LINK},{blob},content/link")
    site.git("commit", "-qm", "Link")
    (changes,) = followed(site, "content")[2:]
    assert set(changes) <= {"content/link"}
    assert all(change.mode == LINK for change in changes.values())
    with opened(site) as found:
        assert list(found.history(["content"]))
        assert found.uncommitted([Path("content")]) == ()


def test_more_links_than_git_is_asked_about_by_name(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many links there are, what is not committed of that which they lead to is told."""
    monkeypatch.setattr(worktree, "_MOST_PATHS", 10)
    for number in range(11):
        link(site, f"content/images/{number}.png", f"../../docs/{number}.png")
    site.write("docs/7.png", "image")
    site.commit(T[2])
    site.write("docs/7.png", "changed")
    site.write("docs/8.png", "new")
    with opened(site) as found:
        assert list(found.history(["content"]))
        changes = {change.path: change for change in found.uncommitted([Path("content")])}
    seen = {path: change.old for path, change in changes.items() if path.startswith("content/")}
    assert seen == {"content/images/7.png": "HEAD", "content/images/8.png": None}


def test_link_out_is_not_read(site: Site, tmp_path: Path) -> None:
    """A link of the past that led out of the repository is not followed, though something is there today."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(ARTICLE)
    site.article("own.md", "Own")
    link(site, "content/out", "../../outside")
    link(site, "content/absolute", str(tmp_path / "outside"))
    site.commit(T[2])
    site.remove("content/out")
    site.remove("content/absolute")
    site.commit(T[3])
    assert built(site) == [(T[2], "created", "/own.html")]


def test_links_that_multiply(site: Site) -> None:
    """Ten links to a folder of ten links to a folder, ten deep, are followed as far as is good for anyone."""
    site.write("d10/a.md", ARTICLE)
    for level in range(10):
        for number in range(10):
            link(site, f"d{level}/{number}", f"../d{level + 1}")
    link(site, "content/all", "../d0")
    site.commit(T[2])
    site.write("d10/a.md", ARTICLE + "\nChanged.\n")
    site.commit(T[3])
    first, then = followed(site, "content")[1:]
    assert 0 < len(then) <= 11 * 64
    assert len(first) <= 101 * 64 + 101


def test_links_one_below_another(site: Site) -> None:
    """A file beyond more links than Linux passes is not there."""
    for level in range(60):
        link(site, f"d{level}/next", f"../d{level + 1}")
    for level in (30, 60):
        site.write(f"d{level}/a.png", "image")
    link(site, "content/images", "../d0")
    site.commit(T[2])
    seen = {path for path in followed(site, "content")[1] if path.startswith("content/images")}
    assert seen == {"content/images/" + "next/" * 30 + "a.png"}


def test_links_to_each_other(site: Site) -> None:
    """Folders that link to each other end."""
    site.write("a/a.png", "a")
    site.write("b/b.png", "b")
    link(site, "a/b", "../b")
    link(site, "b/a", "../a")
    link(site, "content/images", "../a")
    site.commit(T[2])
    site.write("b/b.png", "b changed")
    site.commit(T[3])
    first, then = followed(site, "content")[1:]
    assert {path for path in then if path.startswith("content/")} == {"content/images/b/b.png"}
    assert {path for path in first if path.startswith("content/")} >= {"content/images/a.png", "content/images/b/b.png"}


def test_long_chain_of_links(site: Site) -> None:
    """More links in a row than Linux follows lead nowhere; as many as it does lead there."""
    site.write("end.md", ARTICLE)
    previous = "../end.md"
    for number in range(60):
        link(site, f"chain/{number}", previous)
        previous = str(number)
    link(site, "content/short.md", "../chain/30")
    link(site, "content/long.md", "../chain/59")
    site.commit(T[2])
    changes = followed(site, "content")[1]
    assert changes["content/short.md"].mode == "100644"
    assert changes["content/long.md"].mode == LINK


def test_very_deep_folder(site: Site) -> None:
    """Folders deeper than a recursion goes are listed."""
    deep = "d/" * 1500
    image, target = written(site, "blob", b"image"), written(site, "blob", b"../deep")
    site.git("update-index", "--add", "--cacheinfo", f"100644,{image},deep/{deep}a.png")
    site.git("update-index", "--add", "--cacheinfo", f"120000,{target},content/images")
    site.git("commit", "-qm", "Deep")
    assert f"content/images/{deep}a.png" in followed(site, "content")[1]


def test_submodule_at_a_path_that_leads_out(site: Site, tmp_path: Path) -> None:
    """A tree that git itself would not check out names no repository beyond the work tree's."""
    outside = repository(tmp_path / "outside")
    outside.write("secret.md", ARTICLE)
    name = outside.commit(T[1])
    out = written(site, "tree", entry("160000", "outside", name))
    commit(site, entry("40000", "..", out), T[2])
    assert followed(site, ".")[1]["../outside"].mode == SUBMODULE
    (site.folder / "linked").symlink_to(outside.folder)
    commit(site, entry("160000", "linked", name), T[3])
    assert followed(site, ".")[2]["linked"].mode == SUBMODULE


def test_git_folder_that_is_a_link(site: Site, tmp_path: Path) -> None:
    """A link in the place of a submodule's repository is not followed out of the work tree."""
    outside = repository(tmp_path / "outside")
    outside.write("secret.md", ARTICLE)
    name = outside.commit(T[1])
    (site.folder / "content" / "notes").mkdir()
    (site.folder / "content" / "notes" / ".git").symlink_to(outside.folder / ".git")
    (site.folder / ".git" / "modules").mkdir()
    (site.folder / ".git" / "modules" / "notes").symlink_to(outside.folder / ".git")
    site.git("update-index", "--add", "--cacheinfo", f"160000,{name},content/notes")
    site.git("commit", "-qm", "Notes")
    assert followed(site, "content")[1] == {"content/notes": followed(site, "content")[1]["content/notes"]}
    assert followed(site, "content")[1]["content/notes"].mode == SUBMODULE


def test_name_of_no_object(site: Site) -> None:
    """Only the name of an object is asked for: what else git would understand is none."""
    site.article("a.md", "One")
    site.commit(T[2])
    site.git("branch", "worktree")
    with opened(site) as found:
        for name in ("worktree:content/a.md", "HEAD:content/a.md", "HEAD", "", f"{'a' * 40}\n{'b' * 40}", "A" * 40):
            assert found.blob(name) is None
        assert found.blob(site.git("rev-parse", "HEAD:content/a.md"))


def test_objects_that_are_damaged(site: Site, tmp_path: Path) -> None:
    """A folder of a submodule's past that cannot be read is one whose state is unknown."""
    module = repository(tmp_path / "module")
    module.write("deep/secret.md", ARTICLE)
    module.commit(T[1])
    add_submodule(site, module, "content/notes")
    site.article("own.md", "Own")
    site.commit(T[2])
    tree = module.git("rev-parse", "HEAD:deep")
    for folder in (site.folder / ".git/modules/content/notes/objects", module.folder / ".git/objects"):
        (folder / tree[:2] / tree[2:]).unlink(missing_ok=True)
    assert followed(site, "content")[1]["content/notes"].mode == SUBMODULE
    assert built(site)[0] == (T[1], "created", "/secret.html")
    assert NOW not in {time for time, _kind, _path in site.changes()}
