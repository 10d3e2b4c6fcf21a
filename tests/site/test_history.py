"""What history tells: small real repositories, built by real Pelican; every change as decided by hand."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.git.log import PathChange
from pelican_resourcesync.site.history import _unedited
from tests.site.support import BARE, NOW, rows, tell
from tests.sites import Row, Site

T = [f"2024-01-{day:02}T10:00:00Z" for day in range(10)]


@pytest.fixture
def bare(tmp_path: Path) -> Site:
    """Give a site of contents alone, with its settings committed on the first day."""
    site = Site.create(tmp_path / "site", **BARE)
    site.commit(T[1])
    return site


def told(site: Site, **options: Any) -> list[Row]:
    """Build a site and give the changes that its history tells."""
    return rows(tell(site, **options).changes)


def test_create_edit_delete(bare: Site) -> None:
    """The life of an article; a commit that touches no source tells nothing."""
    bare.article("a.md")
    bare.commit(T[2])
    bare.article("a.md", text="Changed.")
    bare.write("README", "nothing of the site's")
    bare.commit(T[3])
    bare.write("README", "still nothing")
    bare.commit(T[4])
    bare.remove("content/a.md")
    bare.commit(T[5])
    bare.article("b.md", "Other")
    bare.commit(T[6])
    assert told(bare) == [
        (T[2], "created", "/a-title.html"),
        (T[3], "updated", "/a-title.html"),
        (T[5], "deleted", "/a-title.html"),
        (T[6], "created", "/other.html"),
    ]


def test_nothing_but_settings(bare: Site) -> None:
    """A site of nothing has no changes."""
    assert told(bare) == []


def test_repository_may_begin_before_the_site(tmp_path: Path) -> None:
    """Commits before the first settings or sources tell nothing; the site begins when it comes."""
    site = Site.create(tmp_path / "site", **{**BARE, "DIRECT_TEMPLATES": ["index"]})
    conf = site.folder / "pelicanconf.py"
    settings = conf.read_bytes()
    conf.unlink()
    site.commit(T[1])
    conf.write_bytes(settings)
    site.commit(T[2])
    assert told(site) == [(T[2], "created", "/index.html")]


def test_rename_without_change_of_url_is_none(bare: Site) -> None:
    """A URL is what lives on: a moved file that says the same is no change, a moved and edited one is an update."""
    bare.article("a.md")
    bare.commit(T[2])
    bare.git("mv", "content/a.md", "content/b.md")
    bare.commit(T[3])
    bare.git("mv", "content/b.md", "content/c.md")
    bare.article("c.md", text="Changed.")
    bare.commit(T[4])
    assert told(bare) == [(T[2], "created", "/a-title.html"), (T[4], "updated", "/a-title.html")]


def test_rename_with_change_of_url(bare: Site) -> None:
    """A new title or slug is a new URL: one goes, one comes."""
    bare.article("a.md")
    bare.write("content/images/a.png", "image")
    bare.commit(T[2])
    bare.article("a.md", "New title")
    bare.git("mv", "content/images/a.png", "content/images/b.png")
    bare.commit(T[3])
    assert told(bare) == [
        (T[2], "created", "/a-title.html"),
        (T[2], "created", "/images/a.png"),
        (T[3], "deleted", "/a-title.html"),
        (T[3], "deleted", "/images/a.png"),
        (T[3], "created", "/images/b.png"),
        (T[3], "created", "/new-title.html"),
    ]


def test_category_move(tmp_path: Path) -> None:
    """An article that moves to another category changes its URL and both categories' pages."""
    patterns = {"ARTICLE_URL": "{category}/{slug}.html", "ARTICLE_SAVE_AS": "{category}/{slug}.html"}
    categories = {"CATEGORY_URL": "{slug}/", "CATEGORY_SAVE_AS": "{slug}/index.html", "PAGINATED_TEMPLATES": {}}
    site = Site.create(tmp_path / "site", **{**BARE, **patterns, **categories, "THEME": "mine"})
    for template in ("article", "category"):
        site.write(f"mine/templates/{template}.html", "A page")
    site.article("old/a.md")
    site.article("old/b.md", "Stays")
    site.commit(T[1])
    (site.folder / "content" / "new").mkdir()
    site.git("mv", "content/old/a.md", "content/new/a.md")
    site.commit(T[2])
    assert told(site) == [
        (T[1], "created", "/old/"),
        (T[1], "created", "/old/a-title.html"),
        (T[1], "created", "/old/stays.html"),
        (T[2], "created", "/new/"),
        (T[2], "created", "/new/a-title.html"),
        (T[2], "updated", "/old/"),
        (T[2], "deleted", "/old/a-title.html"),
    ]


def test_draft_toggles(bare: Site) -> None:
    """A draft is nothing until it is published; withdrawn or hidden, it is deleted without a reason."""
    for day, status in ((2, "draft"), (3, "published"), (4, "draft"), (5, "published"), (6, "hidden"), (7, "skip")):
        bare.article("a.md", Status=status)
        bare.commit(T[day])
    bare.article("a.md")
    bare.commit(T[8])
    kinds = [(2 + 1, "created"), (4, "deleted"), (5, "created"), (6, "deleted"), (8, "created")]
    assert told(bare) == [(T[day], kind, "/a-title.html") for day, kind in kinds]


def test_merge_of_an_old_branch(bare: Site) -> None:
    """What was written long ago lands with its merge."""
    bare.git("checkout", "-q", "-b", "side")
    bare.article("side.md", "Side")
    bare.commit(T[2])
    bare.article("side.md", "Side", "Changed.")
    bare.commit(T[3])
    bare.git("checkout", "-q", "main")
    bare.article("main.md", "Main")
    bare.commit(T[4])
    bare.git("merge", "-q", "--no-ff", "-m", "m", "side", GIT_AUTHOR_DATE=T[5], GIT_COMMITTER_DATE=T[5])
    assert told(bare) == [(T[4], "created", "/main.html"), (T[5], "created", "/side.html")]


def test_tag_page_appears_and_vanishes(tmp_path: Path) -> None:
    """A tag's page is there as long as an article has the tag."""
    site = Site.create(tmp_path / "site", **{**BARE, "TAG_SAVE_AS": "tag/{slug}.html"})
    site.article("a.md", "One")
    site.commit(T[1])
    site.article("a.md", "One", Tags="x")
    site.article("b.md", "Two", Tags="x")
    site.commit(T[2])
    site.remove("content/b.md")
    site.commit(T[3])
    site.article("a.md", "One")
    site.commit(T[4])
    assert told(site) == [
        (T[1], "created", "/one.html"),
        (T[2], "updated", "/one.html"),
        (T[2], "created", "/tag/x.html"),
        (T[2], "created", "/two.html"),
        (T[3], "updated", "/tag/x.html"),
        (T[3], "deleted", "/two.html"),
        (T[4], "updated", "/one.html"),
        (T[4], "deleted", "/tag/x.html"),
    ]


def test_settings_change_updates_pages_and_feeds(tmp_path: Path) -> None:
    """Settings show on every page and in feeds, and not in files that are copied."""
    site = Site.create(tmp_path / "site", **{**BARE, "FEED_ALL_ATOM": "all.xml"})
    site.article("a.md")
    site.write("content/images/a.png", "image")
    site.commit(T[1])
    site.configure(SITENAME="Another name")
    site.commit(T[2])
    assert told(site) == [
        (T[1], "created", "/a-title.html"),
        (T[1], "created", "/all.xml"),
        (T[1], "created", "/images/a.png"),
        (T[2], "updated", "/a-title.html"),
        (T[2], "updated", "/all.xml"),
    ]


def test_settings_of_the_past_made_other_urls(bare: Site) -> None:
    """Another URL pattern moves every article; one written before the change lived where it lived."""
    bare.article("a.md", "One")
    bare.commit(T[2])
    bare.configure(ARTICLE_URL="posts/{slug}/", ARTICLE_SAVE_AS="posts/{slug}/index.html")
    bare.commit(T[3])
    bare.article("b.md", "Two")
    bare.commit(T[4])
    assert told(bare) == [
        (T[2], "created", "/one.html"),
        (T[3], "deleted", "/one.html"),
        (T[3], "created", "/posts/one/"),
        (T[4], "created", "/posts/two/"),
    ]


def test_settings_that_could_not_be_run_change_no_url(bare: Site) -> None:
    """A commit whose settings file was broken could not be built: nothing moved there and back."""
    bare.configure(ARTICLE_URL="posts/{slug}/", ARTICLE_SAVE_AS="posts/{slug}/index.html")
    bare.article("a.md", "One")
    bare.commit(T[2])
    good = (bare.folder / "pelicanconf.py").read_bytes()
    bare.write("pelicanconf.py", good + b"<<<<<<< a conflict\n")
    bare.commit(T[3])
    bare.write("pelicanconf.py", good)
    bare.commit(T[4])
    assert {uri for _time, _kind, uri in told(bare)} == {"/posts/one/"}


def test_theme_change_updates_pages_alone(tmp_path: Path) -> None:
    """The theme shows on pages, not in feeds; its own static files are resources of their own."""
    site = Site.create(tmp_path / "site", **{**BARE, "FEED_ALL_ATOM": "all.xml", "THEME": "mine"})
    site.write("mine/templates/article.html", "One")
    site.write("mine/static/a.css", "one")
    site.article("a.md")
    site.commit(T[1])
    site.write("mine/templates/article.html", "Two")
    site.commit(T[2])
    site.write("mine/static/a.css", "two")
    site.commit(T[3])
    assert told(site) == [
        (T[1], "created", "/a-title.html"),
        (T[1], "created", "/all.xml"),
        (T[1], "created", "/theme/a.css"),
        (T[2], "updated", "/a-title.html"),
        (T[3], "updated", "/a-title.html"),
        (T[3], "updated", "/theme/a.css"),
    ]


def test_articles_without_pages_of_their_own(tmp_path: Path) -> None:
    """Where ARTICLE_SAVE_AS is empty, an article is seen on the pages that list it alone."""
    site = Site.create(tmp_path / "site", **{**BARE, "ARTICLE_SAVE_AS": "", "DIRECT_TEMPLATES": ["index"]})
    site.commit(T[1])
    site.article("a.md", "One")
    site.commit(T[2])
    site.remove("content/a.md")
    site.commit(T[3])
    assert told(site) == [(T[1], "created", "/index.html"), *((T[day], "updated", "/index.html") for day in (2, 3))]


def test_template_pages_and_static_files(tmp_path: Path) -> None:
    """A template page is where TEMPLATE_PAGES puts it; a static file where its path does."""
    site = Site.create(tmp_path / "site", **{**BARE, "TEMPLATE_PAGES": {"home.tpl": "home/index.html"}})
    site.write("content/home.tpl", "One")
    site.write("content/images/a b.png", "one")
    site.commit(T[1])
    site.write("content/home.tpl", "Two")
    site.commit(T[2])
    site.write("content/images/a b.png", "two")
    site.commit(T[3])
    assert told(site) == [
        (T[1], "created", "/home/index.html"),
        (T[1], "created", "/images/a%20b.png"),
        (T[2], "updated", "/home/index.html"),
        (T[3], "updated", "/images/a%20b.png"),
    ]


@pytest.mark.parametrize("content", ["content", "."])
def test_uncommitted_work_lands_now(tmp_path: Path, content: str) -> None:
    """Edits, additions and losses that are not committed are part of the build, and land with it."""
    site = Site.create(tmp_path / "site", **{**BARE, "PATH": content, "ARTICLE_EXCLUDES": ["output"]})
    for name in ("one", "two", "three"):
        site.article(f"{name}.md", name)
    site.commit(T[1])
    site.article("one.md", "one", "Changed.")
    site.article("four.md", "four")
    site.remove("content/two.md")
    site.git("rm", "-q", "content/three.md")
    now = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert told(site) == [
        (T[1], "created", "/one.html"),
        (T[1], "created", "/three.html"),
        (T[1], "created", "/two.html"),
        (now, "created", "/four.html"),
        (now, "updated", "/one.html"),
        (now, "deleted", "/three.html"),
        (now, "deleted", "/two.html"),
    ]


def test_uncommitted_source_that_cannot_be_parsed_is_unknown(bare: Site) -> None:
    """Work that is not done yet is counted, and stops nothing."""
    bare.article("a.md", "One")
    bare.commit(T[2])
    bare.write("content/b.md", "No metadata yet")
    history = tell(bare)
    assert (rows(history.changes), history.unknown) == ([(T[2], "created", "/one.html")], 1)


def test_uncommitted_settings_count(bare: Site) -> None:
    """Settings that are not committed moved the articles with this build."""
    bare.article("a.md", "One")
    bare.commit(T[2])
    bare.configure(ARTICLE_URL="posts/{slug}/", ARTICLE_SAVE_AS="posts/{slug}/index.html")
    now = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert told(bare) == [
        (T[2], "created", "/one.html"),
        (now, "deleted", "/one.html"),
        (now, "created", "/posts/one/"),
    ]


def test_uncommitted_work_lands_after_the_last_commit(bare: Site) -> None:
    """A build whose clock is behind the last commit is not before it."""
    bare.article("a.md", "One")
    bare.commit(T[5])
    bare.article("b.md", "Two")
    history = tell(bare, now=datetime(2024, 1, 5, 9, tzinfo=UTC))
    assert [(each.time, each.uri[-9:]) for each in history.changes] == [
        (datetime(2024, 1, 5, 10, tzinfo=UTC), "/one.html"),
        (datetime(2024, 1, 5, 10, 0, 0, 1000, tzinfo=UTC), "/two.html"),
    ]


def test_begin(bare: Site) -> None:
    """What came before the commit to begin at counts as having come with it; what was gone by then is not named."""
    bare.article("a.md", "One")
    bare.article("gone.md", "Gone")
    bare.commit(T[2])
    bare.remove("content/gone.md")
    bare.article("a.md", "One", "Changed.")
    begin = bare.commit(T[3])
    bare.article("b.md", "Two")
    last = bare.commit(T[4])
    assert told(bare, begin=begin) == [(T[3], "created", "/one.html"), (T[4], "created", "/two.html")]
    assert told(bare, begin=last) == [(T[4], "created", "/one.html"), (T[4], "created", "/two.html")]


def test_begin_off_the_branch_is_an_error(bare: Site) -> None:
    """A commit of a merged branch is none at which the site's history could begin."""
    bare.git("checkout", "-q", "-b", "side")
    bare.article("a.md")
    begin = bare.commit(T[2])
    bare.git("checkout", "-q", "main")
    bare.git("merge", "-q", "--no-ff", "-m", "m", "side")
    with pytest.raises(
        HistoryError, match=rf"^'history' names the commit {begin}, which is not on the published branch"
    ):
        tell(bare, begin=begin)


def test_source_that_cannot_be_parsed_is_unknown(bare: Site) -> None:
    """A past state that Pelican could not read is counted, and no URL is guessed."""
    bare.write("content/a.md", "No metadata at all")
    bare.commit(T[2])
    bare.article("a.md", "One")
    bare.commit(T[3])
    history = tell(bare)
    assert rows(history.changes) == [(T[3], "created", "/one.html")]
    assert (history.unknown, history.planned) == (1, 0)


def test_blob_that_is_not_there_is_unknown(bare: Site) -> None:
    """A past state that the repository lacks is counted, and the rest of the history told."""
    bare.article("a.md", "One")
    bare.commit(T[2])
    blob = bare.git("rev-parse", "HEAD:content/a.md")
    bare.article("a.md", "One", "Changed.")
    bare.commit(T[3])
    (bare.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    history = tell(bare)
    assert rows(history.changes) == [(T[3], "created", "/one.html")]
    assert history.unknown == 1


def test_source_that_git_does_not_know(bare: Site) -> None:
    """What has no source in git counts the settings and the theme as its sources."""
    bare.write(".gitignore", "output/\n__pycache__/\ncontent/images\n")
    bare.write("content/images/a.png", "generated")
    bare.article("a.md", "One")
    bare.commit(T[2])
    bare.configure(SITENAME="Another name")
    bare.commit(T[3])
    assert [row for row in told(bare) if row[2] != "/one.html"] == [
        (T[1], "created", "/images/a.png"),
        (T[3], "updated", "/images/a.png"),
    ]


def test_link_counts_as_what_it_leads_to_and_a_missing_submodule_as_nothing(bare: Site) -> None:
    """What a link leads to is there by two names; what a submodule holds that is not here cannot be known."""
    bare.write("elsewhere.md", "Title: Linked\nDate: 2024-01-01\n")
    (bare.folder / "content" / "link.md").symlink_to("../elsewhere.md")
    bare.article("a.md", "One")
    bare.git("update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},content/module")
    (bare.folder / "content" / "module").mkdir()
    bare.commit(T[2])
    assert told(bare) == [(T[2], "created", "/linked.html"), (T[2], "created", "/one.html")]


def test_url_that_the_build_did_not_write_is_not_named(bare: Site) -> None:
    """Where a plug-in kept the build from writing what the rules name, nothing is said of it."""
    bare.article("a.md", "One")
    bare.article("b.md", "Two")
    bare.commit(T[2])

    def drop(generator: Any) -> None:
        generator.articles = [each for each in generator.articles if each.title != "Two"]

    from pelican import signals

    with signals.article_generator_finalized.connected_to(drop):
        history = tell(bare)
    assert rows(history.changes) == [(T[2], "created", "/one.html")]
    assert history.planned == 1


FUTURE = {"WITH_FUTURE_DATES": False}


def test_future_article_appears_with_the_first_commit_after_its_date(tmp_path: Path) -> None:
    """Where future dates wait, an article is public with the first build after its date, as far as history knows."""
    site = Site.create(tmp_path / "site", **{**BARE, **FUTURE})
    site.article("a.md", "One", Date="2024-01-03")
    site.article("b.md", "Two", Date="2024-01-01")
    site.commit(T[1])
    site.commit(T[2])
    site.commit(T[4])
    assert told(site) == [(T[1], "created", "/two.html"), (T[4], "created", "/one.html")]


def test_future_article_that_nothing_follows_appears_at_its_date(tmp_path: Path) -> None:
    """Without a commit after its date, it appears at that, as a build of every day would have shown."""
    site = Site.create(tmp_path / "site", **{**BARE, **FUTURE})
    site.article("a.md", "One", Date="2024-01-03 09:00")
    site.article("b.md", "Two", Date="2024-01-02 09:00")
    site.commit(T[1])
    times = [("2024-01-02T09:00:00Z", "/two.html"), ("2024-01-03T09:00:00Z", "/one.html")]
    assert told(site) == [(time, "created", uri) for time, uri in times]


def test_future_article_waits_through_edits_and_modes(tmp_path: Path) -> None:
    """Edits of a waiting article tell nothing, a change of its file's mode does not lose it, and it may be dropped."""
    site = Site.create(tmp_path / "site", **{**BARE, **FUTURE})
    for name in ("one", "two"):
        site.article(f"{name}.md", name, Date="2024-01-05")
    site.commit(T[1])
    site.article("one.md", "one", "Changed.", Date="2024-01-05")
    site.remove("content/two.md")
    site.commit(T[2])
    (site.folder / "content" / "one.md").chmod(0o755)
    site.commit(T[3])
    site.commit(T[6])
    assert told(site) == [(T[6], "created", "/one.html")]


def test_article_that_still_waits_is_not_named(tmp_path: Path) -> None:
    """What is not public yet is nobody's business."""
    site = Site.create(tmp_path / "site", **{**BARE, **FUTURE})
    site.article("a.md", "One", Date="2424-01-03")
    site.commit(T[1])
    history = tell(site)
    assert (history.changes, history.planned) == ([], 0)


def test_site_in_a_subdirectory(tmp_path: Path) -> None:
    """Where the repository holds more than the site, only the site's part is told."""
    top = tmp_path / "top"
    site = Site.create(top / "docs", **BARE)
    (top / "docs" / ".git").rename(top / ".git")
    site.article("a.md", "One")
    (top / "content").mkdir()
    (top / "content" / "b.md").write_text("Title: Not of the site\nDate: 2024-01-01\n")
    site.git("add", "--all", str(top))
    site.commit(T[1])
    assert told(site) == [(T[1], "created", "/one.html")]


def test_odd_names(bare: Site) -> None:
    """Spaces, other scripts, percent signs and bytes that are no text are names like others."""
    for name in (b"two words.png", "größe.png".encode(), b"100%.png", b"caf\xe9.png"):
        bare.write(os.fsdecode(b"content/images/" + name), "image")
    bare.commit(T[2])
    assert {uri for _time, _kind, uri in told(bare)} == {
        "/images/two%20words.png",
        "/images/gr%C3%B6%C3%9Fe.png",
        "/images/100%25.png",
        "/images/caf%E9.png",
    }


def test_sources_that_never_changed() -> None:
    """Not those that were edited, went, came again, or came where another went, under whose name they may have been."""

    def came(path: str, name: str = "1") -> PathChange:
        return PathChange(path, None, name)

    def went(path: str) -> PathChange:
        return PathChange(path, "1", None)

    commits = [
        [came("stays"), came("edited"), came("goes"), came("again")],
        [PathChange("edited", "1", "2"), came("later")],
        [went("goes"), came("moved")],
        [went("again")],
        [came("again", "3"), came("last")],
        [],
    ]
    assert _unedited(commits) == {"stays", "later", "last"}
