"""The diff between two publications: what changed, when, and the next listing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication.model.clock import TICK, later
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.listing import Listing, links_size, uri_size
from pelican_resourcesync.publication.model.resource import (
    Listed,
    Representation,
    Resources,
    Row,
    is_hashed,
    is_later,
    paired,
    render_links,
    render_time,
)
from pelican_resourcesync.publication.previous.previous import PreviousPublication

#: The most bytes of a Change List without its entries, and of an entry without its URI and its links.
_HEAD, _ENTRY = 10_000, 500


#: The most differences to remember: if there are more, writing the whole listing again is as fast.
_MOST = 20_000


@dataclass(slots=True)
class Comparison:
    """The result of a comparison: `candidates` are the URIs that were added, removed or may have other bytes, sorted.

    `differing` are all resources that differ from the listing, `None` if there are very many. `gone` are the URIs that
    no longer exist. `relinked` are the URIs of resources whose changed links count as an update. The longest URI and
    links determine how many changes fit into one Change List.
    """

    candidates: list[str] = field(default_factory=list)
    differing: list[Row] | None = None
    gone: list[str] = field(default_factory=list)
    relinked: set[str] = field(default_factory=set)
    _longest: int = 0
    _heaviest: int = 0

    @classmethod
    def of(cls, uris: Iterable[str], previous: PreviousPublication | None = None) -> "Comparison":
        """Return a survey of these URIs and of the previous publication, without reading its closed documents."""
        found = cls()
        for uri in uris:
            found.see(uri)
        if previous:
            found.see_changes(previous.open.changes if previous.open else ())
            found.see_listing(previous.resources)
        return found

    def see_listing(self, listing: Listing) -> None:
        """Include the sizes of a whole listing."""
        longest, heaviest = listing.longest()
        self._longest, self._heaviest = max(self._longest, longest), max(self._heaviest, heaviest)

    def see(self, uri: str, links: str = "") -> None:
        """Include the sizes of one URI and its `links`, as text of a row."""
        self._longest = max(self._longest, uri_size(uri))
        self._heaviest = max(self._heaviest, links_size(links))

    def take(self, new: Row, differing: list[Row]) -> None:
        """Include a resource that differs, and add it to `differing` unless there are very many."""
        self.see(new.uri, new.links)
        if len(differing) <= _MOST:
            differing.append(new)

    def see_changes(self, changes: Iterable[Change]) -> None:
        """Include the sizes of the entries of changes."""
        bare = set()
        for change in changes:
            if change.links:
                self.see(change.uri, render_links(change.links))
            else:
                bare.add(change.uri)
        for uri in bare:  # of which there are often far fewer than changes
            self.see(uri)

    def capacity(self, limits: Limits) -> int:
        """Return how many changes fit into one Change List, whichever of the resources they are for (`X04`)."""
        return max(1, min(limits.entries, (limits.size - _HEAD) // (self._longest + self._heaviest + _ENTRY)))


def compare(now: Resources, previous: PreviousPublication | None, link_changes_below: str = "") -> Comparison:
    """Compare the current resources with the previous listing, by URI.

    If `link_changes_below` is not empty, a resource whose URI begins with it is also a suspect if its links changed.
    """
    found = Comparison()
    if previous is None:
        for row in now.rows():
            found.see(row.uri, row.links)
        return found
    found.see_changes(previous.open.changes if previous.open else ())
    found.see_listing(previous.resources)
    differing: list[Row] = []
    for new, old in _pairs(now, previous):
        if new is None:
            found.gone += [old.uri] if old else []
            found.candidates += found.gone[-1:]
        elif old is None or new.representation != old.representation or _may_differ(new, old):
            found.candidates.append(new.uri)
            found.take(new, differing)
        elif new.links != old.links:
            if link_changes_below and new.uri.startswith(link_changes_below):
                found.candidates.append(new.uri)
                found.relinked.add(new.uri)
            found.take(new, differing)
    found.differing = differing if len(differing) <= _MOST else None
    return found


def _pairs(now: Resources, previous: PreviousPublication) -> Iterable[tuple[Row | None, Row | None]]:
    """Return the current and the previous row of each resource that may differ, sorted by URI."""
    changed = now.changed_since(previous.digest)
    if changed is None:
        return paired(now.rows(), previous.resources.rows())
    pairs = ((row, previous.resources.row(uri)) for uri, row in changed)
    return (pair for pair in pairs if pair != (None, None))


def _may_differ(new: Row, old: Row) -> bool:
    """Return whether bytes without a known hash may be different, because the resource has changed since."""
    return not is_hashed(new.representation) and is_later(new.lastmod, old.lastmod)


@dataclass(slots=True)
class ListingBuilder:
    """Creates the next listing, with the time of each resource's last change, and compares it with the previous one.

    `same` is whether nothing differs, `same_bytes` whether nothing but links differs.
    """

    now: Resources
    previous: Listing | None
    found: Comparison | None = None
    same: bool = True
    same_bytes: bool = True

    def list(self, changes: Iterable[Change], file: Path | None = None) -> Listing:
        """Return the listing after these changes, stored in `file` if given."""
        last = {change.uri: change.time for change in changes}
        times = {uri: render_time(time) for uri, time in last.items()}
        found, previous = self.found, self.previous
        if previous is None or found is None or found.differing is None:
            return Listing.keep(self._rows(times), file)
        if found.gone:
            self.same = self.same_bytes = False
        return previous.changed(self._changed(previous, found.differing, times), found.gone, file)

    def _rows(self, times: Mapping[str, str]) -> Iterator[Row]:
        before: Iterable[Row] = () if self.previous is None else self.previous.rows()
        for new, old in paired(self.now.rows(), before):
            if new is None:
                self.same = self.same_bytes = False
            else:
                yield self._row(new, old, times)

    def _changed(self, previous: Listing, differing: Iterable[Row], times: Mapping[str, str]) -> Iterator[Row]:
        """Yield the rows that are new or different, including those where only `lastmod` changed."""
        seen = set()
        for new in differing:
            seen.add(new.uri)
            yield self._row(new, previous.row(new.uri), times)
        for uri in sorted(times.keys() - seen):
            old = previous.row(uri)
            if old is not None and self.now.get(uri) is not None:
                self.same = self.same_bytes = False
                yield old._replace(lastmod=times[uri])

    def _row(self, new: Row, old: Row | None, times: Mapping[str, str]) -> Row:
        uri, representation, links, changed = new
        row = Row(uri, representation, links, times.get(uri) or (changed if old is None else old.lastmod))
        if row != old:
            self.same = False
            self.same_bytes = self.same_bytes and old is not None and row._replace(links=old.links) == old
        return row


_by_time = attrgetter("time")
_by_uri = attrgetter("uri")


def changes_since(
    previous: Mapping[str, Listed] | None,
    now: Mapping[str, Representation],
    listed: Iterable[Change],
    *,
    unexplained: datetime,
    compared: Comparison | None = None,
) -> list[Change]:
    """Return the changes between two publications, in chronological order and by URI.

    `previous` is the last Resource List, or `None` for a first publication. `now` are the resources as built, and
    `listed` the changes in the history since then, oldest first. A change that the history does not explain gets the
    time `unexplained`. `compared` is the comparison of the two, if known.

    With a previous publication, each URI has at most one change, with the hash, length and type of its bytes. In a
    first publication it has all changes that the history lists, without these.
    """
    if previous is None:
        found = _from_history(now, listed, unexplained)
    else:
        found = _by_bytes(previous, now, listed, unexplained, compared or Comparison([*previous, *now]))
    changes = sorted(found, key=_by_uri)
    changes.sort(key=_by_time)  # sorted twice, because a combined key would build a tuple for each of possibly millions
    return changes


def _by_bytes(
    previous: Mapping[str, Listed],
    now: Mapping[str, Representation],
    listed: Iterable[Change],
    unexplained: datetime,
    compared: Comparison,
) -> Iterator[Change]:
    """Yield one change for each URI that was added, removed or has different bytes; the history only dates it.

    If the bytes are unknown, the history also decides whether they changed.
    """
    times = {change.uri: change.time for change in listed}
    for uri in dict.fromkeys(compared.candidates):
        old, new = previous.get(uri), now.get(uri)
        if old is None:
            kind = ChangeKind.CREATED
        elif new is None:
            kind = ChangeKind.DELETED
        elif old.representation.differs(new) or (new.hash is None and uri in times) or uri in compared.relinked:
            kind = ChangeKind.UPDATED
        else:
            continue
        yield Change(times.get(uri, unexplained), uri, kind, new)


def _from_history(
    now: Mapping[str, Representation], listed: Iterable[Change], unexplained: datetime
) -> Iterator[Change]:
    """Yield the changes that the history lists, corrected at the end if they do not lead to the current resources."""
    lives: dict[str, list[Change]] = {uri: [] for uri in now}
    for change in listed:
        lives.setdefault(change.uri, []).append(change)
    for uri, life in lives.items():
        steps = list(_steps(life))
        yield from steps
        exists = uri in now
        if exists != (bool(steps) and steps[-1].kind is not ChangeKind.DELETED):
            time = max(unexplained, steps[-1].time + TICK) if steps else unexplained
            yield Change(time, uri, ChangeKind.CREATED if exists else ChangeKind.DELETED)


def _steps(life: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes of one URI, at most one per time, so that it is created before it is updated or deleted."""
    present = False
    last: dict[datetime, Change] = {change.time: change for change in life}
    for change in last.values():
        stays = change.kind is not ChangeKind.DELETED
        if present or stays:
            kind = ChangeKind.DELETED if not stays else ChangeKind.UPDATED if present else ChangeKind.CREATED
            yield change if change.kind is kind else change._replace(kind=kind)
        present = stays


def count_unstable(before: Mapping[str, int], changes: Iterable[Change]) -> dict[str, int]:
    """Return for each URI in how many publications in a row it was updated without an explanation.

    `before` are the counts of the previous publication, `changes` the changes since then.
    """
    return {each.uri: before.get(each.uri, 0) + 1 for each in changes if each.kind is ChangeKind.UPDATED}


def make_times_unique(
    changes: Iterable[Change],
    *,
    floor: datetime | None,
    limit: int,
    divide: Callable[[Sequence[Change]], Iterable[Sequence[Change]]] = lambda together: (together,),
) -> list[Change]:
    """Move `changes`, in chronological order, to times after `floor` and apart, so that none is back-dated.

    Each time becomes strictly later than `floor` and than the time before it. Changes of the same time stay together,
    but at most `limit` of them, and only those that `divide` leaves together. Changes that do not fit into the same
    document or package come a millisecond later.
    """
    moved: list[Change] = []
    for time, group in groupby(changes, key=_by_time):
        together = list(group)
        for start in range(0, len(together), limit):
            for part in divide(together[start : start + limit]):
                floor = later(time, floor)
                moved += part if part[0].time == floor else [change._replace(time=floor) for change in part]
    return moved
