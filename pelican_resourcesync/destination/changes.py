"""What the lists of a Source say of each resource since a cursor: a table with its last state, and its guard.

A run that would delete too much, or go back to older lists, ends before anything of it is passed on.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import count

from pelican_resourcesync.destination.cursor import Contents, Cursor, parse_row, row_of
from pelican_resourcesync.destination.plan import FEW, refuse_deletions
from pelican_resourcesync.destination.state import CopyState
from pelican_resourcesync.errors import IncompleteError, NoSourceError, ResourceSyncError, TransportError
from pelican_resourcesync.http import allowing, is_url
from pelican_resourcesync.protocol import Capability, ChangeKind
from pelican_resourcesync.source import (
    PRIVATE,
    UNREAD,
    VERIFIED,
    ChangeLists,
    ListedResource,
    Position,
    Source,
    SourceSet,
    find_sets,
    note_host,
    text_of,
    why_unreadable,
    why_unusable,
)

CREATED, UPDATED, DELETED = (str(kind) for kind in (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED))
_PAGE = 500  # resources that are fetched together
_PAGE_SIZE = 200_000_000  # bytes of these
_UNKNOWN = 100_000  # bytes, where a length is not listed
_READ = 5  # fields of a position that a change leads to; the others are of the whole set
#: The place of a change in the order: its time, the number of its set, its place in there, and its position.
_Place = tuple[str, int, int, str]
_LISTED: _Place = ("", 0, 0, "")  # of what a Resource List has
_POSTPONED: _Place = ("", -1, 0, "")  # of what an earlier call could not fetch
_TABLE = """CREATE TEMP TABLE change (
    uri TEXT PRIMARY KEY, at TEXT, set_number INTEGER, place INTEGER, position TEXT, first TEXT, kind TEXT,
    hash TEXT, length INTEGER, time TEXT, type TEXT, links TEXT) WITHOUT ROWID"""
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

#: A resource as it is now, with the number of its set, the position that it leads to if it is from a Change List, and
#: how many resources more, or fewer, the follower then has.
Change = tuple[ListedResource, int, Position | None, int]


class Changes:
    """The table. `foreign` resources are on hosts that are not requested; `hosts` are the first of these."""

    def __init__(self, source: Source, state: CopyState, contents: Contents | None, notes: list[str]) -> None:
        self._source, self._state, self._options, self._contents = source, state, source.options, contents
        self._of_content = source.options.content_changes or contents is not None
        self._notes, self._db = notes, state.db
        self._db.execute(_TABLE)
        self.sets: list[SourceSet] = []
        self._clear()

    def _clear(self) -> None:
        self._db.execute("DELETE FROM change")
        self._lists: dict[str, Position] = {}  # the positions of the Resource Lists
        self._begin: dict[str, Position] = {}  # where the changes begin that these do not show
        self._end: dict[str, Position] = {}  # where all of it leads
        self.foreign = 0
        self.hosts: dict[str, None] = {}

    # How far a follower has come

    def read(self, cursor: Cursor | None) -> tuple[Cursor, bool]:
        """Read what comes after a cursor; return where that begins, and whether it is everything, once more.

        Raises `IncompleteError` if the lists are older than the cursor or cannot be read now, and other errors of the
        Source.
        """
        self.sets = find_sets(self._source)
        for one in self.sets:
            if one.failure:
                message = f"the set {one.name!a} cannot be read: {one.failure}. Use --set to follow other sets"
                raise IncompleteError(message, may_pass=one.failure.may_pass)
        known = {"verified": self._state.get(VERIFIED), "private": self._state.get(PRIVATE)}
        with self._state.transaction():
            if cursor is not None:
                self._clear()
                why = self._why_void(cursor) or self._continue(cursor)
                if not why:
                    self._refuse_deletions(cursor.count)
                    return replace(cursor, **known), False
                self._notes.append(f"{why}: everything is read again")
            self._clear()
            self._read_lists(after="")
            self._read_changes(dict(self._lists), {}, fresh=True)
            self._db.execute("DELETE FROM change WHERE kind = 'deleted'")  # nothing of these was yielded
            self._refuse_reset(cursor)
            if self._contents:
                self._contents.clear()
                known["contents"] = self._contents.mark
            return Cursor(self._options.selection, self._begin, after="", **known), cursor is not None

    def _why_void(self, cursor: Cursor) -> str:
        """Return why nothing can go on from a cursor; an empty text if it can."""
        if cursor.selection != self._options.selection:
            return "the selection of sets or resources has changed"
        if cursor.sets.keys() != {one.uri for one in self.sets}:
            return "the Capability Lists of the Source have changed (it moved, or has other sets)"
        if any(position.is_ahead for position in cursor.sets.values()):
            return "the cursor is dated in the future"
        if self._contents and self._contents.mark != cursor.contents:
            return f"{self._contents.file} does not belong to this cursor"
        return ""

    def _continue(self, cursor: Cursor) -> str:
        """Read the changes since a cursor; return why they do not reach back to it, or an empty text."""
        for resource in self._known_better(cursor.postponed):
            self._insert(_IN_LIST, resource, resource.change, _POSTPONED)
        if self._contents and not any(Capability.CHANGELIST in one.documents for one in self.sets):
            self._compare(self._contents)
            return ""
        if cursor.after is not None:
            self._read_lists(after=cursor.after)
        return self._read_changes(cursor.sets, cursor.read, fresh=False)

    @property
    def reached(self) -> str:
        """The time of the last change, or an empty text."""
        return max((position.at for position in self._end.values()), default="")

    def total(self) -> tuple[int, int]:
        """Return how many resources have changed, and about how many bytes they have."""
        query = "SELECT count(*), CAST(total(coalesce(length, ?)) AS INTEGER) FROM change"
        number, size = self._db.execute(query, (_UNKNOWN,)).fetchone()
        return number, size

    def pages(self) -> Iterator[list[Change]]:
        """Yield what was read, in order, some at a time."""
        page: list[Change] = []
        size = 0
        for number, reached, first, *columns in self._db.execute(_IN_ORDER):
            resource, growth = parse_row(columns), int(first == CREATED)
            if resource.change == DELETED:  # as is what was never selected, or never yielded
                growth = -int(first != CREATED and self._options.wants(resource.uri, ""))
                resource = resource._replace(hash="", length=None, type="")
            else:
                resource = resource._replace(change=CREATED if first == CREATED else UPDATED)
            position = None
            if number > 0:
                end = self._end[self.sets[number - 1].uri]
                position = Position(*json.loads(reached))._replace(reach=end.reach, opened=end.opened).remembered()
            length = _UNKNOWN if resource.length is None else resource.length
            if page and (len(page) == _PAGE or size + length > _PAGE_SIZE):
                yield page
                page, size = [], 0
            page.append((resource, number, position, growth))
            size += length
        if page:
            yield page

    def after(self, change: Change, cursor: Cursor) -> Cursor:
        """Return the cursor after a change of a page."""
        resource, number, position, _ = change
        if position is not None:
            sets = {**cursor.sets, self.sets[number - 1].uri: position}
            return replace(cursor, after=None, sets=sets, read=self._end)
        return replace(cursor, after=resource.uri, read=self._end) if number == _LISTED[1] else cursor

    def after_all(self, cursor: Cursor) -> Cursor:
        """Return the cursor after all changes."""
        return replace(cursor, after=None, sets=self._end, read={})

    # The guard

    def _refuse_reset(self, cursor: Cursor | None) -> None:
        """Raise `IncompleteError` where what was read is older, or far less, than what was followed."""
        if cursor is None:
            return
        for uri, before in cursor.sets.items():
            now = self._end.get(uri)
            if now and now.at and now.at < before.at and not (before.is_ahead or self._options.accept_older):
                message = (
                    f"the lists end at {now.at}, before what was followed ({before.at}). A cache may be stale: try "
                    "again later. If the Source was set back, add --accept-older (in Python: accept_older=True)"
                )
                raise IncompleteError(message)
        if cursor.selection == self._options.selection:
            left = self._state.number("SELECT count(*) FROM change")
            outcome = f"of about {cursor.count:,} resources are no longer listed: nothing was passed on"
            refuse_deletions(cursor.count - left, cursor.count, self._options.max_deletions, outcome)

    def _refuse_deletions(self, before: int) -> None:
        """Raise `IncompleteError` where a large part of about so many resources was deleted since the cursor."""
        gone = self._state.number("SELECT count(*) FROM change WHERE kind = 'deleted'")
        if gone <= FEW and gone < before:
            return
        there = gone + sum(self._kind(listed) == CREATED for one in self.sets for listed in self._listed(one))
        outcome = f"of {there:,} resources were deleted: nothing was passed on"
        refuse_deletions(gone, there, self._options.max_deletions, outcome)

    # What the lists say

    def _insert(self, sql: str, resource: ListedResource, kind: str, place: _Place) -> None:
        """Insert a state of a resource."""
        uri, _, *described = row_of(resource)
        self._db.execute(sql, (uri, *place, kind, kind, *described))

    def _read_lists(self, after: str) -> None:
        """Read what the Resource Lists have after a URI.

        Raises `IncompleteError` if all of one is on hosts that are not requested.
        """
        for one in self.sets:
            foreign, is_empty = self.foreign, not after
            for listed in self._listed(one):
                if listed.uri > after and self._kind(listed) == CREATED:
                    is_empty = False
                    self._insert(_IN_LIST, listed, CREATED, _LISTED)
            if is_empty and self.foreign > foreign:
                hint = f", or add {allowing(self.hosts)}" if self.hosts else ""
                where = f"none of the {self.foreign - foreign:,} resources of the set {one.name!a} are on hosts"
                message = f"{where} that are requested: choose other sets with --set{hint}"
                raise IncompleteError(message, may_pass=False)

    def _compare(self, contents: Contents) -> None:
        """Read what the Resource Lists, or sitemaps, have other than the follower had it; nothing else has changes."""
        for one in self.sets:
            for listed in self._listed(one):
                if self._kind(listed) == CREATED:
                    contents.is_present(listed.uri)
                    known, _ = contents.get(listed.uri)
                    if known != listing(listed) or not (listed.time or listed.hash):
                        self._insert(_IN_LIST, listed, UPDATED if known else CREATED, _POSTPONED)
            self._end[one.uri] = self._lists[one.uri].remembered()
        for uri in contents.absent():
            self._insert(_IN_LIST, ListedResource(uri, "", "", "", None, "", (), ""), DELETED, _POSTPONED)

    def _known_better(self, postponed: Mapping[str, ListedResource]) -> Iterator[ListedResource]:
        """Yield what is postponed; where its entry could not be read, with what the lists say of it now."""
        unreadable = {uri for uri, resource in postponed.items() if why_unreadable(resource.hash)}
        every = (listed for one in self.sets for listed in self._current(one)) if unreadable else ()
        now = {listed.uri: listed for listed in every if listed.uri in unreadable}
        for uri, resource in postponed.items():
            if uri not in unreadable:
                yield resource
            elif (listed := now.get(uri)) is not None and (kind := self._kind(listed)):
                yield listed._replace(change=resource.change if kind != DELETED else kind)
            else:
                yield resource._replace(change=DELETED, hash="", length=None)

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
            if len(self.sets) == 1:
                raise
            message = f"the set {one.name!a} cannot be read: {error}. Use --set to follow other sets"
            raise IncompleteError(message, may_pass=error.may_pass) from error
        with closing(entries):
            for listed in entries.resources():
                described = (listed.uri, listed.time, listed.hash, listed.length, listed.links or "")
                whole.update("".join(f"{value}\n" for value in described).encode())
                yield listed
        if unread:
            message = f"parts of the Resource List of the set {one.name!a} cannot be read: {'; '.join(unread)}"
            raise IncompleteError(message)
        at, completed = text_of(entries.md.at), text_of(entries.md.completed)
        self._lists[one.uri] = Position(at, reach=completed, listed=whole.hexdigest())

    def _read_changes(self, positions: Mapping[str, Position], read: Mapping[str, Position], *, fresh: bool) -> str:
        """Read the changes of all sets; return why they do not reach back to the positions, or an empty text.

        `read` are positions up to which the changes were read before, and must be as they were.
        `fresh`: these are the positions of Resource Lists that were just read, so there is no other way.
        """
        for number, one in enumerate(self.sets, 1):
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
                return f"{one.name}: {why}"
            self._notes += [f"{one.name}: {why}"] if has_changes else []
        self._restore_shared()
        return ""

    def _read_set(
        self, number: int, one: SourceSet, begin: Position, read: Position | None, *, fresh: bool
    ) -> ResourceSyncError | None:
        """Read the changes of a set, and where they begin and end; return why that is not possible, if it is not."""

        def note(gap: str) -> None:
            self._notes.append(f"{one.name}: {gap}: the changes in between are unknown")

        foreign, order = self.foreign, count()
        begun, listed = None, fresh

        def add(change: ListedResource, now: Position) -> None:
            nonlocal begun, listed
            is_counted = fresh and now.at == begin.at
            kind = "" if self._is_around(change, begin) else self._kind(change, is_counted=is_counted)
            listed = listed and is_counted and self._is_in_list(change, kind)
            if listed:
                begun = now
            elif kind:
                self._insert(_CHANGED, change, kind, (now.at, number, next(order), json.dumps(now[:_READ])))

        lists = ChangeLists(self._source, one)
        self._db.execute("SAVEPOINT changes")
        failure = ChangeLists(self._source, one).take(read, lambda *_: None) if read else None
        if failure := failure or lists.take(begin, add, note if fresh else None):
            self._db.execute("ROLLBACK TO changes")
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
        if not self._of_content or change.change != UPDATED or since is None or since > begin.at:
            return False
        return not self._db.execute("SELECT 1 FROM change WHERE uri = ?", (change.uri,)).fetchone()

    def _is_in_list(self, change: ListedResource, kind: str) -> bool:
        """Return whether the Resource List shows a change already."""
        query = "SELECT hash FROM change WHERE uri = ? AND set_number = 0"
        listed = self._db.execute(query, (change.uri,)).fetchone()
        return not kind or (not listed if kind == DELETED else bool(change.hash) and listed == (change.hash,))

    def _kind(self, change: ListedResource, *, is_counted: bool = False) -> str:
        """Return what it is to the follower: deleted, too, if it is no longer selected; "" if it is nothing.

        `is_counted`: it was counted among those on other hosts, if it is there.
        """
        uri, kind = change.uri, change.change or CREATED
        if not self._options.wants_uri(uri):
            return ""
        if not self._source.allows(uri) and is_url(uri):  # others are named as missing
            if kind == CREATED and not is_counted:
                self.foreign += 1
                note_host(self.hosts, uri)
            return ""
        if kind == DELETED or self._options.wants(uri, change.type):
            return kind
        return "" if kind == CREATED else DELETED

    def _restore_shared(self) -> None:
        """Record as updated what is deleted from one set and still in another."""
        query = "SELECT uri, set_number FROM change WHERE kind = 'deleted' AND set_number > 0"
        rows = self._db.execute(query).fetchall()
        for number, one in enumerate(self.sets, 1):
            gone = {uri for uri, of in rows if of != number}
            now: dict[str, ListedResource] = {}
            for listed in self._current(one) if gone else ():
                if listed.uri in gone:
                    now.pop(listed.uri, None)
                    if listed.change != DELETED and self._options.wants(listed.uri, listed.type):
                        now[listed.uri] = listed
            update = "UPDATE change SET kind = 'updated', hash = ?, length = ?, time = ?, type = ?, links = ?"
            updated = [(*row_of(listed)[2:], listed.uri) for listed in now.values()]
            self._db.executemany(f"{update} WHERE uri = ?", updated)

    def _current(self, one: SourceSet) -> Iterator[ListedResource]:
        """Yield what the Resource List of a set has, and then what changed after it."""
        yield from self._listed(one)
        if Capability.CHANGELIST in one.documents:
            changes: list[ListedResource] = []
            lists, position = ChangeLists(self._source, one), self._lists[one.uri]
            if position.at and not lists.take(position, lambda change, _: changes.append(change), lambda _: None):
                yield from changes


def listing(resource: ListedResource) -> str:
    """Return what a list says of the bytes of a resource, of which any part may be missing."""
    return f"{resource.time} {resource.hash} {resource.length}"
