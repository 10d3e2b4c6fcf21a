"""The command: `python -m tests.tools.bench [CASE…] [--rounds N] [--write]`."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tools.bench.cases import CASES, PROGRAMS
from tests.tools.bench.report import as_text, write
from tests.tools.bench.runner import run_case

DOCS = Path(__file__).resolve().parents[3] / "docs"


def main() -> int:
    """Run cases and print one table; with `--write`, write `docs/performance.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bench", description="Measure, and print ratios.")
    parser.add_argument("case", nargs="*", help=f"which of {', '.join([*CASES, *PROGRAMS])}; all small ones by default")
    parser.add_argument("--rounds", type=int, default=5, help="how often each variant runs (default: 5)")
    parser.add_argument("--write", action="store_true", help="write their rows of docs/performance.md")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.case if name not in CASES and name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}: there are {', '.join([*CASES, *PROGRAMS])}")
    measured = []
    for name in arguments.case or [each for each in CASES if not CASES[each].large]:
        if name in PROGRAMS:
            subprocess.run(PROGRAMS[name], check=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            measured.append((CASES[name], run_case(CASES[name], Path(folder), arguments.rounds)))
        print(f"{name} is measured", file=sys.stderr)
        if arguments.write:
            write(DOCS, *measured[-1], CASES)
    print(as_text(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
