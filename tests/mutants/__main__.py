"""The command: `python -m tests.mutants [PACKAGE…] [--count N] [--seed N]`."""

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants.faults import Fault, faults_in
from tests.support.sites import ROOT

#: The code that is tried, and the tests that should notice.
PACKAGES: Mapping[str, tuple[str, Sequence[str]]] = {
    "protocol": ("pelican_resourcesync/protocol", ["tests/protocol"]),
    "publication": (
        "pelican_resourcesync/publication",
        ["tests/publication", "tests/test_signing.py", "tests/bridge/test_files.py"],
    ),
    "http": ("pelican_resourcesync/http", ["tests/http", "tests/checker/test_package.py"]),
    "checker": ("pelican_resourcesync/checker", ["tests/checker"]),
    "source": ("pelican_resourcesync/source", ["tests/destination", "tests/test_signing.py"]),
    "destination": ("pelican_resourcesync/destination", ["tests/destination", "tests/test_signing.py"]),
    "settings": ("pelican_resourcesync/settings", ["tests/settings", "tests/bridge/test_settings.py"]),
    "git": ("pelican_resourcesync/git", ["tests/git"]),
    "static_site": ("pelican_resourcesync/static_site", ["tests/folder", "tests/site/outputs"]),
    "folder": ("pelican_resourcesync/folder.py", ["tests/folder"]),
    "announce": ("pelican_resourcesync/announce.py", ["tests/announce"]),
    "listening": ("pelican_resourcesync/listening.py", ["tests/destination/test_listening.py"]),
    "repo_bridge": ("repo_bridge", ["tests/bridge"]),
    "access": ("repo_bridge/access.py", ["tests/bridge/test_access.py"]),
}
#: Whole programs and campaigns: they take longer than there is time for.
LEFT_OUT = [
    *(f"bridge/{name}" for name in ("reading/test_plans", "reading/test_writers", "test_faults", "test_leaks")),
    *(f"bridge/{name}" for name in ("test_living", "test_power_failure", "test_sources")),
    *(f"checker/{name}" for name in ("test_campaigns", "test_matrix")),
    *(f"publication/{name}" for name in ("pages/test_browser", "test_carried", "test_scale")),
]
#: Survivors that were looked into, by what is printed of them without the line number, and why they may survive.
ACCEPTED = Path(__file__).with_name("accepted.txt")


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share (Wilson)."""
    z, share = 1.96, killed / tried
    middle = share + z * z / (2 * tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return (middle - half) / (1 + z * z / tried), (middle + half) / (1 + z * z / tried)


def all_faults(package: str) -> list[Fault]:
    """Return all faults that can be put into a package."""
    code = ROOT / PACKAGES[package][0]
    files = sorted(code.rglob("*.py")) if code.is_dir() else [code]
    return [fault for file in files for fault in faults_in(file, str(file.relative_to(ROOT)))]


def try_package(package: str, count: int, seed: int, most: float) -> float:
    """Try a sample of the faults of a package, print the survivors and the score, and return the score."""
    from tests.mutants.runner import Trial

    faults = all_faults(package)
    code, tests = PACKAGES[package]
    tests = [*tests, *(f"--ignore=tests/{name}.py" for name in LEFT_OUT)]
    sample = sorted(random.Random(seed).sample(faults, min(count, len(faults))))
    accepted = {line.partition("  # ")[0] for line in ACCEPTED.read_text("utf-8").splitlines()}
    known = {f"{fault.path}: {fault.text}" for fault in faults}
    for text in sorted(each for each in accepted - known if each.startswith(code)):
        print(f"accepted, but no longer there: {text}")
    tried = [fault for fault in sample if f"{fault.path}: {fault.text}" not in accepted]
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial.begin(code, tests, Path(folder).resolve(), most)
        for fault, is_noticed in zip(tried, trial.results(tried), strict=True):
            noticed += is_noticed
            if not is_noticed:
                print(f"survived: {fault}", flush=True)
    low, high = interval(noticed, len(tried))
    print(
        f"{package}: {noticed} of {len(tried)} noticed, {noticed / len(tried):.0%} (95 % confidence: {low:.0%} to "
        f"{high:.0%}), {len(sample) - len(tried)} accepted; {len(sample)} of {len(faults)} faults, seed {seed}",
        flush=True,
    )
    return noticed / len(tried)


def main() -> int:
    """Try packages; the exit status is 1 if any score is below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("package", nargs="*", help=f"which of {', '.join(PACKAGES)}; all of them by default")
    parser.add_argument("--count", type=int, default=300, help="the size of the sample of each package (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (default: 1)")
    parser.add_argument("--seconds", type=float, default=30, help="of tests for each fault, at most (default: 30)")
    parser.add_argument("--goal", type=float, default=0.9, help="the least score (default: 0.9)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.package if name not in PACKAGES]
    if unknown:
        parser.error(f"there is no package {unknown[0]!r}: there are {', '.join(PACKAGES)}")
    sampled = arguments.count, arguments.seed, arguments.seconds
    scores = [try_package(name, *sampled) for name in arguments.package or PACKAGES]
    return int(min(scores) < arguments.goal)


if __name__ == "__main__":
    sys.exit(main())
