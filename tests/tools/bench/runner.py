"""Runs the variants of a case in turns, each as a process of its own, and measures them."""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass(frozen=True)
class Figure:
    """A row of the table: the CPU time of `variant`, less that of `less`, beside that of `other`.

    It is a ratio or, if the work has `each` parts, such as resources, what is taken beyond `other` for one of them, in
    microseconds. `sentence` says what it means to a user, and `goal` is the most that it is meant to be. With `clock`,
    the time by the clock is compared, which means something only on an idle machine.
    """

    sentence: str
    variant: str
    other: str
    goal: float
    less: str = ""
    each: int = 0
    clock: bool = False

    def value(self, results: "Results") -> float:
        """Return the figure."""
        if self.clock:
            return statistics.median(results[self.variant].clock) / statistics.median(results[self.other].clock)
        took = results[self.variant].seconds - (results[self.less].seconds if self.less else 0.0)
        beside = results[self.other].seconds
        return (took - beside) / self.each * 1e6 if self.each else took / beside

    def shown(self, results: "Results") -> str:
        """Return the figure with its unit."""
        value = self.value(results)
        return f"{value:.1f} µs" if self.each else f"{value:.2f} times"


@dataclass(frozen=True)
class Case:
    """Work that is done in several ways: `prepare` makes the inputs and returns the variants, the bare one first.

    What is `large` is measured once and not by default.
    """

    name: str
    prepare: Callable[[Path], Sequence[Variant]]
    figures: Sequence[Figure]
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
    printed = run([sys.executable, "-S", "-E", "-c", _STARTER, *command], folder)
    clock, cpu, memory = printed.splitlines()[-1].split()
    return float(clock), float(cpu), int(memory) * (1 if sys.platform == "darwin" else 1024)


def run(command: Sequence[str], folder: Path) -> str:
    """Run a command in a folder, where it imports what this process can; return what it prints."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        message = f"{' '.join(command)} failed in {folder}:\n{done.stdout}{done.stderr}"
        raise RuntimeError(message)
    return done.stdout
