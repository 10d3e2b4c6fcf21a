"""Follow a Source from a program, without a copy: its changes, verified, in order, at least once."""

import datetime as dt
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Self

from pelican_resourcesync.destination.batch import Batch
from pelican_resourcesync.destination.cursor import Cursor, Row
from pelican_resourcesync.destination.options import IncompleteError, MirrorOptions
from pelican_resourcesync.destination.plan import Progress
from pelican_resourcesync.destination.routes import COST_OF_REQUEST
from pelican_resourcesync.destination.state import CopyState, open_state
from pelican_resourcesync.errors import AbsentError, DocumentError, TransportError
from pelican_resourcesync.http import DamagedZipError, Request, shown
from pelican_resourcesync.protocol import ChangeKind, Link
from pelican_resourcesync.source import (
    Dumps,
    ListedResource,
    MismatchedError,
    OpenPackage,
    Package,
    Packages,
    Received,
    ResourceSet,
    ResourceSink,
    Source,
    SourceError,
    may_contain,
    part_name,
)

_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile
_MOST_POSTPONED = 1_000  # resources that a cursor names
_NAMED = 5  # resources in a message
_MOST_PACKED = 2_000_000_000  # bytes of packages that are stored until the follower has their resources
_FAILURES = (TransportError, DocumentError, DamagedZipError, SourceError)
_MEMBERS = """CREATE TEMP TABLE IF NOT EXISTS member (uri TEXT PRIMARY KEY, package INTEGER NOT NULL,
    path TEXT NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL) WITHOUT ROWID"""
RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedChange:
    """What happened to a resource.

    `kind` is `created`, `updated`, `deleted`, or `reset`: what was known before is void, and all resources follow as
    `created`. `time` (UTC) is that of the change, or the last one that a Resource List gives. `hash` is written
    `algorithm:hexadecimal`: the strongest that is listed, else the SHA-256 of what came. `length` is in bytes.

    `content` has the bytes from their beginning, verified; it is closed when the next change is asked for. It is None
    for `deleted` and `reset`.
    """

    uri: str
    kind: str
    time: dt.datetime | None = None
    hash: str = ""
    length: int | None = None
    type: str = ""
    links: tuple[Link, ...] = ()
    content: BinaryIO | None = None
    done: Cursor = field(repr=False)

    @property
    def cursor(self) -> str:
        """What to store when this change was handled, to go on after it."""
        return self.done.encode()


class Following(Iterator[FollowedChange]):
    """The changes of a Source. What it has opened is closed at their end, or when nothing refers to it any more."""

    def __init__(self, follower: "_Follower") -> None:
        self._follower = follower
        self._changes = follower.follow()  # which does not refer to this object

    def __next__(self) -> FollowedChange:
        """Return the next change. Raises `IncompleteError` at the end if some resources cannot be fetched now."""
        return next(self._changes)

    @property
    def cursor(self) -> str:
        """What to store when all changes before the current one were handled; empty if there is nothing to go on from.

        At the end it covers everything, also what is not selected and was not yielded.
        """
        return self._follower.cursor.encode() if self._follower.cursor else ""

    @property
    def notes(self) -> list[str]:
        """Remarks for people, which come with the first change."""
        return self._follower.notes

    def close(self) -> None:
        """Close the connections, if the changes were not iterated to their end."""
        self._changes.close()


def follow(
    source: str, since: str | None = None, options: MirrorOptions | None = None, progress: Progress | None = None
) -> Following:
    """Return the changes of a Source since a cursor; without one, begin with all its resources, as `created`.

    `source` is a URL or the folder of a site. Store the `cursor` of each change when it was handled, and give it to the
    next call. Nothing is lost and changes are in order of time; they come twice only where a cursor was not stored. Of
    several changes of a resource, only the last is yielded. Raises `MirrorError` for a text that is no cursor, and
    while it is iterated the errors of a Source that cannot be followed.
    """
    return Following(_Follower(source, since, options or MirrorOptions(), progress or (lambda *_: None)))


class _Follower:
    """Yields the changes. `cursor` is where those end that were handled."""

    def __init__(self, source: str, since: str | None, options: MirrorOptions, progress: Progress) -> None:
        self._where = str(Path(source).resolve()) if "://" not in source and Path(source).is_dir() else source
        self._options, self._progress = options, progress
        self.cursor = Cursor.decode(since) if since else None
        self._reasons: dict[str, str] = {}  # why resources are postponed
        self._changed = False  # whether some were not as listed
        self._done = self._size = 0
        self.notes: list[str] = []

    def follow(self) -> Generator[FollowedChange, None, None]:
        options = replace(self._options, adopt=False, sync=False)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            state = stack.enter_context(open_state(folder, self._where, adopt=False, sync=False))
            source = stack.enter_context(closing(Source(self._where, options, state)))
            source.read_robots()
            batch = Batch(state, source, options, self.notes.append)
            for _ in range(_ROUNDS):
                self._changed = False
                yield from self._round(batch, source, state)
                if not self._changed:
                    break
        postponed = self.cursor.postponed if self.cursor else {}
        if postponed:
            named = [f"{shown(uri)} ({self._reasons.get(uri, 'not tried')})" for uri in list(postponed)[:_NAMED]]
            more = f", and {len(postponed) - _NAMED:,} more" if len(postponed) > _NAMED else ""
            message = (
                f"{len(postponed):,} of the resources cannot be fetched; the next run tries again: "
                f"{'; '.join(named)}{more}"
            )
            raise IncompleteError(message)

    def _round(self, batch: Batch, source: Source, state: CopyState) -> Iterator[FollowedChange]:
        """Yield what is new, and leave the cursor where that ends."""
        now, again = batch.read(self.cursor)
        if batch.foreign:
            self.notes.append(f"resources on other hosts, which were not requested: {batch.foreign:,}")
        if again:
            latest = max((position.at for position in batch.end.values()), default="")
            yield FollowedChange(uri="", kind=RESET, time=_time(latest), done=now)
        self.cursor = now
        left, size = batch.count()
        whole = self._done + left
        with _Packed(state, source, self._options, self.notes.append) as packed:
            if now.after is not None:
                packed.open(batch.sets, left, size)
            for page in batch.pages():
                rows = [found[0] for found in page if found[0].kind != ChangeKind.DELETED]
                sinks = {row.uri: ResourceSink(row, f"{state.parts}/{part_name(row.uri)}") for row in rows}
                try:
                    received = self._receive(sinks, packed, source)
                    for found in page:
                        row, left = found[0], left - 1
                        now = batch.after(found, now) if left else replace(now, after=None, sets=batch.end)
                        if row.uri in sinks and row.uri not in received:
                            now = self._postpone(now, row)
                            continue
                        now = now.postponing(row.uri, None)
                        self._done += 1
                        self._size += received[row.uri].length if row.uri in received else 0
                        self._progress(self._done, whole, self._size, 0)
                        change = _change(row, sinks.get(row.uri), received.get(row.uri), now)
                        try:
                            yield change
                        finally:
                            if change.content:
                                change.content.close()
                        self.cursor = now
                finally:
                    for sink in sinks.values():
                        sink.discard()
        self.cursor = replace(now, after=None, sets=batch.end)  # also if the last one is postponed, or there was none

    def _postpone(self, now: Cursor, row: Row) -> Cursor:
        """Return the cursor with a resource that cannot be fetched now."""
        now = now.postponing(row.uri, row)
        if len(now.postponed) > _MOST_POSTPONED:
            message = (
                f"more than {_MOST_POSTPONED:,} resources cannot be fetched; the last one: {self._reasons[row.uri]}"
            )
            raise IncompleteError(message)
        return now

    def _receive(self, sinks: Mapping[str, ResourceSink], packed: "_Packed", source: Source) -> dict[str, Received]:
        """Return what came of resources, from packages or else singly; the others have a reason."""
        received = packed.unpack(sinks)
        failed: set[str] = set()

        def requests() -> list[Request]:
            return [
                source.request(uri, sink) for uri, sink in sinks.items() if uri not in received and uri not in failed
            ]

        with closing(source.fetch_all(requests)) as results:
            for request, response in results:
                uri = request.url
                try:
                    if isinstance(response, TransportError):
                        raise response
                    received[uri] = sinks[uri].verified()
                    source.pace.take(received[uri].length)
                except TransportError as error:
                    self._changed |= isinstance(error, MismatchedError | AbsentError)
                    self._reasons[uri] = str(error)
                    failed.add(uri)
        return received


def _change(row: Row, sink: ResourceSink | None, received: Received | None, done: Cursor) -> FollowedChange:
    links = tuple(Link(rel=rel, href=href, type=kind or None) for rel, href, kind in json.loads(row.links))
    uri, kind, time = row.uri, row.kind, _time(row.time)
    if sink is None or received is None:
        return FollowedChange(uri=uri, kind=kind, time=time, links=links, done=done)
    return FollowedChange(
        uri=uri, kind=kind, time=time, hash=received.hash, length=received.length, type=row.type or sink.media_type,
        links=links, content=sink.open(), done=done,
    )  # fmt: skip


def _time(text: str) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None


class _Packed:
    """The packages of Resource Dumps, for a follower that begins: open until the end of a `with` block."""

    def __init__(self, state: CopyState, source: Source, options: MirrorOptions, note: Callable[[str], None]) -> None:
        self._state, self._source, self._options, self._note = state, source, options, note
        self._packages = Packages(source)
        self._open: list[tuple[Package, OpenPackage]] = []
        self._damaged: set[int] = set()
        self._stack = ExitStack()
        state.db.execute(_MEMBERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._state.db.execute("DELETE FROM member")

    def open(self, sets: list[ResourceSet], count: int, size: int) -> None:
        """Open the packages of the Resource Dumps, if they take less than so many requests and bytes."""
        if self._options.by == "lists":
            return
        try:
            packages = [each for one in sets for each in Dumps(self._source, one).of_resources() if each.uri]
        except _FAILURES as error:
            self._note(f"the Resource Dumps cannot be used: {error}")
            return
        packed = sum(each.length or 0 for each in packages)
        cheap = packed + len(packages) * COST_OF_REQUEST < size + count * COST_OF_REQUEST
        cheap = cheap and all(each.length is not None for each in packages)
        if packed < _MOST_PACKED and (cheap or self._options.by == "dumps"):
            for package in packages:
                try:
                    self._add(package)
                except _FAILURES as error:
                    self._note(f"the package {shown(package.uri)} cannot be used: {error}")

    def _add(self, package: Package) -> None:
        inside = self._stack.enter_context(self._packages.opened(package))
        number = len(self._open)
        members = ((each.uri, number, each.path, each.hash, each.length, each.time) for each in inside.resources)
        with self._state.transaction():
            self._state.db.executemany("INSERT OR REPLACE INTO member VALUES (?, ?, ?, ?, ?, ?)", members)
        self._open.append((package, inside))

    def unpack(self, sinks: Mapping[str, ResourceSink]) -> dict[str, Received]:
        """Return what the packages have of some resources, by URI."""
        received: dict[str, Received] = {}
        query = f"SELECT * FROM member WHERE uri IN ({', '.join('?' * len(sinks))})"  # noqa: S608
        for uri, number, path, digest, length, time in self._state.db.execute(query, [*sinks]).fetchall():
            member = ListedResource(uri, "", time, digest, length, "", (), path)
            package, inside = self._open[number]
            if number in self._damaged or not may_contain(member, sinks[uri].listed):
                continue
            try:
                unpacked = inside.unpack(member, sinks[uri])
            except DamagedZipError as error:
                self._note(f"the package {shown(package.uri)} is damaged, so the rest is fetched singly: {error}")
                self._damaged.add(number)
                continue
            if unpacked is not None:
                received[uri] = unpacked
        return received
