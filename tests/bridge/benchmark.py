"""What reading and publishing a repository costs: `python -m tests.bridge.benchmark [ITEMS]`.

Makes a repository of so many items in PostgreSQL (see `server`), each with two public files, three others and about
twenty values. Reads it in several ways, each in a process of its own. Publishes it, then again with 1,000 items
changed, then without a change. Gives ratios to `psql` copying the rows of the same statements, and peak memory: the
figures of one run on one machine.
"""

# ruff: noqa: T201

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import ClauseElement
from sqlalchemy.dialects import postgresql

from repo_bridge.access import AnonymousView
from repo_bridge.reading.dump import import_dump
from repo_bridge.reading.repository import open_repository
from repo_bridge.reading.statements import Statements
from repo_bridge.schema import describe
from tests.bridge.support.large import TITLE, large_database
from tests.bridge.support.server import Server, running

_VIEW = AnonymousView(at=datetime(2025, 6, 15, tzinfo=UTC))
_MEBIBYTE = 1024


_CHANGES = 1_000
_EDIT = f"""
UPDATE item SET last_modified = '2025-06-15 18:00+00' WHERE uuid IN (
  SELECT key('item', n * %(step)s) FROM generate_series(1, {_CHANGES}) n);
UPDATE metadatavalue SET text_value = text_value || ' and more' WHERE dspace_object_id IN (
  SELECT key('item', n * %(step)s) FROM generate_series(1, {_CHANGES}) n);
"""


def main(items: str = "100000") -> None:
    """Make the repository, measure, and print the ratios."""
    with running() as server, tempfile.TemporaryDirectory() as folder:
        url = large_database(server, 10, int(items))
        copied = min(timed(lambda: copy(server, url)) for _ in range(2))
        measure_reading(server, url, Path(folder), copied)
        measure_publishing(server, url, Path(folder), copied, int(items))


def measure_reading(server: Server, url: str, folder: Path, copied: float) -> None:
    """Read in several ways, each in a process of its own."""
    read, memory, values = _apart(_read, url)
    print(f"psql COPY of the same statements {copied:.1f} s; {values:,} values read in {read / copied:.2f} times that")
    print(f"peak memory {memory / _MEBIBYTE:.0f} MiB")
    digested, memory, _ = _apart(_digest, url)
    print(f"digests in {digested / copied:.2f} times that; peak memory {memory / _MEBIBYTE:.0f} MiB")
    some, memory, count = _apart(_read_some, url)
    print(f"{count:,} items by their ids in {some / copied:.2f} times that; peak memory {memory / _MEBIBYTE:.0f} MiB")
    hidden, _, _ = _apart(_hidden, url)
    print(f"what is hidden is read in {hidden / copied:.2f} times that")
    dump = server.dump(url, folder / "dump.sql")
    loaded, memory, _ = _apart(_import, str(dump), str(folder / "export.db"))
    print(f"import of a plain dump {loaded / copied:.2f} times COPY; peak memory {memory / _MEBIBYTE:.0f} MiB")
    export = f"sqlite:///{folder / 'export.db'}"
    read, memory, _ = _apart(_read, export)
    print(f"read from SQLite in {read / copied:.2f} times COPY; peak memory {memory / _MEBIBYTE:.0f} MiB")
    digested, memory, _ = _apart(_digest, export)
    print(f"digests from SQLite in {digested / copied:.2f} times COPY; peak memory {memory / _MEBIBYTE:.0f} MiB")


def statements() -> list[str]:
    """Return the statements that reading asks, with their values."""
    queries = Statements(tables=describe(10), view=_VIEW, titles=[TITLE], dialect="postgresql")
    among = queries.candidates()
    asked = (queries.handles, queries.memberships, queries.metadata, queries.bitstreams)
    return [_literal(statement) for statement in (queries.items(), *(ask(among) for ask in asked))]


def _literal(statement: Any) -> str:
    assert isinstance(statement, ClauseElement)
    dialect: Any = postgresql.dialect
    return str(statement.compile(dialect=dialect(), compile_kwargs={"literal_binds": True}))


def copy(server: Server, url: str) -> None:
    """Let `psql` copy the rows of all statements to nowhere."""
    program = str(server.programs / "psql") if server.programs else "psql"
    script = "SET work_mem = '64MB';\n" + "".join(f"COPY ({each}) TO STDOUT;\n" for each in statements())
    command = [program, "--quiet", "--dbname", server.dsn(url), "--file", "-"]
    subprocess.run(command, input=script.encode(), stdout=subprocess.DEVNULL, check=True)


def _read(url: str) -> int:
    with open_repository(url, _VIEW) as repository:
        return sum(len(item.metadata) for item in repository.items())


def _digest(url: str) -> int:
    with open_repository(url, _VIEW) as repository:
        return sum(1 for _ in repository.digests())


def _read_some(url: str) -> int:
    """Read a thousand items, as a day may have changed."""
    with open_repository(url, _VIEW) as repository:
        ids = [key for key, _ in repository.digests()]
        return sum(1 for _ in repository.items_of(ids[:: max(1, len(ids) // 1000)]))


def _hidden(url: str) -> int:
    with open_repository(url, _VIEW) as repository:
        return sum(1 for _ in repository.hidden())


def _import(dump: str, export: str) -> int:
    return sum(import_dump(Path(dump), Path(export)).rows.values())


def _apart(work: Callable[..., int], *arguments: str) -> tuple[float, int, int]:
    """Do the work in a new process: its seconds, its peak memory (KiB), and what it gives."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, *arguments))


def _measured(work: Callable[..., int], *arguments: str) -> tuple[float, int, int]:
    start = time.perf_counter()
    result = work(*arguments)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, result


def timed(work: Callable[[], None]) -> float:
    """Do the work: its seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_publishing(server: Server, url: str, folder: Path, copied: float, items: int) -> None:
    """Publish, change, publish again; and do plainly what both cannot do without."""
    first, memory = _publish(url, folder, "2025-06-15T12:00:00Z")
    size, plain = _rewrite(folder / "out", folder / "plain")
    both = copied + plain
    print(f"psql COPY {copied:.1f} s, writing the same {size:,} bytes plainly {plain:.1f} s")
    print(f"the first publication took {first:.1f} s, {first / both:.2f} times both; peak memory {memory} MiB")
    with psycopg.connect(server.dsn(url), autocommit=True) as connection:
        connection.execute((_EDIT % {"step": items // _CHANGES or 1}).encode())
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
