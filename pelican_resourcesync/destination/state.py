"""The state of a copy: an SQLite database in its folder, and the lock that keeps a second mirror out."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pelican_resourcesync.dcz import LARGEST
from pelican_resourcesync.destination.options import STATE_FOLDER, MirrorError
from pelican_resourcesync.http import shown, without_query
from pelican_resourcesync.lock import lock_file
from pelican_resourcesync.source import IncompleteError, ListedResource

_FORMAT = 1
#: The file of the database, in the folder of the state.
DATABASE = "state.sqlite3"
_PAGE = 500  # rows that are read at once
_COLUMNS = "r.uri, r.path, r.listed, r.digest, r.length, r.time, r.etag, r.modified"
#: `membership` alone says which sets list a resource, of the copy or pending: a bit for each. What no set lists is
#: to be deleted.
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS resource (
    uri TEXT PRIMARY KEY, path TEXT NOT NULL, listed TEXT NOT NULL, digest TEXT NOT NULL, length INTEGER NOT NULL,
    time TEXT NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS path ON resource (lower(path));
CREATE TABLE IF NOT EXISTS pending (
    uri TEXT PRIMARY KEY, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL,
    mirrors TEXT NOT NULL DEFAULT '[]', reason TEXT NOT NULL DEFAULT '',
    patches TEXT, patched INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS membership (uri TEXT PRIMARY KEY, sets INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unlisted ON membership (uri) WHERE sets = 0;
CREATE TABLE IF NOT EXISTS document (
    uri TEXT PRIMARY KEY, etag TEXT NOT NULL, modified TEXT NOT NULL, body BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS description (
    uri TEXT PRIMARY KEY, type TEXT NOT NULL, links TEXT NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS entry (
    uri TEXT PRIMARY KEY, gone INTEGER NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL,
    wanted INTEGER NOT NULL, mirrors TEXT NOT NULL, type TEXT NOT NULL, links TEXT NOT NULL,
    patches TEXT, patched INTEGER) WITHOUT ROWID;
"""


class StoredResource(NamedTuple):
    """A resource of the copy, as the state records it; `listed` is the hash that its list gives."""

    uri: str
    path: str
    listed: str
    digest: str
    length: int
    time: str
    etag: str
    modified: str


class Pending(NamedTuple):
    """A resource to fetch, as its list describes it, and what the copy has of it.

    `mirrors` are its duplicates, in JSON: pairs of a priority and a URL, the best first.
    `patches`, one a line, lead from what the copy has to the resource; it is `None` if they are not known.
    """

    uri: str
    hash: str
    length: int | None
    time: str
    mirrors: str
    patches: str | None
    stored: StoredResource | None


def _pending(row: Sequence[Any]) -> Pending:
    resource, stored = row[:6], row[6:]
    return Pending._make((*resource, StoredResource(*stored) if any(stored) else None))


class PastVersion(NamedTuple):
    """What a resource was from a time on, until another."""

    resource: ListedResource
    begin: str
    until: str

    @property
    def key(self) -> str:
        """Its URI in a copy of many versions: a URL of the resource, because no server sees a fragment."""
        return f"{self.resource.uri}#{self.begin}"


class CopyState:
    """The database of a copy."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.parts = folder / STATE_FOLDER / "parts"
        self.db = connection
        #: The files of the copy, if they are elsewhere than in the folder: see `cloud`.
        self.remote: Any = None
        #: By key, if each version of the past is to be a resource of its own: what was planned.
        self.versions: dict[str, PastVersion] | None = None

    @property
    def rebuilt(self) -> bool:
        """Whether the database was missing or damaged, and the copy has not been hashed again completely."""
        return bool(self.get("rebuilt"))

    @rebuilt.setter
    def rebuilt(self, value: bool) -> None:
        self.set("rebuilt", value)

    # What is remembered of the Source

    def get(self, key: str) -> Any:
        """Return a remembered value, or None."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def set(self, key: str, value: Any) -> None:
        """Remember a value that JSON can hold."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def document(self, uri: str) -> tuple[str, str, bytes | None] | None:
        """Return the validators of a document and, if it was small, its bytes."""
        row: tuple[str, str, bytes | None] | None = self.db.execute(
            "SELECT etag, modified, body FROM document WHERE uri = ?", (uri,)
        ).fetchone()
        return row

    def set_document(self, uri: str, etag: str, modified: str, body: bytes | None) -> None:
        """Remember the validators of a document, and its bytes if they are given."""
        self.db.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)", (uri, etag, modified, body))

    def forget_documents(self) -> int:
        """Forget all documents and what was discovered; return how many documents that were."""
        self.db.execute("DELETE FROM meta WHERE key = 'discovered'")
        return self.db.execute("DELETE FROM document").rowcount

    # The copy

    def count(self) -> int:
        """Return the number of resources in the copy."""
        return self.number("SELECT count(*) FROM resource")

    def stored(self, uri: str) -> StoredResource | None:
        """Return a resource of the copy, or None."""
        row = self.db.execute(f"SELECT {_COLUMNS} FROM resource r WHERE uri = ?", (uri,)).fetchone()  # noqa: S608
        return StoredResource(*row) if row else None

    def has_hash(self, uri: str) -> bool:
        """Return whether the Source's list gives the hash of a resource that is to be fetched, or is in the copy."""
        query = "SELECT 1 FROM {} WHERE uri = ? AND {} <> ''"
        queries = (query.format("pending", "hash"), query.format("resource", "listed"))
        return any(self.db.execute(each, (uri,)).fetchone() for each in queries)

    def taken(self, paths: Sequence[str]) -> frozenset[str]:
        """Return which of some paths, of a page at most, resources of the copy have; all are in lower case."""
        marks = ", ".join("?" * len(paths))
        rows = self.db.execute(f"SELECT lower(path) FROM resource WHERE lower(path) IN ({marks})", paths)  # noqa: S608
        return frozenset(row[0] for row in rows)

    def has_path(self, path: str) -> bool:
        """Return whether a resource of the copy has a path, in upper or lower case."""
        return self.db.execute("SELECT 1 FROM resource WHERE lower(path) = lower(?)", (path,)).fetchone() is not None

    def all_stored(self) -> Iterator[list[StoredResource]]:
        """Yield all resources of the copy, page by page."""
        for rows in self._pages(f"SELECT {_COLUMNS} FROM resource r WHERE r.uri > ? ORDER BY r.uri"):  # noqa: S608
            yield [StoredResource(*row) for row in rows]

    def invalidate(self, uris: Iterable[str]) -> None:
        """Forget what resources of the copy are, so that they are fetched again."""
        self.db.executemany(
            "UPDATE resource SET listed = '', digest = '', time = '', etag = '', modified = '' WHERE uri = ?",
            [(uri,) for uri in uris],
        )

    # What is to be done

    def to_fetch(self, *, by_patches: bool = False) -> Iterator[list[Pending]]:
        """Yield what is to be fetched and was not postponed, page by page; what is done may be removed meanwhile.

        `by_patches`: only resources of the copy whose patches take fewer bytes than they have.
        """
        which = f"p.patched < p.length AND r.digest <> '' AND r.length <= {LARGEST}" if by_patches else "1"
        query = f"""SELECT p.uri, p.hash, p.length, p.time, p.mirrors, p.patches, {_COLUMNS} FROM pending p
            LEFT JOIN resource r ON r.uri = p.uri WHERE p.uri > ? AND p.reason = '' AND {which}
            ORDER BY p.uri"""  # noqa: S608
        for rows in self._pages(query):
            yield [_pending(row) for row in rows]

    def pending(self, uris: Collection[str], *, only_postponed: bool = False) -> list[tuple[str, Pending]]:
        """Return which of some resources, of a page at most, are to be fetched, postponed or not, or their versions."""
        query = f"""WITH listed (uri) AS (VALUES {", ".join(["(?)"] * len(uris))})
            SELECT listed.uri, p.uri, p.hash, p.length, p.time, p.mirrors, p.patches, {_COLUMNS} FROM listed
            JOIN pending p ON p.uri >= listed.uri AND p.uri < listed.uri || '$'
            LEFT JOIN resource r ON r.uri = p.uri
            WHERE p.reason >= ? AND substr(p.uri, length(listed.uri) + 1, 1) IN ('', '#')"""  # noqa: S608
        rows = self.db.execute(query, (*uris, " " if only_postponed else ""))
        return [(uri, _pending(row)) for uri, *row in rows]

    def to_delete(self) -> list[StoredResource]:
        """Return what is to be deleted."""
        query = f"SELECT {_COLUMNS} FROM membership JOIN resource r USING (uri) WHERE sets = 0 ORDER BY uri"  # noqa: S608
        return [StoredResource(*row) for row in self.db.execute(query)]

    def postpone(self, reasons: Mapping[str, str]) -> None:
        """Record why resources cannot be fetched; others go on."""
        self.db.executemany(
            "UPDATE pending SET reason = ? WHERE uri = ?", [(reason, uri) for uri, reason in reasons.items()]
        )

    def missing(self, most: int) -> list[tuple[str, str]]:
        """Return what is still to be done, with the reasons."""
        query = """SELECT uri, reason FROM pending UNION SELECT uri, '' FROM membership WHERE sets = 0
            ORDER BY uri LIMIT ?"""
        return self.db.execute(query, (most,)).fetchall()

    def number(self, query: str) -> int:
        """Return the number that a query gives."""
        return int(self.db.execute(query).fetchone()[0])

    def insert(self, done: Sequence[StoredResource]) -> None:
        """Record resources of the copy, which are then no longer to be fetched."""
        self.db.executemany("INSERT OR REPLACE INTO resource VALUES (?, ?, ?, ?, ?, ?, ?, ?)", done)
        self.db.executemany("DELETE FROM pending WHERE uri = ?", [(each.uri,) for each in done])

    def reject(self, stored: StoredResource, reason: str) -> None:
        """Record that a resource did not come into the copy after all."""
        self.db.execute("DELETE FROM resource WHERE uri = ?", (stored.uri,))
        self.db.execute(
            "INSERT OR REPLACE INTO pending (uri, hash, length, time, reason) VALUES (?, ?, ?, ?, ?)",
            (stored.uri, stored.listed, stored.length, stored.time, reason),
        )

    def delete(self, uris: Iterable[str]) -> None:
        """Record that resources are no longer in the copy, nor to be fetched."""
        rows = [(uri,) for uri in uris]
        for table in ("resource", "pending", "membership"):
            self.db.executemany(f"DELETE FROM {table} WHERE uri = ?", rows)  # noqa: S608

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a `with` block or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def _pages(self, query: str) -> Iterator[list[Any]]:
        last = ""
        while rows := self.db.execute(f"{query} LIMIT {_PAGE}", (last,)).fetchall():
            last = rows[-1][0]
            yield rows


@contextmanager
def open_state(
    folder: Path,
    source: str,
    *,
    adopt: bool,
    sync: bool,
    is_same: Callable[[CopyState], bool] = lambda _: False,
) -> Iterator[CopyState]:
    """Open the state of the copy in a folder, or begin one, and lock it.

    `is_same` says whether the copy is one of the Source, where another URL of it was given before. Raises `MirrorError`
    if the folder holds other files, or a copy of another Source, or if another mirror works in it.
    """
    own = folder / STATE_FOLDER
    new = not own.is_dir()
    _check_folder(folder, own, new=new, adopt=adopt)
    with _locked(own) as handle:
        recorded = _record_source(own, without_query(source) if "://" in source else source, adopt=adopt)
        synchronous, suspect = ("FULL" if sync else "OFF"), bool(os.fstat(handle).st_size)
        connection, rebuilt = _connect(own / DATABASE, synchronous, suspect=suspect)
        state = CopyState(folder, connection)
        os.write(handle, b"open\n")  # stays where the run is killed
        usable = True
        try:
            if rebuilt:
                state.rebuilt = True
            if recorded and not is_same(state):
                message = (
                    f"{folder} is a copy of {recorded}, not of {shown(source)}: choose another folder, or add --adopt "
                    "if the Source has moved there"
                )
                raise MirrorError(message)
            yield state
        except sqlite3.DatabaseError as error:
            usable = False
            message = f"the state in {own} cannot be used ({error}): run it again to rebuild it from the copy"
            raise MirrorError(message) from error
        except OSError as error:
            what = error.strerror or type(error).__name__
            message = f"{folder} cannot be read or written ({what}): correct that; the next run goes on from here"
            raise IncompleteError(message) from error
        finally:
            found = not usable or not new or state.get("discovered") is not None
            connection.close()
            if usable:
                os.ftruncate(handle, 0)
            if not found:  # no Source to copy
                shutil.rmtree(own, ignore_errors=True)
                with suppress(OSError):  # other files are in it
                    folder.rmdir()


def _check_folder(folder: Path, own: Path, *, new: bool, adopt: bool) -> None:
    """Raise `MirrorError` if a folder holds files of others, unless they are adopted, or if its state is elsewhere."""
    if new and folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not adopt)):
        message = f"{folder} is not an empty folder: choose a new one, or add --adopt to keep and use what is there"
        raise MirrorError(message)
    if own.is_symlink():
        message = f"{own} is a symbolic link: remove it, or choose another folder"
        raise MirrorError(message)


@contextmanager
def _locked(own: Path) -> Iterator[int]:
    """Lock the folder of the state, which is made if it is not there; yield the open file of the lock."""
    with suppress(OSError):  # it is there, or it cannot be locked, either
        (own / "parts").mkdir(parents=True)
    with locked(own / "lock", f"another mirror is working in {own.parent}: wait until it is done") as handle:
        yield handle


@contextmanager
def locked(file: Path, busy: str) -> Iterator[int]:
    """Lock a file, made if it is not there, and yield it open. Raises `IncompleteError`, `busy`, if it is locked."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        message = f"{file.parent} cannot be written: {error.strerror}"
        raise MirrorError(message) from error
    try:
        try:
            lock_file(handle)
        except OSError as error:
            raise IncompleteError(busy) from error
        if not os.path.samestat(os.fstat(handle), os.stat(file)):  # noqa: PTH116 - its folder was exchanged just now
            raise IncompleteError(busy)
        yield handle
    finally:
        os.close(handle)


def _record_source(own: Path, source: str, *, adopt: bool) -> str:
    """Record the Source of a copy, or adopt one that moved; otherwise return what was recorded, if it is another."""
    file = own / "source"
    recorded = file.read_text("utf-8").strip() if file.is_file() else ""
    if recorded == source:
        return ""
    if recorded and not adopt:
        return recorded
    if recorded:  # its files are compared with the new lists
        for each in own.glob("state.sqlite3*"):
            each.unlink()
    file.write_text(f"{source}\n", "utf-8")
    return ""


def _connect(file: Path, synchronous: str, *, suspect: bool) -> tuple[sqlite3.Connection, bool]:
    """Open the database; one that is damaged is put aside. Return whether the copy is older than the database.

    `suspect`: the last run did not end by itself, so all of the database is checked.
    """
    begun = file.with_name("begun")
    new = not file.exists()
    try:
        connection = _open(file, synchronous, suspect=suspect)
    except sqlite3.DatabaseError:
        for each in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
            if each.exists():
                each.replace(each.with_name(f"{each.name}.damaged"))
        connection, new = _open(file, synchronous, suspect=False), True
    rebuilt = new and begun.exists()
    begun.touch()
    return connection, rebuilt


def _open(file: Path, synchronous: str, *, suspect: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA temp_store = FILE; PRAGMA cache_size = -8000;" + _TABLES
        )
        health = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if suspect else "ok"
        version = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        if health != "ok" or (version and int(version[0]) != _FORMAT):
            raise sqlite3.DatabaseError(health)  # noqa: TRY301 - the connection is closed below
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (str(_FORMAT),))
    except BaseException:
        connection.close()
        raise
    return connection
