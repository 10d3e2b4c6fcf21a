"""The settings `sets`, `dumps` and `archives`."""

from typing import Any

import pytest

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Archives, Dumps
from pelican_resourcesync.settings import Selection, SetSettings, Settings, parse_settings

BOTH_DUMPS = Dumps(resourcedump=True, changedump=True, package_size=100_000_000)
ALL_ARCHIVES = Archives(resourcelist=None, resourcedump=12, changelist=None, changedump=None)


def message(raw: Any) -> str:
    """Return what is said of settings that cannot be used."""
    with pytest.raises(SettingsError) as error:
        parse_settings(raw)
    return str(error.value)


def test_defaults() -> None:
    """Nothing set is one set of everything, as it always was, without dumps, with pointers to closed lists alone."""
    settings = Settings()
    assert settings.sets == (SetSettings(name="site"),)
    assert settings.sets[0].selection.everything
    assert settings.dumps == Dumps(resourcedump=False, changedump=False, package_size=100_000_000)
    assert settings.archives == Archives(resourcelist=0, resourcedump=0, changelist=None, changedump=None)


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        (False, Dumps()),
        (True, BOTH_DUMPS),
        ({}, BOTH_DUMPS),
        ({"changedump": False}, Dumps(resourcedump=True)),
        ({"resourcedump": False}, Dumps(changedump=True)),
        ({"resourcedump": False, "changedump": False}, Dumps()),
        ({"package_size": 1}, Dumps(resourcedump=True, changedump=True, package_size=1)),
        ({"changedump": False, "package_size": 5_000}, Dumps(resourcedump=True, package_size=5_000)),
    ],
)
def test_right_dumps(value: object, parsed: Dumps) -> None:
    """All or nothing; a dict means all but what it says; a set has its own in the same words."""
    assert parse_settings({"dumps": value}).dumps == parsed
    (alone,) = parse_settings({"sets": {"site": {"dumps": value}}}).sets
    assert alone == SetSettings(name="site", dumps=parsed)


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        (False, Archives()),
        (True, ALL_ARCHIVES),
        ({}, ALL_ARCHIVES),
        ({"resourcelist": 0}, Archives(resourcelist=0, resourcedump=12)),
        ({"resourcelist": 3}, Archives(resourcelist=3, resourcedump=12)),
        ({"resourcedump": None}, Archives(resourcelist=None, resourcedump=None)),
        ({"resourcedump": 0}, Archives(resourcelist=None, resourcedump=0)),
        ({"changelist": 1}, Archives(resourcelist=None, resourcedump=12, changelist=1)),
        ({"changedump": 1}, Archives(resourcelist=None, resourcedump=12, changedump=1)),
        (
            {"resourcelist": 1, "resourcedump": 2, "changelist": 3, "changedump": 4},
            Archives(resourcelist=1, resourcedump=2, changelist=3, changedump=4),
        ),
    ],
)
def test_right_archives(value: object, parsed: Archives) -> None:
    """All or nothing; a dict means all but what it says; a set has its own in the same words."""
    assert parse_settings({"archives": value}).archives == parsed
    (alone,) = parse_settings({"sets": {"site": {"archives": value}}}).sets
    assert alone == SetSettings(name="site", archives=parsed)


_DUMPS = "True, False or a dict of resourcedump, changedump, package_size"
_ARCHIVES = "True, False or a dict of resourcelist, resourcedump, changelist, changedump"
_SWITCH = "True or False"
_NOT_COUNTED: list[Any] = [-1, 1.0, True, False, "1", []]
_FROM_0, _FROM_1 = (f"None, for all, or a number from {least} on" for least in (0, 1))

WRONG: list[tuple[str, list[Any], str]] = [
    ("dumps", [None, 1, "all", ["resourcedump"]], _DUMPS),
    ("dumps.resourcedump", [None, 1, 0, "yes", []], _SWITCH),
    ("dumps.changedump", [None, 1, 0, "yes", []], _SWITCH),
    ("dumps.package_size", [0, -1, 1.5, True, None, "1"], "a number of bytes from 1 on"),
    ("archives", [None, 12, "all", ["resourcelist"]], _ARCHIVES),
    ("archives.resourcelist", _NOT_COUNTED, _FROM_0),
    ("archives.resourcedump", _NOT_COUNTED, _FROM_0),
    ("archives.changelist", [0, *_NOT_COUNTED], _FROM_1),
    ("archives.changedump", [0, *_NOT_COUNTED], _FROM_1),
]


@pytest.mark.parametrize("within", ["", "sets.news."], ids=["site", "set"])
@pytest.mark.parametrize(("key", "values", "may_be"), WRONG)
def test_wrong_capabilities(within: str, key: str, values: list[Any], may_be: str) -> None:
    """The message names the setting, within its set and its dict, and the value, and says what it may be."""
    names = f"{within}{key}".split(".")
    called = "".join(f"[{name!r}]" for name in names)
    for value in values:
        raw = value
        for name in reversed(names):
            raw = {name: raw}
        assert message(raw) == f"RESOURCESYNC{called} is {value!r}: it may be {may_be}"


@pytest.mark.parametrize(
    ("key", "name", "near", "known"),
    [
        ("dumps", "resource_dump", "resourcedump", "resourcedump, changedump, package_size"),
        ("dumps", "size", "package_size", "resourcedump, changedump, package_size"),
        ("dumps", "RESOURCEDUMP", "resourcedump", "resourcedump, changedump, package_size"),
        ("archives", "changelists", "changelist", "resourcelist, resourcedump, changelist, changedump"),
        ("archives", 5, "resourcelist", "resourcelist, resourcedump, changelist, changedump"),
    ],
)
def test_unknown_capabilities(key: str, name: object, near: str, known: str) -> None:
    """The message names what the unknown key is in, the nearest there is, and all of them."""
    said = message({key: {name: True}})
    assert said.startswith(f"RESOURCESYNC[{key!r}] has no setting {name!r}: did you mean ")
    assert said.endswith(f"? There are {known}")
    assert f"did you mean {near!r}?" in said or name == 5
    assert message({"sets": {"a": {key: {name: True}}}}) == said.replace(f"[{key!r}]", f"['sets']['a'][{key!r}]")


def test_sets_keep_their_order_and_what_they_say() -> None:
    """The first set is the first that is given; what one does not say is not asked, or is as for the whole site."""
    everything: dict[str, Any] = {
        "paths": ["blog/*", "about.html"],
        "categories": ("News", "Öffentliches"),
        "tags": ["a tag"],
        "languages": ["en", "pt-BR"],
        "types": ["text/html", "image/*"],
        "dumps": True,
        "archives": False,
    }
    assert parse_settings({"sets": {"z": {}, "site": {}, "a": everything}}).sets == (
        SetSettings(name="z"),
        SetSettings(name="site"),
        SetSettings(
            name="a",
            selection=Selection(
                paths=("blog/*", "about.html"),
                categories=("News", "Öffentliches"),
                tags=("a tag",),
                languages=("en", "pt-BR"),
                types=("text/html", "image/*"),
            ),
            dumps=BOTH_DUMPS,
            archives=Archives(),
        ),
    )


@pytest.mark.parametrize("criterion", ["paths", "categories", "tags", "languages", "types"])
def test_one_criterion_is_not_everything(criterion: str) -> None:
    """A set that asks for anything is not the whole site."""
    (alone,) = parse_settings({"sets": {"a": {criterion: ["x"]}}}).sets
    assert getattr(alone.selection, criterion) == ("x",)
    assert not alone.selection.everything


@pytest.mark.parametrize("name", ["a", "site", "2024a", "a-b_c-1", "1-a", "x" * 60, "changelist", "archive"])
def test_right_names(name: str) -> None:
    """A name has a letter, and may have digits, hyphens and underscores between."""
    assert parse_settings({"sets": {name: {}}}).sets == (SetSettings(name=name),)


_MADE_OF = "make it of at least one lower-case letter, digits, and single '-' or '_' between, 60 at most"


_NO_NAMES = [
    "",
    " ",
    "News",
    "2",
    "2024",
    "1-2",
    "a b",
    "a/b",
    "..",
    "a.b",
    "-a",
    "a-",
    "_a",
    "a--b",
    "a_-b",
    "ä",
    "a\n",
]


@pytest.mark.parametrize("name", [*_NO_NAMES, "x" * 61, 5, None, True, ("a",)])
def test_wrong_names(name: object) -> None:
    """What could not be a folder and a part of a URI everywhere, or is a number, is no name of a set."""
    assert message({"sets": {name: {}}}) == f"RESOURCESYNC['sets'] names a set {name!r}: {_MADE_OF}"


@pytest.mark.parametrize("name", ["description", "index", "publication"])
def test_taken_names(name: str) -> None:
    """A set cannot have the address of what else we write."""
    said = f"RESOURCESYNC['sets'] names a set {name!r}: choose another name, because something else has that address"
    assert message({"sets": {name: {}}}) == said


@pytest.mark.parametrize("value", [None, True, {}, [], ["news"], "news", 1])
def test_wrong_sets(value: object) -> None:
    """There is at least one set, and each has a name."""
    may_be = "a dict of at least one set, such as {'site': {}, 'news': {'categories': ['News']}}"
    assert message({"sets": value}) == f"RESOURCESYNC['sets'] is {value!r}: it may be {may_be}"


@pytest.mark.parametrize("value", [None, True, [], ["blog/*"], "blog/*", 1])
def test_wrong_set(value: object) -> None:
    """A set says by name what is in it."""
    may_be = "a dict that says what is in the set, such as {'paths': ['blog/*']}, {} for everything"
    assert message({"sets": {"a": value}}) == f"RESOURCESYNC['sets']['a'] is {value!r}: it may be {may_be}"


LISTS = [
    ("paths", "a list of patterns of output paths, such as ['blog/*']"),
    ("categories", "a list of names of categories"),
    ("tags", "a list of names of tags"),
    ("languages", "a list of languages, such as ['en']"),
    ("types", "a list of media types, such as ['image/*']"),
]


@pytest.mark.parametrize(("criterion", "may_be"), LISTS)
@pytest.mark.parametrize("value", [None, True, "News", 5, [5], ["News", ""], [None], {"News": 1}, {"News"}])
def test_wrong_criteria(criterion: str, may_be: str, value: object) -> None:
    """A criterion is a list of texts, one text alone too."""
    called = f"RESOURCESYNC['sets']['a'][{criterion!r}]"
    assert message({"sets": {"a": {criterion: value}}}) == f"{called} is {value!r}: it may be {may_be}"


@pytest.mark.parametrize(("criterion", "may_be"), LISTS)
def test_empty_criteria(criterion: str, may_be: str) -> None:
    """A list of nothing could mean nothing or everything: it is refused."""
    called = f"RESOURCESYNC['sets']['a'][{criterion!r}]"
    said = f"{called} is []: it may be {may_be}; leave it out where it does not matter"
    assert message({"sets": {"a": {criterion: []}}}) == said


@pytest.mark.parametrize(
    ("name", "near"), [("category", "categories"), ("path", "paths"), ("lang", "languages"), ("dump", "dumps")]
)
def test_unknown_criteria(name: str, near: str) -> None:
    """The message names the set, the nearest there is, and all of them."""
    assert message({"sets": {"a-b": {"tags": ["x"], name: ["x"]}}}) == (
        f"RESOURCESYNC['sets']['a-b'] has no setting {name!r}: did you mean {near!r}? "
        "There are paths, categories, tags, languages, types, dumps, archives"
    )
