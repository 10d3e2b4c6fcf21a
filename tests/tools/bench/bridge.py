"""What a run of the bridge costs: `python -m tests.tools.bench.bridge [ITEMS]`.

Makes a repository of so many items in PostgreSQL (see `server`), with the tables and indexes of DSpace's own
migrations: each item has two public files, three others and about twenty values. Publishes it, and again after so many
changes; then, beside it, with dumps of the records, with a second format, and from a dump of the database. The unit is
what nothing can do without: `psql` copying the rows of the same statements, and writing the same bytes plainly. Our
modules are compiled before, as an installer does it.
All figures are CPU seconds, user and system, of the client and of the server, of one run on one machine.
"""

import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import ClauseElement
from sqlalchemy.dialects import postgresql

from repo_bridge.access import AnonymousView
from repo_bridge.reading.statements import Statements
from repo_bridge.schema import describe
from tests.kit.postgresql import Server, running
from tests.tools.large.repository import TITLE, large_database

_VIEW = AnonymousView(at=datetime(2025, 6, 15, tzinfo=UTC))
_AT = datetime(2025, 6, 15, 12, tzinfo=UTC)
_MEBIBYTE = 1024

_EDIT = """
UPDATE item SET last_modified = '{at}' WHERE uuid IN (
  SELECT key('item', n * {step}) FROM generate_series(1, {number}) n);
UPDATE metadatavalue SET text_value = text_value || ' and more' WHERE dspace_object_id IN (
  SELECT key('item', n * {step}) FROM generate_series(1, {number}) n);
"""


class Cost(NamedTuple):
    """CPU seconds of the client and of the server, and the client's peak memory in MiB."""

    client: float
    server: float
    memory: int

    @property
    def total(self) -> float:
        """Both together."""
        return self.client + self.server


def main(items: str = "20000") -> None:
    """Make the repository, publish it several times, and print a table."""
    number = int(items)
    for package in ("pelican_resourcesync", "repo_bridge"):
        compileall.compile_dir(package, quiet=1)
    with running() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = large_database(server, 10, number)
        with psycopg.connect(server.dsn(url), autocommit=True) as owner:
            owner.execute("ALTER SYSTEM SET autovacuum = off")
            owner.execute("SELECT pg_reload_conf()")
            owner.execute("VACUUM ANALYZE")
            owner.execute("CHECKPOINT")
            copied = min(cost(owner, _copy(server, url, folder)).total for _ in range(2))
            first = _publish(owner, url, folder, 0)
            unit = copied + _rewrite(folder / "out", folder / "plain")
            print(f"{number:,} items; unit {unit:.2f} CPU s, of which COPY {copied:.2f}", flush=True)
            _print("first publication", first, unit)
            for day, changes in enumerate((0, 0, 100, 100, 1_000, 0), 1):
                if changes:
                    _change(owner, day, changes, number)
                _print(f"{changes:,} changes", _publish(owner, url, folder, day), unit)
            packed = folder / "packed"  # a publication of its own, so that the others are without dumps
            packed.mkdir()
            _print("first, with dumps", _publish(owner, url, packed, 6, "--dumps"), unit)
            for day in (7, 8):
                _change(owner, day, 100, number)
                _print("100, with dumps", _publish(owner, url, packed, day, "--dumps"), unit)
            _compare_formats(owner, url, folder / "formats")
            _publish_dumps(owner, (server, url), folder / "dumped", number, unit)


def _compare_formats(owner: psycopg.Connection[Any], url: str, folder: Path) -> None:
    """Publish a repository for the first time in pairs: with one format of records, and with two."""
    for day in (9, 10, 11):
        totals = []
        for formats in ("oai_dc", "oai_dc,mods"):
            home = folder / f"{day}-{formats}"
            home.mkdir(parents=True)
            totals.append(_publish(owner, url, home, day, "--metadata", formats).total)
        print(f"two formats take {totals[1] / totals[0]:.2f} x one", flush=True)


def _publish_dumps(
    owner: psycopg.Connection[Any], of: tuple[Server, str], folder: Path, items: int, unit: float
) -> None:
    """Publish dumps in custom format, on a first night and after changes; making the dumps is not counted."""
    folder.mkdir()
    for day, changes in ((12, 0), (13, 0), (14, 100)):
        if changes:
            _change(owner, day, changes, items)
        server, url = of
        file = server.dump(url, folder / "night.dump", "--format=custom")
        _print(f"dump, {changes:,} changes", _publish(owner, str(file), folder, day), unit)


def _change(owner: psycopg.Connection[Any], day: int, changes: int, items: int) -> None:
    """Edit so many of the items, six hours before the run of that day."""
    at = _AT + timedelta(days=day, hours=-6)
    owner.execute(_EDIT.format(at=at, number=changes, step=max(1, items // changes)).encode())


def cost(owner: psycopg.Connection[Any], start: Callable[[], subprocess.Popen[bytes]]) -> Cost:
    """Return what a process costs, with what the server does for it."""
    before = _server_seconds(owner)
    with start() as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    time.sleep(0.5)  # until the server has buried its processes
    return Cost(usage.ru_utime + usage.ru_stime, _server_seconds(owner) - before, usage.ru_maxrss // _MEBIBYTE)


def _server_seconds(owner: psycopg.Connection[Any]) -> float:
    """Return the CPU seconds of all processes of the server that have ended."""
    (backend,) = owner.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    parent = _stat(backend)[1]
    return sum(int(ticks) for ticks in _stat(int(parent))[13:15]) / os.sysconf("SC_CLK_TCK")


def _stat(process: int) -> list[str]:
    """Return the fields after the name of a process: see proc(5)."""
    return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(") ")[2].split()


def _print(name: str, cost: Cost, unit: float) -> None:
    print(
        f"{name:20}{cost.total / unit:6.2f} x unit   client {cost.client:6.2f} s   server {cost.server:6.2f} s   "
        f"{cost.memory} MiB",
        flush=True,
    )


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


def _copy(server: Server, url: str, folder: Path) -> Callable[[], subprocess.Popen[bytes]]:
    """Return how to start `psql` that copies the rows of all statements to nowhere."""
    program = str(server.programs / "psql") if server.programs else "psql"
    script = folder / "copy.sql"
    begin = "SET work_mem = '64MB'; SET enable_nestloop = off;\n"
    script.write_text(begin + "".join(f"COPY ({each}) TO STDOUT;\n" for each in statements()))
    command = [program, "--quiet", "--dbname", server.dsn(url), "--file", str(script)]
    return lambda: subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _publish(owner: psycopg.Connection[Any], url: str, folder: Path, day: int, *flags: str) -> Cost:
    options = {
        "--database": url,
        "--out": "out",
        "--base-url": "http://127.0.0.1:8000",
        "--ui-url": "https://r.example",
        "--timezone": "Europe/Berlin",
        "--at": (_AT + timedelta(days=day)).isoformat(),
        "--previous": "output",
    }
    command = [sys.executable, "-m", "repo_bridge", "publish", *(each for pair in options.items() for each in pair)]
    command += flags
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    return cost(owner, lambda: subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL))


def _rewrite(source: Path, target: Path) -> float:
    """Write what is in a folder again, plainly; return the CPU seconds that writing took."""
    seconds = 0.0
    for folder, _, names in os.walk(source):
        (target / Path(folder).relative_to(source)).mkdir(parents=True, exist_ok=True)
        for name in names:
            data = Path(folder, name).read_bytes()
            place = target / Path(folder, name).relative_to(source)
            begin = time.process_time()
            place.write_bytes(data)
            seconds += time.process_time() - begin
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
