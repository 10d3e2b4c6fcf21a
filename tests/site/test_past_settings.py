"""The settings of the past: what was otherwise than today."""

from typing import Any

import pytest
from pelican.paginator import PaginationRule
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.site.past_settings import UNSET, complete, places_then, settings_then
from pelican_resourcesync.site.settings_file import plain_settings


def otherwise(today: str, then: str, **settings: Any) -> dict[str, Any]:
    """Give what was otherwise: `settings` are in force beside what the file of today assigns."""
    said = plain_settings(today.encode())
    return settings_then({**DEFAULT_CONFIG, **said.values, **settings}, said, plain_settings(then.encode()))


def test_another_value_then() -> None:
    """A setting that URLs depend on had another value; one that they do not depend on is no matter."""
    today, then = "ARTICLE_URL = 'a/{slug}'\nSITENAME = 'A'\nTHEME = 'x'", "ARTICLE_URL = 'b/{slug}'\nSITENAME = 'B'"
    assert otherwise(today, then) == {"ARTICLE_URL": "b/{slug}"}
    assert otherwise(today, today) == {}


def test_setting_that_was_not_there_then_had_its_default() -> None:
    """What a file did not assign was Pelican's default."""
    assert otherwise("ARTICLE_URL = 'a/{slug}'", "") == {"ARTICLE_URL": "{slug}.html"}
    assert otherwise("", "ARTICLE_URL = 'a/{slug}'") == {"ARTICLE_URL": "a/{slug}"}
    assert otherwise("AUTHOR = 'Ann'", "") == {"AUTHOR": UNSET}


@pytest.mark.parametrize(
    "then",
    [
        "ARTICLE_URL = f('x')",
        "if A:\n    ARTICLE_URL = 'b'",
        "from base import *",
        "ARTICLE_URL = 'b",
        "import ARTICLE_URL",
    ],
)
def test_what_is_unclear_keeps_its_value_of_today(then: str) -> None:
    """No URL of the past is made of a guess."""
    assert otherwise("ARTICLE_URL = 'a/{slug}'", then) == {}


def test_only_where_the_file_decides_today() -> None:
    """What another file or the command line decides today is taken to have been decided there always."""
    assert otherwise("FEED_ALL_ATOM = None", "FEED_ALL_ATOM = 'all.xml'", FEED_ALL_ATOM="feeds/all.xml") == {}
    assert otherwise("", "FEED_ALL_ATOM = None", FEED_ALL_ATOM="other.xml") == {}
    assert otherwise("", "FEED_ALL_ATOM = None") == {"FEED_ALL_ATOM": None}
    assert otherwise("FEED_ALL_ATOM = g()", "FEED_ALL_ATOM = None", FEED_ALL_ATOM="other.xml") == {
        "FEED_ALL_ATOM": None
    }


def test_forms_that_pelican_makes_its_own() -> None:
    """Pagination rules are Pelican's, in its order; what it would not take is left as it is today."""
    rules = "PAGINATION_PATTERNS = [(2, 'b/{number}', 'b/{number}'), (1, 'a', 'a')]"
    assert otherwise("", rules) == {
        "PAGINATION_PATTERNS": [PaginationRule(1, "a", "a"), PaginationRule(2, "b/{number}", "b/{number}")]
    }
    for wrong in ("5", "None", "[(1, 'a')]", "[1]", "[(1, 'a', 'b'), ('x', 'a', 'b')]"):
        assert otherwise("", f"PAGINATION_PATTERNS = {wrong}") == {}


@pytest.mark.parametrize(
    ("then", "found"),
    [
        ("DIRECT_TEMPLATES = ('index',)", {"DIRECT_TEMPLATES": ("index",)}),
        ("DIRECT_TEMPLATES = 'index'", {}),
        ("DIRECT_TEMPLATES = None", {}),
        ("TEMPLATE_PAGES = ['a']", {}),
        ("TEMPLATE_PAGES = {'a': 'b'}", {"TEMPLATE_PAGES": {"a": "b"}}),
        ("DEFAULT_PAGINATION = 5", {"DEFAULT_PAGINATION": 5}),
        ("DEFAULT_PAGINATION = '5'", {}),
        ("FEED_MAX_ITEMS = None", {"FEED_MAX_ITEMS": None}),
        ("FEED_MAX_ITEMS = 'ten'", {}),
        ("ARTICLE_URL = None", {"ARTICLE_URL": None}),
    ],
)
def test_only_values_of_the_kind_that_stands_there(then: str, found: dict[str, Any]) -> None:
    """A value that Pelican could not have used is not tried."""
    assert otherwise("", then) == found


def test_excludes_are_completed_as_pelican_does() -> None:
    """Articles are not looked for among pages, nor pages among articles."""
    whole = complete(DEFAULT_CONFIG, {"PAGE_PATHS": ["a", "b"], "ARTICLE_EXCLUDES": ["a"]})
    assert (whole["ARTICLE_EXCLUDES"], whole["PAGE_EXCLUDES"]) == (["a", "b"], [""])
    assert DEFAULT_CONFIG["ARTICLE_EXCLUDES"] == []


def test_setting_that_was_not_set_is_gone() -> None:
    """Where Pelican has no default, what was not there is not there: neither a value of today nor a mark of ours."""
    whole = complete({**DEFAULT_CONFIG, "AUTHOR": "Ann", "STATIC_URL": "x"}, {"AUTHOR": UNSET, "TIMEZONE": "UTC"})
    assert "AUTHOR" not in whole
    assert (whole["STATIC_URL"], whole["TIMEZONE"]) == ("x", "UTC")
    assert otherwise("CATEGORY_FEED_RSS_URL = 'a'", "") == {"CATEGORY_FEED_RSS_URL": UNSET}


def test_menus_matter() -> None:
    """Which menus there are shows on every page."""
    assert otherwise("", "DISPLAY_PAGES_ON_MENU = False") == {"DISPLAY_PAGES_ON_MENU": False}
    assert otherwise("DISPLAY_CATEGORIES_ON_MENU = False", "") == {"DISPLAY_CATEGORIES_ON_MENU": True}


def places(today: str, then: str, file: str = "pelicanconf.py", **now: str | None) -> dict[str, str]:
    """Give where the site was, if elsewhere than it is `now`."""
    return places_then(now, file, plain_settings(today.encode()), plain_settings(then.encode()))


def test_site_that_was_elsewhere() -> None:
    """The sources and the theme were where the settings file said, beside that file."""
    today, then = "PATH = 'posts'\nTHEME = './look'", "PATH = 'content/'\nTHEME = '../themes/mine'"
    assert places(today, then, PATH="posts", THEME="look") == {"PATH": "content", "THEME": "../themes/mine"}
    assert places(today, then, "docs/conf.py", PATH="docs/posts", THEME="docs/look") == {
        "PATH": "docs/content",
        "THEME": "themes/mine",
    }
    assert places(today, today, PATH="posts", THEME="look") == {}


@pytest.mark.parametrize(
    ("today", "then", "now"),
    [
        ("PATH = 'posts'", "PATH = 'content'", "elsewhere"),
        ("PATH = 'posts'", "PATH = 'content'", None),
        ("PATH = 'posts'", "PATH = where()", "posts"),
        ("PATH = 'posts'", "", "posts"),
        ("PATH = where()", "PATH = 'content'", "posts"),
        ("", "PATH = 'content'", "posts"),
    ],
)
def test_where_the_site_was_is_not_guessed(today: str, then: str, now: str | None) -> None:
    """The command line may decide today, or code: then it is taken to have been there always."""
    assert places(today, then, PATH=now) == {}
