"""The inventory: the resources of a repository by URI, with the items that they belong to, in an SQLite database."""

import sqlite3
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pelican_resourcesync.protocol import parse_links
from pelican_resourcesync.publication import (
    Resource,
    Resources,
    Row,
    is_later,
    parse_representation,
    parse_time,
)
from repo_bridge.errors import InventoryError

_CACHE, _BATCH = 32_768, 1_000

#: If more than one in this many items changed, all items are read again, because that is faster.
_MANY = 4

_TABLES = """
CREATE TABLE item (id TEXT PRIMARY KEY, digest TEXT, records INT NOT NULL, files INT NOT NULL) WITHOUT ROWID;
CREATE TABLE of_item (item TEXT, uri TEXT, PRIMARY KEY (item, uri)) WITHOUT ROWID;
CREATE TABLE resource (
  uri TEXT PRIMARY KEY, representation TEXT NOT NULL, links TEXT NOT NULL, changed TEXT NOT NULL, place TEXT NOT NULL,
  item TEXT NOT NULL
);
CREATE TABLE member (set_name TEXT, uri TEXT, PRIMARY KEY (set_name, uri)) WITHOUT ROWID;
CREATE TABLE gone (uri TEXT PRIMARY KEY, time TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE version (owner TEXT PRIMARY KEY, sum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE seen (
  at TEXT NOT NULL, compared TEXT NOT NULL, origin TEXT NOT NULL, read_from INT NOT NULL, oldest INT NOT NULL,
  total TEXT NOT NULL
);
"""

#: Instead of a digest: the item is read again on every run. `NULL` if no digest was asked for when it was read.
_UNSETTLED = ""

#: Returns the file of a resource, given its URI and where its bytes are.
FindFile = Callable[[str, str], Path | None]


class Entry(NamedTuple):
    """A resource: texts as in rows, where its bytes are, and the sets that it is in besides the complete set."""

    uri: str
    representation: str
    links: str = ""
    changed: str = ""
    place: str = ""
    sets: tuple[str, ...] = ()


class ItemEntries(NamedTuple):
    """An item with its resources, of which the first `records` are records; if not `lasting`, it may change soon."""

    item: str
    entries: tuple[Entry, ...]
    records: int = 0
    lasting: bool = True


class Seen(NamedTuple):
    """What an inventory was filled from: a repository `at` a time, in the database `origin`.

    `compared` is when all items were last read or all digests compared. Times are texts. `transaction`, `oldest` and
    `total` say which rows there were: see `reading.row_versions`.
    """

    at: str
    compared: str
    origin: str = ""
    transaction: int = 0
    oldest: int = 0
    total: str = "0"


class Inventory:
    """The resources of a repository. Every method raises `InventoryError` on disk errors.

    `looked_at` are the items that may have changed since the last time, if it is known that no others have.
    """

    def __init__(self, file: Path) -> None:
        """Open the inventory in a file, or create it if there is none."""
        with _kept(file):
            begun = file.exists()
            self._file = file
            self._database = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            self._closed = weakref.finalize(self, self._database.close)
            for pragma in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE}"):
                self._database.execute(f"PRAGMA {pragma}")
            if not begun:
                self._database.executescript(_TABLES)
            self._database.execute("CREATE TEMP TABLE now (id TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID")
            self._database.execute("CREATE TEMP TABLE touched (uri TEXT PRIMARY KEY) WITHOUT ROWID")
            self._complete = not begun
            self.looked_at: Collection[str] | None = None
            self._database.execute("BEGIN")
            self._database.execute("DELETE FROM gone")  # determined again on every run

    def close(self) -> None:
        """Write everything to the file and close it."""
        if self._closed.alive:
            with _kept(self._file):
                try:
                    self._database.execute("COMMIT")
                finally:
                    self._closed()

    def take_digests(self, digests: Iterable[tuple[str, str]]) -> None:
        """Take the current digests of all items, to compare them with those of the last time."""
        with _kept(self._file):
            self._database.executemany("INSERT INTO now VALUES (?, ?)", digests)

    def read_again(self, items: Iterable[str]) -> None:
        """Let items be read again, whatever their digests."""
        with _kept(self._file):
            self._database.executemany(
                "UPDATE item SET digest = ? WHERE id = ?", ((_UNSETTLED, item) for item in items)
            )

    def items_without(self, ids: Iterable[str]) -> set[str]:
        """Return the ids of all items that were added, without these ids, which are sorted; only the result is kept."""
        others, rest = iter(ids), set[str]()
        other = next(others, "")
        for (item,) in self._rows("SELECT id FROM item ORDER BY id"):
            while other and other < item:
                other = next(others, "")
            if item != other:
                rest.add(item)
        return rest

    def is_many(self, items: int) -> bool:
        """Return whether so many changed items are so many that reading all of them is faster."""
        with _kept(self._file):
            known = self._database.execute("SELECT count(*) FROM item").fetchone()[0]
        return items * _MANY > int(known)

    def unsettled(self) -> list[str]:
        """Return the ids of the items to be read again on every run."""
        return self._names("SELECT id FROM item WHERE digest = ?", _UNSETTLED)

    def sums(self, of: Iterable[str]) -> dict[str, str]:
        """Return the sums of rows (see `reading.row_versions`) of those of these owners that had any."""
        with _kept(self._file):
            found = (self._database.execute("SELECT * FROM version WHERE owner = ?", (each,)).fetchone() for each in of)
            return dict(row for row in found if row)

    def keep_sums(self, sums: Mapping[str, str], of: Iterable[str]) -> None:
        """Store the current sums of these owners; those that are not in `sums` have no rows any more."""
        with _kept(self._file):
            self._database.executemany("DELETE FROM version WHERE owner = ?", ((each,) for each in of))
            self._database.executemany("INSERT INTO version VALUES (?, ?)", sums.items())

    def keep_all_sums(self, sums: Iterable[tuple[str, str]]) -> None:
        """Store the current sums of all owners."""
        with _kept(self._file):
            self._database.execute("CREATE TEMP TABLE before AS SELECT * FROM version")
            self._database.execute("DELETE FROM version")
            self._database.executemany("INSERT INTO version VALUES (?, ?)", sums)

    def changed_sums(self) -> set[str]:
        """Return the owners whose sums `keep_all_sums` changed, with those that it added and removed."""
        changed = "SELECT owner, sum FROM {} EXCEPT SELECT owner, sum FROM {}"
        return {
            owner
            for names in (("version", "before"), ("before", "version"))
            for owner, _ in self._rows(changed.format(*names))
        }

    @property
    def seen(self) -> "Seen | None":
        """When and where the inventory was last filled from; `None` for a new one."""
        return next(map(Seen._make, self._rows("SELECT * FROM seen")), None)

    @seen.setter
    def seen(self, seen: "Seen") -> None:
        with _kept(self._file):
            self._database.execute("DELETE FROM seen")
            self._database.execute("INSERT INTO seen VALUES (?, ?, ?, ?, ?, ?)", seen)

    def changed(self) -> set[str] | None:
        """Return the items whose digests differ, with those that are new or gone; `None` if they are too many."""
        changed = (
            "SELECT now.id FROM now LEFT JOIN item ON item.id = now.id WHERE item.digest IS NOT now.digest"
            " UNION ALL SELECT id FROM item WHERE id NOT IN (SELECT id FROM now)"
        )
        ((number,),) = self._rows(f"SELECT count(*) FROM ({changed})")  # noqa: S608 - no user input
        return None if self.is_many(number) else {*self._names(changed)}

    def settle_digests(self) -> None:
        """Save the current digests, if there are any, except those of items to be read again on every run.

        Items that turned out not to be public are saved with their digests too.
        """
        with _kept(self._file):
            self._database.execute(
                "INSERT INTO item SELECT id, digest, 0, 0 FROM now WHERE id NOT IN (SELECT id FROM item)"
            )
            self._database.execute(
                "UPDATE item SET digest = (SELECT digest FROM now WHERE now.id = item.id) WHERE digest IS NULL"
            )

    def clear(self) -> None:
        """Remove everything but the current digests of items."""
        self._complete = True
        with _kept(self._file):
            for table in ("item", "of_item", "resource", "member", "gone"):
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608 - no user input

    def add(self, items: Sequence[ItemEntries]) -> None:
        """Add items and their resources; items that are not `lasting` will be read again on every run.

        A resource of two items has the links of both, and both items are read again on every run, because its links and
        time may change with either. Raises `InventoryError` if two things have the same URI.
        """
        rows = [(*entry[:5], each.item) for each in items for entry in each.entries]
        with _kept(self._file):
            before = self._database.total_changes
            self._database.executemany("INSERT OR IGNORE INTO resource VALUES (?, ?, ?, ?, ?, ?)", rows)
            shared = self._database.total_changes - before < len(rows)
            self._database.executemany(
                "INSERT INTO item VALUES (?, ?, ?, ?)",
                (
                    (each.item, None if each.lasting else _UNSETTLED, each.records, len(each.entries) - each.records)
                    for each in items
                ),
            )
            self._database.executemany(
                "INSERT OR IGNORE INTO of_item VALUES (?, ?)",
                ((each.item, entry.uri) for each in items for entry in each.entries),
            )
            if not self._complete:
                self._database.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((row[0],) for row in rows))
            self._database.executemany(
                "INSERT OR IGNORE INTO member VALUES (?, ?)",
                ((name, entry.uri) for each in items for entry in each.entries for name in entry.sets),
            )
            if shared:
                self._share(items)

    def _share(self, items: Sequence[ItemEntries]) -> None:
        """Merge the new resources that already existed as resources of other items."""
        for each in items:
            if len({entry.uri for entry in each.entries}) < len(each.entries):
                _refuse(_twice(entry.uri for entry in each.entries), each.item)
            for number, entry in enumerate(each.entries):
                row = self._database.execute("SELECT * FROM resource WHERE uri = ?", (entry.uri,)).fetchone()
                if row[5] != each.item and number < each.records:
                    _refuse(entry.uri, row[5], each.item)
                if row[5] != each.item:
                    self._merge(each.item, entry, Entry(*row[:5]), row[5])

    def _merge(self, item: str, entry: Entry, before: Entry, first: str) -> None:
        if before.representation != entry.representation:
            _refuse(entry.uri, first, item)
        lines = {*before.links.split("\n"), *entry.links.split("\n")} - {""}
        links = "".join(f"{line}\n" for line in sorted(lines))
        changed = entry.changed if is_later(entry.changed, before.changed) else before.changed
        self._database.execute("UPDATE resource SET links = ?, changed = ? WHERE uri = ?", (links, changed, entry.uri))
        self._database.execute("UPDATE item SET digest = ? WHERE id IN (?, ?)", (_UNSETTLED, first, item))

    def _insert(self, item: str, entry: Entry) -> bool:
        statement = "INSERT OR IGNORE INTO resource VALUES (?, ?, ?, ?, ?, ?)"
        return bool(self._database.execute(statement, (*entry[:5], item)).rowcount)

    def add_row(self, entry: Entry, item: str = "") -> bool:
        """Add a resource, of an item that is added later or of none; return whether its URI is free or has the same."""
        with _kept(self._file):
            if not self._insert("", entry):
                row = self._database.execute("SELECT * FROM resource WHERE uri = ?", (entry.uri,)).fetchone()
                if Entry(*row[:5])._replace(sets=entry.sets) != entry:
                    return False
            members = [(name, entry.uri) for name in entry.sets]
            self._database.executemany("INSERT OR IGNORE INTO member VALUES (?, ?)", members)
            if item:
                self._database.execute("INSERT OR IGNORE INTO of_item VALUES (?, ?)", (item, entry.uri))
        return True

    def index_sets(self) -> None:
        """Make `of_item` fast, after all rows were added."""
        with _kept(self._file):
            self._database.execute("CREATE INDEX IF NOT EXISTS member_uri ON member (uri)")

    def of_item(self, item: str) -> list[Entry]:
        """Return the resources of an item, in the order of their URIs, with the sets that they are in."""
        found = self._rows(
            "SELECT uri, representation, links, changed, place FROM of_item JOIN resource USING (uri)"
            " WHERE of_item.item = ? ORDER BY uri",
            item,
        )
        sets = "SELECT set_name FROM member WHERE uri = ? ORDER BY 1"
        return [Entry(*row)._replace(sets=tuple(self._names(sets, row[0]))) for row in found]

    def add_links(self, uris: Iterable[str], links: str) -> None:
        """Add links to those of resources."""
        with _kept(self._file):
            self._database.executemany(
                "UPDATE resource SET links = links || ? WHERE uri = ?", ((links, uri) for uri in uris)
            )

    def removed_and_listed(self) -> list[str]:
        """Return the URIs that are recorded both as removed and as resources."""
        return self._names("SELECT uri FROM gone JOIN resource USING (uri) ORDER BY 1")

    def remove(self, items: Iterable[str]) -> None:
        """Remove items with their resources."""
        of_items = [(item,) for item in items]
        uris = "(SELECT uri FROM of_item WHERE item = ?)"
        with _kept(self._file):
            self._database.executemany(f"INSERT OR IGNORE INTO touched SELECT uri FROM {uris}", of_items)  # noqa: S608 - no user input
            for table in ("resource", "member"):
                self._database.executemany(f"DELETE FROM {table} WHERE uri IN {uris}", of_items)  # noqa: S608 - no user input
            self._database.executemany("DELETE FROM of_item WHERE item = ?", of_items)
            self._database.executemany("DELETE FROM item WHERE id = ?", of_items)

    def add_removed(self, removed: Iterable[tuple[str, str]]) -> None:
        """Record URIs that are not public any more, and since when."""
        with _kept(self._file):
            self._database.executemany("INSERT OR REPLACE INTO gone VALUES (?, ?)", removed)

    def times(self, uris: Iterable[str]) -> dict[str, str]:
        """Return when resources changed or were removed, as far as the inventory knows."""
        statement = "SELECT changed FROM resource WHERE uri = ?1 UNION ALL SELECT time FROM gone WHERE uri = ?1"
        with _kept(self._file):
            found = ((uri, self._database.execute(statement, (uri,)).fetchone()) for uri in uris)
            return {uri: row[0] for uri, row in found if row and row[0]}

    def places(self, of: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
        """Return the item of each resource that is published with the set, and where its bytes are.

        `of` are the items to look at, of all if it is `None`.
        """
        select = "SELECT item, place FROM resource"
        if of is None:
            yield from self._rows(f"{select} WHERE place LIKE '[\"%'")
        for item in of or ():
            statement = f"{select} WHERE uri IN (SELECT uri FROM of_item WHERE item = ?) AND place LIKE '[\"%'"  # noqa: S608 - no user input
            yield from self._rows(statement, item)

    def touched(self, set_name: str | None) -> Iterator[tuple[str, Row | None]] | None:
        """Return the URIs of all items added or removed since the inventory was opened, with their rows in a set.

        Returns `None` if that may be all of them.
        """
        if self._complete:
            return None
        member = (
            "" if set_name is None else "AND EXISTS (SELECT 1 FROM member WHERE set_name = ? AND member.uri = t.uri)"
        )
        rows = self._rows(
            "SELECT t.uri, resource.uri, representation, links, changed FROM touched t"  # noqa: S608 - no user input
            f" LEFT JOIN resource ON resource.uri = t.uri {member} ORDER BY 1",
            *([set_name] if set_name is not None else []),
        )
        return ((uri, Row._make(row) if row[0] else None) for uri, *row in rows)

    def suspects(self, uris: Iterable[str]) -> Collection[str] | None:
        """Return the items that were looked at, because these resources are none of others; `None` if it may be any."""
        if self._complete or self.looked_at is None:
            return None
        with _kept(self._file):
            found = (self._database.execute("SELECT 1 FROM touched WHERE uri = ?", (uri,)).fetchone() for uri in uris)
            return self.looked_at if all(found) else None

    def holds(self, uri: str) -> bool:
        """Return whether there is a resource with this URI."""
        with _kept(self._file):
            return self._database.execute("SELECT 1 FROM resource WHERE uri = ?", (uri,)).fetchone() is not None

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of items, of their records, and of all other resources."""
        with _kept(self._file):
            items, records = self._database.execute(
                "SELECT count(*), total(records) FROM item WHERE records > 0"
            ).fetchone()
            resources = self._database.execute("SELECT count(*) FROM resource").fetchone()[0]
        return items, int(records), resources - int(records)

    def sets(self) -> list[str]:
        """Return the names of the sets that have resources, without the complete set."""
        return self._names("SELECT DISTINCT set_name FROM member ORDER BY 1")

    def resources(self, set_name: str | None, find: FindFile, published: str = "") -> "SetResources":
        """Return the resources of a set, `None` for the complete set; `find` finds their files.

        `published` is the digest of the publication of what was in the inventory when it was opened, if it is known.
        """
        return SetResources(self, set_name, find, published)

    def rows(self, set_name: str | None) -> Iterator[Row]:
        """Yield the resources of a set as rows, sorted by URI."""
        columns = "resource.uri, representation, links, changed"
        if set_name is None:
            rows = self._rows(f"SELECT {columns} FROM resource ORDER BY uri")  # noqa: S608 - no user input
        else:
            join = "FROM member JOIN resource ON resource.uri = member.uri WHERE set_name = ? ORDER BY member.uri"
            rows = self._rows(f"SELECT {columns} {join}", set_name)
        yield from map(Row._make, rows)

    def uris(self, set_name: str | None) -> Iterator[str]:
        """Return the URIs of the resources of a set, sorted."""
        if set_name is None:
            return (uri for (uri,) in self._rows("SELECT uri FROM resource ORDER BY uri"))
        return (uri for (uri,) in self._rows("SELECT uri FROM member WHERE set_name = ? ORDER BY uri", set_name))

    def count(self, set_name: str | None) -> int:
        """Return the number of resources of a set."""
        with _kept(self._file):
            if set_name is None:
                found = self._database.execute("SELECT count(*) FROM resource")
            else:
                found = self._database.execute("SELECT count(*) FROM member WHERE set_name = ?", (set_name,))
            return int(found.fetchone()[0])

    def row(self, set_name: str | None, uri: str) -> Entry | None:
        """Return the entry of a resource of a set; `None` if there is none."""
        statement = "SELECT uri, representation, links, changed, place FROM resource WHERE uri = ?"
        values: list[str] = [uri]
        if set_name is not None:
            statement += " AND EXISTS (SELECT 1 FROM member WHERE set_name = ? AND member.uri = resource.uri)"
            values.append(set_name)
        with _kept(self._file):
            row = self._database.execute(statement, values).fetchone()
        return Entry(*row) if row else None

    def _names(self, statement: str, *values: str) -> list[str]:
        return [name for (name,) in self._rows(statement, *values)]

    def _rows(self, statement: str, *values: str) -> Iterator[Any]:
        with _kept(self._file):
            cursor = self._database.execute(statement, values)
        while True:
            with _kept(self._file):
                batch = cursor.fetchmany(_BATCH)
            if not batch:
                return
            yield from batch


class SetResources(Resources):
    """The resources of one set of an inventory."""

    def __init__(self, inventory: Inventory, set_name: str | None, find: FindFile, published: str = "") -> None:
        """Read the set `set_name` (`None` for the complete set) of an inventory; `find` finds the files."""
        self._published = published
        self._inventory = inventory
        self._set_name = set_name
        self._find = find
        self._length = inventory.count(set_name)

    def __len__(self) -> int:
        return self._length

    def uris(self) -> Iterator[str]:
        """Return all URIs, sorted."""
        return self._inventory.uris(self._set_name)

    def rows(self) -> Iterator[Row]:
        """Return all resources as rows, sorted by URI."""
        return self._inventory.rows(self._set_name)

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI; `None` if there is none."""
        row = self._inventory.row(self._set_name, uri)
        if row is None:
            return None
        return Resource(
            uri=uri,
            file=self._find(uri, row.place),
            modified=parse_time(row.changed),
            measured=parse_representation(row.representation),
            links=parse_links(row.links),
        )

    def changed_since(self, digest: str) -> Iterable[tuple[str, Row | None]] | None:
        """Return the URIs that may differ from the publication with this digest, sorted, with their rows."""
        return self._inventory.touched(self._set_name) if digest == self._published else None


def _twice(uris: Iterable[str]) -> str:
    """Return the first value that occurs more than once."""
    return next(uri for uri, number in Counter(uris).items() if number > 1)


def _refuse(uri: str, *items: str) -> NoReturn:
    message = (
        f"two resources have the URI {uri}, of {' and '.join(f'the item {item}' for item in items)}: give one item"
        " another handle"
    )
    raise InventoryError(message)


@contextmanager
def _kept(file: Path) -> Iterator[None]:
    """Turn an error of SQLite, such as a full disk, into one clear message."""
    try:
        yield
    except sqlite3.Error as error:
        message = f"the inventory cannot be stored in {file}: {error}: free disk space there, and make it writable"
        raise InventoryError(message) from error
