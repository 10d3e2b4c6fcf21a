"""Contents: what sources are to Pelican, by hand and compared with Pelican's own objects."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from pelican import signals

from pelican_resourcesync.site.content import Content, Descending
from pelican_resourcesync.site.contents import Contents, quiet_reading
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import Shown, View
from tests.site.support import SITEURL, built, configured, contents_of
from tests.sites import Site

HEAD = "Title: A title\nDate: 2024-01-02 10:00\n"


@contextmanager
def reading(site: Site, **overrides: Any) -> Iterator[Contents]:
    """Give the contents of a site."""
    with Contents(configured(site, **overrides), SITEURL, {}) as contents, quiet_reading():
        yield contents


def read(
    site: Site, source: str = HEAD, path: str = "a.md", role: Role = Role.ARTICLE, **overrides: Any
) -> Content | None:
    """Read one source."""
    with reading(site, **overrides) as contents:
        return contents.read(path, role, "blob", source.encode())


def uri(site: Site, source: str = HEAD, path: str = "a.md", role: Role = Role.ARTICLE, **overrides: Any) -> str | None:
    """Give the path of the URI of one source."""
    content = read(site, source, path, role, **overrides)
    return None if content is None else content.uri.removeprefix(SITEURL)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (HEAD, "/a-title.html"),
        (HEAD + "Slug: own", "/own.html"),
        (HEAD + "Lang: fr", "/a-title-fr.html"),
        (HEAD + "URL: x/\nSave_as: x/index.html", "/x/"),
        (HEAD + "Status: draft", "/drafts/a-title.html"),
        (HEAD + "Status: hidden", "/a-title.html"),
        ("Title: Größe & 漢字\nDate: 2024-01-01", "/grosse-han-zi.html"),
        ("Title: A title", None),
        ("Date: 2024-01-02", None),
        (HEAD + "Status: unheard of", None),
        ("Title: A title\nDate: yesterday, perhaps", None),
        (HEAD + "Save_as: ../outside.html", None),
        ("", None),
    ],
)
def test_articles(site: Site, source: str, path: str | None) -> None:
    """Where an article is published; nothing of one that Pelican would not take."""
    assert uri(site, source) == path


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (
            {"ARTICLE_URL": "{date:%Y}/{category}/{slug}", "ARTICLE_SAVE_AS": "{date:%Y}/{category}/{slug}.html"},
            "/2024/news/a-title",
        ),
        ({"SLUGIFY_SOURCE": "basename"}, "/2023-05-06-x.html"),
        ({"FILENAME_METADATA": r"(?P<date>\d{4}-\d{2}-\d{2})-(?P<slug>.*)"}, "/x.html"),
        ({"PATH_METADATA": r"(?P<slug>.*?)/.*"}, "/news.html"),
        ({"EXTRA_PATH_METADATA": {"news": {"save_as": "y.html", "url": "y.html"}}}, "/y.html"),
        ({"SLUG_REGEX_SUBSTITUTIONS": [(r"\W+", "_")]}, "/a_title.html"),
        ({"SLUGIFY_PRESERVE_CASE": True}, "/A-title.html"),
        ({"DEFAULT_LANG": "de"}, "/a-title.html"),
        ({"ARTICLE_URL": "{slug} {lang}", "ARTICLE_SAVE_AS": "{slug} {lang}.html"}, "/a-title%20en"),
    ],
)  # fmt: skip
def test_settings_make_urls(site: Site, overrides: dict[str, Any], path: str) -> None:
    """Metadata of the path, slugs and URL patterns work as in Pelican."""
    assert uri(site, HEAD, "news/2023-05-06-x.md", **overrides) == path


def test_pages_and_static_files(site: Site) -> None:
    """A page needs a title alone, a static file no bytes at all."""
    assert uri(site, "Title: About", "pages/about.md", Role.PAGE) == "/pages/about.html"
    assert uri(site, "Title: About\nStatus: draft", "pages/about.md", Role.PAGE) == "/drafts/pages/about.html"
    with reading(site, EXTRA_PATH_METADATA={"extra/robots.txt": {"path": "robots.txt"}}) as contents:
        for path, expected in (("images/a b.png", "images/a%20b.png"), ("extra/robots.txt", "robots.txt")):
            content = contents.read(path, Role.STATIC, "blob", None)
            assert content is not None
            assert content.uri == f"{SITEURL}/{expected}"


@pytest.mark.parametrize(
    ("status", "published"), [("published", True), ("draft", False), ("hidden", False), ("skip", False)]
)
def test_only_published_contents_are_public(site: Site, status: str, published: bool) -> None:
    """Drafts, hidden and skipped contents are known, and are no resources."""
    content = read(site, f"{HEAD}Status: {status}")
    assert content is not None
    assert content.published is published


def test_what_is_not_written_has_no_uri(site: Site) -> None:
    """Without ARTICLE_SAVE_AS nothing is written, and listings show the article all the same."""
    content = read(site, ARTICLE_SAVE_AS="", OUTPUT_SOURCES=True)
    assert content is not None
    assert (content.uri, content.copies, content.published) == ("", (), True)
    assert content.listings


def test_missing_bytes_are_unknown(site: Site) -> None:
    """A source that a partial clone lacks is unknown, until its bytes can be had."""
    with reading(site) as contents:
        assert not contents.knows("a.md", Role.ARTICLE, "blob")
        assert contents.read("a.md", Role.ARTICLE, "blob", None) is None
        assert not contents.knows("a.md", Role.ARTICLE, "blob")
        assert contents.read("a.md", Role.ARTICLE, "blob", HEAD.encode()) is not None
        assert contents.knows("a.md", Role.ARTICLE, "blob")
        assert contents.knows("a.png", Role.STATIC, "any")


def test_sources_are_read_once(site: Site) -> None:
    """The same blob at the same path is the same content; at another path it is another."""
    with reading(site) as contents:
        one = contents.read("a.md", Role.ARTICLE, "blob", HEAD.encode())
        assert contents.read("a.md", Role.ARTICLE, "blob", None) is one
        assert contents.read("b.md", Role.ARTICLE, "blob", HEAD.encode()) is not one


def test_formats_without_a_quick_reader_are_files(site: Site) -> None:
    """A source in reStructuredText is read from a file, below any folder, which is gone afterwards."""
    source = "A title\n=======\n\n:date: 2024-01-01\n"
    assert uri(site, source, "deep/below/a.rst") == "/a-title.html"
    assert uri(site, source, "new\nline/ü.rst") == "/a-title.html"
    assert (
        uri(site, "<head><title>A page</title><meta name=date content=2024-01-01></head>", "a.html") == "/a-page.html"
    )


@pytest.mark.parametrize("date", ["fs", None])
def test_default_date(site: Site, date: str | None) -> None:
    """The time of a file says nothing of the past: without a date, an article of then is unknown."""
    assert uri(site, "Title: A title", DEFAULT_DATE=date) is None
    assert uri(site, HEAD, DEFAULT_DATE=date) == "/a-title.html"


def test_default_date_of_the_settings(site: Site) -> None:
    """A date in the settings counts for all articles that have none."""
    overrides: dict[str, Any] = {"ARTICLE_URL": "{date:%Y-%m}", "ARTICLE_SAVE_AS": "{date:%Y-%m}.html"}
    assert uri(site, "Title: A title", DEFAULT_DATE=(2023, 4, 5), **overrides) == "/2023-04"
    assert uri(site, "Title: A title", DEFAULT_DATE="2022-03-04", **overrides) == "/2022-03"


def test_future_dates(site: Site) -> None:
    """Where future dates wait, the content says from when on it is public, in UTC; a draft waits for nothing."""
    source = "Title: A title\nDate: 2124-01-02 10:00\n"
    content = read(site, source, WITH_FUTURE_DATES=False, TIMEZONE="America/New_York")
    assert content is not None
    assert (content.published, content.appears) == (True, datetime(2124, 1, 2, 15, tzinfo=UTC))
    everywhere = read(site, source)
    assert everywhere is not None
    assert everywhere.appears is None
    draft = read(site, "Title: T\nStatus: draft", WITH_FUTURE_DATES=False, TIMEZONE="America/New_York")
    assert draft is not None
    assert (draft.published, draft.appears) == (False, None)


def test_version_is_equal_only_for_what_shows_the_same(site: Site) -> None:
    """The bytes, and what was made of the path, are what a page shows."""
    with reading(site) as contents:
        first = contents.read("x/a.md", Role.ARTICLE, "blob", HEAD.encode())
        assert first is not None
        for path, name, same in (("x/b.md", "blob", True), ("y/a.md", "blob", False), ("x/a.md", "other", False)):
            other = contents.read(path, Role.ARTICLE, name, HEAD.encode())
            assert other is not None
            assert (other.version == first.version) is same


def test_translations(site: Site) -> None:
    """What makes a family, an original and a marked translation."""
    french, marked = read(site, HEAD + "Lang: fr"), read(site, HEAD + "Translation: true")
    assert french is not None
    assert marked is not None
    assert (french.family, french.original, french.marked_translation, french.lang) == (
        ("a-title",),
        False,
        False,
        "fr",
    )
    assert (marked.original, marked.marked_translation) == (True, True)
    other = read(site, HEAD, ARTICLE_TRANSLATION_ID=["slug", "category"])
    assert other is not None
    assert other.family is not None
    assert [str(each) for each in other.family] == ["misc", "a-title"]
    alone = read(site, HEAD, ARTICLE_TRANSLATION_ID=None)
    assert alone is not None
    assert alone.family is None


def test_copies_of_sources(site: Site) -> None:
    """OUTPUT_SOURCES puts a copy beside each page."""
    content = read(site, OUTPUT_SOURCES=True, OUTPUT_SOURCES_EXTENSION=".src.txt")
    assert content is not None
    assert content.copies == (f"{SITEURL}/a-title.src.txt",)


@pytest.mark.parametrize(
    "order_by",
    ["reversed-date", "date", "title", "reversed-title", "basename", "reversed-basename", "slug", "none", len],
)
def test_order_is_that_of_pelican(site: Site, order_by: str | Callable[[Any], Any]) -> None:
    """Articles are listed in Pelican's order, ties by slug."""
    for number, (title, day) in enumerate([("b", 3), ("a", 1), ("B x", 2), ("a 2", 3), ("Ä y", 1), ("z", 3)]):
        site.article(f"{(number * 5) % 6}.md", title, Date=f"2024-01-0{day}")
    order = (lambda article: article.title[::-1]) if callable(order_by) else order_by
    run = built(site, ARTICLE_ORDER_BY=order)
    (articles,) = [each.articles for each in run.generators if hasattr(each, "articles")]
    with reading(site, ARTICLE_ORDER_BY=order) as contents:
        ours = sorted(contents_of(site.folder / "content", contents), key=lambda content: content.order)
    assert [content.source for content in ours] == [article.get_relative_source_path() for article in articles]


def test_descending_sorts_the_other_way_round() -> None:
    """As `sorted(reverse=True)` would, one value at a time."""
    assert [each.value for each in sorted(map(Descending, "bca"))] == ["c", "b", "a"]
    assert Descending(1) == Descending(1)
    assert Descending(1) != 1


def test_log_is_kept_out(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """While the past is read nobody is warned; afterwards all is as before."""
    disabled = logging.root.manager.disable
    with Contents(configured(site), SITEURL, {}) as contents:
        with quiet_reading():
            contents.read("a.md", Role.ARTICLE, "one", (HEAD + "Status: odd").encode())
        assert caplog.records == []
        contents.read("a.md", Role.ARTICLE, "two", (HEAD + "Status: odd").encode())
    assert caplog.records
    assert logging.root.manager.disable == disabled


def test_plugins_are_heard(site: Site) -> None:
    """A plug-in that sets the status of contents does so for the past too."""

    def hide(content: Any) -> None:
        content.status = "hidden"

    with signals.content_object_init.connected_to(hide), reading(site) as contents:
        content = contents.read("a.md", Role.ARTICLE, "blob", HEAD.encode())
        assert content is not None
        assert not content.published


def test_plugin_that_needs_a_body_is_passed_over(site: Site) -> None:
    """A plug-in that fails on a source without its body does not make the source unknown."""

    def fail(content: Any) -> None:
        raise ValueError(content)

    with signals.content_object_init.connected_to(fail):
        assert uri(site) == "/a-title.html"


def pelican_object(site: Site, path: str) -> Any:
    """Build a site and give Pelican's own object for an article."""
    (articles,) = [each.articles for each in built(site).generators if hasattr(each, "articles")]
    return next(each for each in articles if each.get_relative_source_path() == path)


def test_pin_moves_what_the_rules_say_of_today(site: Site) -> None:
    """Where a plug-in moved an article, its other states with the same URI by the rules are moved as well."""
    site.article("a.md")
    found = pelican_object(site, "a.md")
    moved = f"{SITEURL}/moved/a-title/"
    data = (site.folder / "content" / "a.md").read_bytes()
    with reading(site) as contents:
        contents.pin(("a.md", "now", Role.ARTICLE), moved, found, lambda: data)
        states = {"now": data, "then": data + b"More.", "renamed": b"Title: Other\nDate: 2024-01-01"}
        uris = {}
        for name, state in states.items():
            content = contents.read("a.md", Role.ARTICLE, name, state)
            uris[name] = content.uri if content else None
        assert uris == {"now": moved, "then": moved, "renamed": f"{SITEURL}/other.html"}


def test_pin_of_what_the_rules_cannot_say(site: Site) -> None:
    """A source that only a plug-in can read is where the build put it, in each state that cannot be read."""
    with reading(site) as contents:
        contents.pin(("a.md", "now", Role.ARTICLE), f"{SITEURL}/x/", None, lambda: b"no metadata")
        now = contents.read("a.md", Role.ARTICLE, "now", b"no metadata")
        then = contents.read("a.md", Role.ARTICLE, "then", b"none either")
        readable = contents.read("a.md", Role.ARTICLE, "readable", HEAD.encode())
        assert [each.uri for each in (now, then, readable) if each] == [f"{SITEURL}/x/"] * 2 + [
            f"{SITEURL}/a-title.html"
        ]


def test_pin_says_what_an_unreadable_source_is(site: Site) -> None:
    """What a plug-in alone can read is listed as the build has it, and each state of it shows another thing."""
    site.article("a.md", "A title", "Text of it.", Category="mills", Tags="wood")
    found = pelican_object(site, "a.md")
    views = {"index": View({Role.ARTICLE: Shown(words=5)})}
    with Contents(configured(site), SITEURL, {}, views) as contents, quiet_reading():
        contents.pin(("a.md", "now", Role.ARTICLE), f"{SITEURL}/x/", found, lambda: b"no metadata")
        now = contents.read("a.md", Role.ARTICLE, "now", b"no metadata")
        then = contents.read("a.md", Role.ARTICLE, "then", b"none either")
        again = contents.read("a.md", Role.ARTICLE, "again", b"nor here")
    assert now
    assert then
    assert again
    assert (
        (then.uri, then.title, then.template)
        == (now.uri, now.title, now.template)
        == (f"{SITEURL}/x/", "A title", "article")
    )
    assert {each.template for each in then.listings} >= {"index", "category", "tag"}
    assert then.listings == now.listings
    assert len({each.version for each in (now, then, again)}) == 3
    assert len({each.shows(Shown(words=5)) for each in (now, then, again)}) == 3
    assert then.shows(Shown(words=0)) == again.shows(Shown(words=0)) == now.shows(Shown(words=0))


def test_pin_of_other_settings_says_the_address_alone(site: Site) -> None:
    """Under other settings, what the build made of a source is not what it was."""
    site.article("a.md", "A title")
    found, pins = pelican_object(site, "a.md"), dict[Any, Any]()
    with (
        Contents(configured(site), SITEURL, pins) as now,
        Contents(configured(site, DEFAULT_LANG="fr"), SITEURL, pins) as then,
        quiet_reading(),
    ):
        now.pin(("a.md", "now", Role.ARTICLE), f"{SITEURL}/x/", found, lambda: b"no metadata")
        content = then.read("a.md", Role.ARTICLE, "then", b"none either")
    assert content
    assert (content.uri, content.version, content.title, content.listings) == (f"{SITEURL}/x/", ("then",), "", ())
