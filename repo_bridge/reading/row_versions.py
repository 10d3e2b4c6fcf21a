"""Which items may have changed, without reading their rows: PostgreSQL knows which transaction wrote each row (`xmin`).

The key of an object (an item, bundle or file) is hashed with the `xmin` of each of its rows, in all tables that are
read. The sum of the hashes of all rows changes whenever a row is added, replaced or removed, whoever did it. The hashes
are also added up for each item, with its bundles and files. Rows that were written since the last run lead to items; if
these account for the change of the whole sum, no other item has changed. Otherwise, as when rows were only removed, the
sums of all items are compared. An item that has values from related ones changes with them: relationships lead to it
(`DSpaceRepository.dependents`), and a relationship that is removed is one of both of its items. So do versions of an
item, whose records link to each other: the row of a version is one of all items in its history.

`VACUUM FREEZE` keeps `xmin`. A restored database has other transactions, or the same numbers again for others, and
other columns may have other values without a row being written. So `Origin` says which database it is, since when its
server has been running, and which columns there are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import UserDefinedType

from repo_bridge.reading.statements import Statements, as_text
from repo_bridge.schema import INTEGER_KEYS

#: Two transactions are at most so many apart, if it is to be known from 32 bits which one came first.
_NUMBERS = 1 << 32
_MOST = 1 << 30

#: What PostgreSQL says is the age of rows that no numbered transaction wrote.
_OLDEST = (1 << 31) - 1

_ORIGIN = sa.text("""
SELECT concat_ws('/', system_identifier, timeline_id, (SELECT oid FROM pg_database WHERE datname = current_database()),
    pg_postmaster_start_time(), (SELECT md5(string_agg(concat_ws(' ', attrelid, attnum, attname, atttypid), ',' ORDER BY
      attrelid, attnum)) FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid IN
        (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) AS name))),
  txid_snapshot_xmax(txid_current_snapshot()), txid_snapshot_xmin(txid_current_snapshot())
FROM pg_control_system(), pg_control_checkpoint()
""")
_POSSIBLE = sa.text("""
SELECT current_setting('server_version_num')::int >= 120000
  AND has_function_privilege('pg_control_system()', 'execute')
  AND has_function_privilege('pg_control_checkpoint()', 'execute')
  AND (SELECT count(*) = :number FROM pg_class
       WHERE relkind = 'r' AND oid IN (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) AS name))
""")


@dataclass(frozen=True, slots=True)
class Origin:
    """Which database it is, the number of the first transaction that had not begun, and of the first not ended.

    `database` is another text after a restart of the server, which a restored copy needs, and for other columns.
    """

    database: str
    transaction: int
    oldest: int = 0

    def follows(self, before: "Origin") -> bool:
        """Return whether this is the same database as before, at the same time or later.

        Numbers of transactions in rows have 32 bits, so it must not be much later.
        """
        return self.database == before.database and 0 <= self.transaction - before.oldest < _MOST


def find_origin(connection: sa.Connection, queries: Statements) -> Origin | None:
    """Return the origin; `None` if the database does not say who wrote its rows (SQLite, views, an old server).

    In version 5, objects of different kinds may have the same key, so it is not known whose row it is.
    """
    if connection.dialect.name != "postgresql" or queries.tables.version == INTEGER_KEYS:
        return None
    names = sorted({f'"{table.name}"' for table, _ in _owners(queries)})
    if not connection.execute(_POSSIBLE, {"number": len(names), "names": names}).scalar_one():
        return None
    return Origin(*connection.execute(_ORIGIN, {"names": names}).one())


def total_statement(queries: Statements) -> sa.Executable:
    """Return the statement for the sum of all rows."""
    parts = [sa.select(sa.func.sum(_hashed(key)).label("sum")).select_from(table) for table, key in _owners(queries)]
    rows = sa.union_all(*parts).subquery()
    return sa.select(sa.cast(sa.func.coalesce(sa.func.sum(rows.c.sum), 0), sa.Text))


def sums_statement(queries: Statements, objects: Sequence[str] | None = None) -> sa.Executable:
    """Return the statement for the sum of each owner that has rows: an item, or an object that belongs to none.

    With `objects`, of the rows of these alone.
    """
    meant = None if objects is None else sa.any_(_array(objects))
    parts = [
        sa.select(key.label("key"), _hashed(key).label("hash"))
        .select_from(table)
        .where(key.is_not(None) if meant is None else key == meant)
        for table, key in _owners(queries)
    ]
    hashes = sa.union_all(*parts).subquery()  # added up by object first, because there are many rows and few objects
    rows = sa.select(hashes.c.key, sa.func.sum(hashes.c.hash).label("hash")).group_by(hashes.c.key).subquery()
    source, owner = _with_owner(queries, rows)
    return sa.select(as_text(owner), sa.cast(sa.func.sum(rows.c.hash), sa.Text)).select_from(source).group_by(owner)


def objects_statement(queries: Statements, owners: Sequence[str]) -> sa.Executable:
    """Return the statement for the keys of these owners, their bundles and their files."""
    holder, order = queries.tables.item2bundle, queries.tables.bundle2bitstream
    keys = sa.select(sa.func.unnest(_array(owners)).label("key")).subquery()
    bundles = keys.join(holder, holder.c.item_id == keys.c.key)
    files = bundles.join(order, order.c.bundle_id == holder.c.bundle_id)
    return sa.union(
        sa.select(as_text(keys.c.key)),
        sa.select(as_text(holder.c.bundle_id)).select_from(bundles),
        sa.select(as_text(order.c.bitstream_id)).select_from(files),
    )


def written_statement(queries: Statements, oldest: int) -> sa.Executable:
    """Return the statement for the keys of the rows that the transaction `oldest` or a later one wrote."""
    age = sa.select(sa.func.age(sa.cast(sa.literal(str(oldest % _NUMBERS), sa.Text), _Xid()))).scalar_subquery()
    parts = [
        sa.select(key.label("key"))
        .select_from(table)
        .where(key.is_not(None), sa.func.age(sa.literal_column(f"{table.name}.xmin")) <= age)
        for table, key in _owners(queries)
    ]
    rows = sa.union(*parts).subquery()
    return sa.select(as_text(rows.c.key))


def owners_statement(queries: Statements, keys: Sequence[str]) -> sa.Executable:
    """Return the statement for the owners of the objects with these keys."""
    source, owner = _with_owner(queries, sa.select(sa.func.unnest(_array(keys)).label("key")).subquery())
    return sa.select(as_text(owner)).select_from(source).distinct()


def _with_owner(queries: Statements, rows: sa.Subquery) -> tuple[sa.FromClause, ColumnElement[Any]]:
    """Return rows with a `key`, joined to what says whose they are, and the column that does."""
    bundle, bundle_of_file = (queries.tables.item2bundle.alias(name) for name in ("holder", "holder_of_file"))
    files = queries.tables.bundle2bitstream
    source = (
        rows.outerjoin(bundle, bundle.c.bundle_id == rows.c.key)
        .outerjoin(files, files.c.bitstream_id == rows.c.key)
        .outerjoin(bundle_of_file, bundle_of_file.c.bundle_id == files.c.bundle_id)
    )
    return source, sa.func.coalesce(bundle.c.item_id, bundle_of_file.c.item_id, rows.c.key)


def _array(keys: Sequence[str]) -> ColumnElement[Any]:
    return sa.cast(sa.literal("{" + ",".join(keys) + "}", sa.Text), sa.ARRAY(sa.Uuid(as_uuid=False)))


def _owners(queries: Statements) -> Iterator[tuple[sa.Table | sa.Subquery, ColumnElement[Any]]]:
    """Yield each table whose rows belong to an item, a bundle or a file, with the column of its key.

    A relationship belongs to both of its items, and a version to all items in its history: of a version whose item was
    expunged, no row has the item any more.
    """
    tables = queries.tables
    of_version, version = tables.versionitem, tables.versionitem.alias("version")
    versions = (
        sa.select(of_version.c.item_id, sa.literal_column("version.xmin").label("xmin"))
        .join(version, version.c.versionhistory_id == of_version.c.versionhistory_id)
        .subquery(of_version.name)
    )
    for table, name in (
        (tables.item, "id"),
        (tables.handle, "object_id"),
        (tables.collection2item, "item_id"),
        (tables.metadatavalue, "object_id"),
        (tables.resourcepolicy, "object_id"),
        (tables.item2bundle, "item_id"),
        (tables.bundle2bitstream, "bundle_id"),
        (tables.bitstream, "id"),
        (tables.relationship, "left_id"),
        (tables.relationship, "right_id"),
        (versions, "item_id"),
    ):
        if len(table.c):
            yield table, table.c[name]


def _hashed(key: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the hash of the key of an object with the transaction that wrote the row.

    Adding up half of its bits takes half of the time. One in four thousand million changes is then not seen at once.
    The number of the transaction is its distance from a fixed one, because a cast from `xid` takes longer, by way of
    text. Rows that no transaction wrote have the greatest age, which stays the same.
    """
    age = sa.func.nullif(sa.func.age(sa.literal_column("xmin")), _OLDEST, type_=sa.Integer())
    distance = (
        sa.select(sa.cast(sa.func.age(sa.cast(sa.literal("3", sa.Text), _Xid())), sa.BigInteger)).scalar_subquery()
        - age
    )
    writer = sa.func.coalesce(distance.op("&")(sa.literal(_NUMBERS - 1, sa.BigInteger())), 0, type_=sa.BigInteger())
    hashed = sa.func.uuid_hash_extended(key, writer, type_=sa.BigInteger())
    return sa.cast(hashed.op(">>")(sa.literal(32, sa.Integer())), sa.Integer)


class _Xid(UserDefinedType[str]):
    """The type of a transaction's number."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return its name."""
        return "xid"
