"""Converts items and rows to entries of the inventory, and writes their records and files."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pelican_resourcesync.protocol import render_link, render_metadata
from pelican_resourcesync.publication import MD5, SHA_256, render_time
from repo_bridge.inventory.inventory import Entry, ItemEntries
from repo_bridge.inventory.record_files import RecordFiles, StoredFile
from repo_bridge.model import Item
from repo_bridge.reading import QueryRow
from repo_bridge.records import Addresses, Crosswalk, FileResource, Link, Record, Sets, latest, resources_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBuilder:
    """Makes entries as of the time `at` (UTC); without `holdings`, nothing is written.

    `stored` says that files may be found in an assetstore; `records` says that the records are also a set of their own.
    """

    addresses: Addresses
    crosswalks: Sequence[Crosswalk]
    at: datetime
    sets: Sets
    holdings: RecordFiles | None
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

    def _record(self, record: Record, sets: tuple[str, ...]) -> Entry:
        place = self.holdings.write(record.path, record.content).render() if self.holdings else ""
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
            return self.holdings.copy(file.path, file.bitstream.file).render() if self.holdings else ""
        return StoredFile.of(file.bitstream).render() if self.stored else ""


def _links(leads: Iterable[Link]) -> str:
    return "".join([render_link(lead.rel, lead.href, lead.type) for lead in leads])


def entries_of(rows: Iterator[QueryRow], sets: Sets, at: datetime) -> Iterator[tuple[str, Entry | None, str]]:
    """Yield for each row of a query its URI, its entry (`None` if deleted), and when it changed or was deleted.

    Times after `at` are ignored.
    """
    for row in rows:
        changed = render_time(latest(at, row.lastmod))
        if row.deleted:
            yield row.uri, None, changed
            continue
        hashed = f"{SHA_256}:{row.sha256}" if row.sha256 else f"{MD5}:{row.md5}" if row.md5 else None
        within = (sets.name(row.set),) if row.set else ()
        entry = Entry(row.uri, render_metadata(hashed, row.length, row.type), changed=changed, sets=within)
        yield row.uri, entry, changed
