"""The state of a copy: an SQLite database in its folder, and the lock that keeps a second mirror out."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican_resourcesync.destination.options import STATE_FOLDER, MirrorError

_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS resource (
    uri TEXT PRIMARY KEY, path TEXT NOT NULL, listed TEXT NOT NULL, digest TEXT NOT NULL, length INTEGER NOT NULL,
    time TEXT NOT NULL, etag TEXT NOT NULL, modified TEXT NOT NULL, sets INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS path ON resource (lower(path));
CREATE INDEX IF NOT EXISTS unlisted ON resource (uri) WHERE sets = 0;
CREATE TABLE IF NOT EXISTS pending (
    uri TEXT PRIMARY KEY, gone INTEGER NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL,
    sets INTEGER NOT NULL, reason TEXT NOT NULL DEFAULT '', digest TEXT NOT NULL DEFAULT '',
    size INTEGER NOT NULL DEFAULT 0, etag TEXT NOT NULL DEFAULT '', modified TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS document (
    uri TEXT PRIMARY KEY, etag TEXT NOT NULL, modified TEXT NOT NULL, body BLOB) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS entry (
    uri TEXT PRIMARY KEY, gone INTEGER NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL,
    wanted INTEGER NOT NULL) WITHOUT ROWID;
"""

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@dataclass(frozen=True, slots=True)
class Held:
    """A resource of the copy, as the state records it."""

    uri: str
    path: str
    listed: str
    digest: str
    length: int
    time: str
    etag: str
    modified: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A resource to fetch, as its list describes it; `digest` and `size` are known once its bytes are verified."""

    uri: str
    hash: str
    length: int | None
    time: str
    sets: int
    digest: str = ""
    size: int = 0
    etag: str = ""
    modified: str = ""


class State:
    """The database of a copy."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.parts = folder / STATE_FOLDER / "parts"
        self.db = connection

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

    def held(self, uri: str) -> Held | None:
        """Return a resource of the copy, or None."""
        row = self.db.execute(
            "SELECT uri, path, listed, digest, length, time, etag, modified FROM resource WHERE uri = ?", (uri,)
        ).fetchone()
        return Held(*row) if row else None

    def path(self, uri: str) -> str | None:
        """Return the path of a resource of the copy, or None."""
        row = self.db.execute("SELECT path FROM resource WHERE uri = ?", (uri,)).fetchone()
        return str(row[0]) if row else None

    def has_path(self, path: str) -> bool:
        """Return whether a resource of the copy has a path, on file systems that ignore case."""
        found = self.db.execute("SELECT 1 FROM resource WHERE lower(path) = lower(?)", (path,)).fetchone()
        return found is not None

    def all_held(self) -> Iterator[Held]:
        """Yield all resources of the copy."""
        for rows in self._pages("SELECT uri, path, listed, digest, length, time, etag, modified FROM resource", "1"):
            yield from (Held(*row) for row in rows)

    def lose(self, uri: str) -> None:
        """Forget a resource of the copy, so that it is fetched again."""
        self.db.execute(
            "UPDATE resource SET listed = '', digest = '', time = '', etag = '', modified = '' WHERE uri = ?", (uri,)
        )

    # What is to be done

    def to_fetch(self) -> Iterator[Pending]:
        """Yield what is to be fetched and was not set aside; more may be added or removed meanwhile."""
        columns = "uri, hash, length, time, sets, digest, size, etag, modified"
        for rows in self._pages(f"SELECT {columns} FROM pending", "gone = 0 AND reason = ''"):  # noqa: S608
            yield from (Pending(*row) for row in rows)

    def to_delete(self) -> list[Held]:
        """Return what is to be deleted."""
        rows = self.db.execute(
            "SELECT r.uri, r.path, r.listed, r.digest, r.length, r.time, r.etag, r.modified "
            "FROM pending p JOIN resource r USING (uri) WHERE p.gone = 1"
        )
        return [Held(*row) for row in rows]

    def set_aside(self, uri: str, reason: str) -> None:
        """Record why a resource cannot be fetched; others go on."""
        self.db.execute("UPDATE pending SET reason = ? WHERE uri = ?", (reason, uri))

    def missing(self, most: int) -> list[tuple[str, str]]:
        """Return what is still to be done, with the reasons."""
        return self.db.execute("SELECT uri, reason FROM pending ORDER BY uri LIMIT ?", (most,)).fetchall()

    def number(self, query: str) -> int:
        """Return the number that a query gives."""
        return int(self.db.execute(query).fetchone()[0])

    def ready(self, done: list[Pending]) -> None:
        """Record verified parts that are about to take their names."""
        self.db.executemany(
            "UPDATE pending SET digest = ?, size = ?, etag = ?, modified = ? WHERE uri = ?",
            [(each.digest, each.size, each.etag, each.modified, each.uri) for each in done],
        )

    def hold(self, done: list[tuple[Pending, str]]) -> None:
        """Record that resources are in the copy, with their paths."""
        self.db.executemany(
            "INSERT OR REPLACE INTO resource VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(e.uri, path, e.hash, e.digest, e.size, e.time, e.etag, e.modified, e.sets) for e, path in done],
        )
        self.db.executemany("DELETE FROM pending WHERE uri = ?", [(each.uri,) for each, _ in done])

    def drop(self, uri: str) -> None:
        """Record that a resource is no longer in the copy."""
        self.db.execute("DELETE FROM resource WHERE uri = ?", (uri,))
        self.db.execute("DELETE FROM pending WHERE uri = ?", (uri,))

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

    def _pages(self, query: str, condition: str) -> Iterator[list[Any]]:
        last = ""
        while True:
            rows = self.db.execute(f"{query} WHERE uri > ? AND {condition} ORDER BY uri LIMIT 500", (last,)).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            yield rows


@contextmanager
def open_state(folder: Path, source: str, *, adopt: bool, sync: bool = True) -> Iterator[State]:
    """Open the state of the copy in a folder, or begin one, and lock it.

    Raises `MirrorError` if the folder holds other files, or a copy of another Source, or if another mirror works in it.
    """
    own = folder / STATE_FOLDER
    new = not own.is_dir()
    if new and folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not adopt)):
        message = f"{folder} is not an empty folder: name a new one, or add --adopt to keep and use what is there"
        raise MirrorError(message)
    if own.is_symlink():
        message = f"{own} is a symbolic link: remove it, or name another folder"
        raise MirrorError(message)
    try:
        (own / "parts").mkdir(parents=True, exist_ok=True)
        handle = os.open(own / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        message = f"{own} cannot be written: {error.strerror}"
        raise MirrorError(message) from error
    try:
        try:
            _lock(handle)
        except OSError as error:
            message = f"another mirror is working in {folder}: wait until it is done"
            raise MirrorError(message) from error
        _check_source(own, source, adopt=adopt)
        connection, rebuilt = _connect(
            own / "state.sqlite3", "FULL" if sync else "OFF", suspect=bool(os.fstat(handle).st_size)
        )
        os.write(handle, b"open\n")  # stays where the run is killed
        try:
            state = State(folder, connection)
            if rebuilt:
                state.rebuilt = True
            yield state
            os.ftruncate(handle, 0)
        except sqlite3.DatabaseError as error:
            message = f"the state in {own} cannot be used ({error}): run it again, and it is checked and made anew"
            raise MirrorError(message) from error
        except BaseException:
            os.ftruncate(handle, 0)
            raise
        finally:
            begun = not new or connection.execute("SELECT 1 FROM meta WHERE key = 'discovered'").fetchone()
            connection.close()
            if not begun:  # nothing was found to copy
                _remove(folder)
    finally:
        os.close(handle)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder / STATE_FOLDER, ignore_errors=True)
    with suppress(OSError):  # other files are in it
        folder.rmdir()


def _check_source(own: Path, source: str, *, adopt: bool) -> None:
    """Record the Source of a copy; one that moved is adopted, and raises `MirrorError` otherwise."""
    file = own / "source"
    recorded = file.read_text("utf-8").strip() if file.is_file() else ""
    if recorded == source:
        return
    if recorded and not adopt:
        message = (
            f"{own.parent} is a copy of {recorded}, not of {source}: name another folder, or add --adopt if the Source "
            "has moved there"
        )
        raise MirrorError(message)
    if recorded:  # its files are compared with the new lists
        for each in own.glob("state.sqlite3*"):
            each.unlink()
    file.write_text(f"{source}\n", "utf-8")


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
            raise sqlite3.DatabaseError(health)  # noqa: TRY301
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (str(_FORMAT),))
    except BaseException:
        connection.close()
        raise
    return connection
