"""Submodules: what they hold changes when the site's own commit names another commit of theirs."""

import shutil
from pathlib import Path

import pytest

from tests.git.repositories import (
    NOW,
    T,
    add_submodule,
    bare,
    built,
    clone,
    init_submodules,
    link,
    repository,
    said,
    unknown,
    update_submodule,
)
from tests.sites import Site

IMAGES = {"STATIC_PATHS": ["images"], "ARTICLE_EXCLUDES": ["images"], "DEFAULT_METADATA": {"category": "misc"}}
ONE = "Title: One\nDate: 2024-01-01\nCategory: misc\n\n{}\n"
TWO = "Title: Two\nDate: 2024-01-01\nCategory: misc\n\n{}\n"
#: The one article of the site itself.
OWN = ("2024-01-01T11:00:00Z", "created", "/own.html")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Give a site of contents alone, with one article of its own."""
    site = bare(tmp_path / "site", **IMAGES)
    site.article("own.md", "Own")
    site.commit(OWN[0])
    return site


@pytest.fixture
def module(tmp_path: Path) -> Site:
    """Give a repository of sources with one commit."""
    module = repository(tmp_path / "module")
    module.write("one.md", ONE.format("Text."))
    module.commit("2023-01-01T10:00:00Z")
    return module


def test_submodule_of_sources(site: Site, module: Site) -> None:
    """Many commits there land as one here, at the time of the site's commit; one that is not taken, never."""
    add_submodule(site, module, "content/notes")
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    module.write("deep/two.md", TWO.format("Text."))
    module.commit(T[4])
    update_submodule(site, "content/notes")
    site.commit(T[6])
    module.remove("one.md")
    module.commit(T[7])
    module.write("deep/two.md", TWO.format("Changed."))
    module.commit(T[8])
    update_submodule(site, "content/notes", "origin/main~1")
    site.commit(T[9])
    assert built(site)[1:] == [
        (T[2], "created", "/one.html"),
        (T[6], "updated", "/one.html"),
        (T[6], "created", "/two.html"),
        (T[9], "deleted", "/one.html"),
    ]


def test_submodule_set_back_moved_and_removed(site: Site, module: Site) -> None:
    """A submodule that goes back takes its changes back, one that moves takes its files along, and may go."""
    module.write("images/a.png", "a")
    module.commit(T[1])
    add_submodule(site, module, "content/notes")
    site.configure(STATIC_PATHS=["images", "notes/images", "moved/images"])
    site.commit(T[2])
    update_submodule(site, "content/notes", "origin/main~1")
    site.commit(T[3])
    update_submodule(site, "content/notes")
    site.commit(T[4])
    site.git("mv", "content/notes", "content/moved")
    site.commit(T[5])
    site.git("rm", "-q", "-f", "content/moved")
    site.commit(T[6])
    assert [row for row in built(site) if row[2] != "/own.html"] == [
        (T[2], "created", "/notes/images/a.png"),
        (T[2], "created", "/one.html"),
        (T[3], "deleted", "/notes/images/a.png"),
        (T[4], "created", "/notes/images/a.png"),
        (T[5], "created", "/moved/images/a.png"),
        (T[5], "deleted", "/notes/images/a.png"),
        (T[6], "deleted", "/moved/images/a.png"),
        (T[6], "deleted", "/one.html"),
    ]


def test_submodule_that_becomes_a_folder_and_back(site: Site, module: Site) -> None:
    """Sources that move from the site into a submodule, or back, and stay as they are, do not change."""
    site.write("content/notes/one.md", ONE.format("Text."))
    site.write("content/notes/two.md", TWO.format("Text."))
    site.commit(T[2])
    site.git("rm", "-rq", "content/notes")
    add_submodule(site, module, "content/notes")
    site.commit(T[3])
    site.git("rm", "-q", "-f", "content/notes")
    site.write("content/notes/one.md", ONE.format("Changed."))
    site.commit(T[4])
    assert built(site)[1:] == [
        (T[2], "created", "/one.html"),
        (T[2], "created", "/two.html"),
        (T[3], "deleted", "/two.html"),
        (T[4], "updated", "/one.html"),
    ]


def test_submodule_in_place_of_a_file_or_a_link(site: Site, module: Site) -> None:
    """A submodule may take the place of a file, a link that of a submodule, and a file that of a link."""
    site.write("content/notes", "A file that is no source.")
    site.write("old/one.md", ONE.format("Old."))
    site.commit(T[2])
    site.git("rm", "-q", "content/notes")
    add_submodule(site, module, "content/notes")
    site.commit(T[3])
    site.git("rm", "-q", "-f", "content/notes")
    link(site, "content/notes", "../old")
    site.commit(T[4])
    site.remove("content/notes")
    site.git("rm", "-q", "--cached", "content/notes")
    add_submodule(Site(site.folder), module, "content/again")
    site.commit(T[5])
    assert built(site)[1:] == [
        (T[3], "created", "/one.html"),
        (T[4], "updated", "/one.html"),
        (T[5], "updated", "/one.html"),
    ]


def test_submodule_in_a_submodule(site: Site, module: Site, tmp_path: Path) -> None:
    """What a submodule's own submodule holds lands with the site's commit too."""
    outer = repository(tmp_path / "outer")
    outer.write("two.md", TWO.format("Text."))
    add_submodule(outer, module, "inner")
    outer.commit(T[1])
    add_submodule(site, outer, "content/outer")
    init_submodules(site)
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    update_submodule(outer, "inner")
    outer.commit(T[4])
    update_submodule(site, "content/outer")
    site.git("add", "content/outer")
    init_submodules(site)
    site.commit(T[5])
    site.write("content/outer/inner/one.md", ONE.format("Not committed."))
    assert built(site)[1:] == [
        (T[2], "created", "/one.html"),
        (T[2], "created", "/two.html"),
        (T[5], "updated", "/one.html"),
        (NOW, "updated", "/one.html"),
    ]


def test_submodule_that_holds_all_sources(tmp_path: Path, module: Site) -> None:
    """Where `PATH` is a submodule, the site is the superproject, which holds the settings: its commits count."""
    site = bare(tmp_path / "site", **IMAGES)
    (site.folder / "content").rmdir()
    add_submodule(site, module, "content")
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    update_submodule(site, "content")
    site.commit(T[4])
    site.configure(SITENAME="Another name")
    site.commit(T[5])
    assert built(site) == [
        (T[2], "created", "/one.html"),
        (T[4], "updated", "/one.html"),
        (T[5], "updated", "/one.html"),
    ]


def test_site_that_is_a_submodule_itself(tmp_path: Path, site: Site) -> None:
    """A site that another repository has as a submodule is told by its own commits, in a clone of its own or not."""
    umbrella = repository(tmp_path / "umbrella")
    add_submodule(umbrella, site, "web/site")
    inner = Site(umbrella.folder / "web" / "site", site.settings)
    assert built(inner) == built(site) == [OWN]
    umbrella.commit(T[5])
    assert built(inner) == [OWN]


def test_settings_and_theme_in_submodules(tmp_path: Path) -> None:
    """Settings that a submodule holds are settings, and a theme that one holds is a theme."""
    site = bare(tmp_path / "site", **IMAGES)
    shared, theme = repository(tmp_path / "shared"), repository(tmp_path / "themes")
    shared.write("shared.py", 'ARTICLE_URL = ARTICLE_SAVE_AS = "{slug}.html"\n')
    shared.commit(T[1])
    (site.folder / "theme" / "templates").rename(theme.folder / "templates")
    theme.write("static/a.css", "one")
    theme.commit(T[1])
    site.git("rm", "-rq", "--cached", "theme")
    (site.folder / "theme").rmdir()
    add_submodule(site, shared, "shared")
    add_submodule(site, theme, "theme")
    site.configure(THEME_STATIC_PATHS=["static"])
    settings = (site.folder / "pelicanconf.py").read_text()
    site.write("pelicanconf.py", f"import sys\nsys.path[:0] = ['shared']\nfrom shared import *\n{settings}")
    site.article("a.md", "A")
    site.commit(T[2])
    shared.write("shared.py", 'ARTICLE_URL = ARTICLE_SAVE_AS = "posts/{slug}.html"\n')
    shared.commit(T[2])
    update_submodule(site, "shared")
    site.commit(T[3])
    theme.write("README", "Nothing that shows, but who knows?")
    theme.commit(T[3])
    update_submodule(site, "theme")
    site.commit(T[4])
    theme.write("static/a.css", "two")
    theme.commit(T[4])
    update_submodule(site, "theme")
    site.commit(T[5])
    site.command(environment={"SOURCE_DATE_EPOCH": "1706788800"})
    assert site.changes() == [
        (T[2], "created", "/a.html"),
        (T[2], "created", "/theme/a.css"),
        (T[3], "deleted", "/a.html"),
        (T[3], "created", "/posts/a.html"),
        (T[4], "updated", "/posts/a.html"),
        (T[5], "updated", "/posts/a.html"),
        (T[5], "updated", "/theme/a.css"),
    ]


def test_submodule_that_was_not_cloned(site: Site, module: Site, tmp_path: Path) -> None:
    """In a clone without its submodules, what they hold is neither built nor told, and the log counts it."""
    add_submodule(site, module, "content/notes")
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    update_submodule(site, "content/notes")
    site.commit(T[4])
    cloned = clone(site, tmp_path / "clone")
    assert built(cloned) == [OWN]
    assert said(cloned) == [unknown(2)]
    init_submodules(cloned)
    assert built(cloned) == built(site)
    assert len(built(site)) == 3


def test_submodule_that_does_not_matter(site: Site, module: Site, tmp_path: Path) -> None:
    """A submodule that lies beside the site, cloned or not, is no part of its history."""
    add_submodule(site, module, "vendor/notes")
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    update_submodule(site, "vendor/notes")
    site.commit(T[4])
    site.git("rm", "-q", "-f", "vendor/notes")
    site.commit(T[5])
    cloned = clone(site, tmp_path / "clone")
    assert built(cloned) == built(site) == [OWN]
    assert said(cloned) == []


def test_uncommitted_work_in_a_submodule_of_unknown_state(site: Site, module: Site, tmp_path: Path) -> None:
    """Where it is unknown what the site's commit has of a submodule, only that is told which is committed nowhere."""
    notes = add_submodule(site, module, "content/notes")
    notes.git("config", "user.name", "A")
    notes.git("config", "user.email", "a@example.org")
    notes.write("one.md", ONE.format("Never pushed."))
    notes.commit(T[2])
    site.commit(T[2])
    cloned = clone(site, tmp_path / "clone")
    cloned.git("-c", "protocol.file.allow=always", "clone", "-q", str(module.folder), "content/notes")
    cloned.write("content/notes/two.md", TWO.format("Not committed."))
    assert built(cloned) == [(T[1], "created", "/one.html"), OWN, (NOW, "created", "/two.html")]


def test_commit_of_a_submodule_that_is_not_there(site: Site, module: Site, tmp_path: Path) -> None:
    """What a submodule held is unknown where its commit is not there, and counts as it was known last."""
    notes = add_submodule(site, module, "content/notes")
    site.commit(T[2])
    notes.git("config", "user.name", "A")
    notes.git("config", "user.email", "a@example.org")
    notes.write("one.md", ONE.format("Never pushed."))
    notes.write("two.md", TWO.format("Never pushed."))
    notes.commit(T[3])
    site.commit(T[3])
    notes.git("checkout", "-q", "origin/main")
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[4])
    update_submodule(site, "content/notes")
    site.commit(T[5])
    cloned = clone(site, tmp_path / "clone")
    init_submodules(cloned)
    assert built(cloned)[1:] == [(T[2], "created", "/one.html"), (T[5], "updated", "/one.html")]
    assert said(cloned) == [unknown(1)]


def test_shallow_submodule(site: Site, module: Site, tmp_path: Path) -> None:
    """A submodule may be cloned without its past: what it held then is unknown, what it holds came with its commit."""
    add_submodule(site, module, "content/notes")
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    update_submodule(site, "content/notes")
    site.commit(T[4])
    cloned = clone(site, tmp_path / "clone")
    url = f"file://{module.folder}"
    cloned.git("config", "-f", ".gitmodules", "submodule.content/notes.url", url)
    cloned.git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init", "--depth", "1")
    cloned.git("checkout", "-q", ".gitmodules")
    assert built(cloned)[1:] == [(T[4], "created", "/one.html")]


def test_submodule_of_today_that_is_gone_tomorrow(site: Site, module: Site) -> None:
    """A submodule that was removed is remembered where git remembers its objects, under any name that it had."""
    site.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", "--name", "a/b", str(module.folder), "content/n"
    )
    site.commit(T[2])
    site.git("rm", "-q", "-f", "content/n")
    site.commit(T[3])
    assert (site.folder / ".git" / "modules" / "a" / "b" / "HEAD").is_file()
    assert built(site)[1:] == [(T[2], "created", "/one.html"), (T[3], "deleted", "/one.html")]


def test_submodule_whose_repository_lies_in_the_work_tree(site: Site, module: Site) -> None:
    """A repository that was added as it lay there is a submodule that no `.gitmodules` names."""
    shutil.copytree(module.folder, site.folder / "content" / 'no:"tes')
    site.git("-c", "advice.addEmbeddedRepo=false", "add", "content")
    site.commit(T[2])
    assert "160000" in site.git("ls-files", "-s")
    assert built(site)[1:] == [(T[2], "created", "/one.html")]


def test_linked_work_tree(site: Site, module: Site, tmp_path: Path) -> None:
    """A linked work tree has submodules of its own, in git's folder of that work tree."""
    add_submodule(site, module, "content/notes")
    site.commit(T[2])
    site.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    shutil.rmtree(site.folder / ".git" / "modules")
    linked = Site(tmp_path / "linked", site.settings)
    init_submodules(linked)
    assert built(linked)[1:] == [(T[2], "created", "/one.html")]


def test_uncommitted_work_in_submodules(site: Site, module: Site) -> None:
    """An edit, an addition and a loss in a submodule's work tree, and commits that the site does not name yet."""
    module.write("two.md", TWO.format("Text."))
    module.write("three.md", TWO.format("Text.").replace("Two", "Three"))
    module.commit(T[1])
    notes = add_submodule(site, module, "content/notes")
    site.commit(T[2])
    module.write("two.md", TWO.format("Changed."))
    module.write("four.md", TWO.format("Text.").replace("Two", "Four"))
    module.commit(T[3])
    update_submodule(site, "content/notes")
    notes.write("one.md", ONE.format("Changed."))
    notes.write("five.md", TWO.format("Text.").replace("Two", "Five"))
    notes.remove("three.md")
    assert built(site)[4:] == [
        (NOW, "created", "/five.html"),
        (NOW, "created", "/four.html"),
        (NOW, "updated", "/one.html"),
        (NOW, "deleted", "/three.html"),
        (NOW, "updated", "/two.html"),
    ]


def test_uncommitted_work_in_a_submodule_in_a_hook(site: Site, module: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a hook of the site's repository builds, its submodules are looked at all the same."""
    add_submodule(site, module, "content/notes")
    site.commit(T[2])
    site.write("content/notes/one.md", ONE.format("Changed."))
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert built(site)[2:] == [(NOW, "updated", "/one.html")]
    monkeypatch.setenv("GIT_DIR", str(site.folder / ".git"))
    assert built(site)[2:] == [(NOW, "updated", "/one.html")]


def test_submodule_that_came_or_went_and_is_not_committed(site: Site, module: Site, tmp_path: Path) -> None:
    """A submodule that is new in the work tree, staged or not, or that was removed there, lands with the build."""
    other = repository(tmp_path / "other")
    other.write("two.md", TWO.format("Text."))
    other.commit(T[1])
    third = repository(site.folder / "content" / "third")
    third.write("three.md", TWO.format("Text.").replace("Two", "Three"))
    third.commit(T[1])
    add_submodule(site, module, "content/notes")
    site.git("commit", "-qm", "Notes", GIT_AUTHOR_DATE=T[2], GIT_COMMITTER_DATE=T[2])
    add_submodule(site, other, "content/other")
    shutil.rmtree(site.folder / "content" / "notes")
    assert built(site)[1:] == [
        (T[2], "created", "/one.html"),
        (NOW, "deleted", "/one.html"),
        (NOW, "created", "/three.html"),
        (NOW, "created", "/two.html"),
    ]


def test_submodule_that_git_cannot_look_into(site: Site, module: Site) -> None:
    """A submodule whose repository was moved away stops no build: its work tree is as its files are."""
    add_submodule(site, module, "content/notes")
    site.commit(T[2])
    site.write("content/own.md", "Title: Own\nDate: 2024-01-01\n\nChanged.\n")
    (site.folder / "content" / "notes" / ".git").write_text("gitdir: ../../nowhere\n")
    assert built(site) == [
        OWN,
        (T[2], "created", "/one.html"),
        (NOW, "updated", "/own.html"),
    ]


def test_gitmodules_is_not_believed(site: Site, module: Site, tmp_path: Path) -> None:
    """Whatever `.gitmodules` says of names, addresses and commands, nothing is run, fetched or read beyond."""
    add_submodule(site, module, "content/notes")
    marker = tmp_path / "ran"
    site.write(
        ".gitmodules",
        f'[submodule "../../evil"]\n\tpath = content/notes\n\turl = ext::sh -c "touch {marker}"\n'
        f"\tupdate = !touch {marker}\n\tignore = all\n\tfetchRecurseSubmodules = true\n",
    )
    site.commit(T[2])
    module.write("one.md", ONE.format("Changed."))
    module.commit(T[3])
    update_submodule(site, "content/notes")
    site.commit(T[4])
    site.write("content/notes/one.md", ONE.format("Not committed."))
    assert built(site)[1:] == [
        (T[2], "created", "/one.html"),
        (T[4], "updated", "/one.html"),
        (NOW, "updated", "/one.html"),
    ]
    assert not marker.exists()
