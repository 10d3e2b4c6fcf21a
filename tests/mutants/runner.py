"""Run a package's tests in a copy of the project, in which one module at a time has a fault.

One traced run without any fault finds which tests run each line and how long they take. After that, a process that has
imported the other packages is forked for each fault, and runs the tests of the faulty lines, the fastest first, until
one of them fails.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from tests.mutants.faults import Fault
from tests.mutants.plugin import NOTES
from tests.support.sites import ROOT

_COPIED = ("pelican_resourcesync", "repo_bridge", "tests", "sample_site", "docs")
_OURS = ("pelican_resourcesync", "repo_bridge", "tests", "sample_site")
_PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "tests.mutants.plugin", "--hypothesis-seed=1")
_FORKED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # plugins were imported before
#: A run of the tests for one fault: how many seconds of tests, how many times as long it may take, and how much more.
_BUDGET, _PATIENCE, _WAIT = 60.0, 10.0, 60.0
_MEMORY = 6 << 30  # bytes
_MTIME = 1_000_000_000  # of the first faulty module; each has another, so that no compiled one is mistaken for it


@dataclass
class Trial:
    """A copy of the project in `folder`, which of the tests run which line, and the seconds that each takes."""

    folder: Path
    data: CoverageData
    seconds: Mapping[str, float]
    tried: int = 0

    @classmethod
    def begin(cls, code: str, tests: str, folder: Path) -> "Trial":
        """Copy the project, and run the tests of some code once, traced and undisturbed."""
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (each for each in ROOT.iterdir() if each.is_file()):
            shutil.copy(file, folder)
        notes = folder / "notes.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            *_PYTEST,
            f"--cov={Path(code).parts[0]}",
            "--cov-context=test",
            "--cov-report=",
        ]
        environment = {**os.environ, "PYTHONPATH": str(folder), NOTES: str(notes)}
        done = subprocess.run(
            [*command, "--cov-fail-under=0", tests], cwd=folder, env=environment, capture_output=True, check=False
        )
        if done.returncode:
            print(f"tests of {code} fail without any fault, and are left out:\n{done.stdout[-2000:].decode()}")
        noted = json.loads(notes.read_text("utf-8"))
        with warnings.catch_warnings(action="ignore"):
            for name in noted["modules"]:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        data = CoverageData(str(folder / ".coverage"))
        data.read()
        if not data.measured_files():
            message = f"no test runs {code}"
            raise RuntimeError(message)
        trial = cls(folder, data, noted["seconds"])
        if trial._fails(trial._within_budget(trial.seconds)):
            message = f"the tests of {code} fail in a forked process without any fault"
            raise RuntimeError(message)
        return trial

    def is_noticed(self, fault: Fault) -> bool:
        """Return whether a test that runs the faulty lines fails, or does not end."""
        tests = self._tests_of(fault)
        file = self.folder / fault.path
        source, before = file.read_text("utf-8"), file.stat()
        self.tried += 1
        file.write_text(fault.apply(source), "utf-8")
        os.utime(file, (_MTIME + self.tried, _MTIME + self.tried))
        try:
            return bool(tests) and self._fails(tests)
        finally:
            file.write_text(source, "utf-8")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _tests_of(self, fault: Fault) -> Sequence[str]:
        """Return the tests that run the faulty lines, the fastest first.

        What runs in a fixture may be looked at by any test of its module. Lines that run only when the module is
        imported are tried with all tests that run anything in it; if there are none, with all tests.
        """
        contexts = self.data.contexts_by_lineno(str(self.folder / fault.path))
        found = {name for line in range(fault.line, fault.end_line + 1) for name in contexts.get(line, [])}
        if found == {""}:
            found |= {name for each in contexts.values() for name in each}
        names = {name.rpartition("|")[0] for name in found if name}
        shared = {name.partition("::")[0] for name in found if name.endswith("|setup")}
        names = {name for name in self.seconds if name in names or name.partition("::")[0] in shared}
        return self._within_budget(names or (self.seconds if found else ()), Path(fault.path).stem)

    def _within_budget(self, names: Iterable[str], module: str = "") -> Sequence[str]:
        """Return the tests of the module, then the fastest, as many as can run in a minute of one processor."""
        chosen: list[str] = []
        total = 0.0
        for name in sorted(names, key=lambda each: (f"/test_{module}.py" not in each, self.seconds.get(each, 0.0))):
            total += self.seconds.get(name, 0.0)
            if chosen and total > _BUDGET:
                break
            chosen.append(name)
        return chosen

    def _fails(self, tests: Sequence[str]) -> bool:
        limit = _WAIT + _PATIENCE * sum(self.seconds.get(name, 0.0) for name in tests)
        child = os.fork()
        if not child:
            self._run(tests)
        end = time.monotonic() + limit
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)  # what the tests started
                return status != 0
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return True

    def _run(self, tests: Sequence[str]) -> None:
        """Run tests in a forked process, which ends with their status."""
        status: Any = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
            for name in [each for each in sys.modules if each.partition(".")[0] in _OURS]:
                del sys.modules[name]
            os.chdir(self.folder)
            sys.path.insert(0, str(self.folder))
            os.environ["PYTHONPATH"] = str(self.folder)
            status = pytest.main(["-x", *_PYTEST, *_FORKED, *tests])
        finally:
            os._exit(int(status))
