"""The command: `python -m tests.bench [CASE…] [--rounds N] [--write]`."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench.cases import CASES
from tests.bench.report import table, write
from tests.bench.runner import Case, Results, run_case

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> int:
    """Run cases and print their tables; with `--write`, write `docs/performance.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure, and print ratios.")
    parser.add_argument("case", nargs="*", help=f"which of {', '.join(CASES)}; all of them by default")
    parser.add_argument("--rounds", type=int, default=5, help="how often each variant runs (default: 5)")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md and its plots")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.case if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}: there are {', '.join(CASES)}")
    found: dict[str, tuple[Case, Results]] = {}
    for name in arguments.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = CASES[name], run_case(CASES[name], Path(folder), arguments.rounds)
        print(f"\n{CASES[name].title}\n\n{table(*found[name])}", flush=True)
        if arguments.write:  # after each case, so that a later one that fails does not lose it
            write(DOCS, found, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
