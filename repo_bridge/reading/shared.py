"""What all items share: metadata fields, groups, formats of files, and the public collections and communities.

All of it is kept in memory, because there is little compared to items.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection, Table, select

from repo_bridge.access import AnonymousView, everybody, hidden, readable
from repo_bridge.errors import SchemaError
from repo_bridge.model import Collection, Community, Field
from repo_bridge.reading.database import Row
from repo_bridge.reading.statements import Key, Statements
from repo_bridge.schema import ANONYMOUS, ObjectType, Tables

#: The field with the names of bundles, files, collections and communities.
TITLE = Field("dc", "title")


def read_fields(connection: Connection, tables: Tables) -> dict[int, Field]:
    """Return the fields by number."""
    field, schema = tables.metadatafieldregistry, tables.metadataschemaregistry
    rows = connection.execute(
        select(field.c.metadata_field_id, schema.c.short_id, field.c.element, field.c.qualifier).join(
            schema, schema.c.metadata_schema_id == field.c.metadata_schema_id
        )
    )
    return {number: Field(prefix or "", element or "", qualifier or "") for number, prefix, element, qualifier in rows}


def find_titles(fields: Mapping[int, Field]) -> list[int]:
    """Return the numbers of the field that holds titles; `SchemaError` if there is none."""
    titles = [number for number, field in fields.items() if field == TITLE]
    if not titles:
        message = (
            f"the metadata registry has no field {TITLE}, needed for the names of bundles: is the database complete?"
        )
        raise SchemaError(message)
    return titles


def read_shared(connection: Connection, tables: Tables) -> tuple[list[str], list[str]]:
    """Return the groups of an anonymous visitor, and the media types of formats.

    Raises `SchemaError` if there is no group Anonymous: nothing could be public.
    """
    groups = sorted(str(key) for (key,) in connection.execute(everybody(tables)))
    if not groups:
        message = f"there is no group {ANONYMOUS}, so nothing would be public: is the database complete?"
        raise SchemaError(message)
    kinds = tables.bitstreamformatregistry
    formats = connection.execute(select(kinds.c.bitstream_format_id, kinds.c.mimetype))
    return groups, sorted(map(repr, map(tuple, formats)))


def visible_fields(fields: Mapping[int, Field], view: AnonymousView) -> dict[int, tuple[int, Field]]:
    """Return the public fields by number, each with its place in the order of field names (rule 8)."""
    places = {field: place for place, field in enumerate(_sorted(fields.values()))}
    return {number: (places[field], field) for number, field in fields.items() if not hidden(field, view.hidden)}


def _sorted(fields: Iterable[Field]) -> list[Field]:
    return sorted(set(fields))


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
