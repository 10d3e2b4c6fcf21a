"""Opens a repository's database as one read-only snapshot, in which nothing can be written, and runs SQL statements.

Rows are the driver's own tuples, because there are millions of them. PostgreSQL does not run the query of a cursor in
parallel, and pauses it until more rows are fetched. So long results are streamed, each over a connection of its own
with the same snapshot. If the server allows no more connections, a cursor is used.

Error messages may name hosts and users, but never contain a password.
"""

import logging
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from sqlalchemy import URL, ClauseElement, Connection, Engine, Executable, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from pelican_resourcesync.system.extras import extra
from repo_bridge import DatabaseError

for _library in ("psycopg", "sqlalchemy"):  # without a handler, what they log goes to the user, beside our message
    logging.getLogger(_library).addHandler(logging.NullHandler())

#: SQLAlchemy's names of the supported databases.
_POSTGRESQL, _SQLITE, _MYSQL = "postgresql", "sqlite", "mysql"

#: The drivers of servers. MariaDB is read as MySQL is.
_DRIVERS = {_POSTGRESQL: "postgresql+psycopg", _MYSQL: "mysql+pymysql"}

#: A row, as the driver returns it.
Values = tuple[Any, ...]

#: Runs a statement and returns its rows.
RunStatement = Callable[[Executable], Iterator[Values]]

#: The number of rows fetched from PostgreSQL at a time.
_BATCH = 2000

_Rows = Generator[Values, None, None]

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

#: The same for MySQL: `||` joins texts, and double quotes are for names, as in standard SQL. Rows may be read slowly.
_MYSQL_SESSION = (
    "SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'",
    "SET SESSION net_write_timeout = 3600",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_WORD = re.compile(r"\w+")
#: Tables of MySQL that are in no snapshot; and views, whose definitions name tables.
_OTHER_ENGINES = """
SELECT table_name, engine, table_schema, DATABASE() FROM information_schema.tables
WHERE table_type = 'BASE TABLE' AND engine <> 'InnoDB'
    AND table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
"""
_VIEWS = "SELECT lower(table_name), lower(view_definition) FROM information_schema.views"

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

    `postgresql://…` is read with psycopg, `mysql://…` and `mariadb://…` with PyMySQL, `sqlite:///…` with Python's own
    driver. `password` is used if neither the URL nor, for PostgreSQL, `PGPASSWORD` has one; without any of them,
    PostgreSQL looks into `.pgpass`. Raises `DatabaseError` if the database cannot be opened or read.
    """
    address = _address(url, password)
    with explained(address):
        connection = _engine(address).connect()
        try:
            yield _begun(connection)
        finally:
            with suppress(SQLAlchemyError):  # all rows are read already; an error on closing does not matter
                connection.close()


def _beside(connection: Connection) -> Connection | None:
    """Open another connection to the PostgreSQL database of `connection`, with the same snapshot.

    Returns `None` if the server allows no further connection or does not share the snapshot.
    """
    snapshot = str(connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one())
    with suppress(DBAPIError):
        other = connection.engine.connect()
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
    backend = address.get_backend_name().replace("mariadb", _MYSQL)
    if backend not in _DRIVERS:
        message = f"{backend} databases cannot be read: copy the tables to PostgreSQL or SQLite"
        raise DatabaseError(message)
    is_given = address.password or (backend == _POSTGRESQL and os.environ.get("PGPASSWORD"))  # which the driver finds
    given = address.set(password=password) if password and not is_given else address
    return given.set(drivername=_DRIVERS[backend])


def _file(name: str) -> Path:
    """Return the file that a URL names, literally or percent-encoded."""
    for path in (name, unquote(name)):
        if path and "\0" not in path and Path(path).is_file():
            return Path(path)
    message = f"there is no database {name or 'in memory'}: check the path of the file, as in sqlite:///export.db"
    raise DatabaseError(message)


def _engine(address: URL) -> Engine:
    if address.get_backend_name() == _SQLITE:
        return _sqlite(Path(str(address.database)))
    is_mysql = address.get_backend_name() == _MYSQL
    with extra("mysql", "MySQL needs an extra") if is_mysql else extra("bridge", "PostgreSQL needs an extra"):
        return create_engine(address, poolclass=NullPool, connect_args=_arguments(address))


def _arguments(address: URL) -> dict[str, str]:
    """Return the connection arguments: read-only, even if a statement changes its transaction."""
    if address.get_backend_name() == _MYSQL:
        return {"init_command": "SET SESSION TRANSACTION READ ONLY", "charset": "utf8mb4"}
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

    def connect() -> sqlite3.Connection:
        # The driver does not begin a transaction for a SELECT, so we do.
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # a user's statement cannot create files
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
    elif connection.dialect.name == _MYSQL:
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
        for statement in _MYSQL_SESSION:
            connection.exec_driver_sql(statement)
    else:
        connection.exec_driver_sql("SELECT 1 FROM sqlite_master").close()
    return connection


def require_snapshot(connection: Connection, statement: str) -> None:
    """Raise `DatabaseError` if a user's statement names a table of MySQL that is not read as of one moment.

    That is one of another engine than InnoDB, also if it is named by a view.
    """
    if connection.dialect.name != _MYSQL:
        return
    words = set(_WORD.findall(statement.lower()))
    views = {str(name): str(definition) for name, definition in connection.exec_driver_sql(_VIEWS)}
    while named := words & views.keys():
        words |= {word for view in named for word in _WORD.findall(views.pop(view))}
    for table, engine, schema, own in connection.exec_driver_sql(_OTHER_ENGINES):
        if str(table).lower() in words and (schema == own or str(schema).lower() in words):
            message = (
                f"the table {table} uses the engine {engine}, so it cannot be read as of the same moment as the others:"
                f" run ALTER TABLE {table} ENGINE=InnoDB, or leave it out of the statement"
            )
            raise DatabaseError(message)


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a failed read: SQLAlchemy's, and the drivers', because some rows bypass SQLAlchemy."""
    psycopg = sys.modules.get("psycopg")
    return (SQLAlchemyError, UnicodeDecodeError, sqlite3.Error, *((psycopg.Error,) if psycopg else ()))


def _reason(error: Exception, address: URL) -> str:
    """Return the first line of the driver's message, without passwords."""
    original = getattr(error, "orig", None) or error
    lines = str(original.args[-1] if original.args else original).strip().splitlines()
    text = lines[0].strip().rstrip(".") if lines else type(error).__name__
    for secret in (address.password, address.query.get("password"), os.environ.get("PGPASSWORD")):
        if secret:
            text = text.replace(str(secret), "…")
    if text.startswith("permission denied"):
        text += ": as DSpace's own role, run GRANT SELECT ON that table TO the role in the settings"
    if "refused" in text:
        text += ": start the database server, or correct the host and the port"
    return _without_passwords(text)


def _without_passwords(text: str) -> str:
    return re.sub(r"(?i)(password)\s*=\s*\S+", r"\1=…", text)


class RowsByKey:
    """Rows sorted by their first column, returned for one key after another, in the same order."""

    def __init__(self, rows: Iterable[Values], name: str) -> None:
        """Start before the first row; messages call the rows `name`."""
        self._groups = groupby(rows, itemgetter(0))
        self._name = name
        self._group: tuple[Any, Iterator[Values]] | None = (None, iter(()))
        self._key: Any = None

    def take(self, key: int | str) -> list[Values]:
        """Return the rows of `key`, which is greater than all keys before; `DatabaseError` if rows are out of order."""
        group = self._group
        while group is not None and (group[0] is None or group[0] < key):
            self._require_order(group[0])
            group = next(self._groups, None)
        taken: list[Values] = []
        if group is not None and group[0] == key:
            taken = [*group[1]]
            group = next(self._groups, None)
        self._group, self._key = group, key
        return taken

    def _require_order(self, key: Any) -> None:
        """Raise `DatabaseError` unless skipped rows lie between the previous key and this one."""
        if self._key is not None and key <= self._key:
            message = (
                f"the database did not sort {self._name} by the text of their keys: check the collation of the keys"
            )
            raise DatabaseError(message)


class QueryRunner:
    """Runs statements over a connection from `open_database`."""

    def __init__(self, connection: Connection) -> None:
        """Use a connection; no statement is run yet."""
        self._connection = connection
        self._begun: list[_Rows] = []
        self._closed = False

    def close(self) -> None:
        """End all reading that is still in progress."""
        self._closed = True
        _close(self._begun)

    def all(self, statement: Executable) -> Iterator[Values]:
        """Return all rows, fetched at once."""
        return iter(_cursor(self._connection, statement).fetchall())

    @contextmanager
    def each(self) -> Iterator[RunStatement]:
        """Yield a function that runs statements; their rows arrive as they are read, until the end of the block.

        A statement is run only when its first row is requested. Raises `DatabaseError` if `close` was called meanwhile:
        rows might be missing.
        """
        begun: list[_Rows] = []

        def run(statement: Executable) -> Iterator[Values]:
            begun.append(self._rows(statement))
            self._begun.append(begun[-1])
            return begun[-1]

        try:
            yield run
            if self._closed:
                message = "the database was closed before everything was read: read it inside the with block"
                raise DatabaseError(message)
        finally:
            _close(begun)
            self._begun = [rows for rows in self._begun if rows not in begun]

    def _rows(self, statement: Executable) -> _Rows:
        if self._connection.dialect.name != "postgresql":
            with closing(_cursor(self._connection, statement)) as cursor:
                yield from cursor
            return
        connection = _beside(self._connection)
        if connection is None:
            yield from self._fetched(statement)
            return
        connection.exec_driver_sql(PLAN_FOR_ALL)
        with connection, closing(_stream(connection, statement)) as rows:
            yield from rows

    def _fetched(self, statement: Executable) -> _Rows:
        self._connection.exec_driver_sql(PLAN_FOR_ALL)
        with self._connection.execute(statement, execution_options={"yield_per": _BATCH}) as result:
            self._connection.exec_driver_sql(PLAN_FOR_FEW)
            for batch in result.partitions():
                yield from map(tuple, batch)


def _close(begun: Iterable[_Rows]) -> None:
    """End all reading, also over connections that are lost: that is reported already, or nobody needs what is left."""
    for rows in begun:
        with suppress(*_errors()):
            rows.close()


def _cursor(connection: Connection, statement: Executable) -> Any:
    """Return the driver's own cursor, which has executed the statement."""
    return connection.execute(statement).cursor


def _stream(connection: Connection, statement: Executable) -> Any:
    """Return psycopg's rows as they arrive, many at a time if its libpq supports that."""
    from psycopg import capabilities

    query = cast("ClauseElement", statement).compile(
        dialect=connection.dialect, compile_kwargs={"render_postcompile": True}
    )
    cursor = cast("Any", connection.connection.driver_connection).cursor()
    return cursor.stream(query.string, query.params, size=_BATCH if capabilities.has_stream_chunked() else 1)
