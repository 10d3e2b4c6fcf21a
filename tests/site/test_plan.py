"""The plan of a site: any sequence of changes ends where a plan made from scratch begins."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pelican.settings import read_settings

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.contents import Contents
from pelican_resourcesync.site.plan import Output, Plan, Sort
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import COUNTED, NEIGHBOURS, Beside, Group, Shown, View
from tests.site.support import SITEURL

SETTINGS: list[dict[str, Any]] = [
    {"FEED_ATOM": "feed.xml", "FEED_MAX_ITEMS": 2, "TAG_FEED_ATOM": "feeds/{slug}.xml"},
    {"DEFAULT_PAGINATION": 2, "DEFAULT_ORPHANS": 1, "YEAR_ARCHIVE_SAVE_AS": "{date:%Y}.html", "OUTPUT_SOURCES": True},
    {"ARTICLE_TRANSLATION_ID": None, "CATEGORY_SAVE_AS": "same.html", "CATEGORY_URL": "same.html"},
    {"ARTICLE_SAVE_AS": "", "FEED_ALL_ATOM": None, "DIRECT_TEMPLATES": []},
]

ARTICLES = st.builds(
    "Title: {}\nDate: 202{}-01-01\nTags: {}\nLang: {}\nStatus: {}\nTranslation: {}\nCategory: {}\n".format,
    st.sampled_from(["One", "Two", "Three"]),
    st.integers(1, 4),
    st.sampled_from(["", "a", "b", "a, A", "a, b"]),
    st.sampled_from(["en", "fr"]),
    st.sampled_from(["published", "published", "published", "draft", "hidden"]),
    st.sampled_from(["false", "false", "true"]),
    st.sampled_from(["x", "y"]),
)
PATHS = ("1.md", "2.md", "3.md", "4.md", "5.md", "pages/6.md", "images/7.png")
#: Each step gives some paths another source, or none.
STEPS = st.lists(st.dictionaries(st.sampled_from(PATHS), st.none() | ARTICLES, min_size=1, max_size=4), max_size=8)


def contents(overrides: dict[str, Any]) -> Contents:
    """Give the contents of a site."""
    base = {"PATH": ".", "SITEURL": SITEURL, "TIMEZONE": "UTC", "PLUGINS": []}
    return Contents(read_settings(override={**base, **overrides}), SITEURL, {})


def content_of(reader: Contents, path: str, source: str | None) -> list[Content]:
    """Read a source, if there is one."""
    role = reader.roles.of(path)
    assert role is not None
    content = reader.read(path, role, source, source.encode()) if source is not None else None
    return [content] if content else []


def difference(before: dict[str, Output], after: dict[str, Output]) -> dict[str, str]:
    """Give what became of each URI that shows another thing."""
    words = {(False, True): "created", (True, True): "updated", (True, False): "deleted"}
    differ = [uri for uri in {*before, *after} if before.get(uri) != after.get(uri)]
    return {uri: words[uri in before, uri in after] for uri in differ}


TITLE = Shown(without=frozenset({"date"}), words=0)
#: What a rich theme shows: menus, recent articles, a tag cloud, neighbours, the first of a listing.
VIEWS = {
    "article": View(
        beside=(
            Beside(Group.ARTICLES, 2, TITLE),
            Beside(Group.PAGES, shown=Shown(sort=frozenset({"date"}))),
            Beside(Group.TAGS, counted=True),
            *(Beside(group, shown=TITLE) for group in NEIGHBOURS),
        )
    ),
    "page": View(beside=(Beside(Group.ARTICLES, shown=TITLE), Beside(Group.CATEGORIES))),
    "index": View({Role.ARTICLE: TITLE}, (Beside(Group.PERIODS),), first=1),
    "tags": View({Role.ARTICLE: COUNTED}, (Beside(Group.TAGS),)),
    "category": View({Role.ARTICLE: Shown(sort=frozenset({"date"}), words=0)}),
}


@pytest.mark.parametrize("views", [{}, VIEWS], ids=["unseen", "rich"])
@pytest.mark.parametrize("overrides", SETTINGS)
def test_any_changes_end_where_a_plan_from_scratch_begins(overrides: dict[str, Any], views: dict[str, View]) -> None:
    """After each change the outputs are those of a new plan, and what was reported is exactly what differs."""
    with contents(overrides) as reader:

        @given(STEPS)
        @settings(max_examples=40)
        def run(steps: list[dict[str, str | None]]) -> None:
            plan = Plan(reader.listings, views)
            there: dict[str, list[Content]] = {path: [] for path in PATHS}
            assert plan.change([], []) == difference({}, plan.outputs())
            for step in steps:
                before = plan.outputs()
                gone = [content for path in step for content in there[path]]
                there |= {path: content_of(reader, path, source) for path, source in step.items()}
                reported = plan.change(gone, [content for path in step for content in there[path]])
                scratch = Plan(reader.listings, views)
                scratch.change([], [content for path in PATHS for content in there[path]])
                assert plan.outputs() == scratch.outputs()
                assert reported == difference(before, plan.outputs())

        run()


@pytest.fixture
def reader() -> Any:
    """Give the contents of a site with one feed."""
    feeds = {"FEED_ALL_ATOM": "all.xml", "CATEGORY_FEED_ATOM": None, "TRANSLATION_FEED_ATOM": None}
    with contents(feeds) as reader:
        yield reader


def article(reader: Contents, path: str, title: str, **metadata: str) -> Content:
    """Make an article."""
    head = {"Title": title, "Date": "2024-01-01", **metadata}
    (content,) = content_of(reader, path, "".join(f"{name}: {value}\n" for name, value in head.items()))
    return content


def shown(changed: dict[str, ChangeKind]) -> dict[str, str]:
    """Give what became of each URI, in a word."""
    words = {"created": "came", "updated": "changed", "deleted": "went"}
    return {uri.removeprefix(SITEURL): words[kind] for uri, kind in changed.items()}


STANDING = {f"/{name}.html": "changed" for name in ("index", "archives", "categories", "authors", "tags")}


def test_empty_site_stands(reader: Contents) -> None:
    """Direct templates and the feeds of everything are written for no articles at all."""
    assert set(shown(Plan(reader.listings, {}).change([], []))) == {*STANDING, "/all.xml"}


def test_article_comes_and_goes(reader: Contents) -> None:
    """An article brings its page, its category and its tag; the last of them takes those away."""
    plan = Plan(reader.listings, {})
    plan.change([], [])
    one = article(reader, "1.md", "One", Tags="a")
    listings = dict.fromkeys(("/index.html", "/archives.html", "/categories.html", "/tags.html", "/all.xml"), "changed")
    came = {"/one.html": "came", "/tag/a.html": "came", "/category/misc.html": "came"}
    assert shown(plan.change([], [one])) == listings | came
    assert shown(plan.change([one], [])) == listings | dict.fromkeys(came, "went")
    assert set(plan.outputs()) == {SITEURL + path for path in (*STANDING, "/all.xml")}


def test_translation_changes_the_page_of_its_original(reader: Contents) -> None:
    """A translation is in the feed of everything and on its original's page, but not in listings."""
    plan = Plan(reader.listings, {})
    plan.change([], [article(reader, "1.md", "One")])
    french = article(reader, "2.md", "Un", Slug="one", Lang="fr")
    assert shown(plan.change([], [french])) == {"/one-fr.html": "came", "/one.html": "changed", "/all.xml": "changed"}


def test_original_that_goes_leaves_its_translation_in_the_listings(reader: Contents) -> None:
    """What is left of a family is listed in its place."""
    plan = Plan(reader.listings, {})
    original, french = article(reader, "1.md", "One"), article(reader, "2.md", "Un", Slug="one", Lang="fr")
    plan.change([], [original, french])
    changed = shown(plan.change([original], []))
    assert changed["/one.html"] == "went"
    assert changed["/index.html"] == "changed"
    assert changed["/category/misc.html"] == "changed"


def test_what_is_taken_back_within_a_change_is_none(reader: Contents) -> None:
    """A source that goes and comes again as it was changes nothing."""
    plan = Plan(reader.listings, {})
    one = article(reader, "1.md", "One")
    plan.change([], [one])
    assert plan.change([one], [one]) == {}


def test_unpublished_contents_are_no_outputs(reader: Contents) -> None:
    """Drafts come and go unseen."""
    draft = article(reader, "1.md", "One", Status="draft")
    plan = Plan(reader.listings, {})
    plan.change([], [])
    assert plan.change([], [draft]) == {}
    assert plan.change([draft], []) == {}


def test_two_sources_of_one_uri(reader: Contents) -> None:
    """A URI that two sources have stays until both are gone; which came first is no matter."""
    one, other = (article(reader, path, "Same", Text=path) for path in ("1.md", "2.md"))
    uri = f"{SITEURL}/same.html"
    first, second = Plan(reader.listings, {}), Plan(reader.listings, {})
    first.change([], [one, other])
    second.change([], [other])
    second.change([], [one])
    assert first.outputs()[uri] == second.outputs()[uri]
    assert shown(first.change([one], []))["/same.html"] == "changed"
    assert shown(first.change([other], []))["/same.html"] == "went"


def test_template_that_lists_pages_and_articles() -> None:
    """A direct template of one's own may show both, whatever they are ordered by."""
    own = {"DIRECT_TEMPLATES": ["all"], "PAGINATED_TEMPLATES": {"all": 1}, "FEED_ALL_ATOM": None}
    orders = {"ARTICLE_ORDER_BY": "reversed-title", "PAGE_ORDER_BY": "title", "CATEGORY_FEED_ATOM": None}
    with contents({**own, **orders, "TRANSLATION_FEED_ATOM": None, "CATEGORY_SAVE_AS": ""}) as reader:
        plan = Plan(reader.listings, {})
        plan.change([], [])
        page = article(reader, "pages/6.md", "A page")
        came = plan.change([], [article(reader, "1.md", "One"), page])
        assert shown(came) == {
            "/one.html": "came",
            "/pages/a-page.html": "came",
            "/all.html": "changed",
            "/all2.html": "came",
        }
        assert shown(plan.change([page], []))["/all2.html"] == "went"


def test_sorts(reader: Contents) -> None:
    """Pages, feeds and files are told apart; a page wins where a URI is both."""
    static = Content("images/a.png", Role.STATIC, f"{SITEURL}/one.html", ("blob",))
    plan = Plan(reader.listings, {})
    plan.change([], [])
    plan.change([], [Content("images/b.png", Role.STATIC, f"{SITEURL}/b.png", ("blob",)), static])
    assert plan.outputs()[f"{SITEURL}/one.html"].sort is Sort.FILE
    plan.change([], [article(reader, "1.md", "One")])
    sorts = {path: plan.outputs()[SITEURL + path].sort for path in ("/one.html", "/b.png", "/all.xml", "/index.html")}
    assert sorts == {"/one.html": Sort.PAGE, "/b.png": Sort.FILE, "/all.xml": Sort.FEED, "/index.html": Sort.PAGE}
