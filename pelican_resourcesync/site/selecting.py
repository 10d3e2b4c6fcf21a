"""Selecting: which resources are in a set, now and at each time of the past."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.media_types import media_type
from pelican_resourcesync.settings import Selection
from pelican_resourcesync.site.facets import UNFILED, Facets, Filing
from pelican_resourcesync.site.inventory import files_of, matches

_by_time_and_uri = attrgetter("time", "uri")


class Selector:
    """Tells what a selection means for one site: all criteria that are given, any of the values of each."""

    def __init__(self, selection: Selection, settings: Mapping[str, Any], siteurl: str) -> None:
        """Take the selection, Pelican's settings, and the site's URL without a slash at its end."""
        filing = Filing(settings)
        self._siteurl = siteurl
        self._paths = selection.paths
        self._types = tuple(each.partition(";")[0].strip().lower() for each in selection.types)
        self._categories = _slugs(filing, "category", selection.categories)
        self._tags = _slugs(filing, "tag", selection.tags)
        self._languages = frozenset(map(str.lower, selection.languages))
        self.by_facets = bool(selection.categories or selection.tags or selection.languages)

    def covers(self, path: str, facets: Facets = UNFILED) -> bool:
        """Tell whether the output file at `path`, which is filed under `facets`, is in the set."""
        return self._fits_path(path) and self.fits(facets)

    def fits(self, facets: Facets) -> bool:
        """Tell whether an output that is filed under `facets` may be in the set, wherever it lies."""
        return (
            (not self._categories or facets.category in self._categories)
            and (not self._tags or not self._tags.isdisjoint(facets.tags))
            and (not self._languages or facets.language in self._languages)
        )

    def lies_within(self, uri: str, path: str | None = None) -> bool:
        """Tell whether a URI, of now or of the past, may be in the set, whatever it is filed under.

        `path` is its file, where that is known. Else it is whatever a static host may have answered with: a URI without
        an extension may have been a page or a file, and fits as either.
        """
        files = files_of(self._siteurl, uri) if path is None else (path,)
        return any(map(self._fits_path, files))

    def _fits_path(self, path: str) -> bool:
        if self._paths and not any(matches(path, pattern) for pattern in self._paths):
            return False
        return not self._types or any(fnmatchcase(media_type(path), pattern) for pattern in self._types)


def told_of(
    selector: Selector,
    changes: Iterable[Change],
    facets: Mapping[str, Sequence[tuple[datetime, Facets]]],
    paths: Mapping[str, str],
) -> list[Change]:
    """Give the changes of a set: those of the site, oldest first, that concern what was in the set at the time.

    What leaves the set is deleted there, what enters it is created, and what happens outside is nothing. `facets` are
    those of `History`, `paths` the output files of today by URI. No URI is named that `changes` does not name.
    """
    lives: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        lives[change.uri].append(change)
    within = {uri: life for uri, life in lives.items() if selector.lies_within(uri, paths.get(uri))}
    if selector.by_facets:
        told = [each for uri, life in within.items() for each in _inside(life, facets.get(uri, ()), selector.fits)]
    else:
        told = [each for life in within.values() for each in life]
    return sorted(told, key=_by_time_and_uri)


def _inside(
    life: Sequence[Change], filed: Iterable[tuple[datetime, Facets]], fits: Callable[[Facets], bool]
) -> Iterator[Change]:
    """Give what becomes of one URI in a set that it is in while what it is filed under `fits`."""
    changed = {change.time: change for change in life}
    refiled = dict(filed)
    stands = fitting = inside = False
    for time in sorted({*changed, *refiled}):
        change = changed.get(time)
        if change is not None:
            stands = change.kind is not ChangeKind.DELETED
        if time in refiled:
            fitting = fits(refiled[time])
        before, inside = inside, stands and fitting
        if before and not inside:
            yield Change(time, life[0].uri, ChangeKind.DELETED)
        elif inside and not before:
            yield Change(time, life[0].uri, ChangeKind.CREATED, change and change.representation)
        elif inside and change is not None:
            yield change._replace(kind=ChangeKind.UPDATED)


def _slugs(filing: Filing, kind: str, names: Iterable[str]) -> frozenset[str]:
    """Give the slugs that are meant by names or slugs; one that makes no slug means nothing that there is."""
    return frozenset(each for name in names for each in (name, filing.slug(kind, name)) if each)
