"""What a follower is to yield next: of each resource its last state since a cursor, in order of time."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from pelican_resourcesync.destination.copy import State, strongest
from pelican_resourcesync.destination.following.cursor import Cursor, Position, Row
from pelican_resourcesync.destination.options import IncompleteError, MirrorError, Options
from pelican_resourcesync.destination.source import ChangeLists, Discovery, ResourceSet, Source, text_of, uri_of
from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Capability, ChangeKind, Entry, Metadata

_NONE = Metadata()
_CREATED, _UPDATED, _DELETED = (str(each) for each in (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED))
_WRITTEN = 1_000  # entries that are written at once
_PAGE = 500  # resources that are fetched together
_PAGE_SIZE = 200_000_000  # bytes of these
_UNKNOWN = 100_000  # bytes, where a length is not listed
_LISTED, _OWED = 0, -1  # instead of the number of a set: from a Resource List, or owed from an earlier call
_TABLE = """CREATE TEMP TABLE IF NOT EXISTS change (
    uri TEXT PRIMARY KEY, at TEXT NOT NULL, part INTEGER NOT NULL, number INTEGER NOT NULL, count INTEGER NOT NULL,
    first TEXT NOT NULL, kind TEXT NOT NULL, hash TEXT NOT NULL, length INTEGER, time TEXT NOT NULL, type TEXT NOT NULL,
    links TEXT NOT NULL) WITHOUT ROWID"""
# What is owed, then what the Resource Lists have, by URI, and then changes by time.
_IN_ORDER = "SELECT * FROM change ORDER BY at, part, number, uri"
_INSERT = """INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uri) DO UPDATE SET
    at = excluded.at, part = excluded.part, number = excluded.number, count = excluded.count, kind = excluded.kind,
    hash = excluded.hash, length = excluded.length, time = excluded.time, type = excluded.type, links = excluded.links
    WHERE """
# Of two lists that have a resource, the one that saw it later is right.
_IN_LIST = "change.part < 0 OR excluded.time > change.time"
# A change that the Resource List shows already is none. Of two sets, the last change counts.
_CHANGED = """(excluded.part = change.part OR excluded.at > change.at) AND NOT (
    change.part = 0 AND excluded.kind <> 'deleted' AND excluded.hash <> '' AND excluded.hash = change.hash)"""

#: A row to be yielded, with the number of its set, and the position that it leads to if it is from a Change List.
Found = tuple[Row, int, Position | None]
#: What the columns `hash` to `links` have.
_Described = tuple[str, int | None, str, str, str]
_Columns = tuple[str, str, int, int, int, str, str, str, int | None, str, str, str]


class Batch:
    """What is to be yielded after a cursor.

    `sets` are those that are followed, `end` is where it leads, and `foreign` resources are on hosts that may not be
    asked.
    """

    def __init__(self, state: State, source: Source, options: Options, note: Callable[[str], None]) -> None:
        self._state, self._source, self._options, self._note = state, source, options, note
        self._rows: list[_Columns] = []
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
        self.sets = Discovery(self._source, self._state, self._options).sets()
        if cursor is not None:
            self._clear()
            same = sorted(cursor.sets) == sorted(each.uri for each in self.sets)
            if not same or cursor.selection != self._options.selection:
                self._note("other sets or resources are followed than before: everything is read again")
            elif self._continue(cursor):
                return cursor, False
        self._clear()
        self._read_lists(after="")
        begin = dict(self._lists)
        self._read_changes(begin, fresh=True)
        self._refuse_older(cursor)
        self._state.db.execute("DELETE FROM change WHERE kind = 'deleted'")  # nothing of these was yielded
        return Cursor(self._options.selection, self._begin, after=""), cursor is not None

    def pages(self) -> Iterator[list[Found]]:
        """Yield what was read, in order, some at a time."""
        page: list[Found] = []
        size = 0
        for uri, at, part, _, count, first, kind, digest, length, time, media_type, links in self._state.db.execute(
            _IN_ORDER
        ):
            shown = kind if kind == _DELETED else _CREATED if first == _CREATED else _UPDATED
            position = None
            if part > 0:
                position = self.end[self.sets[part - 1].uri]._replace(at=at, number=count, mark=uri)
            more = _UNKNOWN if length is None else length
            if page and (len(page) == _PAGE or size + more > _PAGE_SIZE):
                yield page
                page, size = [], 0
            page.append((Row(uri, shown, digest, length, time, media_type, links), part, position))
            size += more
        if page:
            yield page

    def after(self, found: Found, now: Cursor) -> Cursor:
        """Return the cursor after a row of a page."""
        row, part, position = found
        if position is not None:
            return replace(now, after=None, sets={**now.sets, self.sets[part - 1].uri: position})
        return replace(now, after=row.uri) if part == _LISTED else now

    def count(self) -> tuple[int, int]:
        """Return how many resources are to be yielded, and about how many bytes they have."""
        query = "SELECT count(*), coalesce(sum(coalesce(length, ?)), 0) FROM change"
        count, size = self._state.db.execute(query, (_UNKNOWN,)).fetchone()
        return count, size

    def _continue(self, cursor: Cursor) -> bool:
        """Read the changes since a cursor; return False if they do not reach back to it, for a reason that is noted."""
        for row in cursor.owed.values():
            self._add((row.uri, "", _OWED, 0, 0, row.kind, *row[1:]), _IN_LIST)
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
        self._rows.clear()
        self._state.db.execute("DELETE FROM change")
        self.end = {}
        self._lists, self._begin = {}, {}
        self.foreign = 0

    def _add(self, columns: _Columns, condition: str) -> None:
        self._rows.append(columns)
        if len(self._rows) >= _WRITTEN:
            self._write(condition)

    def _write(self, condition: str) -> None:
        with self._state.transaction():
            self._state.db.executemany(_INSERT + condition, self._rows)
        self._rows.clear()

    # Resource Lists

    def _read_lists(self, after: str) -> None:
        """Read what the Resource Lists have after a URI."""
        for each in self.sets:
            for uri, media_type, described in self._listed(each):
                if uri > after and self._options.wants(uri, media_type):
                    if self._source.allows(uri):
                        self._add((uri, "", _LISTED, 0, 0, _CREATED, _CREATED, *described), _IN_LIST)
                    else:
                        self.foreign += 1
        self._write(_IN_LIST)

    def _listed(self, part: ResourceSet) -> Iterator[tuple[str, str, _Described]]:
        """Yield what the Resource List of a set has, and then remember its position."""
        documents = part.documents
        kind = Capability.RESOURCELIST if Capability.RESOURCELIST in documents else ""
        if kind not in documents:
            message = f"the set {part.name!a} has no Resource List, so that following it cannot begin"
            raise MirrorError(message)
        whole, latest = hashlib.sha256(), ""
        entries = self._source.entries(documents[kind], kind, remembered=False)
        with closing(entries):
            for entry in entries:
                uri, md = uri_of(entry, part.uri), entry.md or _NONE
                described = _describe(entry, md, text_of(entry.lastmod))
                whole.update(repr((uri, described)).encode())
                latest = max(latest, described[2])
                yield uri, described[3], described
        md = (entries.root.md if entries.root else None) or _NONE
        at, completed = text_of(md.at), text_of(md.completed)
        if Capability.CHANGELIST in documents:
            self._lists[part.uri] = Position(at or latest, reach=completed or at or latest)
        else:
            self._lists[part.uri] = Position(at, digest=whole.hexdigest())

    # Change Lists

    def _read_changes(self, positions: Mapping[str, Position], *, fresh: bool) -> bool:
        """Read the changes of all sets; return False if they do not reach back to the positions, which is noted.

        `fresh`: these are the positions of Resource Lists that were just read, so there is no other way.
        """
        for number, part in enumerate(self.sets, 1):
            begin = positions[part.uri]
            if Capability.CHANGELIST not in part.documents:
                if not fresh:
                    for _ in self._listed(part):  # to the end, to see whether it is the same
                        pass
                self.end[part.uri] = self._begin[part.uri] = self._lists[part.uri]
                if begin.digest != self.end[part.uri].digest:
                    self._note(f"{part.name}: it has no Change Lists, and its list has changed: it is read again")
                    return False
            else:
                try:
                    end = self._read_set(number, part, begin, fresh=fresh)
                except DocumentError as error:
                    message = f"the Change Lists of the set {part.name!a} cannot be used: {error}"
                    raise IncompleteError(message) from error
                if end is None:
                    return False
                self.end[part.uri] = end
        if len(self.sets) > 1:
            self._keep_shared()
        return True

    def _read_set(self, number: int, part: ResourceSet, begin: Position, *, fresh: bool) -> Position | None:
        """Read the changes of a set; return its last position, None if they do not reach back to the first one."""
        what = "what changed between is not known" if fresh else "everything is read again"
        lists = ChangeLists(self._source, self._options, part)
        changes = lists.since(
            begin.at, begin.reach, lambda gap: self._note(f"{part.name}: {gap}: {what}"), anyway=fresh
        )
        if changes is None:
            return None
        last, count, mark, found, shown = begin.at, 0, "", begin.number == 0, fresh
        self._begin[part.uri] = begin
        for order, (entry, md, time) in enumerate(changes):
            if time < begin.at:
                continue
            uri = uri_of(entry, part.uri)
            last, count, mark = time, (count + 1 if time == last else 1), uri
            if time == begin.at and count <= begin.number:
                found = count == begin.number and uri == begin.mark
                continue
            kind, described = self._kind(uri, md), _describe(entry, md, time)
            shown = shown and time == begin.at and self._shows(uri, kind, described[0])
            if shown:
                self._begin[part.uri] = begin._replace(number=count, mark=uri)
            elif kind:
                self._add((uri, time, number, order, count, kind, kind, *described), _CHANGED)
        self._write(_CHANGED)
        if not found:
            self._note(f"{part.name}: the last change that was followed is no longer listed: everything is read again")
            return None
        reach = max(begin.reach, lists.begin) if fresh else begin.reach
        self._begin[part.uri] = self._begin[part.uri]._replace(reach=reach)
        return Position(last, count, mark, reach)

    def _shows(self, uri: str, kind: str, digest: str) -> bool:
        """Return whether the Resource List shows a change already."""
        listed = self._state.db.execute("SELECT hash FROM change WHERE uri = ? AND part = 0", (uri,)).fetchone()
        return not kind or (not listed if kind == _DELETED else bool(digest and listed and listed[0] == digest))

    def _kind(self, uri: str, md: Metadata) -> str:
        """Return what a change is to the follower: deleted, too, if it is no longer selected; "" if it is nothing."""
        kind = str(md.change)
        if not self._options.wants_uri(uri):
            return ""
        if not self._source.allows(uri):
            self.foreign += kind == _CREATED
            return ""
        if kind == _DELETED or self._options.wants(uri, md.type):
            return kind
        return "" if kind == _CREATED else _DELETED

    def _keep_shared(self) -> None:
        """Keep what is deleted from one set, and still is in another."""
        rows = self._state.db.execute("SELECT uri, part FROM change WHERE kind = 'deleted' AND part > 0").fetchall()
        for number, part in enumerate(self.sets, 1):
            gone = {uri for uri, of in rows if of != number}
            for uri, described in (self._now(part, gone) if gone else {}).items():
                self._state.db.execute(
                    "UPDATE change SET kind = 'updated', hash = ?, length = ?, time = ?, type = ?, links = ? "
                    "WHERE uri = ?",
                    (*described, uri),
                )

    def _now(self, part: ResourceSet, uris: set[str]) -> dict[str, _Described]:
        """Return which of some resources are in a set now."""
        found = {
            uri: described
            for uri, media_type, described in self._listed(part)
            if uri in uris and self._options.wants(uri, media_type)
        }
        position = self._lists[part.uri]
        if Capability.CHANGELIST in part.documents:
            changes = ChangeLists(self._source, self._options, part).since(
                position.at, position.reach, lambda _: None, anyway=True
            )
            for entry, md, time in changes or ():
                uri = uri_of(entry, part.uri)
                if uri in uris and time >= position.at:
                    found.pop(uri, None)
                    if md.change is not ChangeKind.DELETED and self._options.wants(uri, md.type):
                        found[uri] = _describe(entry, md, time)
        return found


def _describe(entry: Entry, md: Metadata, time: str) -> _Described:
    length = md.length if md.length is not None and md.length >= 0 and not md.encoding else None
    links = json.dumps([(each.rel, each.href, each.type or "") for each in entry.links]) if entry.links else "[]"
    return strongest(md.hash), length, time, md.type or "", links
