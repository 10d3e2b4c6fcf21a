"""Doubts: what in the selection of a set fits nothing that was built, and may be misspelt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pelican_resourcesync.settings import Selection, SetSettings
from pelican_resourcesync.settings.messages import called, nearest
from pelican_resourcesync.site.facets import UNFILED, Facets, slug_of
from pelican_resourcesync.site.selecting import Selector
from pelican_resourcesync.site.written import Written

_KINDS = {"categories": "category", "tags": "tag"}


def doubts_of(
    chosen: SetSettings, settings: Mapping[str, Any], written: Sequence[Written], facets: Mapping[str, Facets]
) -> Iterator[str]:
    """Give a warning for each value of a selection that fits no resource of the build, and for a set that is empty.

    `settings` are Pelican's, `written` the resources of the site, `facets` what these are filed under by URI.
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
    """Give a value as those that are known are written."""
    return slug_of(_KINDS[criterion], value, settings) if criterion in _KINDS else value.lower()


def _known(criterion: str, facets: Mapping[str, Facets]) -> tuple[str, ...]:
    """Give the values that some resource has."""
    found: set[str] = set()
    for each in facets.values():
        found.update(
            {"categories": (each.category,), "tags": each.tags, "languages": (each.language,)}.get(criterion, ())
        )
    return tuple(sorted(found - {""}))
