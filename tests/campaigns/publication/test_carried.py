"""Carried forward: whatever happens to a set and however often it is published, all its followers come along.

A machine adds, edits, renames and hides resources and records, reports true and false changes of them with clocks that
run as they like, and publishes at any moment, with dumps and archives or without. It kills publications in any of their
calls, lets calls fail, and disturbs the recovery, too. A Destination looks on (`watching.py`), and a mirror follows.
"""

import os
import shutil
import signal
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pelican_resourcesync.destination import STATE_FOLDER, Mirror
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication import Publication, PublishRequest, publish_sets, recover
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.layout import DESCRIPTION, RECORDS, WELL_KNOWN
from pelican_resourcesync.publication.model.ranges import RangeBoundaries
from pelican_resourcesync.publication.previous.previous import PreviousPublication, read_previous
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.examples import examples
from tests.kit.faults import MODES, Mode, disturbed, fail, kill
from tests.kit.publications import READY, SITEURL, Source, tree
from tests.kit.strategies import some_boundaries as boundaries
from tests.kit.strategies import some_times as times
from tests.kit.watching import Watch, is_record

pytestmark = [
    pytest.mark.promise("Complete"),
    pytest.mark.promise("Append-only"),
    pytest.mark.promise("All or nothing"),
    pytest.mark.promise("Rebuilt"),
]

RECORD = f"resourcesync/site/{RECORDS}/"
PATHS = ("a.html", "b.txt", "c/d.png", "e.txt", f"{RECORD}0/x.xml", f"{RECORD}0/y.xml", f"{RECORD}z.xml")
SITES = (SITEURL, "https://museum.example/new")
#: The contents that a resource may have.
VERSIONS = {"empty": b"", "one": b"1", "two": b"2", "large": bytes(2_000), "larger": bytes(3_000)}
#: What others have in the folder of documents.
NEIGHBOURS = {"notes.txt": b"own", "other/deep/package.zip": b"PK"}


class Call(NamedTuple):
    """Which call is disturbed: see `Disturbance`."""

    at: int
    only: str = ""
    after: str = ""


_paths = st.sampled_from(PATHS)
_versions = st.sampled_from(sorted(VERSIONS))
_reported = st.none() | times
_limits = st.sampled_from([1, 2, 3, 50_000])
_keeps = st.sampled_from([None, 0, 1, 2])
_closed = st.sampled_from([None, 1, 2])
_sizes = st.sampled_from([1, 8_000, 11_000, 100_000_000])
_dumps = st.builds(Dumps, resourcedump=st.just(True), changedump=st.just(True), package_size=_sizes) | st.builds(
    Dumps, resourcedump=st.booleans(), changedump=st.booleans(), package_size=_sizes
)
_archives = st.builds(Archives, resourcelist=_keeps, resourcedump=_keeps, changelist=_closed, changedump=_closed)
_modes = st.sampled_from(MODES)
_OFTEN = ("open", "write", "close", "fsync", "stat", "lstat")
_RARELY = (
    "exchange",
    "os.rename",
    "os.link",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.listdir",
    "os.scandir",
)
#: A call into the file system: by its number among all, among those of a kind, or after the folders are exchanged.
_all = st.just("")
_calls = st.one_of(
    st.builds(Call, st.integers(1, 12) | st.integers(1, 150), _all, st.just("exchange")),
    st.builds(Call, st.integers(1, 3), st.sampled_from(_RARELY), _all),
    st.builds(Call, st.integers(1, 60), st.sampled_from(_OFTEN), _all),
    st.builds(Call, st.integers(1, 300), _all, _all),
)
_recoveries = st.none() | st.integers(1, 60)
#: A copy of anything that is published here, however often it starts over or moves.
_MIRROR = MirrorOptions(sync=False, adopt=True, accept_older=True, max_deletions=100)


class Carried(RuleBasedStateMachine):
    """A set of resources, its drafts, and the changes that its history will list when it is published next."""

    @initialize(
        boundaries=boundaries,
        limit=_limits,
        dumps=_dumps,
        archives=_archives,
        contents=st.dictionaries(_paths, _versions, max_size=4),
        built=times,
    )
    def begin(  # noqa: PLR0917 - Hypothesis names them
        self,
        boundaries: RangeBoundaries,
        limit: int,
        dumps: Dumps,
        archives: Archives,
        contents: dict[str, str],
        built: datetime,
    ) -> None:
        """Publish some resources; what others have is beside the documents from then on."""
        self.folder = TemporaryDirectory()
        self.source = Source(Path(self.folder.name) / "output", boundaries)
        self.watch = Watch(self.source)
        self.limits, self.dumps, self.archives = Limits(entries=limit), dumps, archives
        self.contents = {path: VERSIONS[name] for path, name in contents.items()}
        self.published: dict[str, bytes] = {}
        self.drafts: dict[str, bytes] = {}
        self.pending: list[Change] = []
        self.commit = 0
        self.landed = datetime(2024, 1, 1, tzinfo=UTC)
        self.build(built)

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def add_neighbours(self) -> None:
        """Write what others have, beside our documents: where there are none yet, nothing is published over it."""
        for path, data in NEIGHBOURS.items():
            self.source.write(f"resourcesync/{path}", data)
        link = self.source.output / "resourcesync" / "latest"
        if not link.is_symlink():
            link.symlink_to("other/deep")

    def report(self, path: str, kind: ChangeKind, time: datetime | None) -> None:
        """Add a change to the history, or not."""
        if time is not None:
            self.pending.append(Change(time, f"{self.source.siteurl}/{path}", kind))

    @rule(path=_paths, version=_versions, time=_reported)
    def save(self, path: str, version: str, time: datetime | None) -> None:
        """Add a resource, or edit it."""
        self.report(path, ChangeKind.UPDATED if path in self.contents else ChangeKind.CREATED, time)
        self.contents[path] = VERSIONS[version]

    @rule(path=_paths, time=_reported)
    def remove(self, path: str, time: datetime | None) -> None:
        """Remove a resource."""
        if self.contents.pop(path, None) is not None:
            self.report(path, ChangeKind.DELETED, time)

    @rule(path=_paths, to=_paths, time=_reported)
    def rename(self, path: str, to: str, time: datetime | None) -> None:
        """Move the bytes of a resource to another address."""
        if path in self.contents and path != to:
            self.report(path, ChangeKind.DELETED, time)
            self.report(to, ChangeKind.UPDATED if to in self.contents else ChangeKind.CREATED, time)
            self.contents[to] = self.contents.pop(path)

    @rule(path=_paths, time=_reported)
    def toggle(self, path: str, time: datetime | None) -> None:
        """Make a draft of a resource, or publish a draft."""
        if path in self.contents:
            self.drafts[path] = self.contents.pop(path)
            self.report(path, ChangeKind.DELETED, time)
        elif path in self.drafts:
            self.contents[path] = self.drafts.pop(path)
            self.report(path, ChangeKind.CREATED, time)

    @rule(path=_paths, kind=st.sampled_from(ChangeKind), time=times)
    def lie(self, path: str, kind: ChangeKind, time: datetime) -> None:
        """Let the history list what did not happen, or what was undone."""
        self.report(path, kind, time)

    @rule(boundaries=boundaries, dumps=_dumps, archives=_archives)
    def reconfigure(self, boundaries: RangeBoundaries, dumps: Dumps, archives: Archives) -> None:
        """Divide otherwise, turn dumps on or off, keep more or less."""
        self.source.boundaries, self.dumps, self.archives = boundaries, dumps, archives

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
        """Rewrite history or lose it, and publish: no change is reported."""
        self.commit, self.landed, self.pending = self.commit + 1, landed, []
        self.build(built, complete=complete)

    @rule(built=times, landed=times, mode=_modes, call=_calls, recovery=_recoveries)
    def publish_and_kill(self, built: datetime, landed: datetime, mode: Mode, call: Call, recovery: int | None) -> None:
        """Kill a publication in one of its calls: there is the old or the new one, and the next continues it."""
        self.commit, self.landed = self.commit + 1, landed
        before, request = self.seen(), self.request(built, self.source.previous())
        process = os.fork()
        if not process:
            with (
                suppress(BaseException),
                disturbed(self.source.output, mode, call.at, kill, only=call.only, after=call.after),
            ):
                publish_sets([request])
            os._exit(0)
        _, status = os.waitpid(process, 0)
        assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL
        left = self.seen()
        after = self.recover(mode, recovery)
        if mode == "exchange":
            assert left[0] in (before[0], after[0])
            assert left[1] in (before[1], after[1])
        self.go_on(built, before, after)

    @rule(built=times, landed=times, mode=_modes, call=_calls, lasting=st.booleans(), recovery=_recoveries)
    def publish_and_fail(  # noqa: PLR0917 - Hypothesis names them
        self, built: datetime, landed: datetime, mode: Mode, call: Call, lasting: bool, recovery: int | None
    ) -> None:
        """Let a call fail, or all from there on: nothing is published, after one clear message, or all of it."""
        self.commit, self.landed = self.commit + 1, landed
        before, request = self.seen(), self.request(built, self.source.previous())
        error, act = None, fail(call.at)
        with disturbed(self.source.output, mode, call.at, act, only=call.only, after=call.after, lasting=lasting):
            try:
                publish_sets([request])
            except PublicationError as raised:
                error = str(raised)
        assert "\n" not in (error or "")
        undone = error is not None and "recovers the publication" not in error
        assert not undone or self.seen() == before
        after = self.recover(mode, recovery)
        assert not undone or after == before
        self.go_on(built, before, after)

    def seen(self) -> tuple[dict[str, object], bytes | None]:
        """Return all that is in the folder of documents, and the well-known copy outside it."""
        file = self.source.output / WELL_KNOWN
        return tree(self.source.output / "resourcesync"), file.read_bytes() if file.exists() else None

    def recover(self, mode: Mode, recovery: int | None) -> tuple[dict[str, object], bytes | None]:
        """Recover, after a first try in which a call may fail; return what is there then."""
        if recovery:
            with disturbed(self.source.output, mode, recovery, fail(recovery)), suppress(PublicationError):
                recover(self.source.output)
        recover(self.source.output)
        assert not [*self.source.output.glob(".resourcesync-*")]
        seen = self.seen()
        description = self.source.output / DESCRIPTION
        assert not description.exists() or seen[1] == description.read_bytes()
        return seen

    def go_on(self, built: datetime, before: object, after: object) -> None:
        """Look at what was published, or publish it now."""
        if after == before:
            self.build(built)
        else:
            self.look()

    @precondition(lambda self: self.watch.past)
    @rule()
    def follow(self) -> None:
        """Mirror what is published; an audit then finds nothing, and the copy has the files of the publication."""
        copy = Path(self.folder.name) / f"copy-{SITES.index(self.source.siteurl)}"
        mirror = Mirror(str(self.source.output), copy, _MIRROR)
        with mock.patch("socket.getaddrinfo", side_effect=AssertionError("a host was looked up")):
            assert mirror.run().complete
            assert not list(mirror.audit())
        files = (file for file in copy.rglob("*") if file.is_file() and STATE_FOLDER not in file.parts)
        below = copy / self.source.siteurl.partition("//")[2].partition("/")[2]
        assert {file.relative_to(below).as_posix(): file.read_bytes() for file in files} == self.published

    @rule(built=times)
    def move(self, built: datetime) -> None:
        """Publish at another address; no history lists URIs at the old one."""
        self.pending = []
        former = self.source.siteurl if self.watch.past else ""
        self.source.siteurl = SITES[1 - SITES.index(self.source.siteurl)]
        self.build(built, moved_from=former)

    @precondition(lambda self: self.watch.past)
    @rule(built=times, complete=st.booleans())
    def start_over(self, built: datetime, complete: bool) -> None:
        """Publish without continuing anything, at addresses that were never public; what was there stays."""
        seen = [path for each in self.watch.past for path in each.files if path.startswith("resourcesync/site/")]
        public = {path for path in seen if not path.endswith((".html", ".svg")) and not is_record(path)}
        before, last = self.source.previous(), self.watch.past[-1]
        assert before is not None
        self.watch.start_over()
        self.build(built, complete=complete, restarted_from=before)
        [now], state = self.watch.past, self.source.state()
        assert not public & state["documents"].keys()
        old = before.state.documents
        assert {path: now.files.get(path) for path in old} == {path: last.files[path] for path in old}
        assert now.at >= last.at
        assert state["generation"] == before.state.generation + 1
        assert state["restart_number"] == before.state.restart_number + 1
        assert state["predecessor"] == before.state.digest

    def build(
        self,
        built: datetime,
        *,
        complete: bool = True,
        emptied: bool = False,
        restarted_from: PreviousPublication | None = None,
        moved_from: str = "",
    ) -> None:
        """Publish, look at it, and publish the very same again."""
        previous = None if restarted_from else self.take_aside() if emptied else self.source.previous()
        options: dict[str, Any] = {"complete": complete, "moved_from": moved_from}
        self.look(self.publish_one(self.request(built, previous, restarted_from=restarted_from, **options)))
        self.add_neighbours()
        before = tree(self.source.output)
        self.publish_one(self.request(built + timedelta(days=1), self.source.previous(), **options))
        assert tree(self.source.output) == before
        for path, data in NEIGHBOURS.items():
            assert (self.source.output / "resourcesync" / path).read_bytes() == data

    def request(
        self,
        built: datetime,
        previous: PreviousPublication | None,
        *,
        complete: bool = True,
        restarted_from: PreviousPublication | None = None,
        moved_from: str = "",
    ) -> PublishRequest:
        """Ask for the publication built at a time, whose history has the pending changes."""
        changes = sorted(self.pending, key=lambda change: change.time) if complete else []
        return self.source.request(
            {path: data for path, data in self.contents.items() if not is_record(path)},
            ChangeHistory(
                built=built, changes=changes, complete=complete, commit=f"c{self.commit}", landed=self.landed
            ),
            previous,
            restarted_from,
            {path.removeprefix(RECORD): data for path, data in self.contents.items() if is_record(path)} or None,
            limits=self.limits,
            dumps=self.dumps,
            archives=self.archives,
            describedby=f"{self.source.siteurl}/about-{self.commit}.html",  # so that each Source Description is another
            moved_from=moved_from,
        )

    def publish_one(self, request: PublishRequest) -> Publication:
        """Publish the set."""
        [publication] = publish_sets([request])
        self.pending = []
        shutil.rmtree((self.source.output / READY).parent, ignore_errors=True)
        return publication

    def look(self, publication: Publication | None = None) -> None:
        """Look at what was published."""
        self.pending, self.published = [], dict(self.contents)
        self.watch.look(self.contents, publication, dumps=self.dumps, archives=self.archives)

    def take_aside(self) -> PreviousPublication | None:
        """Copy the documents elsewhere, without the dot-folder, and empty the output."""
        aside = Path(self.folder.name) / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(self.source.output / "resourcesync", aside / "resourcesync", symlinks=True)
        shutil.rmtree(self.source.output)
        return read_previous(aside, self.source.layout)


TestCarried = Carried.TestCase
TestCarried.settings = examples(12, 2_000, steps=(20, 40))
