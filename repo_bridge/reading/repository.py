"""A repository: what its database shows an anonymous visitor, item by item."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Executable, Table, select

from pelican_resourcesync.publication import whole_seconds
from repo_bridge import SchemaError, access
from repo_bridge.access import ENTITY_TYPE, AnonymousView, Period
from repo_bridge.model import (
    Bitstream,
    Collection,
    Community,
    Field,
    HiddenBitstream,
    HiddenItem,
    Item,
    MetadataValue,
    Reason,
    Version,
    parse_moment,
)
from repo_bridge.reading import relationships, row_versions
from repo_bridge.reading.database import QueryRunner, RowsByKey, RunStatement, Values, open_database
from repo_bridge.reading.statements import Key, Statements
from repo_bridge.schema import ANONYMOUS, LAST_DAYS, ObjectType, Tables, find_tables

#: The type of entities that is published by default, and the bundles that DSpace makes.
_ENTITIES = frozenset({"Publication"})
_BUNDLES = frozenset({"ORIGINAL", "TEXT", "THUMBNAIL", "LICENSE", "CC-LICENSE", "METADATA", "BRANDED_PREVIEW", "SWORD"})

#: The number of items in one query.
_KEYS = 500

_MD5 = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*", re.ASCII)
_LAST = 10**9

#: Positions, in a row of `Statements.bitstreams`, of the columns that group, sort and select rows.
_KEY, _BUNDLE, _ORDER = 1, 2, 3
_TITLE_PLACE, _TITLE_NUMBER, _TITLE = 4, 5, 6
_SEQUENCE_ID, _ACTION, _START, _END = 7, 14, 15, 16
_BUNDLE_ACTION, _BUNDLE_START, _BUNDLE_END = 17, 18, 19


@contextmanager
def open_repository(
    url: str, view: AnonymousView, *, version: int | None = None, password: str | None = None
) -> Iterator["DSpaceRepository"]:
    """Open the repository in a database (see `open_database`), of DSpace's `version` or of the version detected.

    Raises `DatabaseError` if it cannot be read, now or later: read it inside the `with` block.
    """
    with open_database(url, password) as connection:
        repository = DSpaceRepository(connection, find_tables(connection, version), view)
        try:
            yield repository
        finally:
            repository.close()


class DSpaceRepository:
    """What is public in an open database, for one view.

    Memory use does not grow with the number of items, except for the keys of entities that are left out.
    """

    def __init__(self, connection: Connection, tables: Tables, view: AnonymousView) -> None:
        """Read the registries, collections and communities, which are small."""
        self.version, self.version_is_certain = tables.version, tables.is_certain
        view = replace(view, last_days=tables.version >= LAST_DAYS)
        self._connection = connection
        self._runner = QueryRunner(connection)
        self._view = view
        fields = self._registry = read_fields(connection, tables)
        places = {field: place for place, field in enumerate(sorted({*fields.values()}))}
        every = {number: (places[field], field) for number, field in fields.items()}
        self._fields = {number: found for number, found in every.items() if not access.hidden(found[1], view.hidden)}
        self._unwanted = [number for number in fields if number not in self._fields]
        titles = find_titles(fields)
        self._queries = Statements(tables=tables, view=view, titles=titles, dialect=connection.dialect.name)
        self._kinds = relationships.read_relationship_types(connection, tables)
        related = relationships.has_relationships(connection, tables)
        virtual = partial(relationships.VirtualMetadata, self._queries, kinds=self._kinds, dates=self._dates_of_related)
        self._virtual = virtual(self._fields) if related else None
        self._visible = _Metadata(self._fields, self._virtual)
        self._withheld = _Metadata(every, virtual(every, withheld=True) if related else None)
        versions = select(tables.versionitem.c.item_id).where(tables.versionitem.c.item_id.is_not(None))
        self._has_versions = connection.execute(versions.limit(1)).first() is not None
        self.hierarchy = read_hierarchy(connection, self._queries)
        self._shared = read_shared(connection, tables)
        self._types = [number for number, field in fields.items() if field == ENTITY_TYPE]
        found = connection.execute(self._queries.entities(self._types)) if self._types else ()
        self._left_out = frozenset(key for (key,) in found)

    def close(self) -> None:
        """End all reading that is still in progress."""
        self._runner.close()

    def require_known(self) -> None:
        """Raise `SettingsError` for a hidden field, a type of entities or a bundle in the view that is not there.

        Those that DSpace itself has need not be used yet.
        """
        access.require_hidden_exist(self._view.hidden, self._registry.values())
        queries = self._queries
        for setting, kind, names, own, statement in (
            ("entities", "type of entities", self._view.entities, _ENTITIES, queries.entity_types(self._types)),
            ("bundles", "bundle", self._view.bundles, _BUNDLES, queries.bundle_names()),
        ):
            if unknown := {*names} - own:
                known = {*own, *(str(name) for (name,) in self._runner.all(statement))}
                access.require_known(setting, unknown, known, kind)

    def items(self) -> Iterator[Item]:
        """Yield the public items in the order of their ids, each with its public metadata, files and collections."""
        with self._runner.each() as run:
            yield from self._read(run)

    def items_of(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield the items with these ids, in that order, as `items` does; those that are not public are left out.

        The database must be one with row versions. Items are queried in batches; the rows of one are kept in memory.
        """
        for some in _batches(ids, _KEYS):
            items = {item.id: item for item in self._read(self._runner.all, self._queries.keys(some))}
            yield from (items[id_] for id_ in some if id_ in items)

    def withheld(self, ids: Iterable[str] | None) -> Iterator[tuple[str, tuple[MetadataValue, ...]]]:
        """Yield items that may be public, all or those with these ids, with values that may not be published.

        These are the hidden ones of the item, and all that related items would give if nothing of them were hidden.
        """
        if ids is None:
            with self._runner.each() as run:
                yield from self._read_withheld(run)
        for some in _batches(ids or (), _KEYS):
            yield from self._read_withheld(self._runner.all, self._queries.keys(some))

    def _read_withheld(
        self, run: RunStatement, keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[str, tuple[MetadataValue, ...]]]:
        queries, virtual = self._queries, self._withheld.virtual
        among = queries.candidates() if keys is None else keys
        metadata = RowsByKey(run(queries.metadata(among, self._unwanted, withheld=True)), "metadata")
        related = RowsByKey(run(virtual.statement(among)) if virtual else (), "relationships")
        for key, _ in _grouped(run(queries.items(keys))):
            yield str(key), self._withheld.values(metadata.take(key), related.take(key))

    def _dates_of_related(self) -> list[Values]:
        with self._runner.each() as run:
            return [*run(relationships.dates_of_related(self._queries))]

    def dated_items(self, since: datetime) -> set[str]:
        """Return the ids of items that may have become public or hidden since then, with or without a change.

        So may be what they have from related items.
        """
        first, last = replace(self._view, at=since).today.earliest, self._view.today.latest
        with self._runner.each() as run:
            pairs = [*run(self._queries.dated())]
        days = ((date, day) for pair in pairs for date, day in zip(pair, self._view.period(*pair), strict=True))
        dates = {date for date, day in days if date is not None and first < day <= last}
        found = self._owners(self._queries.objects_dated(dates)) if dates else set()
        return found | self.dependents(found)

    def dependents(self, ids: Iterable[str]) -> set[str]:
        """Return the ids of items that may have values from one of these items, or be versions of it, as of now."""
        statements = [self._virtual.dependents] if self._virtual else []
        statements += [self._queries.other_versions] if self._has_versions else []
        found: set[str] = set()
        for some in _batches(ids if statements else (), _KEYS):
            if keys := self._queries.keys(some):
                found.update(str(key) for of in statements for (key,) in self._runner.all(of(keys)))
        return found

    @cached_property
    def origin(self) -> row_versions.Origin | None:
        """Which database it is, `None` if it does not know which transaction wrote a row: see `row_versions`."""
        return row_versions.find_origin(self._connection, self._queries)

    @cached_property
    def last_modified(self) -> datetime | None:
        """When an item, public or not, was last changed, in whole seconds; times to come are ignored."""
        found = (parse_moment(text) for (text,) in self._runner.all(self._queries.last_modified()))
        known = (time for time in found if time and 0 <= time.timestamp() <= self._view.at.timestamp())
        return max(map(whole_seconds, known), default=None)

    @cached_property
    def total(self) -> str:
        """The sum of all rows: see `row_versions`."""
        with self._runner.each() as run:
            return str(next(run(row_versions.total_statement(self._queries)))[0])

    def sums(self) -> Iterator[tuple[str, str]]:
        """Yield each item, and each object that belongs to none, with its sum; they add up to the sum of all rows."""
        with self._runner.each() as run:
            yield from run(row_versions.sums_statement(self._queries))

    def sums_of(self, owners: Iterable[str]) -> dict[str, str]:
        """Return the sums of those that have rows."""
        found: dict[str, str] = {}
        for some in _batches(owners, _KEYS):
            objects = [key for (key,) in self._runner.all(row_versions.objects_statement(self._queries, some))]
            sums = self._runner.all(row_versions.sums_statement(self._queries, objects))
            found.update((owner, text) for owner, text in sums if owner in some)
        return found

    def written_since(self, oldest: int) -> set[str]:
        """Return the items, and the objects that belong to none, of the rows written by this or a later transaction."""
        return self._owners(row_versions.written_statement(self._queries, oldest))

    def _owners(self, objects: Executable) -> set[str]:
        """Return the items, and the objects that belong to none, of the objects whose keys a statement selects."""
        with self._runner.each() as run:
            keys = [str(key) for (key,) in run(objects)]
        found: set[str] = set()
        for some in _batches(keys, _KEYS):
            found.update(owner for (owner,) in self._runner.all(row_versions.owners_statement(self._queries, some)))
        return found

    def shared_digest(self) -> str:
        """Return a digest of what all items share: if it differs, any item may have changed.

        It covers the schema of the database, the visible fields, the public collections and communities, the groups of
        an anonymous visitor, the formats of files and the types of relationships, but no settings.
        """
        hierarchy = self.hierarchy
        shared = (
            (self.version, self._queries.dialect, self._queries.titles),
            sorted(self._fields.items()),
            sorted(hierarchy.communities.items()),
            sorted(hierarchy.collections.items()),
            (*self._shared, self._kinds),
        )
        return sha256(repr(shared).encode()).hexdigest()

    def _read(self, run: RunStatement, keys: Sequence[Key] | None = None) -> Iterator[Item]:
        """Yield the public items, all of them or those with the given keys."""
        queries = self._queries
        among = queries.candidates() if keys is None else keys
        handles = RowsByKey(run(queries.handles(among)), "handles")
        memberships = RowsByKey(run(queries.memberships(among)), "collections")
        metadata = RowsByKey(run(queries.metadata(among, self._unwanted)), "metadata")
        bitstreams = RowsByKey(run(queries.bitstreams(among)), "bitstreams")
        related = RowsByKey(run(self._virtual.statement(among)) if self._virtual else (), "relationships")
        versions = RowsByKey(run(queries.versions(among)) if self._has_versions else (), "versions")
        collections = self.hierarchy.collections
        for key, rows in _grouped(run(queries.items(keys))):
            periods = _periods(rows, self._view)
            if key in self._left_out or not access.readable(periods, self._view.today):
                continue
            _, last_modified, owner, *_ = rows[0]
            of_handle = handles.take(key)
            files = files_of(bitstreams.take(key), self._view)
            public = tuple(file.publish(self._view) for file in files if file.is_public(self._view))
            predecessor, successor = self._neighbours(versions.take(key))
            yield Item(
                id=str(key),
                handle=of_handle[0][1] if of_handle else None,
                last_modified=parse_moment(last_modified),
                opened=access.opened(periods, self._view),
                owner=collections.get(owner),
                collections=self.hierarchy.find(collection for _, collection in memberships.take(key)),
                metadata=self._visible.values(metadata.take(key), related.take(key)),
                bitstreams=public,
                predecessor=predecessor,
                successor=successor,
                embargo=None
                if public or not files
                else access.opening_day([period for file in files for period in file.periods], self._view),
            )

    def hidden(self) -> Iterator[HiddenItem]:
        """Yield what is not public, only to determine since when a resource is not public (rule 13)."""
        with self._runner.each() as run:
            yield from self._not_public(run, None)

    def hidden_of(self, ids: Iterable[str]) -> Iterator[HiddenItem]:
        """Yield the same of these items, and of those that share files with them."""
        for some in _batches(ids, _KEYS):
            objects = [key for (key,) in self._runner.all(row_versions.objects_statement(self._queries, some))]
            owners = {owner for (owner,) in self._runner.all(row_versions.owners_statement(self._queries, objects))}
            yield from self._not_public(self._runner.all, self._queries.keys(sorted(owners)))

    def deleted_files(self) -> Iterator[str]:
        """Yield the ids of files that are marked as deleted (rule 11), which are in no item any more."""
        with self._runner.each() as run:
            yield from (str(key) for (key,) in run(self._queries.deleted_files()))

    def _not_public(self, run: RunStatement, keys: Sequence[Key] | None) -> Iterator[HiddenItem]:
        handles = RowsByKey(run(self._queries.handles(keys)), "handles")
        files = RowsByKey(run(self._queries.bitstreams(keys)), "bitstreams")
        for key, rows in _grouped(run(self._queries.every_item(keys))):
            found = self._hidden(key, rows, handles.take(key), files_of(files.take(key), self._view))
            if found.reason or found.bitstreams:
                yield found

    def _hidden(
        self, key: Key, rows: Sequence[Values], handles: Sequence[Values], files: Iterable["File"]
    ) -> HiddenItem:
        periods = _periods(rows, self._view)
        reason = Reason(rows[0][2]) if rows[0][2] else self._restricted(key, periods)
        return HiddenItem(
            id=str(key),
            handle=handles[0][1] if handles else None,
            reason=reason,
            closed=self._latest(parse_moment(rows[0][1]), access.closed(periods, self._view) if reason else None),
            bitstreams=tuple(file.hide(self._view) for file in files if reason or not file.is_public(self._view)),
        )

    def _restricted(self, key: Key, periods: Sequence[Period]) -> Reason | None:
        if key in self._left_out:
            return Reason.ENTITY
        if access.readable(periods, self._view.today):
            return None
        return Reason.NOT_TODAY if periods else Reason.RESTRICTED

    def _neighbours(self, rows: Sequence[Values]) -> tuple[Version | None, Version | None]:
        """Return the nearest earlier and later version that is public, from the rows of one item."""
        versions: dict[tuple[int, Key], list[Values]] = {}
        for row in rows:
            versions.setdefault((row[1], row[2]), []).append(row)
        public = [
            place
            for place, same in versions.items()
            if place[1] not in self._left_out and access.readable(_periods(same, self._view), self._view.today)
        ]
        earlier = max((place for place in public if place[0] < 0), default=None)
        later = min((place for place in public if place[0] > 0), default=None)
        before, after = (place and Version(str(place[1]), versions[place][0][3]) for place in (earlier, later))
        return before, after

    def _latest(self, *times: datetime | None) -> datetime | None:
        return max((time for time in times if time is not None and time <= self._view.at), default=None)


class _Metadata:
    """Makes metadata of rows: values of fields, by number with their places in the order of names, and virtual ones."""

    def __init__(self, fields: Mapping[int, tuple[int, Field]], virtual: relationships.VirtualMetadata | None) -> None:
        self._places = {number: place for number, (place, _) in fields.items()}
        self._ordered = dict(fields.values())
        self.virtual = virtual

    def values(self, rows: Sequence[Values], related: Sequence[Values]) -> tuple[MetadataValue, ...]:
        """Return the values of an item, sorted by field, then by place; those of related items too."""
        places, fields, new = self._places, self._ordered, tuple.__new__
        values = [
            (places[number], place or 0, value_number, text, language or "", authority or "")
            for _, number, place, value_number, text, language, authority in rows
            if number in places and isinstance(text, str)  # SQLite does not enforce types
        ]
        if self.virtual and related:
            values += self.virtual.values(related)
        values.sort()
        # There are millions of values, and calling the class would take twice as long.
        return tuple([new(MetadataValue, (fields[place], *rest)) for place, _, _, *rest in values])


def _grouped(rows: Iterable[Values]) -> Iterator[tuple[Key, list[Values]]]:
    return ((key, [*same]) for key, same in groupby(rows, itemgetter(0)))


def _periods(rows: Sequence[Values], view: AnonymousView) -> list[Period]:
    """Return the periods of the policies at the end of an item's rows."""
    return [view.period(row[-2], row[-1]) for row in rows if row[-3] is not None]


def _batches(ids: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(ids)
    while batch := [*islice(iterator, size)]:
        yield batch


# Files: there is a row for each title and each policy of a file, and of its bundle


@dataclass(frozen=True, slots=True)
class File:
    """A file of an item, from all its rows: the first of them, the file's title, and when everybody may read it."""

    row: Values
    name: str
    periods: Sequence[Period]

    def is_public(self, view: AnonymousView) -> bool:
        """Return whether everybody may read the file today, if its item is public (rule 6)."""
        return access.readable(self.periods, view.today)

    def publish(self, view: AnonymousView) -> Bitstream:
        """Return the value for a public file."""
        _, key, bundle, _, _, _, _, sequence_id, size, *more = self.row
        checksum, algorithm, mimetype, store_number, internal_id, *_ = more
        return Bitstream(
            id=str(key),
            name=self.name,
            bundle=bundle,
            sequence_id=sequence_id,
            # SQLite does not enforce types.
            length=size if view.fingerprints and isinstance(size, int) and size >= 0 else None,
            md5=md5_of(checksum, algorithm) if view.fingerprints else None,
            type=media_type_of(mimetype),
            store_number=store_number,
            internal_id=internal_id,
            opened=access.opened(self.periods, view),
        )

    def hide(self, view: AnonymousView) -> HiddenBitstream:
        """Return the value for a file that is not public."""
        return HiddenBitstream(
            id=str(self.row[_KEY]),
            name=self.name,
            sequence_id=self.row[_SEQUENCE_ID],
            closed=access.closed(self.periods, view),
            column=Reason.NOT_TODAY.column if self.periods and not self.is_public(view) else "",
        )


def files_of(rows: Iterable[Values], view: AnonymousView) -> list[File]:
    """Return the files in the rows of one item, each once, in the order of `view.bundles`, then of each bundle."""

    def order(row: Values) -> tuple[Any, ...]:
        return view.bundles.index(row[_BUNDLE]), _LAST if row[_ORDER] is None else row[_ORDER], row[_KEY]

    files: dict[Key, list[Values]] = {}
    for row in sorted(rows, key=order):
        files.setdefault(row[_KEY], []).append(row)
    return [File(_shown(same, view), _name(same), _file_periods(same, view)) for same in files.values()]


def _shown(rows: Sequence[Values], view: AnonymousView) -> Values:
    """Return the first row of a file in a bundle that everybody may read, else the first."""
    if len(rows) == 1:
        return rows[0]
    bundles = ([*same] for _, same in groupby(rows, itemgetter(_BUNDLE)))
    return next((same[0] for same in bundles if access.readable(_file_periods(same, view), view.today)), rows[0])


def _name(rows: Iterable[Values]) -> str:
    """Return the first title."""
    titles = [(row[_TITLE_PLACE] or 0, row[_TITLE_NUMBER] or 0, row[_TITLE]) for row in rows if row[_TITLE] is not None]
    return str(min(titles)[-1]) if titles else ""


def _file_periods(rows: Iterable[Values], view: AnonymousView) -> list[Period]:
    """Return the days on which everybody may read both the file and its bundle (rule 6)."""
    return [
        view.period(row[_START], row[_END]).within(view.period(row[_BUNDLE_START], row[_BUNDLE_END]))
        for row in rows
        if row[_ACTION] is not None and row[_BUNDLE_ACTION] is not None
    ]


def md5_of(checksum: str | None, algorithm: str | None) -> str | None:
    """Return the MD5 (hexadecimal) if the checksum is one (rule 16); `None` otherwise."""
    if not isinstance(checksum, str) or not isinstance(algorithm, str) or algorithm.strip().upper() != "MD5":
        return None
    return checksum.lower() if _MD5.fullmatch(checksum) else None


@lru_cache(maxsize=1024)
def media_type_of(text: str | None) -> str | None:
    """Return a media type without its parameters; `None` if it is invalid."""
    bare = (text or "").partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else None


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
            f"the metadata registry has no field {TITLE}, which has the names of bundles: check that the database is"
            " complete"
        )
        raise SchemaError(message)
    return titles


def read_shared(connection: Connection, tables: Tables) -> tuple[list[str], list[str]]:
    """Return the groups of an anonymous visitor, and the media types of formats.

    Raises `SchemaError` if there is no group Anonymous: nothing could be public.
    """
    groups = sorted(str(key) for (key,) in connection.execute(access.everybody(tables)))
    if not groups:
        message = f"there is no group {ANONYMOUS}, so nothing would be public: check that the database is complete"
        raise SchemaError(message)
    kinds = tables.bitstreamformatregistry
    formats = connection.execute(select(kinds.c.bitstream_format_id, kinds.c.mimetype))
    return groups, sorted(map(repr, map(tuple, formats)))


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
        {key: Community(id=str(key), handle=handle, name=name) for key, (handle, name) in communities.items()},
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
    rows: Iterable[Values] = connection.execute(queries.containers(table, kind))
    found: dict[Key, tuple[str | None, str]] = {}
    for key, group in groupby(rows, itemgetter(0)):
        same = [*group]
        if access.readable({queries.view.period(row[4], row[5]) for row in same}, queries.view.today):
            found[key] = same[0][1], same[0][2] or ""
    return found


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
