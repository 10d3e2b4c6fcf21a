"""The statement that calculates a digest of all the data of each item.

It digests the rows of the same statements that items are read with. These rows are all that is read, so if they are the
same, so is the item.
"""

from collections.abc import Collection
from typing import cast

from sqlalchemy import Cast, ColumnElement, Executable, Integer, case, func, literal, or_, select, union_all

from repo_bridge.digest import digest_of
from repo_bridge.reading.queries import END, START, Asked, Queries


def ask_digests(queries: Queries, fields: Collection[int]) -> Executable:
    """Return a statement for each candidate's key, digest, and whether it may depend on the day (1, else 0).

    Of the metadata, only fields with the numbers `fields` count.
    """
    among = select(queries.candidates().cte("candidates").c.id)
    value = queries.tables.metadatavalue
    parts = (
        queries.items(),
        queries.handles(among),
        queries.memberships(among),
        queries.metadata(among).where(value.c.metadata_field_id.in_([*fields])),
        queries.bitstreams(among),
    )
    rows = union_all(*(_digested(number, part, queries) for number, part in enumerate(parts))).subquery()
    key, digest = rows.c.key, digest_of(rows.c.part, rows.c.digest, dialect=queries.dialect)
    return select(queries.key(key), digest, func.max(rows.c.dated)).group_by(key).order_by(queries.order(key))


def _digested(number: int, part: Asked, queries: Queries) -> Asked:
    """Return one row per item for all its rows in a part; the number of the part distinguishes them."""
    first, *columns = cast("list[ColumnElement[object]]", [*part.inner_columns])
    key = first.clause if isinstance(first, Cast) else first
    dates = [column.is_not(None) for column in columns if column.key in {START, END}]
    dated = func.max(case((or_(*dates), 1), else_=0)) if dates else literal(0, Integer())
    return (
        part.with_only_columns(
            key.label("key"),
            literal(number).label("part"),
            digest_of(*columns, dialect=queries.dialect).label("digest"),
            dated.label("dated"),
        )
        .group_by(key)
        .order_by(None)
    )
