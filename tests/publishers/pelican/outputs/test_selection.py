"""Sets of resources: what a selection means."""

from typing import Any

import pytest
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.publishers.pelican.resources import slugify_of
from pelican_resourcesync.publishers.static_site import UNFILED, Facets, Selector
from pelican_resourcesync.settings import Selection
from tests.publishers.pelican.support import SITEURL


def selects(path: str, facets: Facets = UNFILED, settings: dict[str, Any] | None = None, **criteria: Any) -> bool:
    """Tell whether a selection covers an output."""
    selector = Selector(Selection(**criteria), SITEURL, slugify_of({**DEFAULT_CONFIG, **(settings or {})}))
    return selector.matches(path, facets)


def test_everything() -> None:
    """A selection that asks for nothing covers all there is."""
    assert selects("a/b.html")
    assert selects("c", Facets("news", ("a",), "en"))


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("blog", "blog/a/b.html", True),
        ("blog/", "blog/a.html", True),
        ("/blog/*", "blog/a.html", True),
        ("blog", "blogs/a.html", False),
        ("*.html", "a/b.html", True),
        ("*.html", "a/b.xml", False),
        ("a.html", "A.html", False),
    ],
)
def test_paths_are_as_those_excluded(pattern: str, path: str, covered: bool) -> None:
    """A folder means all in it, `*` matches slashes, case matters; one of several patterns is enough."""
    assert selects(path, paths=(pattern,)) == covered
    assert selects(path, paths=("nothing", pattern)) == covered


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("text/html", "a/index.html", True),
        ("TEXT/HTML; charset=utf-8", "index.html", True),
        ("text/*", "style.css", True),
        ("image/*", "a.JPG", True),
        ("image/*", "a.html", False),
        ("application/atom+xml", "feeds/all.atom.xml", True),
        ("application/xml", "feeds/all.atom.xml", False),
        ("application/octet-stream", "LICENSE", True),
    ],
)
def test_types(pattern: str, path: str, covered: bool) -> None:
    """Media types are those published, in whatever case, without parameters, or patterns of them."""
    assert selects(path, types=(pattern,)) == covered


@pytest.mark.parametrize(
    ("name", "slug", "settings"),
    [
        ("News", "news", {}),
        ("nEWS", "news", {}),
        ("news", "news", {}),
        ("Öffentliches Leben", "offentliches-leben", {}),
        ("Öffentliches Leben", "öffentliches-leben", {"SLUGIFY_USE_UNICODE": True}),
        ("News", "News", {"SLUGIFY_PRESERVE_CASE": True}),
        ("日本", "ri-ben", {}),
        ("C++", "cpp", {"CATEGORY_REGEX_SUBSTITUTIONS": [(r"\+", "p")], "TAG_REGEX_SUBSTITUTIONS": [(r"\+", "p")]}),
        ("  News ", "news", {}),
    ],
)
def test_names_and_slugs(name: str, slug: str, settings: dict[str, Any]) -> None:
    """A name means what Pelican makes its slug by the site's own settings, and the slug means itself."""
    for given_as in (name, slug):
        assert selects("a.html", Facets(category=slug), settings, categories=(given_as,))
        assert selects("a.html", Facets(tags=("x", slug)), settings, tags=(given_as,))
    assert not selects("a.html", Facets(category=slug, tags=(slug,)), settings, categories=("other",))
    assert not selects("a.html", Facets(category=slug, tags=(slug,)), settings, tags=("other",))


def test_name_that_makes_no_slug_is_nothing() -> None:
    """It does not mean what has no category or tag, nor everything."""
    assert not selects("a.html", categories=("???",))
    assert not selects("a.html", Facets("news", ("a",)), tags=("???",))


def test_category_and_tag_have_slugs_of_their_own() -> None:
    """The settings of the one have no say in the other."""
    settings = {"TAG_REGEX_SUBSTITUTIONS": [("news", "olds")]}
    assert selects("a.html", Facets("news"), settings, categories=("News",))
    assert selects("a.html", Facets(tags=("olds",)), settings, tags=("News",))
    assert not selects("a.html", Facets("olds"), settings, categories=("News",))


def test_languages() -> None:
    """A language is one word, whatever its case; a region is another."""
    assert selects("a.html", Facets(language="pt-br"), languages=("de", "PT-BR"))
    assert not selects("a.html", Facets(language="pt-br"), languages=("pt",))
    assert not selects("a.html", languages=("en",))


@pytest.mark.promise("In sets")
def test_all_criteria_hold() -> None:
    """What fails one of them is not in the set."""
    criteria: dict[str, Any] = {
        "paths": ("blog",),
        "types": ("text/html",),
        "categories": ("News",),
        "tags": ("a", "b"),
        "languages": ("en",),
    }
    filed = Facets("news", ("b", "c"), "en")
    assert selects("blog/a.html", filed, **criteria)
    assert not selects("a.html", filed, **criteria)
    assert not selects("blog/a.xml", filed, **criteria)
    assert not selects("blog/a.html", filed._replace(category="olds"), **criteria)
    assert not selects("blog/a.html", filed._replace(tags=("c",)), **criteria)
    assert not selects("blog/a.html", filed._replace(language="de"), **criteria)
