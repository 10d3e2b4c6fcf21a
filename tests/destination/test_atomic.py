"""Copies that are switched at once: what readers see while they are, and what is kept."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis.stateful import invariant, run_state_machine_as_test

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import IncompleteError, MirrorError
from pelican_resourcesync.options import MirrorOptions, ProgressCallback
from pelican_resourcesync.system import exchange
from tests.campaigns.copy.test_life import PATIENT, Life
from tests.kit.examples import examples
from tests.kit.live import status
from tests.kit.sites import ROOT
from tests.kit.sources import FAST, FakeSource, fake_source, files_of

ATOMIC = replace(FAST, atomic=True, max_deletions=100.0)
#: Reads a copy all the time, each time from the folder that it opened, and says which numbers its files have. A state
#: that was removed while it was read does not count.
READER = """import os, sys
copy = sys.argv[1]
def read(folder):
    found = set()
    for name in os.listdir(folder):
        if name.endswith(".html"):
            handle = os.open(name, os.O_RDONLY, dir_fd=folder)
            found.add(os.read(handle, 99).decode())
            os.close(handle)
    return found
while True:
    try:
        folder = os.open(copy, os.O_RDONLY)
    except FileNotFoundError:
        continue
    try:
        found = read(folder)
        if os.fstat(folder).st_ino == os.stat(copy).st_ino:
            print(" ".join(sorted(found)), flush=True)
    except FileNotFoundError:
        if os.fstat(folder).st_ino == os.stat(copy).st_ino:
            print("missing", flush=True)
    os.close(folder)
"""


PAGES = {"a.html": "one", "b/c.html": "two", "d.html": "three"}


def kept(folder: Path) -> list[dict[str, bytes]]:
    """Return the files of the earlier states, the oldest first."""
    home = folder.with_name(f"{folder.name}.states")
    assert {each.name for each in home.iterdir() if not each.name.endswith("Z")} <= {"lock", "next"}
    return [files_of(each) for each in sorted(home.iterdir()) if each.name.endswith("Z")]


def test_switch(source: FakeSource, tmp_path: Path) -> None:
    """What is unchanged is linked, what changed is new, the earlier state is kept, and no change means no switch."""
    folder = tmp_path / "deeper/copy"
    mirror = Mirror(source.url, folder, replace(ATOMIC, keep=2))
    assert mirror.run().complete
    assert files_of(folder) == source.states[-1]
    first = folder.stat().st_ino
    result = mirror.run()
    assert (result.complete, result.fetched, result.deleted, result.resources) == (True, 0, 0, 3)
    assert folder.stat().st_ino == first
    (folder / "note").write_text("of someone else")
    (folder / "link").symlink_to("a.html")
    (folder / "b/.mirror").mkdir()
    (folder / "b/.mirror/note").write_text("of another mirror")
    unchanged = (folder / "b/c.html").stat().st_ino
    for text in ("new", "newer", "newest"):
        source.update({"a.html": text})
        assert mirror.run().fetched == 1
        assert folder.stat().st_ino != first
        assert (folder / "b/c.html").stat().st_ino == unchanged
    own = {"note": b"of someone else", "link": b"newest", "b/.mirror/note": b"of another mirror"}
    assert files_of(folder) == source.states[-1] | own
    assert (folder / "link").is_symlink()
    assert kept(folder) == [state | own | {"link": state["a.html"]} for state in source.states[-3:-1]]
    assert mirror.audit() == []
    assert Mirror(source.url, folder, replace(ATOMIC, keep=0)).run().complete
    (folder / "d.html").write_text("THREE")
    assert len(mirror.audit()) == 1
    assert Mirror(source.url, folder, replace(ATOMIC, keep=0)).repair().fetched == 1
    assert files_of(folder) == source.states[-1] | own
    assert kept(folder) == []


def test_not_switched_until_complete(source: FakeSource, tmp_path: Path) -> None:
    """While something is missing readers have the last complete state, and the next run goes on."""
    folder, mirror = tmp_path / "copy", Mirror(source.url, tmp_path / "copy", ATOMIC)
    source.site.manners["d.html"] = status(403)
    result = mirror.run()
    assert (result.complete, folder.exists()) == (False, False)
    assert result.plan.notes[-1].endswith("stays as it is until the next state is complete")
    source.site.manners.clear()
    source.site.asked()
    assert mirror.run().fetched == 1
    assert files_of(folder) == source.states[-1]
    assert "a.html" not in source.site.asked()
    source.update({"a.html": "new", "b/c.html": None})
    source.site.manners["a.html"] = status(403)
    assert not mirror.run().complete
    assert files_of(folder) == source.states[-2]
    source.site.manners.clear()
    assert mirror.run().complete
    assert files_of(folder) == source.states[-1]


def test_begins_with_a_plain_copy(source: FakeSource, tmp_path: Path) -> None:
    """A copy that was made without it is switched from then on; and both ways exclude each other."""
    folder = tmp_path / "copy"
    plain = Mirror(source.url, folder, replace(FAST, max_deletions=100.0))
    assert plain.run().complete
    home = tmp_path / "copy.states"
    (home / "next/.mirror/parts").mkdir(parents=True)  # as a run left it that was killed while it made links
    (home / "old-2026-01-01T00.00.00.000000Z").mkdir()  # or an earlier state
    for name in ("old-x", "2026-reportZ"):  # which somebody else has put there
        (home / name).mkdir()
    source.update({"a.html": "new"})

    def busy(*_: int) -> None:
        with pytest.raises(IncompleteError, match="another mirror is working"):
            Mirror(source.url, folder, ATOMIC).run()

    assert Mirror(source.url, folder, replace(ATOMIC, progress=busy)).run().complete
    assert files_of(folder) == source.states[-1]
    assert [(home / name).is_dir() for name in ("old-x", "2026-reportZ")] == [True, True]
    for name in ("old-x", "2026-reportZ"):
        (home / name).rmdir()
    assert kept(folder) == [source.states[-2]]
    source.update({"a.html": "newer"})
    assert plain.run().complete
    assert files_of(folder) == source.states[-1]
    with pytest.raises(MirrorError, match="is not empty"):
        Mirror(source.url, tmp_path, ATOMIC).run()


def test_failures(source: FakeSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be exchanged, or nothing can be written, the copy stays as it was."""
    folder, mirror = tmp_path / "copy", Mirror(source.url, tmp_path / "copy", ATOMIC)
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "_system_call", lambda: None)
        with pytest.raises(MirrorError, match="leave out --atomic"):
            mirror.run()
    assert mirror.run().complete
    source.update({"a.html": "new"})
    with monkeypatch.context() as patch:
        patch.setattr("pelican_resourcesync.destination.mirroring.exchange", lambda *_: False)
        with pytest.raises(MirrorError, match="leave out --atomic"):
            mirror.run()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    source.update({"a.html": "newer"})
    with monkeypatch.context() as patch:
        patch.setattr("pelican_resourcesync.destination.mirroring.exchange", full)
        with pytest.raises(IncompleteError, match=r"cannot be read or written: No space left on device"):
            mirror.run()
    with monkeypatch.context() as patch:
        patch.setattr("pelican_resourcesync.destination.mirroring.can_exchange", full)
        with pytest.raises(MirrorError, match="cannot be written"):
            mirror.run()
    (stale,) = [*tmp_path.glob("copy.states/next/a.html")]
    assert (stale.read_bytes(), files_of(folder)["a.html"]) == (b"newer", b"one")
    source.site.manners |= {"rs/changelist.xml": status(403), "rs/resourcelist.xml": status(403)}
    with pytest.raises(Exception, match="403"):
        mirror.run()
    source.site.manners.clear()
    assert mirror.run().complete
    assert files_of(folder) == source.states[-1]


def test_lock_of_a_folder_that_was_exchanged(
    source: FakeSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opened the lock just before a switch has that of the earlier state, and must not go on."""
    mirror = Mirror(source.url, tmp_path / "copy", FAST)
    assert mirror.run().complete

    def exchanged(handle: int) -> None:
        del handle
        lock = tmp_path / "copy/.mirror/lock"
        lock.rename(lock.with_name("earlier"))
        lock.touch()

    monkeypatch.setattr("pelican_resourcesync.destination.state.lock_file", exchanged)
    with pytest.raises(IncompleteError, match="another mirror is working"):
        mirror.run()


def test_failing_plan(source: FakeSource, tmp_path: Path) -> None:
    """What stops a run before it begins leaves nothing behind."""
    mirror = Mirror(source.url, tmp_path / "copy", replace(ATOMIC, max_deletions=10.0))
    assert mirror.run().complete
    for path in [*source.resources]:
        source.delete(path)
    source.publish()
    with pytest.raises(IncompleteError, match="--max-deletions"):
        mirror.run()
    assert kept(tmp_path / "copy") == []
    assert len(files_of(tmp_path / "copy")) == 3


def test_durable(source: FakeSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default all files are on disk before the switch, and the switch before the run ends; one earlier state stays.

    Elsewhere than on Linux, too.
    """
    calls: list[str] = []
    monkeypatch.setattr("pelican_resourcesync.destination.files._sync_file_system", lambda _: False)
    monkeypatch.setattr(os, "sync", lambda: calls.append("sync"))
    real = exchange.exchange

    def noted(one: Path, other: Path) -> bool:
        calls.append("exchange")
        return real(one, other)

    monkeypatch.setattr("pelican_resourcesync.destination.mirroring.exchange", noted)
    mirror = Mirror(source.url, tmp_path / "copy", MirrorOptions(atomic=True))
    mirror.run()
    for text in ("new", "newer"):
        source.update({"a.html": text})
        mirror.run()
    assert calls == ["sync", "sync", *["sync", "exchange", "sync"] * 2]
    assert [state["a.html"] for state in kept(tmp_path / "copy")] == [b"new"]


def test_command(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The options of the command."""
    assert main(["mirror", source.url, str(tmp_path / "copy"), "--atomic", "--keep", "3"]) == 0
    assert (tmp_path / "copy.states/lock").exists()
    assert main(["repair", source.url, str(tmp_path / "copy"), "--keep", "1"]) == 2
    assert "--keep N can only be used with --atomic" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["mirror", source.url, str(tmp_path / "copy"), "--atomic", "--keep", "-1"])


@contextmanager
def readers(folder: Path, count: int) -> Iterator[list["subprocess.Popen[str]"]]:
    """Start processes that read a copy all the time."""
    started = [
        subprocess.Popen([sys.executable, "-c", READER, str(folder)], stdout=subprocess.PIPE, encoding="utf-8")
        for _ in range(count)
    ]
    try:
        yield started
    finally:
        for each in started:
            each.kill()
            each.wait()
            assert each.stdout
            each.stdout.close()


@pytest.mark.promise("A mirror is switched at once")
def test_readers_see_whole_states(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Processes that read all the time, during many updates and kills, never see two states mixed."""
    long = request.config.getoption("--long")
    updates, kills = (100, 60) if long else (12, 4)
    chance = random.Random(7)
    command = [sys.executable, "-m", "pelican_resourcesync", "mirror"]
    folder, seen = tmp_path / "copy", set()
    with fake_source() as source, readers(folder, 2) as reading:

        def publish(number: int) -> None:
            for name in range(20):
                source.put(f"{name}.html", f"{number}")
            source.changes = source.changes[-20:]
            source.begin = source.changes[0][0].replace(second=0) - (source.now - source.changes[-1][0])
            source.publish()

        publish(0)
        mirror = Mirror(source.url, folder, replace(ATOMIC, keep=2))
        mirror.run()
        for number in range(1, updates):
            publish(number)
            if number <= kills:
                arguments = [source.url, str(folder), "--atomic", "--keep", "2", "--max-deletions", "100"]
                with subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
                    time.sleep(chance.uniform(0.1, 0.6))
                    process.send_signal(signal.SIGKILL)
            else:
                assert mirror.run().complete
        assert mirror.run().complete
        assert files_of(folder) == source.states[-1]
        assert mirror.audit() == []
        for each in reading:
            each.kill()
            assert each.stdout
            lines = each.stdout.read().splitlines()[:-1]
            assert lines
            seen.update(lines)
    assert seen <= {str(number) for number in range(updates)}, seen
    assert len(seen) > 1


class AtomicLife(Life):
    """The random life of a Source: after whatever happened, the copy is one state that was published."""

    def run(self, progress: ProgressCallback) -> bool:
        """Run once."""
        options = replace(PATIENT, atomic=True, progress=progress)
        return Mirror(self.source.url, self.folder, options).run().complete

    @invariant()
    def is_one_state(self) -> None:
        """Also after a fault."""
        if self.folder.exists() and self.source.hashes:
            assert files_of(self.folder) in self.source.states


@pytest.mark.promise("A mirror is switched at once")
def test_atomic_life() -> None:
    """Whatever happens to the Source and to the copy."""
    run_state_machine_as_test(AtomicLife, settings=examples(6, 1_000, steps=(10, 40)))
