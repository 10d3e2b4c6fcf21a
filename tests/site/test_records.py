"""Records: what a cache keeps of a content is all of it."""

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pelican.contents import Article
from pelican.urlwrappers import Author, Category, Tag
from pelican.utils import SafeDatetime

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.contents import Contents, _order, quiet_reading
from pelican_resourcesync.site.records import Records
from pelican_resourcesync.site.roles import Role
from tests.site.support import SITEURL, configured
from tests.sites import Site

ARTICLE = """\
Title: A *title*
Date: 2024-02-03 10:00
Modified: 2024-02-04
Tags: one, Twø
Authors: Ann; Bo
Category: {category}
Place: 7
Summary: In [short].
Lang: {lang}

A text with a {{filename}}/other.md [link]({{filename}}/other.md) of many words.

[short]: https://example.org/
"""
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "all listings": {
        "DAY_ARCHIVE_SAVE_AS": "{date:%Y/%j}.html",
        "MONTH_ARCHIVE_SAVE_AS": "{date:%Y/%m}.html",
        "AUTHOR_FEED_ATOM": "feeds/{slug}.xml",
        "TAG_FEED_RSS": "feeds/tag-{slug}.xml",
        "OUTPUT_SOURCES": True,
    },
    "by the title": {"ARTICLE_ORDER_BY": "title", "PAGE_ORDER_BY": "reversed-title"},
    "by the date": {"ARTICLE_ORDER_BY": "date", "TIMEZONE": "Asia/Kathmandu"},
    "by the name": {"ARTICLE_ORDER_BY": "reversed-basename"},
    "by a number": {"ARTICLE_ORDER_BY": lambda article: -int(article.metadata.get("place", 0))},
    "by nothing": {"ARTICLE_ORDER_BY": None, "ARTICLE_TRANSLATION_ID": None},
    "translations": {"ARTICLE_TRANSLATION_ID": {"slug", "lang"}, "DEFAULT_LANG": "de"},
    "not yet": {"WITH_FUTURE_DATES": False},
}


def values(content: Content) -> dict[str, object]:
    """Give all that a content is; of an order that is no value, what it compares."""
    found = {each.name: getattr(content, each.name) for each in fields(content) if not each.name.startswith("_")}
    return {**found, "order": [getattr(each, "value", each) for each in content.order or ()]}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("category", "lang"), [("Pears", "en"), ("Ünd so", "de")])
def test_what_is_recalled_is_what_was_read(site: Site, name: str, category: str, lang: str) -> None:
    """Under many settings, an article, a page and a draft are the same from the cache as from their bytes."""
    settings = configured(site, **SETTINGS[name])
    text = ARTICLE.format(category=category, lang=lang).encode()
    sources = [
        ("blog/a.md", Role.ARTICLE, text),
        ("blog/b.md", Role.ARTICLE, b"Title: B\nDate: 2999-01-01\nStatus: draft\n\n"),
        ("pages/c.md", Role.PAGE, b"Title: C\nSave_as: c.html\nUrl: c/\n\nWords."),
    ]
    with Contents(settings, SITEURL, {}) as contents, quiet_reading():
        for path, role, data in sources:
            content = contents.read(path, role, "0" * 40, data)
            assert content is not None
            key = (path, "0" * 40, role)
            recalled = contents._recall(key)
            assert recalled is not None
            assert recalled is not content
            assert values(recalled) == values(content)


@pytest.fixture
def records(site: Site) -> Records:
    """Give what makes records under the settings of a site."""
    settings = configured(site)
    with Contents(settings, SITEURL, {}) as contents:
        return Records(settings, contents.listings)


def found(site: Site, **metadata: Any) -> Article:
    """Give Pelican's own object of an article with this metadata."""
    settings = configured(site)
    metadata = {"title": "A", "category": Category("Pears", settings), **metadata}
    return Article("", metadata, settings, "a.md", {})


def content(**values: Any) -> Content:
    """Give a content that is as plain as can be."""
    return Content("a.md", Role.ARTICLE, f"{SITEURL}/a.html", **{"version": ("0" * 40,), **values})


class Own(Tag):  # type: ignore[misc]  # Pelican carries no types
    """A tag of a plug-in's making."""


def test_what_a_plug_in_makes_otherwise_has_no_record(site: Site, records: Records) -> None:
    """A category whose slug is not that of its name, or a tag of another kind, cannot be told from a name."""
    settings = configured(site)
    assert records.record(content(), found(site, tags=[Tag("one", settings)])) is not None
    assert records.record(content(), found(site, tags=[Own("one", settings)])) is None
    other = Category("Pears", settings)
    other.slug = "fruit"
    assert records.record(content(), found(site, category=other)) is None
    author = Author("Ann", settings)
    author.slug = "anne"
    assert records.record(content(), found(site, authors=[author])) is None


def test_listings_of_a_date_that_its_text_does_not_give(site: Site) -> None:
    """An archive that is named by the zone of a date is another where only the zone's distance is known."""
    settings = configured(site, YEAR_ARCHIVE_SAVE_AS="{date:%Z}.html", TIMEZONE="Asia/Tokyo")
    with Contents(settings, SITEURL, {}) as contents, quiet_reading():
        assert contents.read("a.md", Role.ARTICLE, "0" * 40, b"Title: A\nDate: 2024-01-01\n\n")
        assert contents._recall(("a.md", "0" * 40, Role.ARTICLE)) is None


@pytest.mark.parametrize(
    "values",
    [
        {"version": ("0" * 40, Path("a"))},
        {"family": (object(),)},
        {"order": (Role.ARTICLE, "float", float("nan"), "a", "a.md")},
        {"order": (Role.ARTICLE, "Path", Path("a"), "a", "a.md")},
    ],
)
def test_what_no_text_gives_back_has_no_record(site: Site, records: Records, values: dict[str, Any]) -> None:
    """Objects, and numbers that are none."""
    assert records.record(content(**values), found(site)) is None


@pytest.mark.parametrize(
    "record",
    [None, 7, [], "", "null", "[]", "[1,2,3,4,5,6,7]", "[" * 100_000, '{"a": 1}', "[[],[],null,null,{},{},[]]"],
)
def test_what_is_no_record_is_no_content(records: Records, record: object) -> None:
    """Nobody vouches for a cache."""
    assert records.content(record, "a.md", Role.ARTICLE) is None


def test_dates_of_any_class_are_one_order(site: Site, records: Records) -> None:
    """A plug-in may put a plain `datetime` where Pelican has its own: both are recalled as they were, and compare."""
    dates = [SafeDatetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)]
    orders = [_order(found(site, slug="a", date=date), "reversed-date") for date in dates]
    assert orders[1] < orders[0]
    for order in orders:
        record = records.record(content(order=(Role.ARTICLE, *order, "a.md")), found(site))
        assert record is not None
        again = records.content(record, "a.md", Role.ARTICLE)
        assert again is not None
        assert again.order == (Role.ARTICLE, *order, "a.md")


def test_record_is_text(site: Site, records: Records) -> None:
    """One line of JSON, in ASCII."""
    record = records.record(content(title="Ü\ud800"), SimpleNamespace())
    assert record is not None
    assert record.isascii()
    assert isinstance(json.loads(record), list)
    again = records.content(record, "a.md", Role.ARTICLE)
    assert again is not None
    assert again.title == "Ü\ud800"
