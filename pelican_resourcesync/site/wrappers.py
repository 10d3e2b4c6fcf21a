"""Wrappers: the categories and tags of a build, what its outputs are filed under, and the links that say so."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pelican.contents import Article, Page
from pelican.urlwrappers import Category, Tag

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.site.facets import UNFILED, Facets, Filing, facets
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.view import Group
from pelican_resourcesync.site.written import Run, Written


def facets_of(run: Run, written: Iterable[Written]) -> dict[str, Facets]:
    """Give what the outputs of a build are filed under, by URI, without those that are under nothing.

    What Pelican's objects say counts, whatever a plug-in made of them. Of a run within the run (a site's translation)
    the contents and the listing pages are known, the feeds are not.
    """
    feeds = dict(_feeds(run))
    found = {each.uri: feeds.get(each.uri, UNFILED) if each.about is None else _of(each.about) for each in written}
    return {uri: each for uri, each in found.items() if each != UNFILED}


def links_of(written: Iterable[Written]) -> dict[str, tuple[Link, ...]]:
    """Give the links from articles and pages to what they are filed under, by URI, without those that have none.

    From an article to the page of its category (`LN06`, `rel="collection"`), and from either to the pages of its tags
    (`EA01`, `rel="tag"`) in the order of their URIs; no link leads to a page that is not among `written`.
    """
    written = list(written)
    pages = {_key(each.about): each.uri for each in written if _is_first_page(each)}
    found = {each.uri: tuple(_links(each.content, pages)) for each in written if each.content is not None}
    return {uri: links for uri, links in found.items() if links}


def _links(content: Any, pages: Mapping[tuple[type, str], str]) -> Iterator[Link]:
    category, tags = _names(content)
    if (Category, category) in pages:
        yield Link(href=pages[Category, category], rel="collection")
    for uri in sorted({pages[Tag, tag] for tag in tags if (Tag, tag) in pages}):
        yield Link(href=uri, rel="tag")


def _is_first_page(written: Written) -> bool:
    """Tell whether this is the page that Pelican means by the URL of a category or tag."""
    about = written.about
    return isinstance(about, Category | Tag) and posixpath.normpath(str(about.save_as)) == written.path


def _key(wrapper: Category | Tag) -> tuple[type, str]:
    return (Category if isinstance(wrapper, Category) else Tag, _slug(wrapper))


def _of(about: Any) -> Facets:
    """Give what an object of Pelican's is filed under, or is what others are filed under."""
    if isinstance(about, Category):
        return facets(category=_slug(about))
    if isinstance(about, Tag):
        return facets(tags=(_slug(about),))
    if isinstance(about, Article | Page):
        return facets(*_names(about), about.lang)
    return UNFILED


def _names(content: Any) -> tuple[str, tuple[str, ...]]:
    """Give the slugs of a content's category, which only an article is listed under, and of its tags."""
    if not isinstance(content, Article | Page):
        return "", ()
    category = _slug(getattr(content, "category", None)) if isinstance(content, Article) else ""
    return category, tuple(map(_slug, getattr(content, "tags", None) or ()))


def _slug(wrapper: object) -> str:
    return str(getattr(wrapper, "slug", ""))


def _feeds(run: Run) -> Iterator[tuple[str, Facets]]:
    """Give what the feeds of categories, tags and languages are filed under, by URI."""
    filing, listings = Filing(run.settings), Listings(run.settings, run.siteurl)
    seen: set[Listing] = set()
    for article in run.groups()[Group.ARTICLES]:
        seen.update(listings.of_original(article))
        for each in (article, *article.translations):
            seen.update(listings.of_any(each))
    for listing in seen:
        if listing.feed and listing.of:
            yield listings.page_uri(listing, 1, 1), filing.of_listing(listing)
