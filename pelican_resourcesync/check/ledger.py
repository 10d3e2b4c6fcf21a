"""What is listed and what changed, over all documents of a set: on disk, so that memory does not grow with it."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pelican_resourcesync.check.scan import Item
from pelican_resourcesync.check.values import disagreement

_BATCH = 4_096
_TABLES = {
    "listed": "owner INT, uri INT, document INT, line INT, hash TEXT",
    "dumped": "owner INT, uri INT, document INT, line INT",
    "changed": "owner INT, uri INT, document INT, line INT, hash TEXT, time REAL, change TEXT",
}
# The last change of each URI, where all of its changes have a time; of several at once, the one that is read last.
_LAST = """
CREATE INDEX changed_uri ON changed (owner, uri);
CREATE INDEX listed_uri ON listed (owner, uri);
CREATE TEMP TABLE last AS
SELECT c.*, MAX(c.rowid) FROM changed c JOIN (
  SELECT owner, uri, MAX(time) AS latest, MAX(time IS NULL) AS untimed FROM changed GROUP BY owner, uri
) m ON c.owner = m.owner AND c.uri = m.uri AND c.time = m.latest AND NOT m.untimed
GROUP BY c.owner, c.uri
"""
Place = tuple[int, int, str]
"""The number of a document, the line of the entry in it, and what is said of it."""
Take = Callable[[Item], None]
Row = tuple[object, ...]


@dataclass(slots=True)
class Ledger:
    """Rows of entries, by a 64-bit hash of their URI; `owner` and `document` are numbers that the caller gives."""

    _rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in _TABLES})
    _base: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect("", isolation_level=None))

    def __post_init__(self) -> None:
        tables = "".join(f"CREATE TABLE {name} ({columns});" for name, columns in _TABLES.items())
        self._base.executescript(f"PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA temp_store=FILE; {tables}")

    def listing(self, owner: int, document: int) -> Take:
        """Give the function that takes each entry of one Resource List."""
        rows = self._rows["listed"]

        def take(item: Item) -> None:
            md = item.md
            rows.append((owner, hash(item.loc), document, item.line, md.get("hash") if md else None))
            if len(rows) >= _BATCH:
                self._flush()

        return take

    def dump(self, owner: int, document: int, item: Item) -> None:
        """Take an entry of a Resource Dump Manifest."""
        self._add("dumped", (owner, hash(item.loc), document, item.line))

    def change(self, owner: int, document: int, item: Item, time: float | None) -> None:
        """Take an entry of a Change List; `time` is None where it is not sure."""
        md = item.md or {}
        kind = md.get("change", "").strip()
        self._add("changed", (owner, hash(item.loc), document, item.line, md.get("hash"), time, kind))

    def repeated(self) -> Iterator[Place]:
        """Give the entries of Resource Lists whose URI an earlier entry has (RL03)."""
        self._flush()
        repeated = self._base.execute("SELECT 1 FROM listed GROUP BY owner, uri HAVING COUNT(*) > 1 LIMIT 1")
        if not repeated.fetchone():
            return iter(())
        return iter(
            self._base.execute(
                "SELECT document, line, 'the resource is already listed' FROM listed"
                " WHERE rowid NOT IN (SELECT MIN(rowid) FROM listed GROUP BY owner, uri)"
            )
        )

    def uncovered(self, owner: int, at: float) -> Iterator[Place]:
        """Give the last changes, up to `at`, with which the Resource List of then does not agree (CL06)."""
        self._prepare()
        query = (
            "SELECT last.document, last.line, 'last ' || change ||"
            " CASE change WHEN 'deleted' THEN ', and still' ELSE ', and not' END || ' in the Resource List'"
            " FROM last WHERE last.owner = ? AND time <= ? AND (change = 'deleted') ="
            " EXISTS (SELECT 1 FROM listed WHERE listed.owner = last.owner AND listed.uri = last.uri)"
        )
        return iter(self._base.execute(query, (owner, at)))

    def other_states(self, owner: int, at: float) -> Iterator[Place]:
        """Give the entries of the Resource List whose hash is not that of their last change up to `at` (CH04)."""
        self._prepare()
        query = (
            "SELECT DISTINCT listed.document, listed.line, listed.hash, last.hash"
            " FROM last JOIN listed ON listed.owner = last.owner AND listed.uri = last.uri"
            " WHERE last.owner = ? AND time <= ? AND change != 'deleted' AND listed.hash != last.hash"
        )
        for document, line, listed, changed in self._base.execute(query, (owner, at)):
            if algorithm := disagreement(listed, changed):
                yield document, line, f"the {ascii(algorithm)[1:-1]} is not that of the last listed change"

    def not_dumped(self, owner: int) -> Iterator[Place]:
        """Give the entries of the Resource List that no Resource Dump has, and the other way round (CL06)."""
        self._flush()
        for one, other, words in (
            ("listed", "dumped", "is in no Resource Dump"),
            ("dumped", "listed", "is not listed"),
        ):
            query = (
                f"SELECT document, line, 'the resource {words}' FROM {one} WHERE owner = ?"  # noqa: S608 - our words
                f" AND uri NOT IN (SELECT uri FROM {other} WHERE owner = ?)"
            )
            yield from self._base.execute(query, (owner, owner))

    def close(self) -> None:
        """Give the disk space back."""
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
                self._base.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - our words
                self._base.execute("COMMIT")
                rows.clear()

    def _prepare(self) -> None:
        """Find the last change of each URI, once."""
        self._flush()
        if not self._base.execute("SELECT 1 FROM temp.sqlite_master WHERE name = 'last'").fetchone():
            self._base.executescript(_LAST)
