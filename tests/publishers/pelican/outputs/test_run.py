"""What Pelican wrote: real builds, looked on as the plug-in does."""

import os
from typing import Any

import pytest
from pelican import Pelican, signals

from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Role, Run
from pelican_resourcesync.publishers.static_site import SiteUrls, walk
from tests.kit.sites import Site
from tests.publishers.pelican.support import BARE, SITEURL, built, configured


def outputs(site: Site, **overrides: Any) -> dict[str, OutputFile]:
    """Build a site and give its outputs by path."""
    return {each.path: each for each in built(site, **overrides).outputs()}


def public(site: Site, **overrides: Any) -> set[str]:
    """Build a bare site and give the paths of its public outputs."""
    return {path for path, each in outputs(site, **{**BARE, **overrides}).items() if each.public}


def uris(site: Site, **overrides: Any) -> dict[str, str]:
    """Build a site and give the URI's path of each output."""
    return {path: each.uri.removeprefix(SITEURL) for path, each in outputs(site, **overrides).items()}


def test_contents_have_sources_and_roles(site: Site) -> None:
    """An article, a page and a static file are known by what they were made from."""
    site.article("news/a.md")
    site.write("content/pages/about.md", "Title: About\n")
    site.write("content/images/a b.png", "image")
    found = outputs(site, **BARE)
    assert {path: (each.uri, each.source, each.role, each.public) for path, each in found.items()} == {
        "a-title.html": (f"{SITEURL}/a-title.html", "news/a.md", Role.ARTICLE, True),
        "pages/about.html": (f"{SITEURL}/pages/about.html", "pages/about.md", Role.PAGE, True),
        "images/a b.png": (f"{SITEURL}/images/a%20b.png", "images/a b.png", Role.STATIC, True),
    }
    assert found["a-title.html"].content.title == "A title"


@pytest.mark.promise("One URL a page")
def test_listings_have_the_urls_of_pelican(site: Site) -> None:
    """Pages of listings, feeds, periods and templates have the URL that the settings give, where it is theirs."""
    for number in range(3):
        site.article(f"{number}.md", f"T{number}", Tags="a tag", Author="Ann", Category="News")
    site.write("content/extra.html", "<p>A template</p>")
    later = "{base_name}/page/{number}"
    for name in ("index", "archives", "authors", "categories", "tags", "tag", "category", "author", "article"):
        site.write(f"mine/templates/{name}.html", "A page")
    found = uris(
        site,
        THEME=str(site.folder / "mine"),
        DEFAULT_PAGINATION=2,
        PAGINATION_PATTERNS=[(1, "{url}", "{save_as}"), (2, f"{later}/", f"{later}/index.html")],
        TAG_URL="tag/{slug}/",
        TAG_SAVE_AS="tag/{slug}/index.html",
        CATEGORY_URL="{slug}/",
        CATEGORY_SAVE_AS="{slug}/index.html",
        PAGINATED_TEMPLATES={"index": None, "category": None},
        YEAR_ARCHIVE_URL="{date:%Y}/",
        YEAR_ARCHIVE_SAVE_AS="{date:%Y}/index.html",
        ARCHIVES_URL="archive/",
        ARCHIVES_SAVE_AS="archive/index.html",
        AUTHORS_SAVE_AS="who.html",
        FEED_ALL_ATOM="feeds/all.xml",
        FEED_ALL_ATOM_URL="elsewhere.xml",
        TEMPLATE_PAGES={"extra.html": "extra/index.html"},
    )  # fmt: skip
    assert found == {
        "t0.html": "/t0.html",
        "t1.html": "/t1.html",
        "t2.html": "/t2.html",
        "tags.html": "/tags.html",
        "tag/a-tag/index.html": "/tag/a-tag/",
        "index.html": "/",
        "page/2/index.html": "/page/2/",
        "news/index.html": "/news/",
        "news/page/2/index.html": "/news/page/2/",
        "2024/index.html": "/2024/",
        "archive/index.html": "/archive/",
        "who.html": "/who.html",
        "author/ann.html": "/author/ann.html",
        "categories.html": "/categories.html",
        "feeds/all.xml": "/feeds/all.xml",
        "extra/index.html": "/extra/",
    }


@pytest.mark.parametrize(
    ("form", "first", "clean_urls"),
    [("{slug}/", "", False), ("{slug}/", "", True), ("{slug}", ".html", False), ("{slug}", "", True)],
)
def test_first_pages_of_divided_listings(site: Site, form: str, first: str, clean_urls: bool) -> None:
    """The first page of a listing has the URL of the settings, also where Pelican divides it as it does by default."""
    for number in range(3):
        site.article(f"{number}.md", f"T{number}", Tags="ai", Category="News")
    for name in ("index", "tag", "category", "article"):
        site.write(f"mine/templates/{name}.html", "A page")
    save_as = f"{form}index.html" if form.endswith("/") else f"{form}.html"
    found = uris(
        site,
        clean_urls=clean_urls,
        THEME=str(site.folder / "mine"),
        DIRECT_TEMPLATES=["index"],
        DEFAULT_PAGINATION=2,
        TAG_URL=f"tag/{form}",
        TAG_SAVE_AS=f"tag/{save_as}",
        CATEGORY_URL=f"category/{form}",
        CATEGORY_SAVE_AS=f"category/{save_as}",
        AUTHOR_SAVE_AS="",
    )
    end = form.removeprefix("{slug}") + first
    assert {uri for uri in found.values() if uri.startswith(("/tag/ai", "/category/news"))} == {
        f"/tag/ai{end}",
        f"/category/news{end}",
        *(f"/{each}/index2.html" if end == "/" else f"/{each}2.html" for each in ("tag/ai", "category/news")),
    }
    assert (found["index.html"], found["index2.html"]) == ("/", "/index2.html")


def test_listings_of_their_own_have_the_urls_of_the_settings(site: Site) -> None:
    """Where the host finds pages without their ending, the settings say which pages are linked so."""
    for number in range(3):
        site.article(f"{number}.md", f"T{number}", Tags="ai")
    for name in ("archives", "tags", "authors", "article"):
        site.write(f"mine/templates/{name}.html", "A page")
    found = uris(
        site,
        clean_urls=True,
        THEME=str(site.folder / "mine"),
        TAG_SAVE_AS="",
        CATEGORY_SAVE_AS="",
        AUTHOR_SAVE_AS="",
        DIRECT_TEMPLATES=["archives", "tags", "authors"],
        PAGINATED_TEMPLATES={"archives": 2},
        ARCHIVES_URL="archives",
        TAGS_URL="tags.html",
    )
    names = ("archives.html", "tags.html", "authors.html")
    assert [found[name] for name in names] == ["/archives", "/tags.html", "/authors"]


def test_relative_urls_are_no_uris(site: Site) -> None:
    """With RELATIVE_URLS the pages link relatively, and the URIs are the same."""
    site.article("a.md", Tags="x")
    assert uris(site, RELATIVE_URLS=True) == uris(site, RELATIVE_URLS=False)


@pytest.mark.promise("Discreet")
@pytest.mark.parametrize("status", ["draft", "hidden"])
def test_drafts_and_hidden_contents_are_not_public(site: Site, status: str) -> None:
    """They are written, and none of anybody's business; translations too."""
    site.article("a.md", Status=status)
    site.article("b.md", "Titre", Slug="a-title", Lang="fr", Status=status)
    site.write("content/pages/p.md", f"Title: A page\nStatus: {status}\n")
    site.article("c.md", "Public")
    found = outputs(site, **BARE, OUTPUT_SOURCES=True)
    assert {path for path, each in found.items() if each.public} == {"public.html", "public.text"}
    assert len(found) == 5


def test_second_page_of_a_draft_is_not_public(site: Site) -> None:
    """What a plug-in writes of a draft at another address is as private as the draft."""

    def write(generator: Any, writer: Any) -> None:
        for article in (*generator.articles, *generator.drafts):
            template = generator.get_template("article")
            writer.write_file(f"amp/{article.slug}.html", template, generator.context, article=article)

    site.article("a.md", "Draft", Status="draft")
    site.article("b.md", "Public")
    with signals.article_writer_finalized.connected_to(write):
        assert public(site) == {"public.html", "amp/public.html"}


@pytest.mark.promise("Discreet")
def test_static_files_linked_only_from_drafts_are_not_public(site: Site) -> None:
    """What nobody would copy but for a draft is as private as that; whatever else leads to a file makes it public."""
    for name in ("secret", "shared", "twisted", "odd name"):
        site.write(f"content/files/{name}.txt", name)
    site.write("content/images/found.png", "image")
    site.article(
        "drafts/d.md",
        "Draft",
        "[1]({static}/files/secret.txt) [2]({static}../files/shared.txt) [3]({static}/images/found.png)"
        " [4]({static}/files/../files/twisted.txt) [5]({attach}/files/odd%20name.txt)",
        Status="draft",
    )
    site.article("a.md", "Public", "[2]({static}/files/shared.txt)")
    assert public(site) == {"public.html", "files/shared.txt", "images/found.png"}
    site.article("b.md", "Other", "[4]({static}./files/./twisted.txt)")
    assert public(site) == {"public.html", "other.html", "files/shared.txt", "files/twisted.txt", "images/found.png"}


def test_attached_files_are_where_pelican_puts_them(site: Site) -> None:
    """An attached file lies beside the page."""
    site.write("content/a/file.txt", "text")
    site.article("a/a.md", "Public", "[file]({attach}file.txt)")
    found = outputs(site, **BARE, ARTICLE_URL="posts/{slug}/", ARTICLE_SAVE_AS="posts/{slug}/index.html")
    assert found["posts/public/file.txt"].uri == f"{SITEURL}/posts/public/file.txt"
    assert found["posts/public/file.txt"].source == "a/file.txt"


def test_stale_files_are_left_out(site: Site) -> None:
    """Where the output is not cleaned, what is left of deleted sources is not listed; what is written again is."""
    for name in ("stays", "goes"):
        site.article(f"{name}.md", name)
        site.write(f"content/images/{name}.png", name)
    overrides = {"DELETE_OUTPUT_DIRECTORY": False}
    everything = {"stays.html", "goes.html", "images/stays.png", "images/goes.png"}
    assert public(site, **overrides) == everything
    site.remove("content/goes.md")
    site.remove("content/images/goes.png")
    assert public(site, **overrides) == {"stays.html", "images/stays.png"}
    assert {path for path, _file in walk(site.output)} == everything


def test_static_files_that_were_not_copied_again_stay(site: Site) -> None:
    """A static file that Pelican finds up to date belongs to the build all the same."""
    site.write("content/images/a.png", "image")
    overrides = {"DELETE_OUTPUT_DIRECTORY": False, "STATIC_CHECK_IF_MODIFIED": True}
    assert public(site, **overrides) == {"images/a.png"} == public(site, **overrides)


def test_files_of_others_are_found(site: Site) -> None:
    """What a plug-in writes, in whatever way, is found by looking; private names are passed over."""
    run = built(site, **BARE)
    for path in ("search.json", "deep/down/ü.txt", ".htaccess", ".git/config", ".well-known/security.txt"):
        file = site.output / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text")
    (site.output / "broken").symlink_to("nowhere")
    assert [each.path for each in run.outputs()] == [".well-known/security.txt", "deep/down/ü.txt", "search.json"]


def test_file_replaced_by_others_is_not_stale(site: Site) -> None:
    """A file that stood before and was written again in the run, with the same bytes, belongs to it."""
    site.output.mkdir()
    for name in ("old.txt", "rewritten.txt", "replaced.txt"):
        (site.output / name).write_text("text")
    run = Run(configured(site), SiteUrls(SITEURL))
    (site.output / "rewritten.txt").write_text("text")
    os.utime(site.output / "rewritten.txt", ns=(0, 0))
    (site.output / "new").write_text("text")
    (site.output / "new").replace(site.output / "replaced.txt")
    assert [each.path for each in run.outputs()] == ["replaced.txt", "rewritten.txt"]


def test_overriding_article_keeps_its_file(site: Site) -> None:
    """An article with a save_as of its own takes the place of the index, which Pelican then does not write."""
    site.article("home.md", "Home", Save_as="index.html", URL="")
    found = outputs(site, THEME="simple")
    assert (found["index.html"].source, found["index.html"].uri) == ("home.md", f"{SITEURL}/")


def test_template_page_takes_the_place_of_a_listing(site: Site) -> None:
    """The last that was written is what stands there."""
    site.article("a.md")
    site.write("content/home.html", "<p>Home</p>")
    found = outputs(site, THEME="simple", TEMPLATE_PAGES={"home.html": "a-title.html"})
    assert (site.output / "a-title.html").read_text() == "<p>Home</p>"
    assert found["a-title.html"].source is None


def test_site_within_the_site(site: Site) -> None:
    """What Pelican writes for a sub-site below the output has no source here, and its drafts are not public."""
    site.article("a.md", "Same", Status="draft")
    site.write("content/images/a.png", "image")
    site.write("inner/a.md", "Title: Same\nDate: 2024-01-01\n")
    site.write("inner/b.md", "Title: Inner draft\nDate: 2024-01-01\nStatus: draft\n")
    site.write("inner/images/a.png", "image")
    inner = configured(site, **BARE, PATH=str(site.folder / "inner"), OUTPUT_PATH=str(site.output / "in"))
    run = built(site, then=lambda: Pelican(inner).run(), **BARE)
    assert {each.path: (each.public, each.source) for each in run.outputs()} == {
        "drafts/same.html": (False, "a.md"),
        "images/a.png": (True, "images/a.png"),
        "in/same.html": (True, None),
        "in/drafts/inner-draft.html": (False, None),
        "in/images/a.png": (True, None),
    }


def test_theme_files(site: Site) -> None:
    """The theme's static files are known, though there is no signal for them."""
    site.write("mine/templates/index.html", "")
    for path in ("static/css/a.css", "static/b.js", "logo.svg"):
        site.write(f"mine/{path}", path)
    theme = {"THEME_STATIC_PATHS": ["static", "logo.svg"], "THEME_STATIC_DIR": "look", "DELETE_OUTPUT_DIRECTORY": False}
    overrides = {**theme, "THEME": str(site.folder / "mine"), "DIRECT_TEMPLATES": []}
    for _run in range(2):
        assert set(outputs(site, **overrides)) == {"look/css/a.css", "look/b.js", "look/logo.svg"}


def test_walk_is_in_the_order_of_paths(site: Site) -> None:
    """Whatever the disk's order; a missing folder has nothing."""
    for path in ("b", "a/z", "a.b", "a/b/c", ".hidden", ".well-known/x", "x/.hidden/y"):
        site.write(f"out/{path}", "")
    assert [path for path, _file in walk(site.folder / "out")] == [".well-known/x", "a.b", "a/b/c", "a/z", "b"]
    assert list(walk(site.folder / "none")) == []
