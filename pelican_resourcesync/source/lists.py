"""The Change Lists of a set, with those of its archive: what changed since a time, if they reach back to it."""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from pelican_resourcesync.errors import DocumentError, ResourceSyncError
from pelican_resourcesync.http import shown
from pelican_resourcesync.protocol import Capability, ChangeKind, Document, Entry, Metadata
from pelican_resourcesync.source.discovery import SourceSet
from pelican_resourcesync.source.resource import ListedResource, listed_change, text_of, uri_of, why_unreadable
from pelican_resourcesync.source.source import UNREAD, OpenDocument, Source

_NONE = Metadata()
_SKEW = timedelta(minutes=5)  # by which clocks may differ
_DIGITS = 32  # of a hash
_UNKNOWN = "?"  # instead of a hash
_FEW = 1_000  # changes in a list that is read again while its successor is the last one


def clock() -> datetime:
    """Return the time by the clock of this machine."""
    return datetime.now(UTC)


class GapError(DocumentError):
    """Raised when Change Lists do not lead from a position to now: the changes in between are not known."""


class OrderError(DocumentError):
    """Raised for changes that cannot be put in order."""


class Position(NamedTuple):
    """How far a set was followed: the first `number` changes listed at the time `at`, of which `mark` is a hash.

    `digest` is a hash of all changes listed after the time `since`, up to there: where these are listed otherwise, the
    publisher went back and published other changes in their place. `reach` is when the Resource List that it began with
    was completed, where some publishers begin their Change Lists. `opened` is when the last of the Change Lists began:
    where that goes back, the clock of the publisher did. `listed` is a hash of the Resource List of a follower, as long
    as no change was followed that it does not show.
    """

    at: str
    number: int = 0
    mark: str = ""
    since: str = ""
    digest: str = ""
    reach: str = ""
    opened: str = ""
    listed: str = ""

    @property
    def is_ahead(self) -> bool:
        """Whether it is later than our clock, by more than clocks may differ."""
        return self.at > text_of(clock() + _SKEW)

    def remembered(self) -> "Position":
        """Return the position as it is remembered: no later than our clock, so that what comes is not passed over."""
        now = text_of(clock())
        if self.at > now:
            return Position(now, reach=min(self.reach, now), opened=self.opened, listed=self.listed)
        return self._replace(reach=min(self.reach, now))

    def next(self, change: ListedResource) -> "Position":
        """Return the position after a change, which is listed after it."""
        number, mark = (self.number, self.mark) if change.time == self.at else (0, "")
        here = self._replace(at=change.time, number=number + 1, listed="")
        if why_unreadable(change.hash):  # its publisher will correct it
            return here._replace(mark=_UNKNOWN, since=change.time, digest="")
        mark = mark if mark == _UNKNOWN else _hash(mark, change)
        digest = _hash(self.digest, change) if change.time > self.since else self.digest
        return here._replace(mark=mark, digest=digest)


def _hash(before: str, change: ListedResource) -> str:
    """Return a hash of a change and of those before it, whose hash is given."""
    text = "\n".join((before, change.uri, change.time, change.change, change.hash, str(change.length)))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


class ChangeList(NamedTuple):
    """A Change List: its URI, and the times that it covers, empty if they are unknown or open."""

    uri: str
    begin: str
    until: str


class ChangeLists:
    """The Change Lists of a set.

    `begin` is the time from which those that were read last cover all changes, and `opened` when the last one began.
    `begun` is the position from which the changes are yielded, and `reached` the last one.
    """

    begun: Position
    reached: Position

    def __init__(self, source: Source, resource_set: SourceSet) -> None:
        self._source, self._documents = source, resource_set.documents
        self.begin = self.opened = ""
        self._torn = ""
        self._open: dict[str, OpenDocument] = {}  # the only list, until it is read

    def take(
        self,
        position: Position,
        take: Callable[[ListedResource, Position], object],
        note: Callable[[str], None] | None = None,
    ) -> ResourceSyncError | None:
        """Pass the changes after a position to a function, in order, each with the position that it leads to.

        Return why the lists cannot be used, a `GapError` if they do not reach back to the position, or None if they can
        be used: otherwise, what was passed counts for nothing. With `note`, call that where they do not reach back, and
        pass the changes that they have.
        """
        try:
            with closing(self):
                for change, here in self._after(position, note):
                    take(change, here)
        except UNREAD as error:
            return error
        return None

    def _after(
        self, position: Position, note: Callable[[str], None] | None
    ) -> Iterator[tuple[ListedResource, Position]]:
        lists = self._since(position)
        needed = [change_list for change_list in lists if not change_list.until or change_list.until >= position.at]
        if needed:
            self.begin, self.opened = needed[0].begin, needed[-1].begin
        if gap := _gap(needed, position):
            if note is None:
                raise GapError(gap)
            note(gap)
        here = Position("", since=max([position.since, *(change_list.begin for change_list in lists[:1])]))
        verified, last, count = False, here, 0  # in the last list
        for listed, change, is_late in self._placed(lists, position):
            if not verified and (is_late or (change.time, here.next(change).number) > position[:2]):
                here, verified = self._verified(position, here, is_late=is_late), True
            if listed.begin > last.since and listed.begin >= here.at:
                if verified:  # so that what came before need not be read again
                    last = last if count <= _FEW else Position("", since=listed.begin)
                    here = here._replace(since=last.since, digest=last.digest)
                last, count = Position("", since=listed.begin), 0
            here, last, count = here.next(change), last.next(change), count + 1
            if verified:
                self.reached = here
                yield change, here
        if not verified:
            self._verified(position, here)

    def _verified(self, position: Position, here: Position, *, is_late: bool = False) -> Position:
        """Return a position as it is in the lists that were read up to `here`. Raises `GapError` if it is not there.

        `is_late`: what comes next is after it, although its place is not, because it has no time.
        """
        if position.number and (here[:2] != position[:2] or position.mark not in (here.mark, _UNKNOWN)):
            message = "the last change that was followed is no longer listed"
            raise GapError(message)
        if position.since and here.since == position.since and here.digest != position.digest:
            message = "the changes that were followed are now listed differently"
            raise GapError(message)
        at = here if is_late else position
        self.begun = self.reached = position._replace(
            at=at.at, number=at.number, mark=at.mark, since=here.since, digest=here.digest
        )
        return self.begun

    def _since(self, position: Position) -> list[ChangeList]:
        """Return the lists that `digest` of a position covers, and what follows, also in the archive if need be."""
        since = position.at
        lists = self._all(self._documents[Capability.CHANGELIST], Capability.CHANGELIST)
        begin = lists[0].begin if lists else ""
        if Capability.CHANGELIST_ARCHIVE in self._documents and (not begin or begin > since):
            archived = self._all(self._documents[Capability.CHANGELIST_ARCHIVE], Capability.CHANGELIST_ARCHIVE)
            lists = [
                change_list
                for change_list in archived
                if change_list.until and change_list.until <= (begin or change_list.until)
            ] + lists
        digested = position.since or since
        return [
            change_list
            for change_list in lists
            if not change_list.until or change_list.until >= since or change_list.until > digested
        ]

    def every(self) -> list[ChangeList]:
        """Return all lists in reach: those of the archive too."""
        found: dict[str, ChangeList] = {}
        for capability in (Capability.CHANGELIST_ARCHIVE, Capability.CHANGELIST):
            if capability in self._documents:
                for change_list in self._all(self._documents[capability], capability):
                    found[change_list.uri] = change_list
        self.close()
        return list(found.values())

    @property
    def torn(self) -> GapError | None:
        """What is wrong if the last list that was read has ended, and its index does not say so.

        Its publisher is replacing one document after the other: the list may have new changes, and the index may lack a
        list with later ones.
        """
        return GapError(f"{shown(self._torn)} is newer than its index") if self._torn else None

    def close(self) -> None:
        """Close what was opened and not read."""
        while self._open:
            self._open.popitem()[1].close()

    def read(self, change_list: ChangeList) -> Generator[ListedResource, None, None]:
        """Yield the changes that a list names."""
        opened = self._open.get(change_list.uri) or self._source.whole_document(change_list.uri, Capability.CHANGELIST)
        self._open[change_list.uri] = opened  # so that `close` closes it if nobody reads on
        try:
            self._torn = "" if change_list.until or not _times(opened.document, change_list.uri)[1] else change_list.uri
            yield from (listed_change(entry, change_list.uri) for entry in opened.entries)
        finally:
            self._open.pop(change_list.uri, None)
            opened.close()

    def _all(self, uri: str, capability: Capability) -> list[ChangeList]:
        """Return the lists that a document of a capability names, or that it is."""
        if capability == Capability.CHANGELIST_ARCHIVE:
            with closing(self._source.entries(uri, capability, remembered=False)) as entries:
                return self._named(uri, entries)
        opened = self._source.whole_document(uri, capability)
        if opened.is_index:
            with closing(opened):
                return self._named(uri, opened.entries)
        self._open[uri] = opened
        return [ChangeList(uri, *_times(opened.document, uri))]

    def _named(self, uri: str, entries: Iterable[Entry]) -> list[ChangeList]:
        """Return the lists that an index or archive names, each with its times."""
        found: dict[str, ChangeList] = {}
        for entry in self._source.limited(entries, uri):
            md, loc = entry.md or _NONE, uri_of(entry.loc, uri)
            times = text_of(md.from_), text_of(md.until)
            if (md.from_ is None or "attribute until" in dict(entry.unreadable)) and loc not in found:
                with closing(self._source.whole_document(loc, Capability.CHANGELIST)) as opened:
                    times = _times(opened.document, loc)
            found.setdefault(loc, ChangeList(loc, *times))
        return [*found.values()]

    def _placed(
        self, lists: Iterable[ChangeList], position: Position
    ) -> Iterator[tuple[ChangeList, ListedResource, bool]]:
        """Yield the changes of lists in order, each with its list, and whether it is later than its place.

        A change without a time has a place after the one before it. It may be later than the Resource List that a
        position is of: this is so if the next change that has a time is.
        """
        waiting: list[tuple[ChangeList, ListedResource]] = []
        for listed, change, is_dated in self._in_order(lists):
            if not is_dated and not position.number and change.time < position.at:
                waiting.append((listed, change))
                if len(waiting) > _FEW:
                    message = f"{shown(listed.uri)} lists more than {_FEW:,} changes in a row without a time"
                    raise DocumentError(message)
                continue
            yield from ((*undated, change.time >= position.at) for undated in waiting)
            waiting.clear()
            yield listed, change, False
        yield from ((*undated, True) for undated in waiting)

    def _in_order(self, lists: Iterable[ChangeList]) -> Iterator[tuple[ChangeList, ListedResource, bool]]:
        """Yield the changes of lists in order, each with its list, and whether it has a time."""
        latest = ""
        for listed in lists:
            with closing(self.read(listed)) as changes:
                for change in changes:
                    try:
                        placed = _placed(change, latest)
                    except OrderError as error:
                        message = f"{shown(listed.uri)}: {error}"
                        raise DocumentError(message) from None
                    latest = placed.time
                    yield listed, placed, bool(change.time)


def _times(document: Document, uri: str) -> tuple[str, str]:
    """Return the times that a Change List covers. Raises `DocumentError` if they cannot be read."""
    for what, why in document.unreadable:
        if what in ("attribute from", "attribute until"):
            message = f"{shown(uri)}: {what}: {why}"
            raise DocumentError(message)
    md = document.md or _NONE
    return text_of(md.from_), text_of(md.until)


def _gap(lists: list[ChangeList], position: Position) -> str:
    """Return what is missing between a position and the end of lists, in words."""
    if not lists:
        return ""
    begin = lists[0].begin
    if not begin or begin > max(position.at, position.reach):
        return f"the Change Lists begin at {begin or 'an unknown time'}, but the copy is of {position.at}"
    if lists[-1].begin < position.opened:
        return f"the Change Lists start again at {lists[-1].begin}, before {position.opened}"
    for earlier, later in pairwise(lists):
        if earlier.until and later.begin > earlier.until:  # without an end, a list covers all that comes
            return f"there is a gap before {shown(later.uri)}"
    return ""


def why_unusable(failure: ResourceSyncError) -> str:
    """Return why Change Lists cannot be used, or do not reach back to a position, in words."""
    return str(failure) if isinstance(failure, GapError) else f"the Change Lists cannot be used: {failure}"


def in_order(changes: Iterable[ListedResource]) -> Iterator[ListedResource]:
    """Yield changes, each with a time: that of the one before where there is none.

    Raises `OrderError` if the first has no time, if one has no kind, or is out of order.
    """
    latest = ""
    for change in changes:
        placed = _placed(change, latest)
        latest = placed.time
        yield placed


def _placed(resource: ListedResource, latest: str) -> ListedResource:
    """Return a change with a time, which is that of the one before, `latest`, if it has none; see `in_order`."""
    unreadable = why_unreadable(resource.hash)
    time, change = resource.time, resource.change
    if unreadable:  # that it changed is known, but not whether before or after the position, if it has no time
        change = change or ChangeKind.UPDATED
    else:
        time = time or latest
    if not time or not change:
        message = f"{shown(resource.uri)} is listed as changed without a time or kind of change"
        raise OrderError(f"{message}: {unreadable}" if unreadable else message)
    if time < latest:
        message = (
            f"the change of {shown(resource.uri)} at {time} is listed after one at {latest}; its publisher should "
            "list changes in the order of their times (CH03)"
        )
        raise OrderError(message)
    return resource if resource.time and resource.change else resource._replace(time=time, change=change)
