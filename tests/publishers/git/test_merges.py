"""First-parent history: whatever shape the branches have, each change has the time at which it was published."""

from pathlib import Path

import pytest

from tests.kit.sites import Row, Site
from tests.publishers.git.repositories import T, back, bare, branch, built, merge


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site of contents alone with one article, published on the second day."""
    site = bare(tmp_path / "site")
    site.article("main.md", "Main", at=T[2])
    return site


MAIN: Row = (T[2], "created", "/main.html")


def test_orphan_root_joined_later(site: Site) -> None:
    """A history that began by itself, here before the site's own, lands as a whole when it is merged."""
    site.git("checkout", "-q", "--orphan", "other")
    site.git("rm", "-rfq", ".")
    site.article("other.md", "Other")
    site.commit("2020-01-01T10:00:00Z")
    site.article("other.md", "Other", "Changed.", at="2020-01-02T10:00:00Z")
    back(site)
    merge(site, T[4], "other", options=["--allow-unrelated-histories"])
    assert len(site.git("rev-list", "--max-parents=0", "HEAD").split()) == 2
    assert built(site) == [MAIN, (T[4], "created", "/other.html")]


def test_site_that_is_the_second_parent(site: Site) -> None:
    """Where a pull merged the published branch into a writer's, the writer's is the first parent from then on."""
    branch(site, "writer", "main~1")
    site.article("writer.md", "Writer", at=T[3])
    merge(site, T[4], "main")
    back(site)
    site.git("merge", "-q", "--ff-only", "writer")
    assert built(site) == [(T[3], "created", "/writer.html"), (T[4], "created", "/main.html")]


def test_old_branch_with_older_times(site: Site) -> None:
    """A merge dated before the commit that it follows lands just after that: never back-dated."""
    branch(site, "old", "main~1")
    site.article("old.md", "Old", at="2019-01-01T10:00:00Z")
    back(site)
    site.article("main.md", "Main", "Changed.", at=T[5])
    merge(site, T[3], "old")
    assert built(site) == [
        MAIN,
        (T[5], "updated", "/main.html"),
        ("2024-01-05T10:00:01Z", "created", "/old.html"),
    ]


def test_rebased_branch(site: Site) -> None:
    """Commits that were written again land at their committer's time, not at their author's."""
    branch(site, "side", "main~1")
    site.article("side.md", "Side", at=T[3])
    site.git("rebase", "-q", "main", GIT_COMMITTER_DATE=T[6])
    back(site)
    site.git("merge", "-q", "--ff-only", "side")
    assert site.git("log", "-1", "--format=%aI").startswith("2024-01-03")
    assert built(site) == [MAIN, (T[6], "created", "/side.html")]


# --- Paths that turn into something else: case, folders, names exchanged -------


IMAGES = {"STATIC_PATHS": ["images"], "ARTICLE_EXCLUDES": ["images"]}


@pytest.fixture
def gallery(tmp_path: Path) -> Site:
    """Return a site of contents alone."""
    return bare(tmp_path / "site", **IMAGES)


def test_case_only_rename(gallery: Site) -> None:
    """A source renamed in its case alone keeps its URL; a static file, whose URL is its path, moves."""
    gallery.article("Post.md", "Post")
    gallery.write("content/images/A.PNG", "image")
    gallery.commit(T[2])
    gallery.git("mv", "content/Post.md", "content/post.md")
    gallery.git("mv", "content/images/A.PNG", "content/images/a.png")
    gallery.commit(T[3])
    assert built(gallery) == [
        (T[2], "created", "/images/A.PNG"),
        (T[2], "created", "/post.html"),
        (T[3], "deleted", "/images/A.PNG"),
        (T[3], "created", "/images/a.png"),
    ]


def test_file_that_becomes_a_folder_and_back(gallery: Site) -> None:
    """A folder that takes a file's name takes its place, as the file takes the folder's."""
    gallery.write("content/images/a", "a file")
    gallery.article("post.md", "Post")
    gallery.commit(T[2])
    gallery.remove("content/images/a")
    gallery.write("content/images/a/b.png", "image")
    gallery.remove("content/post.md")
    gallery.article("post.md/part.md", "Part")
    gallery.commit(T[3])
    gallery.remove("content/images/a/b.png")
    (gallery.folder / "content" / "images" / "a").rmdir()
    gallery.write("content/images/a", "another file")
    gallery.remove("content/post.md/part.md")
    (gallery.folder / "content" / "post.md").rmdir()
    gallery.article("post.md", "Post", at=T[4])
    assert built(gallery) == [
        (T[2], "created", "/images/a"),
        (T[2], "created", "/post.html"),
        (T[3], "deleted", "/images/a"),
        (T[3], "created", "/images/a/b.png"),
        (T[3], "created", "/part.html"),
        (T[3], "deleted", "/post.html"),
        (T[4], "created", "/images/a"),
        (T[4], "deleted", "/images/a/b.png"),
        (T[4], "deleted", "/part.html"),
        (T[4], "created", "/post.html"),
    ]


def test_executable_bit_is_no_change(gallery: Site) -> None:
    """What is published of a file that was made executable is what was published before."""
    gallery.article("a.md", "One")
    gallery.write("content/images/a.png", "image")
    gallery.commit(T[2])
    for path in ("content/a.md", "content/images/a.png"):
        (gallery.folder / path).chmod(0o755)
    gallery.commit(T[3])
    assert gallery.git("show", "--summary", "--format=").count("mode change") == 2
    assert built(gallery) == [(T[2], "created", "/images/a.png"), (T[2], "created", "/one.html")]
