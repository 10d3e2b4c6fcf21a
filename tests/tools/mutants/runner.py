"""Run a package's tests in a copy of the project, in which one module at a time has a fault.

One traced run without any fault finds which tests run each line and how long they take. After that, one process
collects the tests, and for each fault a fork of it (`plugin.py`) runs the tests of the faulty lines, those of the
module and the fastest first, until one of them fails. Where it is known which test notices a fault, nothing is traced.
"""

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from unittest.mock import patch

from coverage import CoverageData

from tests.kit.sites import ROOT
from tests.tools.mutants.faults import Fault
from tests.tools.mutants.plugin import COSTS, FAULTS, LAST, RESULTS, TESTS

_COPIED = ("pelican_resourcesync", "repo_bridge", "tests", "sample_site", "docs")
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.tools.mutants.plugin", "--hypothesis-seed=1")
#: The seconds of tests that must not fail in a fork without any fault.
_UNDISTURBED = 5.0


@dataclass(frozen=True)
class Trial:
    """A copy of the project in `folder`, which of the tests run which line, and what each costs.

    `most` is how many seconds of tests are run for a fault, of processors, because others may load the machine.
    """

    folder: Path
    tests: Sequence[str]
    data: CoverageData
    costs: Mapping[str, tuple[float, float]]
    most: float

    @classmethod
    def begin(cls, code: str, tests: Sequence[str], folder: Path, most: float) -> "Trial":
        """Copy the project, and run the tests of some code once, traced and undisturbed."""
        source = code.removesuffix(f"/{Path(code).name}") if code.endswith(".py") else code
        traced = (f"--cov={source}", "--cov-context=test", "--cov-report=", "--cov-fail-under=0")
        trial = cls._undisturbed(code, tests, folder, traced, most)
        trial.data.read()
        if not trial.data.measured_files():
            message = f"no test runs {code}"
            raise RuntimeError(message)
        return trial

    @classmethod
    def of_tests(cls, names: Iterable[str], folder: Path) -> "Trial":
        """Copy the project, and run these tests once, undisturbed; those that are no longer there have no costs."""
        files = sorted({name.partition("::")[0] for name in names})
        present = [file for file in files if (ROOT / file).exists()]
        with patch.dict(os.environ, {TESTS: "\n".join(names)}):
            return cls._undisturbed("all code", present, folder, (), math.inf)

    @classmethod
    def _undisturbed(
        cls, code: str, tests: Sequence[str], folder: Path, options: Sequence[str], most: float
    ) -> "Trial":
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (each for each in ROOT.iterdir() if each.is_file()):
            shutil.copy(file, folder)
        done = subprocess.run(
            [sys.executable, *_PYTEST, *options, *tests],
            cwd=folder,
            env=cls._environment(folder),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            print(f"tests of {code} fail without any fault, and are left out:\n{done.stdout[-2000:].decode()}")
        costs = json.loads((folder / "costs.json").read_text("utf-8"))
        return cls(folder, tests, CoverageData(str(folder / ".coverage")), costs, most)

    @staticmethod
    def _environment(folder: Path) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(folder), COSTS: str(folder / "costs.json")}

    def results(self, faults: Sequence[Fault], tests: Sequence[Sequence[str]] | None = None) -> Iterator[str]:
        """Yield for each fault the test that fails or does not end, or an empty text.

        Tried are the tests of each fault, by default those that run the faulty lines.
        """
        tests = [self._tests_of(fault) for fault in faults] if tests is None else tests
        sources = {fault.path: (self.folder / fault.path).read_text("utf-8") for fault in faults}
        trials = [
            (each.path, each.apply(sources[each.path]), names, "" in self._contexts_of(each))
            for each, names in zip(faults, tests, strict=True)
            if names
        ]
        path, source = next(iter(sources.items()))
        some = self._within_budget(self.costs, most=_UNDISTURBED)
        undisturbed = path, source, some, False
        (self.folder / "faults.json").write_text(json.dumps([undisturbed, undisturbed, *trials]), "utf-8")
        reading, writing = os.pipe()
        environment = {FAULTS: str(self.folder / "faults.json"), RESULTS: str(writing)}
        with (
            os.fdopen(reading) as answers,
            (self.folder / "output.txt").open("w+", encoding="utf-8") as output,
            subprocess.Popen(
                [sys.executable, *_PYTEST, LAST, *self.tests],
                cwd=self.folder,
                env=self._environment(self.folder) | environment,
                stdout=output,
                stderr=output,
                pass_fds=[writing],
            ),
        ):
            os.close(writing)
            if "0" not in [
                answer.split()[0] for answer in islice(answers, 2)
            ]:  # one of two, because of tests about time
                output.seek(0)
                message = f"{' '.join(self.tests)} fail in a forked process without any fault:\n{output.read()[-2000:]}"
                raise RuntimeError(message)
            for names in tests:
                status, _, name = next(answers).strip().partition(" ") if names else ("0", "", "")
                yield (name or "no test can run") if int(status) else ""

    def _tests_of(self, fault: Fault) -> Sequence[str]:
        """Return the tests that run the faulty lines, the fastest first.

        What runs in a fixture may be looked at by any test of its module. Lines that run when the module is imported
        are tried with all tests that run anything in it; if there are none, with all tests.
        """
        found = self._contexts_of(fault)
        if "" in found:
            found |= {name for each in self._contexts(fault).values() for name in each}
        names = {name.rpartition("|")[0] for name in found if name}
        shared = {name.partition("::")[0] for name in found if name.endswith("|setup")}
        names = {name for name in self.costs if name in names or name.partition("::")[0] in shared}
        return self._within_budget(names or (self.costs if found else ()), Path(fault.path).stem)

    def _contexts_of(self, fault: Fault) -> set[str]:
        """Return what runs the faulty lines; of a statement in several lines, coverage knows only the first."""
        contexts = self._contexts(fault)
        begin = next((line for line in range(fault.line, 0, -1) if line in contexts), fault.line)
        return {name for line in range(begin, fault.end_line + 1) for name in contexts.get(line, [])}

    def _contexts(self, fault: Fault) -> Mapping[int, Sequence[str]]:
        return self.data.contexts_by_lineno(str(self.folder / fault.path))

    def _within_budget(self, names: Iterable[str], module: str = "", most: float | None = None) -> Sequence[str]:
        """Return the tests of the module, then the fastest others, as many as there is time for."""
        chosen: list[str] = []
        total = 0.0
        cases: Counter[str] = Counter()  # further cases of a test, which seldom notice more, count as slower
        order = {}
        for name in sorted(names, key=lambda each: self.costs[each][0]):
            test = name.partition("[")[0]
            cases[test] += 1
            order[name] = f"/test_{module}.py" not in name, self.costs[name][0] * cases[test]
        for name in sorted(order, key=lambda each: order[each]):
            total += self.costs[name][0]
            if chosen and total > (most or self.most):
                break
            chosen.append(name)
        return chosen
