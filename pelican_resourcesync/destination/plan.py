"""What a copy needs to match its Source: by Change Lists where they reach back far enough, else by lists.

It is fetched by single requests, or in packages of the dumps, whichever takes less.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from pelican_resourcesync.destination.links import Mirrors, links_of_copy, patch_text
from pelican_resourcesync.destination.past import Past, short_time
from pelican_resourcesync.destination.state import NEVER, CopyState, PastVersion
from pelican_resourcesync.errors import (
    DocumentError,
    IncompleteError,
    MirrorError,
    NoSourceError,
    NotYetError,
    ResourceSyncError,
    SourceError,
    TransportError,
)
from pelican_resourcesync.http import allowing, is_url, shown
from pelican_resourcesync.options import MirrorOptions, matches_type
from pelican_resourcesync.protocol import Capability, ChangeKind, Entry, Metadata
from pelican_resourcesync.source import (
    REBUILT,
    UNREAD,
    UNREADABLE,
    ChangeLists,
    GapError,
    ListedDumps,
    ListedPackage,
    ListedResource,
    Packages,
    Position,
    Source,
    SourceSet,
    elsewhere,
    find_sets,
    listed_resource,
    note_host,
    text_of,
    why_unusable,
)

_MORE: dict[str, int] = {ChangeKind.CREATED: 1, ChangeKind.UPDATED: 0, ChangeKind.DELETED: -1}
_BATCH = 1_000  # entries that are written at once
COST_OF_REQUEST = 20_000  # bytes that take about as long as a request
_UNKNOWN = 20_000  # bytes of a resource whose length is not known
_WORTH = 10  # resources; for fewer, no dump is looked at
FEW = 3  # deletions that are never too many, unless they are all there is
_SAME = """(e.hash <> '' AND (e.hash = r.listed OR e.hash = 'sha-256:' || r.digest)
    OR e.hash = '' AND e.time <> '' AND e.time <= r.time AND (e.length IS NULL OR e.length = r.length))"""


@dataclass(slots=True, kw_only=True)
class Route:
    """A way to get what is pending: its requests and bytes, as far as these are known, and its packages."""

    name: str
    requests: int
    size: int
    packages: list[ListedPackage] = field(default_factory=list)

    @property
    def cost(self) -> int:
        """What it takes, in bytes."""
        return self.size + self.requests * COST_OF_REQUEST


@dataclass(slots=True, kw_only=True)
class FetchPlan:
    """What is to be done: numbers of resources, their bytes as far as they are known, and remarks for people.

    `sets` has the time up to which each set was read (`at`) and, of a signed set, the number of its `generation`.
    `unread` says which sets and parts of lists cannot be read, and why: nothing of them is deleted, and the copy is not
    complete. `foreign` resources are on other hosts, which are not requested; `hosts` are the first of these. `routes`
    are those to what is to be fetched, for each set the one that is taken first; `packages` are the packages of these,
    and `other_packages` those that may have what is not available singly. `dumps` may have what a host refuses.
    """

    fetch: int = 0
    delete: int = 0
    size: int = 0
    unknown: int = 0
    requests: int = 0
    notes: list[str] = field(default_factory=list)
    sets: dict[str, dict[str, str | int | None]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    foreign: int = 0
    hosts: list[str] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    packages: list[ListedPackage] = field(default_factory=list)
    other_packages: list[ListedPackage] = field(default_factory=list)
    dumps: list[ListedDumps] = field(default_factory=list)

    @property
    def without(self) -> str:
        """What a complete copy lacks because of its host, and the option to have it; empty if that is nothing."""
        return f", without {elsewhere(self.foreign, self.hosts)}" if self.foreign else ""


def plan(state: CopyState, source: Source, options: MirrorOptions, *, reconcile: bool = False) -> FetchPlan:
    """Record in the state what is to be fetched and deleted; call it within a transaction.

    `reconcile`: compare with the Resource Lists even where Change Lists would do. Raises `IncompleteError` if what
    the Source says could do harm, and the errors of documents that cannot be read: nothing of such a plan may be kept.
    """
    result = FetchPlan()
    begin = source.requests
    # What could not be read may be right by now, where it was listed before.
    unreadable = state.number(f"SELECT count(*) FROM pending WHERE hash LIKE '{UNREADABLE}%'")  # noqa: S608
    again = state.get(REBUILT) or state.get("selection") not in (None, options.selection)
    reconcile = reconcile or unreadable > 0 or again
    sets = find_sets(source)
    _remove_sets(state, {resource_set.uri for resource_set in sets}, result)
    planners = [_Planner(state, source, options, result, resource_set) for resource_set in sets]
    for resource_set in sets if again else ():  # other resources were selected then
        state.set(f"hosts {resource_set.uri}", None)
    if reconcile:  # nothing is believed of what the copy should have, except of what cannot be read
        state.db.execute("INSERT OR IGNORE INTO membership SELECT uri, 0 FROM resource")
        state.db.execute("UPDATE membership SET sets = sets & ?", (sum(planner.bit for planner in planners),))
    failures = [failure for planner in planners if (failure := planner.try_to_plan(reconcile=reconcile))]
    if failures and len(failures) == len(planners):
        raise failures[0]
    result.notes += [note for note in source.notes if note not in result.notes]
    state.db.execute("DELETE FROM pending WHERE uri NOT IN (SELECT uri FROM membership WHERE sets)")
    state.db.execute("DELETE FROM membership WHERE sets = 0 AND uri NOT IN (SELECT uri FROM resource)")
    for resource_set in sets:
        at, *_ = state.get(f"at {resource_set.uri}") or [""]
        result.sets[resource_set.name] = {"at": short_time(at) or None, "generation": resource_set.generation}
    if not result.unread:
        state.set("selection", options.selection)
    if options.by == "dumps" or not (options.adopt or state.get(REBUILT)):  # those may have the files already
        for planner in planners:
            planner.find_routes()
    result.requests = source.requests - begin
    result.foreign = sum(planner.found[1] for planner in planners)
    result.hosts = list(dict.fromkeys(host for planner in planners for host in planner.found[2]))
    query = "SELECT count(*), CAST(total(length) AS INTEGER), count(*) - count(length) FROM pending"
    result.fetch, result.size, result.unknown = state.db.execute(query).fetchone()
    result.delete = state.number("SELECT count(*) FROM membership WHERE sets = 0")
    if result.fetch and (refused := dict.fromkeys(host for planner in planners for host in planner.mirrors.refused)):
        note = f"the Source has mirrors on other hosts: to use them as well, add {allowing(refused)}"
        result.notes.append(note)
    there = state.count()
    outcome = f"of the {there:,} resources of the copy are no longer listed or no longer selected: nothing was changed"
    refuse_deletions(result.delete, there, options.max_deletions, outcome)
    return result


def refuse_deletions(gone: int, there: int, limit: float, outcome: str) -> None:
    """Raise `IncompleteError` if more than `limit` percent is gone of what was there."""
    if gone * 100 > limit * there and (gone > FEW or gone == there):
        most = min(100, -(-gone * 100 // there))
        message = f"{gone:,} {outcome}. If that is right, add --max-deletions {most} (in Python: max_deletions={most})"
        raise IncompleteError(message, may_pass=False)


class _Planner:
    """Plans for one set."""

    def __init__(
        self, state: CopyState, source: Source, options: MirrorOptions, result: FetchPlan, resource_set: SourceSet
    ) -> None:
        self._state, self._source, self._options = state, source, options
        self._result, self._set = result, resource_set
        self._key = f"at {resource_set.uri}"
        self._distrusted = f"unusable {resource_set.uri}"  # the Change Lists, since a run that could not use them
        self._unusable = ""  # what is wrong with the Change Lists
        self._foreign: int  # resources on hosts that are not requested, set by `_clear`
        self._hosts: dict[str, None] = {}  # of these, the first
        #: How many resources are on hosts that are requested, and how many on others, with the first of these hosts.
        self.found: tuple[int, int, list[str]] = (0, 0, [])
        self._latest = ""  # of the times of resources in a list
        # Entries that are not in the state yet, and whether they replace others.
        self._rows: list[tuple[str | int | bool | None, ...]] = []
        known: list[str] = state.get("bits") or []
        if resource_set.uri not in known:
            known = known if "" in known else [*known, ""]
            known[known.index("")] = resource_set.uri
            state.set("bits", known)
        self.bit = 1 << known.index(resource_set.uri)
        if len(known) > 60:  # noqa: PLR2004 - the bits of an integer in SQLite
            message = "the Source has more than 60 sets: choose some with --set"
            raise MirrorError(message)

    def try_to_plan(self, *, reconcile: bool) -> ResourceSyncError | None:
        """Plan, or return why the set cannot be read: then it stays as it was. Raises the errors of the past.

        It stays, too, where nearly all of it is on other hosts now. It is empty where it did not exist yet.
        """
        before = self.found = self._known_hosts()
        self._state.db.execute("SAVEPOINT one_set")
        try:
            self.plan(reconcile=reconcile)
        except NotYetError as error:
            self._merge(complete=True)
            self._note("nothing is listed from before that time, so nothing was copied")
            return error
        except (*UNREAD, MirrorError) as error:
            if self._options.at is not None or self._state.versions is not None:
                raise
            self._state.db.execute("ROLLBACK TO one_set")
            self._result.unread.append(f"{self._set.name}: {error}")
            return error
        self.found = self._known_hosts()
        if why := _why_foreign(before, self.found):
            self._state.db.execute("ROLLBACK TO one_set")
            self._result.unread.append(f"{self._set.name}: {why}")
        return None

    def plan(self, *, reconcile: bool) -> None:
        # With the answers that other sets asked for.
        self.mirrors = Mirrors(self._state, self._source, self._result.notes, self._options.ask)
        if self._set.failure:
            raise self._set.failure
        if self._options.at is not None or self._state.versions is not None:
            self._by_past(text_of(self._options.at))
            return
        # Nothing says which alternate goes with what is deleted.
        position = None if reconcile or self._options.prefer else self._position()
        lists = self._set.documents
        if position and Capability.CHANGELIST in lists:
            if not self._state.get(self._distrusted) and self._by_changes(position):
                return
            reconcile = True  # the copy may not be as a list that has not changed since it was read
        if Capability.RESOURCELIST in lists:
            position = self._by_list(lists[Capability.RESOURCELIST], Capability.RESOURCELIST, reconcile=reconcile)
        elif "" in lists:
            self._by_list(lists[""], "", reconcile=reconcile)
            position = None  # no change follows it
            self._note("a sitemap lists URLs and dates; without hashes, the bytes cannot be verified")
        elif Capability.RESOURCEDUMP in lists:
            position = self._by_dump(lists[Capability.RESOURCEDUMP], reconcile=reconcile)
        else:
            message = f"the set {self._set.name!a} has no Resource List or Resource Dump, so it cannot be copied"
            raise NoSourceError(message)
        if Capability.CHANGELIST in lists and position:
            self._by_changes(position, partial=True)

    def _position(self) -> Position | None:
        """Return how far the set was followed; None if it was not, or if that is a time to come."""
        known = self._state.get(self._key)
        position = Position(*known) if known else None
        return position if position and position.at and not position.is_ahead else None

    def _remember(self, position: Position) -> None:
        """Remember how far the set was followed, unless that is a time to come."""
        if position.is_ahead:
            until = "until then, each run compares all of the Resource List"
            self._note(f"the lists are dated {position.at}, later than this machine's clock: {until}")
            position = Position("")
        self._state.set(self._key, position.remembered())

    def _note(self, text: str) -> None:
        if (note := f"{self._set.name}: {text}") not in self._result.notes:
            self._result.notes.append(note)

    def find_routes(self) -> None:
        """Find the cheapest way to what is pending."""
        if not any("dump" in kind for kind in self._set.documents) or self._options.by == "lists":
            return
        dumps = ListedDumps(self._source, self._set)
        self._result.dumps.append(dumps)
        try:
            routes = _find_routes(self._state, dumps, self._options, self.bit)
        except (TransportError, DocumentError, SourceError) as error:
            self._note(f"the dumps cannot be used: {error}")
            return
        for route in routes:
            route.name = f"{self._set.name}: {route.name}"
        self._result.routes += routes
        self._result.packages += routes[0].packages

    # The past

    def _by_past(self, time: str) -> None:
        past = Past(self._state, self._source, self._set)
        self._clear()
        if time:
            past.load(time)
        if (versions := self._state.versions) is None:
            for resource in past.resources(time):
                self._add(resource, gone=False, more=1)
        else:
            there = (PastVersion(one, min(one.time or time, time), NEVER) for one in past.resources(time))
            for version in {version.key: version for version in (there if time else past.versions())}.values():
                self._add(version.resource._replace(uri=version.key), gone=False, more=1)
                other = versions.setdefault(version.key, version)  # of another set
                versions[version.key] = max(version, other, key=lambda version: version.until)
        self._merge(complete=True)
        self._remember_hosts()
        if past.postpone(self.bit) and self._options.by != "lists":
            try:
                self._result.other_packages += past.packages(time)
            except (TransportError, DocumentError, SourceError) as error:
                self._note(f"the dumps cannot be used: {error}")

    # By Change Lists

    def _by_changes(self, position: Position, *, partial: bool = False) -> bool:
        """Plan by the changes since a position; return False if that is not possible, for a reason that is noted.

        `partial`: also if they do not reach back to it, because there is no newer list to compare.
        """
        self._clear()
        begin = position.at
        note = (lambda gap: self._note(f"{gap}: the changes in between are unknown")) if partial else None
        lists = ChangeLists(self._source, self._set)

        def add(change: ListedResource, _: Position) -> None:
            gone = change.change == ChangeKind.DELETED
            is_listed = partial and change.time == begin  # in the list that was just read
            if is_listed and not (change.hash or gone) and self._state.has_hash(change.uri):
                return  # which says more of it
            self._add(change, gone=gone, more=0 if is_listed else _MORE[change.change])

        if partial:  # the last change that was followed may be in the gap
            position = Position(position.at, reach=position.reach, opened=position.opened)
        if failure := lists.take(position, add, note) or lists.torn:
            if not isinstance(failure, GapError):
                self._unusable = why_unusable(failure)
                self._state.set(self._distrusted, value=True)
            self._note(why_unusable(failure) + ("" if partial else ", so the Resource List is compared"))
            return False
        self._merge(complete=False)
        self._state.set(self._distrusted, None)
        _, foreign, hosts = self._known_hosts()
        self._foreign, self._hosts = max(0, foreign + self._foreign), dict.fromkeys([*hosts, *self._hosts])
        self._remember_hosts()
        self._remember(lists.reached._replace(opened=lists.opened or position.opened))
        return True

    # By the Resource List

    def _by_list(self, uri: str, capability: str, *, reconcile: bool) -> Position | None:
        """Compare the Resource List, unless it is as it was; return how far it leads."""
        before = self._position()
        remembered = self._state.get(self._key) is not None and not reconcile
        unread: list[str] = []
        entries = self._source.entries(uri, capability, remembered=remembered, unread=unread)
        with closing(entries):
            if not entries.changed:
                return before
            position = self._compare(entries.resources(), entries.md, before.at if before else "", unread)
        if unread:
            self._result.unread += [f"{self._set.name}: {document}" for document in unread]
            return None  # so that the next run compares the list
        # A sitemap without a time is followed by nothing, so the latest time serves to say how old the copy is.
        self._remember(position if capability or position.at else Position(self._latest))
        return position if position.at else None

    def _by_dump(self, uri: str, *, reconcile: bool) -> Position | None:
        """Compare the manifests of a Resource Dump, unless it is as it was; return how far it leads."""
        before = self._position()
        listed = ListedDumps(self._source, self._set).of_resources()
        at = max((package.until for package in listed), default="")
        if before and before.at == at and not reconcile:
            return before
        with closing(self._source.whole_document(uri, Capability.RESOURCEDUMP)) as opened:
            md = opened.document.md or Metadata()
        packages = Packages(self._source)
        resources = (resource for package in listed for resource in packages.read(package))
        position = self._compare(resources, md, before.at if before else "", [])
        self._remember(position)
        return position if position.at else None

    def _compare(
        self, resources: Iterable[ListedResource], md: Metadata, before: str, unread: Sequence[str]
    ) -> Position:
        """Compare what a list has, as far as it can be read; return the position that it leads to."""
        at = text_of(md.at)
        if before and at and at < before and not self._options.accept_older:
            what = f"the Resource List of the set {self._set.name!a} is dated {at}, older than the copy ({before})"
            message = (
                f"{what}: nothing was changed. A cache may be stale: try again later. If the Source was set back, add "
                "--accept-older (in Python: accept_older=True)"
            )
            if self._unusable:
                message = (
                    f"{self._unusable}. {what}, and cannot replace them: nothing was changed. Tell the publisher, and "
                    "try again when a newer Resource List is published, or add --accept-older to go back to this one"
                )
            raise IncompleteError(message)
        self._clear()
        self._latest = ""
        for resource in resources:
            self._latest = max(self._latest, resource.time)
            self._add(resource, gone=False, more=1)
        self._merge(complete=not unread)
        self._remember_hosts()
        return Position(at, reach=text_of(md.completed))

    # Both

    def _known_hosts(self) -> tuple[int, int, list[str]]:
        own, foreign, hosts = self._state.get(f"hosts {self._set.uri}") or (0, 0, [])
        return own, foreign, hosts

    def _remember_hosts(self) -> None:
        own = self._state.number(f"SELECT count(*) FROM membership WHERE sets & {self.bit}")  # noqa: S608
        self._state.set(f"hosts {self._set.uri}", [own, self._foreign, [*self._hosts]])

    def _clear(self) -> None:
        self._rows.clear()
        self._foreign = 0
        self._state.db.execute("DELETE FROM entry")

    def _add(self, resource: ListedResource, *, gone: bool, more: int) -> None:
        """Record a resource, and the change in the size of its set."""
        listed, resource = resource, self._preferred(resource)
        uri = resource.uri
        wanted = gone or self._options.wants(uri.partition("#")[0], resource.type)
        if wanted and not self._source.allows(uri) and is_url(uri):  # others are named as missing
            self._foreign += more
            wanted = False
            note_host(self._hosts, uri)
        mirrors = self.mirrors.of(uri, resource.hash, resource.links) if wanted else "[]"
        # An alternate may be listed itself, too, and that entry says more of it.
        described = (resource.hash, resource.length, resource.time)
        links = links_of_copy(resource) if self._options.described and wanted and not gone else ""
        shown = (wanted, mirrors, resource.type, links, *patch_text(resource))
        self._rows.append((uri, gone, *described, *shown, resource is listed))
        if len(self._rows) >= _BATCH:
            self._write()

    def _preferred(self, resource: ListedResource) -> ListedResource:
        """Return the alternate that the user prefers to a resource (2012, §6), if it has one, or else itself."""
        for wanted in self._options.prefer:
            if matches_type(resource.type, wanted):
                break
            for link in resource.links:
                if link.rel != "alternate" or not matches_type(link.type or "", wanted):
                    continue
                md = Metadata(encoding=link.encoding, hash=link.hash, length=link.length, type=link.type)
                other = listed_resource(Entry(loc=link.href, lastmod=link.modified, md=md), resource.uri)
                if self._source.allows(other.uri) and self._options.wants(other.uri, other.type):
                    return other._replace(change=resource.change, time=other.time or resource.time)
        return resource

    def _write(self) -> None:
        """Write what was noted. Patches of a resource follow each other; if one is missing, all are NULL."""
        self._state.db.executemany(
            """INSERT OR REPLACE INTO entry SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
            iif(e.uri IS NULL, ?10, e.patches || char(10) || ?10), iif(e.uri IS NULL, ?11, e.patched + ?11)
            FROM (SELECT 1) LEFT JOIN entry e ON e.uri = ?1 WHERE ?12 OR e.uri IS NULL""",
            self._rows,
        )
        self._rows.clear()

    def _merge(self, *, complete: bool) -> None:
        """Turn the entries that were read into what is to be done; `complete`: nothing else exists in the set."""
        self._write()
        db, bit = self._state.db, self.bit
        db.execute("UPDATE entry SET gone = 1 WHERE NOT wanted")
        insert = "INSERT INTO membership SELECT uri, ?1 FROM entry WHERE NOT gone ON CONFLICT (uri)"
        db.execute(f"{insert} DO UPDATE SET sets = sets | ?1 WHERE sets & ?1 = 0", (bit,))
        unlisted = (
            "NOT IN (SELECT uri FROM entry WHERE NOT gone)" if complete else "IN (SELECT uri FROM entry WHERE gone)"
        )
        db.execute(f"UPDATE membership SET sets = sets & ~?1 WHERE sets & ?1 AND uri {unlisted}", (bit,))  # noqa: S608
        db.execute(
            f"""INSERT INTO pending (uri, hash, length, time, mirrors, patches, patched)
            SELECT e.uri, e.hash, e.length, e.time, e.mirrors, e.patches, e.patched
            FROM entry e LEFT JOIN resource r USING (uri) WHERE NOT e.gone AND (r.uri IS NULL OR NOT {_SAME})
            ON CONFLICT (uri) DO UPDATE SET hash = excluded.hash, length = excluded.length,
            time = excluded.time, mirrors = excluded.mirrors, reason = '',
            patches = pending.patches || char(10) || excluded.patches,
            patched = pending.patched + excluded.patched"""  # noqa: S608
        )
        if self._options.described:
            new = db.execute(
                """INSERT INTO description SELECT uri, type, links FROM entry WHERE links <> ''
                ON CONFLICT (uri) DO UPDATE SET type = excluded.type, links = excluded.links
                WHERE (type, links) <> (excluded.type, excluded.links)"""
            )
            if new.rowcount:
                self._state.set("published", "")
        # What is as listed need not be fetched.
        db.execute(
            f"""DELETE FROM pending WHERE uri IN
            (SELECT e.uri FROM pending p CROSS JOIN entry e USING (uri) JOIN resource r USING (uri)
            WHERE NOT e.gone AND {_SAME})"""  # noqa: S608
        )


def _why_foreign(before: tuple[int, int, list[str]], now: tuple[int, int, list[str]]) -> str:
    """Return why a set is not followed: nothing is on the hosts that are requested, or half of what was is no more."""
    (known, others, _), (own, foreign, hosts) = before, now
    whole = own + foreign
    if not foreign or (own and 2 * own * (known + others) >= known * whole):
        return ""
    was = f" ({known:,} of {known + others:,} in the last run)" if known else ""
    hint = f": add {allowing(hosts)}" if hosts else ""
    return f"{own or 'none'} of its {whole:,} resources are on hosts that are requested{was}{hint}"


def _remove_sets(state: CopyState, current: set[str], result: FetchPlan) -> None:
    """Empty the sets that the Source no longer has, or that are no longer selected."""
    for number, uri in enumerate(bits := state.get("bits") or []):
        if uri and uri not in current:
            if state.get(f"at {uri}"):
                result.notes.append(f"the set at {shown(uri)} is no longer followed")
            state.db.execute("UPDATE membership SET sets = sets & ~?1 WHERE sets & ?1", (1 << number,))
            state.set(f"at {uri}", None)
            bits[number] = ""
    state.set("bits", bits)


def _find_routes(state: CopyState, dumps: ListedDumps, options: MirrorOptions, bit: int) -> list[Route]:
    """Return the routes to what is pending of a set, the one to take first.

    Raises the errors of documents that cannot be read.
    """
    greedy = options.by == "dumps"
    wanted = _Wanted(state, bit, greedy=greedy)
    singly = Route(name="lists", requests=wanted.all[0], size=wanted.all[1])
    if options.by == "lists" or not singly.requests or (options.by == "auto" and singly.requests < _WORTH):
        return [singly]
    used = set(state.get("packages") or [])
    listed = dumps.of_resources()
    at = max((package.until for package in listed), default="")
    since = wanted.since_dump(at)
    changed = dumps.of_changes(since) if since else []
    changes = [package for package in changed if package.uri and package.key not in used]
    routes = [singly, _route("Change Dumps", wanted.all, wanted.by_changes(changes, ""))]
    packages = [package for package in listed if package.uri and package.key not in used]
    covered = wanted.count("time <= ?", (at,))
    if packages and covered[0]:
        later = wanted.by_changes(changes, at)
        name = f"Resource Dump of {at[:19]}Z" + (" and Change Dumps" if later else "")
        routes.append(_route(name, wanted.all, [*((package, (0, 0)) for package in packages), *later], covered))
    routes = [route for number, route in enumerate(routes) if not number or route.packages]
    return sorted(routes, key=lambda route: (greedy and not route.packages, route.cost))


#: Resources and bytes.
_Sum = tuple[int, int]


def _route(name: str, all_: _Sum, chosen: list[tuple[ListedPackage, _Sum]], covered: _Sum = (0, 0)) -> Route:
    """Return a route by packages, after which the rest is fetched one by one."""
    parts = [covered, *(total for _, total in chosen)]
    count, size = (max(0, whole - sum(part)) for whole, part in zip(all_, zip(*parts, strict=True), strict=True))
    packages = [package for package, _ in chosen]
    size += sum(package.length or 0 for package in packages)
    return Route(name=name, requests=count + len(packages), size=size, packages=packages)


class _Wanted:
    """What is pending of a set, summed up by when it came to be."""

    def __init__(self, state: CopyState, bit: int, *, greedy: bool) -> None:
        self._db, self._greedy = state.db, greedy
        self._db.execute("DROP TABLE IF EXISTS temp.wanted")
        sums = """SELECT time, count(*) n, total(coalesce(min(patched, length), length, ?)) size
            FROM pending JOIN membership USING (uri) WHERE sets & ? GROUP BY time"""
        self._db.execute(f"CREATE TEMP TABLE wanted AS {sums}", (_UNKNOWN, bit))
        self._db.execute("CREATE INDEX temp.wanted_time ON wanted (time)")
        self.all = self.count("1", ())
        self._stored = state.count()
        self.since = str(self._db.execute("SELECT coalesce(min(time), '') FROM wanted WHERE time <> ''").fetchone()[0])

    def count(self, where: str, values: tuple[str, ...]) -> _Sum:
        """Return the sum of what a condition is true of."""
        query = f"SELECT coalesce(sum(n), 0), CAST(total(size) AS INTEGER) FROM wanted WHERE {where}"  # noqa: S608
        count, size = self._db.execute(query, values).fetchone()
        return count, size

    def since_dump(self, at: str) -> str:
        """Return since when changes matter: for a first copy since the Resource Dump of a time; empty if none do."""
        if self.all[0] <= self._stored or self.count("time <= ?", (at,))[0] * 2 <= self.all[0]:
            return self.since
        return at if self.count("time > ?", (at,))[0] else ""

    def by_changes(self, packages: list[ListedPackage], after: str) -> list[tuple[ListedPackage, _Sum]]:
        """Return the packages of changes after a time that are worth it, all that have anything if `greedy`."""
        found = []
        for package in packages:
            begin, until = max(after, package.begin), package.until or NEVER
            wanted = self.count("time > ? AND time <= ?", (begin, until)) if begin < until else (0, 0)
            alone = wanted[1] + wanted[0] * COST_OF_REQUEST
            if wanted[0] and (self._greedy or COST_OF_REQUEST + (package.length or 0) < alone):
                found.append((package, wanted))
        return found
