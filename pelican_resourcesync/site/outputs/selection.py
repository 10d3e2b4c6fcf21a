"""Selection of the resources in a set, and warnings about selections that match nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import Any

from pelican_resourcesync.publication import media_type
from pelican_resourcesync.settings import Selection, SetSettings, setting_name, suggestion
from pelican_resourcesync.site.outputs.facets import UNFILED, Facets, slug_of
from pelican_resourcesync.site.outputs.run import OutputFile
from pelican_resourcesync.site.outputs.uris import files_of, matches_pattern


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
    return frozenset(each for name in names for each in (name, slug_of(kind, name, settings)) if each)


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
                name = setting_name(f"{here}.{criterion}")
                yield f"{name} has {value!r}, which matches no resource of this build{near}"
    if not _holds(chosen.selection, settings, written, facets):
        yield (
            f"no resource of this build matches {setting_name(here)}, so that set is empty: "
            "use fewer criteria, or remove the set"
        )


def _holds(
    selection: Selection, settings: Mapping[str, Any], written: Sequence[OutputFile], facets: Mapping[str, Facets]
) -> bool:
    selector = Selector(selection, settings, "")
    return any(selector.matches(each.path, facets.get(each.uri, UNFILED)) for each in written)


def _spelt(criterion: str, value: str, settings: Mapping[str, Any]) -> str:
    """Return a value in the form of the known values: as a slug, or in lower case."""
    return slug_of(_KINDS[criterion], value, settings) if criterion in _KINDS else value.lower()


def _known(criterion: str, facets: Mapping[str, Facets]) -> tuple[str, ...]:
    """Return all values that the resources have for a criterion."""
    found: set[str] = set()
    for each in facets.values():
        found.update(
            {"categories": (each.category,), "tags": each.tags, "languages": (each.language,)}.get(criterion, ())
        )
    return tuple(sorted(found - {""}))
