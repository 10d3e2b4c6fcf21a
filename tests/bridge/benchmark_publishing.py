"""What publishing a repository costs: `python -m tests.bridge.benchmark_publishing [ITEMS]`.

Publishes a repository of so many items from PostgreSQL (see `benchmark`), twice, the second time with 1,000 items
changed, each in a process of its own; and gives ratios to `psql` copying the rows of the same statements and to writing
the same bytes plainly, and the peak memory: the figures of one run on one machine.
"""

# ruff: noqa: T201

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from tests.bridge.benchmark import copy, dsn, timed
from tests.bridge.support.large import large_database
from tests.bridge.support.server import Server, running

_CHANGES = 1_000
_EDIT = f"""
UPDATE item SET last_modified = '2025-06-15 18:00+00' WHERE uuid IN (
  SELECT key('item', n * %(step)s) FROM generate_series(1, {_CHANGES}) n);
UPDATE metadatavalue SET text_value = text_value || ' and more' WHERE dspace_object_id IN (
  SELECT key('item', n * %(step)s) FROM generate_series(1, {_CHANGES}) n);
"""


def main(items: str = "100000") -> None:
    """Make the repository, publish it twice, and print the ratios."""
    with running() as server, tempfile.TemporaryDirectory() as folder:
        url = large_database(server, 10, int(items))
        with psycopg.connect(dsn(url), autocommit=True) as connection:
            measure(server, url, connection, Path(folder), int(items))


def measure(server: Server, url: str, connection: psycopg.Connection, folder: Path, items: int) -> None:
    """Publish, change, publish again; and do plainly what both cannot do without."""
    copied = min(timed(lambda: copy(server, url)) for _ in range(2))
    first, memory = _publish(url, folder, "2025-06-15T12:00:00Z")
    size, plain = _rewrite(folder / "out", folder / "plain")
    both = copied + plain
    print(f"psql COPY {copied:.1f} s, writing the same {size:,} bytes plainly {plain:.1f} s")
    print(f"the first publication took {first:.1f} s, {first / both:.2f} times both; peak memory {memory} MiB")
    for statement in (_EDIT % {"step": items // _CHANGES or 1}).split(";\n"):
        connection.execute(statement.encode())
    again, memory = _publish(url, folder, "2025-06-16T12:00:00Z")
    print(f"with {_CHANGES:,} changes {again:.1f} s, {again / first:.2f} times the first; peak memory {memory} MiB")
    idle, memory = _publish(url, folder, "2025-06-17T12:00:00Z")
    print(f"without a change {idle:.1f} s, {idle / first:.2f} times the first; peak memory {memory} MiB")


def _publish(url: str, folder: Path, at: str) -> tuple[float, int]:
    """Publish in a new process: its seconds, and its peak memory in MiB."""
    options = {
        "--database": url,
        "--out": "out",
        "--base-url": "http://127.0.0.1:8000",
        "--ui-url": "https://r.example",
    }
    options |= {"--at": at, "--previous": "output"}
    command = [sys.executable, "-m", "repo_bridge", "publish", *(each for pair in options.items() for each in pair)]
    begin = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(Path.cwd())}) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - begin, usage.ru_maxrss // 1024


def _rewrite(source: Path, target: Path) -> tuple[int, float]:
    """Write what is in a folder again, plainly; give the bytes, and the seconds that writing took."""
    size, seconds = 0, 0.0
    for folder, _, names in os.walk(source):
        (target / Path(folder).relative_to(source)).mkdir(parents=True, exist_ok=True)
        for name in names:
            data = Path(folder, name).read_bytes()
            place = target / Path(folder, name).relative_to(source)
            begin = time.perf_counter()
            place.write_bytes(data)
            seconds += time.perf_counter() - begin
            size += len(data)
    return size, seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
