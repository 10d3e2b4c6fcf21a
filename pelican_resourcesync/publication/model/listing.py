"""The content of a Resource List, sorted by URI, in a database in memory or on disk.

A small listing stays in memory and a large one is on disk, so memory does not grow with the number of resources.
"""

import json
import re
import shutil
import sqlite3
import weakref
from collections import Counter
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from operator import itemgetter
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
_MARKS, _LONGER = "&'\"<>", 5
_ANY_MARK = re.compile(f"[{_MARKS}]")

#: The database cache in KiB, and the number of rows read or written at a time.
_CACHE, _BATCH = 8_192, 512

_PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE}")
_TABLES = (
    """
    CREATE TABLE listing (
      uri TEXT PRIMARY KEY, representation TEXT NOT NULL, links TEXT NOT NULL, lastmod TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE TABLE summary (counts TEXT NOT NULL)",
)
_INSERT = "INSERT OR REPLACE INTO listing VALUES (?, ?, ?, ?)"

# What `render_representation` writes.
_DESCRIBED = re.compile(r'    <rs:md(?: hash="[^"]*+")?(?: length="([0-9]++)")?(?: type="([^"]*+)")?/>\n')
_type_of = itemgetter(1)
_row: Callable[[tuple[str, ...]], Row] = partial(tuple.__new__, Row)  # without a function in Python for each


def uri_size(uri: str) -> int:
    """Return the length of a URI in an entry, if each of its escapes is as long as the longest."""
    return len(uri) + _LONGER * sum(map(uri.count, _MARKS))


def links_size(links: str) -> int:
    """Return the length of links as text of a row, in bytes."""
    return len(links) if links.isascii() else len(links.encode())


@dataclass(slots=True)
class _Summary:
    """What rows come to: the number of each media type, the sum of their lengths, the number of each year.

    `uris` and `links` are the numbers of URIs and of links of each size. All can be subtracted again, except for
    `last`, the last time of all.
    """

    types: Counter[str] = field(default_factory=Counter)
    lengths: Counter[str] = field(default_factory=Counter)
    years: Counter[str] = field(default_factory=Counter)
    uris: Counter[int] = field(default_factory=Counter)
    links: Counter[int] = field(default_factory=Counter)
    last: str = ""

    def add(self, rows: Sequence[Row]) -> None:
        """Add some hundreds of rows: those with usual values are counted together."""
        if not rows:
            return
        uris, representations, links, lastmods = zip(*rows, strict=True)
        self.uris.update(map(uri_size if _ANY_MARK.search("".join(uris)) else len, uris))
        self.links.update(map(len if "".join(links).isascii() else links_size, links))
        described = _DESCRIBED.findall("".join(representations))
        self.types.update(map(_type_of, described))
        for length, type_ in described:
            self.lengths[type_] += int(length or 0)
        if len(described) < len(rows):  # nothing is known of the others
            self.types[""] += len(rows) - len(described)
        self.years.update(lastmod[:4] for lastmod in lastmods if lastmod)
        self.last = max(self.last, *lastmods)

    def changed(self, old: Sequence[Row], new: Sequence[Row]) -> "_Summary | None":
        """Return the summary after rows were removed and others added; `None` if the last time is not known."""
        gone, added = _Summary(), _Summary()
        gone.add(old)
        added.add(new)
        if self.last and gone.last == self.last > added.last:
            return None
        types = self.types - gone.types + added.types
        return _Summary(
            types,
            Counter({each: self.lengths[each] - gone.lengths[each] + added.lengths[each] for each in types}),
            self.years - gone.years + added.years,
            self.uris - gone.uris + added.uris,
            self.links - gone.links + added.links,
            max(self.last, added.last),
        )

    def dump(self) -> str:
        """Return it as JSON."""
        counts = (self.types, self.lengths, self.years, self.uris, self.links)
        return json.dumps([*([*each.items()] for each in counts), self.last])

    @classmethod
    def load(cls, text: str) -> "_Summary":
        """Return what was dumped."""
        *counts, last = json.loads(text)
        types, lengths, years, uris, links = (Counter(dict(each)) for each in counts)
        return cls(types, lengths, years, uris, links, last)


class Listing(Mapping[str, Listed]):
    """Resources by URI, sorted. Every method raises `PublicationError` if the disk fails."""

    def __init__(
        self, database: sqlite3.Connection, *, before: "Listing | None" = None, changed: Collection[str] = ()
    ) -> None:
        """Use a database that has the tables; it is closed with this object.

        `before` is the listing from which it differs in the `changed` URIs alone.
        """
        self.before, self.changed_uris = before, changed
        self._file: Path | None = None  # which nobody changes
        with _kept():
            self._database = database
            self._closed = weakref.finalize(self, database.close)
            [(counts,)] = database.execute("SELECT counts FROM summary").fetchall()
            self._summary = _Summary.load(counts)

    @classmethod
    def keep(cls, rows: Iterable[Row], file: Path | None = None) -> "Listing":
        """Store these rows, the last one of each URI, in the new `file`, or for the lifetime of this object."""
        summary = _Summary()
        with _new(file) as database:
            for table in _TABLES:
                database.execute(table)
            database.execute("BEGIN")
            for batch in _batches(rows):
                database.executemany(_INSERT, batch)
                summary.add(batch)
            if database.execute("SELECT count(*) FROM listing").fetchone() != (summary.types.total(),):
                summary = _summary_of(database)
            database.execute("INSERT INTO summary VALUES (?)", (summary.dump(),))
            database.execute("COMMIT")
            return cls(database)

    def changed(self, rows: Iterable[Row], gone: Iterable[str], file: Path | None = None) -> "Listing":
        """Return a copy with these rows added or replaced, and without the URIs `gone`: some thousands at most."""
        copied = self._copy_to(file)
        with _new(file) as database:
            if not copied:
                self._database.backup(database)
            new = {row.uri: row for row in rows}
            removed = set(gone)
            uris = new.keys() | removed
            summary = self._summary.changed([*self.rows_of(uris).values()], [*new.values()])
            database.execute("BEGIN")
            database.executemany("DELETE FROM listing WHERE uri = ?", ((uri,) for uri in removed))
            database.executemany(_INSERT, new.values())
            database.execute("UPDATE summary SET counts = ?", ((summary or _summary_of(database)).dump(),))
            database.execute("COMMIT")
            return Listing(database, before=self, changed=uris)

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
            listing = cls(_connect(uri, uri=True))
            listing._file = file
            return listing

    def rows(self) -> Iterator[Row]:
        """Return the resources as rows."""
        return map(_row, self._select("uri, representation, links, lastmod"))

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
                found.update((row[0], _row(row)) for row in rows)
        return found

    def longest(self) -> tuple[int, int]:
        """Return the length of the longest URI and of the longest links in entries, in bytes."""
        return max(self._summary.uris, default=0), max(self._summary.links, default=0)

    def count_types(self) -> list[tuple[str, int, int]]:
        """Return each media type, with its escapes, with the number of its resources and the sum of their lengths."""
        types, lengths = self._summary.types, self._summary.lengths
        return [(type_, types[type_], lengths[type_]) for type_ in sorted(types)]

    def count_years(self) -> tuple[dict[int, int], str]:
        """Return the number of resources last changed in each year, the newest first, and the last of these times."""
        years = self._summary.years
        return {int(year): years[year] for year in sorted(years, reverse=True)}, self._summary.last

    def items(self) -> ItemsView[str, Listed]:
        """Return all URIs and resources, read in one pass."""
        return _Items(self)

    def close(self) -> None:
        """Close the database."""
        self._closed()

    def __iter__(self) -> Iterator[str]:
        return (uri for (uri,) in self._select("uri"))

    def __len__(self) -> int:
        return self._summary.types.total()

    def __contains__(self, uri: object) -> bool:
        return isinstance(uri, str) and self.row(uri) is not None

    def __getitem__(self, uri: str) -> Listed:
        row = self.row(uri)
        if row is None:
            raise KeyError(uri)
        return listed_in(row.representation, row.links, row.lastmod)

    def _copy_to(self, file: Path | None) -> bool:
        """Copy the database file, which is faster than SQLite copies its pages, and return whether that is possible."""
        if self._file is None or file is None:
            return False
        try:
            shutil.copyfile(self._file, file)
        except OSError:  # SQLite fails too, and says why, or is able to
            return False
        return True

    def _select(self, columns: str) -> Iterator[tuple[str, ...]]:
        return chain.from_iterable(self._batches_of(columns))

    def _batches_of(self, columns: str) -> Iterator[list[tuple[str, ...]]]:
        with _kept():
            cursor = self._database.cursor()
            cursor.arraysize = _BATCH
            cursor.execute(f"SELECT {columns} FROM listing ORDER BY uri")  # noqa: S608 - our columns
        while True:
            with _kept():
                batch = cursor.fetchmany()
            if not batch:
                return
            yield batch


class _Items(ItemsView[str, Listed]):
    _mapping: Listing

    def __iter__(self) -> Iterator[tuple[str, Listed]]:
        for row in self._mapping.rows():
            yield row.uri, listed_in(row.representation, row.links, row.lastmod)


def listed_in(representation: str, links: str, lastmod: str) -> Listed:
    """Parse a row's columns into a `Listed`."""
    return Listed(parse_representation(representation), parse_time(lastmod), parse_links(links))


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in lists."""
    left = iter(rows)
    while batch := [*islice(left, _BATCH)]:
        yield batch


def _summary_of(database: sqlite3.Connection) -> _Summary:
    """Return the summary of all rows in a database."""
    summary = _Summary()
    for batch in _batches(map(_row, database.execute("SELECT * FROM listing"))):
        summary.add(batch)
    return summary


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
