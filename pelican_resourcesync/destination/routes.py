"""Routes to what is pending: single requests, or packages of the dumps, whichever takes less."""

from dataclasses import dataclass, field

from pelican_resourcesync.destination.state import CopyState
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.source import ListedDumps, ListedPackage

COST_OF_REQUEST = 20_000  # bytes that take about as long as a request
_UNKNOWN = 20_000  # bytes of a resource whose length is not known
_WORTH = 10  # resources; for fewer, no dump is looked at
#: The end of what has not ended; it sorts after every time.
NEVER = "~"


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


def find_routes(state: CopyState, dumps: ListedDumps, options: MirrorOptions, bit: int) -> list[Route]:
    """Return the routes to what is pending of a set, the one to take first.

    Raises the errors of documents that cannot be read.
    """
    wanted = _Wanted(state, bit)
    singly = Route(name="lists", requests=wanted.all[0], size=wanted.all[1])
    if options.by == "lists" or not singly.requests or (options.by == "auto" and singly.requests < _WORTH):
        return [singly]
    used, greedy = set(state.get("packages") or []), options.by == "dumps"
    listed = dumps.of_resources()
    at = max((package.until for package in listed), default="")
    since = wanted.since_dump(at)
    changes = (
        [package for package in dumps.of_changes(since) if package.uri and package.key not in used] if since else []
    )
    routes = [singly, _route("Change Dumps", wanted.all, wanted.by_changes(changes, "", greedy=greedy))]
    packages = [package for package in listed if package.uri and package.key not in used]
    covered = wanted.count("time <= ?", (at,))
    if packages and covered[0]:
        later = wanted.by_changes(changes, at, greedy=greedy)
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

    def __init__(self, state: CopyState, bit: int) -> None:
        self._db = state.db
        self._db.execute("DROP TABLE IF EXISTS temp.wanted")
        self._db.execute(
            """CREATE TEMP TABLE wanted AS
            SELECT time, count(*) n, total(coalesce(min(patched, length), length, ?)) size
            FROM pending JOIN membership USING (uri) WHERE sets & ? GROUP BY time""",
            (_UNKNOWN, bit),
        )
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

    def by_changes(
        self, packages: list[ListedPackage], after: str, *, greedy: bool
    ) -> list[tuple[ListedPackage, _Sum]]:
        """Return the packages of changes after a time that are worth it, all that have anything if `greedy`."""
        found = []
        for package in packages:
            begin, until = max(after, package.begin), package.until or NEVER
            wanted = self.count("time > ? AND time <= ?", (begin, until)) if begin < until else (0, 0)
            alone = wanted[1] + wanted[0] * COST_OF_REQUEST
            if wanted[0] and (greedy or COST_OF_REQUEST + (package.length or 0) < alone):
                found.append((package, wanted))
        return found
