"""Listings: compared with what real Pelican writes, file by file and article by article."""

from pathlib import Path
from typing import Any

import pytest
from pelican import Pelican, signals

from pelican_resourcesync.site.contents import Contents, quiet_reading
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.roles import Role
from tests.site.support import BARE, SITEURL, built, configured, contents_of, files_of, planned
from tests.sites import Site

FEEDS = {
    "FEED_ATOM": "feeds/index.atom.xml",
    "FEED_RSS": "feeds/index.rss.xml",
    "FEED_ALL_ATOM": "feeds/all.atom.xml",
    "FEED_ALL_RSS": "feeds/all.rss.xml",
    "CATEGORY_FEED_ATOM": "feeds/category/{slug}.atom.xml",
    "CATEGORY_FEED_RSS": "feeds/category/{slug}.rss.xml",
    "TAG_FEED_ATOM": "feeds/tag/{slug}.atom.xml",
    "TAG_FEED_RSS": "feeds/tag/{slug}.rss.xml",
    "AUTHOR_FEED_ATOM": "feeds/author/{slug}.atom.xml",
    "AUTHOR_FEED_RSS": "feeds/author/{slug}.rss.xml",
    "TRANSLATION_FEED_ATOM": "feeds/all-{lang}.atom.xml",
    "TRANSLATION_FEED_RSS": "feeds/all-{lang}.rss.xml",
}
PERIODS = {
    "YEAR_ARCHIVE_SAVE_AS": "{date:%Y}/index.html",
    "YEAR_ARCHIVE_URL": "{date:%Y}/",
    "MONTH_ARCHIVE_SAVE_AS": "{date:%Y}/{date:%m}/index.html",
    "DAY_ARCHIVE_SAVE_AS": "{date:%Y-%m-%d}.html",
}
FOLDERS = [(1, "{url}", "{save_as}"), (2, "{base_name}/page/{number}/", "{base_name}/page/{number}/index.html")]
EVERYTHING = {"index": None, "archives": 3, "tag": 1, "category": 4, "author": None, "period_archives": 2}

SITES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "bare": BARE,
    "pagination": {"DEFAULT_PAGINATION": 2},
    "orphans": {"DEFAULT_PAGINATION": 3, "DEFAULT_ORPHANS": 2},
    "folders": {"DEFAULT_PAGINATION": 2, "PAGINATION_PATTERNS": FOLDERS},
    "everything paginated": {"DEFAULT_PAGINATION": 2, "PAGINATED_TEMPLATES": EVERYTHING, **PERIODS},
    "last page of its own": {
        "DEFAULT_PAGINATION": 2,
        "DEFAULT_ORPHANS": 1,
        "PAGINATION_PATTERNS": [
            (1, "{name}{extension}", "{name}{extension}"),
            (
                2,
                "{name}{number}.html",
            )
            * 1
            + ("{name}{number}.html",),
            (-1, "{name}-last.html", "{name}-last.html"),
        ],
    },
    "patterns without pagination": {
        "PAGINATION_PATTERNS": [(1, "{base_name}/first/", "{base_name}/first/index.html"), FOLDERS[1]]
    },
    "feeds": FEEDS,
    "short feeds": {**FEEDS, "FEED_MAX_ITEMS": 2},
    "periods": PERIODS,
    "folders of categories": {
        "ARTICLE_URL": "{category}/{slug}/",
        "ARTICLE_SAVE_AS": "{category}/{slug}/index.html",
        "CATEGORY_URL": "{slug}/",
        "CATEGORY_SAVE_AS": "{slug}/index.html",
        "TAG_URL": "tags/{slug}/",
        "TAG_SAVE_AS": "tags/{slug}/index.html",
        "ARCHIVES_SAVE_AS": "archive/index.html",
        "ARCHIVES_URL": "archive/",
    },
    "some templates": {"DIRECT_TEMPLATES": ["index", "archives"], "ARCHIVES_SAVE_AS": "", "TAG_SAVE_AS": ""},
    "sources": {"OUTPUT_SOURCES": True, "OUTPUT_SOURCES_EXTENSION": ".txt"},
    "no translations": {**FEEDS, "ARTICLE_TRANSLATION_ID": None, "PAGE_TRANSLATION_ID": ""},
    "order": {"DEFAULT_PAGINATION": 2, "ARTICLE_ORDER_BY": "title"},
    "reversed order": {"DEFAULT_PAGINATION": 2, "ARTICLE_ORDER_BY": "reversed-basename"},
    "articles are not written": {"ARTICLE_SAVE_AS": "", "DEFAULT_PAGINATION": 2, "OUTPUT_SOURCES": True},
    "another language": {"DEFAULT_LANG": "it", **FEEDS},
}


@pytest.fixture
def full(site: Site) -> Site:
    """Give a site with all that makes listings."""
    for number in range(1, 8):
        date = f"202{number % 3}-0{number}-1{number} 10:00"
        tags = {"Tags": ("one, two", "two", "Three Words, two")[number % 3]} if number != 4 else {}
        authors = {"Authors": ("Ann", "Bob; Ann")[number % 2]} if number > 2 else {}
        category = f"cat-{number % 2}" if number < 6 else ""
        site.article(f"{category}/{number}.md", f"Article {number % 4}{number}", Date=date, **tags, **authors)
    site.article("3-fr.md", "Traduction", Date="2020-03-13", Slug="article-33", Lang="fr", Tags="two")
    site.article("only-fr.md", "Seul", Date="2020-04-01", Lang="fr")
    site.article(
        "marked.md", "Marked", Date="2020-04-02", Slug="article-11", Translation="true", Lang="de", Tags="five"
    )
    site.article("draft.md", "A draft", Status="draft", Tags="draft only")
    site.article("hidden.md", "A hidden one", Status="hidden", Tags="hidden only")
    site.article("skipped.md", "A skipped one", Status="skip", Tags="skip only")
    site.article("same-time.md", "Zz", Date="2021-01-11 10:00")
    site.write("content/pages/about.md", "Title: About\n\nText")
    site.write("content/pages/about-fr.md", "Title: A propos\nSlug: about\nLang: fr\n\nText")
    site.write("content/images/a b.png", "image")
    return site


def written(site: Site, **overrides: Any) -> set[str]:
    """Build a site and give the files of its output that are public, without the theme's."""
    run = built(site, **overrides)
    outputs = list(run.outputs())
    assert {each.path for each in outputs} == {
        file.relative_to(site.output).as_posix() for file in site.output.rglob("[!.]*") if file.is_file()
    }
    return {each.path for each in outputs if each.public and not each.path.startswith("theme/")}


@pytest.mark.parametrize("overrides", SITES.values(), ids=SITES)
def test_plan_names_exactly_what_pelican_writes(full: Site, overrides: dict[str, Any]) -> None:
    """Every file that Pelican writes is planned, and no other."""
    assert files_of(planned(configured(full, **overrides)).outputs()) == written(full, **overrides)


def pages_of(site: Site, **overrides: Any) -> dict[str, list[str]]:
    """Give the sources of the articles on each page that Pelican paginates, by file."""
    found: dict[str, list[str]] = {}

    def look(path: str, context: dict[str, Any]) -> None:
        page = context.get("articles_page")
        if page is not None:
            name = Path(path).relative_to(site.output).as_posix()
            found[name] = [article.get_relative_source_path() for article in page.object_list]

    with signals.content_written.connected_to(look):
        Pelican(configured(site, **overrides)).run()
    return found


def pages(listings: Listings, listing: Listing, count: int) -> list[tuple[str, int, int]]:
    """Give each page of a listing of `count` articles: its URI, and from which to before which it shows."""
    total = listings.total(listing, count)
    numbers = range(1, total + 1)
    return [(listings.page_uri(listing, each, total), *listing.span(each, total, count)) for each in numbers]


def members_of_pages(site: Site, **overrides: Any) -> dict[str, list[str]]:
    """Give the same by our rules: from each content's listings, in its order."""
    settings = configured(site, **overrides)
    found: dict[str, list[str]] = {}
    with Contents(settings, SITEURL, {}) as contents, quiet_reading():
        articles = [
            each
            for each in contents_of(site.folder / "content", contents)
            if each.published and each.role is Role.ARTICLE
        ]
        originals = [each for each in articles if each.source not in ("3-fr.md", "marked.md")]
        listings = dict.fromkeys(listing for each in originals for listing in each.listings if not listing.feed)
        for listing in (each for each in listings if each.per_page is not None):
            members = [
                each.source for each in sorted(originals, key=lambda each: each.order) if listing in each.listings
            ]
            for uri, start, end in pages(contents.listings, listing, len(members)):
                found[next(iter(files_of([uri])))] = members[start:end]
    return found


@pytest.mark.parametrize(
    "name",
    ["pagination", "orphans", "folders", "everything paginated", "last page of its own", "order", "reversed order"],
)
def test_each_page_shows_the_articles_that_pelican_puts_there(full: Site, name: str) -> None:
    """Page by page, the articles and their order are Pelican's."""
    theirs = pages_of(full, **SITES[name])
    if name == "everything paginated":  # a direct template is paginated under the articles, whatever it lists
        theirs.pop("archives.html")
        theirs = {path: articles for path, articles in theirs.items() if not path.startswith("archives")}
    ours = members_of_pages(full, **SITES[name])
    assert theirs == {path: members for path, members in ours.items() if not path.startswith("archives")}
    assert len(theirs) > 5


def test_listings_are_made_once(site: Site) -> None:
    """Two articles of one tag are in the same listing, as an object."""
    settings = configured(site, TAG_FEED_ATOM="feeds/{slug}.xml")
    head = "Title: {}\nDate: 2024-01-01\nTags: a tag\n"
    with Contents(settings, SITEURL, {}) as contents:
        roles = contents.roles.of("a.md")
        assert roles is not None
        one, other = (contents.read(f"{name}.md", roles, name, head.format(name).encode()) for name in "ab")
    assert one is not None
    assert other is not None
    assert set(one.listings) == set(other.listings)
    assert {f"{SITEURL}/tag/a-tag.html", f"{SITEURL}/feeds/a-tag.xml"} <= {
        uri for listing in one.listings for uri, _start, _end in pages(contents.listings, listing, 1)
    }


def test_standing_listings(site: Site) -> None:
    """An empty site has its direct templates and the feeds of everything."""
    listings = Listings(configured(site, **FEEDS), SITEURL)
    assert {listing.save_as for listing in listings.standing()} == {
        "index.html", "archives.html", "authors.html", "categories.html", "tags.html",
        "feeds/index.atom.xml", "feeds/index.rss.xml", "feeds/all.atom.xml", "feeds/all.rss.xml",
    }  # fmt: skip


def test_feed_shows_no_more_than_its_limit(site: Site) -> None:
    """A feed of five shows five of nine, and all of three."""
    listings = Listings(configured(site, **FEEDS, FEED_MAX_ITEMS=5), SITEURL)
    (feed, *_others) = [each for each in listings.standing() if each.feed]
    assert [list(pages(listings, feed, count)) for count in (9, 3)] == [
        [(f"{SITEURL}/feeds/index.atom.xml", 0, 5)],
        [(f"{SITEURL}/feeds/index.atom.xml", 0, 3)],
    ]


def test_feeds_are_known_by_their_files(site: Site) -> None:
    """The URL of a feed in Pelican's settings is what its readers are told; a host answers with the file."""
    listings = Listings(configured(site, FEED_ALL_ATOM="all/index.html", FEED_ALL_ATOM_URL="all/"), SITEURL)
    feeds = [uri for each in listings.standing() if each.feed for uri, _start, _end in pages(listings, each, 0)]
    assert feeds == [f"{SITEURL}/all/index.html"]
