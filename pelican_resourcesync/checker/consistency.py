"""Check whether the snapshots of each set and the changes between them add up."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from pelican_resourcesync.checker.crawler import MANIFESTS, Crawler, EntryDatabase, EntryFault, Row, packed_id
from pelican_resourcesync.checker.document import CheckedDocument
from pelican_resourcesync.checker.values import disagreement, read_time

Interval = tuple[float, float]
"""A start and an end, in seconds since 1970; the end of an open interval is infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A Resource List or a Resource Dump, current or archived, all parts of which were read.

    `number` is its number in the database. It includes every change up to `at`, and may include later ones up to `end`
    (RL02).
    """

    uri: str
    number: int
    at: float
    end: float
    dump: bool

    @classmethod
    def read(cls, crawler: Crawler, top: str, documents: list[CheckedDocument]) -> Self | None:
        """Return the snapshot with these documents, or None if it is of another kind, or not all of it was read."""
        capabilities = {document.capability for document in documents}
        if capabilities not in ({"resourcelist"}, {"resourcedump"}):
            return None
        if dump := "resourcedump" in capabilities:
            manifests = _manifests(crawler, documents)
            if manifests is None:
                return None
            documents = documents + manifests
        begins, ends = (_moments(documents, name) for name in ("at", "completed"))
        if not begins:
            return None
        number = crawler.number(top)
        return cls(
            uri=top, number=packed_id(number) if dump else number, at=min(begins), end=max(begins + ends), dump=dump
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPair:
    """Two snapshots, of which `before` may be missing, and the changes between them.

    The Change Lists numbered `series` list all changes after `since` and up to `end`. Changes after `low` are not in
    `before`.
    """

    before: Snapshot | None
    after: Snapshot
    since: float
    low: float
    series: int

    @property
    def mixed(self) -> bool:
        """Whether a Resource Dump is compared with a Resource List."""
        return self.before is not None and self.before.dump != self.after.dump

    @property
    def end(self) -> float:
        """The time up to which changes may be in either snapshot."""
        return max(self.after.end, self.before.end if self.before else -math.inf)


def pairs(crawler: Crawler) -> Iterator[SnapshotPair]:
    """Yield the pairs of snapshots of each set that must add up with the changes between them, if all are listed.

    A Resource List is compared with the one before it, and a Resource Dump with the Resource List nearest in time.
    """
    for owner, found in _snapshots(crawler).items():
        lists = [snapshot for snapshot in found if not snapshot.dump] or found
        covered = change_lists(crawler, owner)
        series = crawler.number(owner)
        for before, after in zip([None, *lists], lists, strict=False):
            yield from _pair(before, after, covered, series)
        for dump in found if any(not snapshot.dump for snapshot in found) else ():
            if dump.dump:
                # The earlier one if two are equally near.
                nearest = min(lists, key=lambda snapshot: (abs(snapshot.at - dump.at), snapshot.at))
                before, after = (nearest, dump) if nearest.at <= dump.at else (dump, nearest)
                yield from (pair for pair in _pair(before, after, covered, series) if pair.before)


def _pair(before: Snapshot | None, after: Snapshot, covered: list[Interval], series: int) -> Iterator[SnapshotPair]:
    end = max(after.end, before.end if before else after.end)
    run = next((interval for interval in covered if interval[0] <= after.at and end <= interval[1]), None)
    since = after.at if run is None else math.nextafter(run[0], -math.inf)
    if before is not None and (before.at == after.at or since < before.at):
        yield SnapshotPair(before=before, after=after, since=min(since, before.at), low=before.at, series=series)
    elif run is not None:
        yield SnapshotPair(before=None, after=after, since=since, low=since, series=series)


def _snapshots(crawler: Crawler) -> dict[str, list[Snapshot]]:
    """Return the snapshots of each Capability List, oldest first."""
    groups: dict[str, list[CheckedDocument]] = defaultdict(list)
    for uri, top in crawler.tops.items():
        document = crawler.documents.get(uri)
        if document and document.capability not in MANIFESTS and top not in crawler.broken:
            groups[top].append(document)
    found: dict[str, list[Snapshot]] = {owner: [] for owner in dict.fromkeys(crawler.owners.values())}
    for top, documents in groups.items():
        snapshot = Snapshot.read(crawler, top, documents)
        if snapshot is not None:
            found[crawler.owners[top]].append(snapshot)
    return {
        owner: sorted(snapshots, key=lambda snapshot: (snapshot.at, snapshot.uri)) for owner, snapshots in found.items()
    }


def change_lists(crawler: Crawler, owner: str) -> list[Interval]:
    """Return the intervals whose changes are all in the Change Lists of a set that were read."""
    return _merged(_interval(document) for document in _documents(crawler, owner, "changelist"))


def change_dumps(crawler: Crawler, owner: str) -> list[Interval]:
    """Return the intervals whose changes are all in the Change Dumps of a set whose manifests were read.

    An open Change Dump extends to the end of its last package: later changes go into a future package.
    """
    intervals = []
    for document in _documents(crawler, owner, "changedump"):
        manifests = _manifests(crawler, [document])
        if manifests is not None:
            begin, end = _interval(document)
            if math.isinf(end):
                packages = [item.md.get("until") for item in document.pointers]
                ends = [time for text in packages if (time := _seconds(text)) is not None]
                end = max([*ends, *_moments(manifests, "until")], default=begin)
            intervals.append((begin, end))
    return _merged(intervals)


def overlaps(some: list[Interval], others: list[Interval]) -> Iterator[Interval]:
    """Yield the intersections of two lists of intervals."""
    for first, last in some:
        for begin, end in others:
            if max(first, begin) < min(last, end):
                yield max(first, begin), min(last, end)


def _documents(crawler: Crawler, owner: str, capability: str) -> Iterator[CheckedDocument]:
    for uri, document in crawler.documents.items():
        if document and document.capability == capability and document.readable and not document.head.is_index:
            yield from [document] if crawler.owners.get(uri) == owner else []


def _manifests(crawler: Crawler, documents: list[CheckedDocument]) -> list[CheckedDocument] | None:
    """Return the manifests of all packages, or None if one was not read."""
    dumps = (document for document in documents if not document.head.is_index)
    found = [crawler.manifests.get(item.loc) for dump in dumps for item in dump.pointers]
    known = [document for document in found if document is not None and document.readable]
    return known if len(known) == len(found) else None


def _interval(document: CheckedDocument) -> Interval:
    begin, end = _seconds(document.head.md.get("from")), _seconds(document.head.md.get("until"))
    if "until" in document.head.md and end is None:
        begin = None
    return (math.inf if begin is None else begin), (math.inf if end is None else end)


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _moments(documents: list[CheckedDocument], name: str) -> list[float]:
    return [time for document in documents if (time := _seconds(document.head.md.get(name))) is not None]


def _seconds(text: str | None) -> float | None:
    time = read_time(text)
    return time.timestamp() if time else None


_TABLES = """
CREATE TEMP TABLE last (uri INTEGER PRIMARY KEY, time REAL, change TEXT, hash TEXT, document INT, line INT);
CREATE TEMP TABLE unsure (uri INTEGER PRIMARY KEY);
"""


@dataclass(slots=True)
class SnapshotComparison:
    """Queries about one pair of snapshots after another.

    The table `last` holds the last change of each URI up to the time of the later snapshot. The table `unsure` holds
    the URIs that changed while a snapshot was taken, or at an uncertain time; these are not checked. No fault is
    reported twice: if the last change agrees with the later snapshot, the earlier snapshot is wrong, and this was
    reported when that snapshot was the later one.
    """

    database: EntryDatabase
    pair: SnapshotPair = field(init=False)
    _known: tuple[int, float, float] | None = None

    def __post_init__(self) -> None:
        for table in filter(str.strip, _TABLES.split(";")):
            self.database.put(table)

    def begin(self, pair: SnapshotPair) -> None:
        """Find the last changes for a pair; if it continues the previous pair, only new changes are added."""
        self.pair = pair
        if self._known is None or self._known[:2] != (pair.series, pair.since) or self._known[2] > pair.after.at:
            self.database.put("DELETE FROM last")
            self._known = pair.series, pair.since, pair.since
        # If several changes have the same time, the one read last is kept.
        self.database.put(
            "INSERT OR REPLACE INTO last SELECT uri, time, change, hash, document, line FROM changed"
            " WHERE series = ? AND time > ? AND time <= ? AND change IN ('created', 'updated', 'deleted')"
            " ORDER BY time, rowid",
            pair.series, self._known[2], pair.after.at,
        )  # fmt: skip
        self._known = pair.series, pair.since, pair.after.at
        self.database.put("DELETE FROM unsure")
        unsure = "INSERT OR IGNORE INTO unsure SELECT uri FROM changed WHERE series = ? AND"
        self.database.put(f"{unsure} time > ? AND time <= ?", pair.series, pair.after.at, pair.end)
        self.database.put(f"{unsure} time IS NULL", pair.series)

    def not_as_changed(self) -> Iterator[EntryFault]:
        """Yield the last changes that contradict the later snapshot: deleted but listed, or changed but not listed."""
        query = (
            "SELECT document, line, change FROM last WHERE uri NOT IN (SELECT uri FROM unsure) AND time > ?"
            " AND (change = 'deleted') = EXISTS (SELECT 1 FROM listed WHERE snapshot = ? AND listed.uri = last.uri)"
            " ORDER BY document, line"
        )
        after = self.pair.after
        for document, line, change in self.database.ask(query, self.pair.low, after.number):
            where = f"{'still' if change == 'deleted' else 'not'} in the Resource {'Dump' if after.dump else 'List'}"
            yield document, line, f"last {change}, but {where} {after.uri!a}"

    def other_than_changed(self) -> Iterator[EntryFault]:
        """Return the entries of the later snapshot whose hash differs from that of their last change."""
        query = (
            "SELECT one.document, one.line, one.hash, last.hash FROM last"
            " JOIN listed AS one ON one.snapshot = ? AND one.uri = last.uri"
            " WHERE last.uri NOT IN (SELECT uri FROM unsure) AND time > ? AND change != 'deleted'"
            " AND one.hash != last.hash ORDER BY one.document, one.line"
        )
        rows = self.database.ask(query, self.pair.after.number, self.pair.low)
        return _differing(rows, "that of the last listed change")

    def unexplained(self) -> Iterator[EntryFault]:
        """Yield the entries of one snapshot that are missing from the other, though no change explains it."""
        pair = self.pair
        if pair.before is None:
            return
        query = (
            "SELECT document, line FROM listed AS one WHERE snapshot = ?"
            " AND NOT EXISTS (SELECT 1 FROM listed WHERE snapshot = ? AND listed.uri = one.uri)"
            " AND uri NOT IN (SELECT uri FROM unsure) AND NOT EXISTS"
            " (SELECT 1 FROM last WHERE last.uri = one.uri AND (time > ? OR (change = 'deleted') = ?))"
            " ORDER BY document, line"
        )
        for one, other, gone in ((pair.after, pair.before, False), (pair.before, pair.after, True)):
            for document, line in self.database.ask(query, one.number, other.number, pair.low, gone):
                yield document, line, f"the resource is not in {other.uri!a}, but no listed change explains this"

    def differing(self) -> Iterator[EntryFault]:
        """Return the later snapshot's entries with another hash in the earlier one, though no change explains it."""
        pair = self.pair
        if pair.before is None:
            return iter(())
        query = (
            "SELECT one.document, one.line, one.hash, other.hash FROM listed AS one"
            " JOIN listed AS other ON other.snapshot = ? AND other.uri = one.uri"
            " WHERE one.snapshot = ? AND one.hash != other.hash"
            " AND one.uri NOT IN (SELECT uri FROM unsure) AND NOT EXISTS"
            " (SELECT 1 FROM last WHERE last.uri = one.uri AND (time > ? OR last.hash = one.hash))"
            " ORDER BY one.document, one.line"
        )
        rows = self.database.ask(query, pair.before.number, pair.after.number, pair.low)
        return _differing(rows, f"the one in {pair.before.uri!a}, but no listed change explains this")


def not_in_both(database: EntryDatabase, series: int, interval: Interval) -> Iterator[EntryFault]:
    """Yield the changes of an interval that only the Change Lists or only the Change Dumps of a set contain."""
    query = (
        "SELECT document, line, change FROM changed AS one WHERE series = ? AND time > ? AND time <= ?"
        " AND NOT EXISTS (SELECT 1 FROM changed WHERE series = ? AND changed.uri = one.uri"
        " AND (changed.time IS NULL OR (changed.time = one.time AND changed.change = one.change)))"
        " ORDER BY document, line"
    )
    for one, other, words in ((series, packed_id(series), "Change Dump"), (packed_id(series), series, "Change List")):
        for document, line, change in database.ask(query, one, *interval, other):
            yield document, line, f"the change {ascii(change)[:40]} is in no {words}"


def other_bitstreams(database: EntryDatabase, series: int) -> Iterator[EntryFault]:
    """Return the entries of Change Dumps whose hash differs from that of the same change in a Change List."""
    query = (
        "SELECT one.document, one.line, one.hash, other.hash FROM changed AS one JOIN changed AS other"
        " ON other.series = ? AND other.uri = one.uri AND other.time = one.time AND other.change = one.change"
        " WHERE one.series = ? AND one.hash != other.hash ORDER BY one.document, one.line"
    )
    return _differing(database.ask(query, series, packed_id(series)), "that of the change in the Change List")


def _differing(rows: Iterator[Row], what: str) -> Iterator[EntryFault]:
    """Yield the places whose two hashes have an algorithm in common, but different digests for it."""
    for document, line, one, other in rows:
        if algorithm := disagreement(one, other):
            yield document, line, f"the {ascii(algorithm)[1:-1][:40]} differs from {what}"
