"""Runs the variants of a case in turns, each as a process of its own, and measures them."""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

#: Starts a command and prints what it took. Linux counts the memory of who starts a process as held by that process,
#: so a small process starts it.
_STARTER = """
import os, sys, time
start = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
print()
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Variant:
    """One way of doing the work of a case: a command, run in the case's folder, and what comes before it, untimed."""

    name: str
    command: Sequence[str]
    before: Callable[[], object] = lambda: None
    folder: Path | None = None


class Goal(NamedTuple):
    """The most CPU time of a variant, less that of another: `ratio` times that of a third, and so many `seconds`."""

    variant: str
    other: str
    ratio: float
    seconds: float = 0.0
    less: str = ""


@dataclass(frozen=True)
class Case:
    """Work that is done in several ways. `prepare` makes the inputs and returns the variants, the bare one first.

    If the work has parts, such as resources, `each` is their number. What is `large` is measured once and not by
    default.
    """

    name: str
    title: str
    prepare: Callable[[Path], Sequence[Variant]]
    goals: Sequence[Goal] = ()
    each: int = 0
    large: bool = False


@dataclass
class Measurements:
    """What the runs of one variant took: seconds by the clock, seconds of CPU, and the most bytes held."""

    clock: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median CPU time."""
        return statistics.median(self.cpu)

    @property
    def spread(self) -> float:
        """How far the slowest run lies from the fastest, as a part of the median."""
        return (max(self.cpu) - min(self.cpu)) / self.seconds if self.seconds else 0.0


Results = dict[str, Measurements]


def run_case(case: Case, folder: Path, rounds: int) -> Results:
    """Run all variants of a case in turns, after one round that does not count; those of a large one once."""
    variants = case.prepare(folder)
    results = {variant.name: Measurements() for variant in variants}
    for number in range(1 if case.large else rounds + 1):
        for variant in variants:
            variant.before()
            clock, cpu, memory = measure(variant.command, variant.folder or folder)
            if number or case.large:
                results[variant.name].clock.append(clock)
                results[variant.name].cpu.append(cpu)
                results[variant.name].memory.append(memory)
    return results


def measure(command: Sequence[str], folder: Path) -> tuple[float, float, int]:
    """Run a command; return its seconds by the clock and of CPU, with those of its children, and its peak memory."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    starter = [sys.executable, "-S", "-E", "-c", _STARTER, *command]
    done = subprocess.run(starter, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{' '.join(command)} failed in {folder}:\n{done.stdout}{done.stderr}"
        raise RuntimeError(message)
    clock, cpu, memory = done.stdout.splitlines()[-1].split()
    return float(clock), float(cpu), int(memory) * (1 if sys.platform == "darwin" else 1024)


def judge(case: Case, results: Results) -> list[str]:
    """Return a sentence for each goal of a case: whether its results meet it."""
    sentences = []
    for variant, other, ratio, seconds, less in case.goals:
        took = results[variant].seconds - (results[less].seconds if less else 0.0)
        most = results[other].seconds * ratio + seconds
        what = f"{variant}, without {less}" if less else variant
        more = f" and {seconds:.2f} s" if seconds else ""
        verdict = "Met" if took <= most else "Missed"
        sentences.append(f"{verdict}: {what}: {took:.2f} s, goal {ratio:.2f} times {other}{more}, {most:.2f} s.")
    return sentences
