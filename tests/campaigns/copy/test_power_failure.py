"""A power failure at any time: the next run ends as if there had been none, and what it calls complete is complete."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from pelican_resourcesync.destination import Mirror, files
from tests.kit.disk import Recording, lay_out, recorded
from tests.kit.sources import FAST, FakeSource, fake_source, files_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it keeps inodes open as Linux can")


@pytest.fixture
def source() -> Iterator[FakeSource]:
    """Yield a Source."""
    with fake_source({"a.html": "a", "b/c.html": "c", "gone/d.html": "d", "e.bin": "e"}) as source:
        yield source


class Joined(Thread):
    """A thread that has ended when it has started."""

    def start(self) -> None:
        """Run, and wait for that."""
        super().start()
        self.join()


def disturb(source: FakeSource, folder: Path, what: str) -> Recording:
    """Record a run of a mirror."""
    folder.mkdir()
    if what != "first copy":
        Mirror(source.url, folder, FAST).run()
        source.update({"a.html": "another a", "new/and/f.html": "f", "b/g.html": "g", "gone/d.html": None})
    with recorded(folder, "state.sqlite3*") as recording:
        assert Mirror(source.url, folder, replace(FAST, sync=True)).run().complete
    return recording


def differing(source: FakeSource, recording: Recording, folder: Path, step: int) -> tuple[int, list[str]]:
    """Run a mirror after a power failure, in each state that may be on the disk, or in each so many.

    Return the number of states, and what is wrong with each copy that is then called complete.
    """
    faults = []
    number = 0
    for number, state in enumerate(recording.crashes(), 1):
        if number % step:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        lay_out(state, folder)
        assert Mirror(source.url, folder, FAST).run().complete
        found = files_of(folder)
        wrong = [path for path in found.keys() | source.resources if found.get(path) != source.resources.get(path)]
        if wrong:
            faults.append(f"{number}: {sorted(wrong)}")
    return number, faults


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("what", ["first copy", "update", "update in batches"])
def test_complete_is_complete(
    source: FakeSource, tmp_path: Path, what: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was not flushed is lost, in any order; the long run tries all states."""
    if what == "update in batches":
        monkeypatch.setattr(files, "_BATCH_FILES", 1)
        monkeypatch.setattr(files, "Thread", Joined)
    recording = disturb(source, tmp_path / "copy", what)
    step = 3 if what == "first copy" and not pytestconfig.getoption("--long") else 1
    number, faults = differing(source, recording, tmp_path / "disk", step)
    assert not faults
    assert number > 60
