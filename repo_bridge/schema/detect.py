"""Detects which version of DSpace created a database, and checks that the tables and columns needed are there."""

from collections.abc import Mapping

from sqlalchemy import Connection, inspect
from sqlalchemy.engine.reflection import ObjectKind

from repo_bridge.errors import SchemaError
from repo_bridge.schema.tables import VERSIONS, Tables, describe

#: The columns of each table in a database.
Columns = Mapping[str, frozenset[str]]


def find_tables(connection: Connection, version: int | None = None) -> Tables:
    """Return the tables of the database, of `version` or of the version detected.

    Raises `SchemaError` for an unknown version, and for a missing table or column.
    """
    found = columns_of(connection)
    tables = describe(require_version(version) if version else version_of(found))
    require_columns(tables, found)
    return tables


def detect(connection: Connection) -> int:
    """Return the version; `SchemaError` if this is not a DSpace database, or of a version older than 5."""
    return version_of(columns_of(connection))


def columns_of(connection: Connection) -> Columns:
    """Return the existing tables of those needed, with their columns."""
    needed = [table.name for table in describe(VERSIONS[-1]).all]
    found = inspect(connection).get_multi_columns(kind=ObjectKind.ANY, filter_names=needed)
    return {name: frozenset(column["name"] for column in columns) for (_, name), columns in found.items() if columns}


def version_of(found: Columns) -> int:
    """Return the version, determined by what only some versions have; `SchemaError` if it is not a known version."""
    values = found.get("metadatavalue")
    if values is None or "item" not in found:
        message = (
            "the tables item and metadatavalue are not there, so this is no DSpace database: check its name, its "
            "schema (search_path) and what the user may see"
        )
        raise SchemaError(message)
    if "resource_id" in values:
        return 5
    if "dspace_object_id" not in values:
        message = "the database is of a DSpace older than 5, or newer than is known: 5 to 10 can be read"
        raise SchemaError(message)
    if "security_level" in values:
        return 10
    return 7 if "entity_type" in found else 6


def require_version(version: int) -> int:
    """Return the version whose tables `version` has; `SchemaError` if it is unknown."""
    if not VERSIONS[0] <= version <= VERSIONS[-1]:
        message = f"DSpace {version} is not known: 5 to 10 can be read"
        raise SchemaError(message)
    return max(known for known in VERSIONS if known <= version)


def require_columns(tables: Tables, found: Columns) -> None:
    """Raise `SchemaError` if a table or a column is missing."""
    for table in tables.all:
        if table.name not in found:
            raise SchemaError(_missing(f"the table {table.name}", tables.version))
        for column in table.c:
            if column.name not in found[table.name]:
                raise SchemaError(_missing(f"the column {table.name}.{column.name}", tables.version))


def _missing(what: str, version: int) -> str:
    return (
        f"{what} is not there, which DSpace {version} has: name the version if this is another, or let the user of the "
        "database see it"
    )
