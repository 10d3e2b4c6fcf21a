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

from tests.site.backfill.support import TIMES, documents, run, worktrees
from tests.support.sites import ROOT, Site

BACKFILL = [sys.executable, "-m", "pelican_resourcesync", "backfill", "--jobs", "2"]


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever is passing lie in a folder of its own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))


def start(site: Site) -> "subprocess.Popen[bytes]":
    """Start a backfill."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(BACKFILL, cwd=site.folder, env=environment, stderr=subprocess.DEVNULL)


def finish(site: Site) -> float:
    """Run a backfill to its end; return the seconds that took."""
    begun = time.monotonic()
    assert start(site).wait(120) == 0
    return time.monotonic() - begun


def wait_for(something: Path, timeout: float = 60) -> str:
    """Wait for a file that something writes."""
    end = time.monotonic() + timeout
    while not (something.exists() and something.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    return something.read_text()


def check_moments(site: Site, moments: int) -> None:
    """Kill a backfill at random moments, each of another run, and let the next one finish."""
    seconds = finish(site)
    undisturbed = documents(site.output)
    seed = random.randrange(10**6)
    moment = random.Random(seed)
    for number in range(moments):
        shutil.rmtree(site.output)
        shutil.rmtree(site.folder / ".resourcesync")
        process = start(site)
        time.sleep(moment.uniform(0.1, 1.1) * seconds)
        process.kill()
        process.wait()
        finish(site)
        assert documents(site.output) == undisturbed, (seed, number)
        assert worktrees(site) == []
        assert not [*site.folder.glob(".resourcesync/**/.resourcesync-*")], (seed, number)
        assert not [*Path(os.environ["TMPDIR"]).glob("resourcesync-backfill-*")]


def test_killed_at_a_moment(past: Site) -> None:
    """The same bytes as undisturbed, whatever it was doing; nothing passing is left."""
    check_moments(past, 1)


@pytest.mark.long
def test_killed_at_many_moments(past: Site) -> None:
    """The long campaign."""
    check_moments(past, 30)


def slow(site: Site, folder: Path) -> Path:
    """Let a further commit write the number of the process that builds it to a file, and take long."""
    told = folder / "process"
    lines = [
        "import os, pathlib, time",
        "if 'SLOW' in os.environ:",
        f"    pathlib.Path({str(told)!r}).write_text(str(os.getpid()))",
        "    time.sleep(50)",
    ]
    conf = site.folder / "pelicanconf.py"
    conf.write_text("\n".join([conf.read_text(), *lines, ""]))
    site.commit(TIMES[4])
    return told


def test_builds_end_with_what_started_them(past: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build whose backfill was killed does not go on by itself."""
    told = slow(past, tmp_path)
    past.configure()
    past.commit(TIMES[5])
    monkeypatch.setenv("SLOW", "yes")
    process = start(past)
    number = int(wait_for(told))
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while Path(f"/proc/{number}/stat").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{number}/stat").exists()


def test_interrupted(past: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the builds under way, which are no failures, and leaves nothing behind."""
    told = slow(past, tmp_path)
    past.configure()
    past.commit(TIMES[5])
    monkeypatch.setenv("SLOW", "yes")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        BACKFILL, cwd=past.folder, env=environment, start_new_session=True, stderr=subprocess.PIPE
    )
    number = int(wait_for(told))
    assert os.getpgid(number) == number, "a terminal would interrupt it too, and it would look like a failure"
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said.splitlines()[-1] == (
        b"pelican-resourcesync: interrupted: run backfill again to continue, finished builds are kept"
    )
    assert worktrees(past) == []
    assert not (past.output / "resourcesync").exists()
    monkeypatch.delenv("SLOW")
    outcome = run(past)
    assert outcome.known >= 1, "the last commit was the first"
    assert list(outcome.skipped.values()) == ["ValueError: a slip"]
