"""Follow a Source from a program, without a copy: its changes, verified, in order, at least once.

What the lists say of each resource since a cursor is read into a table (`changes.py`), and yielded from there.
"""

import datetime as dt
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, Literal

from pelican_resourcesync.content import Page, read_page
from pelican_resourcesync.destination.changes import DELETED, UPDATED, Changes, listing
from pelican_resourcesync.destination.cursor import Contents, Cursor, parse_time
from pelican_resourcesync.destination.links import Mirrors
from pelican_resourcesync.destination.plan import COST_OF_REQUEST
from pelican_resourcesync.destination.state import CopyState, log_change, open_state
from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    IncompleteError,
    MismatchError,
    SourceError,
    TransportError,
)
from pelican_resourcesync.http import DamagedZipError, looks_like_page, shown
from pelican_resourcesync.options import SourceOptions, by_keyword, guessed_type
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.source import (
    PRIVATE,
    VERIFIED,
    ListedDumps,
    ListedPackage,
    ListedResource,
    OpenPackage,
    Packages,
    ResourceSink,
    Source,
    SourceSet,
    VerifiedContent,
    elsewhere,
    may_contain,
    part_name,
    why_unreadable,
)
from pelican_resourcesync.system.titles import HTML

_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile
_MOST_POSTPONED = 1_000  # resources that a cursor names
_NAMED = 5  # resources in a message
_MOST_PACKED = 2_000_000_000  # bytes of packages that are stored until the follower has their resources
_LARGEST_PAGE = 20_000_000  # bytes, which are read into memory
_FAILURES = (TransportError, DocumentError, DamagedZipError, SourceError)
_MEMBERS = """CREATE TEMP TABLE member (uri TEXT PRIMARY KEY, package INTEGER NOT NULL,
    path TEXT NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL) WITHOUT ROWID"""
RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedChange:
    """What happened to a resource.

    `kind` is `created`, `updated`, `deleted`, or `reset`: what was known before is void, and all resources follow as
    `created`. `time` (UTC) is when it changed, as the lists say. `hash` is written
    `algorithm:hexadecimal`: the strongest that is listed, else the SHA-256 of the bytes. `length` is in bytes.

    `content` has the bytes from their beginning, verified; it is closed when the next change is asked for. It is None
    for `deleted` and `reset`, and if `follow` was called without it. `page` is what a page says, if `follow` was called
    with `text` or `contents`.
    """

    uri: str
    kind: str
    time: dt.datetime | None = None
    hash: str = ""
    length: int | None = None
    type: str = ""
    links: tuple[Link, ...] = ()
    content: BinaryIO | None = None
    page: Page | None = None
    done: Cursor = field(repr=False)

    @property
    def cursor(self) -> str:
        """What to store when this change was handled, to go on after it."""
        return self.done.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOptions(SourceOptions):
    """What `follow` takes beside a Source."""

    since: str | None = field(default=None, kw_only=False)
    content: bool = True
    text: bool = False
    contents: str | Path | None = None


if TYPE_CHECKING:  # type checkers see by its kind whether a change has content

    class _Present(FollowedChange):
        kind: Literal["created", "updated"]
        content: BinaryIO

    class _Deleted(FollowedChange):
        kind: Literal["deleted"]
        content: None

    class _Reset(FollowedChange):
        kind: Literal["reset"]
        content: None

    _Typed = _Present | _Deleted | _Reset
else:
    _Typed = FollowedChange


class Following(Iterator[_Typed]):
    """The changes of a Source. What it has opened is closed at their end, or when nothing refers to it any more."""

    def __init__(self, source: str, options: FollowOptions) -> None:
        """Take the URL or the folder of a Source, and the options."""
        self._follower = _Follower(source, options)
        self._changes = self._follower.follow()  # which does not refer to this object

    def __next__(self) -> _Typed:
        """Return the next change. Raises `IncompleteError` at the end if some resources cannot be fetched now."""
        return next(self._changes)  # type: ignore[return-value]  # as `_Typed` says

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

    @property
    def foreign(self) -> int:
        """The number of resources that were not requested, because they are on other hosts."""
        return self._follower.foreign

    def close(self) -> None:
        """Close the connections, if the changes were not iterated to their end."""
        self._changes.close()


@by_keyword(FollowOptions)
def follow(source: str, given: FollowOptions) -> Following:
    """Return the changes of a Source since a cursor; without one, begin with all its resources, as `created`.

    `source` is a URL or the folder of a site. Store the `cursor` of each change when it was handled, and pass it to the
    next call as `since`. Nothing is lost and changes are in order of time; they come twice only where a cursor was not
    stored. Of several changes of a resource, only the last is yielded. Without `content`, no resource is fetched, and
    a change has only what the lists say. With `text`, each change of a page has a `page`, with its main text as
    Markdown. The other options are those of `SourceOptions`.

    `contents` is a file that remembers what the content of each page was, and implies `content_changes`: pages of which
    only what is around that changed are left out of any site, and changes of a site without Change Lists, such as one
    with only a sitemap, are those of its resources. It belongs to the cursor, and fetches all that changed.

    Raises `MirrorError` if `since` is not a cursor; while it is iterated, `MirrorError` if `contents` cannot be used,
    `SourceError` if no Source was found, `TransportError` or `DocumentError` for a list that cannot be fetched or read,
    and at the end `IncompleteError` if some resources cannot be fetched now; before anything is passed on, also if many
    would be deleted, or the lists are older than the cursor. Its `may_pass` says whether the next run may succeed.
    """
    return Following(source, given)


class _Follower:
    """Yields the changes. `cursor` is where those end that were handled."""

    _state: CopyState
    _source: Source
    _mirrors: Mirrors
    _packed: "_Packed"

    def __init__(self, source: str, options: FollowOptions) -> None:
        self._where, self._options = source, options
        self._content = options.content or options.text or options.contents is not None
        self._contents: Contents | None = None
        self.cursor = Cursor.decode(options.since) if options.since else None
        self.notes: list[str] = []
        self.foreign = 0  # resources on hosts that are not requested
        self._reasons: dict[str, str] = {}  # why resources are postponed
        self._lasting: set[str] = set()  # those that the next run cannot fetch either, as they are listed
        self._changed = False  # whether some were not as listed
        self._done = self._size = 0

    def follow(self) -> Generator[FollowedChange, None, None]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._state = stack.enter_context(open_state(folder, self._where))
            self._state.db.execute(_MEMBERS)
            if self.cursor is not None:
                self._state.set(VERIFIED, self.cursor.verified)
                self._state.set(PRIVATE, self.cursor.private)
            self._source = stack.enter_context(closing(Source(self._where, self._options, self._state)))
            self._mirrors = Mirrors(self._state, self._source, self.notes, ask=None)
            if (file := self._options.contents) is not None:
                mark = self.cursor.contents if self.cursor else None
                self._contents = stack.enter_context(closing(Contents(Path(file), mark)))
            changes = Changes(self._source, self._state, self._contents, self.notes)
            self._source.read_robots()
            for _ in range(_ROUNDS):
                self._changed = False
                yield from self._round(changes)
                if not self._changed:
                    break
        postponed = self.cursor.postponed if self.cursor else {}
        if postponed:
            named = [f"{shown(uri)} ({self._reasons.get(uri, 'not tried')})" for uri in list(postponed)[:_NAMED]]
            more = f", and {len(postponed) - _NAMED:,} more" if len(postponed) > _NAMED else ""
            reasons = f"{'; '.join(named)}{more}"
            message = f"{len(postponed):,} of the resources cannot be fetched; the next run tries again: {reasons}"
            raise IncompleteError(message, may_pass=not postponed.keys() <= self._lasting)

    def _round(self, changes: Changes) -> Iterator[FollowedChange]:
        """Yield what is new, and leave the cursor where that ends."""
        now, again = changes.read(self.cursor)
        self.foreign = changes.foreign
        self.notes += [note for note in self._source.notes if note not in self.notes]
        if self.foreign:
            self.notes.append(f"without {elsewhere(self.foreign, changes.hosts)}")
        if again:
            log_change(RESET, "")
            yield FollowedChange(uri="", kind=RESET, time=parse_time(changes.reached), done=now)
        self.cursor = now
        left, size = changes.total()
        whole = self._done + left
        with ExitStack() as stack:
            self._packed = _Packed(self._state, self._source, self.notes, stack)
            if self._content and now.after is not None and self._options.by != "lists":
                self._packed.open(changes.sets, left, size, always=self._options.by == "dumps")
            for page in changes.pages():
                wanted = [resource for resource, *_ in page if resource.change != DELETED]
                if not self._content:  # those that cannot be read are postponed all the same
                    wanted = [resource for resource in wanted if why_unreadable(resource.hash)]
                sinks = {one.uri: ResourceSink(one, f"{self._state.parts}/{part_name(one.uri)}") for one in wanted}
                try:
                    received = self._receive(wanted, sinks)
                    for found in page:
                        resource, left, growth = found[0], left - 1, found[-1]
                        now = changes.after(found, now) if left else changes.after_all(now)
                        content = received.get(resource.uri)
                        if resource.uri in sinks and content is None:
                            now = self._postpone(now, resource)
                            continue
                        now = replace(now.postponing(resource.uri, None), count=max(now.count + growth, 0))
                        self._done += 1
                        self._size += content.length if content else 0
                        self._options.progress(self._done, whole, self._size, 0)
                        change = _change(resource, sinks.get(resource.uri), content, now)
                        change, is_around = self._record(change, resource)
                        now = change.done
                        yield from _handed_over(change, is_around=is_around)
                        self.cursor = now
                finally:
                    for sink in sinks.values():
                        sink.discard()
        self.cursor = changes.after_all(now)  # also if there was none

    def _record(self, change: FollowedChange, resource: ListedResource) -> tuple[FollowedChange, bool]:
        """Return a change with what its page says, if that is wanted, and whether only what is around that changed."""
        if change.content and (self._options.text or self._contents):
            change = replace(change, page=_page_of(change, markdown=self._options.text))
        if self._contents is None:
            return change, False
        _, before = self._contents.get(change.uri)
        content = None if change.kind == DELETED else change.page.hash if change.page else change.hash
        self._contents.put(change.uri, listing(resource), content)
        done = replace(change.done, contents=self._contents.mark)
        return replace(change, done=done), change.kind == UPDATED and content == before

    def _postpone(self, now: Cursor, resource: ListedResource) -> Cursor:
        """Return the cursor with a resource that cannot be fetched now."""
        now = now.postponing(resource.uri, resource)
        if len(now.postponed) > _MOST_POSTPONED:
            why = self._reasons[resource.uri]
            message = f"more than {_MOST_POSTPONED:,} resources cannot be fetched; the last one: {why}"
            raise IncompleteError(message, may_pass=not now.postponed.keys() <= self._lasting)
        return now

    def _receive(self, wanted: list[ListedResource], sinks: dict[str, ResourceSink]) -> dict[str, VerifiedContent]:
        """Return what came of resources, from packages or else singly; the others have a reason."""
        received = self._packed.unpack(sinks)
        unreadable = {resource.uri: why for resource in wanted if (why := why_unreadable(resource.hash))}
        self._reasons |= unreadable
        self._lasting |= unreadable.keys()
        left = {uri: sink for uri, sink in sinks.items() if uri not in received and uri not in unreadable}
        mirrors = {one.uri: self._mirrors.of(one.uri, one.hash, one.links) for one in wanted if one.uri in left}
        for uri, result in self._mirrors.receive(left, mirrors):
            if isinstance(result, VerifiedContent):
                received[uri] = result
            else:
                self._changed |= isinstance(result, MismatchError | AbsentError)
                self._reasons[uri] = str(result)
                (self._lasting.discard if result.may_pass else self._lasting.add)(uri)
        return received


class _Packed:
    """The packages of Resource Dumps, for a follower that begins; `stack` closes them."""

    def __init__(self, state: CopyState, source: Source, notes: list[str], stack: ExitStack) -> None:
        self._state, self._source, self._notes, self._stack = state, source, notes, stack
        self._packages = Packages(source)
        self._open: list[tuple[ListedPackage, OpenPackage]] = []
        self._damaged: set[int] = set()
        state.db.execute("DELETE FROM member")

    def open(self, sets: list[SourceSet], count: int, size: int, *, always: bool) -> None:
        """Open the packages of the Resource Dumps, if they take less than so many requests and bytes, or `always`."""
        try:
            dumps = [ListedDumps(self._source, one) for one in sets]
            packages = [package for listed in dumps for package in listed.of_resources() if package.uri]
        except _FAILURES as error:
            self._notes.append(f"the Resource Dumps cannot be used: {error}")
            return
        packed = sum(package.length or 0 for package in packages)
        cheap = packed + len(packages) * COST_OF_REQUEST < size + count * COST_OF_REQUEST
        cheap = cheap and all(package.length is not None for package in packages)
        if packed < _MOST_PACKED and (cheap or always):
            for package in packages:
                try:
                    self._add(package)
                except _FAILURES as error:
                    self._notes.append(f"the package {shown(package.uri)} cannot be used: {error}")

    def _add(self, package: ListedPackage) -> None:
        inside = self._stack.enter_context(self._packages.opened(package))
        number = len(self._open)
        members = ((one.uri, number, one.path, one.hash, one.length, one.time) for one in inside.resources)
        with self._state.transaction():
            self._state.db.executemany("INSERT OR REPLACE INTO member VALUES (?, ?, ?, ?, ?, ?)", members)
        self._open.append((package, inside))

    def unpack(self, sinks: Mapping[str, ResourceSink]) -> dict[str, VerifiedContent]:
        """Return what the packages have of some resources, by URI."""
        received: dict[str, VerifiedContent] = {}
        query = f"SELECT * FROM member WHERE uri IN ({', '.join('?' * len(sinks))})"  # noqa: S608
        for uri, number, path, digest, length, time in self._state.db.execute(query, [*sinks]).fetchall():
            member = ListedResource(uri, "", time, digest, length, "", (), path)
            package, inside = self._open[number]
            if number in self._damaged or not may_contain(member, sinks[uri].expected):
                continue
            try:
                unpacked = inside.unpack(member, sinks[uri])
            except DamagedZipError as error:
                about = f"the package {shown(package.uri)} is damaged, so the rest is fetched one by one"
                self._notes.append(f"{about}: {error}")
                self._damaged.add(number)
                continue
            if unpacked is not None:
                received[uri] = unpacked
        return received


def _change(
    resource: ListedResource, sink: ResourceSink | None, content: VerifiedContent | None, done: Cursor
) -> FollowedChange:
    change = FollowedChange(
        uri=resource.uri, kind=resource.change, time=parse_time(resource.time), hash=resource.hash,
        length=resource.length, type=resource.type, links=resource.links, done=done,
    )  # fmt: skip
    if sink is None or content is None:
        return change
    type_ = resource.type or sink.media_type
    return replace(change, hash=content.hash, length=content.length, type=type_, content=sink.open())


def _handed_over(change: FollowedChange, *, is_around: bool) -> Iterator[FollowedChange]:
    """Yield a change, unless only what is around the content changed, and then close what it has."""
    try:
        if not is_around:
            log_change(change.kind, change.uri)
            yield change
    finally:
        if change.content:
            change.content.close()


def _page_of(change: FollowedChange, *, markdown: bool) -> Page | None:
    """Return what a page says; nothing of anything else, or of what is too large for a page."""
    if change.content is None or (change.length or 0) > _LARGEST_PAGE:
        return None
    type_ = (change.type or guessed_type(change.uri)).partition(";")[0]
    body = change.content.read() if not type_ or type_ in HTML else b""
    change.content.seek(0)
    is_page = looks_like_page(body, type_)
    return read_page(body, change.uri, markdown=markdown) if is_page else None
