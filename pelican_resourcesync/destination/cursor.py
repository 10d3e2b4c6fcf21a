"""What a follower keeps from one call to the next: its cursor, as text, and the contents of pages, in a file."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from pelican_resourcesync.errors import MirrorError
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.source import ListedResource, Position
from pelican_resourcesync.system.strict_json import parse_json

_VERSION = 1
_POSITION = (str, int, str, str, str, str, str, str)
_TABLES = """PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS file (token TEXT NOT NULL, number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS content (uri TEXT PRIMARY KEY, listed TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS before (number INTEGER PRIMARY KEY, uri TEXT NOT NULL, listed TEXT, hash TEXT);
CREATE TEMP TABLE present (uri TEXT PRIMARY KEY) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far each set was followed, by the URI of its document, with the selection that was followed.

    `read` is how far the lists were read, until all of that was yielded: it must still be listed then, because of
    several changes of a resource, only the last was to be yielded.

    `after`: the last resource of the Resource Lists that was yielded, in order of URIs; None if all were. `postponed`
    are resources that could not be fetched yet. `verified` is which keys and states of a signed Source are known, and
    `private` whether it was at a private address from the first. `contents` is the mark of the file with the contents.
    `count` is about how many resources the follower has.
    """

    selection: str
    sets: Mapping[str, Position]
    after: str | None = None
    read: Mapping[str, Position] = field(default_factory=dict)
    postponed: Mapping[str, ListedResource] = field(default_factory=dict)
    verified: Mapping[str, Any] | None = None
    private: bool | None = None
    contents: tuple[str, int] | None = None
    count: int = 0

    def postponing(self, uri: str, resource: ListedResource | None) -> "Cursor":
        """Return the cursor with a resource that is postponed, or with one that is no longer."""
        if resource is None and uri not in self.postponed:
            return self
        others = {key: other for key, other in self.postponed.items() if key != uri}
        return replace(self, postponed=others if resource is None else {**others, uri: resource})

    def encode(self) -> str:
        """Return the cursor as text."""
        optional = {
            "after": self.after,
            "read": self.read or None,
            "postponed": [row_of(resource) for resource in self.postponed.values()] or None,
            "verified": self.verified or None,
            "private": self.private,
            "contents": self.contents,
            "count": self.count or None,
        }
        whole = {"version": _VERSION, "selection": self.selection, "sets": self.sets}
        whole |= {key: value for key, value in optional.items() if value is not None}
        return json.dumps(whole, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """Return the cursor that a text stands for. Raises `MirrorError` if it is none."""
        try:
            return parse_json(text, cls._parsed)
        except ValueError as error:
            message = "the cursor is not valid: use one from an earlier run, or start with no cursor and no data"
            raise MirrorError(message) from error

    @classmethod
    def _parsed(cls, whole: dict[str, Any]) -> "Cursor":
        if whole["version"] != _VERSION:
            raise ValueError
        sets, read = (
            {uri: Position(*_typed(position, *_POSITION)) for uri, position in positions.items()}
            for positions in (whole["sets"], whole.get("read", {}))
        )
        postponed = {row[0]: parse_row(row) for row in whole.get("postponed", [])}
        optional = [whole.get("after"), whole.get("verified"), whole.get("private"), whole.get("count", 0)]
        after, verified, private, count = _typed(optional, str | None, dict | None, bool | None, int)
        contents = tuple(_typed(whole["contents"], str, int)) if "contents" in whole else None
        if verified is not None:
            _typed(verified["keys"], *(str for _ in verified["keys"]))
            [_typed(verified_state, int, int, str) for verified_state in verified["states"].values()]
        [selection] = _typed([whole["selection"]], str)
        return cls(selection, sets, after, read, postponed, verified, private, contents, count)


def row_of(resource: ListedResource) -> tuple[str, str, str, int | None, str, str, str]:
    """Return a resource as the cursor and the table of changes have it, with its links as JSON."""
    links = json.dumps([(link.rel, link.href, link.type or "", link.pri) for link in resource.links])
    return resource.uri, resource.change, resource.hash, resource.length, resource.time, resource.type, links


def parse_row(row: list[Any]) -> ListedResource:
    """Return the resource of a row. Raises `TypeError` or `ValueError` if it is not one."""
    uri, change, hash_, length, time, type_, links = _typed(row, str, str, str, int | None, str, str, str)
    parse_time(time)
    return ListedResource(uri, change, time, hash_, length, type_, parse_json(links, _links), "")


def parse_time(text: str) -> datetime | None:
    """Return the time of a resource, if it is known."""
    return datetime.fromisoformat(text) if text else None


def _links(rows: list[list[Any]]) -> tuple[Link, ...]:
    typed = (_typed(row, str, str, str, int | None) for row in rows)
    return tuple(Link(rel=rel, href=href, type=type_ or None, pri=pri) for rel, href, type_, pri in typed)


def _typed(values: list[Any], *types: Any) -> list[Any]:
    """Return values that have these types. Raises `TypeError`."""
    if not all(isinstance(value, kind) for value, kind in zip(values, types, strict=True)):
        raise TypeError
    return values


class Contents:
    """The file: of each resource, how it was `listed`, and the hash of its content.

    Each change of it has a number, and a cursor has the last one that it covers. A run that begins with a cursor undoes
    what came after it, because that may not have been handled.
    """

    def __init__(self, file: Path, mark: tuple[str, int] | None) -> None:
        """Open it as it was at the `mark` of a cursor; it is empty where that is not possible."""
        self.file = file
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
            message = f"{self.file} cannot be used ({error}): wait until no other run is using it, or choose a new file"
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
        """Record that a resource is still listed."""
        with self._errors():
            self._db.execute("INSERT OR IGNORE INTO present VALUES (?)", (uri,))

    def absent(self) -> Iterator[str]:
        """Yield the resources that are no longer there, and forget which are."""
        with self._errors():
            yield from (uri for [uri] in self._db.execute("SELECT uri FROM content EXCEPT SELECT uri FROM present"))
            self._db.execute("DELETE FROM present")
