"""The snapshots of each set that a Source publishes, and the changes that lead from one snapshot to the next."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pelican_resourcesync.check.document import Kept
from pelican_resourcesync.check.ledger import dumped
from pelican_resourcesync.check.values import moment
from pelican_resourcesync.check.walk import MANIFESTS, Walk

Interval = tuple[float, float]
"""A start and an end, in seconds since 1970; the end of an open interval is infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A Resource List or a Resource Dump, current or archived, all parts of which were read.

    `number` is its number in the ledger. It includes every change up to `at`, and may include later ones up to `end`
    (RL02).
    """

    uri: str
    number: int
    at: float
    end: float
    dump: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two snapshots, of which `before` may be missing, and the changes between them.

    The Change Lists with the number `book` list all changes after `since` and up to `end`. Changes after `low` are not
    in `before`.
    """

    before: Snapshot | None
    after: Snapshot
    since: float
    low: float
    book: int

    @property
    def mixed(self) -> bool:
        """Whether a Resource Dump is compared with a Resource List."""
        return self.before is not None and self.before.dump != self.after.dump

    @property
    def end(self) -> float:
        """The time up to which changes may be in either snapshot."""
        return max(self.after.end, self.before.end if self.before else -math.inf)


def _nearest(found: Iterable[Snapshot], at: float) -> Snapshot:
    """Return the snapshot that is nearest in time; the earlier one if two are equally near."""
    return min(found, key=lambda each: (abs(each.at - at), each.at))


def pairs(walk: Walk) -> Iterator[Pair]:
    """Yield the pairs of snapshots of each set that must add up with the changes between them, if all are listed.

    A Resource List is compared with the one before it, and a Resource Dump with the Resource List nearest in time.
    """
    for owner, found in _snapshots(walk).items():
        lists = [each for each in found if not each.dump] or found
        covered = change_lists(walk, owner)
        book = walk.number(owner)
        for before, after in zip([None, *lists], lists, strict=False):
            yield from _pair(before, after, covered, book)
        for dump in found if any(not each.dump for each in found) else ():
            if dump.dump:
                nearest = _nearest(lists, dump.at)
                before, after = (nearest, dump) if nearest.at <= dump.at else (dump, nearest)
                yield from (pair for pair in _pair(before, after, covered, book) if pair.before)


def _pair(before: Snapshot | None, after: Snapshot, covered: list[Interval], book: int) -> Iterator[Pair]:
    end = max(after.end, before.end if before else after.end)
    run = next((each for each in covered if each[0] <= after.at and end <= each[1]), None)
    since = after.at if run is None else math.nextafter(run[0], -math.inf)
    if before is not None and (before.at == after.at or since < before.at):
        yield Pair(before=before, after=after, since=min(since, before.at), low=before.at, book=book)
    elif run is not None:
        yield Pair(before=None, after=after, since=since, low=since, book=book)


def _snapshots(walk: Walk) -> dict[str, list[Snapshot]]:
    """Return the snapshots of each Capability List, oldest first."""
    groups: dict[str, list[Kept]] = defaultdict(list)
    for uri, top in walk.tops.items():
        kept = walk.documents.get(uri)
        if kept and kept.capability not in MANIFESTS and top not in walk.broken:
            groups[top].append(kept)
    found: dict[str, list[Snapshot]] = {owner: [] for owner in dict.fromkeys(walk.owners.values())}
    for top, documents in groups.items():
        snapshot = _snapshot(walk, top, documents)
        if snapshot is not None:
            found[walk.owners[top]].append(snapshot)
    return {owner: sorted(each, key=lambda one: (one.at, one.uri)) for owner, each in found.items()}


def _snapshot(walk: Walk, top: str, documents: list[Kept]) -> Snapshot | None:
    capabilities = {kept.capability for kept in documents}
    dump = capabilities == {"resourcedump"}
    if not dump and capabilities != {"resourcelist"}:
        return None
    if dump:
        manifests = _manifests(walk, documents)
        if manifests is None:
            return None
        documents = documents + manifests
    begins, ends = (_moments(documents, name) for name in ("at", "completed"))
    if not begins:
        return None
    number = walk.number(top)
    return Snapshot(
        uri=top, number=dumped(number) if dump else number, at=min(begins), end=max(begins + ends), dump=dump
    )


def change_lists(walk: Walk, owner: str) -> list[Interval]:
    """Return the intervals whose changes are all in the Change Lists of a set that were read."""
    return _merged(_interval(kept) for kept in _documents(walk, owner, "changelist"))


def change_dumps(walk: Walk, owner: str) -> list[Interval]:
    """Return the intervals whose changes are all in the Change Dumps of a set whose manifests were read.

    An open Change Dump extends to the end of its last package: later changes go into a future package.
    """
    intervals = []
    for kept in _documents(walk, owner, "changedump"):
        manifests = _manifests(walk, [kept])
        if manifests is not None:
            begin, end = _interval(kept)
            if math.isinf(end):
                packages = [item.md.get("until") for item in kept.pointers if item.md]
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


def _documents(walk: Walk, owner: str, capability: str) -> Iterator[Kept]:
    for uri, kept in walk.documents.items():
        if kept and kept.capability == capability and kept.readable and not kept.head.is_index:
            yield from [kept] if walk.owners.get(uri) == owner else []


def _manifests(walk: Walk, documents: list[Kept]) -> list[Kept] | None:
    """Return the manifests of all packages, or None if one was not read."""
    found = [walk.manifests.get(item.loc) for kept in documents if not kept.head.is_index for item in kept.pointers]
    known = [kept for kept in found if kept is not None and kept.readable]
    return known if len(known) == len(found) else None


def _interval(kept: Kept) -> Interval:
    begin, end = _seconds(kept.head.md.get("from")), _seconds(kept.head.md.get("until"))
    if "until" in kept.head.md and end is None:
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


def _moments(documents: list[Kept], name: str) -> list[float]:
    return [time for kept in documents if (time := _seconds(kept.head.md.get(name))) is not None]


def _seconds(text: str | None) -> float | None:
    time = moment(text)
    return time.timestamp() if time else None
