"""The resources in a set: the category, tags and language of each output, and the selections that use them.

Names are compared by their slugs, made by Pelican's own rules.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from pelican.contents import Article, Page
from pelican.urlwrappers import Category, Tag, URLWrapper

from pelican_resourcesync.http import uri_of_path
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import media_type
from pelican_resourcesync.settings import Selection, SetSettings, Setting, suggestion
from pelican_resourcesync.site.outputs.paths import files_of, matches_pattern
from pelican_resourcesync.site.outputs.run import OutputFile, Run

_WRAPPERS: Mapping[str, type[URLWrapper]] = {"category": Category, "tag": Tag}


class Facets(NamedTuple):
    """The facets of one output: the slugs of its category and its tags, and its language in lower case.

    A facet is empty where there is none, or where it is uncertain. An article has all three, and so has the copy of its
    source (`OUTPUT_SOURCES`). A page has tags and a language: Pelican lists pages in no category. The listing pages and
    feeds of a category have that category, those of a tag that tag, a translation feed its language. Everything else
    has no facets: the index, archives, author pages, direct templates, files of the theme, and static files, even those
    that only one article shows.
    """

    category: str = ""
    tags: tuple[str, ...] = ()
    language: str = ""


UNFILED = Facets()


def _slug_of(kind: str, name: str, settings: Mapping[str, Any]) -> str:
    """Return the slug of a name; `kind` is `category` or `tag`. The slug may be empty, by Pelican's rules."""
    return str(_WRAPPERS[kind](name, settings).slug)


def facets_of(run: Run, written: Iterable[OutputFile]) -> dict[str, Facets]:
    """Return the facets of the outputs of a build, by URI, without outputs that have none.

    They are read from Pelican's objects, including what plug-ins changed there. Of a run within the run (a site's
    translation), articles, pages and listing pages are known, feeds are not.
    """
    feeds = _feeds(run)
    found = {each.uri: feeds.get(each.uri, UNFILED) if each.about is None else _of(each.about) for each in written}
    return {uri: each for uri, each in found.items() if each != UNFILED}


def links_of(written: Iterable[OutputFile]) -> dict[str, tuple[Link, ...]]:
    """Return the links from articles and pages to their category and tags, by URI, without those that have none.

    An article links to the page of its category (`LN06`, `rel="collection"`). Articles and pages link to the pages of
    their tags (`EA01`, `rel="tag"`), in the order of the URIs. Only pages among `written` are linked to.
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
            found.setdefault(uri_of_path(run.siteurl, path), set()).add(facets)


class Selector:
    """A selection applied to one site: a resource must match all given criteria, with any of the values of each."""

    def __init__(self, selection: Selection, settings: Mapping[str, Any], siteurl: str) -> None:
        """Prepare a selection; `settings` are Pelican's, and `siteurl` has no trailing slash."""
        self._siteurl = siteurl
        self._paths = selection.paths
        self._types = tuple(each.partition(";")[0].strip().lower() for each in selection.types)
        self._categories = _slugs(settings, "category", selection.categories)
        self._tags = _slugs(settings, "tag", selection.tags)
        self._languages = frozenset(map(str.lower, selection.languages))
        self.by_facets = bool(selection.categories or selection.tags or selection.languages)

    def matches(self, path: str, facets: Facets = UNFILED) -> bool:
        """Return whether the output file at `path`, with these facets, is in the set."""
        return self._matches_path(path) and self.matches_facets(facets)

    def matches_facets(self, facets: Facets) -> bool:
        """Return whether an output with these facets may be in the set, whatever its path."""
        return (
            (not self._categories or facets.category in self._categories)
            and (not self._tags or not self._tags.isdisjoint(facets.tags))
            and (not self._languages or facets.language in self._languages)
        )

    def may_match_uri(self, uri: str, path: str | None = None) -> bool:
        """Return whether a present or past URI may be in the set, whatever its facets.

        `path` is its file, if known. Otherwise, every file that a static host may have returned is tried: a URI without
        an extension may have been a page or a file, and either may match.
        """
        files = files_of(self._siteurl, uri) if path is None else (path,)
        return any(map(self._matches_path, files))

    def _matches_path(self, path: str) -> bool:
        if self._paths and not any(matches_pattern(path, pattern) for pattern in self._paths):
            return False
        return not self._types or any(fnmatchcase(media_type(path), pattern) for pattern in self._types)


def _slugs(settings: Mapping[str, Any], kind: str, names: Iterable[str]) -> frozenset[str]:
    """Return the slugs for names or slugs. A name from which no slug can be made matches nothing."""
    return frozenset(each for name in names for each in (name, _slug_of(kind, name, settings)) if each)


_KINDS = {"categories": "category", "tags": "tag"}


def selection_warnings(
    chosen: SetSettings, settings: Mapping[str, Any], written: Sequence[OutputFile], facets: Mapping[str, Facets]
) -> Iterator[str]:
    """Yield a warning for each value of a selection that matches no resource of the build, and for an empty set.

    `settings` are Pelican's, `written` the resources of the site, `facets` their categories, tags and languages by URI.
    """
    here = f"sets.{chosen.name}"
    for criterion in (each.name for each in fields(Selection)):
        for value in getattr(chosen.selection, criterion):
            if not _holds(Selection(**{criterion: (value,)}), settings, written, facets):
                near = suggestion(_spelt(criterion, value, settings), _known(criterion, facets))
                name = Setting(f"{here}.{criterion}")
                yield f"{name} has {value!r}, which matches no resource of this build{near}"
    if not _holds(chosen.selection, settings, written, facets):
        yield (
            f"no resource of this build matches {Setting(here)}, so that set is empty: "
            "use fewer criteria, or remove the set"
        )


def _holds(
    selection: Selection, settings: Mapping[str, Any], written: Sequence[OutputFile], facets: Mapping[str, Facets]
) -> bool:
    selector = Selector(selection, settings, "")
    return any(selector.matches(each.path, facets.get(each.uri, UNFILED)) for each in written)


def _spelt(criterion: str, value: str, settings: Mapping[str, Any]) -> str:
    """Return a value in the form of the known values: as a slug, or in lower case."""
    return _slug_of(_KINDS[criterion], value, settings) if criterion in _KINDS else value.lower()


def _known(criterion: str, facets: Mapping[str, Facets]) -> tuple[str, ...]:
    """Return all values that the resources have for a criterion."""
    found: set[str] = set()
    for each in facets.values():
        found.update(
            {"categories": (each.category,), "tags": each.tags, "languages": (each.language,)}.get(criterion, ())
        )
    return tuple(sorted(found - {""}))
