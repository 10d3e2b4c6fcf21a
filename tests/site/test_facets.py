"""Facets: what contents and listings are filed under."""

from collections.abc import Iterator
from typing import Any

import pytest
from pelican.settings import DEFAULT_CONFIG, read_settings
from pelican.urlwrappers import Category, Tag

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.contents import Contents, quiet_reading
from pelican_resourcesync.site.facets import UNFILED, Facets, Filing
from pelican_resourcesync.site.listings import Listing
from pelican_resourcesync.site.plan import Plan
from pelican_resourcesync.site.records import Records
from pelican_resourcesync.site.roles import Role
from tests.site.support import SITEURL

SETTINGS: dict[str, Any] = {
    "PATH": ".",
    "SITEURL": SITEURL,
    "TIMEZONE": "UTC",
    "PLUGINS": [],
    "OUTPUT_SOURCES": True,
    "CATEGORY_FEED_ATOM": "feeds/{slug}.xml",
    "TAG_FEED_RSS": "feeds/tags.xml",
    "TRANSLATION_FEED_ATOM": "feeds/all-{lang}.xml",
    "DEFAULT_PAGINATION": 1,
}


@pytest.fixture
def contents() -> Iterator[Contents]:
    """Give the contents of a site with all kinds of listings."""
    with Contents(read_settings(override=SETTINGS), SITEURL, {}) as contents, quiet_reading():
        yield contents


def read(contents: Contents, path: str, **metadata: str) -> Content:
    """Read an article or a page."""
    head = {"Title": path.rpartition("/")[2], "Date": "2024-01-01", "Slug": "slug", **metadata}
    source = "".join(f"{name}: {value}\n" for name, value in head.items())
    role = contents.roles.of(path)
    assert role
    content = contents.read(path, role, source, source.encode())
    assert content
    return content


def test_an_article_has_all(contents: Contents) -> None:
    """Names become slugs, each once, in their order; what makes no slug is none; a language is in small letters."""
    article = read(contents, "a.md", Category="Über uns", Tags="Zwei, eins, EINS, ???", Lang="pt-BR")
    assert (article.category, article.tags) == ("Über uns", ("Zwei", "eins", "EINS", "???"))
    assert Filing(contents.settings).of(article) == Facets("uber-uns", ("zwei", "eins"), "pt-br")


def test_a_page_has_no_category(contents: Contents) -> None:
    """Pelican gives it one and lists it under none."""
    page = read(contents, "pages/a.md", Category="News", Tags="a")
    assert Filing(contents.settings).of(page) == Facets(tags=("a",), language="en")


def test_a_static_file_has_nothing() -> None:
    """Nor has what the theme holds."""
    assert Filing(DEFAULT_CONFIG).of(Content("a.png", Role.STATIC, f"{SITEURL}/a.png", ("blob",))) == UNFILED


def test_what_is_remembered_is_filed_the_same(contents: Contents) -> None:
    """A record of a content has the names that it is filed under."""
    records = Records(contents.settings, contents.listings)
    article = read(contents, "a.md", Category="News", Tags="b, A")
    record = records.record(article, _Found(contents, "News", ["b", "A"]))
    again = records.content(record, "a.md", Role.ARTICLE)
    assert again is not None
    assert (again.category, again.tags) == (article.category, article.tags) == ("News", ("b", "A"))


class _Found:
    """What of an object of Pelican's a record is made of, as the readers of Pelican make it."""

    def __init__(self, contents: Contents, category: str, tags: list[str]) -> None:
        self.category = Category(category, contents.settings)
        self.tags = [Tag(tag, contents.settings) for tag in tags]


def filed(plan: Plan) -> dict[str, Facets]:
    """Give what is filed anew, by the paths of the URIs."""
    return {uri.removeprefix(SITEURL): facets for uri, facets in plan.refiled().items()}


def test_a_plan_says_what_is_filed(contents: Contents) -> None:
    """Pages, their sources, listings page by page and feeds, each once; what lists everything is under nothing."""
    plan = Plan(contents.listings, {}, Filing(contents.settings))
    one = read(contents, "1.md", Slug="one", Category="News", Tags="a")
    two = read(contents, "2.md", Slug="two", Category="News", Lang="de")
    plan.change([], [one, two])
    found = filed(plan)
    nothing = {uri for uri, facets in found.items() if facets == UNFILED}
    assert {uri: facets for uri, facets in found.items() if uri not in nothing} == {
        "/one.html": Facets("news", ("a",), "en"),
        "/one.text": Facets("news", ("a",), "en"),
        "/two-de.html": Facets("news", (), "de"),
        "/two-de.text": Facets("news", (), "de"),
        "/category/news.html": Facets("news"),
        "/category/news2.html": Facets("news"),
        "/feeds/news.xml": Facets("news"),
        "/feeds/all-en.xml": Facets(language="en"),
        "/feeds/all-de.xml": Facets(language="de"),
        "/feeds/tags.xml": Facets(tags=("a",)),
        "/tag/a.html": Facets(tags=("a",)),
    }
    assert nothing >= {"/index.html", "/archives.html", "/feeds/all.atom.xml"}
    assert filed(plan) == {}
    moved = read(contents, "1.md", Slug="one", Category="Olds", Tags="a")
    plan.change([one], [moved])
    assert filed(plan) == {
        "/one.html": Facets("olds", ("a",), "en"),
        "/one.text": Facets("olds", ("a",), "en"),
        "/category/olds.html": Facets("olds"),
        "/feeds/olds.xml": Facets("olds"),
    }


def test_a_plan_that_is_not_asked_says_nothing(contents: Contents) -> None:
    """Nothing is kept for nobody."""
    plan = Plan(contents.listings, {})
    plan.change([], [read(contents, "1.md")])
    assert plan.refiled() == {}


def test_a_listing_of_several_names_is_under_none() -> None:
    """One file for all tags is of no tag; two ways to write a name are one."""
    filing = Filing(DEFAULT_CONFIG)
    listing = Listing("all.xml", "all.xml", "atom")
    assert filing.of_listing(listing) == UNFILED
    listing.of.add(("tag", "A b"))
    assert filing.of_listing(listing) == Facets(tags=("a-b",))
    listing.of.add(("tag", "a B"))
    assert filing.of_listing(listing) == Facets(tags=("a-b",))
    listing.of.add(("category", "a b"))
    assert filing.of_listing(listing) == UNFILED


def test_a_listing_of_an_author_is_under_nothing() -> None:
    """Nobody selects by authors."""
    listing = Listing("ann.html", "ann.html", "author")
    listing.of.add(("author", "Ann"))
    assert Filing(DEFAULT_CONFIG).of_listing(listing) == UNFILED
