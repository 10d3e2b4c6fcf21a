"""A random Source, with random faults: a mirror, or a program without a copy, follows it, and may be killed."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pelican_resourcesync.destination import FollowedChange, Mirror
from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.options import ProgressCallback
from tests.kit.examples import examples
from tests.kit.live import Ask, Manner
from tests.kit.sources import FAST, FakeSource, fake_source, files_of, following

NAMES = st.sampled_from(["a.html", "b.html", "c/d.html", "c/e.txt", "f.bin", "g.html", "h/i/j.xml", "k.html"])
TEXTS = st.integers(0, 5).map(lambda number: f"text {number} " * (number * 400 + 1))
PATIENT = replace(FAST, max_deletions=100.0, retries=3)


class Life(RuleBasedStateMachine):
    """What a Source and its copy may go through."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.source: FakeSource = self.stack.enter_context(fake_source())
        self.folder = Path(self.stack.enter_context(TemporaryDirectory()), "copy")
        self.seen: dict[str, set[bytes]] = {}
        self.set_back = False

    def teardown(self) -> None:
        """End it: the next undisturbed run is exact."""
        try:
            self.source.site.manner = self.source.answer
            self.source.publish()
            self._remember()
            self._follow_undisturbed()
        finally:
            self.stack.close()

    # The Source

    @initialize(paths=st.sets(NAMES, min_size=4), hashes=st.booleans(), lists=st.booleans(), validators=st.booleans())
    def begin(self, paths: set[str], hashes: bool, lists: bool, validators: bool) -> None:
        """Begin with or without hashes, Change Lists, and ETags."""
        self.source.hashes, self.source.change_lists, self.source.validators = hashes or not lists, lists, validators
        for path in sorted(paths):
            self.source.put(path, f"first {path}")
        self.publish()

    @rule(path=NAMES, text=TEXTS)
    def put(self, path: str, text: str) -> None:
        """Create or update a resource."""
        self.source.put(path, text)

    @precondition(lambda self: len(self.source.resources) > 2)
    @rule(number=st.integers(0, 9))
    def delete(self, number: int) -> None:
        """Delete a resource."""
        self.source.delete(sorted(self.source.resources)[number % len(self.source.resources)])

    @rule()
    def publish(self) -> None:
        """All that has changed becomes public."""
        self.source.publish()
        self._remember()

    @rule()
    def close(self) -> None:
        """Close a Change List."""
        self.source.close_range()

    @rule()
    def forget_the_past(self) -> None:
        """Begin the Change Lists anew."""
        self.source.begin = self.source.now
        self.source.changes = [each for each in self.source.changes if each[0] > self.source.begin]
        self.publish()

    # The mirror

    @rule()
    def follow(self) -> None:
        """Follow without disturbance."""
        self.source.site.manner = self.source.answer
        self._follow_undisturbed()

    @rule(
        fault=st.sampled_from(["cut", "busy", "later", "stale", "truncated", "wrong", "half", "killed"]),
        numbers=st.lists(st.integers(0, 12), min_size=1, max_size=4),
        at=st.integers(0, 2_000),
    )
    def follow_with_faults(self, fault: str, numbers: list[int], at: int) -> None:
        """Follow while some requests meet a fault."""
        self.source.site.manner = self._faulty(fault, set(numbers), at)
        killed = iter(range(1, 100))

        def kill(*_: int) -> None:
            if fault == "killed" and next(killed) in numbers:
                raise KeyboardInterrupt

        try:
            complete = self.run(kill)
        except (ResourceSyncError, KeyboardInterrupt):
            return
        if complete:
            assert self.held() in self.source.states

    @invariant()
    def holds_what_was_published(self) -> None:
        """Everything it holds is one state that the Source had."""
        for path, data in self.held().items():
            assert data in self.seen.get(path, set()), path

    def run(self, progress: ProgressCallback) -> bool:
        """Run once; give whether it is complete."""
        result = Mirror(self.source.url, self.folder, replace(PATIENT, progress=progress)).run()
        return result.complete

    def held(self) -> dict[str, bytes]:
        """Return what was copied, by path."""
        return files_of(self.folder) if self.folder.exists() else {}

    def confirm(self) -> None:
        """See that nothing is left to be done."""
        assert Mirror(self.source.url, self.folder, PATIENT).audit() == []

    def _follow_undisturbed(self) -> None:
        assert self.run(lambda *_: None)
        assert self.held() == self.source.states[-1]
        self.confirm()

    def _remember(self) -> None:
        for path, data in self.source.resources.items():
            self.seen.setdefault(path, set()).add(data)

    def _faulty(self, fault: str, numbers: set[int], at: int) -> Manner:
        """Answer some requests, by their number, with a fault."""
        counted = iter(range(10_000))
        answer = self.source.answer
        old = dict(self.source.published)

        def data_of(ask: Ask) -> bytes:
            return self.source.published.get(ask.path, b"")

        def stale(ask: Ask) -> None:
            ask.send(200, self._older(ask.path, data_of(ask)))

        def cut(ask: Ask) -> None:
            data = data_of(ask)
            ask.handler.close_connection = True
            ask.begin(200, Content_Length=str(len(data) + 1))
            ask.write(data[: at % (len(data) + 1)])

        def half(ask: Ask) -> None:  # a new publication begins to arrive just now
            for path, text in (("a.html", f"half {at}"), ("f.bin", f"half {at}")):
                self.source.put(path, text)
            self.publish()
            new = dict(self.source.published)
            self.source.published = {**new, **{path: old[path] for path in list(old)[: at % len(old)]}}
            answer(ask)
            self.source.published = new

        manners: dict[str, Callable[[Ask], None]] = {
            "cut": cut,
            "busy": lambda ask: ask.send(503, b""),
            "later": lambda ask: ask.send(503, b"", Retry_After="0"),
            "stale": stale,
            "truncated": lambda ask: ask.send(200, data_of(ask)[: at % (len(data_of(ask)) + 1)]),
            "wrong": lambda ask: ask.send(200, data_of(ask)[::-1]),
            "half": half,
            "killed": answer,
        }

        def manner(ask: Ask) -> None:
            if next(counted) in numbers and (self.source.hashes or ask.path not in self.seen):
                manners[fault](ask)
            else:
                answer(ask)

        return manner

    def _older(self, path: str, data: bytes) -> bytes:
        """Return an older state of a resource, as a cache may."""
        return next((state[path] for state in self.source.states if path in state), data)


class FollowingLife(Life):
    """A program that keeps what it is given, and its cursor, unless it is killed between."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor: str | None = None
        self.known: dict[str, bytes] = {}
        self.came: set[tuple[str, ...]] = set()  # since it was killed

    def run(self, progress: ProgressCallback) -> bool:
        """Follow to the end."""
        changes = following(self.source.url, self.cursor, PATIENT)
        latest = ""
        try:
            for change in changes:
                assert changes.cursor != change.cursor
                late = change.uri in [row[0] for row in json.loads(changes.cursor).get("postponed", [])]
                time = self.handle(change)
                if change.kind in ("updated", "deleted") and not late:
                    assert time >= latest, "out of order"
                    latest = time
                progress(0, 0, 0, 0)
                self.cursor = change.cursor
        except KeyboardInterrupt:
            self.came.clear()
            if self.cursor is None:  # it begins again with nothing
                self.known.clear()
            raise
        finally:
            changes.close()
        self.cursor = changes.cursor
        return True

    def handle(self, change: FollowedChange) -> str:
        """Do as the change says, which must not have come before; give its time."""
        path, time = change.uri.removeprefix(self.source.url), str(change.time)
        data = change.content.read() if change.content else None
        if change.kind == "reset":
            self.known.clear()
            self.came.clear()
            return time
        if data is None:
            self.known.pop(path, None)
        else:
            self.known[path] = data
        key = (path, "" if change.content else change.kind, time, change.hash)
        assert key not in self.came, "it came twice"
        self.came.add(key)
        return time

    def held(self) -> dict[str, bytes]:
        """Return what is known."""
        return self.known

    def confirm(self) -> None:
        """Nothing more comes."""
        assert list(following(self.source.url, self.cursor, PATIENT)) == []


@pytest.mark.promise("A mirror is exact")
@pytest.mark.promise("A follower loses nothing")
@pytest.mark.parametrize("kind", [Life, FollowingLife])
def test_life(kind: type[Life]) -> None:
    """Whatever happens to the Source, and to what follows it."""
    run_state_machine_as_test(kind, settings=examples(10, 1_000, steps=(12, 40)))
