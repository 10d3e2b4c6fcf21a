"""Runs SQL statements and returns the driver's own tuples, because there are millions of rows.

PostgreSQL does not run the query of a cursor in parallel, and pauses it until more rows are fetched. So long results
are streamed, each over a connection of its own with the same snapshot. If the server allows no more connections, a
cursor is used.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Executable

from repo_bridge.errors import DatabaseError
from repo_bridge.reading.database import PLAN_FOR_ALL, PLAN_FOR_FEW, beside

Row = tuple[Any, ...]


class RowsByKey:
    """Rows sorted by their first column, returned for one key after another, in the same order."""

    def __init__(self, rows: Iterable[Row], name: str) -> None:
        """Start before the first row; messages call the rows `name`."""
        self._groups = groupby(rows, itemgetter(0))
        self._name = name
        self._group: tuple[Any, Iterator[Row]] | None = None
        self._begun = False
        self._key: Any = None

    def take(self, key: int | str) -> list[Row]:
        """Return the rows of `key`, which is greater than all keys before; `DatabaseError` if rows are out of order."""
        group = self._group if self._begun else next(self._groups, None)
        self._begun = True
        while group is not None and group[0] < key:
            self._require_order(group[0])
            group = next(self._groups, None)
        taken: list[Row] = []
        if group is not None and group[0] == key:
            taken = [*group[1]]
            group = next(self._groups, None)
        self._group, self._key = group, key
        return taken

    def _require_order(self, key: Any) -> None:
        """Raise `DatabaseError` unless skipped rows lie between the previous key and this one."""
        if self._key is not None and key <= self._key:
            message = (
                f"the database does not sort {self._name} by the text of their keys: check the collation of the keys"
            )
            raise DatabaseError(message)


#: Runs a statement and returns its rows.
RunStatement = Callable[[Executable], Iterator[Row]]

#: The number of rows fetched from PostgreSQL at a time.
_BATCH = 2000

_Rows = Generator[Row, None, None]


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
        for rows in self._begun:
            rows.close()

    def all(self, statement: Executable) -> Iterator[Row]:
        """Return all rows, fetched at once."""
        return iter(_cursor(self._connection, statement).fetchall())

    @contextmanager
    def each(self) -> Iterator[RunStatement]:
        """Yield a function that runs statements; their rows arrive as they are read, until the end of the block.

        A statement is run only when its first row is requested. Raises `DatabaseError` if `close` was called meanwhile:
        rows might be missing.
        """
        begun: list[_Rows] = []

        def run(statement: Executable) -> Iterator[Row]:
            begun.append(self._rows(statement))
            self._begun.append(begun[-1])
            return begun[-1]

        try:
            yield run
            if self._closed:
                message = "the database was closed before everything was read: read it inside the with block"
                raise DatabaseError(message)
        finally:
            for rows in begun:
                rows.close()
                self._begun.remove(rows)

    def _rows(self, statement: Executable) -> _Rows:
        if self._connection.dialect.name != "postgresql":
            with closing(_cursor(self._connection, statement)) as cursor:
                yield from cursor
            return
        connection = beside(self._connection)
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
