"""What has changed: whatever is done to a database, the items that have to be read again are found."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from repo_bridge import inventory
from repo_bridge.access import AnonymousView
from repo_bridge.inventory import Inventory, InventoryEntry, Seen
from repo_bridge.readers import open_reader
from repo_bridge.reading import relationships
from repo_bridge.reading.repository import DSpaceRepository, open_repository
from repo_bridge.settings import BridgeSettings
from sample_site.dspace.repository import (
    BITSTREAM,
    BUNDLE,
    COLLECTION,
    COMMUNITY,
    FIELDS,
    GROUP,
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
from sample_site.dspace.tables import Rows
from tests.kit.postgresql import Server
from tests.kit.repository.entities import JOURNAL, KNUTH, VOLUME, article_things, entities
from tests.kit.repository.press import BASE, UI, Heard
from tests.kit.repository.reading import VIEW, read
from tests.kit.repository.samples import AT, every_case

BOTH = AnonymousView(at=AT, zone=ZoneInfo("UTC"), bundles=("ORIGINAL", "TEXT"))

FILES = [
    File(1, "a", size=7, order=0, sequence=1),
    File(2, "b", [Policy(start="2020-01-01"), Policy(start="2021-01-01")], size=8, order=1, sequence=2, format=2),
]
VALUES = [Value("dc.title", "A coin", "en"), Value("dc.subject", "b", "en", 1), Value("dc.subject", "a", "de", 2)]
SAMPLE = Sample(
    items=[
        Thing(1, metadata=VALUES, bundles=[Bundle(1, files=FILES)], collections=(1, 2), owner=1, handles=("1/1",)),
        Thing(2, metadata=VALUES, bundles=[Bundle(2, files=[File(3, "c")])], collections=(1,), handles=("1/2", "1/3")),
    ],
    collections=[Container(1, "Coins", parents=(1,)), Container(2, "Maps", parents=(1,))],
    communities=[Container(1, "Museum"), Container(2, "Cabinet")],
)

ONE, OTHER = key(7, ITEM, 1), key(7, ITEM, 2)
FIRST, SECOND = key(7, BITSTREAM, 1), key(7, BITSTREAM, 2)
MUSEUM, CABINET = key(7, COMMUNITY, 1), key(7, COMMUNITY, 2)
COINS, MAPS, ORIGINAL = key(7, COLLECTION, 1), key(7, COLLECTION, 2), key(7, BUNDLE, 1)


def _field(name: str) -> int:
    return FIELDS.index(name) + 1


#: Statements that change the first item, one after the other: each kind of change of each table.
CHANGES = [
    f"UPDATE item SET last_modified = '2024-03-01 10:00:01+00:00' WHERE uuid = '{ONE}'",
    f"UPDATE handle SET handle = '1/4' WHERE resource_id = '{ONE}'",
    f"INSERT INTO handle (handle_id, handle, resource_type_id, resource_id) VALUES (-1, '1/5', 2, '{ONE}')",
    "DELETE FROM handle WHERE handle = '1/5'",
    f"DELETE FROM collection2item WHERE item_id = '{ONE}' AND collection_id = '{MAPS}'",
    f"INSERT INTO collection2item (item_id, collection_id) VALUES ('{ONE}', '{MAPS}')",
    f"UPDATE metadatavalue SET place = 0 WHERE dspace_object_id = '{ONE}'",
    f"UPDATE metadatavalue SET text_value = 'd' WHERE dspace_object_id = '{FIRST}'",
    f"UPDATE metadatavalue SET text_value = 'TEXT' WHERE dspace_object_id = '{ORIGINAL}'",
    f"UPDATE metadatavalue SET dspace_object_id = '{ORIGINAL}' WHERE dspace_object_id = '{ONE}' AND text_value = 'a'",
    f"DELETE FROM metadatavalue WHERE dspace_object_id = '{ORIGINAL}' AND text_value = 'a'",
    f"UPDATE bitstream SET size_bytes = NULL WHERE uuid = '{FIRST}'",
    f"UPDATE bundle2bitstream SET bitstream_order = 0 WHERE bundle_id = '{ORIGINAL}'",
    f"UPDATE resourcepolicy SET dspace_object = '{FIRST}' WHERE start_date = '2020-01-01'",
    f"UPDATE resourcepolicy SET action_id = 1 WHERE dspace_object = '{ONE}'",
    f"DELETE FROM resourcepolicy WHERE dspace_object = '{FIRST}' AND start_date = '2020-01-01'",
    f"UPDATE bitstream SET deleted = true WHERE uuid = '{SECOND}'",
    f"UPDATE item SET discoverable = false WHERE uuid = '{ONE}'",
]

#: Statements that change what items share.
SHARED = [
    "UPDATE bitstreamformatregistry SET mimetype = 'image/png' WHERE bitstream_format_id = 2",
    (
        f"INSERT INTO group2groupcache (parent_id, child_id) SELECT '{key(7, GROUP, STAFF)}', uuid "
        "FROM epersongroup WHERE name = 'Anonymous'"
    ),
    f"UPDATE metadatavalue SET text_value = 'Pennies' WHERE dspace_object_id = '{COINS}'",
    f"UPDATE handle SET handle = '1/9' WHERE resource_id = '{COINS}'",
    f"UPDATE community2collection SET community_id = '{CABINET}' WHERE collection_id = '{COINS}'",
    f"UPDATE metadatavalue SET text_value = 'House' WHERE dspace_object_id = '{MUSEUM}'",
    f"INSERT INTO community2community (parent_comm_id, child_comm_id) VALUES ('{CABINET}', '{MUSEUM}')",
    f"UPDATE metadatafieldregistry SET qualifier = 'x' WHERE metadata_field_id = {_field('dc.subject')}",
    "UPDATE metadataschemaregistry SET short_id = 'dct' WHERE short_id = 'local'",
    f"UPDATE resourcepolicy SET start_date = '2999-01-01' WHERE dspace_object = '{COINS}'",
]


def test_items_by_id(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items by their ids are those of all that are asked for."""
    monkeypatch.setattr("repo_bridge.reading.repository._KEYS", 3)
    rows = rows_of(every_case(), 7)
    url = server.database(rows, 7)
    items = {item.id: item for item in read(url)}
    ids = [str(row["uuid"]) for row in rows["item"]]
    with open_repository(url, VIEW) as repository:
        assert {item.id: item for item in repository.items_of(sorted(ids))} == items
        some = [ids[5], "", *reversed(ids[::2]), "nobody", "-1", "9" * 99, "٣", key(7, ITEM, 99)]
        assert [*repository.items_of(some)] == [items[each] for each in some if each in items]
        assert [*repository.items_of(())] == []


# What items share, and dates


def test_what_items_share(server: Server) -> None:
    """Whatever is done to what items share changes their digest; what is done to an item does not."""
    url = server.database(rows_of(SAMPLE, 7), 7)

    def digest() -> str:
        with open_repository(url, VIEW) as repository:
            return repository.shared_digest()

    before = digest()
    server.execute(url, *CHANGES)
    assert digest() == before
    for statement in SHARED:
        server.execute(url, statement)
        before, former = digest(), before
        assert before != former, statement


def test_time_passes(server: Server) -> None:
    """Items and files that a date makes public or hides are found on that date; nothing else is."""
    dates = [Policy(start="2025-06-16"), Policy(end="2025-06-16"), Policy(start="2020-01-01")]
    things = [Thing(number, policies=[policy]) for number, policy in enumerate(dates, 1)]
    for number, policy in enumerate(dates, 4):
        things.append(Thing(number, bundles=[Bundle(number, files=[File(number, policies=[policy])])]))
    file = File(7, policies=[Policy(), Policy(STAFF, start="2025-06-16")])
    things.append(Thing(7, bundles=[Bundle(7, files=[file])]))
    url = server.database(rows_of(Sample(items=things), 7), 7)
    before = {item.id: item for item in read(url)}
    for hours, expected in ((11, set()), (12, {key(7, ITEM, number) for number in (1, 2, 4, 5)})):
        with open_repository(url, replace(VIEW, at=AT + timedelta(hours=hours))) as repository:
            assert repository.dated_items(AT) == expected
            now = {item.id: item for item in repository.items()}
        assert {each for each in now.keys() | before.keys() if now.get(each) != before.get(each)} == expected


# Row versions

#: What may happen to the rows of items, and to what they depend on; `{table.column}` is a value from that column.
EDITS = [
    "UPDATE item SET discoverable = NOT discoverable WHERE uuid = {item.uuid}",
    "UPDATE item SET in_archive = withdrawn, withdrawn = in_archive WHERE uuid = {item.uuid}",
    "UPDATE item SET last_modified = last_modified + interval '1 day' WHERE uuid = {item.uuid}",
    "UPDATE item SET owning_collection = {collection.uuid} WHERE uuid = {item.uuid}",
    "DELETE FROM item WHERE uuid = {item.uuid}",
    (
        "UPDATE metadatavalue SET text_value = text_value || 'x' "
        "WHERE metadata_value_id = {metadatavalue.metadata_value_id}"
    ),
    "DELETE FROM metadatavalue WHERE metadata_value_id = {metadatavalue.metadata_value_id}",
    (
        "UPDATE metadatavalue SET dspace_object_id = {item.uuid} "
        "WHERE metadata_value_id = {metadatavalue.metadata_value_id}"
    ),
    (
        "INSERT INTO metadatavalue (metadata_value_id, metadata_field_id, text_value, dspace_object_id) SELECT "
        "{number}, {metadatafieldregistry.metadata_field_id}, 'new', {item.uuid}"
    ),
    "DELETE FROM resourcepolicy WHERE policy_id = {resourcepolicy.policy_id}",
    "UPDATE resourcepolicy SET start_date = {day} WHERE policy_id = {resourcepolicy.policy_id}",
    "UPDATE resourcepolicy SET end_date = {day} WHERE policy_id = {resourcepolicy.policy_id}",
    "UPDATE resourcepolicy SET action_id = 12 - action_id WHERE policy_id = {resourcepolicy.policy_id}",
    "UPDATE resourcepolicy SET epersongroup_id = {epersongroup.uuid} WHERE policy_id = {resourcepolicy.policy_id}",
    "UPDATE resourcepolicy SET dspace_object = {bitstream.uuid} WHERE policy_id = {resourcepolicy.policy_id}",
    (
        "INSERT INTO resourcepolicy (policy_id, resource_type_id, action_id, epersongroup_id, dspace_object, "
        "start_date) SELECT {number}, 0, 0, {epersongroup.uuid}, {bitstream.uuid}, {day}"
    ),
    "UPDATE bitstream SET deleted = NOT deleted WHERE uuid = {bitstream.uuid}",
    "UPDATE bitstream SET size_bytes = size_bytes + 1 WHERE uuid = {bitstream.uuid}",
    "DELETE FROM bundle2bitstream WHERE bitstream_id = {bundle2bitstream.bitstream_id}",
    (
        "UPDATE bundle2bitstream SET bundle_id = {item2bundle.bundle_id} "
        "WHERE bitstream_id = {bundle2bitstream.bitstream_id}"
    ),
    "DELETE FROM item2bundle WHERE bundle_id = {item2bundle.bundle_id}",
    "UPDATE item2bundle SET item_id = {item.uuid} WHERE bundle_id = {item2bundle.bundle_id}",
    "UPDATE handle SET handle = handle || '.2' WHERE handle_id = {handle.handle_id}",
    "UPDATE handle SET resource_id = NULL WHERE handle_id = {handle.handle_id}",
    "DELETE FROM collection2item WHERE item_id = {collection2item.item_id}",
    "INSERT INTO collection2item (collection_id, item_id) SELECT {collection.uuid}, {item.uuid}",
    "DELETE FROM group2groupcache WHERE parent_id = {group2groupcache.parent_id}",
    "UPDATE bitstreamformatregistry SET mimetype = mimetype || 'x' WHERE bitstream_format_id = 2",
]

_RELATIONSHIP = "WHERE id = {relationship.id}"
_RELATE = (
    "INSERT INTO relationship (id, left_id, right_id, type_id, left_place, right_place, latest_version_status)"
    " SELECT {number}, {relationship.left_id}, {relationship.right_id}, {relationship_type.id}, 1, 0, 0"
)

#: What may happen to items that are related, and to what relates them.
EDITS_OF_RELATED = [
    *[_RELATE, f"DELETE FROM relationship {_RELATIONSHIP}"] * 2,
    f"UPDATE relationship SET left_place = left_place + 1 {_RELATIONSHIP}",
    f"UPDATE relationship SET rightward_value = '{{number}}' {_RELATIONSHIP}",
    f"UPDATE relationship SET latest_version_status = (latest_version_status + 1) % 3 {_RELATIONSHIP}",
    f"UPDATE relationship SET right_id = {{item.uuid}} {_RELATIONSHIP}",
    f"UPDATE relationship SET left_id = {{relationship.left_id}}, type_id = {{relationship_type.id}} {_RELATIONSHIP}",
    "UPDATE relationship_type SET leftward_type = {relationship_type.leftward_type} WHERE id = {relationship_type.id}",
    "UPDATE relationship_type SET tilted = 2 WHERE id = {relationship_type.id}",
    *[
        f"{statement} = ANY(ARRAY[{{relationship.left_id}}, {{relationship.right_id}}]::uuid[])"
        for statement in (
            "UPDATE item SET withdrawn = NOT withdrawn WHERE uuid",
            "UPDATE item SET discoverable = NOT discoverable WHERE uuid",
            "UPDATE resourcepolicy SET start_date = {day}, end_date = NULL WHERE dspace_object",
            "UPDATE resourcepolicy SET end_date = {day}, start_date = NULL WHERE dspace_object",
            (
                "UPDATE metadatavalue SET text_value = text_value || 'x' "
                "WHERE metadata_field_id <> 903 AND dspace_object_id"
            ),
            (
                "UPDATE metadatavalue SET text_value = CASE text_value WHEN 'Publication' THEN 'Person' ELSE "
                "'Publication' END WHERE metadata_field_id = 903 AND dspace_object_id"
            ),
        )
    ],
    "DELETE FROM item WHERE uuid = {item.uuid}",
    "UPDATE versionitem SET version_number = version_number + 3 WHERE versionitem_id = {versionitem.versionitem_id}",
    "UPDATE versionitem SET item_id = NULL WHERE item_id = {versionitem.item_id}",
    "UPDATE versionitem SET item_id = {item.uuid} WHERE versionitem_id = {versionitem.versionitem_id}",
    (
        "UPDATE versionitem SET versionhistory_id = {versionitem.versionhistory_id} "
        "WHERE versionitem_id = {versionitem.versionitem_id}"
    ),
    "DELETE FROM versionitem WHERE versionitem_id = {versionitem.versionitem_id}",
    (
        "INSERT INTO versionitem (versionitem_id, version_number, versionhistory_id, item_id) SELECT {number}, "
        "{versionitem.version_number}, {versionitem.versionhistory_id}, {item.uuid}"
    ),
    "UPDATE item SET withdrawn = NOT withdrawn WHERE uuid = {versionitem.item_id}",
    "UPDATE resourcepolicy SET start_date = {day} WHERE dspace_object = {versionitem.item_id}",
    "UPDATE handle SET handle = handle || '.2' WHERE resource_id = {versionitem.item_id}",
]

#: What changes no row; VACUUM FULL writes all rows anew.
UPKEEP = ["VACUUM FREEZE item, metadatavalue, resourcepolicy", "VACUUM FULL metadatavalue", *["SELECT 1"] * 4]

SILENT = Heard()


def related_rows() -> Rows:
    """Return three articles with their authors and journals, one author of two of them, and items without any.

    Some items are versions of one.
    """
    firsts = (0, 10, 20)
    things = [thing for first in firsts for thing in article_things(first)]
    versions = [(100, 101, 102, 103), (1, 11, 21), (110, 111)]
    rows = entities(rows_of(Sample(items=[*things, *map(Thing, range(100, 160))], versions=versions), 7), 7, firsts)
    shared = {**rows["relationship"][0], "id": 90, "right_id": key(7, ITEM, 10 + KNUTH)}
    rows["relationship"].append(shared)
    return rows


@pytest.fixture
def journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the records of articles have the title of their journal, which no field of Dublin Core holds."""
    path = ("isJournalIssueOfPublication", "isJournalVolumeOfIssue", "isJournalOfVolume")
    rule = relationships.Derived(path, "dc.relation.ispartof", ("dc.title",))
    monkeypatch.setattr(relationships, "RULES", (*relationships.RULES, rule))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nearly all items of these small repositories be few, so that row versions are what is tried."""
    monkeypatch.setattr(inventory, "_MANY", 1)


class Life:
    """A repository in PostgreSQL to which something happens every day, and the inventory that goes on from the last."""

    def __init__(self, server: Server, folder: Path, seed: int, *, related: bool = False) -> None:
        self.random, self.clock = random.Random(seed), random.Random(1_000 + seed)
        self.server = server
        self.edits = EDITS_OF_RELATED if related else EDITS
        self.url = server.database(related_rows() if related else rows_of(every_case(), 7), 7)
        self.folder = folder
        self.at = AT
        self.numbers = iter(range(900_000_000, 2_000_000_000))

    def edit(self, owner: psycopg.Connection[Any]) -> None:
        """Do something, unless there is nothing left to do it to."""
        statement = self.random.choice(self.edits)
        while "{" in statement:
            name = statement.partition("{")[2].partition("}")[0]
            value = self._value(owner, name)
            if value is None:
                return
            statement = statement.replace(f"{{{name}}}", value, 1)
        with suppress(psycopg.errors.UniqueViolation):
            owner.execute(statement.encode())

    def _value(self, owner: psycopg.Connection[Any], name: str) -> str | None:
        if name == "number":
            return str(next(self.numbers))
        if name == "day":
            return f"date '{(self.at + timedelta(days=self.random.randrange(-3, 12))).date()}'"
        table, _, column = name.partition(".")
        query = f"SELECT {column}::text FROM {table} ORDER BY 1"
        found = [value for (value,) in owner.execute(query.encode()) if value]
        if not found:
            return None
        value = self.random.choice(found)
        return value if value.isdecimal() else f"'{value}'"

    def restore(self) -> None:
        """Let the database be a copy of itself, with other transactions."""
        other = self.server.empty_database()
        self.server.drop(other)
        names = [url.rpartition("/")[2].partition("?")[0] for url in (other, self.url)]
        self.server.execute(self.server.url, f'CREATE DATABASE "{names[0]}" TEMPLATE "{names[1]}"')
        self.server.databases.add(other)
        self.server.drop(self.url)
        self.url = other

    def settings(self) -> BridgeSettings:
        """Return the settings of the day."""
        given: dict[str, Any] = {"out": self.folder, "beside": self.folder, "base_url": BASE, "ui_url": UI}
        return BridgeSettings(**given, database=self.url, at=self.at)

    def fill(self, file: Path) -> "Filled":
        """Fill the inventory in a file."""
        with open_reader(self.settings(), SILENT) as reader:
            filled = Inventory(file, reader.key)
            reader.fill(filled, None)
            found = Filled([*filled.entries()], filled.changed, Seen(*filled.note("seen")).total)
            filled.close()
            return found


@dataclass
class Filled:
    """What is in an inventory, the items that may have changed (`None` if all were read), and the sum of all rows."""

    entries: list[InventoryEntry]
    changed: Collection[str] | None
    total: str


def days(life: Life, number: int) -> Iterator[int]:
    """Let some days pass on which something, nothing or much happens."""
    for each in range(number):
        with psycopg.connect(life.server.dsn(life.url), autocommit=True) as owner:
            for _ in range(life.random.choice([0, 0, 1, 1, 2, 5])):
                life.edit(owner)
            owner.execute(life.random.choice(UPKEEP).encode())
        if life.random.random() < 0.05:
            life.restore()
        life.at += timedelta(hours=life.random.choice([1, 6, 20, 24, 24, 24, 40]))
        if life.clock.random() < 0.08:
            life.at += timedelta(hours=life.clock.choice([-300, -60, -30, 700]))
        yield each


def live(server: Server, folder: Path, seed: int, number: int, *, related: bool = False) -> tuple[int, int]:
    """Live some days; return on how many of them only what had changed was read, and on how many nothing."""
    life, kept = Life(server, folder, seed, related=related), folder / "kept.db"
    life.fill(kept)
    some = nothing = 0
    for each in days(life, number):
        now = life.fill(kept)
        fresh = folder / f"{each}.db"
        assert now.entries == life.fill(fresh).entries, (seed, each)
        fresh.unlink()
        some += bool(now.changed)
        nothing += now.changed is not None and not now.changed
    return some, nothing


@pytest.mark.promise("Nothing missed")
def test_each_change_is_found(server: Server) -> None:
    """Each statement that changes an item, its bundles or its files changes the sum of that item, and of no other."""
    url = server.database(rows_of(SAMPLE, 7), 7)
    items = {ONE, OTHER}
    before: dict[str, str] = {}
    since = 0
    for statement in ["SELECT 1", *CHANGES]:
        server.execute(url, statement)
        with open_repository(url, VIEW) as repository:
            sums = dict(repository.sums())
            if not before:
                assert repository.total == str(sum(map(int, sums.values())))
                assert repository.sums_of(sorted(sums)) == sums
                assert repository.sums_of([ONE]) == {ONE: sums[ONE]}
                assert repository.written_since(0) == sums.keys()
            written = repository.written_since(since) & items
            assert repository.origin
            since = repository.origin.oldest
        if before:
            changed = {each for each in sums.keys() | before.keys() if sums.get(each) != before.get(each)}
            assert changed & items == {ONE}, statement
            assert written <= {ONE}, statement
            assert written == {ONE} or "DELETE" in statement, statement
        before = sums


def test_what_each_run_reads(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written rows are enough to find what changed; all sums are compared if rows were only removed.

    All items are read at first, and once a week.
    """
    life, calls = Life(server, tmp_path, 1), Counter[str]()
    for name in ("sums", "items", "items_of", "written_since"):
        counted = _counted(calls, name, getattr(DSpaceRepository, name))
        monkeypatch.setattr(DSpaceRepository, name, counted)
    first = "(SELECT min(uuid::text)::uuid FROM item WHERE last_modified IS NOT NULL)"
    edit = f"UPDATE item SET last_modified = last_modified - interval '1 s' WHERE uuid = {first}"
    delete = f"DELETE FROM metadatavalue WHERE dspace_object_id = {first}"
    everything, written = {"sums", "items"}, {"items_of", "written_since"}
    for hours, statement, expected in (
        (0, edit, everything),
        (24, edit, written),
        (24, "SELECT 1", {"items_of"}),
        (24, delete, written | {"sums"}),
        (95, edit, written),
        (1, edit, everything),
        (168, "SELECT 1", everything),
    ):
        server.execute(life.url, statement)
        life.at += timedelta(hours=hours)
        calls.clear()
        filled = life.fill(tmp_path / "kept.db")
        assert calls.keys() == expected, (hours, statement)
        assert (filled.changed is None) == ("items" in expected)


def _counted(counts: Counter[str], name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*values: Any) -> Any:
        counts[name] += 1
        return of(*values)

    return counted


@pytest.mark.parametrize("version", [6, 10])
def test_every_version(server: Server, version: int) -> None:
    """In every version of DSpace with such keys, a change of a file changes the sum of its item."""
    url = server.database(rows_of(SAMPLE, version), version)
    with open_repository(url, VIEW) as repository:
        before = dict(repository.sums())
    last = "SELECT max(internal_id) FROM bitstream"
    server.execute(url, f"UPDATE bitstream SET size_bytes = 1234 WHERE internal_id = ({last})")
    with open_repository(url, VIEW) as repository:
        assert repository.origin
        assert {each for each, text in repository.sums() if before[each] != text} == {key(version, ITEM, 2)}


def test_integer_keys_have_no_versions(server: Server) -> None:
    """In version 5 an item and a file may have the same key, so everything is read."""
    url = server.database(rows_of(SAMPLE, 5), 5)
    with open_repository(url, VIEW) as repository:
        assert repository.origin is None


def test_views_have_no_versions(server: Server) -> None:
    """A role that sees views instead of tables gets the same items, but nobody knows who wrote their rows."""
    url = server.database(rows_of(SAMPLE, 7), 7)
    with open_repository(url, VIEW) as repository:
        items = [*repository.items()]
        assert repository.origin
    server.execute(url, "ALTER TABLE bitstream RENAME TO files", "CREATE VIEW bitstream AS SELECT * FROM files")
    with open_repository(url, VIEW) as repository:
        assert repository.origin is None
        assert [*repository.items()] == items


@pytest.mark.promise("Nothing missed")
def test_random_life(server: Server, tmp_path: Path) -> None:
    """With edits by SQL, vacuums, restores, passing dates and jumps of the clock, all changes are found."""
    some, nothing = live(server, tmp_path, 1, 9)
    assert some > 2
    assert nothing > 0


@pytest.mark.promise("Nothing missed")
@pytest.mark.usefixtures("journals")
def test_related_items(server: Server, tmp_path: Path) -> None:
    """Whatever happens to what an article has values from, what changed is found."""
    life = Life(server, tmp_path, 1, related=True)
    kept, fresh = tmp_path / "kept.db", tmp_path / "fresh.db"
    before = life.fill(kept)
    author, volume, journal = (f"'{key(7, ITEM, number)}'" for number in (KNUTH, VOLUME, 10 + JOURNAL))
    for statement, changed in (
        (f"UPDATE metadatavalue SET text_value = 'Knut' WHERE dspace_object_id = {author} AND place = 0", 1),
        (f"UPDATE metadatavalue SET text_value = 'CACM' WHERE dspace_object_id = {journal}", 1),
        (f"UPDATE resourcepolicy SET start_date = '2025-06-18' WHERE dspace_object = {author}", 1),
        (f"UPDATE item SET withdrawn = true, in_archive = false WHERE uuid = {volume}", 1),
        ("SELECT 1", 1),  # the author is public again
        ("UPDATE relationship SET left_place = 7 WHERE id = 1", 1),
        (f"DELETE FROM relationship WHERE left_id = {journal}", 1),
        ("UPDATE relationship SET rightward_value = 'Knuth' WHERE id = 90", 1),
        ("DELETE FROM relationship WHERE id = 3", 1),
        (f"DELETE FROM item WHERE uuid = {author}", 1),
    ):
        with psycopg.connect(server.dsn(life.url), autocommit=True) as owner:
            assert owner.execute(statement.encode()).rowcount > 0, statement
        life.at += timedelta(hours=15)
        now = life.fill(kept)
        assert now.changed is not None, statement
        assert len({*now.entries} ^ {*before.entries}) == 2 * changed, statement
        before = now
    assert before.entries == life.fill(fresh).entries


@pytest.mark.long
@pytest.mark.usefixtures("journals")
@pytest.mark.parametrize("related", [False, True])
@pytest.mark.parametrize("seed", range(2, 8))
def test_random_lives(server: Server, tmp_path: Path, seed: int, *, related: bool) -> None:
    """So it is through 200 days."""
    some, nothing = live(server, tmp_path, seed, 200, related=related)
    assert min(some, nothing) > 10
