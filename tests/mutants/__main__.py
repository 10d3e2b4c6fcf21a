"""The command: `python -m tests.mutants [PACKAGE…] [--count N] [--seed N]`."""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

from tests.mutants.faults import Fault, faults_in
from tests.support.sites import ROOT

#: The code that is tried, and the tests that should notice.
PACKAGES: Mapping[str, tuple[str, str]] = {
    "protocol": ("pelican_resourcesync/protocol", "tests/protocol"),
    "publication": ("pelican_resourcesync/publication", "tests/publication"),
    "transport": ("pelican_resourcesync/transport", "tests/transport"),
    "check": ("pelican_resourcesync/check", "tests/check"),
    "access": ("repo_bridge/access", "tests/bridge"),
}
#: Survivors that were looked into, by what is printed of them without the line number, and why they may survive.
ACCEPTED = Path(__file__).with_name("accepted.txt")
_MANY = 300


@dataclass
class Trial:
    """A copy of the project, in which one module at a time has a fault, and which of the tests run which line."""

    folder: Path
    tests: str
    data: CoverageData
    seconds: float

    def is_noticed(self, fault: Fault) -> bool:
        """Tell whether the tests that run the faulty lines fail, or do not end."""
        tests = self._tests_of(fault)
        if not tests:
            return False
        file = self.folder / fault.path
        source = file.read_text("utf-8")
        file.write_text(fault.apply(source), "utf-8")
        try:
            return run(self.folder, "-x", *tests, timeout=60 + 5 * self.seconds) not in {0, 5}
        finally:
            file.write_text(source, "utf-8")

    def _tests_of(self, fault: Fault) -> Sequence[str]:
        contexts = self.data.contexts_by_lineno(str(self.folder / fault.path))
        found = {name for line in range(fault.line, fault.end_line + 1) for name in contexts.get(line, [])}
        names = sorted({name.rpartition("|")[0] for name in found if name})
        if len(names) > _MANY:
            names = sorted({name.partition("::")[0] for name in names})
        return names or ([self.tests] if found else [])


def run(folder: Path, *arguments: str, timeout: float) -> int:
    """Run tests in a folder; return the exit status of pytest, or -1 where they do not end in time."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, timeout=timeout, capture_output=True, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return -1


def begin(package: str, folder: Path) -> Trial:
    """Copy the project, and run a package's tests once, undisturbed."""
    for name in ("pelican_resourcesync", "repo_bridge", "tests", "sample_site", "docs", "pyproject.toml", "README.md"):
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(place, folder / name)
    code, tests = PACKAGES[package]
    start = time.monotonic()
    coverage = ("--cov", code, "--cov-context=test", "--cov-report=", "--cov-fail-under=0")
    if status := run(folder, *coverage, tests, timeout=3600):
        message = f"the tests of {package} fail without any fault (pytest ended with {status})"
        raise RuntimeError(message)
    data = CoverageData(str(folder / ".coverage"))
    data.read()
    return Trial(folder, tests, data, time.monotonic() - start)


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share (Wilson)."""
    z, share = 1.96, killed / tried
    middle = share + z * z / (2 * tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return (middle - half) / (1 + z * z / tried), (middle + half) / (1 + z * z / tried)


def try_package(package: str, count: int, seed: int) -> float:
    """Try a sample of the faults of a package, print the survivors and the score, and return the score."""
    code = ROOT / PACKAGES[package][0]
    faults = [fault for file in sorted(code.rglob("*.py")) for fault in faults_in(file, str(file.relative_to(ROOT)))]
    sample = random.Random(seed).sample(faults, min(count, len(faults)))
    accepted = {line.partition("  # ")[0] for line in ACCEPTED.read_text("utf-8").splitlines()}
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        trial = begin(package, Path(folder).resolve())
        for fault in sorted(sample):
            text = f"{fault.path}: {str(fault).partition(': ')[2]}"
            result = "noticed" if trial.is_noticed(fault) else "accepted" if text in accepted else "survived"
            found[result] += 1
            if result == "survived":
                print(f"survived: {fault}", flush=True)
    tried = found["noticed"] + found["survived"]
    low, high = interval(found["noticed"], tried)
    print(
        f"{package}: {found['noticed']} of {tried} noticed, {found['noticed'] / tried:.0%} (95 % confidence: {low:.0%} "
        f"to {high:.0%}), {found['accepted']} accepted; sample of {len(sample)} of {len(faults)} faults, seed {seed}",
        flush=True,
    )
    return found["noticed"] / tried


def main() -> int:
    """Try packages; the exit status is 1 if any score is below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("package", nargs="*", help=f"which of {', '.join(PACKAGES)}; all of them by default")
    parser.add_argument("--count", type=int, default=300, help="the size of the sample of each package (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (default: 1)")
    parser.add_argument("--goal", type=float, default=0.9, help="the least score (default: 0.9)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.package if name not in PACKAGES]
    if unknown:
        parser.error(f"there is no package {unknown[0]!r}: there are {', '.join(PACKAGES)}")
    scores = [try_package(name, arguments.count, arguments.seed) for name in arguments.package or PACKAGES]
    return int(min(scores) < arguments.goal)


if __name__ == "__main__":
    sys.exit(main())
