"""Opens a repository's database as one read-only snapshot, in which nothing can be written.

Error messages may name hosts and users, but never contain a password.
"""

import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from repo_bridge.errors import DatabaseError
from repo_bridge.reading.digests import FUNCTION, Digest

#: SQLAlchemy's names of the supported databases.
_POSTGRESQL, _SQLITE = "postgresql", "sqlite"

#: Session settings: PostgreSQL plans for all rows rather than the first ones, and writes values the same way on every
#: server.
_SESSION = (
    "SET LOCAL cursor_tuple_fraction = 1",
    "SET LOCAL work_mem = '64MB'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    # PostgreSQL 11 and later compile expensive statements first, which takes longer than it saves here.
    "SELECT set_config('jit', 'off', true) FROM pg_settings WHERE name = 'jit'",
)

#: How to plan statements about all items, and statements about a few of them. Estimates may be far off: then a nested
#: loop over all items is quadratic (sixty seconds for 20,000 items), and a few items are looked for in whole tables.
#: Parallel processes take longer to start than to look for a few items.
PLAN_FOR_ALL = (
    "SET LOCAL enable_nestloop = off; SET LOCAL enable_seqscan = on; SET LOCAL join_collapse_limit = 8;"
    "SET LOCAL max_parallel_workers_per_gather TO DEFAULT"
)
PLAN_FOR_FEW = (
    "SET LOCAL enable_nestloop = on; SET LOCAL enable_seqscan = off; SET LOCAL join_collapse_limit = 1;"
    "SET LOCAL max_parallel_workers_per_gather = 0"
)


@contextmanager
def open_database(url: str, password: str | None = None) -> Iterator[Connection]:
    """Open the database of an SQLAlchemy URL for reading, in one transaction with a consistent snapshot.

    `postgresql://…` is read with psycopg, `sqlite:///…` with Python's own driver. `password` is used if the URL has
    none; without either, PostgreSQL's own means (`PGPASSWORD`, `.pgpass`) apply. Raises `DatabaseError` if the database
    cannot be opened or read.
    """
    address = _address(url, password)
    with explained(address):
        engine = _engine(address)
        try:
            connection = engine.connect()
            try:
                yield _begun(connection)
            finally:
                with suppress(SQLAlchemyError):  # all rows are read already; an error on closing does not matter
                    connection.close()
        finally:
            engine.dispose()


def beside(connection: Connection) -> Connection | None:
    """Open another connection to the PostgreSQL database of `connection`, with the same snapshot.

    Returns `None` if the server allows no further connection or does not share the snapshot.
    """
    snapshot = str(connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one())
    try:
        other = connection.engine.connect()
    except DBAPIError:
        return None
    try:
        return _begun(other, snapshot)
    except DBAPIError:
        other.close()
        return None


@contextmanager
def explained(address: URL) -> Iterator[None]:
    """Turn an error of the database into one clear message, without passwords."""
    try:
        yield
    except _errors() as error:
        message = f"the database {shown(address)} cannot be read: {_reason(error, address)}"
        raise DatabaseError(message) from None


def shown(address: URL) -> str:
    """Return the URL for messages: without user, password and options."""
    if address.get_backend_name() == _SQLITE:
        return str(address.database)
    port = f":{address.port}" if address.port else ""
    return _without_passwords(
        f"{address.host or address.query.get('host') or 'localhost'}{port}/{address.database or ''}"
    )


def _address(url: str, password: str | None) -> URL:
    if url.partition(":")[0].partition("+")[0] == _SQLITE:
        return URL.create("sqlite+pysqlite", database=str(_file(url.partition(":///")[2])))
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        message = "the database is not a valid URL: write postgresql://USER@HOST/DATABASE or sqlite:///FILE"
        raise DatabaseError(message) from None
    if address.get_backend_name() != _POSTGRESQL:
        message = f"{address.get_backend_name()} databases cannot be read: copy the tables to PostgreSQL or SQLite"
        raise DatabaseError(message)
    given = address.set(password=password) if password and not address.password else address
    return given.set(drivername="postgresql+psycopg")


def _file(name: str) -> Path:
    """Return the file that a URL names, literally or percent-encoded."""
    for each in (name, unquote(name)):
        if each and "\0" not in each and Path(each).is_file():
            return Path(each)
    message = f"there is no database {name or 'in memory'}: name the file, as in sqlite:///export.db"
    raise DatabaseError(message)


def _engine(address: URL) -> Engine:
    if address.get_backend_name() == _SQLITE:
        return _sqlite(Path(str(address.database)))
    try:
        return create_engine(address, poolclass=NullPool, connect_args=_arguments(address))
    except (ImportError, NoSuchModuleError):
        message = "psycopg, which reads PostgreSQL, is not installed: pip install 'pelican-resourcesync[bridge]'"
        raise DatabaseError(message) from None


def _arguments(address: URL) -> dict[str, str]:
    """Return the connection arguments for PostgreSQL: read-only, even if a statement changes its transaction."""
    asked = address.query.get("options", "")
    given = asked if isinstance(asked, str) else " ".join(asked)
    return {"application_name": "repo-bridge", "options": f"{given} -c default_transaction_read_only=on".strip()}


def _require_whole(file: Path) -> None:
    """Raise `DatabaseError` if an SQLite file is shorter than its header says: SQLite would read zeros as rows."""
    with suppress(OSError), file.open("rb") as stream:  # SQLite says what is wrong with an unreadable file
        header = stream.read(100)
        size, pages = int.from_bytes(header[16:18]), int.from_bytes(header[28:32])
        pages_are_known = header[24:28] == header[92:96]
        if pages_are_known and file.stat().st_size < pages * (size if size > 1 else 65536):
            message = f"the database {file} is cut short: copy it again"
            raise DatabaseError(message)


def _sqlite(file: Path) -> Engine:
    _require_whole(file)
    digest: Any = Digest

    def connect() -> sqlite3.Connection:
        # The driver does not begin a transaction for a SELECT, so we do.
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # a user's statement cannot create files
        connection.create_aggregate(FUNCTION, 1, digest)
        return connection

    engine = create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _begun(connection: Connection, snapshot: str | None = None) -> Connection:
    """Begin the read transaction, with a given PostgreSQL snapshot or a new one."""
    if connection.dialect.name == _POSTGRESQL:
        connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        if snapshot:
            connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        for statement in (*_SESSION, PLAN_FOR_FEW):
            connection.exec_driver_sql(statement)
    else:
        connection.exec_driver_sql("SELECT 1 FROM sqlite_master").close()
    return connection


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a failed read: SQLAlchemy's, and the drivers', because some rows bypass SQLAlchemy."""
    psycopg = sys.modules.get("psycopg")
    return (SQLAlchemyError, UnicodeDecodeError, sqlite3.Error, *((psycopg.Error,) if psycopg else ()))


def _reason(error: Exception, address: URL) -> str:
    """Return the first line of the driver's message, without passwords."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    text = lines[0].strip().rstrip(".") if lines else type(error).__name__
    for secret in (address.password, address.query.get("password")):
        if secret:
            text = text.replace(str(secret), "…")
    if "user-defined aggregate" in text:  # raised if Python cannot decode a text
        text = "it contains text that is not in UTF-8: repair it, or export it again"
    if text.startswith("permission denied"):
        text += ": grant the role SELECT on it, as docs/bridge.md shows"
    return _without_passwords(text)


def _without_passwords(text: str) -> str:
    return re.sub(r"(?i)(password)\s*=\s*\S+", r"\1=…", text)
