"""A database of all listed, packed and changed resources, kept on disk so that memory use stays bounded."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pelican_resourcesync.checker.scan import RawEntry

_BATCH = 4_096
_TABLES = {
    "listed": "snapshot INT, uri INT, document INT, line INT, hash TEXT",
    "changed": "series INT, uri INT, document INT, line INT, hash TEXT, time REAL, change TEXT",
    "linked": "owner INT, uri INT, document INT, line INT, header INT, links TEXT",
}
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS listed_uri ON listed (snapshot, uri)",
    "CREATE INDEX IF NOT EXISTS changed_uri ON changed (series, uri, time)",
    "CREATE INDEX IF NOT EXISTS changed_time ON changed (series, time)",
)
EntryFault = tuple[int, int, str]
"""The number of a document, the line of an entry in it, and a message."""
Take = Callable[[RawEntry], None]
Row = tuple[Any, ...]


def packed_id(number: int) -> int:
    """Return the number for the packed entries of a list or set, which differs from those of all listed entries."""
    return -1 - number


def key(uri: str) -> int:
    """Return a 64-bit hash of a URI; it differs in each process, so nobody can choose URIs that collide."""
    return hash(uri)


@dataclass(slots=True)
class EntryDatabase:
    """A database of entries by the hash of their URI.

    The caller chooses the numbers: of a `document`, of a `snapshot` (a Resource List with all of its parts or, with
    `dumped`, a Resource Dump) and of a `series` (all Change Lists of a set or, with `dumped`, its Change Dumps).
    """

    _rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in _TABLES})
    _base: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect("", isolation_level=None))

    def __post_init__(self) -> None:
        tables = "".join(f"CREATE TABLE {name} ({columns});" for name, columns in _TABLES.items())
        settings = "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA temp_store=FILE;"
        self._base.executescript(f"{settings}{tables}")

    def listing(self, snapshot: int, document: int) -> Take:
        """Return a function that records each entry of one Resource List, or of one manifest of a Resource Dump."""
        rows = self._rows["listed"]

        def take(item: RawEntry) -> None:
            md = item.md
            rows.append((snapshot, hash(item.loc), document, item.line, md.get("hash") if md else None))
            if len(rows) >= _BATCH:
                self._flush()

        return take

    def change(self, series: int, document: int, item: RawEntry, time: float | None) -> None:
        """Record an entry of a Change List or of a Change Dump Manifest; `time` is None if it is uncertain."""
        md = item.md
        kind = md.get("change", "").strip()
        self._add("changed", (series, key(item.loc), document, item.line, md.get("hash"), time, kind))

    def link(self, owner: int, document: int, item: RawEntry, links: tuple[str, ...], *, header: bool) -> None:
        """Record the targets of a listed resource's own `rel=resourcesync` links, in its page or in its headers."""
        self._add("linked", (owner, key(item.loc), document, item.line, header, "\n".join((item.loc, *links))))

    def ask(self, query: str, *values: object) -> Iterator[Row]:
        """Yield the rows that a query finds among everything recorded so far."""
        self._flush()
        for index in _INDEXES:
            self._base.execute(index)
        yield from self._base.execute(query, values)

    def put(self, query: str, *values: object) -> None:
        """Run a statement that changes the tables of `comparison`."""
        for _ in self.ask(query, *values):
            pass

    def repeated(self) -> Iterator[EntryFault]:
        """Yield the entries of Resource Lists whose URI an earlier entry already has (RL03)."""
        once = "SELECT MIN(rowid) FROM listed WHERE snapshot >= 0 GROUP BY snapshot, uri"
        more = "SELECT 1 FROM listed WHERE snapshot >= 0 GROUP BY snapshot, uri HAVING COUNT(*) > 1 LIMIT 1"
        if any(self.ask(more)):
            again = f"snapshot >= 0 AND rowid NOT IN ({once})"
            query = f"SELECT document, line FROM listed WHERE {again} ORDER BY rowid"  # noqa: S608 - no outside input
            for document, line in self.ask(query):
                yield document, line, "the resource is already listed"

    def linked(self, *, header: bool) -> Iterator[Row]:
        """Return the owner, URI, document, line and links of each resource with links in its page, or its headers."""
        return self.ask("SELECT owner, uri, document, line, links FROM linked WHERE header = ? ORDER BY rowid", header)

    def holds(self, snapshot: int, uri: int) -> bool:
        """Return whether a Resource List has an entry with the hash of a URI."""
        return any(self.ask("SELECT 1 FROM listed WHERE snapshot = ? AND uri = ? LIMIT 1", snapshot, uri))

    def close(self) -> None:
        """Close the database, which frees its disk space."""
        self._base.close()

    def _add(self, table: str, row: Row) -> None:
        rows = self._rows[table]
        rows.append(row)
        if len(rows) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        for table, rows in self._rows.items():
            if rows:
                marks = ",".join("?" * len(rows[0]))
                self._base.execute("BEGIN")
                self._base.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - no outside input
                self._base.execute("COMMIT")
                rows.clear()
