"""The rules for what an anonymous visitor may see, one by one; `test_leaks` tests them together."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import SettingsError
from repo_bridge.access import AnonymousView, Period, closed, hidden, opened, readable
from repo_bridge.model import Field, HiddenItem, Item, Reason
from repo_bridge.reading.repository import open_repository
from sample_site.dspace.repository import (
    ADMINISTRATOR,
    ITEM,
    STAFF,
    Bundle,
    Container,
    File,
    Policy,
    Sample,
    Thing,
    Value,
    key,
    rows_of,
)
from sample_site.dspace.tables import write_sqlite
from tests.kit.repository.entities import article
from tests.kit.repository.press import Press
from tests.kit.repository.reading import VIEW, read, read_sample, url_of
from tests.kit.repository.samples import AT, every_case

pytestmark = pytest.mark.promise("Exactly what is public")

_ANONYMOUS_IN = {(3, 0), (4, 3)}
_GROUPS = {0: "Anonymous", 1: "Administrator", 2: "Staff", 3: "Campus", 4: "World"}


def items_of(folder: Path, *things: Thing, view: AnonymousView = VIEW, version: int = 7) -> list[Item]:
    """Read a repository of these items."""
    return read_sample(Sample(items=[*things], groups=_GROUPS, inside=_ANONYMOUS_IN), folder, version, view)


def files_of(folder: Path, *files: File, view: AnonymousView = VIEW) -> list[str]:
    """Read an item with these files, and give the names of those that were read."""
    (item,) = items_of(folder, Thing(1, bundles=[Bundle(1, files=[*files])]), view=view)
    return [file.name for file in item.bitstreams]


def hidden_of(folder: Path, *things: Thing, view: AnonymousView = VIEW, version: int = 7) -> list[HiddenItem]:
    """Return what is hidden of these items."""
    file = folder / "hidden.db"
    file.unlink(missing_ok=True)
    write_sqlite(rows_of(Sample(items=[*things]), version), version, file)
    with open_repository(url_of(file), view) as repository:
        return [*repository.hidden()]


def utc(text: str) -> datetime:
    """Return a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_rules_1_2_and_19_items(tmp_path: Path) -> None:
    """Rules 1, 2 and 19: only what is archived, not withdrawn and discoverable is public; an unset flag is no yes."""
    flags: list[dict[str, Any]] = [
        {},
        *({"in_archive": archived, "withdrawn": withdrawn} for archived, withdrawn in ((False, False), (None, False))),
        *({"in_archive": archived, "withdrawn": True} for archived in (True, False)),
        *({"withdrawn": None}, {"discoverable": False}, {"discoverable": None}),
    ]
    things = [Thing(n, bundles=[Bundle(n, files=[File(n)])], **each) for n, each in enumerate(flags)]
    assert [(item.handle, len(item.bitstreams)) for item in items_of(tmp_path, *things)] == [("123456789/0", 1)]


_DATES = [
    ("2025-06-15", None, True),
    ("2025-06-16", None, False),
    (None, "2025-06-15", False),
    (None, "2025-06-16", True),
    ("2025-06-15", "2025-06-16", True),
    ("2025-06-15", "2025-06-15", False),
    ("10000-01-01", None, False),
    (None, "10000-01-01", True),
    ("infinity", None, False),
    (None, "infinity", True),
    ("-infinity", None, True),
    (None, "-infinity", False),
    ("0044-03-15 BC", None, True),
    (None, "0044-03-15 BC", False),
    ("2025-06-15 00:00:00+00", None, True),
    ("2025-06-16 00:00:00+00", None, False),
    ("soon", None, False),
    (None, "later", False),
    ("", None, False),
]

#: Policies, and whether everybody may read what has them on the day of the tests.
_POLICIES: list[tuple[list[Policy], bool]] = [
    # Rule 3: a policy of another action than READ lets nobody read
    *(([Policy(action=action)], False) for action in (*range(1, 13), None)),
    # Rule 4: without a policy of Anonymous, or of a group that Anonymous is in at any depth, nobody may read
    *((policies, False) for policies in ([], [Policy(STAFF)], [Policy(ADMINISTRATOR)], [Policy(group=None, person=1)])),
    *(([Policy(group)], True) for group in (0, 3, 4)),
    # Rule 5: from the start date on, before the end date; an invalid date opens nothing
    *(([Policy(start=start, end=end)], public) for start, end, public in _DATES),
]


@pytest.mark.parametrize("version", [5, 7])
def test_rules_3_to_5_policies(tmp_path: Path, version: int) -> None:
    """Rules 3 to 5: which policies let everybody read an item, and a file in an item that everybody may read."""
    numbered = [*enumerate(_POLICIES, 1)]
    files = [File(n, str(n), policies, order=n) for n, (policies, _) in numbered]
    things = [Thing(n, policies=policies) for n, (policies, _) in numbered]
    read = items_of(tmp_path, Thing(0, bundles=[Bundle(1, files=files)]), *things, version=version)
    items = {int(str(item.handle).rpartition("/")[2]): item for item in read}
    public = [n for n, (_, readable) in numbered if readable]
    assert sorted(items) == [0, *public]
    assert [int(file.name) for file in items[0].bitstreams] == public


def test_rule_2_entities(tmp_path: Path) -> None:
    """Rule 2: entities other than publications are left out, and reported as hidden, unless their type is named.

    `publication` is a publication too, as in DSpace's `xoai.xml`.
    """
    rows = rows_of(Sample(items=[Thing(number) for number in range(1, 7)]), 7)
    rows["metadataschemaregistry"].append({"metadata_schema_id": 90, "namespace": "n", "short_id": "dspace"})
    field = {"metadata_field_id": 900, "metadata_schema_id": 90, "element": "entity", "qualifier": "type"}
    rows["metadatafieldregistry"].append(field)
    for number, kind in ((2, "Publication"), (3, "Person"), (4, None), (5, "publication"), (6, "PUBLICATION")):
        value = {"metadata_value_id": 9000 + number, "metadata_field_id": 900, "text_value": kind}
        rows.setdefault("metadatavalue", []).append({**value, "dspace_object_id": key(7, ITEM, number)})
    url = url_of(write_sqlite(rows, 7, tmp_path / "r.db"))
    with open_repository(url, VIEW) as repository:
        assert {item.handle for item in repository.items()} == {f"123456789/{number}" for number in (1, 2, 5)}
        hidden = {each.handle: each.reason for each in repository.hidden()}
        assert hidden == dict.fromkeys((f"123456789/{number}" for number in (3, 4, 6)), Reason.ENTITY)
    with open_repository(url, replace(VIEW, entities=("Person",))) as repository:
        assert {item.handle for item in repository.items()} == {"123456789/1", "123456789/3"}


def test_rule_3_object_type(tmp_path: Path) -> None:
    """Rule 3: in version 5, where keys are numbers, the policy of a file does not open the item of the same number."""
    file = File(1, "a")
    item = Thing(1, policies=[], bundles=[Bundle(1, files=[file])])
    other = Thing(2, bundles=[Bundle(2, files=[replace(file, number=2, policies=[])])])
    assert [(read.id, read.bitstreams) for read in items_of(tmp_path, item, other, version=5)] == [("2", ())]


def test_rule_4_groups_inside_anonymous(tmp_path: Path) -> None:
    """Rule 4: a group that is in Anonymous, or has its name in other letters, lets nobody else read."""
    sample = Sample(items=[Thing(1, policies=[Policy(3), Policy(4)])], groups={**_GROUPS, 4: "anonymous"})
    sample.inside = {(0, 3)}
    assert read_sample(sample, tmp_path) == []


def test_rule_4_nothing_is_inherited(tmp_path: Path) -> None:
    """Rule 4: policies of a collection or of the item do not let read what is in it."""
    sample = Sample(
        items=[Thing(1, policies=[], collections=(1,)), Thing(2, bundles=[Bundle(1, files=[File(1, policies=[])])])],
        collections=[Container(1, "Open")],
    )
    (item,) = read_sample(sample, tmp_path)
    assert item.handle == "123456789/2"
    assert item.bitstreams == ()


def test_communities_in_a_circle(tmp_path: Path) -> None:
    """Communities that are in each other are gone through once."""
    communities = [Container(1, "A", parents=(2,)), Container(2, "B", parents=(1,))]
    sample = Sample(
        items=[Thing(1, collections=(1,))], collections=[Container(1, "C", parents=(1,))], communities=communities
    )
    (item,) = read_sample(sample, tmp_path)
    assert len(item.collections[0].communities) == 2


def test_rules_4_and_5_collections(tmp_path: Path) -> None:
    """Rules 4 and 5: a collection or community that not everybody may see (today) is not named."""
    sample = Sample(
        items=[Thing(1, collections=(1, 2, 3), owner=2)],
        collections=[
            Container(1, "Open", parents=(1, 3)),
            Container(2, "Staff", policies=[Policy(STAFF)]),
            Container(3, "Later", policies=[Policy(start="2030-01-01"), Policy(end="2020-01-01")]),
        ],
        communities=[
            Container(1, "Top"),
            Container(2, "HiddenItem", policies=[], parents=(1,)),
            Container(3, "In", parents=(2,)),
        ],
    )
    file = write_sqlite(rows_of(sample, 7), 7, tmp_path / "r.db")
    with open_repository(url_of(file), VIEW) as repository:
        (item,) = repository.items()
        names = {community.id: community.name for community in repository.hierarchy.communities.values()}
    assert [collection.name for collection in item.collections] == ["Open"]
    assert {names[each] for each in item.collections[0].communities} == {"Top", "In"}
    assert sorted(names.values()) == ["In", "Top"]
    assert item.owner is None


@pytest.mark.parametrize(
    ("zone", "hour", "public"),
    [
        ("UTC", 0, True),
        ("Pacific/Auckland", 0, True),
        ("America/Los_Angeles", 6, False),
        ("America/Los_Angeles", 7, True),
    ],
)
def test_rule_5_time_zone(tmp_path: Path, zone: str, hour: int, public: bool) -> None:
    """Rule 5: a day begins at midnight in the time zone of the server."""
    view = AnonymousView(at=AT.replace(hour=hour), zone=ZoneInfo(zone))
    assert bool(items_of(tmp_path, Thing(1, policies=[Policy(start="2025-06-15")]), view=view)) is public


@pytest.mark.parametrize(
    ("at", "start", "end", "public"),
    [
        ("2025-06-15T11:59", "2025-06-15", None, False),  # on Baker Island it is still the day before
        ("2025-06-15T12:00", "2025-06-15", None, True),
        ("2025-06-15T09:59", None, "2025-06-16", True),
        ("2025-06-15T10:00", None, "2025-06-16", False),  # on Kiritimati the next day has begun
    ],
)
def test_rule_5_without_a_time_zone(tmp_path: Path, at: str, start: str | None, end: str | None, public: bool) -> None:
    """Rule 5: without a time zone, a thing is public while it is public everywhere."""
    view = AnonymousView(at=utc(at))
    assert bool(items_of(tmp_path, Thing(1, policies=[Policy(start=start, end=end)]), view=view)) is public
    hidden = hidden_of(tmp_path, Thing(1, policies=[Policy(start=start, end=end)]), view=view)
    if public and start:
        (item,) = items_of(tmp_path, Thing(1, policies=[Policy(start=start)]), view=view)
        assert item.opened == utc("2025-06-15T12:00")
    elif not public and end:
        assert hidden[0].closed == utc("2025-06-15T10:00")


#: The end date of a policy, and whether it is still valid on 15 June: until version 8, and in version 10.
_ENDS = [
    ("2025-06-16", True, True),
    ("2025-06-15", False, True),
    ("2025-06-14", False, False),
    ("2024-02-29", False, False),
    ("10000-01-01", True, True),
    ("infinity", True, True),
    ("-infinity", False, False),
    ("0044-03-15 BC", False, False),
    ("later", False, False),
]


@pytest.mark.parametrize("version", [5, 7, 10])
def test_rule_5_end_dates(tmp_path: Path, version: int) -> None:
    """Rule 5: from DSpace 10 on, an item, its bundle and its file are public through their end dates."""
    last_days = version == 10
    file = File(1, "a", [Policy(end="2025-06-15")])
    bundle = Bundle(1, policies=[Policy(end="2025-06-15")], files=[file])
    for end, before, since in _ENDS:
        thing = Thing(1, policies=[Policy(end=end)], bundles=[bundle])
        public = since if last_days else before
        assert bool(items_of(tmp_path, thing, version=version)) is public, end
    (item,) = items_of(tmp_path, Thing(1, bundles=[bundle]), version=version)
    assert [each.name for each in item.bitstreams] == (["a"] if last_days else [])
    ended = Thing(1, policies=[Policy(end="2025-05-31")])
    (hidden,) = hidden_of(tmp_path, ended, version=version)
    assert hidden.closed == utc("2025-06-01" if last_days else "2025-05-31")


def test_rule_5_policies_that_follow_each_other(tmp_path: Path) -> None:
    """Rule 5: without a time zone too, a file is listed through the day on which one policy takes over from another."""
    policies = [Policy(end="2025-06-15"), Policy(start="2025-06-15", end="2025-07-01"), Policy(start="2025-06-20")]
    file = File(1, "a", policies=policies)
    thing = Thing(1, policies=policies[::-1], bundles=[Bundle(1, policies=policies, files=[file])])
    url = url_of(write_sqlite(rows_of(Sample(items=[thing], groups=_GROUPS), 7), 7, tmp_path / "r.db"))
    for hour in range(0, 72, 5):
        at = datetime(2025, 6, 14, tzinfo=UTC) + timedelta(hours=hour)
        (item,) = read(url, AnonymousView(at=at))
        assert [each.name for each in item.bitstreams] == ["a"], at
        assert (item.opened, item.bitstreams[0].opened) == (None, None)
    late = Thing(1, policies=[Policy(end="2025-06-15"), Policy(start="2025-06-16")])
    assert items_of(tmp_path, late, view=AnonymousView(at=datetime(2025, 6, 15, 12, tzinfo=UTC))) == []


@pytest.mark.parametrize("version", [5, 7, 10])
def test_rule_6_bundle(tmp_path: Path, version: int) -> None:
    """Rule 6: a file is public if a bundle that it is in is, on the same days."""
    file = File(1, "a", [Policy(start="2020-01-01")])
    for policies, public in (
        ([], False),
        ([Policy(STAFF)], False),
        ([Policy(start="2025-06-16")], False),
        ([Policy(end="2025-06-15"), Policy(start="2025-06-01")], True),
    ):
        thing = Thing(1, bundles=[Bundle(1, files=[file], policies=policies)])
        (item,) = items_of(tmp_path, thing, version=version)
        assert bool(item.bitstreams) is public
        assert len(hidden_of(tmp_path, thing, version=version)) == (not public)
    assert item.bitstreams[0].opened == utc("2020-01-01T00:00")
    other = Bundle(2, files=[replace(file, order=3)], policies=[])
    other.names, other.policies = ("TEXT",), [Policy(start="2030-01-01")]
    view = replace(VIEW, bundles=("TEXT", "ORIGINAL"))
    (item,) = items_of(tmp_path, replace(thing, bundles=[other, *thing.bundles]), version=version, view=view)
    assert [each.bundle for each in item.bitstreams] == ["ORIGINAL"]  # the one by which it is public


def test_rules_6_and_11_deleted_files(tmp_path: Path) -> None:
    """Rules 6 and 11: a deleted file is not public, and no time is known of it; an unset flag is no yes."""
    files = [File(1, "public"), File(2, "deleted", deleted=True), File(3, "unset", deleted=None)]
    assert files_of(tmp_path, *files) == ["public"]
    assert hidden_of(tmp_path, Thing(1, bundles=[Bundle(1, files=files[1:2])])) == []


def test_rule_7_bundles(tmp_path: Path) -> None:
    """Rule 7: only the bundle ORIGINAL and of no other name too, or those that are asked for, in that order."""
    names = ("ORIGINAL", "TEXT", "THUMBNAIL", "LICENSE", "METADATA", "original", None)
    bundles = [Bundle(number, (name,), [File(number, name or "")]) for number, name in enumerate(names, 1)]
    bundles += [Bundle(10 + n, ("ORIGINAL", other), [File(10 + n)]) for n, other in enumerate(("LICENSE", None))]
    (item,) = items_of(tmp_path, Thing(1, bundles=bundles))
    assert [file.name for file in item.bitstreams] == ["ORIGINAL"]
    (item,) = items_of(tmp_path, Thing(1, bundles=bundles), view=replace(VIEW, bundles=("TEXT", "ORIGINAL")))
    assert [(file.bundle, file.name) for file in item.bitstreams] == [("TEXT", "TEXT"), ("ORIGINAL", "ORIGINAL")]


def test_rule_7_file_in_two_bundles(tmp_path: Path) -> None:
    """Rule 7: a file that is in two bundles asked for is one file, in the first of them."""
    bundles = [Bundle(1, ("TEXT",), [File(1, "a")]), Bundle(2, ("ORIGINAL",), [File(2, "b")])]
    rows = rows_of(Sample(items=[Thing(1, bundles=bundles)]), 7)
    text, original = rows["bundle2bitstream"]
    rows["bundle2bitstream"].append({**text, "bundle_id": original["bundle_id"], "bitstream_order": 9})
    for order in (1, -1):
        file = tmp_path / f"{order}.db"
        rows["bundle2bitstream"] = rows["bundle2bitstream"][::order]
        (item,) = read(url_of(write_sqlite(rows, 7, file)), replace(VIEW, bundles=("ORIGINAL", "TEXT")))
        assert [(each.bundle, each.name) for each in item.bitstreams] == [("ORIGINAL", "b"), ("ORIGINAL", "a")]


def test_rule_8_hidden_fields(tmp_path: Path) -> None:
    """Rule 8: provenance and addresses are always hidden, further fields by wish, one or all of an element."""
    fields = ["dc.subject", "dc.subject.ddc", "dc.contributor.advisor", "local.note"]
    fields += ["dc.description.provenance", "person.email"]
    thing = Thing(1, metadata=[Value(field, "x") for field in fields])
    for wish, left in (
        (set(), {"dc.subject", "dc.subject.ddc", "dc.contributor.advisor", "local.note"}),
        ({"local.note"}, {"dc.subject", "dc.subject.ddc", "dc.contributor.advisor"}),
        ({"DC.subject.* "}, {"dc.subject", "dc.contributor.advisor", "local.note"}),
        ({"dc.subject", "local.note"}, {"dc.subject.ddc", "dc.contributor.advisor"}),
    ):
        (item,) = items_of(tmp_path, thing, view=replace(VIEW, hidden=frozenset(wish)))
        assert {str(value.field) for value in item.metadata} == left


@pytest.mark.parametrize(
    ("setting", "right", "wrong", "near"),
    [
        ("hidden", "dc.contributor.advisor", "dc.contributor.adviser", "dc.contributor.advisor"),
        ("hidden", "Local.Note ", "local.notes", "local.note"),
        ("hidden", "dc.contributor.*", "local.note.*", "local.note"),
        ("hidden", "person.email", "person.mail", ""),
        ("entities", "Person", "Persn", "Person"),
        ("entities", "Publication", "Publicaton", "Publication"),
        ("entities", "Journal", "journal", "Journal"),
        ("bundles", "ORIGINAL", "ORIGNAL", "ORIGINAL"),
        ("bundles", "TEXT", "Text", ""),
        ("bundles", "PRESERVATION", "PRESERVATON", "PRESERVATION"),
    ],
)
def test_names_that_are_not_there_stop(press: Press, setting: str, right: str, wrong: str, near: str) -> None:
    """A name with a typing error would hide or publish nothing: it stops, with the most similar name there is."""
    rows = article(Thing(1, bundles=[Bundle(1, ("PRESERVATION",))]))  # Journal is not used, but configured
    rows["metadatavalue"] = [row for row in rows["metadatavalue"] if row["text_value"] != "Journal"]
    rows["entity_type"].append({"id": 2, "label": "Journal"})
    wrap: Any = frozenset if setting == "hidden" else tuple
    press.publish(rows, 0, **{setting: wrap([right])})
    hint = f" (did you mean {near!r}?)" if near else ""
    with press.refused(SettingsError, f"{setting} has {re.escape(repr(wrong))}, but .*{re.escape(hint)}: correct"):
        press.publish(rows, 1, **{setting: wrap([right, wrong])})


PROVENANCE = ["dc.description.provenance", "dc.description.provenance ", " DC.Description. provenance"]


@pytest.mark.parametrize("name", [*PROVENANCE, "person.email", "person.email.work", "Person.Email.x "])
def test_rule_8_fields_that_are_always_hidden(name: str) -> None:
    """Rule 8: whatever the settings name, and whatever blanks and capitals a registry or an archive has in a name."""
    schema, element, *qualifier = name.split(".")
    assert hidden(Field(schema, element, *qualifier))
    assert hidden(Field(schema, element, *qualifier), frozenset({"local.note"}))


def test_rule_8_security_level(tmp_path: Path) -> None:
    """Rule 8: in version 10 a value with a level of security is hidden, but for level 0, which is public."""
    values = [Value("dc.subject", str(level), security_level=level) for level in (None, 0, 1, 2)]
    url = url_of(write_sqlite(rows_of(Sample(items=[Thing(1, metadata=values)]), 10), 10, tmp_path / "r.db"))
    for version in (10, 7, None):  # whatever the settings say it is
        (item,) = read(url, version=version)
        assert [value.value for value in item.metadata] == ["None", "0"]


def test_rule_9_withdrawn(tmp_path: Path) -> None:
    """Rule 9: a withdrawn item is hidden since it was last modified; what its URIs were made of is reported."""
    thing = Thing(1, in_archive=False, withdrawn=True, bundles=[Bundle(1, files=[File(7, "a.pdf")])])
    (hidden,) = hidden_of(tmp_path, thing)
    assert (hidden.reason, hidden.handle, hidden.closed) == (
        Reason.WITHDRAWN,
        "123456789/1",
        utc("2024-03-01T10:00:00"),
    )
    assert [(file.name, file.sequence_id) for file in hidden.bitstreams] == [("a.pdf", 1)]


def test_rule_10_expunged(tmp_path: Path) -> None:
    """Rule 10: of an expunged item the handle alone is left, which is nothing to read."""
    for version in (5, 7):
        sample = Sample(items=[Thing(1)], expunged=("123456789/2",))
        assert [item.handle for item in read_sample(sample, tmp_path, version)] == ["123456789/1"]


def test_rule_12_last_modified(tmp_path: Path) -> None:
    """Rule 12: the time of the last change, as PostgreSQL and copies of it write it; none where it is no time."""
    moments = {
        "2024-03-01 10:00:00.123456+00": "2024-03-01T10:00:00.123456",
        "2024-03-01 12:00:00+02": "2024-03-01T10:00:00",
        "2024-03-01T10:00:00": "2024-03-01T10:00:00",
        "2024-03-01 10:00:00.5+05:30": "2024-03-01T04:30:00.5",
        **dict.fromkeys(("infinity", "0044-03-15 00:00:00+00 BC", None, "")),
    }
    things = [Thing(n, last_modified=text) for n, text in enumerate(moments)]
    found = {item.handle: item.last_modified for item in items_of(tmp_path, *things)}
    assert found == {f"123456789/{n}": text and utc(text) for n, text in enumerate(moments.values())}


def test_rule_13_opened(tmp_path: Path) -> None:
    """Rule 13: what a date made public is public since midnight of that day, in the server's time zone."""
    view = AnonymousView(at=AT, zone=ZoneInfo("Europe/Berlin"))
    file = File(1, "a", policies=[Policy(start="2025-06-01")])
    thing = Thing(1, policies=[Policy(start="2025-01-10")], bundles=[Bundle(1, files=[file])])
    (item,) = items_of(tmp_path, thing, view=view)
    assert item.opened == utc("2025-01-09T23:00:00")
    assert item.bitstreams[0].opened == utc("2025-05-31T22:00:00")


def test_rule_13_closed(tmp_path: Path) -> None:
    """Rule 13: what a date closed is hidden since then; what never was open, or has no policy, has no such time."""
    open_file = File(1, "never", policies=[Policy(start="2030-01-01")])
    without = File(3, "without", policies=[], order=2)
    ended = File(2, "ended", policies=[Policy(end="2025-06-01"), Policy(end="2025-05-01")])
    (hidden,) = hidden_of(tmp_path, Thing(1, bundles=[Bundle(1, files=[open_file, ended, without, File(4)])]))
    assert hidden.reason is None
    closed = {file.name: file.closed for file in hidden.bitstreams}
    assert closed == {"never": None, "ended": utc("2025-06-01"), "without": None}


def test_rule_13_opened_by_several(tmp_path: Path) -> None:
    """Rule 13: policies that follow each other without a day between them are one span; a gap begins another."""
    policies = [
        Policy(start="2025-01-01", end="2025-02-01"),
        Policy(start="2025-02-01", end="2025-03-01"),
        Policy(start="2025-03-01"),
    ]
    (item,) = items_of(tmp_path, Thing(1, policies=policies))
    assert item.opened == utc("2025-01-01")
    (item,) = items_of(tmp_path, Thing(1, policies=[policies[0], policies[2]]))
    assert item.opened == utc("2025-03-01")
    (item,) = items_of(tmp_path, Thing(1, policies=[*policies, Policy(end="2025-01-15")]))
    assert item.opened is None


@pytest.mark.parametrize(
    ("thing", "closed", "reason"),
    [
        # rule 13: nothing of the future
        (Thing(1, withdrawn=True, last_modified="2025-06-15T12:00:01+00:00"), None, "withdrawn"),
        (Thing(1, policies=[Policy(end="2025-06-10")]), "2025-06-10", "not today"),
        # rule 20: it never was visible
        (Thing(1, policies=[Policy(start="2030-01-01")], last_modified=None), None, "not today"),
        (Thing(1, policies=[Policy(STAFF)], last_modified=None), None, "restricted"),
        (Thing(1, discoverable=None, last_modified=None), None, "private"),
        (Thing(1, in_archive=False, discoverable=False, last_modified=None), None, "not archived"),
        (Thing(1, withdrawn=None, last_modified=None), None, "not archived"),
    ],
)
def test_rules_13_and_20_hidden_items(tmp_path: Path, thing: Thing, closed: str | None, reason: str) -> None:
    """Rules 13 and 20: when an item was hidden by a date, as far as that is past and known; and why it is."""
    (hidden,) = hidden_of(tmp_path, thing)
    assert (hidden.reason, hidden.closed) == (reason, closed and utc(closed))


def test_rules_14_to_16_files(tmp_path: Path) -> None:
    """Rules 14, 15 and 16: a file has no time of its own, an id of its own, and a hash if its checksum is an MD5."""
    right = "D41D8CD98F00B204E9800998ECF8427E"
    checksums = [(right, "MD5"), (right, "SHA-1"), (right, None), ("d41d8cd9", "MD5"), ("", "MD5")]
    files = [
        File(n, "a.pdf", checksum=checksum, algorithm=algorithm, size=n - 1, order=n)
        for n, (checksum, algorithm) in enumerate(checksums)
    ]
    thing = Thing(1, bundles=[Bundle(1, files=files)])
    (item,) = items_of(tmp_path, thing)
    assert [file.md5 for file in item.bitstreams] == [right.lower(), None, None, None, None]
    assert [file.length for file in item.bitstreams] == [None, 0, 1, 2, 3]
    assert len({file.id for file in item.bitstreams}) == len(files)
    assert {file.opened for file in item.bitstreams} == {None}
    (item,) = items_of(tmp_path, thing, view=replace(VIEW, fingerprints=False))
    assert {(file.md5, file.length) for file in item.bitstreams} == {(None, None)}


def test_hidden_is_what_is_not_read(tmp_path: Path) -> None:
    """An item is read or hidden as a whole, never both; and its hidden files are those that are not read."""
    file = write_sqlite(rows_of(every_case(), 7), 7, tmp_path / "r.db")
    with open_repository(url_of(file), VIEW) as repository:
        public = {item.id: {each.id for each in item.bitstreams} for item in repository.items()}
        hidden = {each.id: each for each in repository.hidden()}
    assert public.keys() & {each.id for each in hidden.values() if each.reason} == set()
    assert len(public.keys() | hidden.keys()) == len(every_case().items)
    for each in hidden.values():
        assert {file.id for file in each.bitstreams}.isdisjoint(public.get(each.id, set()))


# When policies make something public, against a calendar that is looked through day by day

FIRST, DAYS = date(2025, 3, 20), 30
_numbers = st.none() | st.integers(0, DAYS)
_spans = st.lists(st.tuples(_numbers, _numbers), max_size=4)
_zones = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"])

Span = tuple[int | None, int | None]


def text(number: int | None) -> str | None:
    """Write the day of that number."""
    return None if number is None else (FIRST + timedelta(number)).isoformat()


def is_open(spans: list[Span], number: int) -> bool:
    """Whether something is open on a day."""
    return any((start is None or start <= number) and (end is None or number < end) for start, end in spans)


def midnight(number: int, zone: str) -> datetime:
    """Return the beginning of a day."""
    day = FIRST + timedelta(number)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)


@given(_spans, st.integers(0, DAYS), _zones)
def test_days(spans: list[Span], today: int, zone: str) -> None:
    """Rules 5 and 13: what is open today is so since the first day in a row; what is not, since the last."""
    periods = [Period.parse(text(start), text(end)) for start, end in spans]
    view = AnonymousView(at=midnight(today, zone) + timedelta(hours=13), zone=ZoneInfo(zone))
    assert readable(periods, view.today) is is_open(spans, today)
    if is_open(spans, today):
        first = today
        while first > -2 and is_open(spans, first - 1):
            first -= 1
        assert opened(periods, view) == (None if first == -2 else midnight(first, zone))
    elif any(is_open(spans, day) for day in range(-2, today)):
        last = max(day for day in range(-2, today) if is_open(spans, day))
        assert closed(periods, view) == midnight(last + 1, zone)
    else:
        assert closed(periods, view) is None
