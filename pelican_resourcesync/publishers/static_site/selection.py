"""The resources in a set: selections by path, type, category, tag and language."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from pelican_resourcesync.publication import media_type
from pelican_resourcesync.publishers.static_site.paths import files_of, matches_pattern
from pelican_resourcesync.settings import Selection, SetSettings, Setting, suggestion

#: Returns the form in which the facets of resources have a value of a criterion (a field of `Selection`).
Slugify: TypeAlias = Callable[[str, str], str]


def as_is(_criterion: str, value: str) -> str:
    """Return a value of a criterion in lower case, as languages and media types are written."""
    return value.lower()


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


class Selector:
    """A selection applied to one site: a resource must match all given criteria, with any of the values of each."""

    def __init__(self, selection: Selection, siteurl: str, slugify: Slugify) -> None:
        """Prepare a selection; `siteurl` has no trailing slash."""
        self._siteurl = siteurl
        self._paths = selection.paths
        self._types = tuple(each.partition(";")[0].strip().lower() for each in selection.types)
        self._categories = _slugs(slugify, "categories", selection.categories)
        self._tags = _slugs(slugify, "tags", selection.tags)
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

    def may_match_uri(self, uri: str) -> bool:
        """Return whether a present or past URI may be in the set, whatever its facets.

        Every file that a static host may have returned is tried: a URI without an extension may have been a page or a
        file, and either may match.
        """
        return any(map(self._matches_path, files_of(self._siteurl, uri)))

    def _matches_path(self, path: str) -> bool:
        if self._paths and not any(matches_pattern(path, pattern) for pattern in self._paths):
            return False
        return not self._types or any(fnmatchcase(media_type(path), pattern) for pattern in self._types)


def _slugs(slugify: Slugify, criterion: str, names: Iterable[str]) -> frozenset[str]:
    """Return the slugs for names or slugs. A name from which no slug can be made matches nothing."""
    return frozenset(each for name in names for each in (name, slugify(criterion, name)) if each)


def selection_warnings(
    chosen: SetSettings, setting: Setting, resources: Mapping[str, Facets], slugify: Slugify = as_is
) -> Iterator[str]:
    """Yield a warning for each value of a selection that matches no resource of the build, and for an empty set.

    `setting` is that of the set, and `resources` has the facets of each resource of the site, by its path.
    """
    for criterion in (each.name for each in fields(Selection)):
        for value in getattr(chosen.selection, criterion):
            if not _holds(Selection(**{criterion: (value,)}), resources, slugify):
                near = suggestion(slugify(criterion, value), _known(criterion, resources.values()))
                yield f"{setting.within(criterion)} has {value!r}, which matches no resource of this build{near}"
    if not _holds(chosen.selection, resources, slugify):
        yield (
            f"no resource of this build matches {setting}, so that set is empty: use fewer criteria, or remove the set"
        )


def _holds(selection: Selection, resources: Mapping[str, Facets], slugify: Slugify) -> bool:
    selector = Selector(selection, "", slugify)
    return any(selector.matches(path, facets) for path, facets in resources.items())


def _known(criterion: str, resources: Iterable[Facets]) -> tuple[str, ...]:
    """Return all values that the resources have for a criterion."""
    found: set[str] = set()
    for each in resources:
        found.update(
            {"categories": (each.category,), "tags": each.tags, "languages": (each.language,)}.get(criterion, ())
        )
    return tuple(sorted(found - {""}))
