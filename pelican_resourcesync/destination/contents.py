"""What a follower had of the content of each resource, in a file of its user."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from pelican_resourcesync.errors import MirrorError

_TABLES = """PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS file (token TEXT NOT NULL, number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS content (uri TEXT PRIMARY KEY, listed TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS before (number INTEGER PRIMARY KEY, uri TEXT NOT NULL, listed TEXT, hash TEXT);
CREATE TEMP TABLE present (uri TEXT PRIMARY KEY) WITHOUT ROWID"""


class Contents:
    """The file: of each resource, how it was `listed`, and the hash of its content.

    Each change of it has a number, and a cursor has the last one that it covers. A run that begins with a cursor undoes
    what came after it, because that may not have been handled.
    """

    def __init__(self, file: Path, mark: tuple[str, int] | None) -> None:
        """Open it as it was at the `mark` of a cursor; it is empty where that is not possible."""
        self._file = file
        with self._errors():
            self._db = sqlite3.connect(file, timeout=1, isolation_level=None)
            try:
                self._db.executescript(_TABLES)
                self._return_to(mark)
            except BaseException:
                self._db.close()
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"{self._file} cannot be used ({error}): wait until no other run uses it, or choose a new file"
            raise MirrorError(message) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _return_to(self, mark: tuple[str, int] | None) -> None:
        [*known] = self._db.execute("SELECT token, number FROM file")
        [oldest] = self._db.execute("SELECT min(number) FROM before").fetchone()
        if mark and known and mark[0] == known[0][0] and (oldest or known[0][1] + 1) - 1 <= mark[1] <= known[0][1]:
            self.mark = mark
            with self._db:
                self._db.execute("BEGIN")
                later = "SELECT uri, listed, hash FROM before WHERE number > ? ORDER BY number DESC"
                for row in self._db.execute(later, mark[1:]).fetchall():
                    self._put(*row)
                self._db.execute("DELETE FROM before")
                self._db.execute("UPDATE file SET number = ?", mark[1:])
        else:
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.mark = (token_hex(8), 0)
        with self._db:
            self._db.executescript("BEGIN; DELETE FROM content; DELETE FROM before; DELETE FROM file")
            self._db.execute("INSERT INTO file VALUES (?, ?)", self.mark)

    def get(self, uri: str) -> tuple[str, str]:
        """Return how a resource was listed, and the hash of its content; empty if it is new."""
        with self._errors():
            row = self._db.execute("SELECT listed, hash FROM content WHERE uri = ?", (uri,)).fetchone()
        return row or ("", "")

    def put(self, uri: str, listed: str | None, hash: str | None) -> None:
        """Record how a resource is now, or nothing of one that is deleted."""
        with self._errors(), self._db:
            self._db.execute("BEGIN")
            self.mark = (self.mark[0], self.mark[1] + 1)
            before = [part or None for part in self.get(uri)]
            self._db.execute("INSERT INTO before VALUES (?, ?, ?, ?)", (self.mark[1], uri, *before))
            self._db.execute("UPDATE file SET number = ?", self.mark[1:])
            self._put(uri, listed, hash)

    def _put(self, uri: str, listed: str | None, hash: str | None) -> None:
        if hash is None:
            self._db.execute("DELETE FROM content WHERE uri = ?", (uri,))
        else:
            self._db.execute("INSERT OR REPLACE INTO content VALUES (?, ?, ?)", (uri, listed, hash))

    def is_present(self, uri: str) -> None:
        """Note that a resource is still there."""
        with self._errors():
            self._db.execute("INSERT OR IGNORE INTO present VALUES (?)", (uri,))

    def absent(self) -> Iterator[str]:
        """Yield the resources that are no longer there, and forget which are."""
        with self._errors():
            yield from (uri for [uri] in self._db.execute("SELECT uri FROM content EXCEPT SELECT uri FROM present"))
            self._db.execute("DELETE FROM present")
