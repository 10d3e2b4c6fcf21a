"""The settings of a site: `RESOURCESYNC`, `SITEURL`, and the same settings in a file."""

import tomllib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Layout, Options
from pelican_resourcesync.settings import (
    OPTIONS,
    Archives,
    Dumps,
    FolderSettings,
    Hub,
    PublishSettings,
    Selection,
    SetSettings,
    Setting,
    Settings,
    VersionOptions,
    in_file,
    parse_settings,
    parse_siteurl,
    publishing,
    rows_of,
    shown,
)
from pelican_resourcesync.system import dcz
from repo_bridge.settings import BridgeSettings

BOTH_DUMPS = Dumps(resourcedump=True, changedump=True, package_size=100_000_000)
ALL_ARCHIVES = Archives(resourcelist=None, resourcedump=12, changelist=None, changedump=None)


def refused(raw: Any) -> str:
    """Return the message for settings that cannot be used."""
    with pytest.raises(SettingsError) as error:
        parse_settings(raw)
    return str(error.value)


def within(key: str, value: object) -> object:
    """Return settings in which the one at a key, such as `sets.news.dumps`, has a value."""
    for name in reversed(key.split(".")):
        value = {name: value}
    return value


def name_of(key: str) -> str:
    """Return the name of the setting at a key in messages."""
    return "RESOURCESYNC" + "".join(f"[{name!r}]" for name in key.split("."))


def test_defaults() -> None:
    """Nothing set is one set of everything, without dumps, with all closed lists; `docs/settings.md` has the others."""
    settings = parse_settings(None)
    assert settings == parse_settings({}) == Settings()
    assert settings.sets == (SetSettings(name="site"),)
    assert settings.sets[0].selection.everything
    assert settings.dumps == Dumps(resourcedump=False, changedump=False, package_size=100_000_000)
    assert settings.archives == Archives(resourcelist=0, resourcedump=0, changelist=None, changedump=None)


def test_every_setting_is_explained() -> None:
    """Each row of the tables has a sentence."""
    for table in (Settings, Selection, Dumps, Archives, VersionOptions):
        assert all(len(row.text) > 8 for row in rows_of(table).values())


@pytest.mark.parametrize("table", [Settings, FolderSettings, BridgeSettings])
def test_a_setting_of_publishing_is_one_row(table: type[PublishSettings]) -> None:
    """Each table has it, after its own, and a publication gets its value, whichever table that is from."""
    shared = [*rows_of(PublishSettings)]
    assert [*rows_of(table)][-len(shared) :] == shared
    given: dict[str, Any] = {"out": Path("out"), "base_url": "https://e.org"} if table is BridgeSettings else {}
    mine: dict[str, Any] = dict.fromkeys(shared, "mine")
    settings = replace(table(**given), **mine)
    options = Options(**settings.shared(), output=Path("out"), layout=Layout("https://e.org"))
    assert {name: getattr(options, name) for name in shared} == mine


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("enabled", {False: False}),
        ("previous", {"live": "live", "output": "output", "../public copy": "../public copy"}),
        ("previous", {"https://example.org/blog/": "https://example.org/blog", "http://[::1]:80": "http://[::1]:80"}),
        ("previous", {"/srv/site/": "/srv/site/", Path("/srv/site"): "/srv/site"}),
        ("history", {"all": "all", "none": "none", "v1.0": "v1.0"}),
        ("changes_by", {"day": "day", "week": "week", "year": "year", "tag": "tag", "tag:v*": "tag:v*", 1: 1}),
        ("keep", {"all": None, 1: 1, 120: 120}),
        ("exclude", {(): ("404.html",), ("drafts/*", "404.html"): ("404.html", "drafts/*")}),
        ("clean_urls", {True: True}),
        ("edition", {2014: 2014, 2017: 2017}),
        ("link_headers", {(): (), ("_headers", ".htaccess", "_headers"): ("_headers", ".htaccess")}),
        ("describedby", {"": "", "https://e.org/about.html?a=b#c": "https://e.org/about.html?a=b#c"}),
        ("license", {"": "", "CC BY 4.0": "CC BY 4.0"}),
        ("commit_url", {"": "", "https://e.org/commit/{commit}#a": "https://e.org/commit/{commit}#a"}),
        ("contact", {"mailto:me@example.org": "mailto:me@example.org"}),
        ("moved_from", {"": "", "http://example.org/blog/": "http://example.org/blog"}),
    ],
)
def test_right_values(key: str, values: dict[Any, Any]) -> None:
    """Each value is taken, and every other setting keeps its default."""
    for value, parsed in values.items():
        given = list(value) if isinstance(value, tuple) else value
        settings = parse_settings({key: given})
        assert settings == replace(Settings(), **{key: parsed})
        assert type(getattr(settings, key)) is type(parsed)


def test_mirrors() -> None:
    """Each has a URL, and perhaps a priority."""
    given = [{"url": "https://m.example/blog/", "pri": 999_999}, {"url": "http://n.example"}]
    assert parse_settings({"mirrors": given}).mirrors == (
        ("https://m.example/blog", 999_999),
        ("http://n.example", None),
    )
    assert parse_settings({"mirrors": []}) == Settings()
    for wrong in ("https://m.example", {"url": "https://m.example"}, True):
        assert refused({"mirrors": wrong}).startswith(
            "RESOURCESYNC['mirrors'] must be a list of tables, each with the url of a mirror and perhaps its pri, not "
        )
    bad = "each mirror in RESOURCESYNC['mirrors'] must have a url, and a pri of at most 999,999 if it has one"
    assert refused({"mirrors": [{}]}) == refused({"mirrors": [{"url": ""}]}) == bad
    assert refused({"mirrors": [*given, {"url": "https://o.example", "pri": 1_000_000}]}) == bad
    assert "['url'] must be an absolute http(s) URL in ASCII" in refused({"mirrors": [{"url": "mirror"}]})
    low = refused({"mirrors": [{"url": "https://m.example", "pri": 0}]})
    assert low == "RESOURCESYNC['mirrors']['pri'] must be a number (1 or more), not 0"
    assert "must be a dict with any of the keys url, pri, not" in refused({"mirrors": ["https://m.example"]})


def test_hubs() -> None:
    """Each has a URL, which everybody may see, and may be fat; a repeated one counts once."""
    fat = {"url": "https://own.example/hub?a=1", "fat": True}
    assert parse_settings({"hubs": ["https://hub.example", fat, {"url": "https://hub.example"}]}).hubs == (
        Hub("https://hub.example"),
        Hub("https://own.example/hub?a=1", fat=True),
    )
    assert parse_settings({"hubs": []}) == Settings()
    for wrong in ("https://hub.example", fat, True):
        assert refused({"hubs": wrong}).startswith("RESOURCESYNC['hubs'] must be a list of the URLs of hubs, not ")
    bad = "each hub in RESOURCESYNC['hubs'] must have a url, without a user name, because the URL is published"
    for each in ({}, {"fat": True}, "", {"url": ""}, "https://me:secret@hub.example/"):
        assert refused({"hubs": ["https://hub.example", each]}) == bad
    assert refused({"hubs": ["hub.example"]}).endswith(
        "['url'] must be the absolute http(s) URL of a page, not 'hub.example'"
    )
    assert refused({"hubs": [{"url": "https://hub.example", "fat": 1}]}).endswith(
        "['fat'] must be True or False, not 1"
    )
    assert refused({"hubs": [1]}).endswith("must be a URL or a dict with any of the keys url, fat, not 1")


SMALL = VersionOptions(number=1, age=timedelta(days=1830), size=0)


@pytest.mark.parametrize(
    ("setting", "value", "parsed"),
    [
        ("dumps", False, Dumps()),
        ("dumps", True, BOTH_DUMPS),
        ("dumps", {}, BOTH_DUMPS),
        ("dumps", {"changedump": False}, Dumps(resourcedump=True)),
        ("dumps", {"resourcedump": False, "changedump": False}, Dumps()),
        ("dumps", {"changedump": False, "package_size": 5_000}, Dumps(resourcedump=True, package_size=5_000)),
        ("archives", False, Archives()),
        ("archives", True, ALL_ARCHIVES),
        ("archives", {}, ALL_ARCHIVES),
        ("archives", {"resourcelist": 0}, Archives(resourcelist=0, resourcedump=12)),
        ("archives", {"resourcedump": "all"}, Archives(resourcelist=None, resourcedump=None)),
        ("archives", {"changelist": 1}, Archives(resourcelist=None, resourcedump=12, changelist=1)),
        ("archives", {"resourcedump": 2, "changedump": 4}, Archives(resourcelist=None, resourcedump=2, changedump=4)),
        ("versions", False, None),
        ("versions", True, VersionOptions()),
        ("versions", {}, VersionOptions()),
        ("versions", 5, VersionOptions(number=5)),
        ("versions", "90 days", VersionOptions(age=timedelta(days=90))),
        ("versions", "1 week", VersionOptions(age=timedelta(days=7))),
        ("versions", "2 months", VersionOptions(age=timedelta(days=62))),
        ("versions", {"number": 1, "age": "5 years", "size": 0}, SMALL),
    ],
)
def test_right_kinds(setting: str, value: object, parsed: Any) -> None:
    """All or nothing; a dict means all but what it says; a set has dumps and archives of its own in the same words."""
    assert getattr(parse_settings({setting: value}), setting) == parsed
    if setting != "versions":
        own = parse_settings({"sets": {"a": {setting: value}}}).sets
        assert own == (SetSettings(name="a", **{setting: parsed}),)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("true", VersionOptions()),
        ("false", None),
        ("3", VersionOptions(number=3)),
        ("5 years", VersionOptions(age=timedelta(days=1830))),
        ("{}", VersionOptions()),
        ('{number = 1, age = "1 week", size = 9}', VersionOptions(number=1, age=timedelta(days=7), size=9)),
    ],
)
def test_versions_as_an_option(text: str, parsed: VersionOptions | None) -> None:
    """An option says the same as a file of settings, in the same words."""
    assert publishing.versions(Setting("versions", OPTIONS), text) == parsed


@pytest.mark.parametrize(
    "text", ["True", "0", "-1", "1.5", "2024-01-01", "'3'", "{size = }", "9" * 5_000, "[" * 9_000, ""]
)
def test_wrong_versions_as_an_option(text: str) -> None:
    """What is neither is refused, and the message lists all that may be."""
    kinds = "true, false, a number, a time such as '5 years' or a table with any of the keys number, age, size"
    with pytest.raises(SettingsError, match=f"^--versions must be {kinds}, not "):
        publishing.versions(Setting("versions", OPTIONS), text)


_BOOLEAN = "True or False"
_CHANGES_BY = "'day', 'week', 'month', 'year', 'tag', 'tag:PATTERN' or a number of commits"
_PREVIOUS = "'live', 'output', the URL of a site or of a bucket, or a folder"
_DUMPS = "True, False or a dict with any of the keys resourcedump, changedump, package_size"
_ARCHIVES = "True, False or a dict with any of the keys resourcelist, resourcedump, changelist, changedump"
_NO_NUMBERS: tuple[Any, ...] = (-1, 1.0, True, "1", [], None)
_CRITERIA = {
    "paths": "patterns of output paths",
    "categories": "names of categories",
    "tags": "names of tags",
    "languages": "languages, such as 'en'",
    "types": "media types",
}

WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("enabled", (1, "yes", None), _BOOLEAN),
    ("history", (None, "", "  ", "--all", 5), "'all', 'none' or a git revision to begin at"),
    ("changes_by", ("months",), f"{_CHANGES_BY} (did you mean 'month'?)"),
    ("changes_by", ("tags", "tag:"), f"{_CHANGES_BY} (did you mean 'tag'?)"),
    ("changes_by", ("xyz", 0, -3, True, 1.5, []), _CHANGES_BY),
    ("exclude", ("404.html", [""], [1], ["a\0"], None), "a list of patterns of output paths"),
    ("edition", (2015, "2017", 2017.0, True, [2017]), "2014 or 2017"),
    ("link_headers", ("_headers", ["nginx.conf"], True), "a list of '_headers' or '.htaccess'"),
    ("describedby", ("about.html", "mailto:me", "https://", "https://[e", None), "the absolute http(s) URL of a page"),
    ("license", (None, 5), "text"),
    ("commit_url", ("https://e.org/", "javascript:{commit}", "{commit}", 5), "an http(s) URL with {commit} in it"),
    ("previous", ("", "  ", None, False, ["live"]), _PREVIOUS),
    ("keep", (0, *_NO_NUMBERS), "'all' or a number of closed Change Lists (1 or more)"),
    (
        "versions",
        (None, 0, -1, []),
        "True, False, a number, a time such as '5 years' or a dict with any of the keys number, age, size",
    ),
    ("versions.number", (0, *_NO_NUMBERS), "a number of versions of each resource (1 or more)"),
    ("versions.age", (None, 1, "5", "0 days", "5 lustra", "five years"), "a time such as '90 days' or '5 years'"),
    ("versions.size", _NO_NUMBERS, "a number of bytes (0 or more)"),
    (
        "sets",
        (None, True, [], ["news"], "news", 1),
        "a dict of sets, such as 'site': {} and 'news': {'tags': ['news']}",
    ),
    (
        "sets.a",
        (None, True, [], "blog/*", 1),
        "a dict with any of the keys paths, categories, tags, languages, types, dumps, archives",
    ),
]
#: Settings that a set may have, too.
WRONG_CAPABILITIES: list[tuple[str, tuple[Any, ...], str]] = [
    ("dumps", (None, 1, "all", ["resourcedump"]), _DUMPS),
    ("dumps.resourcedump", (None, 1, 0, "yes", []), _BOOLEAN),
    ("dumps.changedump", (None, 1, 0, "yes", []), _BOOLEAN),
    ("dumps.package_size", (0, *_NO_NUMBERS), "a number of bytes (1 or more)"),
    ("archives", (None, 12, "all", ["resourcelist"]), _ARCHIVES),
    ("archives.resourcelist", _NO_NUMBERS, "'all' or a number (0 or more)"),
    ("archives.resourcedump", _NO_NUMBERS, "'all' or a number (0 or more)"),
    ("archives.changelist", (0, *_NO_NUMBERS), "'all' or a number (1 or more)"),
    ("archives.changedump", (0, *_NO_NUMBERS), "'all' or a number (1 or more)"),
]


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        *WRONG,
        *WRONG_CAPABILITIES,
        *((f"sets.news.{key}", values, expected) for key, values, expected in WRONG_CAPABILITIES),
        *(
            (f"sets.a.{name}", (None, True, "x", 5, [5], ["x", ""], []), f"a non-empty list of {of}")
            for name, of in _CRITERIA.items()
        ),
    ],
)
def test_wrong_values(key: str, values: tuple[Any, ...], expected: str) -> None:
    """The message names the setting, within its set and its dict, says what it must be, and shows the value."""
    kinds, suggested, near = expected.partition(" (did you mean")
    for value in values:
        said = refused(within(key, value))
        assert said.startswith(f"{name_of(key)} must be {kinds}")
        assert said.endswith(f", not {value!r}{suggested}{near}")


@pytest.mark.parametrize(
    ("key", "name", "near", "known"),
    [
        (
            "",
            "change_by",
            "changes_by",
            "enabled, history, timegate, sets, exclude, clean_urls",
        ),
        ("", "HISTORY", "history", "enabled, history, timegate, sets, exclude"),
        ("", "headers", "link_headers", "enabled, history, timegate"),
        ("dumps", "resource_dump", "resourcedump", "resourcedump, changedump, package_size"),
        ("archives", "changelists", "changelist", "resourcelist, resourcedump, changelist, changedump"),
        ("sets.a.dumps", "size", "package_size", "resourcedump, changedump, package_size"),
        ("sets.a-b", "category", "categories", "paths, categories, tags, languages, types, dumps, archives"),
        ("sets.a-b", "dump", "dumps", "paths, categories, tags, languages, types, dumps, archives"),
    ],
)
def test_unknown_names(key: str, name: str, near: str, known: str) -> None:
    """The message names what the unknown setting is in, the nearest there is, and all of them."""
    said = refused(within(f"{key}.{name}".strip("."), True))
    where = name_of(key) if key else "RESOURCESYNC"
    assert said.startswith(f"{where} has no setting {name!r}: did you mean {near!r}? Valid names: {known}")
    assert "has no setting 5: did you mean" in refused({5: True})


@pytest.mark.parametrize("raw", [True, [], "month", 0])
def test_not_a_dict(raw: object) -> None:
    """A value of another kind is shown, and the message has all settings."""
    assert refused(raw).startswith("RESOURCESYNC must be a dict with any of the keys enabled, history, timegate, ")


def test_sets_keep_their_order_and_what_they_say() -> None:
    """The first set is the first that is given; what one does not say is not asked, or is as for the whole site."""
    criteria: dict[str, Any] = {
        "paths": ["blog/*", "about.html"],
        "categories": ("News", "Öffentliches"),
        "tags": ["a tag"],
        "languages": ["en", "pt-BR"],
        "types": ["text/html", "image/*"],
    }
    given = {"z": {}, "site": {}, "a": {**criteria, "dumps": True, "archives": False}}
    selection = Selection(**{name: tuple(value) for name, value in criteria.items()})
    assert parse_settings({"sets": given}).sets == (
        SetSettings(name="z"),
        SetSettings(name="site"),
        SetSettings(name="a", selection=selection, dumps=BOTH_DUMPS, archives=Archives()),
    )
    for name in criteria:
        (alone,) = parse_settings({"sets": {"a": {name: ["x"]}}}).sets
        assert getattr(alone.selection, name) == ("x",)
        assert not alone.selection.everything


@pytest.mark.parametrize("name", ["a", "site", "2024a", "a-b_c-1", "1-a", "x" * 60, "changelist", "archive"])
def test_right_names_of_sets(name: str) -> None:
    """A name has a letter, and may have digits, hyphens and underscores between."""
    assert parse_settings({"sets": {name: {}}}).sets == (SetSettings(name=name),)


_NO_NAMES = [
    *("", " ", "News", "2", "2024", "1-2", "a b", "a/b", "..", "a.b", "-a", "a-", "_a", "a--b", "a_-b", "ä", "a\n"),
    *("x" * 61, 5, None, True, "description", "index", "publication"),
]


@pytest.mark.parametrize("name", _NO_NAMES)
def test_wrong_names_of_sets(name: object) -> None:
    """A name that is not usable as a folder and in a URI, is a number, or has another meaning, is refused."""
    advice = (
        "use lower-case letters and digits, with single '-' or '_' between them, at least one letter, and at most 60 "
        "characters"
    )
    if name in {"description", "index", "publication"}:
        advice = "choose another name, because this one is reserved"
    assert refused({"sets": {name: {}}}) == f"{name!r} in RESOURCESYNC['sets'] is not a valid set name: {advice}"


def test_the_same_settings_in_a_file() -> None:
    """The names and values are the same in TOML; messages name the file, and paths are relative to its folder."""
    given = tomllib.loads("keep = 'all'\nprevious = 'old'\n[dumps]\nchangedump = false\n[sets.news]\ntags = ['news']")
    settings = parse_settings(given, in_file(Path("/srv/site/resourcesync.toml")))
    assert (settings.keep, settings.previous) == (None, "/srv/site/old")
    assert settings.dumps == Dumps(resourcedump=True)
    assert settings.sets[0].selection == Selection(tags=("news",))
    for text, message in {
        "robots = 1": "robots in site/x.toml must be true or false, not 1",
        "robot = 1": "site/x.toml has no setting 'robot': did you mean 'robots'? Valid names: enabled, history",
        "dumps = 1": "dumps in site/x.toml must be true, false or a table with any of the keys resourcedump, ",
        "sets.a.tags = 1": "sets.a.tags in site/x.toml must be a non-empty list of names of tags, not 1",
    }.items():
        with pytest.raises(SettingsError) as error:
            parse_settings(tomllib.loads(text), in_file(Path("site/x.toml")))
        assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ({"a": 1}, "a table"),
        ([1, True, {}], "[1, true, a table]"),
        (["a", "x:y@b"], "['a', '…@b']"),
        (["a" * 100], f"['{'a' * 78}…"),
        ("x" * 200, f"'{'x' * 80}'"),
        ("\x1b[2J", r"'\x1b[2J'"),
        ("postgresql://me:pw@h", "'…@h'"),
    ],
)
def test_how_values_are_shown(value: object, text: str) -> None:
    """A value in a message is short, in one line, no command to a terminal, and holds no password."""
    assert shown(value) == text
    assert (shown({}, python=True), shown(value=True, python=True)) == ("a dict", "True")
    assert shown(1 << 40_000) == "a number that is too large"


@pytest.mark.parametrize(
    ("siteurl", "parsed"),
    [
        (None, ""),
        ("", ""),
        (False, ""),
        ("https://example.org", "https://example.org"),
        ("http://example.org/", "http://example.org"),
        ("https://example.org/blog//", "https://example.org/blog"),
        ("https://example.org:8443/~me/%7Eyou", "https://example.org:8443/~me/%7Eyou"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://xn--mller-kva.example", "https://xn--mller-kva.example"),
        ("HTTPS://Example.org", "HTTPS://Example.org"),
    ],
)
def test_right_siteurl(siteurl: object, parsed: str) -> None:
    """A URL is taken as it is, but for slashes at its end; none is Pelican's default in development."""
    assert parse_siteurl(siteurl) == parsed


_NO_URLS = [
    *("example.org", "//example.org", "/blog", ".", "ftp://example.org", "https://", "https:///blog"),
    *("https://müller.example", "https://example.org/a b", " https://example.org", "https://exam\nple.org"),
    *("https://example.org:0", "https://example.org:port", "https://example.org:99999", "https://[example.org"),
    *('https://example.org/"x', "https://example.org/<x>", "https://example.org/a\\b", 5, b"https://example.org", True),
]


@pytest.mark.parametrize("siteurl", _NO_URLS)
def test_wrong_siteurl(siteurl: Any) -> None:
    """The message names the value and shows a right one, for other settings with an address, too."""
    expected = "must be an absolute http(s) URL in ASCII, such as 'https://example.org', not"
    with pytest.raises(SettingsError) as error:
        parse_siteurl(siteurl)
    assert str(error.value) == f"SITEURL {expected} {siteurl!r}"
    assert refused({"moved_from": siteurl}) == f"RESOURCESYNC['moved_from'] {expected} {siteurl!r}"


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("https://me:secret@example.org", "user"),
        ("https://@example.org", "user"),
        ("https://example.org/?a=b", "query"),
        ("https://example.org?", "query"),
        ("https://example.org/#top", "fragment"),
        ("https://example.org#", "fragment"),
    ],
)
def test_address_with_too_much(url: str, part: str) -> None:
    """What would be in every URI is refused by its name, in other settings too, and a password is not repeated."""
    with pytest.raises(SettingsError) as error:
        parse_siteurl(url)
    assert str(error.value) == f"SITEURL contains a {part}, which would be in every published URI: remove it"
    for key in ("previous", "moved_from"):
        assert (
            refused({key: url}) == f"{name_of(key)} contains a {part}, which would be in every published URI: remove it"
        )


def test_headers_need_a_set_with_everything() -> None:
    """A header is sent with every response, so it must be right for every resource."""
    sets = {"news": {"tags": ["news"]}}
    assert refused({"link_headers": ["_headers"], "sets": sets}).startswith("RESOURCESYNC['link_headers'] sends the")
    parse_settings({"link_headers": ["_headers"], "sets": {**sets, "site": {}}})


def test_what_patches_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patches need versions, which keep the bytes of before, and before Python 3.14 an extra."""
    assert parse_settings({"patches": True, "versions": 1}).patches
    with pytest.raises(SettingsError) as error:
        parse_settings({"patches": True})
    assert str(error.value) == (
        "RESOURCESYNC['patches'] needs the setting RESOURCESYNC['versions'], which keeps earlier bytes, and an extra: "
        "pip install 'pelican-resourcesync[patch]'"
    )
    monkeypatch.setattr(dcz, "zstd", None)
    with pytest.raises(SettingsError, match="an extra"):
        parse_settings({"patches": True, "versions": 1})
