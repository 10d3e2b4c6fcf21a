"""What reading a repository costs: `python -m tests.bridge.benchmark [ITEMS]`.

Makes a repository of so many items in PostgreSQL (see `server`), each with two public files, three others and about
twenty values, and gives ratios to `psql` copying the rows of the same statements: the figures of one run.
"""

# ruff: noqa: T201

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

from sqlalchemy import ClauseElement, make_url
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


def main(items: str = "100000") -> None:
    """Make the repository, measure, and print the ratios."""
    with running() as server, tempfile.TemporaryDirectory() as folder:
        url = large_database(server, 10, int(items))
        measure(server, url, Path(folder))


def measure(server: Server, url: str, folder: Path) -> None:
    """Read in several ways, each in a process of its own."""
    copied = min(timed(lambda: copy(server, url)) for _ in range(2))
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
    """Give the statements that reading asks, with their values."""
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
    command = [program, "--quiet", "--dbname", dsn(url), "--file", "-"]
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


def dsn(url: str) -> str:
    """Give the URL as PostgreSQL's own programs take it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
