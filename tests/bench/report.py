"""Tables and plots of what was measured."""

import os
import platform
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tests.bench.runner import Case, Results, judge

_BAR, _LABEL, _WIDTH = 24, 260, 760

_HEAD = """\
# Performance

Written by `make bench`: whole processes, in turns. Times are those of the processor, imports included; the spread is
the distance from the fastest run to the slowest. Compare the ratios, which are to the first variant of each table:
seconds differ from machine to machine. Where the load average is more than the number of processors, other work made
all times longer and less regular.

`make bench CASE="NAME…"` measures some cases without writing, and `make bench WRITE="NAME…"` writes their sections
anew: `tests/bench/cases.py` has their names. `CASE=bridge` and `CASE=mirror` run the benchmarks of the
[bridge](bridge.md) and the [mirror](mirror.md). What did not help, and why some goals are missed, stands in
[decision 15](decisions/0015-read-and-write-in-batches.md)."""
_SECTION = "\n\n## "


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
    return "\n\n".join(["\n".join(lines), *judge(case, results)])


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


def write(docs: Path, case: Case, results: Results, titles: Sequence[str]) -> None:
    """Write the section of a case in `performance.md`, and its plot; the other sections, in this order, stay."""
    (docs / "performance").mkdir(parents=True, exist_ok=True)
    (docs / "performance" / f"{case.name}.svg").write_text(plot(results), "utf-8")
    file = docs / "performance.md"
    _, *written = file.read_text("utf-8").strip().split(_SECTION) if file.is_file() else [""]
    sections = {each.partition("\n")[0]: each for each in written}
    machine = f"{os.cpu_count()} processors ({platform.machine()}), Python {platform.python_version()}"
    runs = len(next(iter(results.values())).cpu)
    how = f"{'Once' if runs == 1 else f'{runs} times'}, on {machine}, with a load average of {os.getloadavg()[0]:.0f}."
    picture = f"![{case.title}](performance/{case.name}.svg)"
    sections[case.title] = "\n\n".join([case.title, how, picture, table(case, results)])
    text = _SECTION.join([_HEAD, *(sections[title] for title in titles if title in sections)])
    file.write_text(f"{text}\n", "utf-8")
