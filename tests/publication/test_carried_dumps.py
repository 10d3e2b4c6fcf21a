"""Carried forward with dumps and archives: whatever is published, who kept anything of before can go on from it.

A machine adds, edits and removes resources, tells what it likes of them, turns dumps and archives on and off, and
publishes. An archivist looks on (`archivist.py`).
"""

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication import Archives, Change, ChangeHistory, Dumps, RangeBoundaries
from tests.publication.archivist import Archivist
from tests.publication.strategies import cuts, times
from tests.publication.support import Source, tree

PATHS = ("a.html", "A.html", "b", "c/d.txt", "e.png")
STATES = {"empty": b"", "one": b"1", "two": b"2", "large": bytes(2_000), "larger": bytes(3_000)}
LONG = settings().max_examples > 1_000

_paths = st.sampled_from(PATHS)
_states = st.sampled_from(sorted(STATES))
_sizes = st.sampled_from([1, 8_000, 11_000, 100_000_000])
_keeps = st.sampled_from([None, 0, 1, 2])
_closed = st.sampled_from([None, 1, 2])
_dumps = st.builds(Dumps, resourcedump=st.booleans(), changedump=st.booleans(), package_size=_sizes)
_all_dumps = st.builds(Dumps, resourcedump=st.just(True), changedump=st.just(True), package_size=_sizes)
_archives = st.builds(Archives, resourcelist=_keeps, resourcedump=_keeps, changelist=_closed, changedump=_closed)


class CarriedDumps(RuleBasedStateMachine):
    """A set of resources with dumps and archives."""

    @initialize(cuts=cuts, limit=st.sampled_from([1, 2, 3, 50_000]), dumps=_all_dumps)
    def begin(self, cuts: RangeBoundaries, limit: int, dumps: Dumps) -> None:
        """Begin with nothing, and all turned on."""
        self.folder = TemporaryDirectory()
        self.source = Source(Path(self.folder.name) / "output", cuts)
        self.archivist = Archivist(self.source)
        self.options: dict[str, Any] = {
            "limits": Limits(entries=limit),
            "dumps": dumps,
            "archives": Archives(resourcelist=None, resourcedump=None),
        }
        self.contents: dict[str, bytes] = {}
        self.pending: list[Change] = []
        self.commit = 0

    def teardown(self) -> None:
        """Let go of the folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(path=_paths, state=_states, time=st.none() | times)
    def save(self, path: str, state: str, time: datetime | None) -> None:
        """Add a resource, or edit it."""
        self.tell(path, ChangeKind.UPDATED if path in self.contents else ChangeKind.CREATED, time)
        self.contents[path] = STATES[state]

    @rule(path=_paths, time=st.none() | times)
    def remove(self, path: str, time: datetime | None) -> None:
        """Remove a resource."""
        if self.contents.pop(path, None) is not None:
            self.tell(path, ChangeKind.DELETED, time)

    def tell(self, path: str, kind: ChangeKind, time: datetime | None) -> None:
        """Let history know of a change, or not."""
        if time is not None:
            self.pending.append(Change(time, f"{self.source.siteurl}/{path}", kind))

    @rule(dumps=_dumps | _all_dumps, archives=_archives)
    def reconfigure(self, dumps: Dumps, archives: Archives) -> None:
        """Turn dumps on or off, and keep more or less."""
        self.options |= {"dumps": dumps, "archives": archives}

    @rule(size=_sizes)
    def resize(self, size: int) -> None:
        """Let packages be larger or smaller."""
        before = self.options["dumps"]
        self.options["dumps"] = Dumps(resourcedump=before.resourcedump, changedump=before.changedump, package_size=size)

    @rule(cuts=cuts)
    def recut(self, cuts: RangeBoundaries) -> None:
        """Cut otherwise."""
        self.source.cuts = cuts

    @rule(landed=st.none() | times, built=times, complete=st.booleans())
    def publish(self, landed: datetime | None, built: datetime, complete: bool) -> None:
        """Commit and publish; clocks say what they like."""
        self.commit += 1
        self.build(built, landed=landed, complete=complete)

    @rule(built=times)
    def rebuild(self, built: datetime) -> None:
        """Publish the same commit again, with the work tree as it is."""
        self.build(built, landed=None, complete=True)

    def build(self, built: datetime, *, landed: datetime | None, complete: bool) -> None:
        """Publish, look at it, and publish the very same again."""
        changes = sorted(self.pending, key=lambda change: change.time) if complete else []
        told = ChangeHistory(built=built, changes=changes, complete=complete, commit=f"c{self.commit}", landed=landed)
        self.pending = []
        self.source.publish(self.contents, told, **self.options)
        self.archivist.look(self.contents, self.options)
        before = tree(self.source.output)
        told = ChangeHistory(built=built + timedelta(days=1), complete=complete, commit=told.commit, landed=landed)
        self.source.publish(self.contents, told, **self.options)
        assert tree(self.source.output) == before


TestCarriedDumps = CarriedDumps.TestCase
TestCarriedDumps.settings = settings(
    max_examples=1_000 if LONG else 8, stateful_step_count=40 if LONG else 20, deadline=None
)
