"""Tables and plots of what was measured."""

import os
import platform
from collections.abc import Mapping
from html import escape
from pathlib import Path

from tests.bench.runner import Case, Results, misses

_BAR, _LABEL, _WIDTH = 24, 260, 760

_INTRODUCTION = """\
Written by `make bench`: whole processes, in turns, {rounds} times each, on {machine}. Times are those of the processor,
imports included; the spread is the distance from the fastest run to the slowest. Compare the ratios, which are to the
first variant of each table: seconds differ from machine to machine. When this was written, the load average was {load}:
where that is more than the number of processors, other work made all times longer and less regular."""
_OTHERS = """\
`make bench CASE=NAME` measures one case, and `tests/bench/cases.py` has larger ones than those shown here. The
[mirror](mirror.md) and the [bridge](bridge.md) have benchmarks of their own, because they need servers. What was tried
and did not help stands in [decision 15](decisions/0015-read-and-write-in-batches.md)."""


def table(case: Case, results: Results) -> str:
    """Return the results of a case as a table in Markdown; ratios are to its first variant."""
    bare = next(iter(results.values())).seconds
    head = ["variant", "CPU, median", "spread", "clock, best", "memory", "ratio"]
    rows = [
        [
            name,
            f"{each.seconds:.2f} s",
            f"{each.spread:.0%}",
            f"{min(each.clock):.2f} s",
            f"{min(each.memory) / 1e6:.0f} MB",
            f"{each.seconds / bare:.2f}",
        ]
        for name, each in results.items()
    ]
    if case.each:
        head.append("more than the first, each")
        for row, measured in zip(rows, results.values(), strict=True):
            row.append(f"{(measured.seconds - bare) / case.each * 1e6:.1f} µs")
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    missed = "".join(f"\n\nMissed: {each}." for each in misses(case, results))
    return "\n".join(lines) + missed


def plot(results: Results) -> str:
    """Return the CPU times of a case as bars in SVG, with a line from the fastest run to the slowest."""
    most = max(max(each.cpu) for each in results.values())
    scale = (_WIDTH - _LABEL - 80) / most
    rows = []
    for number, (name, each) in enumerate(results.items()):
        top, width = number * (_BAR + 8) + 8, each.seconds * scale
        low, high = (_LABEL + bound * scale for bound in (min(each.cpu), max(each.cpu)))
        middle = top + _BAR / 2
        rows += [
            f'<text x="{_LABEL - 8}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="#5b8db8"/>',
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="#222"/>',
            f'<text x="{_LABEL + max(width, high - _LABEL) + 6:.1f}" y="{middle + 4}">{each.seconds:.2f} s</text>',
        ]
    height = len(results) * (_BAR + 8) + 16
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif"'
    return "\n".join([f'{head} font-size="13">', *rows, "</svg>", ""])


def write(docs: Path, found: Mapping[str, tuple[Case, Results]], rounds: int) -> None:
    """Write `performance.md` and its plots."""
    (docs / "performance").mkdir(parents=True, exist_ok=True)
    machine = f"{os.cpu_count()} processors ({platform.machine()}) with Python {platform.python_version()}"
    load = f"{os.getloadavg()[0]:.0f}"
    text = ["# Performance", _INTRODUCTION.format(rounds=rounds, machine=machine, load=load), _OTHERS]
    for name, (case, results) in found.items():
        (docs / "performance" / f"{name}.svg").write_text(plot(results), "utf-8")
        text += [f"## {case.title}", f"![{case.title}](performance/{name}.svg)", table(case, results)]
    (docs / "performance.md").write_text("\n\n".join(text) + "\n", "utf-8")
