"""Deletions: which of them the history explains, so that nobody has to confirm them, and which stop a build."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from tests.kit.sites import Site, public_files

#: Every listing that Pelican knows, each of few articles.
LISTINGS = {
    "CATEGORY_FEED_ATOM": "feeds/{slug}.atom.xml",
    "AUTHOR_FEED_RSS": "feeds/{slug}.rss.xml",
    "TAG_FEED_ATOM": "feeds/tag-{slug}.xml",
    "TRANSLATION_FEED_ATOM": "feeds/all-{lang}.xml",
    "YEAR_ARCHIVE_SAVE_AS": "{date:%Y}/index.html",
    "YEAR_ARCHIVE_URL": "{date:%Y}/",
    "MONTH_ARCHIVE_SAVE_AS": "{date:%Y}/{date:%m}.html",
    "MONTH_ARCHIVE_URL": "{date:%Y}/{date:%m}.html",
    "DEFAULT_PAGINATION": 2,
}
NAMES = ("ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen")


@pytest.fixture(scope="module")
def first_blog(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a published blog of eight articles, each with a tag, a category, an author and a month of its own."""
    site = Site.create(tmp_path_factory.mktemp("blog") / "site", **LISTINGS)
    for number, name in enumerate(NAMES):
        write(site, name, number)
        for image in range(3):
            site.write(f"content/images/{name}{image}.svg", "<svg/>")
    site.write("content/pages/about.md", "Title: About\n\nText.\n")
    site.commit("2024-01-01T10:00:00Z")
    site.build()
    return site


@pytest.fixture
def blog(first_blog: Site, tmp_path: Path) -> Site:
    """Return a copy of that blog."""
    return first_blog.copied(tmp_path / "site")


def write(site: Site, name: str, number: int, title: str = "", **metadata: str) -> None:
    """Write an article that nothing else is like; all have one tag in common."""
    own = {
        "Tags": f"{name}-tag, all",
        "Category": f"{name}s",
        "Author": f"Ms {name}",
        "Date": f"2023-{number + 1:02}-01",
    }
    site.article(f"{name}.md", title or name, **{**own, **metadata})


Change = Callable[[Site], object]


def remove(*names: str) -> Change:
    """Return what removes articles."""
    return lambda site: site.git("rm", "-q", *(f"content/{name}.md" for name in names))


def edit(name: str, **metadata: str) -> Change:
    """Return what edits the metadata of an article."""
    return lambda site: write(site, name, NAMES.index(name), **metadata)


def retag(*names: str) -> Change:
    """Return what gives articles the tag, the category and the author that others have."""
    return lambda site: [edit(each, Tags="all", Category="hens", Author="Ms hen")(site) for each in names]


def images(*names: str) -> Change:
    """Return what removes static files."""
    return lambda site: site.git("rm", "-q", *(f"content/images/{name}*" for name in names))


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ([remove("ant", "bee", "cow")], {"ant.html", "tag/ant-tag.html", "category/ants.html", "2023/01.html"}),
        (
            [edit("ant", Status="draft"), edit("bee", Status="hidden"), edit("cow", Status="skip")],
            {"ant.html", "author/ms-bee.html", "feeds/cows.atom.xml"},
        ),
        (
            [*(edit(name, title=f"{name} renamed") for name in NAMES), retag(*NAMES[3:7])],
            {"ant.html", "hen.html", "tag/eel-tag.html"},
        ),
        ([retag(*NAMES[:4])], {"tag/ant-tag.html", "feeds/bees.atom.xml", "author/ms-dog.html"}),
        ([images(*NAMES)], {"images/ant0.svg", "images/hen2.svg"}),
        (
            [remove("ant", "bee"), images(*NAMES[:5])],
            {"feeds/ants.atom.xml", "feeds/ms-bee.rss.xml", "tag/all4.html", "images/eel1.svg"},
        ),
    ],
    ids=["removed", "unpublished", "renamed", "retagged", "static", "both"],
)
def test_what_commits_explain_needs_no_confirmation(blog: Site, changes: list[Change], gone: set[str]) -> None:
    """However many commits it takes; the pages, feeds and archives that consisted of it alone go with it."""
    before = public_files(blog.output).keys()
    for month, change in enumerate(changes, start=2):
        change(blog)
        blog.commit(f"2024-{month:02}-01T10:00:00Z")
    blog.build()
    left = before - public_files(blog.output).keys()
    assert gone <= left
    assert len(left) * 5 > len([path for path in before if not path.startswith("theme/")])  # too many to be few


def stops(site: Site) -> str:
    """Build a site, and return the message that stops it."""
    with pytest.raises(PublicationError, match="would be listed as deleted") as caught:
        site.build()
    return str(caught.value)


def configured(**values: object) -> Change:
    """Return what changes settings, in a commit that also removes an article."""

    def change(site: Site) -> None:
        site.remove("content/ant.md")
        site.configure(**values)
        site.commit("2024-02-01T10:00:00Z")

    return change


def shallow(site: Site) -> None:
    """Remove articles in a commit, and forget all earlier ones."""
    remove("ant", "bee", "cow")(site)
    site.commit("2024-02-01T10:00:00Z")
    clone = site.folder.with_name("shallow")
    site.git("clone", "-q", "--depth=1", f"file://{site.folder}", str(clone))
    shutil.rmtree(site.folder / ".git")
    (clone / ".git").rename(site.folder / ".git")


def rewritten(site: Site) -> None:
    """Remove articles in a history that the published commit is not in."""
    remove("ant", "bee", "cow")(site)
    site.git("checkout", "-q", "--orphan", "other")
    site.commit("2024-02-01T10:00:00Z")


def brought_back(site: Site) -> None:
    """Remove articles in one commit, add them again in the next, and leave them out by a setting."""
    remove("ant", "bee", "cow")(site)
    site.commit("2024-02-01T10:00:00Z")
    for number, name in enumerate(NAMES[:3]):
        write(site, name, number)
    site.configure(ARTICLE_EXCLUDES=["ant.md", "bee.md", "cow.md"], IGNORE_FILES=["ant.md", "bee.md", "cow.md"])
    site.commit("2024-03-01T10:00:00Z")


def edited_and_excluded(site: Site) -> None:
    """Edit articles, and exclude them and some images by a setting: the commit explains none of these deletions."""
    for number, name in enumerate(NAMES):
        write(site, name, number, Note="edited")
    site.configure(RESOURCESYNC={**site.settings["RESOURCESYNC"], "exclude": ["[a-h]??.html", "images/[a-f]*"]})
    site.commit("2024-02-01T10:00:00Z")


def missing_reader(site: Site) -> None:
    """Edit all articles, and read none: as if what reads them was not installed."""
    for number, name in enumerate(NAMES):
        write(site, name, number, Status="draft" if name == "ant" else "published", Note="edited")
    site.configure(READERS={"md": None})
    site.commit("2024-02-01T10:00:00Z")


def unreadable(site: Site) -> None:
    """Edit articles so that Pelican cannot read them: whether they are to be public is not known."""
    for name in NAMES[:3]:
        edit(name, Date="some day")(site)
    site.commit("2024-02-01T10:00:00Z")


@pytest.mark.promise("No mass deletion by mistake")
@pytest.mark.parametrize(
    "change",
    [
        remove("ant", "bee", "cow"),
        configured(TAG_SAVE_AS="", CATEGORY_SAVE_AS="", AUTHOR_SAVE_AS=""),
        configured(
            ARTICLE_SAVE_AS="a/{slug}.html", ARTICLE_URL="a/{slug}.html", MONTH_ARCHIVE_SAVE_AS="", TAG_SAVE_AS=""
        ),
        configured(STATIC_PATHS=[], MONTH_ARCHIVE_SAVE_AS="", YEAR_ARCHIVE_SAVE_AS=""),
        configured(PATH="content/pages", PAGE_PATHS=["."], ARTICLE_PATHS=["articles"]),
        configured(DEFAULT_PAGINATION=False, AUTHOR_SAVE_AS="", TAG_FEED_ATOM=None, CATEGORY_FEED_ATOM=None),
        shallow,
        rewritten,
        brought_back,
        edited_and_excluded,
        missing_reader,
        unreadable,
    ],
    ids=[
        "uncommitted",
        "listings",
        "urls",
        "static",
        "folder",
        "pagination",
        "shallow",
        "rewritten",
        "back",
        "excluded",
        "reader",
        "unreadable",
    ],
)
def test_what_commits_do_not_explain_stops_the_build(blog: Site, change: Change) -> None:
    """A setting, a missing folder or plug-in, and what is not committed: also beside a removal that is explained."""
    change(blog)
    message = stops(blog)
    assert "If the deletions are intended" in message
    assert "the removal may not be committed, or this clone may be shallow." in message


@pytest.mark.promise("No mass deletion by mistake")
def test_more_than_half_of_all_pages_are_always_confirmed(blog: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever explains them."""
    remove(*NAMES[:7])(blog)
    blog.commit("2024-02-01T10:00:00Z")
    message = stops(blog)
    pages = (
        7 * 5 + 3 + 3
    )  # with its tag, category, author and month; of the index and of the tag of all, the other pages
    assert f"{pages} of 54 pages are missing; explained by commits: " in message
    monkeypatch.setenv("RESOURCESYNC_ALLOW_DELETIONS", "1")
    blog.build()
