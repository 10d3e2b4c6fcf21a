"""Tables and plots of what was measured."""

import os
import platform
from collections.abc import Mapping
from html import escape
from pathlib import Path

from tests.bench.runner import Case, Results, misses

_BAR, _LABEL, _WIDTH = 24, 260, 760


def table(case: Case, results: Results) -> str:
    """Return the results of a case as a table in Markdown; ratios are to its first variant."""
    bare = next(iter(results.values())).seconds
    lines = [
        "| variant | CPU, median | spread | clock, best | memory | ratio |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {each.seconds:.2f} s | {each.spread:.0%} | {min(each.clock):.2f} s "
            f"| {min(each.memory) / 1e6:.0f} MB | {each.seconds / bare:.2f} |"
            for name, each in results.items()
        ),
    ]
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
    text = [
        "# Performance",
        f"Written by `make bench`: whole processes, in turns, {rounds} times each, on {machine}. Times are of the CPU.",
        "Compare the ratios: seconds differ from machine to machine.",
    ]
    for name, (case, results) in found.items():
        (docs / "performance" / f"{name}.svg").write_text(plot(results), "utf-8")
        text += [f"## {case.title}", f"![{case.title}](performance/{name}.svg)", table(case, results)]
    (docs / "performance.md").write_text("\n\n".join(text) + "\n", "utf-8")
