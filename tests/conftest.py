"""What every test may use."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import settings
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.publishers.should_publish import PREVIEWS

pytest_plugins = ["tests.kit.fixtures"]

#: A file system in memory, and the bytes that a test run may need there.
MEMORY = Path("/dev/shm")
ROOM = 4_000_000_000

#: Where coverage tells new processes that their lines are traced, and how.
TRACE = "COVERAGE_PROCESS_CONFIG"


class CompiledTemplates(BytecodeCache):
    """The templates of themes, compiled once in a test process: each generator of each build would do it again."""

    codes: dict[tuple[str, str], CodeType] = {}  # noqa: RUF012 - shared by the copies that settings are

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what was compiled."""
        bucket.code = self.codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        if bucket.code is not None:
            self.codes[bucket.key, bucket.checksum] = bucket.code


DEFAULT_CONFIG["JINJA_ENVIRONMENT"]["bytecode_cache"] = CompiledTemplates()

settings.register_profile("short", deadline=None, max_examples=40, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile("short")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs the long campaigns too."""
    parser.addoption("--long", action="store_true", help="run the long campaigns too")


def pytest_configure(config: pytest.Config) -> None:
    """Let property tests try more where time allows, and keep temporary files in memory where there is room."""
    if config.getoption("--long"):
        settings.load_profile("long")
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        # Flushing to disk costs most of the time otherwise. What is flushed, and when, is tested by its calls.
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


def _has_room(folder: Path) -> bool:
    """Tell whether programs may run from a folder, and all files of a test run have room in it."""
    if not hasattr(os, "ST_NOEXEC") or not folder.is_dir() or not os.access(folder, os.W_OK):
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC and shutil.disk_usage(folder).free > ROOM


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected, nor later in what they are: it would cost each test a little."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long campaigns out unless they were asked for. They are not skipped: skips are what a machine lacks."""
    if not config.getoption("--long"):
        config.hook.pytest_deselected(items=[item for item in items if "long" in item.keywords])
        items[:] = [item for item in items if "long" not in item.keywords]


@pytest.fixture(scope="session", autouse=True)
def plain_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """Keep the configuration of the machine's git and a CI's environment out of the tests; yield what `TRACE` was.

    Git does all that it does by default, but installs no sample hooks, flushes nothing and never cleans up. Ctrl-C
    stops the processes of tests, also where a shell started this one in the background. Their lines are not traced.
    Settings files are not compiled: Python would take one of the same size and second for the one that it compiled.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    trace = os.environ.get(TRACE)
    home = tmp_path_factory.mktemp("home")
    (home / "gitconfig").write_text("[init]\ntemplateDir =\n[core]\nfsync = none\n[gc]\nauto = 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        for name in ("SOURCE_DATE_EPOCH", "CI", TRACE, *PREVIEWS):
            patch.delenv(name, raising=False)
        yield trace


@pytest.fixture
def traced_processes(monkeypatch: pytest.MonkeyPatch, plain_environment: str | None) -> None:
    """Trace the lines that a test's processes run. It takes long, so it is for what only such processes run."""
    if plain_environment is not None:
        monkeypatch.setenv(TRACE, plain_environment)
