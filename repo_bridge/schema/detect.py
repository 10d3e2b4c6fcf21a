"""Which version of DSpace made a database, and whether all that is needed is there."""

from collections.abc import Mapping

from sqlalchemy import Connection, inspect
from sqlalchemy.engine.reflection import ObjectKind

from repo_bridge.errors import SchemaError
from repo_bridge.schema.tables import VERSIONS, Tables, describe

#: The columns of each table that a database has.
Columns = Mapping[str, frozenset[str]]


def find_tables(connection: Connection, version: int | None = None) -> Tables:
    """Give the tables of the database, of `version` or of the one that it is found to be.

    Raises `SchemaError` for a version that is not known, and for a table or a column that is missing.
    """
    found = columns_of(connection)
    tables = describe(require_version(version) if version else version_of(found))
    require_columns(tables, found)
    return tables


def detect(connection: Connection) -> int:
    """Find the version; `SchemaError` where this is no DSpace, or one older than 5."""
    return version_of(columns_of(connection))


def columns_of(connection: Connection) -> Columns:
    """Look which of the tables are there, and what columns each has."""
    needed = [table.name for table in describe(VERSIONS[-1]).all]
    found = inspect(connection).get_multi_columns(kind=ObjectKind.ANY, filter_names=needed)
    return {name: frozenset(column["name"] for column in columns) for (_, name), columns in found.items() if columns}


def version_of(found: Columns) -> int:
    """Tell the version from what only some have; `SchemaError` where no version that is known has it."""
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
    """Give the version whose tables `version` has; `SchemaError` where it is not known."""
    if not VERSIONS[0] <= version <= VERSIONS[-1]:
        message = f"DSpace {version} is not known: 5 to 10 can be read"
        raise SchemaError(message)
    return max(known for known in VERSIONS if known <= version)


def require_columns(tables: Tables, found: Columns) -> None:
    """Raise `SchemaError` where a table or a column is missing."""
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
