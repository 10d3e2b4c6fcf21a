"""A repository: what its database says that an anonymous visitor may see, item by item."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable

from repo_bridge.database import open_database
from repo_bridge.discretion import Period, View, closed, opened, readable
from repo_bridge.model import Field, Hidden, Item, MetadataValue
from repo_bridge.moments import parse_moment
from repo_bridge.reading.fields import find_titles, read_fields, require_everybody, visible_fields
from repo_bridge.reading.files import files_of
from repo_bridge.reading.follower import Follower, Row
from repo_bridge.reading.hierarchy import read_hierarchy
from repo_bridge.reading.queries import Key, Queries
from repo_bridge.schema import Tables, find_tables
from repo_bridge.schema.tables import INTEGER_KEYS

#: How many rows the database gives at a time.
_BATCH = 2000

#: How many items' metadata is asked for in one question.
_KEYS = 500


@contextmanager
def open_repository(
    url: str, view: View, *, version: int | None = None, password: str | None = None
) -> Iterator["Repository"]:
    """Open the repository in a database (see `open_database`), of DSpace's `version` or of the one found.

    Raises `DatabaseError` where it cannot be read, now or while it is read: read it inside.
    """
    with open_database(url, password) as connection:
        repository = Repository(connection, find_tables(connection, version), view)
        try:
            yield repository
        finally:
            repository.close()


class Repository:
    """What is public in an open database, for one view. Memory does not grow with the number of items."""

    def __init__(self, connection: Connection, tables: Tables, view: View) -> None:
        """Read the registries, collections and communities, which are small."""
        self.version = tables.version
        self._connection = connection
        self._begun: list[CursorResult[Any]] = []
        self._view = view
        fields = read_fields(connection, tables)
        self._fields = visible_fields(fields, view)
        titles = find_titles(fields)
        require_everybody(connection, tables)
        self._queries = Queries(tables=tables, view=view, titles=titles, dialect=connection.dialect.name)
        self.hierarchy = read_hierarchy(connection, self._queries)

    def close(self) -> None:
        """End all that was begun to be read."""
        for result in self._begun:
            result.close()

    def items(self) -> Iterator[Item]:
        """Give the public items in the order of their ids, each with its public metadata, files and collections."""
        metadata = self._follow(self._queries.metadata(), "metadata")
        for key, item in self._bare_items():
            yield replace(item, metadata=self._metadata(metadata.take(key)))

    def digested_items(self) -> Iterator[Item]:
        """Give the public items as `items` does, but for each a digest of its metadata instead of them.

        Where a digest is what it was before, in the same database and of the same `View.hidden`, so is the metadata;
        `with_metadata` gives it for the others.
        """
        digests = self._follow(self._queries.digests(self._fields), "digests")
        for key, item in self._bare_items():
            yield replace(item, digest="".join(str(row[1]) for row in digests.take(key)))

    def with_metadata(self, items: Iterable[Item]) -> Iterator[Item]:
        """Give items, which this repository gave, with their metadata; in few questions, whatever their number."""
        for some in _batches(items, _KEYS):
            keys: dict[Key, Item] = {int(each.id) if self.version == INTEGER_KEYS else each.id: each for each in some}
            rows = self._connection.execute(self._queries.metadata([*keys])).all()
            found: dict[Key, list[Row]] = {}
            for row in rows:
                found.setdefault(row[0], []).append(row)
            for key, item in keys.items():
                yield replace(item, metadata=self._metadata(found.get(key, ())))

    def _bare_items(self) -> Iterator[tuple[Key, Item]]:
        """Give the public items without their metadata, and their keys."""
        belongings = _Belongings(
            handles=self._follow(self._queries.handles(), "handles"),
            memberships=self._follow(self._queries.memberships(), "collections"),
            files=self._follow(self._queries.bitstreams(), "bitstreams"),
        )
        for key, rows in self._grouped(self._queries.items()):
            periods = _periods(rows)
            if readable(periods, self._view.today):
                yield key, self._item(key, rows[0], opened(periods, self._view), belongings)

    def hidden(self) -> Iterator[Hidden]:
        """Give what is not public: to tell since when a resource is not, and for nothing else (rule 13)."""
        handles = self._follow(self._queries.handles(every=True), "handles")
        files = self._follow(self._queries.bitstreams(every=True), "bitstreams")
        for key, rows in self._grouped(self._queries.every_item()):
            shown, periods = rows[0][2], _periods(rows)
            whole = not (shown and readable(periods, self._view.today))
            of_item = files_of(files.take(key), self._view)
            hidden = tuple(each.hide(self._view) for each in of_item if whole or not each.is_public(self._view))
            known = handles.take(key)
            if whole or hidden:
                yield Hidden(
                    id=str(key),
                    handle=known[0][1] if known else None,
                    whole=whole,
                    closed=self._latest(parse_moment(rows[0][1]), closed(periods, self._view) if whole else None),
                    bitstreams=hidden,
                )

    def _item(self, key: Key, row: Row, since: datetime | None, belongings: "_Belongings") -> Item:
        handles = belongings.handles.take(key)
        files = files_of(belongings.files.take(key), self._view)
        find = self.hierarchy.find
        return Item(
            id=str(key),
            handle=handles[0][1] if handles else None,
            last_modified=parse_moment(row[1]),
            opened=since,
            owner=next(iter(find([row[2]])), None),
            collections=find(each[1] for each in belongings.memberships.take(key)),
            bitstreams=tuple(each.publish(self._view) for each in files if each.is_public(self._view)),
        )

    def _metadata(self, rows: Sequence[Row]) -> tuple[MetadataValue, ...]:
        """Give the values of visible fields in the order of fields, then of their places (rule 8)."""
        fields = self._fields
        values: list[tuple[int, int, int, Field, str, str]] = []
        for _key, number, place, value_number, text, language in rows:
            visible = fields.get(number)
            if visible is not None:
                values.append((visible[0], place or 0, value_number, visible[1], text, language or ""))
        values.sort()
        return tuple([MetadataValue(field, text, language) for _, _, _, field, text, language in values])

    def _latest(self, *times: datetime | None) -> datetime | None:
        return max((time for time in times if time is not None and time <= self._view.at), default=None)

    def _follow(self, statement: Executable, name: str) -> Follower:
        return Follower(self._rows(statement), name)

    def _grouped(self, statement: Executable) -> Iterator[tuple[Key, list[Row]]]:
        return ((key, [*rows]) for key, rows in groupby(self._rows(statement), itemgetter(0)))

    def _rows(self, statement: Executable) -> Iterator[Row]:
        """Give the rows as they come; nothing is asked before the first is wanted."""
        result = self._connection.execution_options(yield_per=_BATCH).execute(statement)
        self._begun.append(result)
        for batch in result.partitions():
            yield from batch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Belongings:
    """What belongs to items, sorted as they are."""

    handles: Follower
    memberships: Follower
    files: Follower


def _periods(rows: Sequence[Row]) -> list[Period]:
    """Give the periods of the policies that end the rows of an item."""
    return [*{Period.parse(start, end) for *_, action, start, end in rows if action is not None}]


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := [*islice(iterator, size)]:
        yield batch
