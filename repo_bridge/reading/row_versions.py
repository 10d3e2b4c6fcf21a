"""Which items may have changed, without reading their rows: PostgreSQL knows which transaction wrote each row (`xmin`).

For each object (an item, bundle or file), the key of the object is hashed with the `xmin` of each of its rows, in all
tables that are read, and the hashes are added up. This sum changes whenever one of the rows is added, replaced or
removed, whoever did it, and costs a tenth of a digest of the rows. The sums of objects are added up in buckets, so
that few have to be remembered. An item depends on the rows of its own objects only: if all of their buckets are
unchanged, it is unchanged.

`VACUUM FREEZE` keeps `xmin`. A restored database has other transactions, so `origin` says which database it is.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    CompoundSelect,
    Connection,
    Executable,
    Integer,
    Table,
    Text,
    cast,
    func,
    literal,
    literal_column,
    select,
    text,
    union,
    union_all,
)
from sqlalchemy.sql import ColumnElement

from repo_bridge.reading.statements import Statements

#: The number of buckets: objects in the same bucket are looked at together.
_BUCKETS = 1 << 16

#: Given the column with the keys of objects, returns the condition that an object is meant.
Condition = Callable[[ColumnElement[Any]], ColumnElement[bool]]

_ORIGIN = text("""
SELECT system_identifier::text || '/' || timeline_id || '/' || (SELECT oid FROM pg_database WHERE datname =
  current_database()), txid_snapshot_xmax(txid_current_snapshot())
FROM pg_control_system(), pg_control_checkpoint()
""")
_POSSIBLE = text("""
SELECT current_setting('server_version_num')::int >= 120000
  AND has_function_privilege('pg_control_system()', 'execute')
  AND has_function_privilege('pg_control_checkpoint()', 'execute')
  AND (SELECT count(*) = :number FROM pg_class
       WHERE relkind = 'r' AND oid IN (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) AS name))
""")


@dataclass(frozen=True, slots=True)
class Origin:
    """Which database it is, and the number of the first transaction that had not begun."""

    database: str
    transaction: int

    def follows(self, before: "Origin") -> bool:
        """Return whether this is the same database as before, at the same time or later."""
        return self.database == before.database and self.transaction >= before.transaction


def find_origin(connection: Connection, queries: Statements) -> Origin | None:
    """Return the origin; `None` if the database does not say who wrote its rows (SQLite, views, an old server)."""
    if connection.dialect.name != "postgresql":
        return None
    names = [f'"{table.name}"' for table, _ in _owners(queries)]
    if not connection.execute(_POSSIBLE, {"number": len(names), "names": names}).scalar_one():
        return None
    return Origin(*connection.execute(_ORIGIN).one())


def total_statement(queries: Statements) -> Executable:
    """Return the statement for the sum of all buckets."""
    parts = [select(func.sum(_hashed(key)).label("sum")).select_from(table) for table, key in _owners(queries)]
    rows = union_all(*parts).subquery()
    return select(cast(func.coalesce(func.sum(rows.c.sum), 0), Text))


def sums_statement(queries: Statements) -> Executable:
    """Return the statement for the sum of each bucket that has rows."""
    parts = [
        select(_bucket(key).label("bucket"), _hashed(key).label("hash")).select_from(table).where(key.is_not(None))
        for table, key in _owners(queries)
    ]
    rows = union_all(*parts).subquery()
    return select(rows.c.bucket, cast(func.sum(rows.c.hash), Text)).group_by(rows.c.bucket)


def items_of(queries: Statements, condition: Condition) -> CompoundSelect[Any]:
    """Return the statement for the keys of the items that have an object which meets the condition."""
    tables = queries.tables
    item, holder, order = tables.item, tables.item2bundle, tables.bundle2bitstream
    files = holder.join(order, order.c.bundle_id == holder.c.bundle_id)
    return union(
        select(queries.key(item.c.id)).where(condition(item.c.id)),
        select(queries.key(holder.c.item_id)).where(condition(holder.c.bundle_id)),
        select(queries.key(holder.c.item_id)).select_from(files).where(condition(order.c.bitstream_id)),
    )


def items_in(queries: Statements, buckets: Iterable[int]) -> CompoundSelect[Any]:
    """Return the statement for the keys of the items that have an object in one of the buckets."""
    among = select(literal_column(f"unnest('{{{','.join(map(str, buckets))}}}'::integer[])", Integer()))
    return items_of(queries, lambda key: _bucket(key).in_(among))


def _owners(queries: Statements) -> Iterator[tuple[Table, ColumnElement[Any]]]:
    """Yield each table whose rows belong to an item, a bundle or a file, with the column of its key.

    In version 5, objects of different kinds may have the same key, and then count as one.
    """
    tables = queries.tables
    for table, name in (
        (tables.item, "id"),
        (tables.handle, "object_id"),
        (tables.collection2item, "item_id"),
        (tables.metadatavalue, "object_id"),
        (tables.resourcepolicy, "object_id"),
        (tables.item2bundle, "item_id"),
        (tables.bundle2bitstream, "bundle_id"),
        (tables.bitstream, "id"),
    ):
        yield table, table.c[name]


def _hashed(key: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the hash of the key of an object with the transaction that wrote the row.

    Adding up half of its bits takes half of the time. One in four thousand million changes is then not seen at once.
    """
    writer = cast(cast(literal_column("xmin"), Text), BigInteger)
    if isinstance(key.type, Integer):
        hashed = func.hashint8extended(cast(key, BigInteger), writer, type_=BigInteger())
    else:
        hashed = func.uuid_hash_extended(key, writer, type_=BigInteger())
    return cast(hashed.op(">>")(literal(32, Integer())), Integer)


def _bucket(key: ColumnElement[Any]) -> ColumnElement[int]:
    number = func.hashint8(cast(key, BigInteger)) if isinstance(key.type, Integer) else func.uuid_hash(key)
    return number.op("&")(literal(_BUCKETS - 1, Integer()))
