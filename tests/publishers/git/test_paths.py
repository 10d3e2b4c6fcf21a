"""Paths that turn into something else: case, folders, names exchanged."""

from pathlib import Path

import pytest

from tests.kit.sites import Site
from tests.publishers.git.repositories import T, bare, built

IMAGES = {"STATIC_PATHS": ["images"], "ARTICLE_EXCLUDES": ["images"]}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site of contents alone."""
    return bare(tmp_path / "site", **IMAGES)


def test_case_only_rename(site: Site) -> None:
    """A source renamed in its case alone keeps its URL; a static file, whose URL is its path, moves."""
    site.article("Post.md", "Post")
    site.write("content/images/A.PNG", "image")
    site.commit(T[2])
    site.git("mv", "content/Post.md", "content/post.md")
    site.git("mv", "content/images/A.PNG", "content/images/a.png")
    site.commit(T[3])
    assert built(site) == [
        (T[2], "created", "/images/A.PNG"),
        (T[2], "created", "/post.html"),
        (T[3], "deleted", "/images/A.PNG"),
        (T[3], "created", "/images/a.png"),
    ]


def test_file_that_becomes_a_folder_and_back(site: Site) -> None:
    """A folder that takes a file's name takes its place, as the file takes the folder's."""
    site.write("content/images/a", "a file")
    site.article("post.md", "Post")
    site.commit(T[2])
    site.remove("content/images/a")
    site.write("content/images/a/b.png", "image")
    site.remove("content/post.md")
    site.article("post.md/part.md", "Part")
    site.commit(T[3])
    site.remove("content/images/a/b.png")
    (site.folder / "content" / "images" / "a").rmdir()
    site.write("content/images/a", "another file")
    site.remove("content/post.md/part.md")
    (site.folder / "content" / "post.md").rmdir()
    site.article("post.md", "Post", at=T[4])
    assert built(site) == [
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


def test_executable_bit_is_no_change(site: Site) -> None:
    """What is published of a file that was made executable is what was published before."""
    site.article("a.md", "One")
    site.write("content/images/a.png", "image")
    site.commit(T[2])
    for path in ("content/a.md", "content/images/a.png"):
        (site.folder / path).chmod(0o755)
    site.commit(T[3])
    assert site.git("show", "--summary", "--format=").count("mode change") == 2
    assert built(site) == [(T[2], "created", "/images/a.png"), (T[2], "created", "/one.html")]
