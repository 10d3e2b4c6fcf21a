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
    "edition": 2017,
    "html_links": True,
    "robots": False,
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
    ("key", "value", "parsed"),
    [
        ("enabled", False, False),
        ("previous", "live", "live"),
        ("previous", "output", "output"),
        ("previous", "none", "none"),
        ("previous", "https://example.org/blog/", "https://example.org/blog"),
        ("previous", "http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("previous", "../public copy", "../public copy"),
        ("previous", "/srv/site/", "/srv/site/"),
        ("previous", Path("/srv/site"), "/srv/site"),
        ("history", "none", "none"),
        ("history", "built", "built"),
        ("history", "v1.0", "v1.0"),
        ("changes_by", "day", "day"),
        ("changes_by", "week", "week"),
        ("changes_by", "month", "month"),
        ("changes_by", "year", "year"),
        ("changes_by", "tag", "tag"),
        ("changes_by", "tag:v*", "tag:v*"),
        ("changes_by", 1, 1),
        ("changes_by", 100, 100),
        ("keep", None, None),
        ("keep", 1, 1),
        ("keep", 120, 120),
        ("exclude", [], ()),
        ("exclude", ["drafts/*", "*.map"], ("drafts/*", "*.map")),
        ("exclude", ("a",), ("a",)),
        ("edition", 2014, 2014),
        ("edition", 2017, 2017),
        ("html_links", False, False),
        ("robots", True, True),
        ("link_headers", [], ()),
        ("link_headers", ["_headers", ".htaccess"], ("_headers", ".htaccess")),
        ("describedby", "", ""),
        ("license", "CC BY 4.0", "CC BY 4.0"),
        ("contact", "mailto:me@example.org", "mailto:me@example.org"),
        ("describedby", "https://example.org/about.html?a=b#c", "https://example.org/about.html?a=b#c"),
        ("allow_deletions", True, True),
        ("moved_from", "", ""),
        ("moved_from", "http://example.org/blog/", "http://example.org/blog"),
    ],
)
def test_right_values(key: str, value: object, parsed: object) -> None:
    """Each value is taken, and every other setting keeps its default."""
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
_EXCLUDE = "it may be a list of patterns of output paths, such as ['404.html', 'private/*']"
_EDITION = "it may be 2014 or 2017"
_LINK_HEADERS = "it may be a list of '_headers' and '.htaccess'"
_DESCRIBEDBY = "it may be the absolute http(s) URI of a page about the site"


@pytest.mark.parametrize(
    ("key", "value", "advice"),
    [
        ("enabled", 1, _BOOLEAN),
        ("html_links", "yes", _BOOLEAN),
        ("robots", None, _BOOLEAN),
        ("history", None, _HISTORY),
        ("history", "", _HISTORY),
        ("history", "  ", _HISTORY),
        ("history", "--all", _HISTORY),
        ("history", 5, _HISTORY),
        ("changes_by", "months", f"{_CHANGES_BY} (did you mean 'month'?)"),
        ("changes_by", "Week", f"{_CHANGES_BY} (did you mean 'week'?)"),
        ("changes_by", "tags", f"{_CHANGES_BY} (did you mean 'tag'?)"),
        ("changes_by", "xyz", _CHANGES_BY),
        ("changes_by", "tag:", f"{_CHANGES_BY} (did you mean 'tag'?)"),
        ("changes_by", 0, _CHANGES_BY),
        ("changes_by", -3, _CHANGES_BY),
        ("changes_by", True, _CHANGES_BY),
        ("changes_by", 1.5, _CHANGES_BY),
        ("changes_by", [], _CHANGES_BY),
        ("exclude", "404.html", _EXCLUDE),
        ("exclude", [""], _EXCLUDE),
        ("exclude", [1], _EXCLUDE),
        ("exclude", None, _EXCLUDE),
        ("edition", 2015, _EDITION),
        ("edition", "2017", _EDITION),
        ("edition", 2017.0, _EDITION),
        ("edition", True, _EDITION),
        ("edition", [2017], _EDITION),
        ("link_headers", "_headers", _LINK_HEADERS),
        ("link_headers", ["nginx.conf"], _LINK_HEADERS),
        ("link_headers", True, _LINK_HEADERS),
        ("describedby", "about.html", _DESCRIBEDBY),
        ("describedby", "mailto:me@example.org", _DESCRIBEDBY),
        ("describedby", "https://", _DESCRIBEDBY),
        ("describedby", "https://[example", _DESCRIBEDBY),
        ("describedby", "https://example.org/über uns", _DESCRIBEDBY),
        ("describedby", None, _DESCRIBEDBY),
        ("license", None, "it may be a text, such as the URL of a page about it"),
        ("previous", "", _PREVIOUS),
        ("previous", "  ", _PREVIOUS),
        ("previous", None, _PREVIOUS),
        ("previous", False, _PREVIOUS),
        ("previous", ["live"], _PREVIOUS),
        ("previous", "ftp://example.org", _ADDRESS),
        ("previous", "https://", _ADDRESS),
        ("keep", 0, _KEEP),
        ("keep", -1, _KEEP),
        ("keep", True, _KEEP),
        ("keep", "12", _KEEP),
        ("keep", 2.0, _KEEP),
        ("allow_deletions", "yes", _BOOLEAN),
        ("allow_deletions", None, _BOOLEAN),
        ("moved_from", None, _MOVED_FROM),
        ("moved_from", 5, _MOVED_FROM),
        ("moved_from", "example.org", _ADDRESS),
        ("moved_from", "/blog", _ADDRESS),
    ],
)
def test_wrong_values(key: str, value: object, advice: str) -> None:
    """The message names the setting and its value, and says what it may be."""
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
    ("siteurl", "name"),
    [
        ("https://me:secret@example.org", "user"),
        ("https://@example.org", "user"),
        ("https://example.org/?a=b", "query"),
        ("https://example.org?", "query"),
        ("https://example.org/#top", "fragment"),
        ("https://example.org#", "fragment"),
    ],
)
def test_siteurl_with_too_much(siteurl: str, name: str) -> None:
    """What would be in every URI is refused by its name, and a password is not repeated."""
    with pytest.raises(SettingsError) as error:
        parse_siteurl(siteurl)
    assert str(error.value) == f"SITEURL has a {name}, which would be in every published URI: leave it out"


@pytest.mark.parametrize("key", ["previous", "moved_from"])
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://me:secret@example.org", "user"),
        ("https://example.org/?a=b", "query"),
        ("https://example.org/#top", "fragment"),
    ],
)
def test_address_with_too_much(key: str, url: str, name: str) -> None:
    """An address in a setting is bare, as `SITEURL` is, and a password is not repeated."""
    with pytest.raises(SettingsError) as error:
        parse_settings({key: url})
    assert str(error.value) == f"RESOURCESYNC[{key!r}] has a {name}, which no address of a site has: leave it out"
