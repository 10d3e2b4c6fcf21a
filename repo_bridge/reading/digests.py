"""A digest of rows, calculated by the database: items whose digest is unchanged need not be read.

It is a sum over the rows, so that the database does not have to sort them. A digest is only compared with an earlier
one of the same database, so different databases may calculate it differently. It detects ordinary changes, not
deliberate forgery.
"""

import typing
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import (
    BigInteger,
    Cast,
    ColumnElement,
    Executable,
    Function,
    Integer,
    Text,
    case,
    cast,
    collate,
    func,
    literal,
    select,
    union_all,
)

from repo_bridge.reading.relationships import VirtualMetadata
from repo_bridge.reading.statements import Statement, Statements

#: The name of our aggregate function in SQLite.
FUNCTION = "repo_bridge_digest"

_BYTES = 8


class Digest:
    """An aggregate function for SQLite: the sum of the digests of texts."""

    def __init__(self) -> None:
        """Start with an empty sum."""
        self._sum = 0

    def step(self, text: str) -> None:
        """Add the digest of a text."""
        self._sum += int.from_bytes(blake2b(text.encode(), digest_size=_BYTES).digest())

    def finalize(self) -> str:
        """Return the sum."""
        return str(self._sum)


def digest_of(*columns: ColumnElement[Any], dialect: str) -> ColumnElement[str]:
    """Return the SQL expression for the digest of a group of rows.

    Values cannot run into the next column, and `NULL` differs from an empty text.
    """
    return _by_sqlite(columns) if dialect == "sqlite" else _by_postgresql(columns)


def _by_sqlite(columns: Sequence[ColumnElement[Any]]) -> ColumnElement[str]:
    text: ColumnElement[str] = literal("")
    for column in columns:
        text = text + func.quote(column, type_=Text()) + ","
    return Function(FUNCTION, text, type_=Text())


def _by_postgresql(columns: Sequence[ColumnElement[Any]]) -> ColumnElement[str]:
    """Hash the columns in sequence, each with the hash so far; the first value hashed says which columns are `NULL`.

    PostgreSQL's own hash functions take a sixth of the time of MD5, and work on servers that forbid MD5. The one for
    integers folds its argument to 32 bits, so larger integers are hashed as text.
    """
    nothing: ColumnElement[int] = literal(0, BigInteger())
    for place, column in enumerate(columns):
        nothing = nothing + case((column.is_(None), 1 << place), else_=0)
    number = func.hashint8extended(cast(nothing, BigInteger), literal(0, BigInteger()), type_=BigInteger())
    for column in columns:
        if isinstance(column.type, Integer) and not isinstance(column.type, BigInteger):
            value = func.coalesce(cast(column, BigInteger), literal(0, BigInteger()))
            number = func.hashint8extended(value, number, type_=BigInteger())
        else:
            text = collate(func.coalesce(cast(column, Text), literal("", Text())), "C")
            number = func.hashtextextended(text, number, type_=BigInteger())
    return cast(func.sum(number), Text)


def digest_statement(
    queries: Statements, fields: Collection[int], virtual: VirtualMetadata | None = None
) -> Executable:
    """Return a statement for the key and the digest of each candidate.

    Of the metadata, only fields with the numbers `fields` count, and the values that come from related items.
    """
    among = select(queries.candidates().cte("candidates").c.id)
    value = queries.tables.metadatavalue
    parts = (
        queries.items(),
        queries.handles(among),
        queries.memberships(among),
        queries.metadata(among).where(value.c.metadata_field_id.in_([*fields])),
        queries.bitstreams(among),
        *([] if virtual is None else [virtual.statement(among)]),
    )
    rows = union_all(*(_digested(number, part, queries) for number, part in enumerate(parts))).subquery()
    key, digest = rows.c.key, digest_of(rows.c.part, rows.c.digest, dialect=queries.dialect)
    candidate = func.min(rows.c.part) == 0  # others have no row among `items`
    return select(queries.key(key), digest).group_by(key).having(candidate).order_by(queries.order(key))


def _digested(number: int, part: Statement, queries: Statements) -> Statement:
    """Return one row per item for all its rows in a part; the number of the part distinguishes them."""
    first, *columns = typing.cast("list[ColumnElement[object]]", [*part.inner_columns])
    key = first.clause if isinstance(first, Cast) else first
    return (
        part.with_only_columns(
            key.label("key"),
            literal(number).label("part"),
            digest_of(*columns, dialect=queries.dialect).label("digest"),
        )
        .group_by(key)
        .order_by(None)
    )
