"""Measures the publication of a table: `python -m tests.tools.bench.tables FOLDER COUNT 1,2,1,2`.

It makes a table of COUNT resources and one in which 0.1 % of them are others, changed or gone. With each number of
processes, in turns, it publishes both, and prints the processor time of all processes; that of the main thread of the
first with that of the busiest worker, which the clock would show if each had a processor; the time by the clock; and
the most memory of the first and of a worker. The bytes of all publications have to be the same.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import duckdb

_TICKS = os.sysconf("SC_CLK_TCK")


class Measured(NamedTuple):
    """Processor time of all processes and of the longest way through them, time by the clock (s), and memory (MB)."""

    all: float
    longest: float
    clock: float
    driver: int
    worker: int


def make(file: Path, count: int, edition: int) -> None:
    """Write a table whose rows are not sorted; in the second edition, one of a thousand is changed, new or gone."""
    changed = f"({edition - 1} * (i % 1250 = 7)::INT)"
    with duckdb.connect(config={"threads": 2, "memory_limit": "2GB"}) as connection:
        connection.execute(
            f"""COPY (
                SELECT 'https://repository.example/items/' || printf('%010d', (i * 7919) % {count})
                        || CASE WHEN {changed} = 1 AND i % 5000 = 7 THEN '/new.pdf' ELSE '/content.pdf' END AS uri,
                    TIMESTAMPTZ '2020-01-01 00:00:00Z' + to_seconds((i * 37) % 100000000) AS lastmod,
                    'sha-256:' || sha256(CAST(i + {changed} AS VARCHAR)) AS hash,
                    1000 + i % 100000 AS length, 'application/pdf' AS type
                FROM range({count}) t(i)
            ) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"""
        )


def run(folder: Path, table: Path, jobs: int, day: int) -> Measured:
    """Publish a table in a process of its own, after what is there."""
    command = [sys.executable, "-m", "repo_bridge", "publish", "--table", str(table.absolute()), "--jobs", str(jobs)]
    more = ["--base-url", "https://repository.example", "--out", "public", "--previous", "output"]
    at = ["--at", f"2026-01-{day:02}T00:00:00Z", "--memory", os.environ.get("MEMORY", "1GB")]
    begin = time.perf_counter()
    process = subprocess.Popen([*command, *more, *at], cwd=folder)
    seen: dict[int, tuple[float, int]] = {}
    thread = threading.Thread(target=_watch, args=(process.pid, seen))
    thread.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    thread.join()
    if process.returncode:
        sys.exit(process.returncode)
    driver, workers = seen.pop(process.pid), [*seen.values()]
    busiest = max((cpu for cpu, _ in workers), default=0.0)
    memory = max((held for _, held in workers), default=0)
    clock = time.perf_counter() - begin
    return Measured(usage.ru_utime + usage.ru_stime, driver[0] + busiest, clock, driver[1], memory)


def _watch(driver: int, seen: dict[int, tuple[float, int]]) -> None:
    """Note the processor time and the most memory of a process and its children, until it ends."""
    while True:
        try:
            pids = [driver, *map(int, Path(f"/proc/{driver}/task/{driver}/children").read_text("ascii").split())]
            for pid in pids:
                file = f"/proc/{pid}/task/{pid}/stat" if pid == driver else f"/proc/{pid}/stat"
                fields = Path(file).read_text("utf-8").rpartition(") ")[2].split()
                if fields[0] == "Z" and pid == driver:
                    return
                held = Path(f"/proc/{pid}/status").read_text("utf-8").partition("VmHWM:")[2].split()
                if held:
                    seen[pid] = (int(fields[11]) + int(fields[12])) / _TICKS, int(held[0]) // 1024
        except (FileNotFoundError, ProcessLookupError):
            if not Path(f"/proc/{driver}").exists():
                return
        time.sleep(0.2)


def digest(folder: Path) -> str:
    """Return a digest of all files of a publication, with their paths."""
    found = hashlib.sha256()
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        found.update(f"{file.relative_to(folder)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def main(folder: Path, count: int, processes: list[int]) -> None:
    """Publish with these numbers of processes, in turns."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = [folder / f"{edition}.parquet" for edition in (1, 2)]
    for edition, table in enumerate(tables, 1):
        if not table.exists():
            make(table, count, edition)
    digests: set[tuple[str, ...]] = set()
    for jobs in processes:
        place = folder / "run"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        pair = []
        for day, table in enumerate(tables, 1):
            measured = run(place, table, jobs, day)
            print(f"{count:,} resources, publication {day}, processes: {jobs}: {measured}", flush=True)
            pair.append(digest(place / "public"))
        digests.add(tuple(pair))
    print("the same bytes" if len(digests) == 1 else "OTHER BYTES")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [*map(int, sys.argv[3].split(","))])
