"""Regimes: under which settings the sources of each time were read."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pelican_resourcesync.site.regimes import Learned, Regimes
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.scope import Scope
from pelican_resourcesync.site.view import Beside, Group, View
from tests.site.support import SITEURL, configured
from tests.sites import Site

SOURCE = b"Title: A title\nDate: 2024-01-01\n"
TODAY = {"pelicanconf.py": b"ARTICLE_URL = ARTICLE_SAVE_AS = 'new/{slug}.html'\n"}
SCOPE = Scope(frozenset(TODAY), (), "content", {})
THEN = {"pelicanconf.py": b"ARTICLE_URL = ARTICLE_SAVE_AS = 'old/{slug}.html'\n"}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the place of temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def regimes(site: Site, temporary: Path) -> Iterator[Regimes]:
    """Give the regimes of a site whose articles are published below `new` today."""
    settings = configured(site, ARTICLE_URL="new/{slug}.html", ARTICLE_SAVE_AS="new/{slug}.html")
    with Regimes(settings, SITEURL, SCOPE, TODAY) as regimes:
        yield regimes


def uri(regimes: Regimes, files: dict[str, bytes]) -> str:
    """Give the URI of an article when the settings files were these."""
    content = regimes.at(files).contents.read("a.md", Role.ARTICLE, "blob", SOURCE)
    assert content is not None
    return content.uri.removeprefix(SITEURL)


def test_each_time_has_its_rules(regimes: Regimes) -> None:
    """The same blob has the URI that the settings of the time gave it."""
    assert uri(regimes, TODAY) == "/new/a-title.html"
    assert uri(regimes, THEN) == "/old/a-title.html"
    assert uri(regimes, {"pelicanconf.py": b""}) == "/a-title.html"


def test_equal_settings_are_one_regime(regimes: Regimes) -> None:
    """Files that say the same, in other words, are read in the same way; and today is `now`."""
    again = {"pelicanconf.py": b"# a comment\nARTICLE_SAVE_AS = 'old/{slug}.html'\nARTICLE_URL = ARTICLE_SAVE_AS\n"}
    assert regimes.at(THEN) is regimes.at(again)
    assert regimes.at(TODAY) is regimes.now
    assert regimes.at(THEN) is not regimes.now


def test_files_that_are_not_there_or_not_of_today_say_nothing(regimes: Regimes) -> None:
    """Only a file that is a settings file today is asked."""
    assert regimes.at({}) is regimes.now
    assert regimes.at({"oldconf.py": THEN["pelicanconf.py"]}) is regimes.now


def test_of_two_files_the_importing_one_has_the_last_word(site: Site) -> None:
    """As when Python runs them, whatever the order in which they are named."""
    settings = configured(site, ARTICLE_URL="new/{slug}.html", ARTICLE_SAVE_AS="new/{slug}.html")
    importing = b"from zbase import *\n"
    today = {"aconf.py": importing, "zbase.py": TODAY["pelicanconf.py"]}
    with Regimes(settings, SITEURL, SCOPE, today) as regimes:
        then = b"ARTICLE_URL = 'last/{slug}.html'\nARTICLE_SAVE_AS = ARTICLE_URL\n"
        assert uri(regimes, {"aconf.py": importing + then, "zbase.py": THEN["pelicanconf.py"]}) == "/last/a-title.html"
        assert uri(regimes, {"aconf.py": importing, "zbase.py": THEN["pelicanconf.py"]}) == "/old/a-title.html"


@pytest.mark.parametrize(
    "line",
    [b"IGNORE_FILES = [5]", b"ARTICLE_PATHS = [None]", b"DEFAULT_LANG = 5", b"PAGINATED_TEMPLATES = {'index': 'ten'}"],
)
def test_settings_that_pelican_cannot_use_are_those_of_today(regimes: Regimes, temporary: Path, line: bytes) -> None:
    """A past that cannot be built is read as today, and nothing is left behind."""
    assert regimes.at({"pelicanconf.py": TODAY["pelicanconf.py"] + line}) is regimes.now
    assert len(list(temporary.iterdir())) == 1


def test_temporary_folders_go(regimes: Regimes, temporary: Path) -> None:
    """Every regime's folder is gone in the end."""
    regimes.at(THEN)
    assert len(list(temporary.iterdir())) == 2
    regimes.__exit__()
    assert list(temporary.iterdir()) == []


def test_pins_hold_in_every_regime(regimes: Regimes) -> None:
    """What the build says of a source is known to all."""
    assert regimes.at(THEN).contents._pins is regimes.pins


def test_folders_that_moved(site: Site) -> None:
    """Where the sources and the theme were is a matter of the time, and not of the URLs."""
    scope = Scope(frozenset(TODAY), ("look",), "posts", {"look/static": "theme"})
    today = {"pelicanconf.py": b"PATH = 'posts'\nTHEME = 'look'\n"}
    with Regimes(configured(site), SITEURL, scope, today) as regimes:
        before = regimes.at({"pelicanconf.py": b"PATH = 'content'\nTHEME = 'theme'\n"})
        assert before.scope == Scope(scope.settings, ("theme",), "content", {"theme/static": "theme"})
        assert before.contents is regimes.now.contents
        assert regimes.at({"pelicanconf.py": b"THEME = 'theme'\nPATH = 'content'\n"}) is before
        assert regimes.at(today) is regimes.now
        assert regimes.now.scope is scope
        other = regimes.at({"pelicanconf.py": b"PATH = 'content'\nARTICLE_URL = 'a/{slug}'\n"})
        assert other.scope.content == "content"
        assert other.contents is not regimes.now.contents


def test_menu_that_was_not_there(site: Site) -> None:
    """Pages showed what the settings of the time put into menus."""
    views = {"article": View(beside=(Beside(Group.PAGES), Beside(Group.TAGS)))}
    settings = configured(site)
    with Regimes(settings, SITEURL, SCOPE, {"pelicanconf.py": b""}, Learned(views)) as regimes:
        then = regimes.at({"pelicanconf.py": b"DISPLAY_PAGES_ON_MENU = False"})
        assert then.contents.views == {"article": View(beside=(Beside(Group.TAGS),))}
        assert regimes.now.contents.views == views
