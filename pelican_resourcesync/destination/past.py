"""The past of a set: its states and changes, read from its lists, dumps and archives."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urljoin

from pelican_resourcesync.destination.copy import State, strongest
from pelican_resourcesync.destination.options import MirrorError, Options
from pelican_resourcesync.destination.packages import Packages
from pelican_resourcesync.destination.source import (
    NEVER,
    ChangeLists,
    Dumps,
    ResourceSet,
    Source,
    in_order,
    text_of,
    uri_of,
)
from pelican_resourcesync.errors import DocumentError, ResourceSyncError, TransportError
from pelican_resourcesync.protocol import Capability, ChangeKind, Entry, Metadata, Root

_NONE = Metadata()
_DEPTH = 3  # of indexes
_FAILURES = (TransportError, DocumentError)
_STATES = (
    (Capability.RESOURCELIST, Capability.RESOURCELIST_ARCHIVE),
    (Capability.RESOURCEDUMP, Capability.RESOURCEDUMP_ARCHIVE),
)
#: `begin` and `until`: from when until when a resource was in this state, `known` whether it is known which that was.
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS version (
    uri TEXT, begin TEXT, until TEXT, time TEXT, hash TEXT, length INTEGER, type TEXT, known INTEGER,
    PRIMARY KEY (uri, begin)) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS live (uri TEXT PRIMARY KEY, hash TEXT, time TEXT) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS packed (uri TEXT, hash TEXT, time TEXT, PRIMARY KEY (uri, hash, time)) WITHOUT ROWID;
"""
#: Whether a version is what the Source has now, or is in a package.
_SAME = "(o.hash = {0}.hash AND o.hash <> '' OR (o.hash = '' OR {0}.hash = '') AND o.time = {0}.time AND o.time <> '')"


class Snapshot(NamedTuple):
    """A list or dump of all resources of a set at a time; `completed` is when it was completed."""

    at: str
    completed: str
    kind: Capability
    uri: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A time of the past of a set: how many resources it had, and how many of these cannot be had any more."""

    time: str
    set: str
    resources: int
    missing: int
    snapshot: bool


class _Part(NamedTuple):
    """A list of changes: the times that it covers, and how to read it."""

    begin: str
    until: str
    read: Callable[[], Iterable[Entry]]


def _row(entry: Entry, uri: str, begin: str) -> tuple[object, ...]:
    """Return the row of a version: `begin` is when it came to be, empty if that was before the snapshot."""
    md = entry.md or _NONE
    length = md.length if md.length is not None and md.length >= 0 and not md.encoding else None
    time = text_of(md.datetime or entry.lastmod) or begin
    return uri, begin, NEVER, time, strongest(md.hash), length, md.type, 1


class Past:
    """The past of a set."""

    def __init__(self, state: State, source: Source, options: Options, part: ResourceSet) -> None:
        self._state, self._source, self._options, self._set = state, source, options, part
        self._packages = Packages(state, source, options, lambda _: None)
        self._dumps = Dumps(source, options, part)
        self._snapshots = sorted(self._read_snapshots(), key=lambda each: (each.completed, each.kind, each.uri))
        self._runs = self._read_runs()
        self.end = ""  # until when it is known what became of the versions that are loaded
        for statement in _TABLES.split(";"):
            state.db.execute(statement)

    @property
    def dumps(self) -> list[tuple[str, str]]:
        """The archived Resource Dumps, with their times."""
        current = self._set.documents.get(Capability.RESOURCEDUMP)
        return [(each.uri, each.at) for each in self._snapshots
                if each.kind is Capability.RESOURCEDUMP and each.uri != current]  # fmt: skip

    def load(self, time: str) -> None:
        """Let the table `version` say what the set was at a time.

        Raises `MirrorError` if nothing says that, and the errors of documents if none of those that say it can be read.
        """
        failure: ResourceSyncError | None = None
        for snapshot in self._nearest(time):
            run = self._run_of(snapshot, time)
            before = snapshot.completed <= time
            if run is None and not (before and snapshot.at == time):
                continue
            try:
                if before:
                    self._load_forward(snapshot, run or [])
                else:
                    self._load_backward(snapshot, run or [])
            except _FAILURES as error:
                failure = failure or error
            else:
                return
        if failure is not None:
            raise failure
        message = (
            f"nothing says what the set {self._set.name!a} was at {time}: --list-times shows the times that can be "
            "restored, and --set chooses sets"
        )
        raise MirrorError(message)

    def _nearest(self, time: str) -> list[Snapshot]:
        """Return the snapshots from which to begin: the latest before a time, and last the first after it."""
        before = [each for each in self._snapshots if each.completed <= time]
        return [*reversed(before), *(each for each in self._snapshots if each.at > time)]

    def moments(self) -> Iterator[Moment]:
        """Yield every snapshot and change time in reach, in order."""
        self._load_live()
        self._load_packed()
        db = self._state.db
        done = ""
        shown_times = {each.at for each in self._snapshots}
        for begin, until in self._windows():
            there = "EXISTS (SELECT 1 FROM {} o WHERE o.uri = v.uri AND " + _SAME.format("v") + ")"  # noqa: S608
            have = f"(known AND ({there.format('live')} OR {there.format('packed')}))"
            found: dict[str, list[int]] = {}
            for column, sign in (("begin", 1), ("until", -1)):
                query = f"SELECT {column}, count(*), sum(NOT {have}) FROM version v GROUP BY 1"  # noqa: S608
                for time, count, missing in db.execute(query):
                    sums = found.setdefault(time, [0, 0])
                    sums[0] += sign * count
                    sums[1] += sign * missing
            count = missing = 0
            times = {time for time in found if begin <= time < until} | {begin}
            for time in sorted(found.keys() | times):
                more = found.get(time, [0, 0])
                count, missing = count + more[0], missing + more[1]
                if time in times and time > done:
                    yield Moment(time, self._set.name, count, missing, time in shown_times)
                    done = time

    # Snapshots and changes

    def _read_snapshots(self) -> Iterator[Snapshot]:
        for kind, archive in _STATES:
            uri = self._set.documents.get(kind)
            if uri:
                yield from self._snapshot(uri, kind, _NONE)
            if archive in self._set.documents:
                yield from self._archived(self._set.documents[archive], kind, archive)

    def _archived(self, uri: str, kind: Capability, archive: Capability, depth: int = _DEPTH) -> Iterator[Snapshot]:
        with closing(self._source.whole_document(uri, archive)) as opened:
            index, entries = opened.document.root is Root.SITEMAPINDEX, list(opened.entries)
        for each in entries[: self._options.max_documents]:
            inner = urljoin(uri, each.loc)
            if index and depth:
                yield from self._archived(inner, kind, archive, depth - 1)
            elif not index:
                yield from self._snapshot(inner, kind, each.md or _NONE)

    def _snapshot(self, uri: str, kind: Capability, md: Metadata) -> Iterator[Snapshot]:
        if md.at is None:
            with closing(self._source.whole_document(uri, kind)) as opened:
                md = opened.document.md or _NONE
        if md.at is not None:
            at = text_of(md.at)
            yield Snapshot(at, max(at, text_of(md.completed)), kind, uri)

    def _read_runs(self) -> list[list[_Part]]:
        """Return the Change Lists, or else the Change Dumps, in runs without a gap."""
        if {Capability.CHANGELIST, Capability.CHANGELIST_ARCHIVE} & self._set.documents.keys():
            lists = ChangeLists(self._source, self._options, self._set)
            parts = [_Part(each[1], each[2] or NEVER, partial(lists.read, each)) for each in lists.every()]
        else:
            packages = self._dumps.of_changes("")
            parts = [_Part(each.begin, each.until or NEVER, partial(self._packages.read, each)) for each in packages]
        runs: list[list[_Part]] = []
        for part in sorted((each for each in parts if each.begin), key=lambda each: each[:2]):
            if runs and part.begin <= max(each.until for each in runs[-1]):
                runs[-1].append(part)
            else:
                runs.append([part])
        return runs

    def _run_of(self, snapshot: Snapshot, time: str) -> list[_Part] | None:
        """Return the lists of all changes between a snapshot and a time, None if some are missing."""
        begin, until = sorted([snapshot.completed, time])
        for run in self._runs:
            if run[0].begin <= begin and until <= max(each.until for each in run):
                return run
        return None

    def _windows(self) -> Iterator[tuple[str, str]]:
        """Yield the times from which on, until which, one snapshot says what the set was, which is loaded; in order."""
        edges = {each.completed for each in self._snapshots} | {run[0].begin for run in self._runs}
        ends = {max(each.until for each in run) for run in self._runs} - {NEVER}
        ordered = sorted(edges | ends)
        for begin, until in pairwise([*ordered, NEVER]):
            try:
                self.load(begin)
            except (MirrorError, *_FAILURES):
                continue
            connected = any(run[0].begin <= begin < max(each.until for each in run) for run in self._runs)
            yield begin, until if connected else f"{begin}+"

    # Versions

    def _load_forward(self, snapshot: Snapshot, run: list[_Part]) -> None:
        """Load a snapshot and what has changed since."""
        self._clear()
        self.end = max((each.until for each in run), default=f"{snapshot.completed}+")
        with self._entries(snapshot) as entries:
            self._insert(_row(each, uri_of(each, self._set.uri), "") for each in entries)
        self._apply(run, snapshot.at, NEVER)

    def _load_backward(self, snapshot: Snapshot, run: list[_Part]) -> None:
        """Load the states before a snapshot: the last known of what has changed until then, else the snapshot's."""
        self._clear()
        self.end = f"{snapshot.completed}+"
        self._apply(run, "", snapshot.completed, before=True)
        with self._entries(snapshot) as entries:
            db = self._state.db
            known = db.execute
            self._insert(
                _row(each, uri, "")
                for each in entries
                for uri in [uri_of(each, self._set.uri)]
                if not known("SELECT 1 FROM version WHERE uri = ?", (uri,)).fetchone()
            )

    def _apply(self, run: list[_Part], after: str, upto: str, *, before: bool = False) -> None:
        """Apply changes in order; `before`: what is first changed or deleted was there before, and how is not known."""
        db = self._state.db
        changes = ((each, each.md or _NONE) for part in run if part.until > after for each in part.read())
        for entry, md, time in in_order(changes):
            if not after < time <= upto:
                continue
            uri = uri_of(entry, self._set.uri)
            ended = db.execute("UPDATE version SET until = ? WHERE uri = ? AND until = ?", (time, uri, NEVER)).rowcount
            was_there = before and not ended and md.change is not ChangeKind.CREATED
            if was_there and not db.execute("SELECT 1 FROM version WHERE uri = ?", (uri,)).fetchone():
                self._insert([(uri, "", time, "", "", None, md.type, 0)])
            if md.change is not ChangeKind.DELETED:
                self._insert([_row(entry, uri, time)])

    def _clear(self) -> None:
        self._state.db.execute("DELETE FROM version")

    def _insert(self, rows: Iterable[tuple[object, ...]]) -> None:
        self._state.db.executemany("INSERT OR REPLACE INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _entries(self, snapshot: Snapshot) -> Iterator[Iterable[Entry]]:
        """Read the entries of a snapshot: of a list, or of the manifests of a dump's packages."""
        if snapshot.kind is Capability.RESOURCELIST:
            with closing(self._source.entries(snapshot.uri, snapshot.kind, remembered=False)) as entries:
                yield entries
        else:
            packages = self._dumps.in_dump(snapshot.uri, snapshot.at)
            yield (entry for each in packages for entry in self._packages.read(each))

    # What can be had

    def mark(self, bit: int) -> None:
        """Set aside what is pending and not what the Source lists now: only packages have its bytes."""
        if self._load_live():
            self._state.db.execute(
                f"""UPDATE pending SET reason = 'its bytes of that time are no longer there' WHERE NOT gone AND sets & ?
                AND NOT EXISTS (SELECT 1 FROM live o WHERE o.uri = pending.uri AND {_SAME.format("pending")})""",  # noqa: S608
                (bit,),
            )
        self._state.db.execute(
            """UPDATE pending SET reason = 'what it was at that time is not known' WHERE NOT gone AND sets & ?
            AND uri IN (SELECT uri FROM at_time WHERE NOT known)""",
            (bit,),
        )

    def _load_live(self) -> bool:
        """Read what the Source lists now; return whether anything says that."""
        self._state.db.execute("DELETE FROM live")
        for kind in (Capability.RESOURCELIST, Capability.RESOURCEDUMP):
            if kind in self._set.documents:
                with self._entries(Snapshot("", "", kind, self._set.documents[kind])) as entries:
                    rows = (
                        (uri_of(each, self._set.uri), strongest((each.md or _NONE).hash), text_of(each.lastmod))
                        for each in entries
                    )
                    self._state.db.executemany("INSERT OR REPLACE INTO live VALUES (?, ?, ?)", rows)
                return True
        return False

    def _load_packed(self) -> None:
        """Read the manifests of all packages in reach; one that cannot be read has nothing."""
        self._state.db.execute("DELETE FROM packed")
        dumps = [(each.uri, each.at) for each in self._snapshots if each.kind is Capability.RESOURCEDUMP]
        packages = [*self._dumps.of_changes(""), *(each for dump in dumps for each in self._dumps.in_dump(*dump))]
        for package in dict.fromkeys(packages):
            try:
                rows = (
                    (uri_of(each, package.uri), strongest(md.hash), text_of(md.datetime or each.lastmod))
                    for each in self._packages.read(package)
                    for md in [each.md or _NONE]
                    if md.path
                )
                self._state.db.executemany("INSERT OR REPLACE INTO packed VALUES (?, ?, ?)", rows)
            except _FAILURES:
                continue
