"""Row versions: whatever is done to the database, what has changed is found without comparing all digests."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pelican_resourcesync.publication import Row
from repo_bridge.inventory import Inventory, inventory
from repo_bridge.reading import relationships
from repo_bridge.reading.repository import Repository, open_repository
from repo_bridge.result import Progress
from repo_bridge.settings import Settings
from repo_bridge.source import open_source
from tests.bridge.reading.test_digests import CHANGES, ONE, SAMPLE
from tests.bridge.support.entities import JOURNAL, KNUTH, VOLUME, article_things, entities
from tests.bridge.support.press import BASE, UI, Heard
from tests.bridge.support.reading import VIEW
from tests.bridge.support.repository import ITEM, Sample, Thing, key, rows_of
from tests.bridge.support.samples import AT, every_case
from tests.bridge.support.server import Server
from tests.bridge.support.tables import Rows

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
]

#: What changes no row; VACUUM FULL writes all rows anew.
UPKEEP = ["VACUUM FREEZE item, metadatavalue, resourcepolicy", "VACUUM FULL metadatavalue", *["SELECT 1"] * 4]

SILENT: Progress = Heard()


def related_rows() -> Rows:
    """Return three articles with their authors and journals, one author of two of them, and items without any."""
    firsts = (0, 10, 20)
    things = [thing for first in firsts for thing in article_things(first)]
    rows = entities(rows_of(Sample(items=[*things, *map(Thing, range(100, 160))]), 7), 7, firsts)
    shared = {**rows["relationship"][0], "id": 90, "right_id": key(7, ITEM, 10 + KNUTH)}
    rows["relationship"].append(shared)
    return rows


@pytest.fixture
def journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the records of articles have the title of their journal, which no field of Dublin Core holds."""
    path = ("isJournalIssueOfPublication", "isJournalVolumeOfIssue", "isJournalOfVolume")
    rule = relationships.Rule(path, "dc.relation.ispartof", ("dc.title",))
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
        self.key: tuple[object, ...] = ()
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
        with psycopg.connect(self.server.dsn(self.server.url), autocommit=True) as owner:
            names = [url.rpartition("/")[2].partition("?")[0] for url in (other, self.url)]
            owner.execute(f'CREATE DATABASE "{names[0]}" TEMPLATE "{names[1]}"'.encode())
        self.server.drop(self.url)
        self.url = other

    def settings(self) -> Settings:
        """Return the settings of the day."""
        given: dict[str, Any] = {"out": self.folder, "beside": self.folder, "base_url": BASE, "ui_url": UI}
        return Settings(**given, database=self.url, at=self.at)

    def fill(self, file: Path, since: datetime | None = None) -> "Filled":
        """Fill the inventory in a file."""
        with open_source(self.settings(), f"{BASE}/records", SILENT, apart=False) as source:
            if since and file.exists() and (source.cache_key != self.key or since > self.at):  # as the cache does
                file.unlink()
            self.key = source.cache_key
            filled = Inventory(file)
            source.fill(filled, None)
            assert filled.seen
            assert source.repository
            assert source.repository.origin
            found = Filled(
                rows=[*filled.rows(None)],
                all_compared=filled.seen.compared == filled.seen.at,
                mark=(source.cache_key, source.repository.origin.database, source.repository.total()),
                dates=source.repository.passed_dates(since or self.at),
            )
            filled.close()
            return found


@dataclass
class Filled:
    """The rows of an inventory, whether all items were compared, the mark of the database, and the passed dates."""

    rows: list[Row]
    all_compared: bool
    mark: tuple[object, ...]
    dates: set[str]


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


def live(server: Server, folder: Path, seed: int, number: int, *, related: bool = False) -> tuple[int, int, int]:
    """Live some days; return on how many of them row versions did, dates were all, and nothing was to be done."""
    life, kept = Life(server, folder, seed, related=related), folder / "kept.db"
    before, since, counts = life.fill(kept), life.at, [0, 0, 0]
    for each in days(life, number):
        now = life.fill(kept, since)
        fresh = folder / f"{each}.db"
        assert now.rows == life.fill(fresh).rows, (seed, each)
        fresh.unlink()
        counts[0] += not now.all_compared
        if now.mark == before.mark and since <= life.at:
            assert now.dates or now.rows == before.rows, (seed, each)
            counts[1 if now.dates else 2] += 1
        before, since = now, life.at
    server.drop(life.url)
    return counts[0], counts[1], counts[2]


def test_each_change_is_found(server: Server) -> None:
    """Each statement that changes an item, its bundles or its files changes the sum of that item, and of no other."""
    url = server.database(rows_of(SAMPLE, 7), 7)
    before: dict[str, str] = {}
    since = 0
    with psycopg.connect(server.dsn(url), autocommit=True) as owner:
        for statement in ["SELECT 1", *CHANGES]:
            owner.execute(statement.encode())
            with open_repository(url, VIEW) as repository:
                total, sums = repository.total(), dict(repository.sums())
                items = {*repository.ids()}
                changed = {each for each in sums.keys() | before.keys() if sums.get(each) != before.get(each)}
                assert total == repository.total() == str(sum(map(int, sums.values())))
                assert repository.sums_of(sorted(sums)) == sums
                assert repository.sums_of([ONE]) == {ONE: sums[ONE]}
                assert repository.written_since(0) == sums.keys()
                written = repository.written_since(since) & items
                assert repository.origin
                since = repository.origin.oldest
            if before:
                assert changed & items == {ONE}, statement
                assert written <= {ONE}, statement
                assert written == {ONE} or "DELETE" in statement, statement
            before = sums
    server.drop(url)


def test_only_what_was_written_is_read(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written accounts for the change of all rows, so that neither all sums nor all digests are compared."""
    life = Life(server, tmp_path, 1)
    life.fill(tmp_path / "kept.db")
    for _ in range(2):
        with psycopg.connect(server.dsn(life.url), autocommit=True) as owner:
            owner.execute(
                "UPDATE metadatavalue SET text_value = text_value || 'x' WHERE metadata_value_id = "
                "(SELECT min(metadata_value_id) FROM metadatavalue WHERE dspace_object_id IN (SELECT uuid FROM item))"
            )
        with monkeypatch.context() as patch:
            patch.setattr(Repository, "sums", None)
            patch.setattr(Repository, "digests", None)
            life.at += timedelta(hours=1)
            assert not life.fill(tmp_path / "kept.db", life.at).all_compared
    server.drop(life.url)


def test_what_each_run_reads(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests are asked for once a week alone; the first time all items are read, because none had one before."""
    life, read = Life(server, tmp_path, 1), Counter[str]()
    monkeypatch.setattr(Repository, "digests", _counted(read, "digests", Repository.digests))
    monkeypatch.setattr(Repository, "items", _counted(read, "all", Repository.items))
    monkeypatch.setattr(Repository, "items_of", _counted(read, "some", Repository.items_of))
    edit = "UPDATE item SET last_modified = last_modified - interval '1 s' WHERE uuid = (SELECT min(uuid::text)::uuid"
    for hours, expected in ((0, {"all"}), (24, {"some"}), (168, {"digests", "all"}), (168, {"digests", "some"})):
        with psycopg.connect(server.dsn(life.url), autocommit=True) as owner:
            owner.execute(f"{edit} FROM item)".encode())
        life.at += timedelta(hours=hours)
        read.clear()
        filled = life.fill(tmp_path / "kept.db", life.at)
        assert read.keys() == expected
        assert filled.all_compared == (hours != 24)
    server.drop(life.url)


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
        assert before.keys() >= {*repository.ids()}
        digests = dict(repository.digests())
    with psycopg.connect(server.dsn(url), autocommit=True) as owner:
        last = "SELECT max(internal_id) FROM bitstream"
        owner.execute(f"UPDATE bitstream SET size_bytes = 1234 WHERE internal_id = ({last})".encode())
    with open_repository(url, VIEW) as repository:
        assert repository.origin
        changed = {each for each, text in repository.sums() if before[each] != text}
        found = {each for each, digest in repository.digests() if digests[each] != digest}
        assert len(found) == 1
        assert found == changed
    server.drop(url)


def test_integer_keys_have_no_versions(server: Server) -> None:
    """In version 5 an item and a file may have the same key, so all digests are compared."""
    url = server.database(rows_of(SAMPLE, 5), 5)
    with open_repository(url, VIEW) as repository:
        assert repository.origin is None
    server.drop(url)


def test_views_have_no_versions(server: Server) -> None:
    """A role that sees views instead of tables gets the same items, but nobody knows who wrote their rows."""
    url = server.database(rows_of(SAMPLE, 7), 7)
    with open_repository(url, VIEW) as repository:
        items = [*repository.items()]
        assert repository.origin
    with psycopg.connect(server.dsn(url), autocommit=True) as owner:
        owner.execute("ALTER TABLE bitstream RENAME TO files")
        owner.execute("CREATE VIEW bitstream AS SELECT * FROM files")
    with open_repository(url, VIEW) as repository:
        assert repository.origin is None
        assert [*repository.items()] == items
    server.drop(url)


def test_random_life(server: Server, tmp_path: Path) -> None:
    """With edits by SQL, vacuums, restores, passing dates and jumps of the clock, all changes are found."""
    versions, dates, nothing = live(server, tmp_path, 1, 12)
    assert versions > 4
    assert dates > 0
    assert nothing > 0


@pytest.mark.usefixtures("journals")
def test_related_items(server: Server, tmp_path: Path) -> None:
    """Whatever happens to what an article has values from, what changed is found without comparing all digests."""
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
        since, life.at = life.at, life.at + timedelta(hours=15)
        now = life.fill(kept, since)
        assert not now.all_compared, statement
        assert len({*now.rows} ^ {*before.rows}) == 2 * changed, statement
        assert now.rows == life.fill(fresh).rows, statement
        before = now
        fresh.unlink()
    server.drop(life.url)


@pytest.mark.long
@pytest.mark.usefixtures("journals")
@pytest.mark.parametrize("seed", range(2, 8))
def test_random_lives_of_related_items(server: Server, tmp_path: Path, seed: int) -> None:
    """So it is through 200 days."""
    versions, dates, nothing = live(server, tmp_path, seed, 200, related=True)
    assert min(versions, nothing) > 10
    assert dates > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 8))
def test_random_lives(server: Server, tmp_path: Path, seed: int) -> None:
    """So it is through 200 days."""
    versions, dates, nothing = live(server, tmp_path, seed, 200)
    assert min(versions, nothing) > 10
    assert dates > 0
