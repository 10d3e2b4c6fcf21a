"""The content of a Resource List, sorted by URI, in a database in memory or on disk.

A small listing stays in memory and a large one is on disk, so memory does not grow with the number of resources.
"""

import sqlite3
import weakref
from collections.abc import Collection, ItemsView, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import parse_links
from pelican_resourcesync.publication.model.resource import (
    Listed,
    Row,
    parse_representation,
    parse_time,
    render_links,
    render_representation,
    render_time,
)

#: The characters of a URI that XML escapes, and the most bytes that escaping adds to each.
MARKS, LONGER = "&'\"<>", 5

#: The database cache in KiB, and the number of rows read at a time.
_CACHE, _BATCH = 8_192, 512

_PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE}")
_TABLE = """
CREATE TABLE listing (
  uri TEXT PRIMARY KEY, representation TEXT NOT NULL, links TEXT NOT NULL, lastmod TEXT NOT NULL
) WITHOUT ROWID
"""

# Of attributes of a rendered representation; `type` is the last. A sum of lengths could be too large for SQLite.
_MANY = 10**9
_COUNT_TYPES = """
SELECT kind, count(*), sum(size / 1000000000), sum(size % 1000000000) FROM (
  SELECT CASE instr(representation, ' type="') WHEN 0 THEN '' ELSE
    substr(representation, instr(representation, ' type="') + 7,
      length(representation) - instr(representation, ' type="') - 10) END AS kind,
  CASE instr(representation, ' length="') WHEN 0 THEN 0 ELSE
    CAST(substr(representation, instr(representation, ' length="') + 9) AS INTEGER) END AS size
  FROM listing
) GROUP BY kind
"""
_COUNT_YEARS = """
SELECT substr(lastmod, 1, 4) AS year, count(*), max(lastmod) FROM listing WHERE lastmod <> '' GROUP BY year
ORDER BY year DESC
"""


class Listing(Mapping[str, Listed]):
    """Resources by URI, sorted. Every method raises `PublicationError` if the disk fails."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Use a database that has the table; it is closed with this object."""
        with _kept():
            self._database = database
            self._closed = weakref.finalize(self, database.close)
            self._length: int = database.execute("SELECT count(*) FROM listing").fetchone()[0]

    @classmethod
    def keep(cls, rows: Iterable[Row], file: Path | None = None) -> "Listing":
        """Store these rows, the last one of each URI, in the new `file`, or for the lifetime of this object."""
        with _new(file) as database:
            database.execute(_TABLE)
            database.execute("BEGIN")
            database.executemany("INSERT OR REPLACE INTO listing VALUES (?, ?, ?, ?)", rows)
            database.execute("COMMIT")
            return cls(database)

    def changed(self, rows: Iterable[Row], gone: Iterable[str], file: Path | None = None) -> "Listing":
        """Return a copy with these rows added or replaced, and without the URIs `gone`."""
        with _new(file) as database:
            self._database.backup(database)
            database.execute("BEGIN")
            database.executemany("DELETE FROM listing WHERE uri = ?", ((uri,) for uri in gone))
            database.executemany("INSERT OR REPLACE INTO listing VALUES (?, ?, ?, ?)", rows)
            database.execute("COMMIT")
            return Listing(database)

    @classmethod
    def of(cls, listed: Iterable[tuple[str, Listed]]) -> "Listing":
        """Store resources by URI."""
        return cls.keep(
            Row(uri, render_representation(each.representation), render_links(each.links), render_time(each.lastmod))
            for uri, each in listed
        )

    @classmethod
    def open(cls, file: Path) -> "Listing":
        """Open a stored listing for reading. Raises `PublicationError` if the file is not a valid listing."""
        with _kept():
            uri = f"{file.absolute().as_uri()}?mode=ro"
            return cls(_connect(uri, uri=True))

    def rows(self) -> Iterator[Row]:
        """Yield the resources as rows."""
        yield from map(Row._make, self._select("uri, representation, links, lastmod"))

    def row(self, uri: str) -> Row | None:
        """Return the row of a resource, or `None` if there is none."""
        try:
            with _kept():
                row = self._database.execute("SELECT * FROM listing WHERE uri = ?", (uri,)).fetchone()
        except UnicodeEncodeError:  # a lone surrogate, which no list can contain
            row = None
        return Row(*row) if row else None

    def rows_of(self, uris: Collection[str]) -> dict[str, Row]:
        """Return the rows of the resources among these URIs, of which there are at most a few thousand."""
        found: dict[str, Row] = {}
        wanted = iter(uris)
        while batch := tuple(islice(wanted, _BATCH)):
            marks = ", ".join("?" * len(batch))
            with _kept():
                rows = self._database.execute(f"SELECT * FROM listing WHERE uri IN ({marks})", batch)  # noqa: S608
                found |= {row[0]: Row(*row) for row in rows}
        return found

    def longest(self) -> tuple[int, int]:
        """Return the length of the longest URI and of the longest links in entries, in bytes."""
        each = (f"length(uri) - length(replace(uri, char({ord(mark)}), ''))" for mark in MARKS)
        marks = f"({' + '.join(each)})"
        with _kept():
            uri, links = self._database.execute(
                f"SELECT max(length(uri) + {LONGER} * {marks}), max(length(CAST(links AS BLOB))) FROM listing"  # noqa: S608 - ours
            ).fetchone()
        return uri or 0, links or 0

    def count_types(self) -> list[tuple[str, int, int]]:
        """Return each media type, with its escapes, with the number of its resources and the sum of their lengths."""
        with _kept():
            found = self._database.execute(_COUNT_TYPES).fetchall()
        return [(kind, number, great * _MANY + small) for kind, number, great, small in found]

    def count_years(self) -> tuple[dict[int, int], str]:
        """Return the number of resources last changed in each year, the newest first, and the last of these times."""
        with _kept():
            found = self._database.execute(_COUNT_YEARS).fetchall()
        return {int(year): number for year, number, _ in found}, found[0][2] if found else ""

    def items(self) -> ItemsView[str, Listed]:
        """Return all URIs and resources, read in one pass."""
        return _Items(self)

    def close(self) -> None:
        """Close the database."""
        self._closed()

    def __iter__(self) -> Iterator[str]:
        return (uri for (uri,) in self._select("uri"))

    def __len__(self) -> int:
        return self._length

    def __contains__(self, uri: object) -> bool:
        return isinstance(uri, str) and self.row(uri) is not None

    def __getitem__(self, uri: str) -> Listed:
        row = self.row(uri)
        if row is None:
            raise KeyError(uri)
        return listed_in(row.representation, row.links, row.lastmod)

    def _select(self, columns: str) -> Iterator[tuple[str, ...]]:
        with _kept():
            cursor = self._database.cursor()
            cursor.arraysize = _BATCH
            cursor.execute(f"SELECT {columns} FROM listing ORDER BY uri")  # noqa: S608 - our columns
        while True:
            with _kept():
                batch = cursor.fetchmany()
            if not batch:
                return
            yield from batch


class _Items(ItemsView[str, Listed]):
    _mapping: Listing

    def __iter__(self) -> Iterator[tuple[str, Listed]]:
        for row in self._mapping.rows():
            yield row.uri, listed_in(row.representation, row.links, row.lastmod)


def listed_in(representation: str, links: str, lastmod: str) -> Listed:
    """Parse a row's columns into a `Listed`."""
    return Listed(parse_representation(representation), parse_time(lastmod), parse_links(links))


def _connect(database: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    """Open a database that the garbage collector may close in any thread."""
    return sqlite3.connect(database, uri=uri, isolation_level=None, check_same_thread=False)


@contextmanager
def _new(file: Path | None) -> Iterator[sqlite3.Connection]:
    """Yield a new database to fill, and close it if that fails."""
    with _kept():
        database = _connect(file or "")
        try:
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}")
            yield database
        except BaseException:
            database.close()
            raise


@contextmanager
def _kept() -> Iterator[None]:
    """Turn a database error into one clear message."""
    try:
        yield
    except sqlite3.Error as error:
        message = f"the list of resources cannot be stored or read: {error}: free space in the temporary folder"
        raise PublicationError(message) from error
