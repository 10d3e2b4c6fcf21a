"""The sources of a site as git sees them: where settings, theme and content lie."""

from pathlib import Path

import pytest

from pelican_resourcesync.site.scope import Scope, find_scope
from tests.site.support import configured
from tests.support.sites import ROOT, Site

THEME = {"themes/mine/templates/base.html": "", "themes/mine/static/css/a.css": "", "themes/mine/static/b.js": ""}


def themed(site: Site) -> Site:
    """Write a theme of the site's own, and return the site."""
    for path, text in THEME.items():
        site.write(path, text)
    site.configure(THEME="themes/mine")
    return site


def scope_of(site: Site, top: Path | None = None, conf: str = "pelicanconf.py") -> Scope:
    """Find the scope of a site whose settings were just read."""
    settings = configured(site) if conf == "pelicanconf.py" else _published(site, conf)
    return find_scope((top or site.folder).resolve(), settings)


def _published(site: Site, conf: str) -> dict[str, object]:
    from pelican.settings import read_settings

    return dict(read_settings(str(site.folder / conf)))


def test_settings_and_content_at_the_top(site: Site) -> None:
    """The settings file that was loaded, and the content; the default theme lies elsewhere."""
    scope = scope_of(site)
    assert scope == Scope(frozenset({"pelicanconf.py"}), (), "content", {})
    assert scope.is_settings("pelicanconf.py")
    assert not scope.is_settings("content/pelicanconf.py")
    assert not scope.is_theme("content/a.md")
    assert list(scope.paths()) == ["pelicanconf.py", "content"]


def test_this_plugin_is_no_setting(site: Site) -> None:
    """Its modules are none, also where they lie in the site's repository; another's are, if it has them loaded."""
    settings = configured(site)
    scope = find_scope(ROOT, settings)
    folders = {path.partition("/")[0] for path in scope.settings}
    assert "tests" in folders
    assert "pelican_resourcesync" not in folders


def test_site_in_a_subdirectory(tmp_path: Path) -> None:
    """Where a repository holds more than the site, its paths begin with the site's folder."""
    site = themed(Site.create(tmp_path / "top" / "docs" / "site"))
    scope = scope_of(site, tmp_path / "top")
    assert scope.settings == {"docs/site/pelicanconf.py"}
    assert (scope.theme, scope.content) == (("docs/site/themes/mine",), "docs/site/content")
    assert scope.source("docs/site/content/a/b.md") == "a/b.md"
    assert scope.source("docs/site/contents/b.md") is None
    assert scope.source("content/b.md") is None


def test_content_is_the_top(site: Site) -> None:
    """A repository may be nothing but sources."""
    site.configure(PATH=".")
    scope = scope_of(site)
    assert scope.content == "."
    assert scope.source("a/b.md") == "a/b.md"


def test_content_outside(tmp_path: Path) -> None:
    """Sources in another repository are none that this one knows."""
    (tmp_path / "elsewhere").mkdir()
    site = Site.create(tmp_path / "site", PATH="../elsewhere")
    scope = scope_of(site)
    assert scope.content is None
    assert scope.source("content/a.md") is None
    assert list(scope.paths()) == ["pelicanconf.py"]


def test_theme_inside(site: Site) -> None:
    """A theme of the repository: all of it counts, and its static files are copied."""
    scope = scope_of(themed(site))
    assert scope.theme == ("themes/mine",)
    assert scope.is_theme("themes/mine/templates/base.html")
    assert not scope.is_theme("themes/other/templates/base.html")
    assert not scope.is_theme("themes/mine2")
    assert scope.theme_file("themes/mine/static/css/a.css") == "theme/css/a.css"
    assert scope.theme_file("themes/mine/templates/base.html") is None
    assert list(scope.paths()) == ["pelicanconf.py", "themes/mine", "content"]


def test_theme_static_settings(site: Site) -> None:
    """A file or several folders may be copied, to any folder; a theme may be the top itself."""
    site.write("templates/base.html", "")
    site.configure(THEME=".", THEME_STATIC_PATHS=["assets", "logo.svg"], THEME_STATIC_DIR="look/")
    scope = scope_of(site)
    assert scope.theme == (".",)
    assert scope.theme_file("assets/a/b.css") == "look/a/b.css"
    assert scope.theme_file("logo.svg") == "look/logo.svg"
    assert scope.theme_file("static/b.css") is None
    assert scope.is_theme("templates/base.html")


def test_theme_in_a_submodule(site: Site) -> None:
    """A change of the submodule that holds the theme is a change of the theme."""
    scope = scope_of(themed(site))
    assert scope.is_theme("themes")
    assert scope.is_theme("themes/mine")
    assert not scope.is_theme("them")


def test_templates_that_override_the_theme(site: Site) -> None:
    """Folders of templates of one's own count as the theme, wherever that lies."""
    site.write("templates/article.html", "")
    site.configure(THEME_TEMPLATES_OVERRIDES=[str(site.folder / "templates")])
    scope = scope_of(site)
    assert scope.theme == ("templates",)
    assert scope.is_theme("templates/article.html")
    assert list(scope.paths()) == ["pelicanconf.py", "templates", "content"]


def test_theme_that_was_installed_is_none_of_the_sources(site: Site) -> None:
    """A virtual environment in the work tree is not the site's, though its theme is used."""
    theme = "venv/lib/python3/site-packages/somebody/theme"
    site.write(f"{theme}/templates/base.html", "")
    site.configure(THEME=theme)
    assert scope_of(site).theme == ()


def test_theme_outside(tmp_path: Path) -> None:
    """A theme from elsewhere has no sources here."""
    other = themed(Site.create(tmp_path / "other"))
    site = Site.create(tmp_path / "site", THEME=str(other.folder / "themes" / "mine"))
    scope = scope_of(site)
    assert scope.theme == ()
    assert scope.theme_file("themes/mine/static/b.js") is None


@pytest.mark.parametrize("name", ["publishconf", "production"])
def test_settings_that_import_settings(site: Site, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Every module of the repository that was loaded with the settings is one of them; tools beside are not."""
    base = f"base_of_{name}"
    site.write(f"{base}.py", "SITENAME = 'base'\nSITEURL = 'https://example.org'\n")
    site.write(f"{name}.py", f"from {base} import *\nPATH = 'content'\n")
    site.write("tasks.py", "")
    monkeypatch.syspath_prepend(str(site.folder))
    assert scope_of(site, conf=f"{name}.py").settings == {f"{name}.py", f"{base}.py"}


def test_settings_through_a_symbolic_link(tmp_path: Path) -> None:
    """A site that is reached through a link lies where it really is."""
    Site.create(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    site = Site(tmp_path / "link")
    assert scope_of(site, tmp_path / "real").content == "content"
    assert scope_of(site, tmp_path / "real").settings == {"pelicanconf.py"}


def test_sources_outside_the_content(tmp_path: Path) -> None:
    """`STATIC_PATHS` may lead out of the content, to files of the repository or of elsewhere."""
    paths = ["images", "../../brand/logo.svg", "./../shared", "../../../elsewhere"]
    site = Site.create(tmp_path / "top" / "site", STATIC_PATHS=paths)
    scope = scope_of(site, tmp_path / "top")
    assert scope.beyond == ("brand/logo.svg", "site/shared")
    assert list(scope.paths()) == ["site/pelicanconf.py", "site/content", "brand/logo.svg", "site/shared"]
    assert scope.source("brand/logo.svg") == "../../brand/logo.svg"
    assert scope.source("site/shared/a/b.png") == "../shared/a/b.png"
    assert scope.source("site/content/images/a.png") == "images/a.png"
    assert scope.source("brand/other.svg") is None
    assert scope.source("site/shared2/b.png") is None


def test_content_that_holds_what_is_outside(site: Site) -> None:
    """A path that leads out of the content and back in lies in it."""
    site.configure(STATIC_PATHS=["../content/images"])
    assert scope_of(site).source("content/images/a.png") == "images/a.png"
