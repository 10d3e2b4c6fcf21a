"""A run that is killed, or in which a call fails: the next one publishes as if that one had happened, or had not."""

import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from pelican_resourcesync.errors import ResourceSyncError
from repo_bridge.publisher import publish
from sample_site.dspace.repository import ITEM, key, rows_of
from tests.kit.faults import disturbed, fail, kill
from tests.kit.postgresql import Server
from tests.kit.repository.press import Press, shelf, steady

#: How the database is on each of three days: titles change, and an item is withdrawn.
_TITLE = "UPDATE metadatavalue SET text_value = '{}' WHERE text_value ~ '^({})$'"
_WITHDRAWN = f"UPDATE item SET withdrawn = {{0}}, in_archive = NOT {{0}} WHERE uuid = '{key(7, ITEM, 3)}'"
DAYS = (
    (_TITLE.format("Title 1", "One"), _TITLE.format("Title 2", "Two"), _WITHDRAWN.format("false")),
    (_TITLE.format("One", "Title 1"), _WITHDRAWN.format("true")),
    (_TITLE.format("Two", "Title 2"),),
)


class Ground:
    """A repository in PostgreSQL that was published once, and what is to be found two days later."""

    def __init__(self, server: Server, press: Press) -> None:
        self.press, self.server = press, server
        self.url = server.database(steady(rows_of(shelf(*range(1, 30)), 7)), 7)
        self.publish(0)
        self.saved = press.folder.with_name("saved")
        subprocess.run(["cp", "-a", press.folder, self.saved], check=True)
        self.without = self.finish()
        self.restore()
        self.live(1)
        settings = press.settings(1, database=self.url)
        with disturbed(press.folder, "exchange", 0, kill) as counted:
            publish(settings, press.heard)
        self.calls = counted.calls
        self.with_it = self.finish()

    def publish(self, number: int) -> None:
        """Let a day come, and publish what is in the database."""
        self.live(number)
        self.press.publish(None, number, database=self.url)

    def live(self, number: int) -> None:
        """Let the database be as it is on a day."""
        with psycopg.connect(self.server.dsn(self.url), autocommit=True) as owner:
            for statement in DAYS[number]:
                owner.execute(statement.encode())

    def restore(self) -> None:
        """Let everything be as it was after the first publication."""
        shutil.rmtree(self.press.folder)
        subprocess.run(["cp", "-a", self.saved, self.press.folder], check=True)
        self.live(0)

    def finish(self) -> dict[str, bytes]:
        """Return what is there when the third day was published."""
        self.live(1)
        self.publish(2)
        return self.press.files()

    def disturb(self, call: int, act: Callable[[], None]) -> None:
        """Publish the second day, and do something in a call."""
        self.restore()
        self.live(1)
        settings = self.press.settings(1, database=self.url)
        with disturbed(self.press.folder, "exchange", call, act), suppress(ResourceSyncError):
            publish(settings, self.press.heard)


@pytest.fixture
def ground(server: Server, press: Press, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """Yield a repository that was published once."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # what is killed leaves its temporary folders
    ground = Ground(server, press)
    yield ground
    server.drop(ground.url)
    shutil.rmtree(ground.saved)


def killed(ground: Ground, call: int) -> bool:
    """Let a process publish that is killed in a call; return whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads, which the other process does not use
        process = os.fork()
    if process == 0:
        try:
            ground.disturb(call, kill)
        finally:
            os._exit(0)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def numbers(ground: Ground, config: pytest.Config) -> range:
    """Return the numbers of calls to be disturbed: all of them, or in a short run about four."""
    number = len(ground.calls)
    assert number > 100
    return range(1, number + 1) if config.getoption("--long") else range(number // 8, number + 1, number // 4)


@pytest.mark.promise("All or nothing")
def test_killed(ground: Ground, pytestconfig: pytest.Config) -> None:
    """`kill -9` in calls into the file system."""
    assert ground.without != ground.with_it
    left = []
    for call in numbers(ground, pytestconfig):
        assert killed(ground, call), call
        left.append(ground.finish())
        assert left[-1] in (ground.without, ground.with_it), (call, ground.calls[call - 1])
    assert ground.without in left
    assert ground.press.findings() == {}


@pytest.mark.promise("All or nothing")
def test_failing(ground: Ground, pytestconfig: pytest.Config) -> None:
    """A full disk, a missing permission or a damaged disk in calls into the file system."""
    for call in numbers(ground, pytestconfig):
        ground.disturb(call, fail(call))
        assert ground.finish() in (ground.without, ground.with_it), (call, ground.calls[call - 1])
