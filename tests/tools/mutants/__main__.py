"""The command: `python -m tests.tools.mutants [PACKAGE…] [--count N] [--seed N]`; `protocol` is such a package."""

import argparse
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.kit.sites import ROOT
from tests.tools.mutants.by_hand import FAULTS_BY_HAND, FaultByHand, locate, package_of, product_files
from tests.tools.mutants.faults import Fault, faults_in

POWER = "campaigns/test_power_failure.py"
DISK = f"publication/disk campaigns/publication {POWER}"
#: The code that is tried, each folder and loose module, and the tests that should notice.
PACKAGES: Mapping[str, str] = {
    "pelican_resourcesync/__init__.py": "test_library.py",
    "pelican_resourcesync/publishers/aggregator.py": "destination/test_aggregator.py destination/test_fresh.py",
    "pelican_resourcesync/delivery/announce.py": "delivery/announce",
    "pelican_resourcesync/checker": "checker campaigns/checker",
    "pelican_resourcesync/cli.py": "commands system/test_standard_streams.py",
    "pelican_resourcesync/system/cluster.py": "system/test_cluster.py",
    "pelican_resourcesync/commands": (
        "commands delivery/announce delivery/upload campaigns/upload publishers/folder campaigns/folder destination"
    ),
    "pelican_resourcesync/system/dcz.py": (
        "system/test_dcz.py publication/kinds/test_patches.py destination/test_patches.py"
    ),
    "pelican_resourcesync/destination": f"destination campaigns/copy {POWER} system/test_signing.py",
    "pelican_resourcesync/errors.py": f"{DISK} system/test_printable.py destination/test_state.py commands",
    "pelican_resourcesync/content": "content",
    "pelican_resourcesync/system/exchange.py": f"{DISK} destination/test_atomic.py",
    "pelican_resourcesync/system/command_line.py": "commands/test_cli.py",
    "pelican_resourcesync/system/exits.py": (
        "system/test_extras.py system/test_standard_streams.py commands destination/test_follow_command.py "
        "destination/test_many.py"
    ),
    "pelican_resourcesync/system/durable.py": f"system/test_durable.py {DISK}",
    "pelican_resourcesync/system/extras.py": "system/test_extras.py",
    "pelican_resourcesync/system/files.py": f"system/test_files.py {DISK} publication/kinds/test_versions.py",
    "pelican_resourcesync/system/__init__.py": "programs/test_plugin.py publication/test_publish.py",
    "pelican_resourcesync/publishers/folder.py": "publishers/folder campaigns/folder",
    "pelican_resourcesync/publishers/git.py": "publishers/git",
    "pelican_resourcesync/system/titles.py": "publication/kinds/pages test_linear.py",
    "pelican_resourcesync/http": "http checker/test_package.py",
    "pelican_resourcesync/destination/listening.py": "destination/test_listening.py",
    "pelican_resourcesync/system/lock.py": "system/test_lock.py",
    "pelican_resourcesync/system/media_types.py": "system/test_media_types.py",
    "pelican_resourcesync/plugin.py": (
        "programs/test_plugin.py publishers/test_should_publish.py programs/test_bad_input.py"
    ),
    "pelican_resourcesync/system/printable.py": "system/test_printable.py test_linear.py",
    "pelican_resourcesync/protocol": "protocol",
    "pelican_resourcesync/publication": (
        f"publication campaigns/publication {POWER} system/test_signing.py repo_bridge/test_files.py"
    ),
    "pelican_resourcesync/delivery/serve.py": "delivery/test_serve.py",
    "pelican_resourcesync/settings": "settings repo_bridge/test_settings.py",
    "pelican_resourcesync/publishers/should_publish.py": "publishers/test_should_publish.py",
    "pelican_resourcesync/system/signing.py": "system/test_signing.py",
    "pelican_resourcesync/options.py": (
        "test_options.py settings destination/test_command.py destination/test_many.py terminal"
    ),
    "pelican_resourcesync/publishers/pelican": (
        f"publishers/pelican campaigns/backfill {POWER} programs/test_plugin.py programs/test_sets.py "
        "programs/test_deletions.py"
    ),
    "pelican_resourcesync/publishers/takedown.py": "publication/takedown programs/test_deletions.py",
    "pelican_resourcesync/source": f"destination campaigns/copy {POWER} system/test_signing.py",
    "pelican_resourcesync/publishers/static_site": "publishers/folder campaigns/folder publishers/pelican/outputs",
    "pelican_resourcesync/system/strict_json.py": "system/test_strict_json.py",
    "pelican_resourcesync/terminal.py": "terminal",
    "pelican_resourcesync/delivery/upload.py": "delivery/upload campaigns/upload",
    "repo_bridge/access.py": "repo_bridge/test_access.py repo_bridge/test_dates.py",
    "repo_bridge/cli.py": "repo_bridge/test_cli.py repo_bridge/test_docs.py",
    "repo_bridge/files.py": "repo_bridge/test_files.py repo_bridge/test_publisher.py",
    "repo_bridge/inventory.py": "repo_bridge/test_inventory.py repo_bridge/test_next_run.py repo_bridge/test_former.py",
    "repo_bridge/model.py": "repo_bridge/test_dates.py repo_bridge/test_access.py repo_bridge/records",
    "repo_bridge/plan.py": "repo_bridge/test_plan.py repo_bridge/test_former.py repo_bridge/test_publisher.py",
    "repo_bridge/publisher.py": "repo_bridge/test_publisher.py repo_bridge/test_next_run.py repo_bridge/test_former.py",
    "repo_bridge/readers.py": "repo_bridge/test_next_run.py repo_bridge/reading/test_changes.py repo_bridge/records",
    "repo_bridge/reading": "repo_bridge/reading repo_bridge/test_access.py",
    "repo_bridge/records": "repo_bridge/records repo_bridge/test_docs.py",
    "repo_bridge/schema.py": "repo_bridge/test_schema.py repo_bridge/reading",
    "repo_bridge/settings.py": "repo_bridge/test_settings.py repo_bridge/test_cli.py",
    "repo_bridge/setup.py": "repo_bridge/test_setup.py",
    "repo_bridge/tables": (
        "repo_bridge/test_table.py repo_bridge/test_table_published.py repo_bridge/test_table_in_a_bucket.py"
    ),
}
#: Whole programs and campaigns: they take longer than there is time for.
LEFT_OUT = [
    *(f"repo_bridge/{name}" for name in ("reading/test_plans", "reading/test_writers", "test_leaks", "test_sources")),
    *(f"campaigns/checker/{name}" for name in ("test_mutated", "test_matrix")),
    *(f"publication/{name}" for name in ("kinds/pages/test_browser", "test_scale")),
    "campaigns/publication/test_carried",
]
#: More tests that may notice faults chosen by hand.
MORE_BY_HAND = {
    "pelican_resourcesync/publication": (
        "programs/test_added_past.py programs/test_deletions.py programs/test_live.py repo_bridge/test_sources.py"
    ),
    "pelican_resourcesync/publishers/pelican": (
        "programs/test_discreet.py programs/test_sample_site.py programs/test_live.py"
    ),
    "pelican_resourcesync/delivery/upload.py": "programs/test_upload.py",
    "repo_bridge/files.py": "repo_bridge/test_next_run.py repo_bridge/test_inventory.py repo_bridge/reading",
    "repo_bridge/access.py": "repo_bridge/reading repo_bridge/records",
    "repo_bridge/publisher.py": (
        "repo_bridge/test_cli.py campaigns/test_power_failure.py repo_bridge/test_inventory.py"
    ),
    "repo_bridge/reading": "repo_bridge/test_files.py repo_bridge/test_versions.py repo_bridge/test_publisher.py",
}
#: Seconds of tests for each fault: a random one is given up soon, one chosen by hand is worth more.
_RANDOM, _BY_HAND = 30.0, 600.0
#: Survivors that were looked into, by what is printed of them without the line number, and why they may survive.
ACCEPTED = Path(__file__).with_name("accepted.txt")
#: Which test noticed a fault chosen by hand the last time, by the fault's name.
NOTICED = Path(__file__).with_name("noticed.json")


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share (Wilson)."""
    z, share = 1.96, killed / tried
    middle = share + z * z / (2 * tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return (middle - half) / (1 + z * z / tried), (middle + half) / (1 + z * z / tried)


def find_packages(names: Sequence[str]) -> list[str]:
    """Return the packages that are named, by their path or its first or last part, or all if none is."""
    known = {each: {each, Path(each).stem, Path(each).parts[0]} for each in PACKAGES}
    for name in names:
        if not any(name in each for each in known.values()):
            message = f"there is no package {name!r}: there are {', '.join(PACKAGES)}"
            raise LookupError(message)
    return [each for each, its_names in known.items() if not names or its_names & {*names}]


def all_faults(package: str) -> list[Fault]:
    """Return all faults that can be put into a package."""
    code = ROOT / package
    files = sorted(code.rglob("*.py")) if code.is_dir() else [code]
    return [fault for file in files for fault in faults_in(file, str(file.relative_to(ROOT)))]


def try_package(package: str, count: int, seed: int, most: float) -> float:
    """Try a sample of the faults of a package, print the survivors and the score, and return the score."""
    from tests.tools.mutants.runner import Trial

    faults = all_faults(package)
    tests = [f"tests/{name}" for name in PACKAGES[package].split()]
    tests += [f"--ignore=tests/{name}.py" for name in LEFT_OUT]
    sample = sorted(random.Random(seed).sample(faults, min(count, len(faults))))
    accepted = {line.partition("  # ")[0] for line in ACCEPTED.read_text("utf-8").splitlines()}
    known = {f"{fault.path}: {fault.text}" for fault in faults}
    for text in sorted(each for each in accepted - known if each.startswith(package)):
        print(f"accepted, but no longer there: {text}")
    tried = [fault for fault in sample if f"{fault.path}: {fault.text}" not in accepted]
    if not tried:
        print(f"{package}: each of the {len(sample)} faults of the sample is accepted, seed {seed}")
        return 1.0
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial.begin(package, tests, Path(folder).resolve(), most)
        for fault, test in zip(tried, trial.results(tried), strict=True):
            noticed += bool(test)
            if not test:
                print(f"survived: {fault}", flush=True)
    low, high = interval(noticed, len(tried))
    print(
        f"{package}: {noticed} of {len(tried)} noticed, {noticed / len(tried):.0%} (95 % confidence: {low:.0%} to "
        f"{high:.0%}), {len(sample) - len(tried)} accepted; {len(sample)} of {len(faults)} faults, seed {seed}",
        flush=True,
    )
    return noticed / len(tried)


def results_by_hand(
    places: Mapping[FaultByHand, Fault], known: Mapping[str, str], most: float
) -> Iterator[tuple[FaultByHand, str]]:
    """Yield each fault with the test that notices it, or an empty text.

    The test that noticed a fault the last time is tried first, and the others only if it does not notice it again.
    """
    from tests.tools.mutants.runner import Trial

    waiting = dict(places)
    familiar = {fault: known[fault.name] for fault in places if fault.name in known}
    if familiar:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial.of_tests({*familiar.values()}, Path(folder).resolve())
            tests = [[name] if name in trial.costs else [] for name in familiar.values()]
            results = trial.results([places[fault] for fault in familiar], tests)
            for fault, test in zip(familiar, results, strict=True):
                if test:
                    del waiting[fault]
                    yield fault, test
    packages: dict[str, list[FaultByHand]] = {}
    for fault, place in waiting.items():
        packages.setdefault(package_of(place.path, [*PACKAGES]), []).append(fault)
    for package, faults in packages.items():
        with tempfile.TemporaryDirectory() as folder:
            files = [f"tests/{name}" for name in f"{PACKAGES[package]} {MORE_BY_HAND.get(package, '')}".split()]
            trial = Trial.begin(package, files, Path(folder).resolve(), most)
            yield from zip(faults, trial.results([places[fault] for fault in faults]), strict=True)


def try_by_hand(names: Sequence[str], most: float) -> int:
    """Try the faults chosen by hand whose names contain one of these, all without any; return how many survive."""
    files = product_files()
    chosen = [fault for fault in FAULTS_BY_HAND if not names or any(name in fault.name for name in names)]
    places = {fault: locate(fault, files) for fault in chosen}
    known: dict[str, str] = json.loads(NOTICED.read_text("utf-8"))
    survivors = 0
    for fault, test in results_by_hand(places, dict(known), most):
        print(
            f"{'noticed ' if test else 'SURVIVED'} {places[fault].path}: {fault.name}{test and f', by {test}'}",
            flush=True,
        )
        survivors += not test
        known[fault.name] = test
        lines = {each.name: known[each.name] for each in FAULTS_BY_HAND if known.get(each.name)}
        NOTICED.write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{len(chosen) - survivors} of {len(chosen)} faults by hand noticed")
    return survivors


def main() -> int:
    """Try packages; the exit status is 1 if any score is below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.mutants", description=__doc__)
    parser.add_argument("package", nargs="*", help=f"which of {', '.join(PACKAGES)}; all of them by default")
    parser.add_argument("--count", type=int, default=300, help="the size of the sample of each package (default: 300)")
    parser.add_argument("--seed", type=int, help="chooses the sample (default: another one each time)")
    parser.add_argument(
        "--seconds", type=float, help="of tests for each fault, at most (default: 30, and 600 for faults by hand)"
    )
    parser.add_argument("--goal", type=float, default=0.9, help="the least score (default: 0.9)")
    parser.add_argument(
        "--by-hand", nargs="*", metavar="TEXT", help="try the faults chosen by hand instead, or those named so"
    )
    arguments = parser.parse_args()
    if arguments.by_hand is not None:
        unknown = [text for text in arguments.by_hand if not any(text in fault.name for fault in FAULTS_BY_HAND)]
        if unknown:
            parser.error(f"no fault is named {', '.join(unknown)}: see tests/tools/mutants/by_hand.py")
        return int(try_by_hand(arguments.by_hand, arguments.seconds or _BY_HAND) > 0)
    try:
        packages = find_packages(arguments.package)
    except LookupError as error:
        parser.error(str(error))
    seed = random.randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"SEED={seed} tries the same faults again", flush=True)
    scores = [try_package(name, arguments.count, seed, arguments.seconds or _RANDOM) for name in packages]
    return int(min(scores) < arguments.goal)


if __name__ == "__main__":
    sys.exit(main())
