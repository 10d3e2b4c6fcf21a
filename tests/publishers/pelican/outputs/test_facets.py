"""What the outputs of a real build are filed under, and the links that say so."""

from pathlib import Path
from typing import Any

import pytest
from pelican import Pelican
from pelican.plugins import signals
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Run
from pelican_resourcesync.publishers.pelican.resources import facets_of, links_of, select_resources, slugify_of
from pelican_resourcesync.publishers.static_site import Exclusion, Facets, Selector, selection_warnings
from pelican_resourcesync.publishers.static_site.files import UNFILED
from pelican_resourcesync.settings import Selection, SetSettings, Settings
from tests.kit.sites import Site
from tests.publishers.pelican.support import SITEURL, built, configured

FEEDS: dict[str, Any] = {
    "THEME": "simple",
    "DIRECT_TEMPLATES": ["index"],
    "AUTHOR_SAVE_AS": "",
    "FEED_ALL_ATOM": "feeds/all.xml",
    "CATEGORY_FEED_ATOM": "feeds/{slug}.xml",
    "TAG_FEED_RSS": "feeds/tag-{slug}.xml",
    "TRANSLATION_FEED_ATOM": "feeds/all-{lang}.xml",
}


@pytest.fixture
def blog(tmp_path: Path) -> Site:
    """Return a site of all kinds of contents."""
    site = Site.create(tmp_path / "site")
    site.article("1.md", "One", Category="Über uns", Tags="b, A", Author="Ann")
    site.article("2.md", "Two", Category="über Uns", Tags="a", Slug="two")
    site.article("3.md", "Zwei", Category="Übersetzt", Tags="nur hier", Slug="two", Lang="de")
    site.article("4.md", "Draft", Category="Secret", Tags="secret", Status="draft")
    site.article("5.md", "Hidden", Category="Secret", Tags="secret", Status="hidden")
    site.write("content/pages/about.md", "Title: About\nTags: a, only here\nCategory: News\n")
    site.write("content/pages/hidden.md", "Title: Not shown\nTags: a\nStatus: hidden\n")
    site.write("content/images/a.png", "image")
    return site


def build(site: Site, *exclude: str, **overrides: Any) -> tuple[Run, list[OutputFile]]:
    """Build a site and give the run and its resources."""
    run = built(site, **{**FEEDS, **overrides})
    return run, select_resources(run.outputs(), Exclusion(exclude))


def facets(site: Site, **overrides: Any) -> dict[str, Facets]:
    """Build a site and give what its outputs are filed under, by the paths of their URIs."""
    return {uri.removeprefix(SITEURL): each for uri, each in facets_of(*build(site, **overrides)).items()}


def links(site: Site, *exclude: str, **overrides: Any) -> dict[str, list[tuple[str, str]]]:
    """Build a site and give the links of its contents, by the paths of the URIs."""
    _, written = build(site, *exclude, **overrides)
    found = links_of(written, filed=True)
    assert all(each == Link(href=each.href, rel=each.rel) for links in found.values() for each in links)
    return {
        uri.removeprefix(SITEURL): [(each.rel, each.href.removeprefix(SITEURL)) for each in links]
        for uri, links in found.items()
    }


def test_facets_of_a_build(blog: Site) -> None:
    """Contents, listings and feeds are filed; a draft, what is hidden, and what is of no name are not."""
    assert facets(blog, OUTPUT_SOURCES=True) == {
        "/one.html": Facets("uber-uns", ("b", "a"), "en"),
        "/one.text": Facets("uber-uns", ("b", "a"), "en"),
        "/two.html": Facets("uber-uns", ("a",), "en"),
        "/two.text": Facets("uber-uns", ("a",), "en"),
        "/two-de.html": Facets("ubersetzt", ("nur-hier",), "de"),
        "/two-de.text": Facets("ubersetzt", ("nur-hier",), "de"),
        "/pages/about.html": Facets("", ("a", "only-here"), "en"),
        "/pages/about.text": Facets("", ("a", "only-here"), "en"),
        "/category/uber-uns.html": Facets("uber-uns"),
        "/feeds/uber-uns.xml": Facets("uber-uns"),
        "/tag/a.html": Facets(tags=("a",)),
        "/tag/b.html": Facets(tags=("b",)),
        "/feeds/tag-a.xml": Facets(tags=("a",)),
        "/feeds/tag-b.xml": Facets(tags=("b",)),
        "/feeds/all-en.xml": Facets(language="en"),
        "/feeds/all-de.xml": Facets(language="de"),
    }


def test_every_page_of_a_listing_is_filed(blog: Site) -> None:
    """Not the first alone."""
    found = facets(blog, DEFAULT_PAGINATION=1)
    assert found["/category/uber-uns.html"] == found["/category/uber-uns2.html"] == Facets("uber-uns")
    assert found["/tag/a.html"] == found["/tag/a2.html"] == Facets(tags=("a",))
    assert "/index2.html" not in found


def test_a_plugin_has_its_say(blog: Site) -> None:
    """A slug that a plug-in gave a category is the slug."""

    def rename(generator: Any) -> None:
        for article in generator.articles:
            article.category.slug = "renamed"

    with signals.article_generator_pretaxonomy.connected_to(rename):
        found = facets(blog)
    assert found["/one.html"].category == "renamed"
    assert found["/category/renamed.html"] == Facets("renamed")


def test_site_within_the_site(blog: Site) -> None:
    """The contents and listing pages of a run within the run are filed, its feeds are not, and it has no links."""
    blog.write("inner/a.md", "Title: Innen\nDate: 2024-01-01\nTags: a\nCategory: Drinnen\n")
    inner = configured(
        blog,
        **{**FEEDS, "PATH": str(blog.folder / "inner"), "OUTPUT_PATH": str(blog.output / "de"), "DEFAULT_LANG": "de"},
    )
    run = built(blog, then=lambda: Pelican(inner).run(), **FEEDS)
    written = select_resources(run.outputs(), Exclusion(()))
    found = facets_of(run, written)
    assert {uri: each for uri, each in found.items() if uri.startswith(f"{SITEURL}/de/")} == {
        f"{SITEURL}/de/innen.html": Facets("drinnen", ("a",), "de"),
        f"{SITEURL}/de/category/drinnen.html": Facets("drinnen"),
        f"{SITEURL}/de/tag/a.html": Facets(tags=("a",)),
    }
    links = links_of(written, filed=True)
    assert f"{SITEURL}/de/innen.html" not in links
    assert [each.href for each in links[f"{SITEURL}/two.html"] if each.rel == "tag"] == [f"{SITEURL}/tag/a.html"]


def test_no_listings_no_matter(blog: Site) -> None:
    """Tags without pages are tags all the same; nothing is linked to."""
    nowhere = {"TAG_SAVE_AS": "", "TAG_FEED_RSS": None, "CATEGORY_FEED_ATOM": None}
    assert facets(blog, **nowhere)["/one.html"] == Facets("uber-uns", ("b", "a"), "en")
    assert links(blog, **nowhere)["/one.html"] == [("collection", "/category/uber-uns.html")]


def test_links_of_a_build(blog: Site) -> None:
    """To the category, then to the tags by URI, where these have pages: not that of what is not public."""
    tag_a, tag_b = ("tag", "/tag/a.html"), ("tag", "/tag/b.html")
    assert links(blog) == {
        "/one.html": [("collection", "/category/uber-uns.html"), tag_a, tag_b],
        "/two.html": [("collection", "/category/uber-uns.html"), tag_a],
        "/pages/about.html": [tag_a],
    }


def test_links_lead_where_pelican_means(blog: Site) -> None:
    """The URI of a page is its URL where that leads to its file; the first of several pages is meant."""
    where: dict[str, Any] = {
        "CATEGORY_URL": "in/{slug}/",
        "CATEGORY_SAVE_AS": "in/{slug}/index.html",
        "TAG_URL": "of/{slug}",
        "TAG_SAVE_AS": "of/{slug}.html",
        "DEFAULT_PAGINATION": 1,
        "PAGINATION_PATTERNS": [
            (1, "{url}", "{save_as}"),
            (2, "{base_name}/{number}/", "{base_name}/{number}/index.html"),
        ],
    }
    assert links(blog, **where)["/one.html"] == [
        ("collection", "/in/uber-uns/"),
        ("tag", "/of/a.html"),
        ("tag", "/of/b.html"),
    ]


def test_links_lead_to_resources_alone(blog: Site) -> None:
    """What is excluded is not named."""
    assert links(blog, "category", "tag/b.html") == {
        "/one.html": [("tag", "/tag/a.html")],
        "/two.html": [("tag", "/tag/a.html")],
        "/pages/about.html": [("tag", "/tag/a.html")],
    }


def write_again(generator: Any, writer: Any) -> None:
    """Write each article as JSON, as a second page, and as a plain text of many articles, as plug-ins do."""
    page = generator.get_template("article")
    for article in (*generator.articles, *generator.drafts):
        for path in (f"{article.slug}.json", f"amp/{article.slug}.html"):
            writer.write_file(path, page, generator.context, article=article, category=article.category)
    writer.write_file(
        "all.txt", generator.get_template("archives"), generator.context, dates=[], articles=generator.articles
    )


def test_forms_of_a_build(blog: Site) -> None:
    """What is of the same content object in another media type is linked to and back; names alone say nothing."""
    blog.write("content/pages/plan.md", "Title: Plan\nSave_as: plan.txt\nURL: plan.txt\n")
    blog.write("content/pages/plan-de.md", "Title: Plan\nSlug: plan\nLang: de\nSave_as: plan.html\nURL: plan.html\n")
    blog.write("content/images/about.png", "An image with the name of a page.")
    with signals.article_writer_finalized.connected_to(write_again):
        _, written = build(blog, "two.html", OUTPUT_SOURCES=True)
    about, source = f"{SITEURL}/pages/about.html", f"{SITEURL}/pages/about.text"
    one, plan, german = f"{SITEURL}/one.", f"{SITEURL}/plan.txt", f"{SITEURL}/plan.html"
    deutsch = f"{SITEURL}/two-de."
    assert links_of(written, filed=False) == {
        about: (Link(href=source, rel="alternate", type="text/plain"),),
        source: (Link(href=about, rel="canonical"),),
        f"{one}html": (
            Link(href=f"{one}json", rel="alternate", type="application/json"),
            Link(href=f"{one}text", rel="alternate", type="text/plain"),
        ),
        f"{one}json": (Link(href=f"{one}html", rel="canonical"),),
        f"{one}text": (Link(href=f"{one}html", rel="canonical"),),
        f"{deutsch}html": (Link(href=f"{deutsch}text", rel="alternate", type="text/plain"),),
        f"{deutsch}text": (Link(href=f"{deutsch}html", rel="canonical"),),
        plan: (Link(href=german, rel="alternate", type="text/html"),),
        german: (
            Link(href=german.replace("html", "text"), rel="alternate", type="text/plain"),
            Link(href=plan, rel="alternate", type="text/plain"),
        ),
        german.replace("html", "text"): (Link(href=german, rel="canonical"),),
    }


# --- Sets of resources: what a selection means ---------------------------------


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


# --- Warnings about a selection that matches nothing ---------------------------


FACETS = {
    "blog/a.html": Facets("news", ("red", "öl"), "en"),
    "blog/b.html": Facets("olds", (), "pt-br"),
    "index.html": Facets(),
}
EMPTY = (
    "no resource of this build matches RESOURCESYNC['sets']['mine'], so the set is empty: "
    "use fewer criteria, or remove the set"
)


def warnings(selection: Selection) -> list[str]:
    """Return the warnings about a set of that selection."""
    settings = Settings(sets=(SetSettings(name="mine", selection=selection),))
    return list(selection_warnings(settings, FACETS, slugify_of(DEFAULT_CONFIG)))


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
    said = f"{value!r} in RESOURCESYNC['sets']['mine'][{criterion!r}] matches no resource of this build{near}"
    assert warnings(Selection(**{criterion: (value,)})) == [said, EMPTY]
    assert warnings(Selection(**{criterion: (known, value)})) == [said]


def test_together_they_fit_nothing() -> None:
    """Each value may fit, and no resource all criteria."""
    assert warnings(Selection(categories=("olds",), languages=("en",))) == [EMPTY]
