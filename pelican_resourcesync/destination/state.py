"""The state of a copy: an SQLite database in its folder, and the lock that keeps a second mirror out."""

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pelican_resourcesync.errors import IncompleteError, MirrorError, describe, remedy
from pelican_resourcesync.http import shown, without_query
from pelican_resourcesync.source import PRIVATE, REBUILT, VERIFIED, ListedResource
from pelican_resourcesync.system.dcz import LARGEST
from pelican_resourcesync.system.files import replace_file
from pelican_resourcesync.system.files import sync as flush
from pelican_resourcesync.system.lock import lock_file
from pelican_resourcesync.system.printable import get_logger
from pelican_resourcesync.system.strict_json import parse_json

_FORMAT = 3
#: The folder in the copy that has the state.
STATE_FOLDER = ".mirror"
_logger = get_logger("pelican_resourcesync")
#: What security rests on, in a file of its own: a database may be damaged, and is made anew.
TRUSTED = "trusted.json"
_SOURCE = "source"
_NOTHING: dict[str, Any] = {_SOURCE: "", VERIFIED: None, PRIVATE: None, REBUILT: False}
#: The file of the database, in the folder of the state.
DATABASE = "state.sqlite3"
#: The end of what has not ended; it sorts after every time.
NEVER = "~"
_PAGE = 500  # rows that are read at once
_PATIENCE = 5.0  # seconds to wait for another program that uses the database
_COLUMNS = "r.uri, r.path, r.listed, r.digest, r.length, r.time, r.etag"
#: `membership` alone says which sets list a resource, of the copy or pending: a bit for each. What no set lists is
#: to be deleted.
_META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_TABLES = """
CREATE TABLE IF NOT EXISTS resource (
    uri TEXT PRIMARY KEY, path TEXT NOT NULL, listed TEXT NOT NULL, digest TEXT NOT NULL, length INTEGER NOT NULL,
    time TEXT NOT NULL, etag TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS path ON resource (lower(path));
CREATE TABLE IF NOT EXISTS pending (
    uri TEXT PRIMARY KEY, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL,
    mirrors TEXT NOT NULL DEFAULT '[]', reason TEXT NOT NULL DEFAULT '',
    patches TEXT, patched INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS membership (uri TEXT PRIMARY KEY, sets INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unlisted ON membership (uri) WHERE sets = 0;
CREATE TABLE IF NOT EXISTS document (
    uri TEXT PRIMARY KEY, etag TEXT NOT NULL, body BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS description (
    uri TEXT PRIMARY KEY, type TEXT NOT NULL, links TEXT NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS entry (
    uri TEXT PRIMARY KEY, gone INTEGER NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL,
    wanted INTEGER NOT NULL, mirrors TEXT NOT NULL, type TEXT NOT NULL, links TEXT NOT NULL,
    patches TEXT, patched INTEGER) WITHOUT ROWID;
"""


class StateError(MirrorError, IncompleteError):
    """Raised when the state of a copy cannot be used now; the next run may go on."""


class StoredResource(NamedTuple):
    """A resource of the copy, as the state records it; `listed` is the hash that its list gives."""

    uri: str
    path: str
    listed: str
    digest: str
    length: int
    time: str
    etag: str


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

    @classmethod
    def parse(cls, row: Sequence[Any]) -> "Pending":
        """Return what a row of the database says."""
        resource, stored = row[:6], row[6:]
        return cls._make((*resource, StoredResource(*stored) if any(stored) else None))


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

    def __init__(
        self, folder: Path, connection: sqlite3.Connection, trusted: dict[str, Any], *, sync: bool = False
    ) -> None:
        self.folder = folder
        self.trusted, self._saved, self.sync = trusted, trusted, sync
        self.parts = folder / STATE_FOLDER / "parts"
        self.db = connection
        #: The files of the copy, if they are elsewhere than in the folder: see `cloud`.
        self.remote: Any = None
        #: By key, if each version of the past is to be a resource of its own: what was planned.
        self.versions: dict[str, PastVersion] | None = None

    # What is remembered of the Source

    def get(self, key: str) -> Any:
        """Return a remembered value, or None."""
        if key in _NOTHING:
            return self.trusted.get(key)
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def set(self, key: str, value: Any) -> None:
        """Remember a value that JSON can hold."""
        if key in _NOTHING:
            self.trusted = {**self.trusted, key: value}
            if not self.db.in_transaction:
                self._save()
            return
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def document(self, uri: str) -> tuple[str, bytes | None] | None:
        """Return the `ETag` of a document and, if it was small, its bytes."""
        query = "SELECT etag, body FROM document WHERE uri = ?"
        row: tuple[str, bytes | None] | None = self.db.execute(query, (uri,)).fetchone()
        return row

    def set_document(self, uri: str, etag: str, body: bytes | None) -> None:
        """Remember the `ETag` of a document, and its bytes if they are given."""
        self.db.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", (uri, etag, body))

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
        return any(self.db.execute(query, (uri,)).fetchone() for query in queries)

    def has_path(self, path: str) -> bool:
        """Return whether a resource of the copy has a path, in upper or lower case."""
        return self.db.execute("SELECT 1 FROM resource WHERE lower(path) = lower(?)", (path,)).fetchone() is not None

    def all_stored(self) -> Iterator[list[StoredResource]]:
        """Yield all resources of the copy, page by page."""
        for rows in self._pages(f"SELECT {_COLUMNS} FROM resource r WHERE r.uri > ? ORDER BY r.uri"):  # noqa: S608
            yield [StoredResource(*row) for row in rows]

    def invalidate(self, uris: Iterable[str]) -> None:
        """Forget what resources of the copy are, so that they are fetched again."""
        rows = [(uri,) for uri in uris]
        self.db.executemany("UPDATE resource SET listed = '', digest = '', time = '', etag = '' WHERE uri = ?", rows)

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
            yield [Pending.parse(row) for row in rows]

    def pending(self, uris: Collection[str], *, only_postponed: bool = False) -> list[tuple[str, Pending]]:
        """Return which of some resources, of a page at most, are to be fetched, postponed or not, or their versions."""
        query = f"""WITH listed (uri) AS (VALUES {", ".join(["(?)"] * len(uris))})
            SELECT listed.uri, p.uri, p.hash, p.length, p.time, p.mirrors, p.patches, {_COLUMNS} FROM listed
            JOIN pending p ON p.uri >= listed.uri AND p.uri < listed.uri || '$'
            LEFT JOIN resource r ON r.uri = p.uri
            WHERE p.reason >= ? AND substr(p.uri, length(listed.uri) + 1, 1) IN ('', '#')"""  # noqa: S608
        rows = self.db.execute(query, (*uris, " " if only_postponed else ""))
        return [(uri, Pending.parse(row)) for uri, *row in rows]

    def to_delete(self) -> list[StoredResource]:
        """Return what is to be deleted."""
        query = f"SELECT {_COLUMNS} FROM membership JOIN resource r USING (uri) WHERE sets = 0 ORDER BY uri"  # noqa: S608
        return [StoredResource(*row) for row in self.db.execute(query)]

    def postpone(self, reasons: Mapping[str, str]) -> None:
        """Record why resources cannot be fetched; others go on."""
        rows = [(reason, uri) for uri, reason in reasons.items()]
        self.db.executemany("UPDATE pending SET reason = ? WHERE uri = ?", rows)

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
        self.db.executemany("INSERT OR REPLACE INTO resource VALUES (?, ?, ?, ?, ?, ?, ?)", done)
        self.db.executemany("DELETE FROM pending WHERE uri = ?", [(resource.uri,) for resource in done])

    def reject(self, stored: StoredResource, reason: str, *, ours: bool = False) -> None:
        """Record that a resource did not come into the copy after all; `ours`: the mirror wrote what has its path."""
        if ours:
            self.invalidate([stored.uri])
        else:
            self.db.execute("DELETE FROM resource WHERE uri = ?", (stored.uri,))
        row = (stored.uri, stored.listed, stored.length, stored.time, reason)
        self.db.execute("INSERT OR REPLACE INTO pending (uri, hash, length, time, reason) VALUES (?, ?, ?, ?, ?)", row)

    def delete(self, uris: Iterable[str]) -> None:
        """Record that resources are no longer in the copy, nor to be fetched."""
        rows = [(uri,) for uri in uris]
        for table in ("resource", "pending", "membership"):
            self.db.executemany(f"DELETE FROM {table} WHERE uri = ?", rows)  # noqa: S608

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a `with` block in a transaction: all of it is recorded, or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            if self.db.in_transaction:
                self._save()  # first: an older state of a signed Source is refused, also if this is killed now
                self.db.execute("COMMIT")
        finally:
            self.roll_back()

    def roll_back(self) -> None:
        """Undo what a transaction has done so far."""
        self.trusted = self._saved
        if self.db.in_transaction:  # a full disk may have ended it
            self.db.execute("ROLLBACK")

    def _save(self) -> None:
        if self.trusted != self._saved:
            save_trusted(self.folder, self.trusted, sync=self.sync)
            if self.remote:
                self.remote.trust(self.trusted)
            self._saved = self.trusted

    def _pages(self, query: str) -> Iterator[list[Any]]:
        last = ""
        while rows := self.db.execute(f"{query} LIMIT {_PAGE}", (last,)).fetchall():
            last = rows[-1][0]
            yield rows


#: Returns whether a copy is of the Source, although another URL of the Source was given before.
_IsSame = Callable[[CopyState], bool]


@contextmanager
def open_state(
    folder: Path, source: str, *, adopt: bool = False, sync: bool = False, is_same: _IsSame = lambda _: False
) -> Iterator[CopyState]:
    """Open the state of the copy in a folder, or begin one, and lock it.

    Raises `MirrorError` if the folder has other files or a copy of another Source, or if another mirror works in it.
    """
    own, where = folder / STATE_FOLDER, without_query(source) if "://" in source else source
    with disk_errors(folder):
        new = not own.is_dir()
        _check_folder(folder, own, new=new, adopt=adopt)
        with writing_to(own):
            (own / "parts").mkdir(parents=True, exist_ok=True)
        with locked(own / "lock", f"another mirror is working in {folder}: wait until it is done") as handle:
            if new and sync:
                flush([folder])  # files without this folder would look like files of others after a power failure
            suspect, begun = bool(os.fstat(handle).st_size), True
            intact = not suspect
            try:
                os.write(handle, b"open\n")  # stays where the run is killed
                state = _open_copy(folder, where, adopt=adopt, sync=sync, suspect=suspect, new=new)
                intact = True
                with closing(state.db):
                    recorded = state.get(_SOURCE)
                    try:
                        if recorded != where and not is_same(state):
                            message = (
                                f"{folder} is a copy of {recorded}, not of {shown(source)}: choose another folder, or "
                                "add --adopt if the Source has moved there"
                            )
                            raise MirrorError(message)
                        yield state
                    finally:
                        begun = not new or state.get("discovered") is not None
            except sqlite3.DatabaseError as error:
                intact = intact and not _is_damage(error)
                raise
            finally:
                if intact:
                    os.ftruncate(handle, 0)
                if not begun:  # no Source to copy
                    shutil.rmtree(own, ignore_errors=True)
                    with suppress(OSError):  # other files are in it
                        folder.rmdir()


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Raise `IncompleteError` for an error of the disk or the database of a copy: the next run may go on."""
    again = "; the next run continues from here"
    try:
        yield
    except sqlite3.DatabaseError as error:
        what = f"the database in {folder / STATE_FOLDER}"
        if _is_damage(error):
            message = f"{what} is damaged ({error}): run it again to rebuild it from the files of the copy"
            raise StateError(message) from error
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        advice = remedy(OSError(errno.ENOSPC, "")) if full else "close other programs that use it, and make it writable"
        message = f"{what} cannot be read or written ({error}): {advice}{again}"
        raise IncompleteError(message) from error
    except OSError as error:
        raise IncompleteError(describe(f"{folder} cannot be read or written", error, then=again)) from error


def _is_damage(error: sqlite3.Error) -> bool:
    """Return whether a database is damaged, rather than locked or on a disk that is full or fails."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _check_folder(folder: Path, own: Path, *, new: bool, adopt: bool) -> None:
    """Raise `MirrorError` if a folder holds files of others, unless they are adopted, or if its state is elsewhere."""
    if folder.exists() and not folder.is_dir():
        message = f"{folder} is not a folder: choose another name for the copy"
        raise MirrorError(message)
    if new and folder.exists() and any(folder.iterdir()) and not adopt:
        message = f"{folder} is not empty: choose a new folder, or add --adopt to keep and use its files"
        raise MirrorError(message)
    if own.is_symlink():
        message = f"{own} is a symbolic link: remove it, or choose another folder"
        raise MirrorError(message)


@contextmanager
def locked(file: Path, busy: str) -> Iterator[int]:
    """Lock a file, made if it is not there, and yield it open. Raises `IncompleteError`, `busy`, if it is locked."""
    with writing_to(file.parent):
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            lock_file(handle)
        except BlockingIOError as error:
            raise IncompleteError(busy) from error
        if not os.path.samestat(os.fstat(handle), os.stat(file)):  # noqa: PTH116 - its folder was exchanged just now
            raise IncompleteError(busy)
        yield handle
    finally:
        os.close(handle)


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Raise `MirrorError` for a place that cannot be written; on a disk that is full or fails, it may pass."""
    try:
        yield
    except OSError as error:
        kind = StateError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO) else MirrorError
        raise kind(describe(f"{place} cannot be written", error)) from error


def save_trusted(folder: Path, trusted: Mapping[str, Any], *, sync: bool) -> None:
    """Write what is trusted of a Source into the folder of a copy, at once."""
    replace_file(folder / STATE_FOLDER / TRUSTED, json.dumps(trusted).encode(), flush=sync)


def check_trusted(value: Any) -> dict[str, Any]:
    """Return what is trusted of a Source. Raises `TypeError` and others if it has another form: see `parse_json`."""
    verified = value[VERIFIED] or {"keys": [], "states": {}}
    shape = (value[_SOURCE], value[PRIVATE], value[REBUILT], verified["keys"], verified["states"])
    if not all(map(isinstance, shape, (str, bool | None, bool, list, dict))):
        raise TypeError(shape)
    return dict(value)


def _open_copy(  # noqa: PLR0913 - keyword-only
    folder: Path, source: str, *, adopt: bool, sync: bool, suspect: bool, new: bool
) -> CopyState:
    """Open the state of a copy, or begin one; a database that is damaged is put aside and made anew."""
    own = folder / STATE_FOLDER
    file = own / TRUSTED
    trusted = None if file.exists() else _NOTHING  # unless it can be read
    with suppress(FileNotFoundError, ValueError):
        trusted = parse_json(file.read_bytes(), check_trusted)
    connection, lost, begun = None, True, True
    try:
        connection, lost, begun = _connect(own, sync=sync, suspect=suspect)
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise
    try:
        begun = begun or trusted != _NOTHING or not (new or {*folder.iterdir()} <= {own})  # a copy is there
        if begun and trusted in (None, _NOTHING) and not adopt:
            message = (
                f"{file} is missing or damaged, so it is not known which Source and keys the copy trusts: run "
                "`pelican-resourcesync mirror` with --adopt, and with --key KEY if the Source is signed"
            )
            raise MirrorError(message)  # noqa: TRY301 - the connection is closed below
        trusted = trusted or _NOTHING
        moved = adopt and begun and trusted[_SOURCE] != source  # its files are compared with the new lists
        known = {**trusted, REBUILT: begun and (lost or moved or trusted[REBUILT])}
        if moved or not begun:
            verified = trusted[VERIFIED] and {**trusted[VERIFIED], "states": {}}
            known |= {_SOURCE: source, VERIFIED: verified, PRIVATE: None}
        if known != trusted:  # first: a rebuild that is not finished is one in the next run
            save_trusted(folder, known, sync=sync)
        if connection is None or moved:
            if connection:
                connection.close()
            _put_aside(own)
            connection, *_ = _connect(own, sync=sync, suspect=False)
        return CopyState(folder, connection, known, sync=sync)
    except BaseException:
        if connection:
            connection.close()
        raise


def _put_aside(own: Path) -> None:
    """Move the files of a database into a folder of their own, the database last."""
    if files := sorted(own.glob(f"{DATABASE}*"), reverse=True):
        number = 1
        while (aside := own / f"damaged-{number}").exists():
            number += 1
        aside.mkdir()
        for file in files:
            file.replace(aside / file.name)


def _connect(own: Path, *, sync: bool, suspect: bool) -> tuple[sqlite3.Connection, bool, bool]:
    """Open the database; return also whether it is new, and whether a copy was begun with it."""
    file = own / DATABASE
    if not file.exists():
        _put_aside(own)  # what was written ahead for another database
    connection = sqlite3.connect(file, isolation_level=None, timeout=_PATIENCE)
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'OFF'}")
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA temp_store = FILE; PRAGMA cache_size = -8000")
        if suspect and (health := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            error = sqlite3.DatabaseError(health)
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error  # noqa: TRY301 - the connection is closed below
        connection.execute(_META)
        version = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        if version and version[0] != str(_FORMAT):
            message = (
                f"{file} has the format {version[0]}, and this version of the program needs {_FORMAT}: remove {own}, "
                "and run `pelican-resourcesync mirror` with --adopt, and with --key KEY if the Source is signed"
            )
            raise MirrorError(message)  # noqa: TRY301 - likewise
        connection.executescript(_TABLES)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (str(_FORMAT),))
        begun = connection.execute("SELECT 1 FROM meta WHERE key = 'discovered'").fetchone() is not None
    except BaseException:
        connection.close()
        raise
    return connection, version is None, begun


def log_change(kind: str, uri: str) -> None:
    """Log what was done with a resource. `kind` and `uri` are attributes of the record, too."""
    _logger.info("%s %s", kind, uri, extra={"kind": kind, "uri": uri})
