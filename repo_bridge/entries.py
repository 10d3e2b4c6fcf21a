"""From items to entries of the inventory; their records and files are written on the way."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from pelican_resourcesync.protocol import render_link, render_metadata
from pelican_resourcesync.publication import MD5, SHA_256, parse_representation, parse_time, render_time
from repo_bridge.files import RecordFiles, StoredFile
from repo_bridge.inventory import Entry, ItemEntries
from repo_bridge.model import Item, MetadataValue
from repo_bridge.reading import QueryRow
from repo_bridge.records import (
    Addresses,
    Crosswalk,
    FileResource,
    Link,
    Record,
    Sets,
    described_by,
    latest,
    record_path,
    records_of,
    resources_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBuilder:
    """Makes entries as of the time `at` (UTC); without `record_files`, nothing is written.

    `stored` says that files may be found in an assetstore; `apart` says that the records are also a set of their own.
    """

    addresses: Addresses
    crosswalks: Sequence[Crosswalk]
    at: datetime
    sets: Sets
    record_files: RecordFiles | None
    stored: bool = False
    apart: bool = False

    def make(self, item: Item) -> ItemEntries:
        """Return the entries of an item."""
        made = resources_of(item, self.addresses, self.crosswalks, self.at)
        sets = self.sets.of_item(item)
        with_records = (*sets, self.sets.records) if self.apart else sets
        entries = (
            *(self._record(each, with_records) for each in made.records),
            *(self._file(each, sets) for each in made.files),
        )
        settled = item.last_modified is None or item.last_modified <= self.at
        return ItemEntries(item.id, entries, len(made.records), settled)

    def make_from_row(self, row: QueryRow) -> Entry:
        """Return the entry of a row of a query."""
        hashed = f"{SHA_256}:{row.sha256}" if row.sha256 else f"{MD5}:{row.md5}" if row.md5 else None
        within = (self.sets.name(row.set),) if row.set else ()
        changed = render_time(latest(self.at, row.lastmod))
        return Entry(row.uri, render_metadata(hashed, row.length, row.type), changed=changed, sets=within)

    def describe(
        self, item: str, metadata: tuple[MetadataValue, ...], about: Sequence[Entry]
    ) -> tuple[ItemEntries, str]:
        """Return the records of an item whose resources are known, and the links from these to the records."""
        changed = latest(self.at, *(parse_time(entry.changed) for entry in about))
        types = [parse_representation(entry.representation).type for entry in about]
        described = [Link(entry.uri, "describes", type_) for entry, type_ in zip(about, types, strict=True)]
        known = Item(id=item, handle=None, last_modified=changed, metadata=metadata)
        records = records_of(known, self.addresses, self.crosswalks, described, changed)
        sets = tuple(sorted({name for entry in about for name in entry.sets}))
        entries = tuple(self._record(record, sets) for record in records)
        return ItemEntries(item, entries, len(entries)), _links(tuple(described_by(records)))

    def record_uris(self, item: str) -> list[str]:
        """Return the URIs of the records of an item without a handle."""
        return [self.addresses.record(record_path(each.prefix, item, None)) for each in self.crosswalks]

    def _record(self, record: Record, sets: tuple[str, ...]) -> Entry:
        digest = hashlib.sha256(record.content).hexdigest()
        return Entry(
            uri=record.uri,
            representation=render_metadata(f"{SHA_256}:{digest}", len(record.content), record.type),
            links=_links(record.links),
            changed=render_time(record.changed),
            place=self.record_files.write(record.path, record.content) if self.record_files else record.path,
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
            return self.record_files.copy(file.path, file.bitstream.file) if self.record_files else file.path
        return StoredFile.of(file.bitstream).render() if self.stored else ""


@lru_cache(maxsize=1)  # the files of an item all have the same links
def _links(links: tuple[Link, ...]) -> str:
    return "".join([render_link(link.rel, link.href, link.type) for link in links])
