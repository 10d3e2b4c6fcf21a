"""The inventory: the public resources of a repository by URI, with their items, in an SQLite database.

Every run works on a copy of the last one, or on a new one, which replaces the last one when everything is published.
"""

import json
import sqlite3
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pelican_resourcesync.protocol import parse_links
from pelican_resourcesync.publication import Resource, Resources, Row, is_later, parse_representation, parse_time
from pelican_resourcesync.version import __version__
from repo_bridge import InventoryError

_FORMAT = f"7 {__version__}"

#: Rows of a record are long, so pages are larger than usual; the cache is in KiB.
_PRAGMAS = """
PRAGMA page_size = 16384; PRAGMA cache_size = -16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
"""

#: So long the versions of rows are trusted, before everything is read again.
_TRUSTED = timedelta(days=7)

#: If more than one in this many items changed, all items are read again, because that is faster.
_MANY = 4

_RESOURCE = "(uri TEXT, item TEXT, representation TEXT, links TEXT, changed TEXT, place TEXT"
_MEMBER = "(set_name TEXT, uri TEXT, item TEXT"

_TABLES = f"""
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE item (
  id TEXT PRIMARY KEY, records INT NOT NULL, later TEXT NOT NULL, uris TEXT NOT NULL, sets TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE resource {_RESOURCE}, PRIMARY KEY (uri, item)) WITHOUT ROWID;
CREATE TABLE member {_MEMBER}, PRIMARY KEY (set_name, uri, item)) WITHOUT ROWID;
CREATE TABLE version (owner TEXT PRIMARY KEY, sum TEXT NOT NULL) WITHOUT ROWID;
"""

#: Rows of a complete reading are sorted when all are there: inserting them in any order takes twice as long.
_TEMPORARY = f"""
CREATE TEMP TABLE unsorted_resource {_RESOURCE});
CREATE TEMP TABLE unsorted_member {_MEMBER});
CREATE TEMP TABLE former (owner TEXT PRIMARY KEY, sum TEXT NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE touched (uri TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE removed (uri TEXT PRIMARY KEY, time TEXT NOT NULL, column TEXT NOT NULL) WITHOUT ROWID;
"""

_SELECT = "SELECT resource.uri, representation, links, changed, place, resource.item FROM "
_MEMBERS = (
    "member CROSS JOIN resource ON resource.uri = member.uri WHERE set_name = ? AND member.uri >= ? AND member.uri < ?"
    " ORDER BY member.uri"
)
#: A text after all URIs.
_LAST = "\U0010ffff"

#: Returns the file of a resource, given its URI and where its bytes are.
FindFile = Callable[[str, str], Path | None]


class InventoryEntry(NamedTuple):
    """A resource: texts as in rows, where its bytes are, and the sets that it is in besides the complete set."""

    uri: str
    representation: str
    links: str = ""
    changed: str = ""
    place: str = ""
    sets: tuple[str, ...] = ()


def is_stored(place: str) -> bool:
    """Return whether the bytes of a resource are in an assetstore, not in one of the record files.

    The data of a stored file are a JSON list; the path of a record file never begins like that.
    """
    return place.startswith("[")


class ItemEntries(NamedTuple):
    """An item with its resources, of which the first `records` are records; it may change at the time `later`."""

    item: str
    entries: tuple[InventoryEntry, ...]
    records: int = 0
    later: str = ""

    def row(self) -> tuple[str, int, str, str, str]:
        """Return the row of the item; raise `InventoryError` if two of its resources have the same URI."""
        uris = [entry.uri for entry in self.entries]
        if len({*uris}) < len(uris):
            [(twice, _)] = Counter(uris).most_common(1)
            _refuse(twice, self.item)
        sets = sorted({name for entry in self.entries for name in entry.sets})
        return self.item, self.records, self.later, "\n".join(uris), "\n".join(sets)


class Seen(NamedTuple):
    """What an inventory was filled from: a repository `at` a time, which was read completely at the time `complete`.

    The other values are those of the database: see `reading.row_versions`.
    """

    at: str
    complete: str
    database: str
    transaction: int
    oldest: int
    total: str

    def since(self, at: datetime) -> datetime | None:
        """Return the time since when items may have changed until `at`; `None` if all are to be read again."""
        since, complete = parse_time(self.at), parse_time(self.complete)
        if since is None or complete is None or since > at or not timedelta(0) <= at - complete < _TRUSTED:
            return None
        return since


class Inventory:
    """The resources of a repository. Every method raises `InventoryError` on disk errors.

    `before` is what the inventory was filled from the last time, if that is known. `changed` are the items that may
    have changed since then, `None` if that may be all of them. `removed_paths` are those of removed records.
    """

    def __init__(self, file: Path, key: str = "") -> None:
        """Open the inventory in a file, or create it.

        `key` says what it depends on besides the items; an inventory with another key is emptied.
        """
        self.file = file
        self._key = key
        self.before: Seen | None = None
        self.changed: Collection[str] | None = None
        self.removed_paths: set[str] = set()
        self._closed = weakref.finalize(self, lambda: None)  # nothing is open yet
        with suppress(InventoryError):
            self._open()
            seen = self.note("seen") if self.note("format") == [_FORMAT, key] else None
            self.before = Seen(*seen) if seen else None
        if self.before is None:
            self.clear()

    def _open(self, tables: str = "") -> None:
        with _explained(self.file):
            self._database = sqlite3.connect(self.file, isolation_level=None, check_same_thread=False)
            self._closed = weakref.finalize(self, self._database.close)
            self._database.executescript(_PRAGMAS + tables + _TEMPORARY)
            self._database.execute("BEGIN")

    def close(self) -> None:
        """Write everything to the file and close it."""
        if self._closed.alive:
            with _explained(self.file):
                try:
                    self._database.execute("COMMIT")
                finally:
                    self._closed()

    def clear(self) -> None:
        """Start with an empty file, for a complete reading."""
        self._closed()
        self.file.unlink(missing_ok=True)
        self._open(_TABLES)
        self.set_note("format", [_FORMAT, self._key])
        self.changed = None

    # What it was filled from, and what became of it

    def note(self, name: str) -> Any:
        """Return a note: `seen` is what the inventory was filled from, and `published` what the last run published.

        Returns `None` if there is none.
        """
        found = self._names("SELECT value FROM note WHERE name = ?", name)
        return json.loads(found[0]) if found else None

    def set_note(self, name: str, value: object) -> None:
        """Store a note."""
        self._run("INSERT OR REPLACE INTO note VALUES (?, ?)", [(name, json.dumps(value))])

    # Row versions

    def sums(self, of: Iterable[str]) -> dict[str, str]:
        """Return the sums of rows (see `reading.row_versions`) of those of these owners that had any."""
        return dict(row for owner in of for row in self._rows("SELECT * FROM version WHERE owner = ?", owner))

    def set_sums(self, sums: Iterable[tuple[str, str]], of: Iterable[str] | None = None) -> None:
        """Store the current sums of these owners, by default of all; those not in `sums` have no rows any more."""
        if of is None:
            self._run("INSERT INTO former SELECT * FROM version")
            self._run("DELETE FROM version")
        self._run("DELETE FROM version WHERE owner = ?", ((owner,) for owner in of or ()))
        self._run("INSERT INTO version VALUES (?, ?)", sums)

    def changed_sums(self) -> set[str]:
        """Return the owners whose sums were changed when those of all owners were stored."""
        changed = "SELECT owner, sum FROM {} EXCEPT SELECT owner, sum FROM {}"
        pairs = (("version", "former"), ("former", "version"))
        return {owner for names in pairs for owner, _ in self._rows(changed.format(*names))}

    # Items

    def is_many(self, items: int) -> bool:
        """Return whether so many changed items are so many that reading all of them is faster."""
        return items * _MANY > self._number("SELECT count(*) FROM item")

    def has_item(self, item: str) -> bool:
        """Return whether an item was added."""
        return bool(self._names("SELECT id FROM item WHERE id = ?", item))

    def records_of(self, item: str) -> list[InventoryEntry]:
        """Return the records of an item, in the order of their formats."""
        found = [*self._rows("SELECT records, uris FROM item WHERE id = ?", item)]
        return [entry for number, uris in found for uri in uris.split("\n")[:number] if (entry := self.get(uri))]

    def records(self) -> int:
        """Return the number of records."""
        return self._number("SELECT total(records) FROM item")

    def due(self, at: str) -> list[str]:
        """Return the ids of the items that may have changed by themselves until a time."""
        return [
            id_ for id_, time in self._rows("SELECT id, later FROM item WHERE later <> ''") if not is_later(time, at)
        ]

    def add(self, items: Sequence[ItemEntries]) -> None:
        """Add items and their resources; raise `InventoryError` if two resources of an item have the same URI."""
        self._run("INSERT INTO item VALUES (?, ?, ?, ?, ?)", [item.row() for item in items])
        self.add_rows((item.item, entry) for item in items for entry in item.entries)

    def add_rows(self, rows: Iterable[tuple[str, InventoryEntry]]) -> None:
        """Add resources, each with the key of its item, which is not an item of its own; the same may come again."""
        prefix = "INSERT INTO unsorted_" if self.changed is None else "INSERT INTO "
        pairs = [*rows]
        resources = ((entry.uri, item, *entry[1:5]) for item, entry in pairs)
        self._run(f"{prefix}resource VALUES (?, ?, ?, ?, ?, ?)", resources)
        members = ((name, entry.uri, item) for item, entry in pairs for name in entry.sets)
        self._run(f"{prefix}member VALUES (?, ?, ?)", members)
        if self.changed is not None:
            self._run("INSERT OR IGNORE INTO touched VALUES (?)", ((entry.uri,) for _, entry in pairs))

    def sort(self) -> None:
        """Sort what was added, at the end of a complete reading."""
        for table, order in (("resource", "uri, item"), ("member", "set_name, uri, item")):
            self._run(f"INSERT OR IGNORE INTO {table} SELECT * FROM unsorted_{table} ORDER BY {order}")  # noqa: S608 - no user input
            self._run(f"DELETE FROM unsorted_{table}")  # noqa: S608 - no user input

    def remove(self, items: Iterable[str]) -> None:
        """Remove items with their resources."""
        for item in items:
            found = [*self._rows("SELECT uris, sets FROM item WHERE id = ?", item)]
            uris = [uri for uris, _ in found for uri in uris.split("\n") if uri]
            members = [(name, uri, item) for _, sets in found for name in sets.split("\n") for uri in uris]
            for uri in uris:
                places = self._names("SELECT place FROM resource WHERE uri = ? AND item = ?", uri, item)
                self.removed_paths.update(place for place in places if place and not is_stored(place))
            self._run("INSERT OR IGNORE INTO touched VALUES (?)", ((uri,) for uri in uris))
            self._run("DELETE FROM member WHERE set_name = ? AND uri = ? AND item = ?", members)
            self._run("DELETE FROM resource WHERE uri = ? AND item = ?", ((uri, item) for uri in uris))
            self._run("DELETE FROM item WHERE id = ?", [(item,)])

    # Resources of a query

    def contradiction(self) -> str | None:
        """Return a URI about which two added rows say different things, before they are sorted; `None` if none does."""
        links = "count(DISTINCT item || char(10) || links) > count(DISTINCT item)"
        different = f"HAVING count(DISTINCT representation || char(10) || changed) > 1 OR {links}"
        found = self._names(f"SELECT uri FROM unsorted_resource GROUP BY uri {different} LIMIT 1")  # noqa: S608 - no user input
        return found[0] if found else None

    def index_items(self) -> None:
        """Make `of_item` fast, after all rows were added."""
        with _explained(self.file):
            self._database.execute("CREATE INDEX resource_item ON resource (item, uri)")
            self._database.execute("CREATE INDEX member_item ON member (item, uri)")

    def of_item(self, item: str) -> list[InventoryEntry]:
        """Return the resources of an item, in the order of their URIs, with the sets that they are in."""
        sets = "SELECT set_name FROM member WHERE item = ? AND uri = ? ORDER BY 1"
        rows = [*self._rows(_SELECT + "resource WHERE item = ? ORDER BY uri", item)]
        return [InventoryEntry(*row[:5])._replace(sets=tuple(self._names(sets, item, row[0]))) for row in rows]

    def add_links(self, item: str, links: str) -> None:
        """Add links to all resources of an item."""
        self._run("UPDATE resource SET links = links || ? WHERE item = ?", [(links, item)])

    # What is no longer public

    def add_removed(self, removed: Iterable[tuple[str, str, str]]) -> None:
        """Record URIs that are not public any more, since when, and which column says so, for this run."""
        self._run("INSERT OR REPLACE INTO removed VALUES (?, ?, ?)", removed)

    def column_of(self, uri: str) -> str:
        """Return the column that says that a URI is not public any more; empty if none does."""
        return "".join(self._names("SELECT column FROM removed WHERE uri = ?", uri))

    def removed_and_listed(self) -> list[str]:
        """Return the URIs that are recorded both as removed and as resources."""
        return self._names("SELECT DISTINCT uri FROM removed JOIN resource USING (uri) ORDER BY 1")

    def times(self, uris: Iterable[str]) -> dict[str, str]:
        """Return when resources changed or were removed, as far as the inventory knows."""
        times = {}
        for uri in uris:
            entry = self.get(uri)
            found = [entry.changed] if entry else self._names("SELECT time FROM removed WHERE uri = ?", uri)
            if found and found[0]:
                times[uri] = found[0]
        return times

    def suspects(self, uris: Iterable[str]) -> Collection[str] | None:
        """Return the items that changed, if these URIs are resources of no others; `None` if they may be of any."""
        touched = "SELECT uri FROM touched WHERE uri = ?"
        return self.changed if self.changed is not None and all(self._names(touched, uri) for uri in uris) else None

    # What is public

    def get(self, uri: str, set_name: str | None = None) -> InventoryEntry | None:
        """Return the resource of a set at a URI, `None` if there is none; without `set_name`, of the complete set."""
        entries = [*_merged(self._rows(_SELECT + "resource WHERE uri = ? ORDER BY item", uri))]
        if not entries:
            return None
        members = "SELECT uri FROM member WHERE set_name = ? AND uri = ?"
        return entries[0] if set_name is None or self._names(members, set_name, uri) else None

    def entries(self, set_name: str | None = None, begin: str = "", end: str | None = None) -> Iterator[InventoryEntry]:
        """Yield the resources of a set from one URI on, before another, sorted by URI; by default all, of all sets."""
        last = _LAST if end is None else end
        if set_name is None:
            return _merged(self._rows(_SELECT + "resource WHERE uri >= ? AND uri < ? ORDER BY uri, item", begin, last))
        return _merged(self._rows(_SELECT + _MEMBERS, set_name, begin, last))

    def touched(self, set_name: str | None) -> Iterator[tuple[str, InventoryEntry | None]]:
        """Yield the URIs of all items added or removed in this run, sorted, with their resources in a set."""
        return ((uri, self.get(uri, set_name)) for (uri,) in self._rows("SELECT uri FROM touched ORDER BY uri"))

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of items, of their records, and of all other resources."""
        records = self.records()
        return self._number("SELECT count(*) FROM item WHERE records > 0"), records, self.count() - records

    def count(self) -> int:
        """Return the number of resources."""
        return self._number("SELECT count(DISTINCT uri) FROM resource")

    def sets(self) -> list[str]:
        """Return the names of the sets that have resources, without the complete set."""
        return self._names("SELECT DISTINCT set_name FROM member ORDER BY 1")

    def _number(self, statement: str, *values: str) -> int:
        return int(next(self._rows(statement, *values))[0])

    def _names(self, statement: str, *values: str) -> list[str]:
        return [name for (name,) in self._rows(statement, *values)]

    def _run(self, statement: str, rows: Iterable[tuple[object, ...]] = ((),)) -> None:
        """Run a statement that changes something with the values of each row."""
        with _explained(self.file):
            self._database.executemany(statement, rows)

    def _rows(self, statement: str, *values: str) -> Iterator[Any]:
        with _explained(self.file):
            cursor = self._database.execute(statement, values)
            while rows := cursor.fetchmany(1_000):  # not `yield from cursor`: rows left unread would close it too late
                yield from rows


class SetResources(Resources):
    """The resources of one set of an inventory."""

    def __init__(self, inventory: Inventory, set_name: str | None, find: FindFile) -> None:
        """Read the set `set_name` (`None` for the complete set) of an inventory; `find` finds the files."""
        self._inventory = inventory
        self._set_name = set_name
        self._find = find

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Return the resources with URIs from `begin` on, before `end`, as rows, sorted by URI."""
        return (Row(*entry[:4]) for entry in self._inventory.entries(self._set_name, begin, end))

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI; `None` if there is none."""
        entry = self._inventory.get(uri, self._set_name)
        if entry is None:
            return None
        return Resource(
            uri=uri,
            file=self._find(uri, entry.place),
            modified=parse_time(entry.changed),
            measured=parse_representation(entry.representation),
            links=parse_links(entry.links),
        )

    def changed_since(self, digest: str) -> Iterable[tuple[str, Row | None]] | None:
        """Return the URIs that may differ from the publication with this digest, sorted, with their rows."""
        last = self._inventory.note("published")
        if self._inventory.changed is None or last is None or digest not in last["digests"].values():
            return None
        touched = self._inventory.touched(self._set_name)
        return ((uri, Row(*entry[:4]) if entry else None) for uri, entry in touched)


#: A row of `_SELECT`: an entry without its sets, and its item.
_Stored = tuple[str, str, str, str, str, str]


def _merged(rows: Iterable[_Stored]) -> Iterator[InventoryEntry]:
    """Yield an entry for each URI; rows of one URI follow each other, and there is one for each of its items."""
    return (InventoryEntry(*reduce(_merge, same)[:5]) for _, same in groupby(rows, itemgetter(0)))


def _merge(one: _Stored, other: _Stored) -> _Stored:
    """Return the row of a file of two items, with the links of both and the later time.

    Raises `InventoryError` for two records, or two different files.
    """
    uri, representation, links, changed, place, item = one
    is_ours = place and not is_stored(place)
    if representation != other[1] or (is_ours and item != other[5]):
        _refuse(uri, item, other[5])
    lines = {*links.split("\n"), *other[2].split("\n")} - {""}
    later = other[3] if is_later(other[3], changed) else changed
    return uri, representation, "".join(f"{line}\n" for line in sorted(lines)), later, place, item


def _refuse(uri: str, *items: str) -> NoReturn:
    message = (
        f"two resources have the URI {uri}, of {' and '.join(f'the item {item}' for item in items)}: change the handle "
        "of one of them"
    )
    raise InventoryError(message)


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Turn an error of SQLite, such as a full disk, into one clear message."""
    try:
        yield
    except sqlite3.Error as error:
        message = f"the inventory cannot be stored in {file}: {error}: free disk space there, and make it writable"
        raise InventoryError(message) from error
