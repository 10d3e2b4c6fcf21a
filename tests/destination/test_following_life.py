"""The same random life of a Source, followed by programs without a copy, which may be killed at any change."""

import json

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from pelican_resourcesync.destination import FollowedChange, follow
from pelican_resourcesync.destination.plan import ProgressCallback
from tests.destination.test_life import HEALTH, PATIENT, Life


class FollowingLife(Life):
    """A program that keeps what it is given, and its cursor, unless it is killed between."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor: str | None = None
        self.known: dict[str, bytes] = {}
        self.came: set[tuple[str, ...]] = set()  # since it was killed

    def run(self, progress: ProgressCallback) -> bool:
        """Follow to the end."""
        changes = follow(self.source.url, self.cursor, PATIENT)
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
        assert list(follow(self.source.url, self.cursor, PATIENT)) == []


def test_following_life() -> None:
    """The short form."""
    short = settings(max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=HEALTH)
    run_state_machine_as_test(FollowingLife, settings=short)


@pytest.mark.long
def test_long_following_life() -> None:
    """The same, for longer."""
    long = settings(max_examples=1_000, stateful_step_count=40, deadline=None, suppress_health_check=HEALTH)
    run_state_machine_as_test(FollowingLife, settings=long)
