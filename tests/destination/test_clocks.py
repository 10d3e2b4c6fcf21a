"""Clocks that are wrong at either end: a run that says "Complete" leaves nothing that an audit finds."""

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import IncompleteError, ResourceSyncError
from tests.kit.examples import examples
from tests.kit.sources import BEGIN, FAST, FakeSource, fake_source, files_of, following, in_step

PAGES = {"a.html": "one", "b/c.html": "two", "d.txt": "three", "e.bin": "four", "f.html": "five"}
DAY = timedelta(days=1)
PATIENT = replace(FAST, max_deletions=100.0)


class Clock:
    """Our clock, as tests set it."""

    now: datetime = BEGIN + 100 * DAY

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let our clock be wrong."""
    clock = Clock()
    monkeypatch.setattr("pelican_resourcesync.source.lists.clock", clock)
    return clock


@pytest.fixture
def source(clock: Clock) -> Iterator[FakeSource]:
    """Yield a Source whose clock is four years ahead, and whose Change Lists begin with it."""
    with fake_source() as source:
        source.now = source.begin = clock.now + 1_461 * DAY
        for path, text in PAGES.items():
            source.put(path, text)
        source.publish()
        yield source


def change(source: FakeSource, now: datetime, *, restart: bool) -> None:
    """Change the Source in each way at a time, and publish that, in the open Change List or in a new one."""
    source.now = now
    if restart:
        source.begin = now
        source.changes.clear()
    source.update(
        {"a.html": f"one of {now}", f"new {now:%H%M}.html".replace(" ", "-"): "new", max(source.resources): None}
    )


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("hours", [3, 4 * 8766])
def test_list_of_the_future(source: FakeSource, clock: Clock, folder: Path, hours: int, restart: bool) -> None:
    """While it is, the copy is compared with the Resource List, and that is said; then changes are followed again."""
    source.now, source.begin = clock.now + timedelta(hours=hours), BEGIN
    source.changes.clear()
    source.publish()
    for _ in range(2):
        result = Mirror(source.url, folder, PATIENT).run()
        assert result.complete
        assert len([note for note in result.plan.notes if "later than this machine's clock" in note]) == 1
    change(source, source.now + timedelta(hours=1), restart=False)
    in_step(source, folder, PATIENT)
    for _ in range(2):
        clock.now += DAY / 24
        change(source, clock.now - timedelta(minutes=5), restart=restart)
        result = Mirror(source.url, folder, PATIENT).run()
        assert (result.complete, Mirror(source.url, folder, PATIENT).audit()) == (True, [])
        assert files_of(folder) == source.resources
    source.site.asked()
    result = Mirror(source.url, folder, PATIENT).run()
    assert (result.complete, result.plan.notes == []) == (True, restart)  # else the changes are out of order
    assert ("rs/resourcelist.xml" in source.site.asked()) is not restart


def test_set_of_the_future_that_goes(source: FakeSource, folder: Path) -> None:
    """What only it has goes with it, although there is no position to go on from."""
    assert Mirror(source.url, folder, PATIENT).run().complete
    old, new = f"{source.url}rs/".encode(), f"{source.url}x/".encode()
    moved = {path.replace("rs/", "x/"): data.replace(old, new) for path, data in source.published.items()}
    source.published |= {**moved, ".well-known/resourcesync": moved[".well-known/resourcesync"]}
    lists = source.published["x/resourcelist.xml"]
    gone = lists[lists.index(b"<url>") : lists.index(b"</url>") + 6]
    source.published["x/resourcelist.xml"] = lists.replace(gone, b"")
    assert Mirror(source.url, folder, PATIENT).run().deleted == 1


class Follower:
    """A program without a copy."""

    def __init__(self, source: FakeSource) -> None:
        self.source = source
        self.cursor: str | None = None
        self.known: dict[str, bytes] = {}
        self.kinds: list[str] = []

    def run(self) -> dict[str, bytes]:
        """Follow to the end, and return what there is then."""
        self.kinds = [*self.follow()]
        return self.known

    def follow(self) -> Iterator[str]:
        """Follow, and yield the kind of each change when it was handled."""
        changes = following(self.source.url, self.cursor, PATIENT)
        try:
            for each in changes:
                if each.kind == "reset":
                    self.known.clear()
                elif each.content:
                    self.known[each.uri.removeprefix(self.source.url)] = each.content.read()
                else:
                    self.known.pop(each.uri.removeprefix(self.source.url), None)
                self.cursor = each.cursor
                yield each.kind
            self.cursor = changes.cursor
        finally:
            changes.close()


def test_cursor_of_the_future(clock: Clock) -> None:
    """A cursor of the time when our own clock was wrong is worth nothing: everything comes again."""
    with fake_source(PAGES) as source:
        true, source.now = clock.now - 10 * DAY, clock.now  # when nothing changed
        source.publish()
        follower = Follower(source)
        follower.run()
        clock.now = source.now = true
        source.update({"a.html": "new"})
        assert follower.run() == source.resources
        assert follower.kinds[0] == "reset"


def test_clock_that_is_a_little_ahead(clock: Clock, folder: Path) -> None:
    """What comes between our time and that of the lists is not passed over, and the copy need not be compared."""
    with fake_source(PAGES) as source:
        source.now = clock.now + timedelta(minutes=3)
        source.publish()
        follower = Follower(source)
        assert Mirror(source.url, folder, PATIENT).run().plan.notes == []
        follower.run()
        (position,) = json.loads(follower.cursor or "")["sets"].values()
        assert datetime.fromisoformat(position[0]) == clock.now
        source.now = clock.now
        source.update({"a.html": "new"})
        source.site.asked()
        assert Mirror(source.url, folder, PATIENT).run().complete
        assert "rs/resourcelist.xml" not in source.site.asked()
        assert files_of(folder) == source.resources
        assert follower.run() == source.resources
        assert follower.kinds == ["updated"]


OFFSETS = st.sampled_from([timedelta(minutes=each) for each in (0, 0, 0, 2, -2, 180, -180, 600_000, -600_000)])


Edit = tuple[str, int]


class Step(NamedTuple):
    """What happens next: how wrong both clocks are, what is changed, and whether the Change Lists begin anew."""

    theirs: timedelta
    ours: timedelta
    edits: list[Edit]
    restart: bool


EDIT = st.tuples(st.sampled_from([*PAGES, "g.txt", "h.txt"]), st.integers(0, 3))
EDITS = st.lists(EDIT, max_size=4)
STEPS = st.lists(st.builds(Step, OFFSETS, OFFSETS, EDITS, st.booleans()), min_size=2, max_size=7)


@pytest.mark.promise("A mirror is exact")
@examples(12, 3_000)
@given(STEPS)
def test_random_clocks(steps: list[Step]) -> None:
    """After each run that is complete, copy and program have what the Source has."""
    clock = Clock()
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as name,
        fake_source(PAGES) as source,
    ):
        patch.setattr("pelican_resourcesync.source.lists.clock", clock)
        folder, follower, true = Path(name, "copy"), Follower(source), clock.now
        source.begin = BEGIN - 3_000 * DAY
        for step in steps:
            true += timedelta(hours=5)
            source.now, clock.now = true + step.theirs, true + step.ours
            latest = source.changes[-1][0] if source.changes else source.begin
            if (step.restart and source.now > latest) or source.now < source.begin:
                source.begin = source.now
                source.changes.clear()
            for path, number in step.edits:
                if number:
                    source.put(path, f"{number} {true}")
                elif path in source.resources:
                    source.delete(path)
            source.publish()
            clock.now += timedelta(minutes=10)
            with suppress(ResourceSyncError):
                if Mirror(source.url, folder, PATIENT).run().complete:
                    assert files_of(folder) == source.resources
                    assert Mirror(source.url, folder, PATIENT).audit() == []
            with suppress(ResourceSyncError):
                assert follower.run() == source.resources
        shutil.rmtree(folder, ignore_errors=True)


# A cursor between two changes passes over earlier changes of what is changed again later.
FOLLOWED = st.lists(EDIT, min_size=1, max_size=4, unique_by=lambda edit: edit[0])
ROLLED_BACK = (EDITS, FOLLOWED, EDITS, st.integers(0, 4))
FIRST, SECOND = [("a.html", 1), ("d.txt", 1)], [("a.html", 2), ("d.txt", 1)]


@pytest.mark.promise("A mirror is exact")
@examples(8, 2_000)
@given(*ROLLED_BACK)
@example([], FIRST[:1], SECOND[:1], 4)  # at the same time, another state of the same resource
@example([], FIRST, SECOND, 4)  # the last change is the same
@example([], FIRST, SECOND, 1)
@example([("e.bin", 0)], FIRST, [*SECOND, ("g.txt", 1)], 0)
def test_other_changes_at_the_same_times(
    before: list[Edit], followed: list[Edit], others: list[Edit], cut: int
) -> None:
    """Publish other changes at the times of those that were followed; who was there, or on the way, gets them."""
    with TemporaryDirectory() as name, fake_source(PAGES) as source:
        folder, ahead = Path(name, "copy"), Follower(source)

        def publish(edits: list[Edit]) -> None:
            for place, (path, number) in enumerate(edits):
                if place == cut:
                    source.close_range()
                if number or path not in source.resources:
                    source.put(path, str(number))
                else:
                    source.delete(path)
            source.publish()

        publish(before)
        ahead.run()
        assert Mirror(source.url, folder, PATIENT).run().complete
        old = source.now, dict(source.resources), dict(source.times), [*source.changes], [*source.cut]
        publish(followed)
        behind = Follower(source)
        behind.cursor, behind.known = ahead.cursor, dict(ahead.known)
        for _ in zip(behind.follow(), range(1), strict=False):  # killed after one
            pass
        assert ahead.run() == source.resources
        assert Mirror(source.url, folder, PATIENT).run().complete
        reached = source.now
        source.now, source.resources, source.times, source.changes, source.cut = old
        publish(others)
        with suppress(IncompleteError) if source.now < reached else nullcontext():
            in_step(source, folder, PATIENT)
        for follower in (ahead, behind):
            with suppress(IncompleteError) if source.now < reached else nullcontext():
                assert follower.run() == source.resources
