"""Sets of resources: what a selection means now, and what was in a set at each time of the past."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.git.landing import land
from pelican_resourcesync.git.repository import find_repository
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.account import changes_since
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.settings import Selection
from pelican_resourcesync.site.contents import quiet_reading
from pelican_resourcesync.site.facets import UNFILED, Facets
from pelican_resourcesync.site.history import Built, Historian, History
from pelican_resourcesync.site.inventory import Exclusion, take_inventory
from pelican_resourcesync.site.regimes import Regimes
from pelican_resourcesync.site.scope import find_scope
from pelican_resourcesync.site.selecting import Selector, told_of
from pelican_resourcesync.site.wrappers import facets_of
from pelican_resourcesync.site.written import Written
from tests.site.support import NOW, SITEURL, built, rows
from tests.sites import Row, Site

T = [f"2024-01-{day:02}T10:00:00Z" for day in range(12)]


@dataclass(frozen=True)
class Told:
    """A build of a site and the history of what was filed where."""

    settings: dict[str, Any]
    written: Sequence[Written]
    facets: dict[str, Facets]
    history: History

    def selector(self, **criteria: Any) -> Selector:
        """Give the selector of a set."""
        return Selector(Selection(**criteria), self.settings, SITEURL)

    def changes(self, **criteria: Any) -> list[Change]:
        """Give the changes of a set."""
        paths = {each.uri: each.path for each in self.written}
        return told_of(self.selector(**criteria), self.history.changes, self.history.facets, paths)

    def rows(self, **criteria: Any) -> list[Row]:
        """Give the changes of a set, as (time, kind, path of the URI)."""
        return rows(self.changes(**criteria))

    def now(self, **criteria: Any) -> set[str]:
        """Give what is in a set now."""
        covers = self.selector(**criteria).covers
        return {each.uri for each in self.written if covers(each.path, self.facets.get(each.uri, UNFILED))}


def tell(site: Site, *, facets: bool = True, then: Callable[[], None] = lambda: None, **overrides: Any) -> Told:
    """Build a site, `then` do something more, and tell its history."""
    run = built(site, then=then, **overrides)
    written = take_inventory(run.outputs(), Exclusion(()))
    repository = find_repository(Path(run.settings["PATH"]))
    with ExitStack() as stack:
        stack.callback(repository.close)
        scope = find_scope(repository.top, run.settings)
        landings = list(land(repository.history(scope.paths()), built=NOW))
        today = {path: (repository.top / path).read_bytes() for path in scope.settings}
        regimes = stack.enter_context(Regimes(run.settings, run.siteurl, scope, today))
        stack.enter_context(quiet_reading())
        resources = [Built(each.uri, each.source, each.role, each.content) for each in written]
        historian = Historian(repository, regimes, run.siteurl, facets=facets)
        history = historian.tell(landings, resources, begin=None, now=NOW)
    return Told(dict(run.settings), written, facets_of(run, written), history)


def left(changes: Sequence[Change]) -> set[str]:
    """Give what stands after all changes, each of which must be possible at its time."""
    stands: set[str] = set()
    times: dict[str, datetime] = {}
    for each in changes:
        assert (each.uri in stands) == (each.kind is not ChangeKind.CREATED), each
        assert times.get(each.uri, each.time - timedelta(1)) < each.time, each
        (stands.discard if each.kind is ChangeKind.DELETED else stands.add)(each.uri)
        times[each.uri] = each.time
    return stands


@pytest.fixture
def blog(tmp_path: Path) -> Site:
    """Give a site of articles and pages, their categories and tags, with feeds for those."""
    feeds = {"CATEGORY_FEED_ATOM": "feeds/{slug}.xml", "TAG_FEED_ATOM": "feeds/tag-{slug}.xml"}
    site = Site.create(tmp_path / "site", THEME="simple", DIRECT_TEMPLATES=["index"], AUTHOR_SAVE_AS="", **feeds)
    site.commit(T[1])
    return site


def article_rows(told: Sequence[Row]) -> list[Row]:
    """Give the changes of articles alone."""
    return [row for row in told if row[2].count("/") == 1]


# Now


def selects(path: str, facets: Facets = UNFILED, settings: dict[str, Any] | None = None, **criteria: Any) -> bool:
    """Tell whether a selection covers an output."""
    selector = Selector(Selection(**criteria), {**DEFAULT_CONFIG, **(settings or {})}, SITEURL)
    return selector.covers(path, facets)


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


# Then


def test_change_of_category(blog: Site) -> None:
    """An article that moves from one category to another leaves the one set and enters the other at that commit."""
    blog.article("a.md", Category="Old")
    blog.article("b.md", "Stays", Category="Old")
    blog.commit(T[2])
    blog.article("a.md", Category="Old", text="Edited.")
    blog.commit(T[3])
    blog.article("a.md", Category="New", text="Edited.")
    blog.commit(T[5])
    blog.article("a.md", Category="New", text="Edited again.")
    blog.commit(T[6])
    told = tell(blog)
    assert told.rows(categories=("Old",)) == [
        (T[2], "created", "/a-title.html"),
        (T[2], "created", "/category/old.html"),
        (T[2], "created", "/feeds/old.xml"),
        (T[2], "created", "/stays.html"),
        (T[3], "updated", "/a-title.html"),
        (T[3], "updated", "/category/old.html"),
        (T[3], "updated", "/feeds/old.xml"),
        (T[5], "deleted", "/a-title.html"),
        (T[5], "updated", "/category/old.html"),
        (T[5], "updated", "/feeds/old.xml"),
    ]
    assert told.rows(categories=("New",)) == [
        (T[5], "created", "/a-title.html"),
        (T[5], "created", "/category/new.html"),
        (T[5], "created", "/feeds/new.xml"),
        (T[6], "updated", "/a-title.html"),
        (T[6], "updated", "/category/new.html"),
        (T[6], "updated", "/feeds/new.xml"),
    ]
    assert told.now(categories=("Old",)) == left(told.changes(categories=("Old",)))
    assert told.now(categories=("New",)) == left(told.changes(categories=("New",)))


def test_move_of_a_file_is_one_of_category_too(blog: Site) -> None:
    """The folder is the category where nothing else says so."""
    blog.article("old/a.md")
    blog.commit(T[2])
    (blog.folder / "content" / "new").mkdir()
    blog.git("mv", "content/old/a.md", "content/new/a.md")
    blog.commit(T[3])
    told = tell(blog)
    assert article_rows(told.rows(categories=("old",))) == [
        (T[2], "created", "/a-title.html"),
        (T[3], "deleted", "/a-title.html"),
    ]
    assert article_rows(told.rows(categories=("new",))) == [(T[3], "created", "/a-title.html")]


def test_change_of_tags(blog: Site) -> None:
    """A tag that comes and goes brings an article and a page into its set and takes them out, again and again."""
    page = "Title: About\n{}\n\nText.\n"
    for day, tags in ((2, ""), (3, "Tags: One, Two"), (4, "Tags: two"), (5, "Tags: TWO, three"), (6, "Tags: ÓNE")):
        blog.write("content/a.md", f"Title: A title\nDate: 2024-01-01\n{tags}\n\nText.\n")
        blog.write("content/pages/about.md", page.format(tags))
        blog.commit(T[day])
    told = tell(blog)
    lives = {
        "one": [(3, "created"), (4, "deleted"), (6, "created")],
        "Two": [(3, "created"), (4, "updated"), (5, "updated"), (6, "deleted")],
        "three": [(5, "created"), (6, "deleted")],
    }
    for tag, life in lives.items():
        found = told.rows(tags=(tag,))
        for uri in ("/a-title.html", "/pages/about.html"):
            assert [row for row in found if row[2] == uri] == [(T[day], kind, uri) for day, kind in life]
        assert left(told.changes(tags=(tag,))) == told.now(tags=(tag,))
    either = [row for row in told.rows(tags=("one", "three")) if row[2] == "/pages/about.html"]
    assert [kind for _, kind, _ in either] == ["created", "deleted", "created", "updated"]


def test_change_of_language(blog: Site) -> None:
    """An article may be translated in place; what has no language of its own has the site's."""
    blog.configure(TRANSLATION_FEED_ATOM="feeds/all-{lang}.xml")
    blog.commit(T[2])
    for day, lang in ((3, {}), (4, {"Lang": "de"}), (5, {"Lang": "DE"}), (6, {"Lang": "fr"})):
        blog.article("a.md", URL="a.html", Save_as="a.html", text=f"Day {day}.", **lang)
        blog.commit(T[day])
    told = tell(blog)
    for language, name, life in (("EN", "en", [(3, "created"), (4, "deleted")]), ("fr", "fr", [(6, "created")])):
        uris = ("/a.html", f"/feeds/all-{name}.xml")
        assert told.rows(languages=(language,)) == [(T[day], kind, uri) for day, kind in life for uri in uris]
    german = [row for row in told.rows(languages=("de",)) if row[2] == "/a.html"]
    assert [(time, kind) for time, kind, _ in german] == [(T[4], "created"), (T[5], "updated"), (T[6], "deleted")]


def test_settings_change_what_is_filed(blog: Site) -> None:
    """A default of the settings files what says nothing: another default moves all of it, at that commit."""
    blog.configure(DEFAULT_CATEGORY="First", DEFAULT_METADATA={"tags": ["a"]})
    blog.commit(T[2])
    blog.article("a.md")
    blog.commit(T[3])
    blog.configure(DEFAULT_CATEGORY="Second", DEFAULT_LANG="de", DEFAULT_METADATA={"tags": ["b"]})
    blog.commit(T[4])
    told = tell(blog)
    gone, come = [(T[3], "created"), (T[4], "deleted")], [(T[4], "created")]
    for criterion, before, after in (("categories", "First", "Second"), ("languages", "en", "de"), ("tags", "a", "b")):
        for value, life in ((before, gone), (after, come)):
            found = article_rows(told.rows(**{criterion: (value,)}))
            assert [(time, kind) for time, kind, _ in found] == life, (criterion, value)


def test_renamed_category(blog: Site) -> None:
    """All that was under the old name leaves its set, and enters the new name's; its listing pages go and come."""
    for name in ("one", "two"):
        blog.article(f"{name}.md", name, Category="Altes Museum")
    blog.commit(T[2])
    for name in ("one", "two"):
        blog.article(f"{name}.md", name, Category="Müzeum")
    blog.commit(T[3])
    told = tell(blog)
    paths = ("/category/{}.html", "/feeds/{}.xml", "/one.html", "/two.html")
    old = [(T[2], "created", path.format("altes-museum")) for path in paths]
    assert told.rows(categories=("altes museum",)) == [
        *old,
        *[(T[3], "deleted", path.format("altes-museum")) for path in paths],
    ]
    assert told.rows(categories=("Müzeum",)) == [(T[3], "created", path.format("muzeum")) for path in paths]
    both = told.rows(categories=("altes museum", "Müzeum"))
    assert [row for row in both if row[2] == "/one.html"] == [
        (T[2], "created", "/one.html"),
        (T[3], "updated", "/one.html"),
    ]


def test_deleted_and_restored(blog: Site) -> None:
    """What is gone is in no set; what comes back comes back to where it is filed then."""
    blog.article("a.md", Category="A")
    blog.commit(T[2])
    blog.remove("content/a.md")
    blog.commit(T[3])
    blog.article("a.md", Category="A")
    blog.commit(T[4])
    blog.remove("content/a.md")
    blog.commit(T[5])
    blog.article("a.md", Category="B")
    blog.commit(T[6])
    told = tell(blog)
    assert article_rows(told.rows(categories=("A",))) == [
        (T[2], "created", "/a-title.html"),
        (T[3], "deleted", "/a-title.html"),
        (T[4], "created", "/a-title.html"),
        (T[5], "deleted", "/a-title.html"),
    ]
    assert article_rows(told.rows(categories=("B",))) == [(T[6], "created", "/a-title.html")]


def test_drafts_and_hidden_contents_never_appear(blog: Site) -> None:
    """What was or is no resource is in no set, whatever it is filed under; while it was one, it was in."""
    blog.article("draft.md", "Draft", Category="A", Tags="t", Status="draft")
    blog.article("hidden.md", "Hidden", Category="A", Tags="t", Status="hidden")
    blog.article("once.md", "Once", Category="A", Tags="t")
    blog.write("content/pages/hidden.md", "Title: Hidden page\nTags: t\nStatus: hidden\n")
    blog.commit(T[2])
    blog.article("once.md", "Once", Category="A", Tags="t", Status="hidden")
    blog.commit(T[3])
    told = tell(blog)
    for criteria in ({"categories": ("A",)}, {"tags": ("t",)}, {"languages": ("en",)}):
        assert article_rows(told.rows(**criteria)) == [(T[2], "created", "/once.html"), (T[3], "deleted", "/once.html")]
        assert told.now(**criteria) == set()
    assert not any("draft" in uri or "hidden" in uri for uri in told.history.facets)


def test_paths_and_types_follow_from_the_uri(blog: Site) -> None:
    """Where the address says all, no facets are needed: of what is gone too."""
    blog.article("a.md", URL="blog/", Save_as="blog/index.html")
    blog.article("b.md", "B", URL="blog/b", Save_as="blog/b.html")
    blog.write("content/images/a.png", "image")
    blog.commit(T[2])
    blog.article("b.md", "B", URL="blog/b", Save_as="blog/b.html", Status="draft", text="No more.")
    blog.remove("content/images/a.png")
    blog.commit(T[3])
    told = tell(blog, facets=False)
    assert told.history.facets == {}
    gone = [(T[2], "created", "/blog/b"), (T[3], "deleted", "/blog/b")]
    assert told.rows(paths=("blog/*.html",)) == [(T[2], "created", "/blog/"), *gone]
    assert told.rows(types=("image/*",)) == [
        (T[2], "created", "/images/a.png"),
        (T[3], "deleted", "/images/a.png"),
    ]
    assert told.rows(paths=("blog",), types=("text/html",)) == [(T[2], "created", "/blog/"), *gone]
    assert told.rows(paths=("blog",), types=("image/*",)) == []


def test_file_of_today_is_known() -> None:
    """A URI without an extension is what its file of today is; of one that is gone, whatever it may have been."""
    selector = Selector(Selection(types=("text/html",)), DEFAULT_CONFIG, SITEURL)
    uri = f"{SITEURL}/LICENSE"
    changes = [Change(NOW, uri, ChangeKind.CREATED)]
    assert told_of(selector, changes, {}, {uri: "LICENSE"}) == []
    assert told_of(selector, changes, {}, {uri: "LICENSE.html"}) == changes
    assert told_of(selector, changes, {}, {}) == changes


def test_what_history_does_not_know_is_left_out(blog: Site) -> None:
    """A page whose past facets nobody knows is in no set of the past; the account adds it where it is in one now."""
    changes = [Change(NOW, f"{SITEURL}/a.html", ChangeKind.CREATED)]
    selector = Selector(Selection(languages=("en",)), DEFAULT_CONFIG, SITEURL)
    assert told_of(selector, changes, {}, {}) == []
    later = {f"{SITEURL}/a.html": [(NOW + timedelta(1), Facets(language="en"))]}
    assert rows(told_of(selector, changes, later, {})) == [("2025-01-02T12:00:00Z", "created", "/a.html")]


def test_no_uri_is_named_that_the_changes_do_not_name() -> None:
    """What is excluded, and was taken out of the changes, does not come back because it was filed."""
    selector = Selector(Selection(languages=("en",)), DEFAULT_CONFIG, SITEURL)
    assert told_of(selector, [], {f"{SITEURL}/secret.html": [(NOW, Facets(language="en"))]}, {}) == []


def test_what_was_not_built_is_not_named(blog: Site) -> None:
    """A URI that Pelican's rules name, and that no file of the build has, is filed under nothing."""
    blog.article("a.md", Category="A")
    blog.commit(T[2])
    told = tell(blog, then=(blog.output / "a-title.html").unlink)
    assert {uri.removeprefix(SITEURL) for uri in told.history.facets} == {"/category/a.html", "/feeds/a.xml"}


def test_filed_otherwise_and_no_change(blog: Site) -> None:
    """What is only filed otherwise, by its folder or by the settings, changes in the sets, and not on the site."""
    blog.configure(USE_FOLDER_AS_CATEGORY=False, PATH_METADATA=r"(?P<tags>.)/.*", OUTPUT_SOURCES=True)
    blog.article("a/1.md")
    blog.commit(T[2])
    (blog.folder / "content" / "b").mkdir()
    blog.git("mv", "content/a/1.md", "content/b/1.md")
    blog.commit(T[3])
    blog.configure(PATH_METADATA="", DEFAULT_METADATA={"tags": ["c"]})
    blog.commit(T[4])
    told = tell(blog)
    created = (T[2], "created", "/a-title.text")
    assert [row for row in rows(told.history.changes) if row[2] == created[2]] == [created]
    lives = {"a": [(2, "created"), (3, "deleted")], "b": [(3, "created"), (4, "deleted")], "c": [(4, "created")]}
    for tag, life in lives.items():
        found = [row for row in told.rows(tags=(tag,)) if row[2] == created[2]]
        assert found == [(T[day], kind, created[2]) for day, kind in life]


def test_facets_have_no_say_in_the_changes_of_the_site(sample_site: Site) -> None:
    """To ask for facets changes nothing of what is told, on a site with a year of history."""
    overrides: dict[str, Any] = {"OUTPUT_SOURCES": True, "TRANSLATION_FEED_ATOM": "feeds/all-{lang}.xml"}
    asked, not_asked = tell(sample_site, **overrides), tell(sample_site, facets=False, **overrides)
    assert asked.history.changes == not_asked.history.changes
    assert not_asked.history.facets == {}
    assert all(found[0][1] != UNFILED for found in asked.history.facets.values())
    assert {uri: found[-1][1] for uri, found in asked.history.facets.items() if uri in asked.facets} == asked.facets


def test_sample_site_ends_in_what_it_holds(sample_site: Site) -> None:
    """Each set of the sample site, told from its history, ends in what the build puts into it."""
    told = tell(sample_site, TRANSLATION_FEED_ATOM="feeds/all-{lang}.xml")
    facets = told.facets.values()
    found = {
        "categories": {each.category for each in facets} - {""},
        "tags": {tag for each in facets for tag in each.tags},
        "languages": {each.language for each in facets} - {""},
    }
    for criterion, values in found.items():
        assert len(values) > 1
        for value in values:
            now = told.now(**{criterion: (value,)})
            assert now
            assert left(told.changes(**{criterion: (value,)})) == now


def edit(site: Site, dice: Random) -> None:
    """Edit, move, add or remove a few sources of a site, or its settings, at random."""
    for _ in range(dice.randint(1, 3)):
        number = dice.randrange(5)
        for path in (site.folder / "content").rglob(f"{number}.md"):
            path.unlink()
        folder = dice.choice(["", "pages/", "x/", "y/"])
        filed = {
            "Tags": dice.choice(["s", "t, S", "s, t", "T"]),
            "Lang": dice.choice(["en", "DE", "de"]),
            "Status": dice.choice(["published", "published", "published", "hidden", "draft"]),
            **dice.choice([{}, {"Category": "X"}, {"Category": "\u1e8f"}]),
        }
        left_out = {name for name in filed if dice.random() < 0.3}
        filed = {name: value for name, value in filed.items() if name not in left_out}
        if dice.random() < 0.8:
            site.article(f"{folder}{number}.md", f"T{number}", f"{dice.random()}", Slug=f"a{number}", **filed)
    if dice.random() < 0.2:
        site.configure(DEFAULT_CATEGORY=dice.choice(["X", "Z"]), DEFAULT_LANG=dice.choice(["en", "de"]))


@pytest.mark.parametrize("seed", [*range(4), *[pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 100)]])
def test_each_set_was_what_was_built(tmp_path: Path, seed: int) -> None:
    """At each commit, what is told of a set leaves what a build of that commit puts into it."""
    dice = Random(seed)
    feeds = {
        "CATEGORY_FEED_ATOM": "{slug}.xml",
        "TAG_FEED_ATOM": "tag-{slug}.xml",
        "TRANSLATION_FEED_ATOM": "{lang}.xml",
    }
    site = Site.create(tmp_path / "site", THEME="simple", DIRECT_TEMPLATES=["index"], DEFAULT_PAGINATION=2, **feeds)
    site.write("content/images/stays.png", "image")
    times, commits = T[1:9], []
    for time in times:
        edit(site, dice)
        commits.append(site.commit(time))
    told = tell(site)
    chosen: list[dict[str, Any]] = [
        *({"categories": (each,)} for each in ("x", "Y", "z", "misc")),
        *({"tags": (each,)} for each in ("s", "T")),
        *({"languages": (each,)} for each in ("en", "de")),
        {"categories": ("x", "y"), "tags": ("s",), "types": ("text/html",)},
    ]
    for time, commit in zip(times, commits, strict=True):
        site.git("checkout", "-q", commit)
        then = tell(site)
        for each in chosen:
            changes = [change for change in told.changes(**each) if change.time <= datetime.fromisoformat(time)]
            assert left(changes) == then.now(**each), (time, each)


# Whatever happens

URIS = [f"{SITEURL}/{name}.html" for name in "abc"]
DAYS = st.integers(1, 12).map(lambda day: datetime(2024, 1, day, tzinfo=UTC))
CHANGES = st.lists(st.builds(Change, DAYS, st.sampled_from(URIS), st.sampled_from(ChangeKind)), max_size=20)
FACETS = st.builds(
    Facets, st.sampled_from(["", "x", "y"]), st.sets(st.sampled_from("st")).map(tuple), st.sampled_from(["", "en"])
)
FILED = st.dictionaries(st.sampled_from(URIS), st.dictionaries(DAYS, FACETS, max_size=5))
SELECTIONS = st.builds(
    Selection,
    paths=st.sampled_from([(), ("a.html", "b.html")]),
    categories=st.sampled_from([(), ("X",), ("x", "y")]),
    tags=st.sampled_from([(), ("s",)]),
    languages=st.sampled_from([(), ("en",)]),
)


@given(CHANGES, FILED, SELECTIONS, st.dictionaries(st.sampled_from(URIS), FACETS))
def test_changes_of_a_set_end_in_what_it_holds(
    changes: list[Change], filed: dict[str, dict[datetime, Facets]], selection: Selection, now: dict[str, Facets]
) -> None:
    """Each day the set holds what stands and fits; with what is built now, the account of it ends in what it holds."""
    changes.sort(key=lambda each: (each.time, each.uri))
    facets = {uri: sorted(each.items()) for uri, each in filed.items()}
    selector = Selector(selection, DEFAULT_CONFIG, SITEURL)
    told = told_of(selector, changes, facets, {})
    if selector.by_facets:
        days = sorted({each.time for each in changes} | {time for each in facets.values() for time, _ in each})
        for day in days:
            assert left([each for each in told if each.time <= day]) == standing(selector, changes, facets, day)
    held = {uri for uri, each in now.items() if selector.covers(uri.removeprefix(f"{SITEURL}/"), each)}
    representations = {uri: Representation.measured("0" * 64, 1, "text/html") for uri in held}
    assert left(changes_since(None, representations, told, unexplained=NOW)) == held


def standing(
    selector: Selector, changes: list[Change], facets: dict[str, list[tuple[datetime, Facets]]], day: datetime
) -> set[str]:
    """Say what a set held at the end of a day, with no memory of the days before."""
    found = set()
    for uri in {each.uri for each in changes}:
        life = [each for each in changes if each.uri == uri and each.time <= day]
        under = [each for time, each in facets.get(uri, []) if time <= day]
        covered = selector.covers(uri.removeprefix(f"{SITEURL}/"), under[-1] if under else UNFILED)
        if life and life[-1].kind is not ChangeKind.DELETED and covered:
            found.add(uri)
    return found
