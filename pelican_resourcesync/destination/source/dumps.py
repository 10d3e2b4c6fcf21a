"""The packages that the dumps of a set name, and which of them are worth fetching."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urljoin

from pelican_resourcesync.destination.copy import State, strongest
from pelican_resourcesync.destination.options import Options
from pelican_resourcesync.destination.source.changes import text_of, uri_of
from pelican_resourcesync.destination.source.discovery import ResourceSet
from pelican_resourcesync.destination.source.source import Source
from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Capability, Entry, Metadata, Root
from pelican_resourcesync.transport import shown

_NONE = Metadata()
_TYPES = ("", "application/zip", "application/x-zip-compressed")
_DEPTH = 3  # of indexes
COST_OF_REQUEST = 20_000  # bytes that take about as long as a request
_UNKNOWN = 20_000  # bytes of a resource whose length is not known
_MISSING = 10**9  # bytes that one resource is worth that cannot be had otherwise
_WORTH = 10  # resources; for fewer, no dump is looked at
#: The end of what has not ended; it sorts after every time.
NEVER = "~"

#: What is restored of the past: until when it was so, and whether it is known what it was.
AT_TIME = "CREATE TEMP TABLE IF NOT EXISTS at_time (uri TEXT PRIMARY KEY, until TEXT, known INTEGER) WITHOUT ROWID"


class Package(NamedTuple):
    """A package as a dump lists it; `begin` and `until` are the times of what it holds, empty if they are unknown."""

    uri: str
    kind: str
    hash: str
    length: int | None
    begin: str
    until: str
    contents: str

    @property
    def key(self) -> str:
        """What it is remembered by: others use an address again."""
        return f"{self.uri} {self.hash} {self.until}"


class Dumps:
    """The packages of a set, read from its Resource Dump and its Change Dumps, of now and of its archives."""

    def __init__(self, source: Source, options: Options, part: ResourceSet) -> None:
        self._source, self._options, self._documents = source, options, part.documents

    def of_resources(self) -> list[Package]:
        """Return the packages of the current Resource Dump."""
        uri = self._documents.get(Capability.RESOURCEDUMP)
        return self.in_dump(uri) if uri else []

    def in_dump(self, uri: str, at: str = "") -> list[Package]:
        """Return the packages of a Resource Dump; `at` is its time if it does not say that itself."""
        with closing(self._source.entries(uri, Capability.RESOURCEDUMP, remembered=False)) as entries:
            at = text_of(entries.root.md.at) if entries.root and entries.root.md else at
            return [self._package(each, uri, Capability.RESOURCEDUMP, "", at) for each in self._limited(entries, uri)]

    def of_changes(self, since: str) -> list[Package]:
        """Return the packages of the Change Dumps that hold changes of a time or later, in order."""
        found: dict[str, Package] = {}
        for capability in (Capability.CHANGEDUMP_ARCHIVE, Capability.CHANGEDUMP):
            if capability in self._documents:
                for each in self._changes(self._documents[capability], capability, since):
                    found.setdefault(each.uri, each)
        return [each for each in found.values() if not each.until or each.until >= since]

    def _changes(self, uri: str, capability: Capability, since: str, depth: int = _DEPTH) -> Iterator[Package]:
        """Yield the packages of a Change Dump, of those that an index names, or of those in an archive."""
        with closing(self._source.whole_document(uri, capability)) as opened:
            document, entries = opened.document, list(self._limited(opened.entries, uri))
        if document.root is Root.URLSET and capability == Capability.CHANGEDUMP:
            md = document.md or _NONE
            for each in entries:
                yield self._package(each, uri, capability, text_of(md.from_), text_of(md.until))
            return
        for each in entries:
            until = text_of((each.md or _NONE).until)
            if (not until or until >= since) and depth:
                inner = capability if document.root is Root.SITEMAPINDEX else Capability.CHANGEDUMP
                yield from self._changes(urljoin(uri, each.loc), inner, since, depth - 1)

    def _limited(self, entries: Iterable[Entry], uri: str) -> Iterator[Entry]:
        for count, each in enumerate(entries):
            if count >= self._options.max_documents:
                message = f"{shown(uri)} names more than {self._options.max_documents} packages (--max-documents)"
                raise DocumentError(message)
            yield each

    def _package(self, entry: Entry, base: str, kind: Capability, begin: str, until: str) -> Package:
        md = entry.md or _NONE
        contents = next((urljoin(base, link.href) for link in entry.links if link.rel == "contents"), "")
        if kind == Capability.CHANGEDUMP:
            begin, until = text_of(md.from_) or begin, text_of(md.until) or until
        else:
            until = text_of(md.at) or until
        uri = uri_of(entry, base) if (md.type or "") in _TYPES else ""
        return Package(uri, str(kind), strongest(md.hash), md.length, begin, until, contents)


@dataclass(slots=True, kw_only=True)
class Way:
    """A way to get what is pending: its requests and bytes, as far as these are known, and its packages."""

    name: str
    requests: int
    size: int
    packages: list[Package] = field(default_factory=list)
    missing: int = 0

    @property
    def cost(self) -> int:
        """What it takes, in bytes."""
        return self.size + self.requests * COST_OF_REQUEST + self.missing * _MISSING


def find_ways(
    state: State, dumps: Dumps, options: Options, bit: int, archived: Iterable[tuple[str, str]]
) -> tuple[list[Way], list[Package]]:
    """Return the ways to get what is pending of a set, the one to take first; and all packages that may have some.

    `archived`: further Resource Dumps, with their times. Raises the errors of documents that cannot be read.
    """
    wanted = _Wanted(state, bit)
    singly = Way(name="lists", requests=wanted.all[0], size=wanted.all[1], missing=wanted.all[2])
    if options.by == "lists" or not singly.requests or (options.by == "auto" and wanted.few):
        return [singly], []
    used = set(state.get("packages") or [])
    every = list(dict.fromkeys([tuple(dumps.of_resources()), *(tuple(dumps.in_dump(uri, at)) for uri, at in archived)]))
    since = wanted.since_dump(max((each.until for each in every[0]), default=""))
    changes = [each for each in dumps.of_changes(since) if each.uri and each.key not in used] if since else []
    chosen = wanted.by_changes(changes, "", greedy=options.by == "dumps")
    found = [singly, _way("Change Dumps", wanted.all, chosen)]
    for packages in every:
        at = max((each.until for each in packages), default="")
        left = [each for each in packages if each.uri and each.key not in used]
        covered = wanted.count("time <= ? AND until > ?", (at, at))
        if not left or not covered[0]:
            continue
        later = wanted.by_changes(changes, at, greedy=options.by == "dumps")
        name = f"Resource Dump of {at[:19]}Z" + (" and Change Dumps" if later else "")
        found.append(_way(name, wanted.all, [*((each, (0, 0, 0)) for each in left), *later], covered))
    found = [each for number, each in enumerate(found) if not number or each.packages]
    found.sort(key=lambda way: (options.by == "dumps" and not way.packages, way.cost))
    return found, list(dict.fromkeys(each for packages in (changes, *every) for each in packages if each.uri))


#: Resources, bytes, and how many of the resources cannot be had singly.
_Sum = tuple[int, int, int]


def _way(name: str, all_: _Sum, chosen: list[tuple[Package, _Sum]], covered: _Sum = (0, 0, 0)) -> Way:
    """Return a way by packages, after which the rest is fetched singly."""
    parts = [covered, *(each for _, each in chosen)]
    count, size, missing = (
        max(0, whole - sum(part)) for whole, part in zip(all_, zip(*parts, strict=True), strict=True)
    )
    packages = [package for package, _ in chosen]
    size += sum(package.length or 0 for package in packages)
    return Way(name=name, requests=count + len(packages), size=size, packages=packages, missing=missing)


class _Wanted:
    """What is pending of a set, summed up by when it came to be and until when it was so."""

    def __init__(self, state: State, bit: int) -> None:
        self._db = state.db
        self._db.execute("DROP TABLE IF EXISTS temp.wanted")
        self._db.execute(AT_TIME)
        self._db.execute(
            """CREATE TEMP TABLE wanted AS SELECT p.time, coalesce(v.until, ?) until, count(*) n,
            sum(coalesce(p.length, ?)) size, sum(p.reason <> '') missing FROM pending p
            LEFT JOIN at_time v USING (uri) WHERE p.gone = 0 AND p.sets & ? GROUP BY 1, 2""",
            (NEVER, _UNKNOWN, bit),
        )
        self._db.execute("CREATE INDEX temp.wanted_time ON wanted (time)")
        self.all = self.count("1", ())
        self._held = state.count()
        self.few = self.all[0] < _WORTH and not self.all[2]
        self.since = str(self._db.execute("SELECT coalesce(min(time), '') FROM wanted WHERE time <> ''").fetchone()[0])

    def count(self, where: str, values: tuple[str, ...]) -> _Sum:
        """Return the sum of what a condition is true of."""
        query = (
            f"SELECT coalesce(sum(n), 0), coalesce(sum(size), 0), coalesce(sum(missing), 0) FROM wanted WHERE {where}"  # noqa: S608
        )
        count, size, missing = self._db.execute(query, values).fetchone()
        return count, size, missing

    def since_dump(self, at: str) -> str:
        """Return since when changes matter: for a first copy since the Resource Dump of a time; empty if none do."""
        if self.all[2] or self.all[0] <= self._held or self.count("time <= ?", (at,))[0] * 2 <= self.all[0]:
            return self.since
        return at if self.count("time > ?", (at,))[0] else ""

    def by_changes(self, packages: list[Package], after: str, *, greedy: bool) -> list[tuple[Package, _Sum]]:
        """Return the packages of changes after a time that are worth it, all that hold anything if `greedy`."""
        found = []
        for each in packages:
            begin, until = max(after, each.begin), each.until or NEVER
            held = self.count("time > ? AND time <= ?", (begin, until)) if begin < until else (0, 0, 0)
            alone = held[1] + held[0] * COST_OF_REQUEST + held[2] * _MISSING
            if held[0] and (greedy or COST_OF_REQUEST + (each.length or 0) < alone):
                found.append((each, held))
        return found
