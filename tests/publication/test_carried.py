"""Carried forward: whatever happens to a set and however often it is published, all its followers come along.

A machine adds, edits, renames and hides resources, tells true and false things of them with clocks that run as they
like, and publishes at any moment. A Destination that knows only the well-known URI and lxml looks on.
"""

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.previous import Previous, read_previous
from pelican_resourcesync.publication.publish import Told
from pelican_resourcesync.publication.ranges import PERIODS, Calendar, Cuts, Marks
from tests.publication.support import SITEURL, Item, Source, tree

PATHS = ("a.html", "b.txt", "c/d.html", "e")
SITES = (SITEURL, "https://museum.example/new")
LONG = settings().max_examples > 1_000

_paths = st.sampled_from(PATHS)
_bytes = st.binary(max_size=1)
_kinds = st.sampled_from(ChangeKind)
_times = st.builds(
    lambda day, off: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day, milliseconds=off),
    st.integers(0, 90),
    st.integers(-2, 2),
)
_cuts = st.builds(Calendar, st.sampled_from(PERIODS)) | st.builds(
    lambda times: Marks(sorted(times)), st.lists(_times, max_size=4)
)
_limits = st.sampled_from([1, 2, 3, 50_000])
_keeps = st.sampled_from([None, 1, 2, 3])


@dataclass(frozen=True)
class Seen:
    """What a Destination saw of one publication, following links from the well-known URI."""

    documents: Mapping[str, bytes]
    named: Collection[str]
    at: datetime
    hashes: Mapping[str, str | None]
    lastmods: Mapping[str, str | None]
    closed: Mapping[str, bytes]
    intervals: Sequence[Mapping[str, str]]
    changes: Sequence[Item]

    @classmethod
    def of(cls, source: Source) -> "Seen":
        """Look at what is published now."""
        documents, resources = source.documents(), source.resource_list()
        lists = [(item, each, item.loc.removeprefix(f"{source.siteurl}/")) for item, each in source.change_lists()]
        for item, each, _path in lists:
            assert item.md == {name: each.md[name] for name in ("from", "until") if name in each.md}
            begin, until = each.md["from"], each.md.get("until")
            assert all(datetime.fromisoformat(begin) < time_of(change) for change in each.items)
            assert not until or all(time_of(change) <= datetime.fromisoformat(until) for change in each.items)
        return cls(
            documents=documents,
            named=named_by(source),
            at=source.at(),
            hashes={uri: item.md["hash"] for uri, item in resources.items()},
            lastmods={uri: item.lastmod for uri, item in resources.items()},
            closed={path: documents[path] for _item, each, path in lists if "until" in each.md},
            intervals=[each.md for _item, each, _path in lists],
            changes=[change for _item, each, _path in lists for change in each.items],
        )


def named_by(source: Source) -> set[str]:
    """Give the paths of all documents that are found by following entries from the well-known URI."""
    paths, waiting = set(), [f"{source.siteurl}/.well-known/resourcesync"]
    while waiting:
        uri = waiting.pop()
        paths.add(uri.removeprefix(f"{source.siteurl}/"))
        found = source.paper(uri)
        leads = found.root == "sitemapindex" or found.md["capability"] in {"description", "capabilitylist"}
        waiting += [item.loc for item in found.items] if leads else []
    return paths


def time_of(item: Item) -> datetime:
    """Give the time of a change."""
    assert item.lastmod
    return datetime.fromisoformat(item.lastmod)


def follow(hashes: Mapping[str, str | None], changes: Sequence[Item]) -> dict[str, str | None]:
    """Do what changes say to a copy, as a Destination does; each must be possible."""
    copy = dict(hashes)
    for each in changes:
        assert (each.loc in copy) == (each.md["change"] != "created"), each
        if each.md["change"] == "deleted":
            del copy[each.loc]
        else:
            copy[each.loc] = each.md["hash"]
    return copy


class Carried(RuleBasedStateMachine):
    """A set of resources, its drafts, and what history will tell of them when it is published next."""

    @initialize(cuts=_cuts, limit=_limits)
    def begin(self, cuts: Cuts, limit: int) -> None:
        """Begin with nothing."""
        self.folder = TemporaryDirectory()
        self.source = Source(Path(self.folder.name) / "output", cuts)
        self.limits = Limits(entries=limit)
        self.keep: int | None = None
        self.contents: dict[str, bytes] = {}
        self.drafts: dict[str, bytes] = {}
        self.pending: list[Change] = []
        self.commit = 0
        self.landed = datetime(2024, 1, 1, tzinfo=UTC)
        self.past: list[Seen] = []
        self.closed: dict[str, bytes] = {}
        self.dropped: set[str] = set()
        self.shortened = False

    def teardown(self) -> None:
        """Let go of the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def tell(self, path: str, kind: ChangeKind, time: datetime | None) -> None:
        """Let history know of a change, or not."""
        if time is not None:
            self.pending.append(Change(time, f"{self.source.siteurl}/{path}", kind))

    @rule(path=_paths, data=_bytes, time=st.none() | _times)
    def save(self, path: str, data: bytes, time: datetime | None) -> None:
        """Add a resource, or edit it."""
        self.tell(path, ChangeKind.UPDATED if path in self.contents else ChangeKind.CREATED, time)
        self.contents[path] = data

    @rule(path=_paths, time=st.none() | _times)
    def remove(self, path: str, time: datetime | None) -> None:
        """Remove a resource."""
        if self.contents.pop(path, None) is not None:
            self.tell(path, ChangeKind.DELETED, time)

    @rule(path=_paths, to=_paths, time=st.none() | _times)
    def rename(self, path: str, to: str, time: datetime | None) -> None:
        """Give the bytes of a resource another address."""
        if path in self.contents and path != to:
            self.tell(path, ChangeKind.DELETED, time)
            self.tell(to, ChangeKind.UPDATED if to in self.contents else ChangeKind.CREATED, time)
            self.contents[to] = self.contents.pop(path)

    @rule(path=_paths, time=st.none() | _times)
    def toggle(self, path: str, time: datetime | None) -> None:
        """Make a draft of a resource, or publish a draft."""
        if path in self.contents:
            self.drafts[path] = self.contents.pop(path)
            self.tell(path, ChangeKind.DELETED, time)
        elif path in self.drafts:
            self.contents[path] = self.drafts.pop(path)
            self.tell(path, ChangeKind.CREATED, time)

    @rule(path=_paths, kind=_kinds, time=_times)
    def lie(self, path: str, kind: ChangeKind, time: datetime) -> None:
        """Let history tell what did not happen, or what was undone."""
        self.tell(path, kind, time)

    @rule(cuts=_cuts, limit=_limits, keep=_keeps)
    def reconfigure(self, cuts: Cuts, limit: int, keep: int | None) -> None:
        """Cut otherwise, allow more or less, keep more or less."""
        self.source.cuts, self.limits, self.keep = cuts, Limits(entries=limit), keep

    @rule(landed=_times, built=_times, emptied=st.booleans())
    def publish(self, landed: datetime, built: datetime, emptied: bool) -> None:
        """Commit and publish; clocks say what they like."""
        self.commit, self.landed = self.commit + 1, landed
        self.build(built, emptied=emptied)

    @rule(built=_times)
    def rebuild(self, built: datetime) -> None:
        """Publish the same commit again, with the work tree as it is."""
        self.build(built)

    @rule(built=_times, landed=_times, complete=st.booleans())
    def rewrite(self, built: datetime, landed: datetime, complete: bool) -> None:
        """Rewrite history or lose it, and publish: nothing is told."""
        self.commit, self.landed, self.pending = self.commit + 1, landed, []
        self.build(built, complete=complete)

    @rule(built=_times)
    def move(self, built: datetime) -> None:
        """Publish at another address."""
        former = self.source.siteurl if self.past else ""
        self.source.siteurl = SITES[1 - SITES.index(self.source.siteurl)]
        self.build(built, moved_from=former)

    @rule(built=_times, complete=st.booleans())
    def begin_anew(self, built: datetime, complete: bool) -> None:
        """Publish without carrying anything forward, at addresses that were never public."""
        if not self.past:
            return
        public = {path for seen in self.past for path in seen.documents if path.startswith("resourcesync/site/")}
        before = self.source.previous()
        assert before is not None
        last, self.past, self.shortened = self.past[-1], [], False
        self.build(built, complete=complete, over=before)
        now = self.source.state()
        assert not public & self.past[-1].documents.keys()
        assert self.past[-1].at >= last.at
        assert (now["generation"], now["start"]) == (before.state.generation + 1, before.state.start + 1)
        assert now["predecessor"] == before.digest

    def build(
        self,
        built: datetime,
        *,
        complete: bool = True,
        emptied: bool = False,
        over: Previous | None = None,
        moved_from: str = "",
    ) -> None:
        """Publish, look at it, and publish the very same again."""
        changes = sorted(self.pending, key=lambda change: change.time) if complete else []
        told = Told(built=built, changes=changes, complete=complete, commit=f"c{self.commit}", landed=self.landed)
        options: dict[str, Any] = {"limits": self.limits, "keep": self.keep, "moved_from": moved_from}
        previous = None if over else self.take_aside() if emptied else self.source.previous()
        self.source.publish(self.contents, told, previous, over=over, **options)
        self.pending = []
        self.look()
        before = tree(self.source.output)
        told = Told(built=built + timedelta(days=1), complete=complete, commit=told.commit, landed=told.landed)
        self.source.publish(self.contents, told, **options)
        assert tree(self.source.output) == before

    def take_aside(self) -> Previous | None:
        """Copy the documents elsewhere, without the dot-folder, and empty the output."""
        aside = Path(self.folder.name) / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        if (self.source.output / "resourcesync").is_dir():
            shutil.copytree(self.source.output / "resourcesync", aside / "resourcesync")
            shutil.rmtree(self.source.output)
        return read_previous(aside, self.source.layout)

    def look(self) -> None:
        """Check all that a publication promises to those who saw an earlier one."""
        now = Seen.of(self.source)
        assert now.hashes == {
            f"{self.source.siteurl}/{path}": f"sha-256:{sha256(data).hexdigest()}"
            for path, data in self.contents.items()
        }
        last = {item.loc: item.lastmod for item in now.changes if item.loc in now.hashes}
        assert now.lastmods.items() >= last.items()
        self.check_lists(now)
        for before in self.past:
            self.check_follower(before, now)
        if self.past:
            self.check_step(self.past[-1], now)
        self.past.append(now)

    def check_lists(self, now: Seen) -> None:
        """CH03, CH05, CH06, AR06, X16: lists touch, hold what is theirs, and once closed keep their bytes for ever."""
        assert [each.get("until") for each in now.intervals[:-1]] == [each["from"] for each in now.intervals[1:]]
        assert all("until" in each for each in now.intervals[:-1])
        assert all((time_of(one), one.loc) < (time_of(other), other.loc) for one, other in pairwise(now.changes))
        for path, data in now.closed.items():
            assert self.closed.setdefault(path, data) == data
        if self.keep is not None:
            assert len(now.closed) <= self.keep
        assert not self.dropped & now.closed.keys()
        self.dropped |= self.closed.keys() - now.closed.keys()
        self.shortened = self.shortened or (self.keep is not None and len(now.closed) == self.keep)

    def check_follower(self, before: Seen, now: Seen) -> None:
        """Promises 1 and 4: the changes after its `at` lead from an earlier Resource List to this one."""
        since = [item for item in now.changes if time_of(item) > before.at]
        begin = datetime.fromisoformat(now.intervals[0]["from"]) if now.intervals else before.at
        if begin <= before.at or not self.shortened:
            assert follow(before.hashes, since) == now.hashes

    def check_step(self, before: Seen, now: Seen) -> None:
        """Promises 2 and 4: one change a URI, with its bytes, later than all before; and no reader is left halfway."""
        latest = max([before.at, *(time_of(item) for item in before.changes)])
        fresh = [item for item in now.changes if time_of(item) > latest]
        assert len({item.loc for item in fresh}) == len(fresh)
        changed = {uri for uri in before.hashes.keys() | now.hashes if before.hashes.get(uri) != now.hashes.get(uri)}
        if self.keep is None:
            assert [item for item in now.changes if time_of(item) <= latest] == before.changes
            assert {item.loc for item in fresh} == changed
            assert before.closed.keys() <= now.closed.keys()
        assert now.at >= latest
        assert all(time_of(item) <= now.at for item in fresh)
        for item in fresh:
            assert item.md.get("hash") == now.hashes.get(item.loc)
            assert ("length" in item.md, "type" in item.md) == (("hash" in item.md),) * 2
        assert set(before.named) <= now.documents.keys()
        for path in before.closed:
            assert now.documents[path] == before.documents[path]


TestCarried = Carried.TestCase
TestCarried.settings = settings(
    max_examples=2_000 if LONG else 60, stateful_step_count=40 if LONG else 20, deadline=None
)
