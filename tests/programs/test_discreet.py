"""Nothing is named that was not public when it was listed (promise 6, *discreet*)."""

import pytest

from tests.kit.sites import Site, run, strip

#: A plug-in that keeps what has an embargo, by giving it another status.
EMBARGO = """
from pelican import signals

def keep(content):
    if content.metadata.get("embargo"):
        content.status = "draft"

def register():
    signals.content_object_init.connect(keep)
"""


@pytest.fixture
def plain(site: Site) -> Site:
    """Return a site that publishes its contents and static files alone."""
    strip(site).configure(STATIC_PATHS=["files"])
    return site


def named(site: Site) -> set[str]:
    """Return the path of every URI that any list names."""
    return {*site.resources(), *(path for _time, _kind, path in site.changes())}


@pytest.mark.promise("Discreet")
def test_what_a_draft_alone_attaches_is_not_named(plain: Site) -> None:
    """Its address would tell the draft's: a file of `STATIC_PATHS` that a link moved beside a draft."""
    plain.configure(
        STATIC_PATHS=["posts"],
        DRAFT_SAVE_AS="drafts/{slug}/index.html",
        DRAFT_URL="drafts/{slug}/",
        ARTICLE_SAVE_AS="{slug}/index.html",
        ARTICLE_URL="{slug}/",
    )
    plain.write("content/posts/plan.png", b"plan")
    plain.write("content/posts/map.png", b"map")
    plain.article("posts/merger.md", "Secret merger", "![]({attach}plan.png)", Status="draft", Category="x")
    plain.article("posts/walk.md", "Walk", "![]({attach}map.png)")
    plain.commit("2024-01-01T10:00:00Z")
    plain.build()
    assert (plain.output / "drafts/secret-merger/plan.png").is_file()
    assert named(plain) == {"/walk/", "/walk/map.png"}


@pytest.mark.promise("Discreet")
def test_content_that_a_plugin_kept_is_not_named_when_it_is_gone(plain: Site) -> None:
    """A plug-in that decides by metadata what is public decides for the past too."""
    plain.write("embargo.py", EMBARGO)
    plain.configure(PLUGIN_PATHS=["."], PLUGINS=["embargo", "pelican_resourcesync"])
    plain.article("deal.md", "The deal", Embargo="2099")
    plain.article("news.md", "News")
    plain.commit("2024-01-01T10:00:00Z")
    plain.remove("content/deal.md", at="2024-02-01T10:00:00Z")
    plain.build()
    assert named(plain) == {"/news.html"}


@pytest.mark.promise("Discreet")
@pytest.mark.parametrize("pattern", ["private", "/private/*"])
def test_folder_is_excluded_however_it_is_written(plain: Site, pattern: str) -> None:
    """A folder's pattern means all in it, now and in the past, with or without slashes."""
    plain.configure(STATIC_PATHS=["files", "private"], RESOURCESYNC={"exclude": [pattern]})
    for name in ("private/a.txt", "private/b/c.txt", "files/d.txt"):
        plain.write(f"content/{name}", name)
    plain.commit("2024-01-01T10:00:00Z")
    plain.remove("content/private/a.txt", at="2024-02-01T10:00:00Z")
    plain.build()
    assert named(plain) == {"/files/d.txt"}


def test_pattern_that_excludes_nothing_is_pointed_out(plain: Site) -> None:
    """A misspelt pattern would publish what was meant to be kept: one warning names it, and no other."""
    plain.configure(RESOURCESYNC={"exclude": ["privte/*", "a.html"]})
    plain.article("a.md", "A")
    plain.article("b.md", "B")
    plain.article("c.md", "C", Save_as="c/index.html", Url="c/")
    plain.commit("2024-01-01T10:00:00Z")
    said = run(plain)[1]
    assert "'privte/*' in RESOURCESYNC['exclude'] matches no file of the output" in said
    assert "'404.html'" not in said
    assert "'a.html'" not in said
    plain.configure(RESOURCESYNC={"exclude": ["404.html", "privtae/*", "a.html", "c/index.html"]})
    plain.remove("content/c.md")
    plain.commit("2024-01-02T10:00:00Z")
    said = run(plain)[1]
    assert "'privtae/*' in RESOURCESYNC['exclude'] matches no file" in said
    assert "'c/index.html'" not in said, "it was the file of a page of before"


def test_hidden_front_page_is_pointed_out(plain: Site) -> None:
    """It is what everybody sees, and in no list: a line says so, once."""
    plain.write("content/pages/home.md", "Title: Home\nSave_as: index.html\nUrl:\nStatus: hidden\n\nText.\n")
    plain.article("a.md", "A")
    plain.commit("2024-01-01T10:00:00Z")
    status, said = run(plain, "--fatal", "warnings")
    assert status == 0
    assert said.count("the front page (index.html) is not listed, because its source is hidden or a draft") == 1
    assert named(plain) == {"/a.html"}
    plain.write("content/pages/home.md", "Title: Home\nSave_as: index.html\nUrl:\n\nText.\n")
    assert "the front page" not in run(plain)[1]


@pytest.mark.promise("Discreet")
def test_files_for_the_host_are_no_resources(plain: Site) -> None:
    """Not even where `exclude` says nothing of them."""
    plain.configure(
        STATIC_PATHS=["host", "files"],
        EXTRA_PATH_METADATA={f"host/{name}": {"path": name} for name in ("_headers", "_redirects", "CNAME")},
        RESOURCESYNC={"exclude": [], "link_headers": ["_headers", ".htaccess"]},
    )
    for name in ("_headers", "_redirects", "CNAME"):
        plain.write(f"content/host/{name}", name)
    plain.write("content/files/a.txt", "a")
    plain.commit("2024-01-01T10:00:00Z")
    plain.build()
    assert (plain.output / "_headers").is_file()
    assert named(plain) == {"/files/a.txt"}
