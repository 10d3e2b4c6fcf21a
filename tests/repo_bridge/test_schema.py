"""Which DSpace a database is of, and what of it is missing."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from repo_bridge import SchemaError
from repo_bridge.reading.database import open_database
from repo_bridge.schema import VERSIONS, describe, find_tables
from sample_site.dspace.repository import Sample, Thing, rows_of
from sample_site.dspace.tables import columns_of, write_sqlite
from tests.kit.repository.reading import read, url_of


@contextmanager
def database(folder: Path, version: int, *changes: str) -> Iterator[Connection]:
    """Open a small repository after some changes to its tables."""
    file = write_sqlite(rows_of(Sample(items=[Thing(1)]), version), version, folder / "r.db")
    connection = sqlite3.connect(file)
    for change in changes:
        connection.execute(change)
    connection.commit()
    connection.close()
    with open_database(url_of(file)) as opened:
        yield opened


@pytest.mark.parametrize("version", VERSIONS)
def test_detected(tmp_path: Path, version: int) -> None:
    """Each version is reported by its own tables, and asking for it by name is the same."""
    with database(tmp_path, version) as connection:
        assert find_tables(connection).version == version
        assert find_tables(connection, version).version == version


@pytest.mark.parametrize(
    ("change", "version", "is_certain"),
    [
        ("SELECT 1", 10, True),
        ("DROP TABLE schema_version", 7, False),
        ("DELETE FROM schema_version", 7, False),
        ("UPDATE schema_version SET success = 0 WHERE version LIKE '10.%'", 7, True),
        ("UPDATE schema_version SET version = '11.0.2026.07.03.01' WHERE version LIKE '10.%'", 10, True),
        ("UPDATE schema_version SET version = NULL WHERE version LIKE '7.%'", 10, True),
        ("ALTER TABLE schema_version DROP COLUMN success", 7, False),
    ],
)
def test_a_column_is_no_version(tmp_path: Path, change: str, version: int, is_certain: bool) -> None:
    """Security levels alone make no DSpace 10, whose access ends a day later; its migrations or the settings do."""
    with database(tmp_path, 10, change) as connection:
        tables = find_tables(connection)
        assert (tables.version, tables.is_certain) == (version, is_certain)
        assert "security_level" in tables.metadatavalue.c
        assert (find_tables(connection, 10).version, find_tables(connection, 10).is_certain) == (10, True)


@pytest.mark.parametrize("version", VERSIONS)
def test_described_as_it_is(version: int) -> None:
    """What is described as needed is there, by the definitions that were written down by hand."""
    for table in describe(version).all:
        assert {column.name for column in table.c} <= {*columns_of(version, table.name)}


@pytest.mark.parametrize(
    ("version", "change", "asked", "message"),
    [
        (7, "DROP TABLE item", None, "not a DSpace"),
        (6, "ALTER TABLE metadatavalue RENAME COLUMN dspace_object_id TO item_id", None,
            "of an unknown version of DSpace"),
        (7, "ALTER TABLE item DROP COLUMN discoverable", None, r"lacks the column item\.discoverable of DSp"),
        (7, "SELECT 1", 10, r"metadatavalue\.security_level"),
        (7, "SELECT 1", 6,
            "schema is 6, but the database has the table entity_type of DSpace 7 and later: leave schem"),
        (10, "SELECT 1", 6, "schema is 6, but"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, version: int, change: str, asked: int | None, message: str) -> None:
    """A database that is not DSpace's, is too old, of an unknown version or not of the version that was asked for."""
    with database(tmp_path, version, change) as connection, pytest.raises(SchemaError, match=message):
        find_tables(connection, asked)


@pytest.mark.parametrize("version", VERSIONS)
def test_missing_table(tmp_path: Path, version: int) -> None:
    """Each table that is missing is named in one sentence."""
    for table in describe(version).all:
        if table.name in {"item", "metadatavalue"}:
            continue
        (tmp_path / "r.db").unlink(missing_ok=True)
        with (
            database(tmp_path, version, f"DROP TABLE {table.name}") as connection,
            pytest.raises(SchemaError, match=rf"\Athe database lacks the table {table.name} of DSpace {version}: "),
        ):
            find_tables(connection)


def test_more_than_needed(tmp_path: Path) -> None:
    """Tables and columns that are not known are not looked at."""
    with database(tmp_path, 10, "ALTER TABLE item ADD COLUMN mood TEXT", "CREATE TABLE cris (x)"):
        assert len(read(url_of(tmp_path / "r.db"))) == 1


@pytest.mark.parametrize(
    ("version", "change", "message"),
    [
        (7, "UPDATE epersongroup SET name = 'anonymous'", r"there is no group Anonymous"),
        (5, "DELETE FROM epersongroup WHERE eperson_group_id = 0", r"there is no group Anonymous"),
        (7, "DELETE FROM metadatafieldregistry", r"the metadata registry has no field dc\.title"),
    ],
)
def test_not_the_whole(tmp_path: Path, version: int, change: str, message: str) -> None:
    """A database in which nothing can be public, or no bundle has a name, is not taken for an empty repository."""
    with database(tmp_path, version, change):
        pass
    with pytest.raises(SchemaError, match=message):
        read(url_of(tmp_path / "r.db"))
