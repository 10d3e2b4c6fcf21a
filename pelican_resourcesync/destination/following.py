"""Follow a Source from a program, without a copy: its changes, verified, in order, at least once.

What the lists say of each resource since a cursor is read into a table with its last state, and yielded from there.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pelican_resourcesync.content import Page, read_page
from pelican_resourcesync.destination.contents import Contents
from pelican_resourcesync.destination.cursor import Cursor, LatestState
from pelican_resourcesync.destination.links import Mirrors
from pelican_resourcesync.destination.plan import FEW, refuse_deletions
from pelican_resourcesync.destination.routes import COST_OF_REQUEST
from pelican_resourcesync.destination.state import CopyState, log_change, open_state
from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    IncompleteError,
    MismatchError,
    NoSourceError,
    ResourceSyncError,
    SourceError,
    TransportError,
)
from pelican_resourcesync.http import DamagedZipError, Request, allowing, is_url, looks_like_page, shown
from pelican_resourcesync.options import SourceOptions, by_keyword, guessed_type
from pelican_resourcesync.protocol import Capability, ChangeKind, Link
from pelican_resourcesync.source import (
    PRIVATE,
    UNREAD,
    VERIFIED,
    ChangeLists,
    ListedDumps,
    ListedPackage,
    ListedResource,
    OpenPackage,
    Packages,
    Position,
    ResourceSink,
    Source,
    SourceSet,
    VerifiedContent,
    elsewhere,
    find_sets,
    may_contain,
    note_host,
    part_name,
    text_of,
    why_unreadable,
    why_unusable,
)
from pelican_resourcesync.system.titles import HTML

_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile
_MOST_POSTPONED = 1_000  # resources that a cursor names
_NAMED = 5  # resources in a message
_MOST_PACKED = 2_000_000_000  # bytes of packages that are stored until the follower has their resources
_PAGE = 500  # resources that are fetched together
_PAGE_SIZE = 200_000_000  # bytes of these
_UNKNOWN = 100_000  # bytes, where a length is not listed
_LARGEST_PAGE = 20_000_000  # bytes, which are read into memory
_FAILURES = (TransportError, DocumentError, DamagedZipError, SourceError)
_CREATED, _UPDATED, _DELETED = (str(each) for each in (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED))
_READ = 5  # fields of a position that a change leads to; the others are of the whole set
_LISTED, _POSTPONED = 0, -1  # instead of the number of a set: from a Resource List, or from an earlier call
_TABLES = """CREATE TEMP TABLE change (
    uri TEXT PRIMARY KEY, at TEXT, set_number INTEGER, place INTEGER, position TEXT, first TEXT, kind TEXT,
    hash TEXT, length INTEGER, time TEXT, type TEXT, links TEXT) WITHOUT ROWID;
CREATE TEMP TABLE member (uri TEXT PRIMARY KEY, package INTEGER NOT NULL,
    path TEXT NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL) WITHOUT ROWID"""
# What was postponed, then what the Resource Lists have, by URI, and then changes by time.
_IN_ORDER = """SELECT set_number, position, first, uri, kind, hash, length, time, type, links FROM change
    ORDER BY at, set_number, place, uri"""
_INSERT = """INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uri) DO UPDATE SET
    at = excluded.at, set_number = excluded.set_number, place = excluded.place, position = excluded.position,
    kind = excluded.kind, hash = excluded.hash, length = excluded.length, time = excluded.time, type = excluded.type,
    links = excluded.links WHERE """
# Of two lists that have a resource, the one that saw it later is right.
_IN_LIST = f"{_INSERT} change.set_number < 0 OR excluded.time > change.time"
# A change that the Resource List shows already is none. Of two sets, the last change counts.
_CHANGED = f"""{_INSERT} (excluded.set_number = change.set_number OR excluded.at > change.at) AND NOT (
    change.set_number = 0 AND excluded.kind <> 'deleted' AND excluded.hash <> '' AND excluded.hash = change.hash)"""
RESET = "reset"

#: A state to be yielded, with the number of its set, the position that it leads to if it is from a Change List, and how
#: many resources more, or fewer, the follower then has.
_Found = tuple[LatestState, int, Position | None, int]


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

    def __init__(
        self, source: str, since: str | None = None, options: SourceOptions | None = None, **wanted: Any
    ) -> None:
        """Take the URL or the folder of a Source, the cursor, the options, and what else `follow` takes."""
        self._follower = _Follower(source, since, options or SourceOptions(), **wanted)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arguments(SourceOptions):
    since: str | None = field(default=None, kw_only=False)
    content: bool = True
    text: bool = False
    contents: str | Path | None = None


@by_keyword(_Arguments)
def follow(source: str, given: _Arguments) -> Following:
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
    return Following(source, given.since, given, content=given.content, text=given.text, contents=given.contents)


class _Follower:
    """Yields the changes. `cursor` is where those end that were handled."""

    _state: CopyState
    _source: Source
    _mirrors: Mirrors
    _packed: "_Packed"

    def __init__(  # noqa: PLR0913 - keyword-only, as in `follow`
        self,
        source: str,
        since: str | None,
        options: SourceOptions,
        *,
        content: bool = True,
        text: bool = False,
        contents: str | Path | None = None,
    ) -> None:
        self._where = source
        self._options, self._text, self._file = options, text, contents
        self._content = content or text or contents is not None
        self._contents: Contents | None = None
        self.cursor = Cursor.decode(since) if since else None
        self.notes: list[str] = []
        self._reasons: dict[str, str] = {}  # why resources are postponed
        self._lasting: set[str] = set()  # those that the next run cannot fetch either, as they are listed
        self._changed = False  # whether some were not as listed
        self._done = self._size = 0
        # What is read of the Source in a round:
        self._sets: list[SourceSet] = []
        self._lists: dict[str, Position] = {}  # the positions of the Resource Lists
        self._begin: dict[str, Position] = {}  # where the changes begin that these do not show
        self._end: dict[str, Position] = {}  # where all of it leads
        self.foreign = 0  # resources on hosts that are not requested
        self._hosts: dict[str, None] = {}  # the first of these

    def follow(self) -> Generator[FollowedChange, None, None]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._state = stack.enter_context(open_state(folder, self._where, adopt=False, sync=False))
            self._state.db.executescript(_TABLES)
            if self.cursor is not None:
                self._state.set(VERIFIED, self.cursor.verified)
                self._state.set(PRIVATE, self.cursor.private)
            self._source = stack.enter_context(closing(Source(self._where, self._options, self._state)))
            self._mirrors = Mirrors(self._state, self._source)
            if self._file is not None:
                mark = self.cursor.contents if self.cursor else None
                self._contents = stack.enter_context(closing(Contents(Path(self._file), mark)))
            self._source.read_robots()
            for _ in range(_ROUNDS):
                self._changed = False
                yield from self._round()
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
            raise IncompleteError(message, may_pass=not postponed.keys() <= self._lasting)

    def _round(self) -> Iterator[FollowedChange]:
        """Yield what is new, and leave the cursor where that ends."""
        now, again = self._read()
        self.notes += [note for note in self._source.notes if note not in self.notes]
        if self.foreign:
            self.notes.append(f"without {elsewhere(self.foreign, self._hosts)}")
        if again:
            reached = max((position.at for position in self._end.values()), default="")
            log_change(RESET, "")
            yield FollowedChange(uri="", kind=RESET, time=_time(reached), done=now)
        self.cursor = now
        query = "SELECT count(*), CAST(total(coalesce(length, ?)) AS INTEGER) FROM change"
        left, size = self._state.db.execute(query, (_UNKNOWN,)).fetchone()
        whole = self._done + left
        with ExitStack() as stack:
            self._packed = _Packed(self._state, self._source, self.notes, stack)
            if self._content and now.after is not None and self._options.by != "lists":
                self._packed.open(self._sets, left, size, always=self._options.by == "dumps")
            for page in self._pages():
                states = [latest for latest, *_ in page if latest.kind != _DELETED]
                if not self._content:  # those that cannot be read are postponed all the same
                    states = [latest for latest in states if why_unreadable(latest.hash)]
                sinks = {each.uri: ResourceSink(each, f"{self._state.parts}/{part_name(each.uri)}") for each in states}
                try:
                    received = self._receive(states, sinks)
                    for found in page:
                        latest, left, growth = found[0], left - 1, found[-1]
                        now = self._after(found, now) if left else replace(now, after=None, sets=self._end, read={})
                        content = received.get(latest.uri)
                        if latest.uri in sinks and content is None:
                            now = self._postpone(now, latest)
                            continue
                        now = replace(now.postponing(latest.uri, None), count=max(now.count + growth, 0))
                        self._done += 1
                        self._size += content.length if content else 0
                        self._options.progress(self._done, whole, self._size, 0)
                        change, is_around = self._record(_change(latest, sinks.get(latest.uri), content, now), latest)
                        now = change.done
                        yield from _handed_over(change, is_around=is_around)
                        self.cursor = now
                finally:
                    for sink in sinks.values():
                        sink.discard()
        self.cursor = replace(now, after=None, sets=self._end, read={})  # also if there was none

    def _record(self, change: FollowedChange, latest: LatestState) -> tuple[FollowedChange, bool]:
        """Return a change with what its page says, if that is wanted, and whether only what is around that changed."""
        if change.content and (self._text or self._contents):
            change = replace(change, page=_page_of(change, markdown=self._text))
        if self._contents is None:
            return change, False
        _, before = self._contents.get(change.uri)
        content = None if change.kind == _DELETED else change.page.hash if change.page else change.hash
        self._contents.put(change.uri, _listing(latest), content)
        done = replace(change.done, contents=self._contents.mark)
        return replace(change, done=done), change.kind == _UPDATED and content == before

    def _pages(self) -> Iterator[list[_Found]]:
        """Yield what was read, in order, some at a time."""
        page: list[_Found] = []
        size = 0
        for number, reached, first, *columns in self._state.db.execute(_IN_ORDER):
            latest, growth = LatestState(*columns), int(first == _CREATED)
            if latest.kind == _DELETED:  # as is what was never selected, or never yielded
                growth = -int(first != _CREATED and self._options.wants(latest.uri, ""))
            else:
                latest = latest._replace(kind=_CREATED if first == _CREATED else _UPDATED)
            position = None
            if number > 0:
                end = self._end[self._sets[number - 1].uri]
                position = Position(*json.loads(reached))._replace(reach=end.reach, opened=end.opened).remembered()
            length = _UNKNOWN if latest.length is None else latest.length
            if page and (len(page) == _PAGE or size + length > _PAGE_SIZE):
                yield page
                page, size = [], 0
            page.append((latest, number, position, growth))
            size += length
        if page:
            yield page

    def _after(self, found: _Found, now: Cursor) -> Cursor:
        """Return the cursor after one of a page."""
        latest, number, position, _ = found
        if position is not None:
            sets = {**now.sets, self._sets[number - 1].uri: position}
            return replace(now, after=None, sets=sets, read=self._end)
        return replace(now, after=latest.uri, read=self._end) if number == _LISTED else now

    def _postpone(self, now: Cursor, latest: LatestState) -> Cursor:
        """Return the cursor with a resource that cannot be fetched now."""
        now = now.postponing(latest.uri, latest)
        if len(now.postponed) > _MOST_POSTPONED:
            why = self._reasons[latest.uri]
            message = f"more than {_MOST_POSTPONED:,} resources cannot be fetched; the last one: {why}"
            raise IncompleteError(message, may_pass=not now.postponed.keys() <= self._lasting)
        return now

    def _receive(self, states: Iterable[LatestState], sinks: Mapping[str, ResourceSink]) -> dict[str, VerifiedContent]:
        """Return what came of resources, from packages or else singly; the others have a reason."""
        mirrors = {each.uri: self._mirrors.of(each.uri, each.hash, each.parsed_links()) for each in states}
        received = self._packed.unpack(sinks)
        unreadable = {uri: why for uri, sink in sinks.items() if (why := why_unreadable(sink.expected.hash))}
        self._reasons |= unreadable
        self._lasting |= (failed := set(unreadable))

        def requests() -> list[Request]:
            left = sinks.keys() - received.keys() - failed
            return [
                self._mirrors.request(sink, mirrors[uri], sink.headers()) for uri, sink in sinks.items() if uri in left
            ]

        while len(received) + len(failed) < len(sinks):  # again for what a mirror did not have
            with closing(self._source.fetch_all(requests)) as results:
                for request, response in results:
                    assert isinstance(request.sink, ResourceSink)  # noqa: S101 - `requests` says so
                    uri = request.sink.expected.uri
                    try:
                        if isinstance(response, TransportError):
                            raise response
                        received[uri] = request.sink.verified()
                        self._source.pace.take(received[uri].length)
                    except TransportError as error:
                        if request.url != uri:
                            self.notes += filter(None, [self._mirrors.fail(uri, request.url, error)])
                            continue
                        self._changed |= isinstance(error, MismatchError | AbsentError)
                        self._reasons[uri] = str(error)
                        (self._lasting.discard if error.may_pass else self._lasting.add)(uri)
                        failed.add(uri)
        return received

    # What the lists say

    def _read(self) -> tuple[Cursor, bool]:
        """Read what comes after the cursor; return where that begins, and whether it is everything, once more.

        Raises `IncompleteError` if the lists are older than the cursor or cannot be read now, and other errors of the
        Source.
        """
        self._sets, cursor = find_sets(self._source), self.cursor
        for one in self._sets:
            if one.failure:
                message = f"the set {one.name!a} cannot be read, and others can (--set): {one.failure}"
                raise IncompleteError(message, may_pass=one.failure.may_pass)
        known = {"verified": self._state.get(VERIFIED), "private": self._state.get(PRIVATE)}
        with self._state.transaction():
            if cursor is not None:
                self._clear()
                if cursor.selection != self._options.selection:
                    self.notes.append("other sets or resources are selected than before: everything is read again")
                elif cursor.sets.keys() != {each.uri for each in self._sets}:
                    why = "the Source has other Capability Lists than before (it moved, or has other sets)"
                    self.notes.append(f"{why}: everything is read again")
                elif any(position.is_ahead for position in cursor.sets.values()):
                    self.notes.append("the cursor is dated in the future: everything is read again")
                elif self._contents and self._contents.mark != cursor.contents:
                    self.notes.append(f"{self._file} does not belong to this cursor: everything is read again")
                elif self._continue(cursor):
                    self._refuse_deletions(cursor.count)
                    return replace(cursor, **known), False
            self._clear()
            self._read_lists(after="")
            self._read_changes(dict(self._lists), {}, fresh=True)
            self._state.db.execute("DELETE FROM change WHERE kind = 'deleted'")  # nothing of these was yielded
            self._refuse_reset(cursor)
            if self._contents:
                self._contents.clear()
                known["contents"] = self._contents.mark
            return Cursor(self._options.selection, self._begin, after="", **known), cursor is not None

    def _continue(self, cursor: Cursor) -> bool:
        """Read the changes since a cursor; return False if they do not reach back to it, for a reason that is noted."""
        for latest in self._known_better(cursor.postponed):
            self._state.db.execute(_IN_LIST, (latest.uri, "", _POSTPONED, 0, "", latest.kind, *latest[1:]))
        if self._contents and not any(Capability.CHANGELIST in one.documents for one in self._sets):
            self._compare(self._contents)
            return True
        if cursor.after is not None:
            self._read_lists(after=cursor.after)
        return self._read_changes(cursor.sets, cursor.read, fresh=False)

    def _compare(self, contents: Contents) -> None:
        """Read what the Resource Lists, or sitemaps, have other than the follower had it; nothing else has changes."""
        for one in self._sets:
            for each in self._listed(one):
                if self._kind(each) == _CREATED:
                    contents.is_present(each.uri)
                    known, _ = contents.get(each.uri)
                    kind = _UPDATED if known else _CREATED
                    if known != _listing(each) or not (each.time or each.hash):
                        row = (each.uri, "", _POSTPONED, 0, "", kind, kind, *_described(each))
                        self._state.db.execute(_IN_LIST, row)
            self._end[one.uri] = self._lists[one.uri].remembered()
        gone = ((uri, "", _POSTPONED, 0, "", _DELETED, _DELETED, "", None, "", "", "[]") for uri in contents.absent())
        self._state.db.executemany(_IN_LIST, gone)

    def _known_better(self, postponed: Mapping[str, LatestState]) -> Iterator[LatestState]:
        """Yield what is postponed; where its entry could not be read, with what the lists say of it now."""
        unreadable = {uri for uri, latest in postponed.items() if why_unreadable(latest.hash)}
        every = (each for one in self._sets for each in self._current(one)) if unreadable else ()
        now = {each.uri: each for each in every if each.uri in unreadable}
        for uri, latest in postponed.items():
            if uri not in unreadable:
                yield latest
            elif (each := now.get(uri)) is not None and (kind := self._kind(each)):
                yield LatestState(uri, latest.kind if kind != _DELETED else kind, *_described(each))
            else:
                yield latest._replace(kind=_DELETED, hash="", length=None)

    def _refuse_reset(self, cursor: Cursor | None) -> None:
        """Raise `IncompleteError` where what was read is older, or far less, than what was followed."""
        if cursor is None:
            return
        for uri, before in cursor.sets.items():
            now = self._end.get(uri)
            if now and now.at and now.at < before.at and not (before.is_ahead or self._options.accept_older):
                message = (
                    f"the lists end at {now.at}, before what was followed ({before.at}): a cache may be stale: try "
                    "again later. If the Source was set back, add --accept-older (in Python: accept_older=True)"
                )
                raise IncompleteError(message)
        if cursor.selection == self._options.selection:
            [left] = self._state.db.execute("SELECT count(*) FROM change").fetchone()
            outcome = f"of about {cursor.count:,} resources are no longer listed: nothing was passed on"
            refuse_deletions(cursor.count - left, cursor.count, self._options.max_deletions, outcome)

    def _refuse_deletions(self, before: int) -> None:
        """Raise `IncompleteError` where a large part of about so many resources was deleted since the cursor."""
        [gone] = self._state.db.execute("SELECT count(*) FROM change WHERE kind = 'deleted'").fetchone()
        if gone <= FEW and gone < before:
            return
        there = gone + sum(self._kind(listed) == _CREATED for one in self._sets for listed in self._listed(one))
        outcome = f"of {there:,} resources were deleted: nothing was passed on"
        refuse_deletions(gone, there, self._options.max_deletions, outcome)

    def _clear(self) -> None:
        self._state.db.execute("DELETE FROM change")
        self._end, self._lists, self._begin, self._hosts, self.foreign = {}, {}, {}, {}, 0

    def _read_lists(self, after: str) -> None:
        """Read what the Resource Lists have after a URI."""
        for one in self._sets:
            self._state.db.executemany(_IN_LIST, self._rows(one, after))

    def _rows(self, one: SourceSet, after: str) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a list. Raises `IncompleteError` if all of it is on hosts that are not requested."""
        foreign, is_empty = self.foreign, not after
        for listed in self._listed(one):
            if listed.uri > after and self._kind(listed) == _CREATED:
                is_empty = False
                yield (listed.uri, "", _LISTED, 0, "", _CREATED, _CREATED, *_described(listed))
        if is_empty and self.foreign > foreign:
            hint = f", or add {allowing(self._hosts)}" if self._hosts else ""
            message = (
                f"of the {self.foreign - foreign:,} resources that the set {one.name!a} lists, none are on hosts that "
                f"are requested: choose other sets with --set{hint}"
            )
            raise IncompleteError(message, may_pass=False)

    def _listed(self, one: SourceSet) -> Iterator[ListedResource]:
        """Yield what the Resource List of a set has, and then remember its position."""
        kind = Capability.RESOURCELIST if Capability.RESOURCELIST in one.documents else ""
        if kind not in one.documents:
            message = f"the set {one.name!a} has no Resource List, so it cannot be followed"
            raise NoSourceError(message)
        whole, unread = hashlib.sha256(), list[str]()
        try:
            entries = self._source.entries(one.documents[kind], kind, remembered=False, unread=unread)
        except UNREAD as error:
            if len(self._sets) == 1:
                raise
            message = f"the set {one.name!a} cannot be read, and others can (--set): {error}"
            raise IncompleteError(message, may_pass=error.may_pass) from error
        with closing(entries):
            for each in entries.resources():
                whole.update(f"{each.uri}\n{each.time}\n{each.hash}\n{each.length}\n{each.links or ''}\n".encode())
                yield each
        if unread:
            message = f"the Resource List of the set {one.name!a} cannot be read whole: {'; '.join(unread)}"
            raise IncompleteError(message)
        at, completed = text_of(entries.md.at), text_of(entries.md.completed)
        self._lists[one.uri] = Position(at, reach=completed, listed=whole.hexdigest())

    def _read_changes(self, positions: Mapping[str, Position], read: Mapping[str, Position], *, fresh: bool) -> bool:
        """Read the changes of all sets; return False if they do not reach back to the positions, which is noted.

        `read` are positions up to which the changes were read before, and must be as they were.
        `fresh`: these are the positions of Resource Lists that were just read, so there is no other way.
        """
        for number, one in enumerate(self._sets, 1):
            begin, why = positions[one.uri], "it has no Change Lists, and its list has changed"
            known = begin.listed and read.get(one.uri, begin).listed  # no change was read that it does not show
            if has_changes := Capability.CHANGELIST in one.documents and bool(begin.at):
                failure = self._read_set(number, one, begin, read.get(one.uri), fresh=fresh)
                if failure is None:
                    continue
                why = why_unusable(failure)
                if not known and isinstance(failure, TransportError) and failure.may_pass:
                    raise IncompleteError(why) from failure
            for _ in () if one.uri in self._lists else self._listed(one):  # to the end, to see whether it is the same
                pass
            self._end[one.uri] = self._begin[one.uri] = self._lists[one.uri].remembered()
            if known != self._lists[one.uri].listed:
                self.notes.append(f"{one.name}: {why}: everything is read again")
                return False
            self.notes += [f"{one.name}: {why}"] if has_changes else []
        self._restore_shared()
        return True

    def _read_set(
        self, number: int, one: SourceSet, begin: Position, read: Position | None, *, fresh: bool
    ) -> ResourceSyncError | None:
        """Read the changes of a set, and where they begin and end; return why that is not possible, if it is not."""

        def note(gap: str) -> None:
            self.notes.append(f"{one.name}: {gap}: the changes in between are not known")

        db, foreign, order = self._state.db, self.foreign, count()
        begun, listed = None, fresh

        def add(each: ListedResource, now: Position) -> None:
            nonlocal begun, listed
            is_counted = fresh and now.at == begin.at
            kind = "" if self._is_around(each, begin) else self._kind(each, is_counted=is_counted)
            listed = listed and is_counted and self._is_in_list(each, kind)
            if listed:
                begun = now
            elif kind:
                row = (each.uri, now.at, number, next(order), json.dumps(now[:_READ]), kind, kind, *_described(each))
                db.execute(_CHANGED, row)

        lists = ChangeLists(self._source, one)
        db.execute("SAVEPOINT changes")
        failure = ChangeLists(self._source, one).take(read, lambda *_: None) if read else None
        if failure := failure or lists.take(begin, add, note if fresh else None):
            db.execute("ROLLBACK TO changes")
            self.foreign = foreign
            return failure
        reach = max(begin.reach, lists.begin) if fresh else begin.reach
        opened = lists.opened or begin.opened
        start = begun or lists.begun
        for positions, there in ((self._begin, start), (self._end, lists.reached)):
            known = begin.listed if there[:2] == start[:2] else ""
            positions[one.uri] = there._replace(reach=reach, opened=opened, listed=known).remembered()
        return None

    def _is_around(self, change: ListedResource, begin: Position) -> bool:
        """Return whether only changes of content are wanted, and that of a page is as it was where reading began."""
        since = change.content_since
        if (
            not (self._options.content_changes or self._contents)
            or change.change != _UPDATED
            or since is None
            or since > begin.at
        ):
            return False
        return not self._state.db.execute("SELECT 1 FROM change WHERE uri = ?", (change.uri,)).fetchone()

    def _is_in_list(self, change: ListedResource, kind: str) -> bool:
        """Return whether the Resource List shows a change already."""
        query = "SELECT hash FROM change WHERE uri = ? AND set_number = 0"
        listed = self._state.db.execute(query, (change.uri,)).fetchone()
        return not kind or (not listed if kind == _DELETED else bool(change.hash) and listed == (change.hash,))

    def _kind(self, change: ListedResource, *, is_counted: bool = False) -> str:
        """Return what it is to the follower: deleted, too, if it is no longer selected; "" if it is nothing.

        `is_counted`: it was counted among those on other hosts, if it is there.
        """
        uri, kind = change.uri, change.change or _CREATED
        if not self._options.wants_uri(uri):
            return ""
        if not self._source.allows(uri) and is_url(uri):  # others are named as missing
            if kind == _CREATED and not is_counted:
                self.foreign += 1
                note_host(self._hosts, uri)
            return ""
        if kind == _DELETED or self._options.wants(uri, change.type):
            return kind
        return "" if kind == _CREATED else _DELETED

    def _restore_shared(self) -> None:
        """Let what is deleted from one set, and still is in another, be updated."""
        db = self._state.db
        rows = db.execute("SELECT uri, set_number FROM change WHERE kind = 'deleted' AND set_number > 0").fetchall()
        for number, one in enumerate(self._sets, 1):
            gone = {uri for uri, of in rows if of != number}
            now: dict[str, ListedResource] = {}
            for each in self._current(one) if gone else ():
                if each.uri in gone:
                    now.pop(each.uri, None)
                    if each.change != _DELETED and self._options.wants(each.uri, each.type):
                        now[each.uri] = each
            db.executemany(
                "UPDATE change SET kind = 'updated', hash = ?, length = ?, time = ?, type = ?, links = ? WHERE uri = ?",
                [(*_described(each), each.uri) for each in now.values()],
            )

    def _current(self, one: SourceSet) -> Iterator[ListedResource]:
        """Yield what the Resource List of a set has, and then what changed after it."""
        yield from self._listed(one)
        if Capability.CHANGELIST in one.documents:
            changes: list[ListedResource] = []
            lists, position = ChangeLists(self._source, one), self._lists[one.uri]
            if position.at and not lists.take(position, lambda each, _: changes.append(each), lambda _: None):
                yield from changes


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
            packages = [each for one in sets for each in ListedDumps(self._source, one).of_resources() if each.uri]
        except _FAILURES as error:
            self._notes.append(f"the Resource Dumps cannot be used: {error}")
            return
        packed = sum(each.length or 0 for each in packages)
        cheap = packed + len(packages) * COST_OF_REQUEST < size + count * COST_OF_REQUEST
        cheap = cheap and all(each.length is not None for each in packages)
        if packed < _MOST_PACKED and (cheap or always):
            for package in packages:
                try:
                    self._add(package)
                except _FAILURES as error:
                    self._notes.append(f"the package {shown(package.uri)} cannot be used: {error}")

    def _add(self, package: ListedPackage) -> None:
        inside = self._stack.enter_context(self._packages.opened(package))
        number = len(self._open)
        members = ((each.uri, number, each.path, each.hash, each.length, each.time) for each in inside.resources)
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
    latest: LatestState, sink: ResourceSink | None, content: VerifiedContent | None, done: Cursor
) -> FollowedChange:
    uri, kind, time, links = latest.uri, latest.kind, latest.parsed_time(), latest.parsed_links()
    if sink is None or content is None:
        of = latest if kind != _DELETED else latest._replace(hash="", length=None, type="")
        return FollowedChange(
            uri=uri, kind=kind, time=time, hash=of.hash, length=of.length, type=of.type, links=links, done=done
        )
    return FollowedChange(
        uri=uri, kind=kind, time=time, hash=content.hash, length=content.length, type=latest.type or sink.media_type,
        links=links, content=sink.open(), done=done,
    )  # fmt: skip


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


def _listing(each: ListedResource | LatestState) -> str:
    """Return what a list says of the bytes of a resource, of which any part may be missing."""
    return f"{each.time} {each.hash} {each.length}"


def _described(each: ListedResource) -> tuple[str, int | None, str, str, str]:
    """Return the columns `hash` to `links`."""
    links = json.dumps([(link.rel, link.href, link.type or "", link.pri) for link in each.links])
    return each.hash, each.length, each.time, each.type, links


def _time(text: str) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None
