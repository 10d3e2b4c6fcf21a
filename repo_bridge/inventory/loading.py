"""Fills the inventory, from a DSpace database, an archive, or a query, and writes the records and files of items.

The inventory of the last run is still valid for items that did not change: only the others are read. PostgreSQL says
which may have changed (see `reading.row_versions`); otherwise, and once a week, digests of all items are compared.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from pelican_resourcesync.protocol import render_link, render_metadata
from pelican_resourcesync.publication import MD5, SHA_256, parse_representation, parse_time, render_time
from repo_bridge.errors import QueryError
from repo_bridge.inventory.inventory import Entry, Inventory, ItemEntries, Seen
from repo_bridge.inventory.record_files import PublishedFile, RecordFiles, StoredFile, parse_location
from repo_bridge.model import Item, MetadataValue
from repo_bridge.reading import Origin, QueryRow, Repository
from repo_bridge.records import (
    Addresses,
    Crosswalk,
    FileResource,
    Link,
    Record,
    Sets,
    described_by,
    hidden_uris,
    latest,
    record_path,
    records_of,
    resources_of,
)
from repo_bridge.result import Progress

#: So long the versions of rows are trusted, before all items are compared again.
_TRUSTED = timedelta(days=7)

#: Progress is reported after every so many items.
_STEP = 500

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBuilder:
    """Makes entries as of the time `at` (UTC); without `record_files`, nothing is written.

    `stored` says that files may be found in an assetstore; `records` says that the records are also a set of their own.
    """

    addresses: Addresses
    crosswalks: Sequence[Crosswalk]
    at: datetime
    sets: Sets
    record_files: RecordFiles | None
    stored: bool = False
    records: bool = False

    def make(self, item: Item) -> ItemEntries:
        """Return the entries of an item."""
        made = resources_of(item, self.addresses, self.crosswalks, self.at)
        sets = self.sets.of_item(item)
        with_records = (*sets, self.sets.records) if self.records else sets
        entries = (
            *(self._record(each, with_records) for each in made.records),
            *(self._file(each, sets) for each in made.files),
        )
        settled = item.last_modified is None or item.last_modified <= self.at
        return ItemEntries(item.id, entries, len(made.records), settled)

    def describe(
        self, item: str, metadata: tuple[MetadataValue, ...], about: Sequence[Entry]
    ) -> tuple[ItemEntries, str]:
        """Return the records of an item whose resources are known, and the links from these to the records."""
        changed = latest(self.at, *(parse_time(each.changed) for each in about))
        described = [Link(each.uri, "describes", _type_of(each)) for each in about]
        known = Item(id=item, handle=None, last_modified=changed, metadata=metadata)
        made = records_of(known, self.addresses, self.crosswalks, described, changed)
        sets = tuple(sorted({name for each in about for name in each.sets}))
        entries = tuple(self._record(each, sets) for each in made)
        return ItemEntries(item, entries, len(entries)), _links(tuple(described_by(made)))

    def record_uris(self, item: str) -> list[str]:
        """Return the URIs of the records of an item without a handle."""
        return [self.addresses.record(record_path(each.prefix, item, None)) for each in self.crosswalks]

    def _record(self, record: Record, sets: tuple[str, ...]) -> Entry:
        place = self.record_files.write(record.path, record.content).render() if self.record_files else ""
        digest = hashlib.sha256(record.content).hexdigest()
        return Entry(
            uri=record.uri,
            representation=render_metadata(f"{SHA_256}:{digest}", len(record.content), record.type),
            links=_links(record.links),
            changed=render_time(record.changed),
            place=place,
            sets=sets,
        )

    def _file(self, file: FileResource, sets: tuple[str, ...]) -> Entry:
        return Entry(
            uri=file.uri,
            representation=render_metadata(f"{MD5}:{file.md5}" if file.md5 else None, file.length, file.type),
            links=_links(file.links),
            changed=render_time(file.changed),
            place=self._place(file),
            sets=sets,
        )

    def _place(self, file: FileResource) -> str:
        if file.path is not None and file.bitstream.file is not None:
            return self.record_files.copy(file.path, file.bitstream.file).render() if self.record_files else ""
        return StoredFile.of(file.bitstream).render() if self.stored else ""


@lru_cache(maxsize=1)  # the files of an item all have the same links
def _links(leads: tuple[Link, ...]) -> str:
    return "".join([render_link(lead.rel, lead.href, lead.type) for lead in leads])


def _dated(repository: Repository, seen: Seen | None) -> list[str]:
    """Return the items that may have become public or hidden since then because a date has passed."""
    since = parse_time(seen.at) if seen else None
    return repository.dated_items(since) if since else []


def may_compare_row_versions(seen: Seen, origin: Origin | None, at: datetime) -> bool:
    """Return whether this is the database seen before, and all of its items were compared within a week."""
    compared = parse_time(seen.compared)
    again = compared is None or not timedelta(0) <= at - compared < _TRUSTED
    return not again and origin is not None and origin.follows(Origin(seen.origin, seen.transaction, seen.oldest))


def _entry_of(row: QueryRow, sets: Sets, changed: datetime | None) -> Entry:
    hashed = f"{SHA_256}:{row.sha256}" if row.sha256 else f"{MD5}:{row.md5}" if row.md5 else None
    within = (sets.name(row.set),) if row.set else ()
    return Entry(row.uri, render_metadata(hashed, row.length, row.type), changed=render_time(changed), sets=within)


def _type_of(entry: Entry) -> str | None:
    return parse_representation(entry.representation).type


@dataclass(frozen=True, slots=True)
class InventoryLoader:
    """Fills an inventory; `progress` is told how many items were read."""

    inventory: Inventory
    progress: Progress

    def from_repository(self, repository: Repository, builder: EntryBuilder) -> None:
        """Add what is public in a repository."""
        self.progress.say("comparing the repository with the last run")
        inventory, seen, at = self.inventory, self.inventory.seen, builder.at
        trusted = seen if seen and may_compare_row_versions(seen, repository.origin, at) else None
        changed = self._by_versions(repository, trusted) if trusted else self._by_digests(repository, seen)
        if changed is None:
            inventory.clear()
            self._read(repository.items(), builder)
        else:
            changed |= self._keep(changed, builder)
            inventory.remove(changed)
            self._read(repository.items_of(sorted(changed)), builder)
        inventory.settle_digests()
        compared = trusted.compared if trusted and changed is not None else render_time(at)
        origin = repository.origin or Origin("", 0)
        total = repository.total() if repository.origin else "0"
        inventory.seen = Seen(render_time(at), compared, origin.database, origin.transaction, origin.oldest, total)

    def _by_versions(self, repository: Repository, seen: Seen) -> set[str] | None:
        """Return the items that may have changed, by the versions of their rows and by dates; `None` if too many."""
        inventory = self.inventory
        found = repository.written_since(seen.oldest)
        sums = self._sums_if_all(repository, found, seen)
        if sums is None:
            found |= inventory.items_without(repository.ids())
            sums = self._sums_if_all(repository, found, seen)
        if sums is None:
            inventory.keep_all_sums(repository.sums())
            found = inventory.changed_sums()
        else:
            inventory.keep_sums(sums, found)
        found.update(repository.dependents(found), _dated(repository, seen), inventory.unsettled())
        inventory.looked_at = found
        return None if inventory.is_many(len(found)) else found

    def _by_digests(self, repository: Repository, seen: Seen | None) -> set[str] | None:
        """Return the items that changed, by their digests and by dates; `None` if too many.

        An item has no digest if it was read because of its row versions alone, and counts as changed.
        """
        if repository.origin:
            self.inventory.keep_all_sums(repository.sums())
            if seen is None:  # there is nothing to compare, and next time row versions will do
                return None
        self.inventory.read_again(_dated(repository, seen))
        self.inventory.take_digests(self._reporting(repository.digests()))
        return self.inventory.changed()

    def _sums_if_all(self, repository: Repository, found: Collection[str], seen: Seen) -> dict[str, str] | None:
        """Return the current sums of these, if nothing else has changed since then; `None` if something has.

        Nothing else has if the sum of all rows changed by as much as theirs.
        """
        before, now = self.inventory.sums(found), repository.sums_of(sorted(found))
        rest = int(seen.total) - sum(map(int, before.values()))
        return now if rest == int(repository.total()) - sum(map(int, now.values())) else None

    def from_archive(self, items: Iterable[Item], builder: EntryBuilder) -> None:
        """Add the items of an archive."""
        self._read(items, builder)

    def from_query(
        self,
        rows: Iterable[QueryRow],
        metadata: Iterable[tuple[str, tuple[MetadataValue, ...]]] | None,
        builder: EntryBuilder,
    ) -> None:
        """Add the rows of a query, and records of their items if there is `metadata`; times to come are ignored.

        Raises `QueryError` if two rows contradict each other about one URI, and for metadata that fit no row.
        """
        self.progress.say("reading the rows of the query")
        removed: dict[str, datetime | None] = {}
        for row in self._reporting(rows):
            changed = latest(builder.at, row.lastmod)
            item = row.item or row.uri
            if row.deleted:
                self.inventory.add_removed([(row.uri, render_time(changed))])
                removed[item] = latest(builder.at, changed, removed.get(item))
            elif not self.inventory.add_row(_entry_of(row, builder.sets, changed), "" if metadata is None else item):
                message = (
                    f"two rows of the statement contradict each other about {row.uri}: return one row per URI and set"
                )
                raise QueryError(message)
        for uri in self.inventory.removed_and_listed():
            message = (
                f"one row of the statement says that {uri} is deleted, and another that it is not: return one of them"
            )
            raise QueryError(message)
        if metadata is not None:
            self._describe(metadata, builder)
            uris = ((uri, changed) for item, changed in removed.items() for uri in builder.record_uris(item))
            self.inventory.add_removed(
                (uri, render_time(changed)) for uri, changed in uris if not self.inventory.holds(uri)
            )

    def _describe(self, metadata: Iterable[tuple[str, tuple[MetadataValue, ...]]], builder: EntryBuilder) -> None:
        """Add a record of each item that has resources; metadata of others, which may be hidden, are left out."""
        self.progress.say("reading the metadata of the query")
        self.inventory.index_sets()
        unknown, found = "", False
        for item, values in metadata:
            about = self.inventory.of_item(item)
            if not about:
                unknown = unknown or item
                continue
            found = True
            if not values:
                continue
            if self.inventory.holds(builder.record_uris(item)[0]):
                message = (
                    f"the rows of the item {item[:80]!a} in the metadata statement are not together: add ORDER BY item"
                )
                raise QueryError(message)
            records, links = builder.describe(item, values, about)
            self.inventory.add([records])
            self.inventory.add_links((each.uri for each in about), links)
        if unknown and not found and self.inventory.count(None):
            message = (
                f"no item of the metadata statement, such as {unknown[:80]!a}, is in the statement: use the same keys"
                " in the column item of both"
            )
            raise QueryError(message)

    def _read(self, items: Iterable[Item], builder: EntryBuilder) -> None:
        self.progress.say("reading the public items")
        made = map(builder.make, self._reporting(items))
        while batch := [*islice(made, _STEP)]:
            self.inventory.add(batch)

    def _keep(self, changed: Collection[str], builder: EntryBuilder) -> set[str]:
        """Keep the files of unchanged items; return the items with a file that is missing or was modified."""
        record_files = builder.record_files
        if record_files is None:
            return set()
        self.progress.say("keeping unchanged records")
        if record_files.unchanged:
            record_files.keep_all()
            self._drop(changed, record_files)
            return set()
        places = ((item, parse_location(place)) for item, place in self._reporting(self.inventory.places()))
        lost = {
            item
            for item, place in places
            if item not in changed and isinstance(place, PublishedFile) and not record_files.keep(place)
        }
        self._drop(lost, record_files)
        return lost

    def _drop(self, items: Iterable[str], record_files: RecordFiles) -> None:
        """Remove the files of items again."""
        for _, text in self.inventory.places(items):
            place = parse_location(text)
            if isinstance(place, PublishedFile):
                record_files.drop(place.path)

    def _reporting(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """Yield things unchanged, and report every so often how many there were."""
        number = 0
        for number, thing in enumerate(things, 1):
            yield thing
            if number % _STEP == 0:
                self.progress.advance(_STEP)
        self.progress.advance(number % _STEP)


def record_removals(inventory: Inventory, uris: Collection[str], repository: Repository, builder: EntryBuilder) -> None:
    """Record since when these URIs are not public, as far as the repository knows (rule 13)."""
    wanted = {uri for uri in uris if not inventory.holds(uri)}
    if wanted:
        suspects = inventory.suspects(wanted)
        found = repository.hidden() if suspects is None else repository.hidden_of(sorted(suspects))
        inventory.add_removed(
            (hidden_uri.uri, render_time(hidden_uri.closed))
            for hidden in found
            for hidden_uri in hidden_uris(hidden, builder.addresses, builder.crosswalks, builder.at)
            if hidden_uri.uri in wanted
        )
