"""Asking a database: rows come as they are, in tuples of the driver, for there are millions of them.

PostgreSQL plans what a cursor asks for one process alone, and waits until more is wanted. So what may be long is
streamed, each answer over a connection of its own that sees the same moment; where the server gives no more of them, a
cursor has to do.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Executable

from repo_bridge.database import beside
from repo_bridge.errors import DatabaseError
from repo_bridge.reading.follower import Row

#: Asks a statement and gives its rows.
Ask = Callable[[Executable], Iterator[Row]]

#: How many rows PostgreSQL gives at a time.
_BATCH = 2000

_Rows = Generator[Row, None, None]


class Asking:
    """What is asked over a connection that `open_database` gave."""

    def __init__(self, connection: Connection) -> None:
        """Ask nothing yet."""
        self._connection = connection
        self._begun: list[_Rows] = []
        self._closed = False

    def close(self) -> None:
        """End all that was begun to be read."""
        self._closed = True
        for rows in self._begun:
            rows.close()

    def all(self, statement: Executable) -> Iterator[Row]:
        """Give the rows, which all are there at once."""
        return iter(_cursor(self._connection, statement).fetchall())

    @contextmanager
    def each(self) -> Iterator[Ask]:
        """Ask for rows that come as they are read, until here; nothing is asked before the first is wanted.

        Raises `DatabaseError` where all was closed meanwhile: there might have been more.
        """
        begun: list[_Rows] = []

        def ask(statement: Executable) -> Iterator[Row]:
            begun.append(self._rows(statement))
            self._begun.append(begun[-1])
            return begun[-1]

        try:
            yield ask
            if self._closed:
                message = "the database was closed before all was read: read it inside"
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
        with connection, closing(_stream(connection, statement)) as rows:
            yield from rows

    def _fetched(self, statement: Executable) -> _Rows:
        with self._connection.execute(statement, execution_options={"yield_per": _BATCH}) as result:
            for batch in result.partitions():
                yield from map(tuple, batch)


def _cursor(connection: Connection, statement: Executable) -> Any:
    """Give the driver's own cursor, with which the statement was executed."""
    return connection.execute(statement).cursor


def _stream(connection: Connection, statement: Executable) -> Any:
    """Give the rows of psycopg as they come: many at a time, where its library can."""
    from psycopg import capabilities

    query = cast("ClauseElement", statement).compile(
        dialect=connection.dialect, compile_kwargs={"render_postcompile": True}
    )
    cursor = cast("Any", connection.connection.driver_connection).cursor()
    return cursor.stream(query.string, query.params, size=_BATCH if capabilities.has_stream_chunked() else 1)
