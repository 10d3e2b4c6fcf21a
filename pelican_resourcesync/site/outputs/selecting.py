"""Selection of the resources in a set."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pelican_resourcesync.publication.model.media_types import media_type
from pelican_resourcesync.settings import Selection
from pelican_resourcesync.site.outputs.facets import UNFILED, Facets, slug_of
from pelican_resourcesync.site.outputs.inventory import files_of, matches


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

    def covers(self, path: str, facets: Facets = UNFILED) -> bool:
        """Return whether the output file at `path`, with these facets, is in the set."""
        return self._fits_path(path) and self.fits(facets)

    def fits(self, facets: Facets) -> bool:
        """Return whether an output with these facets may be in the set, whatever its path."""
        return (
            (not self._categories or facets.category in self._categories)
            and (not self._tags or not self._tags.isdisjoint(facets.tags))
            and (not self._languages or facets.language in self._languages)
        )

    def lies_within(self, uri: str, path: str | None = None) -> bool:
        """Return whether a present or past URI may be in the set, whatever its facets.

        `path` is its file, if known. Otherwise, every file that a static host may have returned is tried: a URI without
        an extension may have been a page or a file, and either may match.
        """
        files = files_of(self._siteurl, uri) if path is None else (path,)
        return any(map(self._fits_path, files))

    def _fits_path(self, path: str) -> bool:
        if self._paths and not any(matches(path, pattern) for pattern in self._paths):
            return False
        return not self._types or any(fnmatchcase(media_type(path), pattern) for pattern in self._types)


def _slugs(settings: Mapping[str, Any], kind: str, names: Iterable[str]) -> frozenset[str]:
    """Return the slugs for names or slugs. A name from which no slug can be made matches nothing."""
    return frozenset(each for name in names for each in (name, slug_of(kind, name, settings)) if each)
