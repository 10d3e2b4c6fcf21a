"""A site before it is built: where its settings, theme and content lie in git, and what a build continues."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pelican.settings import read_settings

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publishers.pelican.site import Scope, find_published, find_scope, read_configuration
from tests.kit.sites import ROOT, Site, run
from tests.publishers.pelican.support import configured

MINE = "themes/mine"


def themed(site: Site) -> Site:
    """Write a theme of the site's own, and return the site."""
    for path in ("templates/base.html", "static/css/a.css", "static/b.js"):
        site.write(f"{MINE}/{path}", "")
    site.configure(THEME=MINE)
    return site


def scope_of(site: Site, top: Path | None = None) -> Scope:
    """Find the scope of a site whose settings were just read."""
    return find_scope((top or site.folder).resolve(), configured(site))


def sources(scope: Scope, *paths: str) -> list[str | None]:
    """Return what paths are below the content."""
    return [scope.source(path) for path in paths]


def test_settings_and_content_at_the_top(site: Site) -> None:
    """The settings file that was loaded, and the content; the default theme lies elsewhere."""
    scope = scope_of(site)
    assert scope == Scope(frozenset({"pelicanconf.py"}), (), "content", {})
    assert "pelicanconf.py" in scope.settings
    assert "content/pelicanconf.py" not in scope.settings
    assert list(scope.paths()) == ["pelicanconf.py", "content"]


def test_this_plugin_is_no_setting(site: Site) -> None:
    """Its modules are none, also where they lie in the site's repository; another's are, if it has them loaded."""
    folders = {path.partition("/")[0] for path in find_scope(ROOT, configured(site)).settings}
    assert "tests" in folders
    assert "pelican_resourcesync" not in folders


def test_site_in_a_subdirectory(tmp_path: Path) -> None:
    """Where a repository holds more than the site, its paths begin with the site's folder."""
    scope = scope_of(themed(Site.create(tmp_path / "top/docs/site")), tmp_path / "top")
    assert scope.settings == {"docs/site/pelicanconf.py"}
    assert (scope.theme, scope.content) == ((f"docs/site/{MINE}",), "docs/site/content")
    paths = ("docs/site/content/a/b.md", "docs/site/contents/b.md", "content/b.md")
    assert sources(scope, *paths) == ["a/b.md", None, None]


@pytest.mark.parametrize(
    ("path", "content", "source", "paths"),
    [
        (".", ".", "content/a.md", ["pelicanconf.py", "."]),
        ("../elsewhere", None, None, ["pelicanconf.py"]),
    ],
    ids=["all of it", "in another repository"],
)
def test_content_elsewhere(
    tmp_path: Path, path: str, content: str | None, source: str | None, paths: list[str]
) -> None:
    """A repository may be nothing but sources, or have none."""
    (tmp_path / "elsewhere").mkdir()
    scope = scope_of(Site.create(tmp_path / "site", PATH=path))
    assert scope.content == content
    assert scope.source("content/a.md") == source
    assert list(scope.paths()) == paths


def test_theme_inside(site: Site) -> None:
    """A theme of the repository: all of it counts, a submodule that holds it too; its static files are copied."""
    scope = scope_of(themed(site))
    assert scope.theme == (MINE,)
    assert scope.theme_file(f"{MINE}/static/css/a.css") == "theme/css/a.css"
    assert scope.theme_file(f"{MINE}/templates/base.html") is None
    assert list(scope.paths()) == ["pelicanconf.py", MINE, "content"]


def test_theme_static_settings(site: Site) -> None:
    """A file or several folders may be copied, to any folder; a theme may be the top itself."""
    site.write("templates/base.html", "")
    site.configure(THEME=".", THEME_STATIC_PATHS=["assets", "logo.svg"], THEME_STATIC_DIR="look/")
    scope = scope_of(site)
    assert scope.theme == (".",)
    copied = {path: scope.theme_file(path) for path in ("assets/a/b.css", "logo.svg", "static/b.css")}
    assert copied == {"assets/a/b.css": "look/a/b.css", "logo.svg": "look/logo.svg", "static/b.css": None}


def test_templates_that_override_the_theme(site: Site) -> None:
    """Folders of templates of one's own count as the theme, wherever that lies."""
    site.write("templates/article.html", "")
    site.configure(THEME_TEMPLATES_OVERRIDES=[str(site.folder / "templates")])
    scope = scope_of(site)
    assert scope.theme == ("templates",)
    assert list(scope.paths()) == ["pelicanconf.py", "templates", "content"]


def test_theme_that_is_none_of_the_sources(site: Site, tmp_path: Path) -> None:
    """Neither one in a virtual environment of the work tree, nor one from elsewhere."""
    theme = "venv/lib/python3/site-packages/somebody/theme"
    site.write(f"{theme}/templates/base.html", "")
    other = themed(Site.create(tmp_path / "other")).folder / MINE
    for where in (theme, str(other)):
        site.configure(THEME=where)
        scope = scope_of(site)
        assert scope.theme == ()
        assert scope.theme_file(f"{MINE}/static/b.js") is None


@pytest.mark.parametrize("name", ["publishconf", "production"])
def test_settings_that_import_settings(site: Site, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Every module of the repository that was loaded with the settings is one of them; tools beside are not."""
    base = f"base_of_{name}"
    site.write(f"{base}.py", "SITENAME = 'base'\nSITEURL = 'https://example.org'\n")
    site.write(f"{name}.py", f"from {base} import *\nPATH = 'content'\n")
    site.write("tasks.py", "")
    monkeypatch.syspath_prepend(str(site.folder))
    settings: dict[str, Any] = dict(read_settings(str(site.folder / f"{name}.py")))
    assert find_scope(site.folder.resolve(), settings).settings == {f"{name}.py", f"{base}.py"}


def test_settings_through_a_symbolic_link(tmp_path: Path) -> None:
    """A site that is reached through a link lies where it really is."""
    Site.create(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    scope = scope_of(Site(tmp_path / "link"), tmp_path / "real")
    assert scope.content == "content"
    assert scope.settings == {"pelicanconf.py"}


def test_sources_outside_the_content(tmp_path: Path) -> None:
    """`STATIC_PATHS` may lead out of the content, to files of the repository or of elsewhere."""
    paths = ["images", "../../brand/logo.svg", "./../shared", "../../../elsewhere"]
    scope = scope_of(Site.create(tmp_path / "top/site", STATIC_PATHS=paths), tmp_path / "top")
    assert scope.beyond == ("brand/logo.svg", "site/shared")
    assert list(scope.paths()) == ["site/pelicanconf.py", "site/content", "brand/logo.svg", "site/shared"]
    assert sources(scope, "brand/logo.svg", "site/shared/a/b.png") == ["../../brand/logo.svg", "../shared/a/b.png"]
    assert scope.source("site/content/images/a.png") == "images/a.png"
    assert sources(scope, "brand/other.svg", "site/shared2/b.png") == [None, None]


def test_path_that_leads_out_of_the_content_and_back(site: Site) -> None:
    """It lies in the content."""
    site.configure(STATIC_PATHS=["../content/images"])
    assert scope_of(site).source("content/images/a.png") == "images/a.png"


@pytest.mark.parametrize("where", ["pelican.site.SitePublisher", "static_site.publishing.PredecessorSearch.find"])
def test_a_disk_error_is_one_message(site: Site, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Whether it happens before the search for the previous publication, or during it."""

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(f"pelican_resourcesync.publishers.{where}", fail)
    configuration = read_configuration(site.folder / "pelicanconf.py")
    with pytest.raises(PublicationError, match="Input/output error"), ExitStack() as stack:
        find_published(configuration, site.output, stack)


def test_a_language_without_a_translation(site: Site) -> None:
    """The first build says that the page for people is in English; later ones need not."""
    site.article("a.md", at="2024-01-01T12:00:00Z")
    site.configure(DEFAULT_LANG="it_IT")
    hint = "ResourceSync: the page for people is in English, because there is no translation into 'it_it'."
    assert [hint in run(site)[1] for _ in range(2)] == [True, False]
