"""The setting `RESOURCESYNC`, and `SITEURL`."""

from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Archives, Dumps
from pelican_resourcesync.settings import SetSettings, Settings, parse_settings, parse_siteurl

DEFAULTS = {
    "enabled": True,
    "previous": "live",
    "history": "all",
    "changes_by": "month",
    "keep": None,
    "dumps": Dumps(),
    "archives": Archives(),
    "sets": (SetSettings(name="site"),),
    "exclude": ("404.html",),
    "clean_urls": False,
    "edition": 2017,
    "html_links": True,
    "robots": False,
    "sitemap": False,
    "link_headers": (),
    "describedby": "",
    "license": "",
    "contact": "",
    "allow_deletions": False,
    "moved_from": "",
}


@pytest.mark.parametrize("raw", [None, {}])
def test_defaults(raw: object) -> None:
    """Nothing set is everything at its default."""
    settings = parse_settings(raw)
    assert settings == Settings()
    assert {name: getattr(settings, name) for name in Settings.__slots__} == DEFAULTS


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("enabled", [(False, False)]),
        (
            "previous",
            [
                ("live", "live"),
                ("output", "output"),
                ("none", "none"),
                ("https://example.org/blog/", "https://example.org/blog"),
                ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
                ("../public copy", "../public copy"),
                ("/srv/site/", "/srv/site/"),
                (Path("/srv/site"), "/srv/site"),
            ],
        ),
        ("history", [("none", "none"), ("built", "built"), ("v1.0", "v1.0")]),
        (
            "changes_by",
            [
                ("day", "day"),
                ("week", "week"),
                ("month", "month"),
                ("year", "year"),
                ("tag", "tag"),
                ("tag:v*", "tag:v*"),
                (1, 1),
                (100, 100),
            ],
        ),
        ("keep", [(None, None), (1, 1), (120, 120)]),
        (
            "exclude",
            [([], ("404.html",)), (["drafts/*", "404.html"], ("404.html", "drafts/*")), (("a",), ("404.html", "a"))],
        ),
        ("clean_urls", [(True, True)]),
        ("edition", [(2014, 2014), (2017, 2017)]),
        ("html_links", [(False, False)]),
        ("robots", [(True, True)]),
        ("sitemap", [(True, True)]),
        ("link_headers", [([], ()), (["_headers", ".htaccess"], ("_headers", ".htaccess"))]),
        ("describedby", [("", ""), ("https://example.org/about.html?a=b#c", "https://example.org/about.html?a=b#c")]),
        ("license", [("", ""), ("CC BY 4.0", "CC BY 4.0")]),
        ("contact", [("mailto:me@example.org", "mailto:me@example.org")]),
        ("allow_deletions", [(True, True)]),
        ("moved_from", [("", ""), ("http://example.org/blog/", "http://example.org/blog")]),
    ],
)
def test_right_values(key: str, values: list[tuple[object, object]]) -> None:
    """Each value is taken, and every other setting keeps its default."""
    for value, parsed in values:
        settings = parse_settings({key: value})
        assert {name: getattr(settings, name) for name in Settings.__slots__} == DEFAULTS | {key: parsed}
        assert type(getattr(settings, key)) is type(parsed)


_PREVIOUS = "it may be 'live', 'output', 'none', the URL of a site or a folder"
_KEEP = "it may be None, for all, or a number of closed Change Lists from 1 on"
_MOVED_FROM = "it may be the SITEURL that the site had before"
_ADDRESS = "make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
_BOOLEAN = "it may be True or False"
_HISTORY = "it may be 'all', 'none', 'built' or a git revision to begin at"
_CHANGES_BY = "it may be 'day', 'week', 'month', 'year', 'tag', 'tag:PATTERN' or a number of commits"
_EXCLUDE = "it may be a list of patterns of output paths, such as ['internal', 'private/*']"
_EDITION = "it may be 2014 or 2017"
_LINK_HEADERS = "it may be a list of '_headers' and '.htaccess'"
_DESCRIBEDBY = "it may be the absolute http(s) URI of a page about the site"


@pytest.mark.parametrize(
    ("key", "values", "advice"),
    [
        ("enabled", [1], _BOOLEAN),
        ("html_links", ["yes"], _BOOLEAN),
        ("robots", [None], _BOOLEAN),
        ("history", [None, "", "  ", "--all", 5], _HISTORY),
        ("changes_by", ["months"], f"{_CHANGES_BY} (did you mean 'month'?)"),
        ("changes_by", ["Week"], f"{_CHANGES_BY} (did you mean 'week'?)"),
        ("changes_by", ["tags", "tag:"], f"{_CHANGES_BY} (did you mean 'tag'?)"),
        ("changes_by", ["xyz", 0, -3, True, 1.5, []], _CHANGES_BY),
        ("exclude", ["404.html", [""], [1], None], _EXCLUDE),
        ("edition", [2015, "2017", 2017.0, True, [2017]], _EDITION),
        ("link_headers", ["_headers", ["nginx.conf"], True], _LINK_HEADERS),
        (
            "describedby",
            [
                "about.html",
                "mailto:me@example.org",
                "https://",
                "https://[example",
                "https://example.org/über uns",
                None,
            ],
            _DESCRIBEDBY,
        ),
        ("previous", ["", "  ", None, False, ["live"]], _PREVIOUS),
        ("previous", ["ftp://example.org", "https://"], _ADDRESS),
        ("keep", [0, -1, True, "12", 2.0], _KEEP),
        ("allow_deletions", ["yes", None], _BOOLEAN),
        ("moved_from", [None, 5], _MOVED_FROM),
        ("moved_from", ["example.org", "/blog"], _ADDRESS),
    ],
)
def test_wrong_values(key: str, values: list[Any], advice: str) -> None:
    """The message names the setting and its value, and says what it may be."""
    for value in values:
        with pytest.raises(SettingsError) as error:
            parse_settings({key: value})
        assert str(error.value).startswith(f"RESOURCESYNC[{key!r}] is {value!r}: {advice}")
        assert ("did you mean" in str(error.value)) == ("did you mean" in advice)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("enable", "enabled"),
        ("change_by", "changes_by"),
        ("excludes", "exclude"),
        ("HISTORY", "history"),
        ("html_link", "html_links"),
        ("headers", "link_headers"),
        ("described_by", "describedby"),
    ],
)
def test_unknown_settings(key: object, near: str) -> None:
    """The message has the nearest name, and all there are."""
    with pytest.raises(SettingsError) as error:
        parse_settings({key: True})
    message = str(error.value)
    assert message.startswith(f"RESOURCESYNC has no setting {key!r}: did you mean {near and repr(near)}")
    assert message.endswith(f"There are {', '.join(DEFAULTS)}")


@pytest.mark.parametrize("raw", [True, [], "month", 0])
def test_not_a_dict(raw: object) -> None:
    """A value of another kind is named, and the message shows what to write."""
    with pytest.raises(SettingsError, match=r"RESOURCESYNC is .*: make it a dict, such as {'changes_by': 'month'}"):
        parse_settings(raw)


@pytest.mark.parametrize("siteurl", [None, "", False])
def test_no_siteurl(siteurl: object) -> None:
    """No SITEURL is no error: Pelican's default in development."""
    assert parse_siteurl(siteurl) == ""


@pytest.mark.parametrize(
    ("siteurl", "parsed"),
    [
        ("https://example.org", "https://example.org"),
        ("http://example.org/", "http://example.org"),
        ("https://example.org/blog//", "https://example.org/blog"),
        ("https://example.org:8443/~me/%7Eyou", "https://example.org:8443/~me/%7Eyou"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://xn--mller-kva.example", "https://xn--mller-kva.example"),
        ("HTTPS://Example.org", "HTTPS://Example.org"),
    ],
)
def test_right_siteurl(siteurl: str, parsed: str) -> None:
    """A URL is taken as it is, but for slashes at its end."""
    assert parse_siteurl(siteurl) == parsed


@pytest.mark.parametrize(
    "siteurl",
    [
        "example.org",
        "//example.org",
        "/blog",
        ".",
        "ftp://example.org",
        "https://",
        "https:///blog",
        "https://müller.example",
        "https://example.org/a b",
        " https://example.org",
        "https://exam\nple.org",
        "https://example.org:0",
        "https://example.org:port",
        "https://example.org:99999",
        "https://[example.org",
        'https://example.org/"x',
        "https://example.org/<x>",
        "https://example.org/a\\b",
        5,
        b"https://example.org",
        True,
    ],
)
def test_wrong_siteurl(siteurl: Any) -> None:
    """The message names the value and shows a right one."""
    with pytest.raises(SettingsError) as error:
        parse_siteurl(siteurl)
    assert str(error.value) == (
        f"SITEURL is {siteurl!r}: make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
    )


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://me:secret@example.org", "user"),
        ("https://@example.org", "user"),
        ("https://example.org/?a=b", "query"),
        ("https://example.org?", "query"),
        ("https://example.org/#top", "fragment"),
        ("https://example.org#", "fragment"),
    ],
)
def test_address_with_too_much(url: str, name: str) -> None:
    """What would be in every URI is refused by its name, in other settings too, and a password is not repeated."""
    with pytest.raises(SettingsError) as error:
        parse_siteurl(url)
    assert str(error.value) == f"SITEURL has a {name}, which would be in every published URI: leave it out"
    for key in ("previous", "moved_from"):
        with pytest.raises(SettingsError) as error:
            parse_settings({key: url})
        assert str(error.value) == f"RESOURCESYNC[{key!r}] has a {name}, which no address of a site has: leave it out"
