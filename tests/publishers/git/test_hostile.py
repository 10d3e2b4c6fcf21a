"""What a commit may say to lead astray: nothing outside the repository is read."""

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from pelican_resourcesync.publishers.git import find_repository
from tests.kit.sites import Site
from tests.publishers.git.repositories import T, bare, built, dated, link, opened

ARTICLE = "Title: Secret\nDate: 2024-01-01\n"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site of contents alone."""
    return bare(tmp_path / "site", STATIC_PATHS=["images"], ARTICLE_EXCLUDES=["images"])


def written(site: Site, kind: str, data: bytes) -> str:
    """Write an object of any content, and give its name."""
    command = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    return subprocess.run(command, cwd=site.folder, input=data, check=True, capture_output=True).stdout.decode().strip()


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
    """A link is a path of its own: wherever it leads, out, up or to itself, nothing there is read."""
    site.article("own.md", "Own", at=T[2])
    blob = written(site, "blob", target)
    site.git("update-index", "--add", "--cacheinfo", f"120000,{blob},content/link.md")
    site.git("commit", "-qm", "Link", **dated(T[3]))
    site.git("update-index", "--force-remove", "content/link.md")
    site.git("commit", "-qm", "No link", **dated(T[4]))
    assert built(site) == [(T[2], "created", "/own.html")]


@pytest.mark.parametrize(
    "configuration",
    [
        {"core.fsmonitor": "PROGRAM"},
        {"filter.evil.clean": "PROGRAM"},
        {"filter.evil.process": "PROGRAM", "filter.evil.required": "true"},
        {"extensions.worktreeConfig": "true", "--worktree filter.evil.clean": "PROGRAM"},
        {"include.path": "more", "--file .git/more filter.evil.clean": "PROGRAM"},
    ],
    ids=["monitor", "clean", "process", "worktree", "included"],
)
def test_programs_of_a_repository_are_not_run(site: Site, tmp_path: Path, configuration: dict[str, str]) -> None:
    """Somebody else's work tree may come with a `.git/config`; only what is in the user's own may run programs."""
    program, ran = tmp_path / "program", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    program.chmod(0o755)
    article = site.article("own.md", "Own")
    site.write(".gitattributes", "*.md filter=evil\n", at=T[2])
    for name, value in configuration.items():
        site.git("config", *name.split(), value.replace("PROGRAM", str(program)))
    article.touch()  # git has to compare it
    assert built(site) == [(T[2], "created", "/own.html")]
    assert not ran.exists()
    article.touch()
    with suppress(subprocess.CalledProcessError):
        site.git("status")
    assert ran.exists(), "git alone runs it"


def test_filter_of_the_user_is_run(site: Site, tmp_path: Path) -> None:
    """As that of Git LFS: without it, what it has changed would look like an edit."""
    user = tmp_path / "gitconfig"
    user.write_text('[filter "upper"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(user))
        for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
            site.git("config", name, value)
        site.write(".gitattributes", "*.txt filter=upper\n")
        file = site.write("content/images/a.txt", "a\n")
        site.commit(T[2])
        file.touch()
        repository = find_repository(site.folder)
        assert repository.uncommitted(["content"]) == ()
        repository.close()


def test_link_out_is_not_read(site: Site, tmp_path: Path) -> None:
    """A link of the past that led out of the repository is not followed, though something is there today."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(ARTICLE)
    site.article("own.md", "Own")
    link(site, "content/out", "../../outside")
    link(site, "content/absolute.md", str(tmp_path / "outside" / "secret.md"))
    site.commit(T[2])
    site.remove("content/out")
    site.remove("content/absolute.md")
    site.commit(T[3])
    assert built(site) == [(T[2], "created", "/own.html")]


def test_name_of_no_object(site: Site) -> None:
    """Only the name of an object is asked for: what else git would understand is none."""
    site.article("a.md", "One", at=T[2])
    site.git("branch", "worktree")
    with opened(site) as found:
        for name in ("worktree:content/a.md", "HEAD:content/a.md", "HEAD", "", f"{'a' * 40}\n{'b' * 40}", "A" * 40):
            assert found.blob(name) is None
        assert found.blob(site.git("rev-parse", "HEAD:content/a.md"))
