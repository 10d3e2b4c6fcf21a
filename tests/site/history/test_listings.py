"""Listings: compared with what real Pelican writes, URL by URL and article by article."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pelican import signals

from pelican_resourcesync.site.history.listings import ListedArticle, Listing, ListingPages, Listings
from pelican_resourcesync.site.history.sources import SourceOutput, Sources, originals, quiet_reading
from pelican_resourcesync.site.outputs.roles import Role
from pelican_resourcesync.site.outputs.run import OutputFile, Run
from tests.site.support import BARE, SITEURL, built
from tests.support.sites import Site

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
            (2, "{name}{number}.html", "{name}{number}.html"),
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
    "order by a function": {"DEFAULT_PAGINATION": 2, "ARTICLE_ORDER_BY": lambda article: article.title[::-1]},
    "reversed order": {"DEFAULT_PAGINATION": 2, "ARTICLE_ORDER_BY": "reversed-basename"},
    "another language": {"DEFAULT_LANG": "it", **FEEDS},
}


@pytest.fixture
def full(site: Site) -> Site:
    """Return a site with all that makes listings."""
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


def built_pages(site: Site, **overrides: Any) -> tuple[Run, dict[str, list[str]]]:
    """Build a site; return the run, and the sources of the articles on each page that Pelican paginates."""
    found: dict[str, list[str]] = {}

    def look(path: str, context: dict[str, Any]) -> None:
        page = context.get("articles_page")
        if page is not None:
            name = Path(path).relative_to(site.output).as_posix()
            found[name] = [article.get_relative_source_path() for article in page.object_list]

    with signals.content_written.connected_to(look):
        return built(site, **overrides), found


def public(run: Run) -> list[OutputFile]:
    """Return the outputs of a run that are public, without the theme's."""
    return [each for each in run.outputs() if each.public and not each.path.startswith("theme/")]


def contents_of(sources: Sources, written: Sequence[OutputFile]) -> Iterator[SourceOutput]:
    """Return what the sources of a build publish."""
    for each in written:
        if each.source and each.role:
            yield sources.built(each.source, each.role, None)


def members_of(sources: Sources, contents: Sequence[SourceOutput]) -> dict[Listing, ListingPages]:
    """Return every listing with the articles in it."""
    articles = [each for each in contents if each.role is Role.ARTICLE]
    groups: dict[object, list[SourceOutput]] = {}
    for each in articles:
        groups.setdefault(each.translation_group, []).append(each)
    shown = {each for translation_group in groups.values() for each in originals(translation_group)}
    found = {each: ListingPages(each, sources.listings, standing=True) for each in sources.listings.standing()}
    for each in articles:
        for listing in (*(each.listings if each in shown else ()), *each.listings_of_any):
            found.setdefault(listing, ListingPages(listing, sources.listings, standing=False))
            found[listing].add(ListedArticle(each.order, each.source, each.source))
    return found


@pytest.mark.parametrize("name", SITES)
def test_listings_and_their_pages_are_those_of_pelican(full: Site, name: str) -> None:
    """Every URL is one that Pelican publishes, and the articles of each page and their order are Pelican's."""
    run, theirs = built_pages(full, **SITES[name])
    written = public(run)
    paths = {each.uri: each.path for each in written}
    ours: dict[str, list[Any]] = {}
    with Sources(run.settings, SITEURL, written) as sources, quiet_reading():
        contents = list(contents_of(sources, written))
        for now in contents:  # a past state is read as the build read it
            then = sources.past(now.source, now.role, (full.folder / "content" / now.source).read_bytes)
            assert then is not None
            assert (then.uris, then.order, then.translation_group) == (now.uris, now.order, now.translation_group)
            assert (then.listings, then.listings_of_any) == (now.listings, now.listings_of_any)
        uris = {uri for each in contents for uri in each.uris}
        for listing, members in members_of(sources, contents).items():
            gone, new = members.update_pages()
            assert not gone
            uris |= set(new)
            pages = list(members._pages)
            for number, uri in enumerate(pages, start=1):
                span = slice(*listing.span(number, len(pages), len(members._shown)))
                if paths[uri] in theirs and listing.template not in ("tags", "categories", "authors"):
                    ours[paths[uri]] = members._shown[span]
    assert uris == set(paths)
    if name == "no translations":  # then Pelican leaves articles of one date in the order in which it found them
        ours, theirs = ({path: sorted(each) for path, each in pages.items()} for pages in (ours, theirs))
    assert ours == theirs


EDITS = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=4), max_size=6)


@given(EDITS, st.integers(1, 3), st.integers(0, 2), st.booleans(), st.sampled_from([None, 1, 4]))
def test_pages_that_changed_are_those_that_show_something_else(
    edits: list[list[tuple[int, int]]], per_page: int, orphans: int, standing: bool, limit: int | None
) -> None:
    """Page by page, what is gone and what is new is what a comparison of all pages says.

    A page also counts as another where an article before it came or went: then all on it moved.
    """
    settings = {"DEFAULT_ORPHANS": orphans, "PAGINATION_PATTERNS": ()}
    listings = Listings(settings, SITEURL)
    listing = Listing("x", "x", "index", "INDEX", per_page=0 if limit else per_page, limit=limit)
    for number in range(1, 12):
        listing.names.update({(number, last): f"p{number}" for last in (True, False)})
    members = ListingPages(listing, listings, standing=standing)
    there: dict[int, int] = {}

    def pages() -> dict[str, list[tuple[int, int]]]:
        items = sorted(there.items())
        if limit:
            return {"p1": items[:limit]} if items or standing else {}
        total = listings.total(listing, len(items)) if items or standing else 0
        starts = [number * per_page for number in range(total)]
        ends = [*starts[1:], len(items)] if total else []
        return {f"p{number}": items[start:end] for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)}

    before: dict[str, list[tuple[int, int]]] = {}
    for step in edits:
        for key, version in step:
            if key in there:
                members.remove(ListedArticle(key, "", (key, there.pop(key))))
            if version:
                there[key] = version
                members.add(ListedArticle(key, "", (key, version)))
        gone, others = members.update_pages()
        now = pages()
        assert set(gone) == before.keys() - now.keys()
        assert set(others) >= {page for page in now if now[page] != before.get(page)}
        assert set(others) <= now.keys()
        before = now
