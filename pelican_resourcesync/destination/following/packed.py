"""The packages of Resource Dumps, for a follower that begins: many resources from one request."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from pelican_resourcesync.destination.copy import MismatchedError, State, strongest
from pelican_resourcesync.destination.options import MirrorError, Options
from pelican_resourcesync.destination.packages import Packages
from pelican_resourcesync.destination.source import (
    COST_OF_REQUEST,
    Dumps,
    Package,
    ResourceSet,
    Source,
    text_of,
    uri_of,
)
from pelican_resourcesync.errors import DocumentError, TransportError
from pelican_resourcesync.protocol import Metadata
from pelican_resourcesync.transport import DamagedZipError, ZipReader, shown

if TYPE_CHECKING:
    from pelican_resourcesync.destination.following.following import Content

_NONE = Metadata()
_BLOCK = 131_072
_SMALL = 100_000  # bytes of a member that is unpacked at once
_MOST = 2_000_000_000  # bytes of packages that are kept until the follower has what they hold
_WRITTEN = 1_000
_FAILURES = (TransportError, DocumentError, DamagedZipError, MirrorError)
_TABLE = """CREATE TEMP TABLE IF NOT EXISTS member (
    uri TEXT PRIMARY KEY, archive INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, time TEXT NOT NULL)
    WITHOUT ROWID"""


class Packed:
    """Packages that are open until the end of a `with` block."""

    def __init__(self, state: State, source: Source, options: Options, note: Callable[[str], None]) -> None:
        self._state, self._source, self._options, self._note = state, source, options, note
        self._packages = Packages(state, source, options, note)
        self._open: list[tuple[Package, ZipReader]] = []
        self._stack = ExitStack()

    def open(self, sets: list[ResourceSet], count: int, size: int) -> None:
        """Open the packages of the Resource Dumps, if they take less than so many requests and bytes."""
        options = self._options
        if options.by == "lists":
            return
        try:
            found = [each for part in sets for each in Dumps(self._source, options, part).of_resources() if each.uri]
        except _FAILURES as error:
            self._note(f"the Resource Dumps cannot be used: {error}")
            return
        packed = sum(each.length or 0 for each in found)
        cheap = packed + len(found) * COST_OF_REQUEST < size + count * COST_OF_REQUEST
        cheap = cheap and all(each.length is not None for each in found)
        if packed < _MOST and (cheap or options.by == "dumps"):
            self._state.db.execute(_TABLE)
            for each in found:
                try:
                    self._add(each)
                except _FAILURES as error:
                    self._note(f"the package {shown(each.uri)} cannot be used: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fill(self, contents: "Mapping[str, Content]") -> None:
        """Fill contents with what the packages have of them; each is then verified and `complete`."""
        if not self._open:
            return
        marks = ", ".join("?" * len(contents))
        query = f"SELECT uri, archive, name, hash, time FROM member WHERE uri IN ({marks})"  # noqa: S608
        for uri, number, name, digest, time in self._state.db.execute(query, [*contents]).fetchall():
            row = contents[uri].row
            same = digest.partition(":")[0] == row.hash.partition(":")[0]
            if (row.hash == digest or not same) if row.hash else (time and time == row.time):
                self._unpack(number, name, digest, contents[uri])

    def _add(self, package: Package) -> None:
        archive, entries = self._stack.enter_context(self._packages.opened(package))
        rows: list[tuple[str, int, str, str, str]] = []
        number = len(self._open)
        for entry in entries:
            md = entry.md or _NONE
            name = (md.path or "").removeprefix("/")
            if name in archive and not name.endswith("/") and not md.encoding:
                time = text_of(md.datetime or entry.lastmod)
                rows.append((uri_of(entry, package.uri), number, name, strongest(md.hash), time))
                if len(rows) == _WRITTEN:
                    self._write(rows)
        self._write(rows)
        self._open.append((package, archive))

    def _write(self, rows: list[tuple[str, int, str, str, str]]) -> None:
        with self._state.transaction():
            self._state.db.executemany("INSERT OR REPLACE INTO member VALUES (?, ?, ?, ?, ?)", rows)
        rows.clear()

    def _unpack(self, number: int, name: str, digest: str, content: "Content") -> None:
        package, archive = self._open[number]
        content.start(content.row.hash or digest)
        try:
            data = archive.read(name, _SMALL)
            if data is not None:
                content.write(data)
            else:
                with archive.open(name) as member:
                    while data := member.read(_BLOCK):
                        content.write(data)
            content.verify()
        except MismatchedError:
            return  # the package may be right, and of another state
        except DamagedZipError as error:
            self._note(f"the package {shown(package.uri)} is damaged, so the rest of it is fetched singly: {error}")
            self._state.db.execute("DELETE FROM member WHERE archive = ?", (number,))
            return
        content.complete = True
