"""DSpace's tables as its migrations leave them, with the columns that nobody needs: written down by hand."""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Rows = dict[str, list[dict[str, Any]]]

_COMMON = {
    "bitstreamformatregistry": "bitstream_format_id integer, mimetype varchar(256), short_description varchar(128), "
    "description text, support_level integer, internal boolean",
    "metadatafieldregistry": "metadata_field_id integer, metadata_schema_id integer, element varchar(64), "
    "qualifier varchar(64), scope_note text",
    "metadataschemaregistry": "metadata_schema_id integer, namespace varchar(256), short_id varchar(32)",
}

_VALUE = (
    "metadata_value_id integer, metadata_field_id integer, text_value text, text_lang varchar(24), place integer, "
    "authority varchar(100), confidence integer"
)
_BITSTREAM = (
    "bitstream_id integer, bitstream_format_id integer, checksum varchar(64), checksum_algorithm varchar(32), "
    "internal_id varchar(256), deleted boolean, store_number integer, sequence_id integer, size_bytes bigint"
)
_FLAGS = "in_archive boolean, withdrawn boolean, discoverable boolean, last_modified timestamp with time zone"

_OLD = {
    **_COMMON,
    "item": f"item_id integer, submitter_id integer, {_FLAGS}, owning_collection integer",
    "item2bundle": "id integer, item_id integer, bundle_id integer",
    "bundle": "bundle_id integer, primary_bitstream_id integer",
    "bundle2bitstream": "id integer, bundle_id integer, bitstream_id integer, bitstream_order integer",
    "bitstream": _BITSTREAM,
    "metadatavalue": f"{_VALUE}, resource_id integer, resource_type_id integer",
    "handle": "handle_id integer, handle varchar(256), resource_type_id integer, resource_id integer",
    "collection": "collection_id integer, logo_bitstream_id integer, template_item_id integer",
    "community": "community_id integer, logo_bitstream_id integer, admin integer",
    "collection2item": "id integer, collection_id integer, item_id integer",
    "community2collection": "id integer, community_id integer, collection_id integer",
    "community2community": "id integer, parent_comm_id integer, child_comm_id integer",
    "resourcepolicy": "policy_id integer, resource_type_id integer, resource_id integer, action_id integer, "
    "eperson_id integer, epersongroup_id integer, start_date date, end_date date, rpname varchar(30), "
    "rptype varchar(30), rpdescription varchar(100)",
    "epersongroup": "eperson_group_id integer",
    "group2group": "id integer, parent_id integer, child_id integer",
    "group2groupcache": "id integer, parent_id integer, child_id integer",
}

_NEW = {
    **_COMMON,
    "item": f"item_id integer, {_FLAGS}, uuid uuid NOT NULL, submitter_id uuid, owning_collection uuid",
    "item2bundle": "bundle_id uuid NOT NULL, item_id uuid NOT NULL",
    "bundle": "bundle_id integer, uuid uuid NOT NULL, primary_bitstream_id uuid",
    "bundle2bitstream": "bitstream_order_legacy integer, bundle_id uuid NOT NULL, bitstream_id uuid NOT NULL, "
    "bitstream_order integer NOT NULL",
    "bitstream": f"{_BITSTREAM}, uuid uuid NOT NULL",
    "metadatavalue": f"{_VALUE}, dspace_object_id uuid",
    "handle": "handle_id integer, handle varchar(256), resource_type_id integer, resource_legacy_id integer, "
    "resource_id uuid",
    "collection": "collection_id integer, uuid uuid NOT NULL, submitter uuid, template_item_id uuid, "
    "logo_bitstream_id uuid, admin uuid",
    "community": "community_id integer, uuid uuid NOT NULL, admin uuid, logo_bitstream_id uuid",
    "collection2item": "collection_id uuid NOT NULL, item_id uuid NOT NULL",
    "community2collection": "collection_id uuid NOT NULL, community_id uuid NOT NULL",
    "community2community": "parent_comm_id uuid NOT NULL, child_comm_id uuid NOT NULL",
    "resourcepolicy": "policy_id integer NOT NULL, resource_type_id integer, resource_id integer, action_id integer, "
    "start_date date, end_date date, rpname varchar(30), rptype varchar(30), rpdescription text, eperson_id uuid, "
    "epersongroup_id uuid, dspace_object uuid",
    "epersongroup": "eperson_group_id integer, uuid uuid NOT NULL, permanent boolean, name varchar(250)",
    "group2group": "parent_id uuid, child_id uuid",
    "group2groupcache": "parent_id uuid, child_id uuid",
}

_ENTITIES = {
    "entity_type": "id integer NOT NULL, label varchar(32) NOT NULL",
    "relationship": "id integer NOT NULL, left_id uuid NOT NULL, type_id integer NOT NULL, right_id uuid NOT NULL, "
    "left_place integer, right_place integer, leftward_value varchar, rightward_value varchar, "
    "latest_version_status integer NOT NULL",
}

_SECURED = {"metadatavalue": f"{_NEW['metadatavalue']}, security_level integer"}

TABLES: Mapping[int, Mapping[str, str]] = {
    5: _OLD,
    6: _NEW,
    7: {**_NEW, **_ENTITIES},
    10: {**_NEW, **_ENTITIES, **_SECURED},
}

#: The indexes of DSpace that reading profits from.
INDEXES = {
    5: ("metadatavalue (resource_id)", "resourcepolicy (resource_id)", "handle (resource_id)"),
    6: ("metadatavalue (dspace_object_id)", "resourcepolicy (dspace_object)", "handle (resource_id)"),
}


def definitions(version: int) -> Iterable[str]:
    """Give the statements that make the tables, empty."""
    return (f"CREATE TABLE {name} ({columns})" for name, columns in TABLES[version].items())


def columns_of(version: int, table: str) -> list[str]:
    """Give the names of the columns of a table, in their order."""
    return [column.split()[0] for column in TABLES[version][table].split(", ")]


def tuples(rows: Rows, version: int, table: str) -> list[tuple[Any, ...]]:
    """Give the rows of a table with a value for each of its columns."""
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
