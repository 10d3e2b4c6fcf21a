"""Sites whose folders moved, or reach out of themselves: real repositories, built by real Pelican; changes by hand."""

from pathlib import Path

from tests.site.support import BARE, rows, tell
from tests.sites import Row, Site

T = [f"2024-01-{day:02}T10:00:00Z" for day in range(10)]


#: Files of the repository that the site publishes at its top.
OUTSIDE = {
    "STATIC_PATHS": ["../brand"],
    "EXTRA_PATH_METADATA": {f"../brand/{name}.svg": {"path": f"{name}.svg"} for name in ("logo", "old", "second")},
}


def told(site: Site) -> list[Row]:
    """Build a site and give the changes that its history tells."""
    return rows(tell(site).changes)


def themed(site: Site, folder: str, text: str = "Page") -> None:
    """Write a theme with a style sheet."""
    site.write(f"{folder}/templates/article.html", f"<html>{text} {{{{ article.content }}}}</html>")
    site.write(f"{folder}/static/a.css", "a {}")


def test_sources_that_moved(tmp_path: Path) -> None:
    """The folder of the sources is renamed and the settings with it: no address changes, and nothing is lost."""
    site = Site.create(tmp_path / "site", **BARE)
    site.article("a.md", "One")
    site.article("gone.md", "Gone")
    site.write("content/images/a.png", "image")
    site.commit(T[1])
    site.article("a.md", "One", "Changed.")
    site.remove("content/gone.md")
    site.commit(T[2])
    site.git("mv", "content", "posts")
    site.configure(PATH="posts")
    site.commit(T[3])
    site.write("posts/a.md", "Title: One\nDate: 2024-01-01\n\nChanged again.\n")
    site.commit(T[4])
    assert told(site) == [
        (T[1], "created", "/gone.html"),
        (T[1], "created", "/images/a.png"),
        (T[1], "created", "/one.html"),
        (T[2], "deleted", "/gone.html"),
        (T[2], "updated", "/one.html"),
        (T[3], "updated", "/one.html"),  # as with all changed settings: they may show anywhere
        (T[4], "updated", "/one.html"),
    ]


def test_sources_that_moved_in_a_site_below_the_top(tmp_path: Path) -> None:
    """The settings say it relative to themselves. What lay in the new folder before was none of the sources."""
    (tmp_path / "top").mkdir()
    site = Site.create(tmp_path / "top" / "docs", **{**BARE, "PATH": "./content"})
    (tmp_path / "top" / "docs" / ".git").rename(tmp_path / "top" / ".git")
    site.article("a.md", "One")
    site.write("posts/note.md", "Title: A note\nDate: 2024-01-01\n")
    site.commit(T[1])
    site.git("mv", "content/a.md", "posts/a.md")
    site.configure(PATH="../docs/posts/")
    site.commit(T[2])
    assert told(site) == [
        (T[1], "created", "/one.html"),
        (T[2], "created", "/a-note.html"),
        (T[2], "updated", "/one.html"),
    ]


def test_sources_that_moved_with_one_that_changed(tmp_path: Path) -> None:
    """A source may come, go or be published elsewhere with the move."""
    site = Site.create(tmp_path / "site", **BARE)
    site.article("a.md", "One")
    site.article("b.md", "Two")
    site.commit(T[1])
    site.git("mv", "content", "posts")
    site.remove("posts/b.md")
    site.write("posts/a.md", "Title: One\nSlug: first\nDate: 2024-01-01\n")
    site.configure(PATH="posts")
    site.commit(T[2])
    assert told(site)[2:] == [
        (T[2], "created", "/first.html"),
        (T[2], "deleted", "/one.html"),
        (T[2], "deleted", "/two.html"),
    ]


def test_theme_that_moved(tmp_path: Path) -> None:
    """A theme under another name: its files are where they were, and before the move too its changes showed."""
    site = Site.create(tmp_path / "site", **{**BARE, "THEME": "theme", "THEME_STATIC_PATHS": ["static"]})
    themed(site, "theme")
    site.article("a.md", "One")
    site.commit(T[1])
    themed(site, "theme", "Other page")
    site.commit(T[2])
    site.write("theme/static/a.css", "b {}")
    site.commit(T[3])
    site.git("mv", "theme", "look")
    site.configure(THEME="look")
    site.commit(T[4])
    site.write("look/static/b.css", "b {}")
    site.remove("look/static/a.css")
    site.commit(T[5])
    assert told(site) == [
        (T[1], "created", "/one.html"),
        (T[1], "created", "/theme/a.css"),
        (T[2], "updated", "/one.html"),
        (T[3], "updated", "/one.html"),
        (T[3], "updated", "/theme/a.css"),
        (T[4], "updated", "/one.html"),
        (T[5], "updated", "/one.html"),
        (T[5], "deleted", "/theme/a.css"),
        (T[5], "created", "/theme/b.css"),
    ]


def test_all_that_moved_at_once(tmp_path: Path) -> None:
    """A whole site is put in order: sources, theme and addresses."""
    site = Site.create(tmp_path / "site", **{**BARE, "THEME": "theme", "THEME_STATIC_PATHS": ["static"]})
    themed(site, "theme")
    site.article("a.md", "One")
    site.commit(T[1])
    site.git("mv", "content", "posts")
    site.git("mv", "theme", "look")
    site.configure(PATH="posts", THEME="look", ARTICLE_URL="{slug}/", ARTICLE_SAVE_AS="{slug}/index.html")
    site.commit(T[2])
    assert told(site) == [
        (T[1], "created", "/one.html"),
        (T[1], "created", "/theme/a.css"),
        (T[2], "deleted", "/one.html"),
        (T[2], "created", "/one/"),
    ]


def test_file_from_outside_that_is_older_than_the_site(tmp_path: Path) -> None:
    """A logo of the repository was there long before the site: it is published since the site is."""
    site = Site.create(tmp_path / "site", **{**BARE, **OUTSIDE})
    settings = (site.folder / "pelicanconf.py").read_bytes()
    site.remove("pelicanconf.py")
    site.write("brand/logo.svg", "<svg/>")
    site.write("brand/old.svg", "<svg/>")
    site.commit(T[1])
    site.write("brand/logo.svg", "<svg></svg>")
    site.remove("brand/old.svg")
    site.commit(T[2])
    site.write("pelicanconf.py", settings)
    site.article("a.md", "One")
    site.commit(T[3])
    site.write("brand/logo.svg", "<svg id='a'/>")
    site.commit(T[4])
    site.write("brand/second.svg", "<svg/>")
    site.remove("brand/logo.svg")
    site.commit(T[5])
    assert told(site) == [
        (T[3], "created", "/logo.svg"),
        (T[3], "created", "/one.html"),
        (T[4], "updated", "/logo.svg"),
        (T[5], "deleted", "/logo.svg"),
        (T[5], "created", "/second.svg"),
    ]


def test_file_from_outside_waits_for_any_source(tmp_path: Path) -> None:
    """The site may begin with a source, before there are settings; what changes of a file until then is not told."""
    site = Site.create(tmp_path / "site", **{**BARE, **OUTSIDE})
    settings = (site.folder / "pelicanconf.py").read_bytes()
    site.remove("pelicanconf.py")
    site.write("brand/logo.svg", "<svg/>")
    site.commit(T[1])
    site.article("a.md", "One")
    site.commit(T[2])
    site.write("pelicanconf.py", settings)
    site.commit(T[3])
    assert [(time, kind) for time, kind, path in told(site) if path == "/logo.svg"] == [(T[2], "created")]
