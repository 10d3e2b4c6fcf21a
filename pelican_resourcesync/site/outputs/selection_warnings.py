"""Warnings about selections of sets that match nothing in the build, and may be misspelt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pelican_resourcesync.settings import Selection, SetSettings
from pelican_resourcesync.settings.messages import called, nearest
from pelican_resourcesync.site.outputs.facets import UNFILED, Facets, slug_of
from pelican_resourcesync.site.outputs.selecting import Selector
from pelican_resourcesync.site.outputs.written import Written

_KINDS = {"categories": "category", "tags": "tag"}


def doubts_of(
    chosen: SetSettings, settings: Mapping[str, Any], written: Sequence[Written], facets: Mapping[str, Facets]
) -> Iterator[str]:
    """Yield a warning for each value of a selection that matches no resource of the build, and for an empty set.

    `settings` are Pelican's, `written` the resources of the site, `facets` their categories, tags and languages by URI.
    """
    here = f"sets.{chosen.name}"
    for criterion in (each.name for each in fields(Selection)):
        for value in getattr(chosen.selection, criterion):
            if not _holds(Selection(**{criterion: (value,)}), settings, written, facets):
                near = nearest(_spelt(criterion, value, settings), _known(criterion, facets))
                yield f"{called(f'{here}.{criterion}')} has {value!r}, which fits no resource of this build{near}"
    if not _holds(chosen.selection, settings, written, facets):
        yield f"no resource of this build fits {called(here)}, so nothing is in that set: ask for less, or leave it out"


def _holds(
    selection: Selection, settings: Mapping[str, Any], written: Sequence[Written], facets: Mapping[str, Facets]
) -> bool:
    selector = Selector(selection, settings, "")
    return any(selector.covers(each.path, facets.get(each.uri, UNFILED)) for each in written)


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
