"""Clones that lack something: blobs, folders of the work tree. What is needed is had, and nothing else is fetched."""

import shutil
from pathlib import Path

import pytest

from tests.kit.sites import Row, Site
from tests.publishers.git.repositories import NOW, T, bare, built, clone, link, opened, said

IMAGES = {"STATIC_PATHS": ["images"], "ARTICLE_EXCLUDES": ["images"], "THEME_STATIC_PATHS": ["static"]}


@pytest.fixture
def origin(tmp_path: Path) -> Site:
    """Return a site with a past, which allows partial clones of itself."""
    site = bare(tmp_path / "origin", **IMAGES)
    site.git("config", "uploadpack.allowFilter", "true")
    for day in (2, 3, 4):
        site.article("a.md", f"Title {day}")
        site.write("content/pages/about.md", f"Title: About\n\nText {day}.\n")
        site.write("content/images/a.png", f"image {day}")
        site.write("theme/static/a.css", f"style {day}")
        site.write("theme/templates/base.html", f"template {day}")
        site.write("notes/a.md", f"Title: Not of the site {day}\n")
        link(site, "notes/link.md", f"a-{day}.md")
        site.commit(T[day])
    return site


HISTORY: list[Row] = [
    (T[day], "created" if day == 2 else "updated", path)
    for day in (2, 3, 4)
    for path in ("/images/a.png", "/pages/about.html", "/theme/a.css", "/title-4.html")
]


def missing(site: Site) -> set[str]:
    """Return the names of the objects that a partial clone lacks."""
    listing = site.git("rev-list", "--objects", "--all", "--missing=print")
    return {line[1:] for line in listing.split("\n") if line.startswith("?")}


def blobs(site: Site, *paths: str) -> set[str]:
    """Return the names of the blobs that the commits of the third and the second day have at some paths."""
    return {site.git("rev-parse", f"HEAD~{back}:{path}") for back in (1, 2) for path in paths}


def test_partial_clone_fetches_what_makes_urls_alone(origin: Site, tmp_path: Path) -> None:
    """Of the blobs that a partial clone left out, the sources of articles and pages are fetched, and no other."""
    partial = clone(origin, tmp_path / "clone", "--filter=blob:none")
    sources = blobs(origin, "content/a.md", "content/pages/about.md")
    others = blobs(
        origin,
        "content/images/a.png",
        "theme/static/a.css",
        "theme/templates/base.html",
        "notes/a.md",
        "notes/link.md",
    )
    assert missing(partial) == sources | others
    assert built(partial) == built(origin) == HISTORY
    assert missing(partial) == others


def test_partial_clone_without_its_remote(origin: Site, tmp_path: Path) -> None:
    """While the remote is gone, a warning says that there is no past; when it is back, the past is added."""
    partial = clone(origin, tmp_path / "clone", "--filter=blob:none")
    shutil.move(origin.folder, tmp_path / "gone")
    warning = "git cannot read past versions of 2 sources, such as content/a.md, so no changes from before"
    assert [each.partition(" the first publication")[0] for each in said(partial)] == [warning]
    assert not (partial.output / "resourcesync/site/changelist.xml").exists()
    partial.article("a.md", "Title 4", "Edited.", at=T[5])
    assert said(partial, anew=False)[0].startswith(warning)
    now = [(T[5], "updated", "/title-4.html")]
    assert partial.changes() == now
    shutil.move(tmp_path / "gone", origin.folder)
    before = [("2024-01-04T09:59:59Z" if time == T[4] else time, kind, path) for time, kind, path in HISTORY]
    assert built(partial, anew=False) == [*before, *now]


def test_what_is_needed_is_fetched_at_once(origin: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many past articles a partial clone lacks, its remote is asked once."""
    for number in range(6):
        origin.article("a.md", f"Other {number}", at=T[5])
    partial = clone(origin, tmp_path / "clone", "--filter=blob:none")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    built(partial)
    assert trace.read_text().count("built-in: git fetch ") == 1


def test_whole_clone_asks_no_remote(origin: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing was left out, a blob that is not there is not there."""
    whole = clone(origin, tmp_path / "clone")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    with opened(whole) as found:
        assert found.blob("1" * 40) is None
    assert "fetch" not in trace.read_text()


def test_sparse_checkout(origin: Site, tmp_path: Path) -> None:
    """Sources outside the cone are not lost: they are not built, so nothing is said of them; all else is listed."""
    sparse = clone(origin, tmp_path / "clone")
    sparse.git("sparse-checkout", "set", "--cone", "theme", "content/images")
    assert not (sparse.folder / "content" / "pages" / "about.md").exists()
    assert (sparse.folder / "content" / "a.md").exists()
    assert built(sparse) == [row for row in HISTORY if "pages" not in row[2]]
    assert NOW not in {time for time, _kind, _path in sparse.changes()}


def test_build_in_a_hook(origin: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a hook the environment names the hook's repository, index and work tree: the site's own are meant."""
    other = clone(origin, tmp_path / "other")
    other.article("a.md", "Other", at=T[6])
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git" / "index"))
    monkeypatch.chdir(other.folder)
    assert built(origin) == HISTORY
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert built(origin) == HISTORY
