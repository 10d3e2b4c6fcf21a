"""The table of what was measured: a row for each figure, for a terminal and for `docs/performance.md`."""

import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.tools.bench.runner import Case, Results

_HEAD = """\
# Performance

`make bench` measures complete processes, including imports, in alternating runs, and writes this page. Each figure
compares the processor time with that of other work in the same run, so it hardly depends on the machine. It is a
multiple of that work, or the additional time for one resource (µs). Memory is the maximum of the process.

"""
_COLUMNS = "| case | measurement | figure | memory |\n| --- | --- | --- | --- |"


def rows(case: Case, results: Results) -> list[str]:
    """Return the rows of a case in Markdown."""
    return [
        f"| {case.name} | {figure.sentence} | {figure.shown(results)} | {_memory(results, figure.variant)} |"
        for figure in case.figures
        if {figure.variant, figure.other} <= results.keys()
    ]


def _memory(results: Results, variant: str) -> str:
    return f"{min(results[variant].memory) / 1e6:.0f} MB"


def as_text(tables: Iterable[tuple[Case, Results]]) -> str:
    """Return the figures of all cases as lines for a terminal, each with its goal if that is missed."""
    lines = []
    for case, results in tables:
        for figure in case.figures:
            if {figure.variant, figure.other} <= results.keys():
                missed = "" if figure.value(results) <= figure.goal else f"  goal {figure.goal:g}"
                shown, memory = figure.shown(results), _memory(results, figure.variant)
                lines.append(f"{case.name:14} {figure.variant:32.32} {shown:>11} {memory:>8}{missed}")
    return "\n".join(lines)


def write(docs: Path, case: Case, results: Results, cases: Mapping[str, Case]) -> None:
    """Write the rows of a case into `performance.md`; those of other cases stay, in the order of `cases`."""
    file = docs / "performance.md"
    written = file.read_text("utf-8").splitlines() if file.is_file() else []
    known = {name: [row for row in written if row.startswith(f"| {name} |")] for name in cases}
    known[case.name] = rows(case, results)
    machine = f"Last run on {os.cpu_count()} processors ({platform.machine()}) with Python {platform.python_version()}."
    table = "\n".join([_COLUMNS, *(row for name in cases for row in known[name])])
    file.write_text(f"{_HEAD}{table}\n\n{machine}\n", "utf-8")
