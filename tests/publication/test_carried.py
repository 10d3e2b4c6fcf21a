"""Carried forward: whatever happens to a set and however often it is published, all its followers come along.

A machine adds, edits, renames and hides resources, states true and false things about them with clocks that run as they
like, publishes at any moment, and kills publications in any of their calls. A Destination looks on (`watching.py`), and
a mirror follows.
"""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from pelican_resourcesync.destination import STATE_FOLDER, Mirror, MirrorOptions
from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication import recover
from pelican_resourcesync.publication.model import Archives, Change, ChangeHistory, RangeBoundaries
from pelican_resourcesync.publication.previous import PreviousPublication, read_previous
from tests.publication.disk.faults import MODES, Mode, disturbed, kill
from tests.publication.strategies import cuts, times
from tests.publication.support import SITEURL, Source, tree
from tests.publication.watching import Watch

PATHS = ("a.html", "b.txt", "c/d.html", "e")
SITES = (SITEURL, "https://museum.example/new")
LONG = settings().max_examples > 1_000

_paths = st.sampled_from(PATHS)
_bytes = st.binary(max_size=1)
_kinds = st.sampled_from(ChangeKind)
_limits = st.sampled_from([1, 2, 3, 50_000])
_keeps = st.sampled_from([None, 1, 2, 3])
#: A copy of anything that is published here, however often it starts over or moves.
_MIRROR = MirrorOptions(sync=False, adopt=True, accept_older=True, max_deletions=100)


class Carried(Watch, RuleBasedStateMachine):
    """A set of resources, its drafts, and what history will tell of them when it is published next."""

    @initialize(cuts=cuts, limit=_limits)
    def begin(self, cuts: RangeBoundaries, limit: int) -> None:
        """Begin with nothing."""
        self.folder = TemporaryDirectory()
        self.begin_to_watch(Source(Path(self.folder.name) / "output", cuts))
        self.limits = Limits(entries=limit)
        self.contents: dict[str, bytes] = {}
        self.published: dict[str, bytes] = {}
        self.drafts: dict[str, bytes] = {}
        self.pending: list[Change] = []
        self.commit = 0
        self.landed = datetime(2024, 1, 1, tzinfo=UTC)

    def teardown(self) -> None:
        """Let go of the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def tell(self, path: str, kind: ChangeKind, time: datetime | None) -> None:
        """Let history know of a change, or not."""
        if time is not None:
            self.pending.append(Change(time, f"{self.source.siteurl}/{path}", kind))

    @rule(path=_paths, data=_bytes, time=st.none() | times)
    def save(self, path: str, data: bytes, time: datetime | None) -> None:
        """Add a resource, or edit it."""
        self.tell(path, ChangeKind.UPDATED if path in self.contents else ChangeKind.CREATED, time)
        self.contents[path] = data

    @rule(path=_paths, time=st.none() | times)
    def remove(self, path: str, time: datetime | None) -> None:
        """Remove a resource."""
        if self.contents.pop(path, None) is not None:
            self.tell(path, ChangeKind.DELETED, time)

    @rule(path=_paths, to=_paths, time=st.none() | times)
    def rename(self, path: str, to: str, time: datetime | None) -> None:
        """Move the bytes of a resource to another address."""
        if path in self.contents and path != to:
            self.tell(path, ChangeKind.DELETED, time)
            self.tell(to, ChangeKind.UPDATED if to in self.contents else ChangeKind.CREATED, time)
            self.contents[to] = self.contents.pop(path)

    @rule(path=_paths, time=st.none() | times)
    def toggle(self, path: str, time: datetime | None) -> None:
        """Make a draft of a resource, or publish a draft."""
        if path in self.contents:
            self.drafts[path] = self.contents.pop(path)
            self.tell(path, ChangeKind.DELETED, time)
        elif path in self.drafts:
            self.contents[path] = self.drafts.pop(path)
            self.tell(path, ChangeKind.CREATED, time)

    @rule(path=_paths, kind=_kinds, time=times)
    def lie(self, path: str, kind: ChangeKind, time: datetime) -> None:
        """Let history tell what did not happen, or what was undone."""
        self.tell(path, kind, time)

    @rule(cuts=cuts, limit=_limits, keep=_keeps)
    def reconfigure(self, cuts: RangeBoundaries, limit: int, keep: int | None) -> None:
        """Cut otherwise, allow more or less, keep more or less."""
        self.source.cuts, self.limits, self.keep = cuts, Limits(entries=limit), keep

    @rule(landed=times, built=times, emptied=st.booleans())
    def publish(self, landed: datetime, built: datetime, emptied: bool) -> None:
        """Commit and publish; clocks say what they like."""
        self.commit, self.landed = self.commit + 1, landed
        self.build(built, emptied=emptied)

    @rule(built=times)
    def rebuild(self, built: datetime) -> None:
        """Publish the same commit again, with the work tree as it is."""
        self.build(built)

    @rule(built=times, landed=times, complete=st.booleans())
    def rewrite(self, built: datetime, landed: datetime, complete: bool) -> None:
        """Rewrite history or lose it, and publish: nothing is told."""
        self.commit, self.landed, self.pending = self.commit + 1, landed, []
        self.build(built, complete=complete)

    @rule(built=times, landed=times, at=st.integers(1, 150), mode=st.sampled_from(MODES))
    def publish_and_kill(self, built: datetime, landed: datetime, at: int, mode: Mode) -> None:
        """Kill a publication in one of its calls: afterwards there is the old or the new one, and the next goes on."""
        self.commit, self.landed = self.commit + 1, landed
        before = self.source.documents()
        process = os.fork()
        if not process:
            try:
                with disturbed(self.source.output, mode, at, kill):
                    self.source.publish(self.contents, self.history(built), **self.options())
            finally:
                os._exit(0)
        os.waitpid(process, 0)
        recover(self.source.output)
        if self.source.documents() == before:
            self.build(built)
        else:
            self.pending, self.published = [], dict(self.contents)
            self.look(self.contents)

    @rule()
    def follow(self) -> None:
        """Mirror what is published; an audit then finds nothing, and the copy has the files of the publication."""
        if not self.past:
            return
        copy = Path(self.folder.name) / f"copy-{SITES.index(self.source.siteurl)}"
        mirror = Mirror(str(self.source.output), copy, _MIRROR)
        assert mirror.run().complete
        assert not list(mirror.audit())
        files = (file for file in copy.rglob("*") if file.is_file() and STATE_FOLDER not in file.parts)
        below = copy / self.source.siteurl.partition("//")[2].partition("/")[2]
        assert {file.relative_to(below).as_posix(): file.read_bytes() for file in files} == self.published

    @rule(built=times)
    def move(self, built: datetime) -> None:
        """Publish at another address; no history tells of URIs at the old one."""
        self.pending = []
        former = self.source.siteurl if self.past else ""
        self.source.siteurl = SITES[1 - SITES.index(self.source.siteurl)]
        self.build(built, moved_from=former)

    @rule(built=times, complete=st.booleans())
    def begin_anew(self, built: datetime, complete: bool) -> None:
        """Publish without carrying anything forward, at addresses that were never public."""
        if not self.past:
            return
        paths = {path for seen in self.past for path in seen.documents if path.startswith("resourcesync/site/")}
        public = {path for path in paths if not path.endswith((".html", ".svg"))}
        before = self.source.previous()
        assert before is not None
        last, self.past, self.shortened = self.past[-1], [], False
        self.build(built, complete=complete, over=before)
        now = self.source.state()
        assert not public & self.past[-1].documents.keys()
        assert self.past[-1].at >= last.at
        assert (now["generation"], now["restart_number"]) == (
            before.state.generation + 1,
            before.state.restart_number + 1,
        )
        assert now["predecessor"] == before.digest

    def build(
        self,
        built: datetime,
        *,
        complete: bool = True,
        emptied: bool = False,
        over: PreviousPublication | None = None,
        moved_from: str = "",
    ) -> None:
        """Publish, look at it, and publish the very same again."""
        history, options = self.history(built, complete=complete), self.options(moved_from)
        previous = None if over else self.take_aside() if emptied else self.source.previous()
        publication = self.source.publish(self.contents, history, previous, over=over, **options)
        self.pending, self.published = [], dict(self.contents)
        self.look(self.contents, publication)
        before = tree(self.source.output)
        again = self.history(built + timedelta(days=1), complete=complete)
        self.source.publish(self.contents, again, **options)
        assert tree(self.source.output) == before

    def history(self, built: datetime, *, complete: bool = True) -> ChangeHistory:
        """Return what history says of the publication built at a time: the pending changes."""
        changes = sorted(self.pending, key=lambda change: change.time) if complete else []
        return ChangeHistory(
            built=built, changes=changes, complete=complete, commit=f"c{self.commit}", landed=self.landed
        )

    def options(self, moved_from: str = "") -> dict[str, Any]:
        """Return the options of the next publication."""
        return {"limits": self.limits, "archives": Archives(changelist=self.keep), "moved_from": moved_from}

    def take_aside(self) -> PreviousPublication | None:
        """Copy the documents elsewhere, without the dot-folder, and empty the output."""
        aside = Path(self.folder.name) / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        if (self.source.output / "resourcesync").is_dir():
            shutil.copytree(self.source.output / "resourcesync", aside / "resourcesync")
            shutil.rmtree(self.source.output)
        return read_previous(aside, self.source.layout)


TestCarried = Carried.TestCase
TestCarried.settings = settings(
    max_examples=2_000 if LONG else 10, stateful_step_count=40 if LONG else 20, deadline=None
)
