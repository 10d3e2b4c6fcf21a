"""All public collections and communities, kept in memory, because there are few compared to items."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection, Table

from repo_bridge.access import AnonymousView, readable
from repo_bridge.model import Collection, Community
from repo_bridge.reading.execution import Row
from repo_bridge.reading.statements import Key, Statements
from repo_bridge.schema import ObjectType


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The public communities and collections by key."""

    communities: Mapping[Key, Community]
    collections: Mapping[Key, Collection]

    def find(self, keys: Iterable[Key]) -> tuple[Collection, ...]:
        """Return the public collections among `keys`, each once, in the order given."""
        return tuple([self.collections[key] for key in dict.fromkeys(keys) if key in self.collections])


def read_hierarchy(connection: Connection, queries: Statements) -> Hierarchy:
    """Read the public communities and collections, without references to those that are not public."""
    tables = queries.tables
    communities = _named(connection, queries, tables.community, ObjectType.COMMUNITY)
    collections = _named(connection, queries, tables.collection, ObjectType.COLLECTION)
    inside, within = tables.community2community, tables.community2collection
    parents = _pairs(connection, queries, inside, ("child_comm_id", "parent_comm_id"), communities)
    holders = _pairs(connection, queries, within, ("collection_id", "community_id"), communities)
    return Hierarchy(
        {
            key: Community(id=str(key), handle=handle, name=name, parents=_ids(parents.get(key, ())))
            for key, (handle, name) in communities.items()
        },
        {
            key: Collection(
                id=str(key), handle=handle, name=name, communities=_ids(_around(holders.get(key, ()), parents))
            )
            for key, (handle, name) in collections.items()
        },
    )


def _named(
    connection: Connection, queries: Statements, table: Table, kind: ObjectType
) -> dict[Key, tuple[str | None, str]]:
    """Return the handle and the name of each public collection or community."""
    rows: Iterable[Row] = connection.execute(queries.containers(table, kind))
    found: dict[Key, tuple[str | None, str]] = {}
    for key, group in groupby(rows, itemgetter(0)):
        same = [*group]
        if _is_public(same, queries.view):
            found[key] = same[0][1], same[0][2] or ""
    return found


def _is_public(rows: Iterable[Row], view: AnonymousView) -> bool:
    return readable({view.period(row[4], row[5]) for row in rows}, view.today)


def _pairs(
    connection: Connection, queries: Statements, table: Table, columns: tuple[str, str], public: Mapping[Key, object]
) -> dict[Key, list[Key]]:
    """Return, by key, the public communities that each community or collection is directly in."""
    found: dict[Key, list[Key]] = {}
    inner_column, outer_column = (table.c[column] for column in columns)
    for inner, outer in connection.execute(queries.pairs(inner_column, outer_column)):
        if outer in public:
            found.setdefault(inner, []).append(outer)
    return found


def _around(keys: Iterable[Key], parents: Mapping[Key, Iterable[Key]]) -> set[Key]:
    """Return the keys and all their ancestors; cycles are followed only once."""
    found: set[Key] = set()
    waiting = [*keys]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += parents.get(key, ())
    return found


def _ids(keys: Iterable[Key]) -> tuple[str, ...]:
    return tuple(str(key) for key in sorted(set(keys), key=lambda key: (isinstance(key, str), key)))
