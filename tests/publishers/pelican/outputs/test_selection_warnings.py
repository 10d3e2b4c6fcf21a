"""Warnings about a selection that matches nothing."""

import pytest
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.publishers.pelican.resources import slugify_of
from pelican_resourcesync.publishers.static_site import Facets, selection_warnings
from pelican_resourcesync.settings import Selection, SetSettings, Setting

FACETS = {
    "blog/a.html": Facets("news", ("red", "öl"), "en"),
    "blog/b.html": Facets("olds", (), "pt-br"),
    "index.html": Facets(),
}
EMPTY = (
    "no resource of this build matches RESOURCESYNC['sets']['mine'], so that set is empty: "
    "use fewer criteria, or remove the set"
)


def warnings(selection: Selection) -> list[str]:
    """Return the warnings about a set of that selection."""
    chosen = SetSettings(name="mine", selection=selection)
    return list(selection_warnings(chosen, Setting("sets.mine"), FACETS, slugify_of(DEFAULT_CONFIG)))


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(paths=("blog", "*.html")),
        Selection(types=("text/*",)),
        Selection(categories=("News", "olds"), languages=("EN", "pt-BR")),
        Selection(tags=("Red",), paths=("blog/a.html",)),
    ],
)
def test_what_matches_is_right(selection: Selection) -> None:
    """Each value fits something, and so do all together."""
    assert warnings(selection) == []


@pytest.mark.parametrize(
    ("criterion", "value", "near"),
    [
        ("paths", "blgo/*", ""),
        ("types", "image/*", ""),
        ("categories", "Newz", " (did you mean 'news'?)"),
        ("categories", "Red", ""),
        ("tags", "REDS", " (did you mean 'red'?)"),
        ("tags", "News", ""),
        ("languages", "PT", ""),
        ("languages", "pt_BR", " (did you mean 'pt-br'?)"),
        ("categories", "???", ""),
    ],
)
def test_a_value_that_fits_nothing(criterion: str, value: str, near: str) -> None:
    """The warning names it, and the nearest there is; if nothing is left, the set is empty."""
    known = {"paths": "*", "types": "text/html", "categories": "news", "tags": "red", "languages": "en"}[criterion]
    said = f"RESOURCESYNC['sets']['mine'][{criterion!r}] has {value!r}, which matches no resource of this build{near}"
    assert warnings(Selection(**{criterion: (value,)})) == [said, EMPTY]
    assert warnings(Selection(**{criterion: (known, value)})) == [said]


def test_together_they_fit_nothing() -> None:
    """Each value may fit, and no resource all criteria."""
    assert warnings(Selection(categories=("olds",), languages=("en",))) == [EMPTY]
