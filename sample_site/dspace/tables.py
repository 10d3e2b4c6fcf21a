"""DSpace's tables as its migrations leave them, with the columns that nobody needs."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Rows = dict[str, list[dict[str, Any]]]

#: By version and table, the `columns` (name and type), `constraints` and `indexes`, as PostgreSQL described them after
#: DSpace's own migrations up to the last one of that version.
FACTS = Path(__file__).with_name("schema.json")
_SCHEMA: Mapping[int, Mapping[str, Mapping[str, Any]]] = {
    int(version): tables for version, tables in json.loads(FACTS.read_text("ascii")).items()
}

#: By version and table: the columns, as DSpace's migrations leave them.
TABLES: Mapping[int, Mapping[str, str]] = {
    version: {
        name: ", ".join(f"{column} {kind}" for column, kind in table["columns"].items())
        for name, table in tables.items()
    }
    for version, tables in _SCHEMA.items()
}


def indexes(version: int) -> Iterable[str]:
    """Yield the statements that make DSpace's keys and indexes."""
    for name, table in _SCHEMA[version].items():
        for constraint in dict.fromkeys(table["constraints"]):
            if not constraint.startswith("FOREIGN KEY"):
                yield f"ALTER TABLE {name} ADD {constraint}"
        yield from (f"CREATE INDEX ON {name} USING {index}" for index in table["indexes"])


def definitions(version: int) -> Iterable[str]:
    """Return the statements that make the tables, empty."""
    return (f"CREATE TABLE {name} ({columns})" for name, columns in TABLES[version].items())


def columns_of(version: int, table: str) -> list[str]:
    """Return the names of the columns of a table, in their order."""
    return [column.split()[0] for column in TABLES[version][table].split(", ")]


def tuples(rows: Rows, version: int, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table with a value for each of its columns."""
    names = columns_of(version, table)
    for row in rows.get(table, []):
        assert row.keys() <= {*names}, (table, row.keys() - {*names})
    return [tuple(row.get(name) for name in names) for row in rows.get(table, [])]


def write_sqlite(rows: Rows, version: int, file: Path) -> Path:
    """Write the tables into a database of SQLite, as common tools copy them."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA synchronous = OFF")
    with connection:
        for statement in definitions(version):
            connection.execute(statement)
        for table in TABLES[version]:
            places = ", ".join("?" * len(columns_of(version, table)))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", tuples(rows, version, table))
    connection.close()
    return file
