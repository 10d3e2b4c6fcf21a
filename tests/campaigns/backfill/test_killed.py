"""A backfill that is killed, or interrupted: run again it goes on, and ends with the same bytes."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kit.backfills import TIMES, documents, run, worktrees
from tests.kit.examples import LONG
from tests.kit.sites import ROOT, Site

BACKFILL = [sys.executable, "-m", "pelican_resourcesync", "backfill", "--jobs", "2"]


def start(site: Site) -> "subprocess.Popen[bytes]":
    """Start a backfill in a process group of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    stderr = (site.folder.parent / "stderr").open("wb")
    with stderr:
        return subprocess.Popen(BACKFILL, cwd=site.folder, env=environment, start_new_session=True, stderr=stderr)


def finish(site: Site) -> float:
    """Run a backfill to its end; return the seconds that took."""
    begun = time.monotonic()
    assert start(site).wait(1200) == 0
    return time.monotonic() - begun


def wait_for(something: Path, timeout: float = 600) -> str:
    """Wait for a file that something writes."""
    end = time.monotonic() + timeout
    while not (something.exists() and something.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    return something.read_text()


@pytest.mark.promise("The past, built")
def test_killed_at_a_moment(past: Site) -> None:
    """At a random one, or at more, each of another run, the next run ends as undisturbed; nothing passing is left."""
    seconds = finish(past)
    undisturbed = documents(past.output)
    seed = random.randrange(10**6)
    moment = random.Random(seed)
    for number in range(30 if LONG else 1):
        shutil.rmtree(past.output)
        shutil.rmtree(past.folder / ".resourcesync")
        process = start(past)
        time.sleep(moment.uniform(0.1, 1.1) * seconds)
        process.kill()
        process.wait()
        finish(past)
        assert documents(past.output) == undisturbed, (seed, number)
        assert worktrees(past) == []
        assert not [*past.folder.glob(".resourcesync/**/.resourcesync-*")], (seed, number)
        assert not [*Path(os.environ["TMPDIR"]).glob("resourcesync-backfill-*")]


@pytest.fixture
def slow(recorded: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "tuple[subprocess.Popen[bytes], int]":
    """Start a backfill; return it with the number of the process of a build under way, which takes long."""
    under_way = tmp_path / "process"
    lines = [
        "import os, pathlib, time",
        "if 'SLOW' in os.environ:",
        f"    pathlib.Path({str(under_way)!r}).write_text(str(os.getpid()))",
        "    time.sleep(50)",
    ]
    conf = recorded.folder / "pelicanconf.py"
    conf.write_text("\n".join([conf.read_text(), *lines, ""]))
    recorded.commit(TIMES[4])
    recorded.configure()
    recorded.commit(TIMES[5])
    monkeypatch.setenv("SLOW", "yes")
    process = start(recorded)
    number = wait_for(under_way)
    monkeypatch.delenv("SLOW")
    return process, int(number)


def test_builds_end_with_what_started_them(slow: "tuple[subprocess.Popen[bytes], int]") -> None:
    """A build whose backfill was killed does not go on by itself."""
    process, number = slow
    process.kill()
    process.wait()
    end = time.monotonic() + 40
    while Path(f"/proc/{number}/stat").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{number}/stat").exists()


def test_interrupted(recorded: Site, slow: "tuple[subprocess.Popen[bytes], int]") -> None:
    """Ctrl-C ends the builds under way, which are no failures, and leaves nothing behind."""
    process, number = slow
    assert os.getpgid(number) == number, "a terminal would interrupt it too, and it would look like a failure"
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(600) == 2
    assert (recorded.folder.parent / "stderr").read_bytes().splitlines()[-1] == (
        b"pelican-resourcesync: interrupted: run backfill again to continue; finished builds are kept"
    )
    assert worktrees(recorded) == []
    assert not (recorded.output / "resourcesync").exists()
    outcome = run(recorded)
    assert outcome.known >= 1, "the last commit was the first"
    assert list(outcome.skipped.values()) == ["ValueError: a slip"]
