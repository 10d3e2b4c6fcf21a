"""The category, tags and language of each output, its links to them, and to other forms of the same content.

Names are compared by their slugs, made by Pelican's own rules.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pelican.contents import Article, Content, Page
from pelican.urlwrappers import Category, Tag, URLWrapper

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import media_type
from pelican_resourcesync.publishers.pelican.outputs.run import OutputFile, Run
from pelican_resourcesync.publishers.static_site import UNFILED, Facets, Slugify, as_is

_WRAPPERS: Mapping[str, type[URLWrapper]] = {"categories": Category, "tags": Tag}


def slugify_of(settings: Mapping[str, Any]) -> Slugify:
    """Return what makes slugs of the names of categories and tags, by Pelican's `settings`; they may be empty."""

    def slugify(criterion: str, name: str) -> str:
        wrapper = _WRAPPERS.get(criterion)
        return str(wrapper(name, settings).slug) if wrapper else as_is(criterion, name)

    return slugify


def facets_of(run: Run, written: Iterable[OutputFile]) -> dict[str, Facets]:
    """Return the facets of the outputs of a build, by URI, without outputs that have none.

    They are read from Pelican's objects, including what plug-ins changed there. Of a run within the run (a site's
    translation), articles, pages and listing pages are known, feeds are not.
    """
    feeds = _feeds(run)
    found = {each.uri: feeds.get(each.uri, UNFILED) if each.about is None else _of(each.about) for each in written}
    return {uri: each for uri, each in found.items() if each != UNFILED}


def links_of(written: Iterable[OutputFile], *, filed: bool) -> dict[str, tuple[Link, ...]]:
    """Return the links of outputs to others among `written`, by URI, without those that have none.

    If they are `filed`, an article links to the page of its category (`LN06`, `rel="collection"`), and articles and
    pages to the pages of their tags (`EA01`, `rel="tag"`), in the order of the URIs. A page links to its content in
    other media types, too, and these to the page.
    """
    written = list(written)
    found: dict[str, list[Link]] = {}
    if filed:
        pages = {_key(each.about): each.uri for each in written if _is_first_page(each)}
        found = {each.uri: [*_links(each.content, pages)] for each in written if each.content is not None}
    for uri, link in _forms(written):
        found.setdefault(uri, []).append(link)
    return {uri: tuple(links) for uri, links in found.items() if links}


def _forms(written: Iterable[OutputFile]) -> Iterator[tuple[str, Link]]:
    """Yield links between a page and its content in other media types (`LN02`), each with the URI that it is from.

    These are copies of the source (`OUTPUT_SOURCES`), and what a plug-in lets Pelican write of the same content object.
    Translations are alternates in another media type, too, but in the same one they are pages of their own: a link does
    not say its language.
    """
    forms: dict[int, list[OutputFile]] = {}
    for each in written:
        if isinstance(each.about, Content):
            forms.setdefault(id(each.about), []).append(each)
    pages = {key: page for key, each in forms.items() if (page := next((one for one in each if one.title), None))}
    for key, page in pages.items():
        translations = (pages[id(each)] for each in page.about.translations if id(each) in pages)
        for each in (*forms[key], *translations):
            if (type_ := media_type(each.path)) != media_type(page.path):
                yield page.uri, Link(href=each.uri, rel="alternate", type=type_)
                if each.about is page.about:
                    yield each.uri, Link(href=page.uri, rel="canonical")


def _links(content: Any, pages: Mapping[tuple[type, str], str]) -> Iterator[Link]:
    category, tags = _names(content)
    if (Category, category) in pages:
        yield Link(href=pages[Category, category], rel="collection")
    for uri in sorted({pages[Tag, tag] for tag in tags if (Tag, tag) in pages}):
        yield Link(href=uri, rel="tag")


def _is_first_page(written: OutputFile) -> bool:
    """Return whether this is the page at the URL of a category or tag: the first page of its listing."""
    about = written.about
    return isinstance(about, Category | Tag) and posixpath.normpath(str(about.save_as)) == written.path


def _key(wrapper: Category | Tag) -> tuple[type, str]:
    return (Category if isinstance(wrapper, Category) else Tag, _slug(wrapper))


def _of(about: Any) -> Facets:
    """Return the facets of one of Pelican's objects; those of a category or tag are that category or tag."""
    if isinstance(about, Category):
        return Facets(category=_slug(about))
    if isinstance(about, Tag):
        return Facets(tags=tuple(filter(None, [_slug(about)])))
    if isinstance(about, Article | Page):
        category, tags = _names(about)
        return Facets(category, tuple(dict.fromkeys(filter(None, tags))), str(about.lang or "").lower())
    return UNFILED


def _names(content: Any) -> tuple[str, tuple[str, ...]]:
    """Return the slugs of the category (of an article only) and of the tags of an article or page."""
    if not isinstance(content, Article | Page):
        return "", ()
    category = _slug(getattr(content, "category", None)) if isinstance(content, Article) else ""
    return category, tuple(map(_slug, getattr(content, "tags", None) or ()))


def _slug(wrapper: object) -> str:
    return str(getattr(wrapper, "slug", ""))


def _feeds(run: Run) -> dict[str, Facets]:
    """Return the facets of category, tag and translation feeds, by URI, without feeds that several of them share."""
    found: dict[str, set[Facets]] = {}
    for article in run.articles():
        for content in (article, *article.translations):
            facets = Facets(language=str(content.lang or "").lower())
            _add_feeds(found, run, "TRANSLATION_FEED", facets, lang=content.lang)
        category, tags = _names(article)
        _add_feeds(found, run, "CATEGORY_FEED", Facets(category=category), slug=category)
        for tag in tags:
            _add_feeds(found, run, "TAG_FEED", Facets(tags=(tag,)), slug=tag)
    return {uri: each.pop() for uri, each in found.items() if len(each) == 1}


def _add_feeds(found: dict[str, set[Facets]], run: Run, setting: str, facets: Facets, **names: str) -> None:
    for form in ("ATOM", "RSS"):
        save_as = run.settings.get(f"{setting}_{form}")
        if save_as:
            path = posixpath.normpath(str(save_as).format(**names)).lstrip("/")
            found.setdefault(run.urls.uri(path), set()).add(facets)
