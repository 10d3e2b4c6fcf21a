"""The changes of a publication: which candidates changed, when, and in which Change Lists they are published (CH)."""

import logging
import marshal
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import accumulate, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import (
    ChangeKind,
    Limits,
    is_news,
    parse_datetime,
    render_datetime,
    render_entries,
    split_content,
    split_entries,
    with_content,
)
from pelican_resourcesync.publication.comparison.parts import (
    LONGEST_TIME,
    OPEN,
    UNKNOWN,
    Candidate,
    Finals,
    Segment,
    candidates_in,
    time_line,
)
from pelican_resourcesync.publication.model.clock import TICK, earlier, later
from pelican_resourcesync.publication.model.history import Change, ChangeHistory, describe_change, parse_change
from pelican_resourcesync.publication.model.ranges import Body, Range, RangeBoundaries
from pelican_resourcesync.publication.model.resource import (
    Listed,
    Representation,
    parse_time,
    render_links,
    render_representation,
)
from pelican_resourcesync.publication.model.state import sortable
from pelican_resourcesync.publication.model.versions import AddedLinks
from pelican_resourcesync.publication.previous.previous import PreviousPublication
from pelican_resourcesync.system.printable import get_logger

#: The number of changes that are sorted in memory; more are sorted in files, some of which are read at a time.
_MOST, _BATCH = 50_000, 1_000

_logger = get_logger(__name__)
#: At most this many URIs are given as examples.
MOST_EXAMPLES = 10

_KINDS = (ChangeKind.CREATED, ChangeKind.UPDATED, ChangeKind.DELETED)


class DatedChange(NamedTuple):
    """A change at its `time` as a text that sorts: `entry` is its entry, in which the times are open."""

    time: str
    uri: str
    kind: str
    entry: str

    @property
    def is_page(self) -> bool:
        """Whether it is probably a change of a page; a deletion has no type."""
        return 'type="text/html"' in self.entry or self.uri.endswith(("/", ".html"))

    @property
    def is_news(self) -> bool:
        """Whether it is news for people."""
        return is_news(self.kind, self.entry)


_dated_change = partial(tuple.__new__, DatedChange)  # without a function in Python for each


class ChangeSorter:
    """Changes in any number, sorted by time and URI, as tuples of their times, URIs, kinds and entries."""

    def __init__(self, folder: Path) -> None:
        """Keep what does not fit into memory in a folder."""
        self._folder = folder
        self._held: list[tuple[str, str, str, str]] = []
        self._last = ("", "", "", "")
        self._files: list[Path] = []

    def add(self, changes: Iterable[tuple[str, str, str, str]]) -> None:
        """Add changes: at most as many as one part of a list has."""
        self._held += changes
        if len(self._held) >= _MOST:
            self._flush()

    def _flush(self) -> None:
        self._held.sort()
        if not self._files or self._held[0] < self._last:  # they usually come in order, and one file is enough
            self._files.append(self._folder / f"sorted-{len(self._files)}")
        with self._files[-1].open("ab") as stream:
            for begin in range(0, len(self._held), _BATCH):
                data = marshal.dumps(self._held[begin : begin + _BATCH])
                stream.write(len(data).to_bytes(8) + data)  # `marshal.load` would read every value by itself
        self._last = self._held[-1]
        self._held = []

    def sorted(self) -> Iterator[DatedChange]:
        """Yield all changes, sorted."""
        if self._held:
            self._flush()
        return map(_dated_change, merge(*map(_read, self._files)))


def _read(file: Path) -> Iterator[tuple[str, str, str, str]]:
    with file.open("rb") as stream:
        while length := stream.read(8):
            yield from marshal.loads(stream.read(int.from_bytes(length)))  # noqa: S302 - ours


@dataclass
class Decision:
    """Decides about candidates, part by part in the order of URIs, and dates what changed.

    A change that the history does not explain gets the time `unexplained`. The changes and what drafts are filled with
    are written to `folder`; `added` writes more links.
    """

    history: ChangeHistory
    unexplained: datetime
    edition: int
    folder: Path
    added: AddedLinks
    deleted: int = field(default=0, init=False)
    _fills: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.sorter = ChangeSorter(self.folder)

    def decide(self, segment: Segment) -> tuple[Segment, bool]:
        """Return a segment with what its draft is filled with, and whether any of its resources changed."""
        found = candidates_in(segment)
        if not found:
            return segment, False
        changes: list[tuple[str, Candidate]] = []
        fills: list[tuple[str, str]] = []
        for candidate, dated in self._dated(found):
            changes += dated
            if candidate.kind != ChangeKind.DELETED:
                fills.append((dated[-1][0], candidate.uri) if dated else ("", candidate.lastmod))
        self._add(changes)
        data = marshal.dumps(fills)
        if isinstance(segment.body.file, BucketPath):  # another machine will write the document
            return segment._replace(fills=data), bool(changes)
        file = self.folder / f"fills-{self._fills}"
        self._fills += 1
        file.write_bytes(data)
        return segment._replace(fills=file), bool(changes)

    def finish(self) -> None:
        """Decide about what only the history knows."""

    def _dated(self, found: list[Candidate]) -> Iterator[tuple[Candidate, list[tuple[str, Candidate]]]]:
        """Yield each candidate with its changes and their times."""
        raise NotImplementedError

    def _add(self, changes: Sequence[tuple[str, Candidate]]) -> None:
        if changes:
            times, found = zip(*changes, strict=True)
            uris, kinds, *_ = zip(*found, strict=True)
            links = self.added.links
            if self.added.are_any:
                found = tuple(each._replace(links=each.links + links(each.uri, each.md, OPEN)) for each in found)
            self.sorter.add(zip(times, uris, kinds, _entries(found, self.edition), strict=True))


@dataclass
class DecisionByBytes(Decision):
    """With a previous publication: the bytes decide, and the history only says when.

    If the bytes are not known, the history decides, too. A time that a source other than the history knows is used if
    it is later than all that was published.
    """

    previous: PreviousPublication

    def __post_init__(self) -> None:
        super().__post_init__()
        self._known = max(self.previous.last, self.previous.state.read_as_of or self.previous.last)
        self._times = {change.uri: change.time for change in self.history.changes}

    def _dated(self, found: list[Candidate]) -> Iterator[tuple[Candidate, list[tuple[str, Candidate]]]]:
        self.previous.require_known_hosts(each.uri for each in found if each.kind == ChangeKind.DELETED)
        times = self.history.times({each.uri: each.time for each in found})
        unexplained = _key(self.unexplained)
        for each in found:
            time, other = self._times.get(each.uri), times.get(each.uri)
            listed = parse_time(each.lastmod) if other else None
            if other is not None and (listed is None or other > listed):
                time = other if other > self._known else self.unexplained
            if each.kind == UNKNOWN:
                each = each._replace(kind=ChangeKind.UPDATED.value if time else "")  # noqa: PLW2901
            self.deleted += each.kind == ChangeKind.DELETED
            yield each, [(_key(time) if time else unexplained, each)] if each.kind else []

    def finish(self) -> None:
        """Decide about what is withdrawn, which no list has any more."""
        deleted = [Candidate(uri, ChangeKind.DELETED.value, "", "", "") for uri in self.history.withdrawn]
        self._add([(_key(self.unexplained), candidate) for candidate in deleted])


class DecisionByHistory(Decision):
    """In a first publication: the history decides, corrected if it does not lead to the current resources."""

    def __post_init__(self) -> None:
        super().__post_init__()
        lives: dict[str, list[Change]] = {}
        for change in self.history.changes:
            lives.setdefault(change.uri, []).append(change)
        self._lives = deque(sorted(lives.items()))

    def finish(self) -> None:
        """Decide about the resources that are gone."""
        self._add([dated for uri, life in self._lives for dated in self._life(uri, life, None)])

    def _dated(self, found: list[Candidate]) -> Iterator[tuple[Candidate, list[tuple[str, Candidate]]]]:
        for each in found:
            gone: list[tuple[str, Candidate]] = []
            while self._lives and self._lives[0][0] < each.uri:
                gone += self._life(*self._lives.popleft(), None)
            self._add(gone)
            life = self._lives.popleft()[1] if self._lives and self._lives[0][0] == each.uri else []
            yield each, self._life(each.uri, life, each)

    def _life(self, uri: str, life: Sequence[Change], now: Candidate | None) -> list[tuple[str, Candidate]]:
        """Return the changes of one URI; `now` is its resource, if there still is one."""
        steps = [*steps_of(life)]
        exists = bool(steps) and steps[-1].kind is not ChangeKind.DELETED
        if exists != (now is not None):
            time = later(self.unexplained, steps[-1].time if steps else None, self.history.built)
            steps.append(Change(time, uri, ChangeKind.DELETED if exists else ChangeKind.CREATED))
        self.deleted += now is None and bool(steps)
        return [(_key(each.time), _described(each, now)) for each in steps]


def steps_of(life: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes of one URI, at most one per time, so that it is created before it is updated or deleted."""
    present = False
    last: dict[datetime, Change] = {change.time: change for change in life}
    for change in last.values():
        stays = change.kind is not ChangeKind.DELETED
        if present or stays:
            kind = ChangeKind.DELETED if not stays else ChangeKind.UPDATED if present else ChangeKind.CREATED
            yield change if change.kind is kind else change._replace(kind=kind)
        present = stays


def _described(change: Change, now: Candidate | None) -> Candidate:
    """Return a change of the past; those whose bytes are known have the links of their resource."""
    if change.representation is None:
        return Candidate(change.uri, change.kind.value, "", "", "")
    links = (now.links if now else "") or render_links(change.links)
    md = with_content(render_representation(change.representation), change.content)
    if now and split_content(now.md)[0] == md:
        md = now.md
    return Candidate(change.uri, change.kind.value, md, links, "")


def _key(time: datetime) -> str:
    return sortable(render_datetime(time))


def dated_changes(changes: Iterable[Change], edition: int) -> list[DatedChange]:
    """Return changes, sorted by time and URI, for a `ChangeListBuilder`."""
    found = [(_key(each.time), _described(each, None)) for each in changes]
    entries = _entries([each for _, each in found], edition)
    dated = zip(found, entries, strict=True)
    return sorted(DatedChange(time, each.uri, each.kind, entry) for (time, each), entry in dated)


def _entries(changed: Sequence[Candidate], edition: int) -> list[str]:
    """Return the entries of changes, in which the times are open."""
    mds = [describe_change(each.kind, OPEN, each.md, edition) for each in changed]
    links = [each.links for each in changed]
    return render_entries([each.uri for each in changed], [time_line(OPEN)] * len(changed), mds, links)


#: Divides changes of one time into those that fit into a package.
Divide = Callable[[Sequence[Change]], Iterable[Sequence[Change]]]


@dataclass(slots=True)
class NewChanges:
    """The changes of a publication, as published: their ranges, times and numbers, and `examples` of each kind.

    `around` is the number of those that are no news for people.
    """

    ranges: list[Range] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    finals: Finals = field(default_factory=Finals)
    around: int = 0
    last: datetime | None = None
    updated: list[str] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)

    def __iter__(self) -> Iterator[Change]:
        for each in self.bodies:
            yield from map(parse_change, each.entries())


@dataclass
class ChangeListBuilder:
    """Divides changes, in chronological order, into ranges, and writes drafts of their Change Lists to `folder`.

    No change is back-dated: each time becomes strictly later than the last one published and than the time before it.
    Changes of the same time stay together, but at most as many as one document holds, and only those that `divide`
    leaves together. The others come a second later, or a millisecond if that is after the time of the build, `built`.
    `frame` are the bytes of a Change List without its entries.
    """

    boundaries: RangeBoundaries
    limits: Limits
    frame: int
    built: datetime
    folder: Path
    divide: Divide | None = None

    def __post_init__(self) -> None:
        self._most, self._size = self.limits.entries, self.limits.size - self.frame
        self._found = NewChanges()
        self._range: Range | None = None
        self._entries = self._bytes = 0
        self._last: datetime | None = None
        self._stack = ExitStack()
        self._draft: BinaryIO | None = None

    def build(
        self,
        changes: Iterable[DatedChange],
        *,
        floor: datetime | None,
        begin: datetime | None,
        opened: Range | None,
        note_updates: bool,
    ) -> NewChanges:
        """Return the changes as published; `opened` is the range that the previous publication left open.

        If there is none, the first range begins at `begin`, or else at the cut before its first change. `note_updates`
        is whether the URIs are listed whose update is news.
        """
        self._range = opened
        with self._stack:
            for key, group in groupby(changes, key=itemgetter(0)):
                time = parse_datetime(f"{key}Z")
                for together in self._together(group):
                    time = floor = later(time, floor, self.built)
                    final = render_datetime(time)
                    self._found.finals.add(key, together[0].uri, final)
                    self._found.last = time
                    self._append(time, begin, together, final)
                    if note_updates:
                        updates = (change for change in together if change.kind == ChangeKind.UPDATED)
                        self._found.updated += [change.uri for change in updates if change.is_news]
        self._found.ranges += [self._range] if self._range else []
        return self._found

    def _together(self, group: Iterator[DatedChange]) -> Iterator[list[DatedChange]]:
        """Divide changes of one time into those that are published at one time."""
        held = [*islice(group, self._most)]
        while held:
            sizes = accumulate(len(each.entry.encode()) + 2 * LONGEST_TIME for each in held)
            fitting = max(1, bisect_right([*sizes], self._size))
            yield from self._divided(held[:fitting])
            held = [*held[fitting:], *islice(group, fitting)]

    def _divided(self, together: list[DatedChange]) -> Iterator[list[DatedChange]]:
        if self.divide is None:
            yield together
            return
        entries = split_entries("".join(each.entry.replace(OPEN, f"{each.time}Z") for each in together))
        begin = 0
        for segment in self.divide([*map(parse_change, entries)]):
            yield together[begin : begin + len(segment)]
            begin += len(segment)

    def _append(self, time: datetime, begin: datetime | None, together: Sequence[DatedChange], final: str) -> None:
        """Add changes of one time to the current range, or to the next."""
        data = "".join([each.entry for each in together]).replace(OPEN, final).encode()
        mark = self.boundaries.before(time)
        if self._range is None:
            self._range = Range(start=begin if begin is not None else mark or earlier(time))
        elif self._range.unchanged:
            self._reopen(self._range)
        if end := self._end(mark, len(together), len(data)):
            self._found.ranges.append(self._range._replace(until=end))
            self._range, self._entries, self._bytes, self._draft = Range(start=end), 0, 0, None
        if self._draft is None:
            file = self.folder / f"changes-{len(self._found.bodies)}"
            body = Body(file, is_draft=True)
            self._found.bodies.append(body)
            self._range = self._range._replace(bodies=(*self._range.bodies, body))
            self._stack.close()
            self._draft = self._stack.enter_context(file.open("wb"))
        self._draft.write(data)
        self._entries += len(together)
        self._bytes += len(data)
        self._last = time
        for change in together if _logger.isEnabledFor(logging.INFO) else ():
            _logger.info("%s %s", change.kind, change.uri)
        kinds = Counter([each.kind for each in together])
        self._found.kinds.update(kinds)
        self._found.around += sum(not change.is_news for change in together)
        for kind in kinds:
            known = self._found.examples.get(kind, ())
            best = sorted(together, key=lambda change: (not change.is_news, not change.is_page))
            uris = (change.uri for change in best if change.kind == kind)
            self._found.examples[kind] = (*known, *islice(uris, MOST_EXAMPLES - len(known)))
        created, updated, deleted = (
            before + kinds[kind] for before, kind in zip(self._range.counts, _KINDS, strict=True)
        )
        self._range = self._range._replace(counts=(created, updated, deleted))

    def _reopen(self, opened: Range) -> None:
        """Continue the range that was left open."""
        data = b"".join(each.read() for each in opened.bodies)
        last = data.rfind(b"<lastmod>")
        self._entries, self._bytes = sum(opened.counts), len(data)
        if last >= 0:
            self._last = parse_datetime(data[last + 9 : data.index(b"<", last + 9)].decode())
        self._range = opened._replace(unchanged=False)

    def _end(self, mark: datetime | None, entries: int, size: int) -> datetime | None:
        """Return the end of the current range, or `None` if it stays open; never earlier than its last change."""
        if mark is not None and self._range and mark > self._range.start:
            return max(mark, self._last or mark)
        full = self._entries and (self._entries + entries > self._most or self._bytes + size > self._size)
        return self._last if full else None


def changes_since(
    before: Mapping[str, Listed], now: Mapping[str, Representation], listed: Iterable[Change], *, unexplained: datetime
) -> list[Change]:
    """Return the changes from one state of resources to another, in chronological order and by URI: the bytes decide.

    A change has the time of the last one `listed` of its URI, or else `unexplained`.
    """
    times = {change.uri: change.time for change in listed}
    found = []
    for uri in before.keys() | now.keys():
        old, new = before.get(uri), now.get(uri)
        if old is None or new is None or old.representation.differs(new):
            kind = ChangeKind.CREATED if old is None else ChangeKind.DELETED if new is None else ChangeKind.UPDATED
            found.append(Change(times.get(uri, unexplained), uri, kind, new))
    return sorted(found, key=lambda change: (change.time, change.uri))


class AddedPast(NamedTuple):
    """The changes from before a first publication: their ranges, and the time of the last change of each URI."""

    ranges: Sequence[Range]
    times: Mapping[str, str]

    def before(self, later: Sequence[Range]) -> list[Range]:
        """Return the ranges with `later` ones behind them; the last one ends where these begin, or else stays open."""
        *closed, last = self.ranges
        return [*closed, last._replace(until=later[0].start if later else None), *later]

    def span(self, listed: Iterable[Range]) -> tuple[int, datetime, datetime] | None:
        """Return the number of changes in ranges that are listed, and the times of the first and the last."""
        starts = {each.start for each in listed}
        times = [change.time for each in self.ranges if each.start in starts for change in each.changes]
        return (len(times), times[0], times[-1]) if times else None


def add_past(
    previous: PreviousPublication, past: Sequence[Change], edition: int, builder: Callable[[], ChangeListBuilder]
) -> AddedPast | None:
    """Return the changes before the first publication, from those that the history knows; `None` if nothing is missing.

    They lead to what the first publication listed: a resource that the history does not explain was created with it.
    `builder` returns a new builder of Change Lists.

    Followers hold nothing from before the first publication. So Change Lists of that time can be added later, if they
    have no change at the time of the first publication or after it: a follower would take that for one that it missed.
    """
    first = previous.state.first
    if first is None or first.past:
        return None
    began = previous.state.began
    changes = [*_leading_to(_first_listed(previous), past, began)]
    end = began
    while changes:
        dated = dated_changes(_up_to(end, changes), edition)
        found = builder().build(dated, floor=None, begin=None, opened=None, note_updates=False)
        if found.last is None or found.last < began:
            return AddedPast(found.ranges, {each.uri: found.finals.of(each.time, each.uri) for each in dated})
        end = earlier(end - (found.last - began))  # what does not fit into one document comes later
    return None


def _first_listed(previous: PreviousPublication) -> dict[str, Representation | None]:
    """Return the resources of the first publication, with their bytes if these have stayed the same."""
    listed: dict[str, Representation | None] = {uri: each.representation for uri, each in previous.resources.items()}
    changed = set()
    for each in previous.ranges:
        for change in each.changes:
            if change.uri not in changed and change.kind is ChangeKind.CREATED:
                listed.pop(change.uri, None)
            elif change.uri not in changed:
                listed[change.uri] = None
            changed.add(change.uri)
    return listed


def _leading_to(listed: Mapping[str, Representation | None], past: Sequence[Change], at: datetime) -> Iterator[Change]:
    """Yield the changes of the past, so corrected that they lead to what was listed."""
    lives: dict[str, list[Change]] = defaultdict(list)
    for change in past:
        lives[change.uri].append(change)
    built = any(change.representation for change in past)
    for uri in lives.keys() | listed.keys():
        steps = [*steps_of(lives[uri])] if uri in lives else []
        while uri not in listed and steps and steps[-1].kind is not ChangeKind.DELETED:
            steps.pop()
        yield from steps
        if uri not in listed:
            continue
        then, last = listed[uri], steps[-1] if steps else None
        time = max(at, last.time + TICK) if last else at
        if last is None or last.kind is ChangeKind.DELETED:
            yield Change(time, uri, ChangeKind.CREATED, then if built else None)
        elif then and last.representation and last.representation.differs(then):
            yield Change(time, uri, ChangeKind.UPDATED, then)


def _up_to(end: datetime, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield changes with their times, or as late as possible before `end`, in the same order of time."""
    times: dict[datetime, datetime] = {}
    for time in sorted({change.time for change in changes}, reverse=True):
        end = times[time] = min(time, earlier(end))
    return (change._replace(time=times[change.time]) for change in changes)
