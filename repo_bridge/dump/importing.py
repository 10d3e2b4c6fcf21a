"""Imports a dump: its rows are streamed into an SQLite database, which appears only when it is complete."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from repo_bridge.database import open_database
from repo_bridge.dump.loading import Loader
from repo_bridge.dump.opening import open_dump
from repo_bridge.errors import DumpError
from repo_bridge.schema.detect import find_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What was imported: the version of DSpace, and the number of rows of each table."""

    version: int
    rows: Mapping[str, int]


def import_dump(dump: Path, export: Path, version: int | None = None) -> Imported:
    """Import the tables needed from a `pg_dump` into a new SQLite database, which replaces `export`.

    Raises `DumpError` if the dump cannot be read to its end, and `SchemaError` if it is not from a known version of
    DSpace or lacks a table or a column. The previous `export` is then kept.
    """
    part = export.with_name(f"{export.name}.part")
    try:
        part.unlink(missing_ok=True)
        with _explained(export), closing(_new(part)) as connection:
            rows = _load(dump, connection)
        imported = Imported(version=_version(part, version), rows=rows)
        part.replace(export)
    except OSError as error:
        message = f"{export} cannot be written: {error.strerror or error}"
        raise DumpError(message) from error
    finally:
        part.unlink(missing_ok=True)
    return imported


@contextmanager
def _explained(export: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        message = f"{export} cannot be written: {error}"
        raise DumpError(message) from error


def _new(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _load(dump: Path, connection: sqlite3.Connection) -> dict[str, int]:
    rows: dict[str, int] = {}
    connection.execute("BEGIN")
    with open_dump(dump) as reader:
        loader = Loader(connection, reader.fail, {})
        for copied in reader.tables():
            count = loader.load(copied, reader.encoding)
            if copied.table in loader.loaded:
                rows[copied.table] = count
    loader.finish()
    connection.execute("COMMIT")
    return rows


def _version(file: Path, version: int | None) -> int:
    """Return the version of DSpace, once all tables are loaded."""
    with open_database(f"sqlite:///{file}") as connection:
        return find_tables(connection, version).version
