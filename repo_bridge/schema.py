"""DSpace's tables, with only the columns needed.

A column has the same key in every version: `item.c.id` is the column `item_id` in version 5 and `uuid` from 6 on. Keys,
timestamps and dates are declared as text, and interpreted where they are read. Version 7 also stands for 8 and 9, and
10 for later versions, as long as the columns are there.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.types import TypeEngine

from repo_bridge import SchemaError

#: The only action of a policy that lets somebody see an object (rule 3).
READ = 0

#: The group that everybody is in, logged in or not; version 5 identifies it by number only.
ANONYMOUS, ANONYMOUS_ID = "Anonymous", 0


class ObjectType(IntEnum):
    """Kinds of objects, with the values of `resource_type_id` (rule 3)."""

    BITSTREAM = 0
    BUNDLE = 1
    ITEM = 2
    COLLECTION = 3
    COMMUNITY = 4


#: The versions with different tables; in the first, keys are integers.
INTEGER_KEYS, UUID_KEYS, ENTITIES, SECURITY_LEVELS = VERSIONS = (5, 6, 7, 10)

#: From this version on, a policy is still valid on its end date. So it is in 9, whose tables are those of 7 and 8.
LAST_DAYS = SECURITY_LEVELS


_Type = TypeEngine[Any]

#: Types of columns. The first stands for the key of an object: an integer in version 5, a uuid in later versions.
_KEY, _TEXT, _NUMBER, _SIZE, _FLAG = sa.types.NullType(), sa.Text(), sa.Integer(), sa.BigInteger(), sa.Boolean()
_TYPES: Mapping[str, _Type] = {"key": _KEY, "text": _TEXT, "number": _NUMBER, "size": _SIZE, "flag": _FLAG}

_TABLES = """
item: id=item_id/uuid key, in_archive flag, withdrawn flag, discoverable flag, last_modified text, owning_collection key
item2bundle: item_id key, bundle_id key
bundle2bitstream: bundle_id key, bitstream_id key, bitstream_order number
bitstream: id=bitstream_id/uuid key, bitstream_format_id number, checksum text, checksum_algorithm text
bitstream: internal_id text, deleted flag, store_number number, sequence_id number, size_bytes size
bitstreamformatregistry: bitstream_format_id number, mimetype text
metadatavalue: metadata_value_id number, metadata_field_id number, text_value text, text_lang text, authority text
metadatavalue: place number, object_id=resource_id/dspace_object_id key, resource_type_id number, security_level number
metadatafieldregistry: metadata_field_id number, metadata_schema_id number, element text, qualifier text
metadataschemaregistry: metadata_schema_id number, short_id text
handle: handle_id number, handle text, resource_type_id number, object_id=resource_id/resource_id key
collection: id=collection_id/uuid key
community: id=community_id/uuid key
collection2item: collection_id key, item_id key
community2collection: community_id key, collection_id key
community2community: parent_comm_id key, child_comm_id key
resourcepolicy: object_id=resource_id/dspace_object key, resource_type_id number, action_id number
resourcepolicy: start_date text, end_date text, epersongroup_id key
epersongroup: id=eperson_group_id/uuid key, name text
group2groupcache: parent_id key, child_id key
versionitem: versionhistory_id number, version_number number, item_id key
entity_type: label text
relationship: id number, left_id key, type_id number, right_id key, left_place number, right_place number
relationship: leftward_value text, rightward_value text, latest_version_status number
relationship_type: id number, leftward_type text, rightward_type text, tilted number
"""
#: The types of columns, and the names of some in the database: in version 5, and in later versions.
_COLUMNS: dict[str, dict[str, _Type]] = {}
_NAMES: dict[str, tuple[str, str]] = {}
for _table, _, _columns_of in (line.partition(": ") for line in _TABLES.split("\n") if line):
    for _column, _kind in (column.split() for column in _columns_of.split(", ")):
        _key, _, _names = _column.partition("=")
        _COLUMNS.setdefault(_table, {})[_key] = _TYPES[_kind]
        _before, _, _after = (_names or f"{_key}/{_key}").partition("/")
        _NAMES[f"{_table}.{_key}"] = _before, _after

_SECURITY_LEVEL = "metadatavalue.security_level"

#: Flyway's table of DSpace's migrations. Their versions begin with that of DSpace, such as `10.0.2026.02.18`.
MIGRATIONS = sa.Table("schema_version", sa.MetaData(), sa.Column("version", sa.Text), sa.Column("success", sa.Boolean))

#: The first and the last version that has a column, if not all have it.
_ONLY: Mapping[str, tuple[int, int]] = {
    "metadatavalue.resource_type_id": (INTEGER_KEYS, INTEGER_KEYS),
    _SECURITY_LEVEL: (SECURITY_LEVELS, SECURITY_LEVELS),
    "resourcepolicy.resource_type_id": (INTEGER_KEYS, INTEGER_KEYS),
    "epersongroup.name": (UUID_KEYS, SECURITY_LEVELS),
    "entity_type.label": (ENTITIES, SECURITY_LEVELS),
}

#: The tables that came with entities.
_OF_ENTITIES = frozenset({"relationship", "relationship_type"})

#: The columns that came with a later DSpace 7.
_OPTIONAL = frozenset({"relationship.latest_version_status", "relationship_type.tilted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of one version; those of entities have no columns in versions without them.

    `is_certain` is false if the database may be of a later version, in which access ends a day later.
    """

    version: int
    is_certain: bool
    by_name: Mapping[str, sa.Table]

    def __getattr__(self, name: str) -> sa.Table:
        """Return a table by its name."""
        try:
            return self.by_name[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def all(self) -> tuple[sa.Table, ...]:
        """All tables that this version has."""
        return tuple(table for table in self.by_name.values() if len(table.c))

    def is_of(self, table: sa.FromClause, kind: ObjectType) -> sa.ColumnElement[bool]:
        """Return the condition that a row is about an object of this kind. From version 6 on, the uuid says that."""
        return table.c.resource_type_id == int(kind) if self.version == INTEGER_KEYS else sa.true()


def describe(
    version: int,
    without: AbstractSet[str] = frozenset(),
    additional: AbstractSet[str] = frozenset(),
    *,
    is_certain: bool = True,
) -> Tables:
    """Return the tables of a version, which is one of `VERSIONS`.

    They are without some columns, named `table.column`, and with `additional` ones that only other versions have.
    """
    metadata = sa.MetaData()
    tables = {name: sa.Table(name, metadata, *_columns(name, version, without, additional)) for name in _COLUMNS}
    return Tables(version=version, is_certain=is_certain, by_name=tables)


def _columns(table: str, version: int, without: AbstractSet[str], additional: AbstractSet[str]) -> list[sa.Column[Any]]:
    key = _NUMBER if version == INTEGER_KEYS else _TEXT
    columns: list[sa.Column[Any]] = []
    for attribute, type_ in _COLUMNS[table].items():
        path = f"{table}.{attribute}"
        first, last = _ONLY.get(path, (ENTITIES if table in _OF_ENTITIES else VERSIONS[0], VERSIONS[-1]))
        name = _NAMES[path][version != INTEGER_KEYS]
        if (first <= version <= last or path in additional) and path not in without:
            columns.append(sa.Column(name, key if type_ is _KEY else type_, key=attribute))
    return columns


#: The columns of each table in a database.
Columns = Mapping[str, frozenset[str]]


def find_tables(connection: sa.Connection, version: int | None = None) -> Tables:
    """Return the tables of the database, of `version`, which is one of `VERSIONS`, or of the version detected.

    Security levels of values are among them in any version, if they are there: not only DSpace 10 may have the column.
    Where nothing says that it is DSpace 10, the tables are those of 7, with which access ends earlier. Raises
    `SchemaError` for an unknown database, for a missing table or column, and if there is a table that the version does
    not have.
    """
    found = columns_of(connection)
    there = {f"{table}.{column}" for table, columns in found.items() for column in columns}
    migrated = 0 if version else migrated_to(connection, found)
    levels = {_SECURITY_LEVEL} & there
    tables = describe(
        version or version_of(found, migrated),
        _OPTIONAL - there,
        levels,
        is_certain=bool(version or migrated or not levels),
    )
    require_columns(tables, found)
    if tables.version == UUID_KEYS and "entity_type" in found:
        message = (
            f"schema is {version}, but the database has the table entity_type of DSpace 7 and later: leave schema out"
        )
        raise SchemaError(message)
    return tables


def columns_of(connection: sa.Connection) -> Columns:
    """Return the existing tables of those needed, and that of migrations, with their columns."""
    needed = [table.name for table in (*describe(VERSIONS[-1]).all, MIGRATIONS)]
    found = sa.inspect(connection).get_multi_columns(kind=ObjectKind.ANY, filter_names=needed)
    return {name: frozenset(column["name"] for column in columns) for (_, name), columns in found.items() if columns}


def migrated_to(connection: sa.Connection, found: Columns) -> int:
    """Return the version of DSpace of the latest migration; 0 if the database does not say it."""
    if not {*MIGRATIONS.c.keys()} <= found.get(MIGRATIONS.name, frozenset()):
        return 0
    may_read = f"SELECT has_table_privilege('{MIGRATIONS.name}', 'select')"
    if connection.dialect.name == "postgresql" and not connection.exec_driver_sql(may_read).scalar_one():
        return 0
    rows = connection.execute(sa.select(MIGRATIONS.c.version).where(MIGRATIONS.c.success.is_(True)))
    majors = (str(version).partition(".")[0] for (version,) in rows)
    return max((int(major) for major in majors if major.isdecimal()), default=0)


def version_of(found: Columns, migrated: int) -> int:
    """Return the version, determined by what only some versions have, and for 10 by the latest migration.

    Raises `SchemaError` if it is not a known version.
    """
    values = found.get("metadatavalue")
    if values is None or "item" not in found:
        message = (
            "there are no tables item and metadatavalue, so this is not a DSpace database: check its name, the "
            "search_path and the rights of the role"
        )
        raise SchemaError(message)
    if "resource_id" in values:
        return 5
    if "dspace_object_id" not in values:
        message = "the database is of an unknown version of DSpace: only 5 to 10 can be read"
        raise SchemaError(message)
    if "security_level" in values and migrated >= SECURITY_LEVELS:
        return 10
    return 6 if found.keys().isdisjoint({"entity_type", *_OF_ENTITIES}) else 7  # of which one may be missing


def require_columns(tables: Tables, found: Columns) -> None:
    """Raise `SchemaError` if a table or a column is missing."""
    for table in tables.all:
        if table.name not in found:
            raise SchemaError(_missing(f"table {table.name}", tables.version))
        for column in table.c:
            if column.name not in found[table.name]:
                raise SchemaError(_missing(f"column {table.name}.{column.name}", tables.version))


def _missing(what: str, version: int) -> str:
    return (
        f"the database lacks the {what} of DSpace {version}: set schema if it is another version, or check the rights"
        " of the role"
    )
