"""The past of a set: its states and changes, read from its lists, dumps and archives."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

from pelican_resourcesync.destination.state import NEVER, CopyState, PastVersion
from pelican_resourcesync.errors import DocumentError, MirrorError, NotYetError, ResourceSyncError, TransportError
from pelican_resourcesync.protocol import (
    OF_SOME,
    VERSION_HISTORY,
    Capability,
    ChangeKind,
    Entry,
    Hash,
    Link,
    Metadata,
    parse_datetime,
    parse_version_history,
    parse_versions,
)
from pelican_resourcesync.source import (
    ChangeLists,
    ListedDumps,
    ListedPackage,
    ListedResource,
    Packages,
    Source,
    SourceSet,
    in_order,
    listed_resource,
    text_of,
    uri_of,
)

_NONE = Metadata()
_FAILURES = (TransportError, DocumentError)
#: `begin` and `until` are the interval in which a resource had this state; no hash or time if the state is unknown.
#: `memento` is the URI of the version, if there is one that is sure to be that.
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS version (
    uri TEXT, begin TEXT, until TEXT, time TEXT, hash TEXT, length INTEGER, type TEXT,
    memento TEXT, PRIMARY KEY (uri, begin)) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS history AS SELECT * FROM version WHERE FALSE;
CREATE TEMP TABLE IF NOT EXISTS live (uri TEXT PRIMARY KEY, hash TEXT, time TEXT) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS packed (uri TEXT, hash TEXT, time TEXT, PRIMARY KEY (uri, hash, time)) WITHOUT ROWID;
"""
#: Whether a version is what the Source has now, or is in a package.
_SAME = "(o.hash = {0}.hash AND o.hash <> '' OR (o.hash = '' OR {0}.hash = '') AND o.time = {0}.time AND o.time <> '')"


class PastState(NamedTuple):
    """A list or dump of all resources of a set at a time; `completed` is when it was completed, which orders them."""

    completed: str
    kind: Capability
    uri: str
    at: str


class Moment(NamedTuple):
    """A time of the past of a set: how many resources it had, and how many of these are not available any more."""

    time: str
    set: str
    resources: int
    missing: int
    snapshot: bool


class _Part(NamedTuple):
    """A list of changes: the times that it covers, and how to read it."""

    begin: str
    until: str
    read: Callable[[], Iterable[ListedResource]]


class Past:
    """The past of a set."""

    def __init__(self, state: CopyState, source: Source, resource_set: SourceSet) -> None:
        if resource_set.failure:
            raise resource_set.failure
        self._state, self._source, self._set = state, source, resource_set
        self._packages = Packages(source)
        self._dumps = ListedDumps(source, resource_set)
        self._snapshots = sorted(self._read_snapshots())
        self._runs = self._read_runs()
        self._versions, self._since, partial = self._read_versions()
        for statement in _TABLES.split(";"):
            state.db.execute(statement)
        state.db.execute("DELETE FROM history")
        self._insert(partial, "history")

    def packages(self, time: str) -> list[ListedPackage]:
        """Return all packages in reach, beginning with the last Resource Dump before a time and the Change Dumps."""
        dumps = [snapshot for snapshot in self._snapshots if snapshot.kind is Capability.RESOURCEDUMP]
        before = [dump for dump in reversed(dumps) if dump.at <= time]
        later = [*before[1:], *(dump for dump in dumps if dump.at > time)]
        packages = [package for dump in before[:1] for package in self._dumps.in_dump(dump.uri, dump.at)]
        packages += self._dumps.of_changes("")
        packages += [package for dump in later for package in self._dumps.in_dump(dump.uri, dump.at)]
        return [package for package in dict.fromkeys(packages) if package.uri]

    def load(self, time: str, *, or_later: bool = False) -> str:
        """Load what the set was at a time into the table `version`; return that time.

        `or_later`: where nothing says that, load the first time after it of which something does. Raises `MirrorError`
        if there is none, `NotYetError` if nothing is listed from before it, and the errors of documents if none of
        those that say it can be read.
        """
        if self._since <= time:
            self._clear()
            self._insert(self._versions)
            return time
        failure: ResourceSyncError | None = None
        for snapshot in self._nearest(time):
            run = self._run_of(snapshot, time)
            before = snapshot.completed <= time
            if run is None and not (before and snapshot.at == time):
                continue
            try:
                if before:
                    self._load_forward(snapshot, run or [])
                    self._add_known()
                    return time
                known = self._load_backward(snapshot, run or [], time)
                self._add_known()
                if known == time or or_later:
                    return known
            except _FAILURES as error:
                failure = failure or error
        if failure is not None:
            raise failure
        first = min([*(snapshot.at for snapshot in self._snapshots), self._since])
        kind = NotYetError if time < min([first, *(run[0].begin for run in self._runs)]) else MirrorError
        message = (
            f"the state of the set {self._set.name!a} at {short_time(time)} is not known: the Source lists no state "
            f"from before {short_time(first)} and no changes that lead there. Use restore --list-times to see the "
            "times that can be restored. The publisher may be able to add the past (backfill)"
        )
        raise kind(message)

    def _nearest(self, time: str) -> list[PastState]:
        """Return the snapshots from which to begin: the latest before a time, and last the first after it."""
        before = [snapshot for snapshot in self._snapshots if snapshot.completed <= time]
        return [*reversed(before), *(snapshot for snapshot in self._snapshots if snapshot.at > time)]

    def moments(self) -> Iterator[Moment]:
        """Yield every snapshot and change time in reach, in order."""
        self._load_live()
        self._load_packed()
        db = self._state.db
        done = ""
        shown_times = {snapshot.at for snapshot in self._snapshots}
        for begin, until in self._windows():
            there = "EXISTS (SELECT 1 FROM {} o WHERE o.uri = v.uri AND " + _SAME.format("v") + ")"  # noqa: S608
            have = f"(v.memento <> '' OR {there.format('live')} OR {there.format('packed')})"
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

    def _read_snapshots(self) -> Iterator[PastState]:
        for kind in (Capability.RESOURCELIST, Capability.RESOURCEDUMP):
            archive = Capability(f"{kind}-archive")
            uri = self._set.documents.get(kind)
            if uri:
                yield from self._snapshot(uri, kind, _NONE)
            if archive in self._set.documents:
                uri = self._set.documents[archive]
                with closing(self._source.entries(uri, archive, remembered=False)) as entries:
                    archived = list(islice(entries, self._source.options.max_documents))
                for entry in archived:
                    yield from self._snapshot(uri_of(entry.loc, uri), kind, entry.md or _NONE)

    def _snapshot(self, uri: str, kind: Capability, md: Metadata) -> Iterator[PastState]:
        if md.at is None:
            with closing(self._source.whole_document(uri, kind)) as opened:
                md = opened.document.md or _NONE
        if md.at is not None:
            at = text_of(md.at)
            yield PastState(max(at, text_of(md.completed)), kind, uri, at)

    def _read_runs(self) -> list[list[_Part]]:
        """Return the Change Lists, or else the Change Dumps, in runs without a gap."""
        if {Capability.CHANGELIST, Capability.CHANGELIST_ARCHIVE} & self._set.documents.keys():
            lists = ChangeLists(self._source, self._set)
            parts = [_Part(one.begin, one.until or NEVER, partial(lists.read, one)) for one in lists.every()]
        else:
            dumped = self._dumps.of_changes("")
            parts = [_Part(one.begin, one.until or NEVER, partial(self._packages.read, one)) for one in dumped]
        runs: list[list[_Part]] = []
        for part in sorted((part for part in parts if part.begin), key=lambda part: part[:2]):
            if runs and part.begin <= _end(runs[-1]):
                runs[-1].append(part)
            else:
                runs.append([part])
        return runs

    def _read_versions(self) -> tuple[list[tuple[object, ...]], str, list[tuple[object, ...]]]:
        """Return the rows of all versions that the Source lists, and since when it lists all; `NEVER` for never.

        Where only some resources have versions, as in a repository, their rows come last.
        """
        rows: list[tuple[object, ...]] = []
        uri = self._set.documents.get(VERSION_HISTORY)
        if not uri:
            return rows, NEVER, rows
        try:
            (folder, *_, of), since, lines = parse_version_history(self._source.whole(uri), uri)
            for line in lines.values():
                listed, versions = parse_versions(line)
                times = [text_of(parse_datetime(time)) for time, *_ in versions]
                for begin, until, (_, name, length, type_) in zip(times, [*times[1:], NEVER], versions, strict=True):
                    if name:
                        hash_ = (Hash(algorithm="sha-256", digest=name.partition(".")[0]),)
                        link = Link(rel="memento", href=f"{folder}/{name}")
                        type_ = type_ if isinstance(type_, str) and type_.isascii() else None  # noqa: PLW2901 - not from XML
                        md = Metadata(hash=hash_, length=length, type=type_)
                        resource = listed_resource(Entry(loc=listed, md=md, links=(link,)), uri)
                        rows.append(_version(resource._replace(time=begin), begin, until))
        except _FAILURES:
            return [], NEVER, []
        return ([], NEVER, rows) if of == OF_SOME else (rows, text_of(parse_datetime(since)), [])

    def _run_of(self, snapshot: PastState, time: str) -> list[_Part] | None:
        """Return the lists of all changes between a snapshot and a time, None if some are missing."""
        begin, until = sorted([snapshot.completed, time])
        for run in self._runs:
            if run[0].begin <= begin and until <= _end(run):
                return run
        return None

    def _windows(self) -> Iterator[tuple[str, str]]:
        """Yield the times from which on, until which, one snapshot says what the set was, which is loaded; in order."""
        edges = {snapshot.completed for snapshot in self._snapshots} | {run[0].begin for run in self._runs}
        edges |= {self._since} - {NEVER}
        ordered = sorted(edges | ({_end(run) for run in self._runs} - {NEVER}))
        for begin, until in pairwise([*ordered, NEVER]):
            try:
                loaded = self.load(begin, or_later=True)
            except (MirrorError, *_FAILURES):
                continue
            connected = self._since <= loaded or any(run[0].begin <= loaded < _end(run) for run in self._runs)
            yield loaded, until if connected else f"{loaded}+"

    # Versions

    def resources(self, time: str) -> Iterator[ListedResource]:
        """Yield what the set had at a time, as was loaded."""
        query = "SELECT uri, time, hash, length, type, memento FROM version WHERE begin <= ? AND until > ?"
        yield from (_resource(row) for row in self._state.db.execute(query, (time, time)))

    def versions(self) -> Iterator[PastVersion]:
        """Yield all versions of resources in reach; one comes again where a later list says more of its end."""
        query = """SELECT begin, until, uri, time, hash, length, type, memento FROM version
            WHERE begin < ? AND until > ? ORDER BY begin"""
        before: dict[str, PastVersion] = {}
        done = ""
        for first, end in self._windows():
            now: dict[str, PastVersion] = {}
            there: set[str] = set()
            for begin, until, *row in self._state.db.execute(query, (end, first)):
                resource = _resource(row)
                if begin <= first:
                    there.add(resource.uri)
                    old, since = before.get(resource.uri), begin or resource.time
                    if old and (old.resource.hash or old.resource.time) == (resource.hash or resource.time):
                        begin = old.begin  # noqa: PLW2901 - the first time at which it is known to be there
                    else:
                        begin = since if done < since < first else first  # noqa: PLW2901 - likewise
                        if old:
                            yield old._replace(until=begin)
                now[resource.uri] = PastVersion(resource, begin, until)
                yield now[resource.uri]
            yield from (old._replace(until=first) for uri, old in before.items() if uri not in there)
            before, done = {uri: version for uri, version in now.items() if version.until >= end}, end

    def _load_forward(self, snapshot: PastState, run: list[_Part]) -> None:
        """Load a snapshot and what has changed since."""
        self._clear()
        with self._entries(snapshot) as listed:
            self._insert(_version(resource, "") for resource in listed)
        self._apply(run, snapshot.at, NEVER)

    def _load_backward(self, snapshot: PastState, run: list[_Part], time: str) -> str:
        """Load the states before a snapshot: the last known of what has changed until then, else the snapshot's.

        Return the time that they reach back to: that which is asked for, or that of the last change without a hash.
        Before such a change nothing says which bytes a resource had: today's may be others.
        """
        self._clear()
        self._apply(run, "", snapshot.completed, before=True)
        with self._entries(snapshot) as listed:
            known = self._state.db.execute
            query = "SELECT 1 FROM version WHERE uri = ?"
            unchanged = (resource for resource in listed if not known(query, (resource.uri,)).fetchone())
            self._insert(_version(resource, "") for resource in unchanged)
            last = known("SELECT max(begin) FROM version WHERE hash = '' AND begin <> ''").fetchone()[0]
        return max(time, last or "")

    def _apply(self, run: list[_Part], after: str, upto: str, *, before: bool = False) -> None:
        """Apply changes in order; `before`: what is first changed or deleted was there before, and how is not known."""
        db = self._state.db
        for listed in in_order(change for part in run if part.until > after for change in part.read()):
            if not after < listed.time <= upto:
                continue
            parameters = (listed.time, listed.uri, NEVER)
            ended = db.execute("UPDATE version SET until = ? WHERE uri = ? AND until = ?", parameters).rowcount
            was_there = before and not ended and listed.change != ChangeKind.CREATED
            if was_there and not db.execute("SELECT 1 FROM version WHERE uri = ?", (listed.uri,)).fetchone():
                self._insert([(listed.uri, "", listed.time, "", "", None, listed.type, "")])
            if listed.change != ChangeKind.DELETED:
                self._insert([_version(listed, listed.time)])

    def _clear(self) -> None:
        self._state.db.execute("DELETE FROM version")

    def _insert(self, rows: Iterable[tuple[object, ...]], table: str = "version") -> None:
        self._state.db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608

    def _add_known(self) -> None:
        """Replace states of which nothing but the history of versions says which bytes a resource had."""
        query = """SELECT h.*, v.begin FROM history h
            JOIN version v ON v.uri = h.uri AND v.hash = '' AND h.begin < v.until AND h.until > v.begin"""
        known = self._state.db.execute(query).fetchall()
        replaced = {(row[0], row[-1]) for row in known}
        self._state.db.executemany("DELETE FROM version WHERE uri = ? AND begin = ?", replaced)
        self._insert(row[:-1] for row in known)

    @contextmanager
    def _entries(self, snapshot: PastState) -> Iterator[Iterable[ListedResource]]:
        """Read the resources of a snapshot: of a list, or of the manifests of a dump's packages."""
        if snapshot.kind is Capability.RESOURCELIST:
            with closing(self._source.entries(snapshot.uri, snapshot.kind, remembered=False)) as entries:
                yield entries.resources()
        else:
            packages = self._dumps.in_dump(snapshot.uri, snapshot.at)
            yield (resource for package in packages for resource in self._packages.read(package))

    # What is available

    def postpone(self, bit: int) -> int:
        """Record why what is pending is not available singly: only packages have its bytes; return how many.

        What has a version is fetched from there.
        """
        db = self._state.db
        uri, listed = "pending.uri", "uri IN (SELECT uri FROM membership WHERE sets & ?)"
        if self._state.versions is not None:  # it has a time
            uri = f"substr({uri}, 1, length({uri}) - {len('#2024-01-31T12:00:00.000000Z')})"
        if self._load_live():
            update = "UPDATE pending SET reason = 'its bytes from that time are no longer available'"
            there = f"SELECT 1 FROM live o WHERE o.uri = {uri} AND {_SAME.format('pending')}"  # noqa: S608
            db.execute(f"{update} WHERE {listed} AND mirrors = '[]' AND NOT EXISTS ({there})", (bit,))
        update = "UPDATE pending SET reason = 'its state at that time is not known'"
        db.execute(f"{update} WHERE {listed} AND hash = '' AND time = ''", (bit,))
        return self._state.number("SELECT count(*) FROM pending WHERE reason <> ''")

    def _load_live(self) -> bool:
        """Read what the Source lists now; return whether anything says that."""
        for kind in (Capability.RESOURCELIST, Capability.RESOURCEDUMP):
            if kind in self._set.documents:
                with self._entries(PastState("", kind, self._set.documents[kind], "")) as listed:
                    rows = ((resource.uri, resource.hash, resource.time) for resource in listed)
                    self._state.db.executemany("INSERT OR REPLACE INTO live VALUES (?, ?, ?)", rows)
                return True
        return False

    def _load_packed(self) -> None:
        """Read the manifests of all packages in reach; one that cannot be read has nothing."""
        self._state.db.execute("DELETE FROM packed")
        for package in self.packages(""):
            try:
                members = (resource for resource in self._packages.read(package) if resource.path)
                rows = ((resource.uri, resource.hash, resource.time) for resource in members)
                self._state.db.executemany("INSERT OR REPLACE INTO packed VALUES (?, ?, ?)", rows)
            except _FAILURES:
                continue


def _version(resource: ListedResource, begin: str, until: str = NEVER) -> tuple[object, ...]:
    """Return the row of a version: `begin` is when it came to be, empty if that was before the snapshot."""
    uri, _, time, hash_, length, media_type, links, *_ = resource
    mementos = (uri_of(link.href, uri) for link in links if link.rel == "memento") if hash_ else iter(())
    return uri, begin, until, time, hash_, length, media_type, next(mementos, "")


def _resource(row: Iterable[Any]) -> ListedResource:
    """Return what a row of a version describes; its memento is linked as what has the same bytes."""
    uri, time, hash_, length, media_type, memento = row
    links = (Link(rel="duplicate", href=memento),) if memento else ()
    return ListedResource(uri, "", time, hash_, length, media_type, links, "")


def short_time(time: str) -> str:
    """Return a time without a fraction of a second that is 0."""
    return time.replace(".000000Z", "Z")


def _end(run: list[_Part]) -> str:
    return max(part.until for part in run)
