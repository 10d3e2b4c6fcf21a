"""Time, from the clocks that git recorded to the ranges that are published: what holds whatever those clocks said."""

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pelican_resourcesync.git.landing import Landing, landing_times
from pelican_resourcesync.git.log import Commit
from pelican_resourcesync.publication import (
    PERIODS,
    Calendar,
    Change,
    FixedBoundaries,
    RangeBoundaries,
    Representation,
    changes_since,
)
from pelican_resourcesync.publication.diff import make_times_unique
from pelican_resourcesync.publication.model.ranges import Range, cut
from tests.e2e.test_adds_up import published
from tests.publication.support import CREATED, DELETED, UPDATED
from tests.support.reader import XmlDocument
from tests.support.sites import Row, Site, strip

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
DAY = 86_400
MIDNIGHT = 19_875 * DAY
REPRESENTATION = Representation.measured("0" * 64, 1, "text/html")
MANY = 50_000

#: Clocks that agree, that stand still, that go back, that were never set, that are years ahead.
CLOCKS = st.one_of(
    st.integers(MIDNIGHT - 3, MIDNIGHT + 3),
    st.sampled_from([0, 1, MIDNIGHT + DAY, MIDNIGHT + 30 * DAY, 2**31 - 1, 2**31, 2**32, 2**63, 2**64, 10**30]),
    st.integers(19_800, 20_100).map(lambda day: day * DAY),
    st.integers(0, int(NOW.timestamp()) + 3 * DAY),
)
#: What commits do to four URLs: whether each is there afterwards.
EDITS = st.dictionaries(st.sampled_from("abcd"), st.booleans(), min_size=1, max_size=3)
HISTORIES = st.lists(st.tuples(CLOCKS, EDITS), max_size=20)
#: How ranges are cut: at the calendar's periods, or after every so many commits.
CUTS = st.sampled_from(PERIODS) | st.integers(1, 4)

History = Sequence[tuple[int, Mapping[str, bool]]]


def landed(clocks: Iterable[int], built: datetime = NOW, known: Mapping[str, datetime] | None = None) -> list[Landing]:
    """Land commits of these clocks."""
    commits = [Commit(f"{number:040}", clock, ()) for number, clock in enumerate(clocks)]
    return list(landing_times(commits, built=built, known=known))


@given(st.lists(CLOCKS, max_size=40))
def test_clock_that_is_ahead_of_all_before_it_is_believed(clocks: list[int]) -> None:
    """A commit dated a second or more after all before it landed then, unless at midnight or in the future."""
    latest = [-1, *accumulate(clocks, max)]
    for before, clock, found in zip(latest, clocks, landed(clocks), strict=False):
        past = EPOCH.timestamp() <= clock <= NOW.timestamp()
        if past and clock > before and clock % DAY:
            assert found.time == EPOCH + timedelta(seconds=clock)
            assert not found.held


@given(st.lists(CLOCKS.filter(lambda clock: clock <= NOW.timestamp()), max_size=40))
def test_no_commit_lands_before_its_clock_nor_long_after_all_clocks(clocks: list[int]) -> None:
    """Where no clock runs ahead, a commit lands between its own time and a moment after the latest up to it."""
    for clock, latest, found in zip(clocks, accumulate(clocks, max), landed(clocks), strict=True):
        assert EPOCH + timedelta(seconds=clock) <= found.time < EPOCH + timedelta(seconds=latest + 1)


@given(st.lists(CLOCKS, max_size=30), st.lists(st.tuples(st.integers(1, 10), st.integers(0, 10**5)), max_size=6))
def test_branch_that_grows_between_builds_keeps_its_times(clocks: list[int], builds: list[tuple[int, int]]) -> None:
    """Built again and again, later each time and with more commits, nothing that landed ever lands elsewhere."""
    count, built = 0, NOW
    known: dict[str, datetime] = {}
    before: list[Landing] = []
    for more, hours in builds:
        count, built = count + more, built + timedelta(hours=hours)
        now = landed(clocks[:count], built, known)
        assert now[: len(before)] == before
        known, before = {each.commit.sha: each.time for each in now if each.held}, now


def changes_of(history: History, landings: Sequence[Landing]) -> tuple[list[Change], set[str]]:
    """Say what the edits of a history change, each when its commit landed; and which URLs are left."""
    there: set[str] = set()
    changes = []
    for landing, (_clock, edits) in zip(landings, history, strict=True):
        for uri, stays in sorted(edits.items()):
            if stays or uri in there:
                kind = (UPDATED if uri in there else CREATED) if stays else DELETED
                changes.append(Change(landing.time, uri, kind))
            (there.add if stays else there.discard)(uri)
    return changes, there


def retold(changes: Iterable[Change]) -> Iterator[Change]:
    """Tell the updates of one URL as two changes at one time: as if its source went, and another came for it."""
    for each in changes:
        if each.uri == "d" and each.kind is UPDATED:
            yield each._replace(kind=DELETED)
            yield each._replace(kind=CREATED)
        else:
            yield each


def ranges_of(history: History, by: str | int, limit: int) -> list[Range]:
    """Publish a history for the first time: divide it into ranges."""
    landings = landed(clock for clock, _edits in history)
    told, there = changes_of(history, landings)
    last = landings[-1].time if landings else NOW
    found = changes_since(None, dict.fromkeys(there, REPRESENTATION), retold(told), unexplained=last)
    cuts: RangeBoundaries = (
        Calendar(by) if isinstance(by, str) else FixedBoundaries([each.time for each in landings[by - 1 :: by]])
    )
    return cut(make_times_unique(found, floor=None, limit=limit), cuts, open_range=None, begin=None, limit=limit)


@given(HISTORIES, CUTS, st.sampled_from([1, 2, MANY]))
def test_no_two_changes_of_a_url_share_a_time(history: History, by: str | int, limit: int) -> None:
    """CH03, CH05: times never fall from one change to the next, and grow from one change of a URL to its next."""
    changes = [change for each in ranges_of(history, by, limit) for change in each.changes]
    assert all(one.time <= other.time for one, other in pairwise(changes))
    for uri in "abcd":
        assert all(one.time < other.time for one, other in pairwise(each for each in changes if each.uri == uri))


@given(HISTORIES, HISTORIES, CUTS, st.sampled_from([1, 2, MANY]))
def test_more_commits_change_no_earlier_change(one: History, more: History, by: str | int, limit: int) -> None:
    """Published from history alone, as in CI: what was listed is listed again, at the same times, and first."""
    before, after = (
        [change for each in ranges_of(history, by, limit) for change in each.changes]
        for history in (one, [*one, *more])
    )
    assert after[: len(before)] == before


@given(HISTORIES, HISTORIES, CUTS, st.sampled_from([3, MANY]))
def test_more_commits_change_no_range_that_was_closed(one: History, more: History, by: str | int, limit: int) -> None:
    """Likewise, what is closed stays, what is open grows at its end; a list can hold all that one commit changes."""
    before, after = ranges_of(one, by, limit), ranges_of([*one, *more], by, limit)
    closed = before[:-1]
    assert after[: len(closed)] == closed
    if before:
        opened, grown = before[-1], after[len(closed)]
        assert grown.start == opened.start
        assert grown.changes[: len(opened.changes)] == opened.changes


#: The committer's date as a commit has it; git reads most of these, and makes nothing of the others.
DATES = st.one_of(
    st.builds("{} {}".format, CLOCKS, st.sampled_from(["+0000", "+1400", "-1200", "-9999"])),
    st.builds("{} +0200".format, st.integers(MIDNIGHT, MIDNIGHT + 90 * DAY)),
    st.sampled_from(["-5 +0000", "", "yesterday", "1700000000", "007 +0000", f"{MIDNIGHT + 0.5} +0000"]),
)


@dataclass(frozen=True)
class Step:
    """One commit: its committer's date, what it does, and the date of the side branch that it merges, if it does."""

    date: str
    edits: Mapping[str, bool] = field(default_factory=dict)
    side: str | None = None
    tag: bool = False


Parts = tuple[list[Step], list[Step]]
PAST_DATES = DATES.filter(lambda date: not date[:1].isdigit() or float(date.split()[0]) < NOW.timestamp())


def commits_of(dates: st.SearchStrategy[str]) -> st.SearchStrategy[list[Step]]:
    """Give some commits of such dates."""
    return st.lists(st.builds(Step, dates, EDITS, st.none() | DATES, st.booleans()), min_size=2, max_size=5)


def parts_of(dates: st.SearchStrategy[str]) -> st.SearchStrategy[Parts]:
    """Give what is committed before a build, and what, of such dates, between that and the next.

    The first commit is none of the future: there is none before it that it could land after.
    """
    return st.tuples(st.builds(Step, PAST_DATES), commits_of(DATES), commits_of(dates)).map(
        lambda each: ([each[0], *each[1]], each[2])
    )


BY = st.sampled_from(["day", "month", "tag", 1, 3])


@dataclass
class Past:
    """A history made object by object, because no command of git writes every date that git reads."""

    site: Site
    head: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    rows: list[list[tuple[str, str]]] = field(default_factory=list)

    def add(self, steps: Iterable[Step]) -> None:
        """Add commits to the branch and check it out; note what each changes, as (kind, path)."""
        for step in steps:
            rows = []
            edits = step.edits if self.head else {"kept": True, **step.edits}  # Pelican must have something to write
            for name, stays in sorted(edits.items()):
                there = name in self.texts
                if stays:
                    self.texts[name] = f"Title: {name}\nDate: 2024-01-01\n\nText {len(self.rows)}.\n"
                    rows.append(("updated" if there else "created", f"/{name}.html"))
                elif there:
                    del self.texts[name]
                    rows.append(("deleted", f"/{name}.html"))
            self.rows.append(rows)
            self._commit(step)
        self.site.write(".git/refs/heads/main", f"{self.head}\n")
        self.site.git("reset", "-q", "--hard")

    def believed(self) -> set[str]:
        """Give the times of the commits that change something and are dated after all before them, and in the past."""
        times, latest = set(), -1
        printed = self.site.git("log", "--first-parent", "--reverse", "--format=%ct.").split("\n")
        for rows, clock in zip(self.rows, (int(line.strip(".") or 0) for line in printed), strict=True):
            if clock > NOW.timestamp():
                continue
            if rows and clock > latest and clock % DAY:
                times.add(f"{EPOCH + timedelta(seconds=clock):%Y-%m-%dT%H:%M:%SZ}")
            latest = max(latest, clock)
        return times

    def _commit(self, step: Step) -> None:
        tree = self._tree()
        parents = [self.head] if self.head else []
        if parents and step.side is not None:
            parents.append(self._object("commit", _commit(tree, parents, step.side)))
        self.head = self._object("commit", _commit(tree, parents, step.date))
        if step.tag:
            self.site.write(f".git/refs/tags/t{len(self.rows)}", f"{self.head}\n")

    def _tree(self) -> str:
        folders: dict[str, dict[str, bytes]] = {
            "content": {f"{name}.md": text.encode() for name, text in self.texts.items()},
            "theme/templates": {file.name: file.read_bytes() for file in self.site.folder.glob("theme/templates/*")},
        }
        blobs = {
            folder: self._folder({name: ("100644", self._object("blob", data)) for name, data in files.items()})
            for folder, files in folders.items()
        }
        conf = self._object("blob", (self.site.folder / "pelicanconf.py").read_bytes())
        theme = self._folder({"templates": ("40000", blobs["theme/templates"])})
        return self._folder(
            {"content": ("40000", blobs["content"]), "pelicanconf.py": ("100644", conf), "theme": ("40000", theme)}
        )

    def _folder(self, entries: Mapping[str, tuple[str, str]]) -> str:
        lines = (f"{mode} {name}\0".encode() + bytes.fromhex(sha) for name, (mode, sha) in sorted(entries.items()))
        return self._object("tree", b"".join(lines))

    def _object(self, kind: str, body: bytes) -> str:
        data = f"{kind} {len(body)}\0".encode() + body
        name = hashlib.sha1(data).hexdigest()
        self.site.write(f".git/objects/{name[:2]}/{name[2:]}", zlib.compress(data, 1))
        return name


def _commit(tree: str, parents: Sequence[str], date: str) -> bytes:
    lines = [f"tree {tree}", *(f"parent {each}" for each in parents)]
    lines += ["author A <a@example.org> 1234567890 +0000", f"committer A <a@example.org> {date}"]
    return "\n".join([*lines, "", "Change the site", ""]).encode()


@contextmanager
def past(**configuration: object) -> Iterator[Past]:
    """Give a site that publishes its articles alone, with nothing committed."""
    with TemporaryDirectory() as folder:
        site = strip(Site.create(Path(folder) / "site"))
        site.configure(RESOURCESYNC={"allow_deletions": True, **configuration})
        yield Past(site)


@dataclass(frozen=True)
class Listing:
    """What is published at one time: all changes, and the Change Lists that are closed."""

    rows: list[Row] = field(default_factory=list)
    closed: list[XmlDocument] = field(default_factory=list)

    def grew_from(self, before: "Listing") -> bool:
        """Tell whether all that was listed before still is, as it was."""
        rows, closed = self.rows[: len(before.rows)], self.closed[: len(before.closed)]
        return (rows, closed) == (before.rows, before.closed)

    @property
    def times(self) -> set[str]:
        """The times of all changes."""
        return {time for time, _kind, _path in self.rows}


def build(site: Site, *, anew: bool) -> Listing:
    """Build a site, `anew` into an empty output, check what is published, and give it."""
    if anew:
        site.git("clean", "-fdxq")
    site.build()
    rows = site.changes()
    assert datetime.fromisoformat(rows[-1][0]) < datetime.now(UTC) + timedelta(days=2)
    return Listing(rows, published(site).lists[:-1])


def by_time(rows: Sequence[Row]) -> list[list[tuple[str, str]]]:
    """Give the changes that share a time together."""
    return [[(kind, path) for _time, kind, path in group] for _time, group in groupby(rows, lambda row: row[0])]


#: Each example is several builds of Pelican: few of them, the same each time, none made smaller where one fails.
few = settings(max_examples=3, derandomize=True, database=None, phases=[Phase.generate])


@few
@given(parts_of(DATES), BY)
def test_built_from_history_alone(parts: Parts, by: str | int) -> None:
    """As CI builds: each commit that changes something has a time, in git's order, and more commits change none."""
    with past(changes_by=by) as branch:
        listing = Listing()
        for steps in parts:
            branch.add(steps)
            before, listing = listing, build(branch.site, anew=True)
            assert listing.grew_from(before)
            assert by_time(listing.rows) == list(filter(None, branch.rows))
            assert branch.believed() <= listing.times


@few
@given(parts_of(PAST_DATES), BY)
def test_built_one_after_another(parts: Parts, by: str | int) -> None:
    """Carried forward, a change has the time of its last in history, also when a date of the future has passed."""
    first, second = parts
    with past(changes_by=by) as branch:
        branch.add([*first, Step("4102444800 +0000", {"a": True})])
        before = build(branch.site, anew=False)
        branch.add(second)
        with patch.dict(os.environ, SOURCE_DATE_EPOCH="7258118400"):
            after = build(branch.site, anew=False)
        assert after.grew_from(before)
        told = build(branch.site, anew=True).rows
        assert told[: len(before.rows)] == before.rows
        then, now = there(before.rows), there(told)
        last = {path: time for time, _kind, path in told[len(before.rows) :]}
        new = {path: (time, kind) for time, kind, path in after.rows[len(before.rows) :]}
        assert len(new) == len(after.rows) - len(before.rows)
        for path, (time, kind) in new.items():
            assert time == last[path]
            assert kind == ("created" if path not in then else "updated" if path in now else "deleted")
        assert then ^ now <= new.keys()


def there(rows: Iterable[Row]) -> set[str]:
    """Give the paths that are there after these changes."""
    kinds = {path: kind for _time, kind, path in rows}
    return {path for path, kind in kinds.items() if kind != "deleted"}


@few
@given(parts_of(DATES), BY)
def test_built_with_what_is_not_committed(parts: Parts, by: str | int) -> None:
    """Where an edit is published before it is committed, or never is, nothing listed changes and times still grow."""
    with past(changes_by=by) as branch:
        listing = Listing()
        for steps in parts:
            branch.add(steps)
            branch.site.article("a.md", "a", f"Not committed, {len(listing.rows)}.")
            before, listing = listing, build(branch.site, anew=False)
            assert listing.grew_from(before)
            assert listing.rows[-1][2] == "/a.html"
