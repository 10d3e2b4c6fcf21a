"""What a follower is to yield next: of each resource its last state since a cursor, in order of time."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from pelican_resourcesync.destination.cursor import Cursor, Row
from pelican_resourcesync.destination.options import IncompleteError, MirrorError, MirrorOptions
from pelican_resourcesync.destination.state import CopyState
from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Capability, ChangeKind
from pelican_resourcesync.source import (
    ChangeLists,
    GapError,
    ListedResource,
    Position,
    ResourceSet,
    Source,
    find_sets,
    text_of,
)

_CREATED, _UPDATED, _DELETED = (str(each) for each in (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED))
_PAGE = 500  # resources that are fetched together
_PAGE_SIZE = 200_000_000  # bytes of these
_UNKNOWN = 100_000  # bytes, where a length is not listed
_LISTED, _POSTPONED = 0, -1  # instead of the number of a set: from a Resource List, or from an earlier call
_TABLE = """CREATE TEMP TABLE IF NOT EXISTS change (
    uri TEXT PRIMARY KEY, at TEXT, set_number INTEGER, position INTEGER, count INTEGER, first TEXT, kind TEXT,
    hash TEXT, length INTEGER, time TEXT, type TEXT, links TEXT) WITHOUT ROWID"""
# What was postponed, then what the Resource Lists have, by URI, and then changes by time.
_IN_ORDER = """SELECT set_number, at, count, first, uri, kind, hash, length, time, type, links FROM change
    ORDER BY at, set_number, position, uri"""
_INSERT = """INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uri) DO UPDATE SET
    at = excluded.at, set_number = excluded.set_number, position = excluded.position, count = excluded.count,
    kind = excluded.kind, hash = excluded.hash, length = excluded.length, time = excluded.time, type = excluded.type,
    links = excluded.links WHERE """
# Of two lists that have a resource, the one that saw it later is right.
_IN_LIST = f"{_INSERT} change.set_number < 0 OR excluded.time > change.time"
# A change that the Resource List shows already is none. Of two sets, the last change counts.
_CHANGED = f"""{_INSERT} (excluded.set_number = change.set_number OR excluded.at > change.at) AND NOT (
    change.set_number = 0 AND excluded.kind <> 'deleted' AND excluded.hash <> '' AND excluded.hash = change.hash)"""

#: A row to be yielded, with the number of its set, and the position that it leads to if it is from a Change List.
Found = tuple[Row, int, Position | None]


class Batch:
    """What is to be yielded after a cursor.

    `sets` are those that are followed, `end` is where it leads, and `foreign` resources are on hosts that may not be
    requested.
    """

    def __init__(self, state: CopyState, source: Source, options: MirrorOptions, note: Callable[[str], None]) -> None:
        self._state, self._source, self._options, self._note = state, source, options, note
        self._lists: dict[str, Position] = {}  # those of the Resource Lists
        self._begin: dict[str, Position] = {}  # where the changes begin that these do not show
        self.sets: list[ResourceSet] = []
        self.end: dict[str, Position] = {}
        self.foreign = 0
        state.db.execute(_TABLE)

    def read(self, cursor: Cursor | None) -> tuple[Cursor, bool]:
        """Read what comes after a cursor; return where that begins, and whether it is everything, once more.

        Raises `IncompleteError` if the lists are older than the cursor or cannot be used, and other errors of the
        Source.
        """
        self.sets = find_sets(self._source)
        with self._state.transaction():
            if cursor is not None:
                self._clear()
                same = sorted(cursor.sets) == sorted(each.uri for each in self.sets)
                if not same or cursor.selection != self._options.selection:
                    self._note("other sets or resources are followed than before: everything is read again")
                elif self._continue(cursor):
                    return cursor, False
            self._clear()
            self._read_lists(after="")
            self._read_changes(dict(self._lists), fresh=True)
            self._refuse_older(cursor)
            self._state.db.execute("DELETE FROM change WHERE kind = 'deleted'")  # nothing of these was yielded
            return Cursor(self._options.selection, self._begin, after=""), cursor is not None

    def pages(self) -> Iterator[list[Found]]:
        """Yield what was read, in order, some at a time."""
        page: list[Found] = []
        size = 0
        for number, at, count, first, *columns in self._state.db.execute(_IN_ORDER):
            row = Row(*columns)
            if row.kind != _DELETED:
                row = row._replace(kind=_CREATED if first == _CREATED else _UPDATED)
            position = None
            if number > 0:
                position = self.end[self.sets[number - 1].uri]._replace(at=at, number=count, mark=row.uri)
            length = _UNKNOWN if row.length is None else row.length
            if page and (len(page) == _PAGE or size + length > _PAGE_SIZE):
                yield page
                page, size = [], 0
            page.append((row, number, position))
            size += length
        if page:
            yield page

    def after(self, found: Found, now: Cursor) -> Cursor:
        """Return the cursor after a row of a page."""
        row, number, position = found
        if position is not None:
            return replace(now, after=None, sets={**now.sets, self.sets[number - 1].uri: position})
        return replace(now, after=row.uri) if number == _LISTED else now

    def count(self) -> tuple[int, int]:
        """Return how many resources are to be yielded, and about how many bytes they have."""
        query = "SELECT count(*), coalesce(sum(coalesce(length, ?)), 0) FROM change"
        count, size = self._state.db.execute(query, (_UNKNOWN,)).fetchone()
        return count, size

    def _continue(self, cursor: Cursor) -> bool:
        """Read the changes since a cursor; return False if they do not reach back to it, for a reason that is noted."""
        for row in cursor.postponed.values():
            self._state.db.execute(_IN_LIST, (row.uri, "", _POSTPONED, 0, 0, row.kind, *row[1:]))
        if cursor.after is not None:
            self._read_lists(after=cursor.after)
        return self._read_changes(cursor.sets, fresh=False)

    def _refuse_older(self, cursor: Cursor | None) -> None:
        for uri, before in (cursor.sets if cursor else {}).items():
            now = self.end.get(uri)
            if now and now.at and now.at < before.at and not self._options.accept_older:
                message = (
                    f"the lists end at {now.at}, before what was followed ({before.at}): a cache may be stale: try "
                    "again later. If the Source was set back, add --accept-older"
                )
                raise IncompleteError(message)

    def _clear(self) -> None:
        self._state.db.execute("DELETE FROM change")
        self.end, self._lists, self._begin = {}, {}, {}
        self.foreign = 0

    # Resource Lists

    def _read_lists(self, after: str) -> None:
        """Read what the Resource Lists have after a URI."""
        rows = (
            (each.uri, "", _LISTED, 0, 0, _CREATED, _CREATED, *_described(each))
            for one in self.sets
            for each in self._listed(one)
            if each.uri > after and self._kind(each) == _CREATED
        )
        self._state.db.executemany(_IN_LIST, rows)

    def _listed(self, one: ResourceSet) -> Iterator[ListedResource]:
        """Yield what the Resource List of a set has, and then remember its position."""
        kind = Capability.RESOURCELIST if Capability.RESOURCELIST in one.documents else ""
        if kind not in one.documents:
            message = f"the set {one.name!a} has no Resource List, so that following it cannot begin"
            raise MirrorError(message)
        has_changes = Capability.CHANGELIST in one.documents
        whole, latest = hashlib.sha256(), ""
        with closing(self._source.entries(one.documents[kind], kind, remembered=False)) as entries:
            for each in entries.resources():
                if not has_changes:
                    whole.update(repr(each).encode())
                latest = max(latest, each.time)
                yield each
        at, completed = text_of(entries.md.at), text_of(entries.md.completed)
        if has_changes:
            self._lists[one.uri] = Position(at or latest, reach=completed or at or latest)
        else:
            self._lists[one.uri] = Position(at, mark=whole.hexdigest())

    # Change Lists

    def _read_changes(self, positions: Mapping[str, Position], *, fresh: bool) -> bool:
        """Read the changes of all sets; return False if they do not reach back to the positions, which is noted.

        `fresh`: these are the positions of Resource Lists that were just read, so there is no other way.
        """
        for number, one in enumerate(self.sets, 1):
            begin = positions[one.uri]
            try:
                if Capability.CHANGELIST in one.documents:
                    self._read_set(number, one, begin, fresh=fresh)
                    continue
                for _ in () if fresh else self._listed(one):  # to the end, to see whether it is the same
                    pass
                self.end[one.uri] = self._begin[one.uri] = self._lists[one.uri]
                if begin.mark != self.end[one.uri].mark:
                    message = "it has no Change Lists, and its list has changed"
                    raise GapError(message)  # noqa: TRY301
            except GapError as gap:
                self._note(f"{one.name}: {gap}: everything is read again")
                return False
            except DocumentError as error:
                message = f"the Change Lists of the set {one.name!a} cannot be used: {error}"
                raise IncompleteError(message) from error
        if len(self.sets) > 1:
            self._restore_shared()
        return True

    def _read_set(self, number: int, one: ResourceSet, begin: Position, *, fresh: bool) -> None:
        """Read the changes of a set, and where they begin and end."""
        note = (lambda gap: self._note(f"{one.name}: {gap}: what changed between is not known")) if fresh else None
        lists = ChangeLists(self._source, one)
        begun, end, shown = begin, begin, fresh
        for order, (each, now) in enumerate(lists.after(begin, note)):
            end, kind = now, self._kind(each)
            shown = shown and now.at == begin.at and self._shows(each, kind)
            if shown:
                begun = now
            elif kind:
                row = (each.uri, now.at, number, order, now.number, kind, kind, *_described(each))
                self._state.db.execute(_CHANGED, row)
        reach = max(begin.reach, lists.begin) if fresh else begin.reach
        self._begin[one.uri], self.end[one.uri] = begun._replace(reach=reach), end._replace(reach=reach)

    def _shows(self, change: ListedResource, kind: str) -> bool:
        """Return whether the Resource List shows a change already."""
        query = "SELECT hash FROM change WHERE uri = ? AND set_number = 0"
        listed = self._state.db.execute(query, (change.uri,)).fetchone()
        return not kind or (not listed if kind == _DELETED else bool(change.hash) and listed == (change.hash,))

    def _kind(self, change: ListedResource) -> str:
        """Return what it is to the follower: deleted, too, if it is no longer selected; "" if it is nothing."""
        uri, kind = change.uri, change.change or _CREATED
        if not self._options.wants_uri(uri):
            return ""
        if not self._source.allows(uri):
            self.foreign += kind == _CREATED
            return ""
        if kind == _DELETED or self._options.wants(uri, change.type):
            return kind
        return "" if kind == _CREATED else _DELETED

    def _restore_shared(self) -> None:
        """Let what is deleted from one set, and still is in another, be updated."""
        db = self._state.db
        rows = db.execute("SELECT uri, set_number FROM change WHERE kind = 'deleted' AND set_number > 0").fetchall()
        for number, one in enumerate(self.sets, 1):
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

    def _current(self, one: ResourceSet) -> Iterator[ListedResource]:
        """Yield what the Resource List of a set has, and then what changed after it."""
        yield from self._listed(one)
        if Capability.CHANGELIST in one.documents:
            changes = ChangeLists(self._source, one).after(self._lists[one.uri], lambda _: None)
            yield from (each for each, _ in changes)


def _described(each: ListedResource) -> tuple[str, int | None, str, str, str]:
    """Return the columns `hash` to `links`."""
    links = json.dumps([(link.rel, link.href, link.type or "") for link in each.links]) if each.links else "[]"
    return each.hash, each.length, each.time, each.type, links
