"""Follow a Source from a program, without a copy: its changes, verified, in order, at least once."""

import datetime as dt
import hashlib
import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO, cast

from pelican_resourcesync.destination.copy import ALGORITHMS, MismatchedError, State, open_state
from pelican_resourcesync.destination.following.batch import Batch
from pelican_resourcesync.destination.following.cursor import Cursor, Row
from pelican_resourcesync.destination.following.packed import Packed
from pelican_resourcesync.destination.options import IncompleteError, Options
from pelican_resourcesync.destination.plan import Progress
from pelican_resourcesync.destination.source import Source, waiting_time
from pelican_resourcesync.errors import AbsentError, TransportError
from pelican_resourcesync.protocol import ChangeKind, Link
from pelican_resourcesync.transport import Bounds, Response, shown

_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile
_MOST_OWED = 1_000  # resources that a cursor names
_IN_MEMORY = 100_000  # bytes of a resource that are not written to disk
_NAMED = 5  # resources in a message
RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
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
        """What to keep when this change was handled, to go on after it."""
        return self.done.encode()


class Following(Iterator[Change]):
    """The changes of a Source. What it has opened is closed at their end, or when nothing refers to it any more."""

    def __init__(self, follower: "_Follower") -> None:
        self._follower = follower
        self._changes = follower.follow()  # which does not refer to this object

    def __next__(self) -> Change:
        """Return the next change. Raises `IncompleteError` at the end if some resources cannot be fetched now."""
        return next(self._changes)

    @property
    def cursor(self) -> str:
        """What to keep when all changes before the current one were handled; empty if there is nothing to go on from.

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


class _Follower:
    """Makes the changes. `cursor` is where those end that were handled."""

    def __init__(self, source: str, since: str | None, options: Options, progress: Progress) -> None:
        self._where = str(Path(source).resolve()) if "://" not in source and Path(source).is_dir() else source
        self._options, self._progress = options, progress
        self.cursor = Cursor.decode(since) if since else None
        self._reasons: dict[str, str] = {}  # why resources are owed
        self._changed = False  # whether some were not as listed
        self._done = self._size = 0
        self.notes: list[str] = []

    def follow(self) -> Generator[Change, None, None]:
        options = replace(self._options, adopt=False, sync=False)
        with TemporaryDirectory() as folder, open_state(Path(folder), self._where, adopt=False, sync=False) as state:
            source = Source(self._where, options, state)
            try:
                source.read_robots()
                batch = Batch(state, source, options, self.notes.append)
                for _ in range(_ROUNDS):
                    self._changed = False
                    yield from self._round(batch, source, state)
                    if not self._changed:
                        break
            finally:
                source.close()
        owed = self.cursor.owed if self.cursor else {}
        if owed:
            named = [f"{shown(uri)} ({self._reasons.get(uri, 'not tried')})" for uri in list(owed)[:_NAMED]]
            more = f", and {len(owed) - _NAMED:,} more" if len(owed) > _NAMED else ""
            message = (
                f"{len(owed):,} of the resources cannot be fetched; the next run tries again: {'; '.join(named)}{more}"
            )
            raise IncompleteError(message)

    def _round(self, batch: Batch, source: Source, state: State) -> Iterator[Change]:
        """Yield what is new, and leave the cursor where that ends."""
        now, again = batch.read(self.cursor)
        if batch.foreign:
            self.notes.append(f"resources on other hosts, which were not asked for: {batch.foreign:,}")
        if again:
            times = [position.at for position in batch.end.values()]
            yield Change(uri="", kind=RESET, time=_time(max(times, default="")), done=now)
        self.cursor = now
        with Packed(state, source, self._options, self.notes.append) as packed:
            if now.after is not None:
                packed.open(batch.sets, *batch.count())
            yield from self._pages(batch, source, packed, now, state.parts)

    def _pages(self, batch: Batch, source: Source, packed: Packed, now: Cursor, folder: Path) -> Iterator[Change]:
        left, _ = batch.count()
        whole = self._done + left
        for page in batch.pages():
            contents = {row.uri: Content(row, folder) for row, _, _ in page if row.kind != ChangeKind.DELETED}
            try:
                packed.fill(contents)
                self._fetch(contents, source)
                for found in page:
                    row, left = found[0], left - 1
                    now = batch.after(found, now) if left else replace(now, after=None, sets=batch.end)
                    content = contents.get(row.uri)
                    if content and content.reason:
                        now = self._owe(now, row, content.reason)
                        continue
                    now = now.with_owed(row.uri, None)
                    self._done += 1
                    self._size += content.length if content else 0
                    self._progress(self._done, whole, self._size, 0)
                    yield _change(row, content, now)
                    self.cursor = now
                    if content:
                        content.close()
            finally:
                for content in contents.values():
                    content.close()
        self.cursor = replace(now, after=None, sets=batch.end)  # also if the last one is owed, or there was none

    def _owe(self, now: Cursor, row: Row, reason: str) -> Cursor:
        """Return the cursor with a resource that cannot be fetched now."""
        self._reasons[row.uri] = reason
        now = now.with_owed(row.uri, row)
        if len(now.owed) > _MOST_OWED:
            message = f"more than {_MOST_OWED:,} resources cannot be fetched; the last one: {reason}"
            raise IncompleteError(message)
        return now

    def _fetch(self, contents: Mapping[str, "Content"], source: Source) -> None:
        """Fetch resources; those that cannot be had say why."""
        options = self._options
        bounds = Bounds(timeout=options.timeout, total=options.resource_time, size=options.resource_size)
        waiting = [each for each in contents.values() if not each.complete]
        for attempt in range(options.retries + 1):
            requests = (source.request(each.row.uri, each, bounds) for each in waiting)
            waiting, wait = [], 0.0
            for request, result in source.client.get_all(requests, jobs=source.jobs, pace=source.pace):
                content = cast("Content", request.sink)
                delay = self._finish(content, result, attempt)
                if delay is not None:
                    waiting.append(content)
                    wait = max(wait, delay)
            if not waiting:
                break
            source.pace.pause(wait)

    def _finish(self, content: "Content", result: Response | TransportError, attempt: int) -> float | None:
        """Take what came; return how long to wait before another attempt if it failed."""
        content.reason = ""
        try:
            if isinstance(result, TransportError):
                raise result
            content.verify()
        except (MismatchedError, AbsentError) as error:
            self._changed = True
            content.reason = str(error)
        except TransportError as error:
            content.reason = str(error)
            return waiting_time(error, attempt, self._options) if attempt < self._options.retries else None
        return None


class Content:
    """Receives the bytes of a resource, in memory if they are few, and compares them with what its list says."""

    def __init__(self, row: Row, folder: Path) -> None:
        self.row, self._folder = row, folder
        self.reason = ""
        self.complete = False  # and verified
        self.length = 0
        self.type = row.type
        self.stream: BinaryIO = BytesIO()

    def begin(self, response: Response) -> None:
        """Prepare for the body of a response."""
        self.start(self.row.hash)
        self.type = self.row.type or response.media_type

    def start(self, listed: str) -> None:
        """Prepare for bytes that should have the hash `listed`, if that is not empty."""
        self.close()
        self.stream, self.length, self._listed = BytesIO(), 0, listed
        self._algorithm = listed.partition(":")[0] or "sha-256"
        self._hash = hashlib.new(ALGORITHMS[self._algorithm], usedforsecurity=False)

    def write(self, data: bytes) -> None:
        """Take some bytes."""
        before, self.length = self.length, self.length + len(data)
        listed = self.row.length
        if listed is not None and self.length > listed:
            message = f"{shown(self.row.uri)} is longer than the {listed} bytes that are listed"
            raise MismatchedError(message)
        if before <= _IN_MEMORY < self.length:
            small = cast("BytesIO", self.stream)
            self.stream = cast("BinaryIO", TemporaryFile(dir=self._folder))  # noqa: SIM115 - `close` ends it
            self.stream.write(small.getbuffer())
        self.stream.write(data)
        self._hash.update(data)

    def verify(self) -> None:
        """Go back to the beginning; raises `MismatchedError` if it is not what the list describes."""
        row, self.hash = self.row, f"{self._algorithm}:{self._hash.hexdigest()}"
        if row.length is not None and self.length != row.length:
            message = f"{shown(row.uri)} has {self.length} bytes; {row.length} are listed"
            raise MismatchedError(message)
        if self._listed and self._listed != self.hash:
            message = f"{shown(row.uri)} has another hash ({self._algorithm}) than is listed"
            raise MismatchedError(message)
        self.stream.seek(0)

    def close(self) -> None:
        """Remove the bytes."""
        self.stream.close()


def _change(row: Row, content: Content | None, done: Cursor) -> Change:
    links = tuple(Link(rel=rel, href=href, type=kind or None) for rel, href, kind in json.loads(row.links))
    time = _time(row.time)
    if content is None:
        return Change(uri=row.uri, kind=row.kind, time=time, links=links, done=done)
    return Change(
        uri=row.uri, kind=row.kind, time=time, hash=content.hash, length=content.length, type=content.type, links=links,
        content=content.stream, done=done,
    )  # fmt: skip


def _time(text: str) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None


def follow(
    source: str, since: str | None = None, options: Options | None = None, progress: Progress | None = None
) -> Following:
    """Return the changes of a Source since a cursor; without one, begin with all its resources, as `created`.

    `source` is a URL or the folder of a site. Keep the `cursor` of each change when it was handled, and give it to the
    next call. Nothing is lost and changes are in order of time; they come twice only where a cursor was not kept. Of
    several changes of a resource, only the last is yielded. Raises `MirrorError` for a text that is no cursor, and
    while it is iterated the errors of a Source that cannot be followed.
    """
    return Following(_Follower(source, since, options or Options(), progress or (lambda *_: None)))
