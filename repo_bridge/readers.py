"""Readers fill the inventory from a source: a DSpace database, an archive in Simple Archive Format, or a query.

The inventory of the last run is still valid for items that have not changed. PostgreSQL says which may have changed
(see `reading.row_versions`). For all other sources, and once a week, everything is read.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from sqlalchemy import Connection

from pelican_resourcesync.errors import SettingsError, TransportError, failing_disk
from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import render_link
from pelican_resourcesync.publication import FOLDER, Layout, Resources, Workspace, render_time
from pelican_resourcesync.system.cluster import mapped
from pelican_resourcesync.terminal import Progress, format_count
from repo_bridge import DatabaseError, QueryError, TableError
from repo_bridge.access import AnonymousView, hidden
from repo_bridge.files import RecordFiles
from repo_bridge.inventory import Inventory, InventoryEntry, Seen
from repo_bridge.model import Item, MetadataValue
from repo_bridge.reading import (
    DSpaceRepository,
    Origin,
    QueryRow,
    counted,
    import_dump,
    open_database,
    open_repository,
    read_archive,
    read_query,
    read_query_metadata,
    read_withheld,
)
from repo_bridge.records import HTML, Addresses, EntryBuilder, Sets, find_formats, latest
from repo_bridge.settings import BridgeSettings, Query
from repo_bridge.tables import CheckedTable, Sorting, TableResources, sort_table, sort_table_by

_SQLITE = b"SQLite format 3\0"

#: Archives are published with the URLs of current DSpace.
_NOW = 7

#: What explains the deletion of a resource that a user's statement says is deleted.
_DELETED = "the column deleted"

#: Progress is reported after every so many items.
_STEP = 500


@contextmanager
def open_reader(settings: BridgeSettings, progress: Progress) -> Iterator["RepositoryReader"]:
    """Open the source in the settings. A dump is imported first.

    Raises what `open_repository`, `import_dump`, `read_archive` and `read_query` raise, here and when it is read: read
    it inside the `with` block.
    """
    if settings.saf is not None:
        yield ArchiveReader(settings, progress, settings.saf)
        return
    if settings.table is not None:
        with Workspace(settings.beside).temporary("table-") as folder, _drafts(settings) as drafts:
            yield TableReader(settings, progress, settings.table, folder, drafts)
        return
    with TemporaryDirectory(prefix="repo-bridge-") as folder:
        url = _database(settings, Path(folder), progress)
        progress.say("opening the database")
        if settings.query:
            with open_database(url, settings.password) as connection:
                yield QueryReader(settings, progress, settings.query, connection)
        else:
            view = _view(settings)
            with open_repository(url, view, version=settings.schema, password=settings.password) as repository:
                yield DSpaceReader(settings, progress, repository)


@contextmanager
def _drafts(settings: BridgeSettings) -> Iterator[BucketPath | None]:
    """Yield a folder for drafts in the bucket of the settings, if there is one, and remove it at the end."""
    if settings.bucket is None:
        yield None
        return
    folder = settings.bucket / f"{FOLDER}/.drafts-{token_hex(8)}"
    try:
        yield folder
    finally:
        with suppress(TransportError):  # the next upload removes it
            folder.remove()


class RepositoryReader(ABC):
    """Fills an inventory with what is public in an open source, in these `sets`.

    `key` is everything other than items that an inventory depends on, empty if none can be continued. `pages` are the
    URIs of pages about sets, and `titles` what people call them, by set name. `public_sets` are the names of those
    whose collection or community is public, `None` if all are. `partitions` are the names of sets besides the complete
    one that are not in the inventory. `repository` is the DSpace repository that is read, if it is one, and `table` the
    table, whose rows are in no inventory. `drafts` is a folder for drafts in a bucket, if they are to be there.
    """

    key = ""
    pages: Mapping[str, str] = {}
    titles: Mapping[str, str] = {}
    public_sets: Collection[str] | None = None
    partitions: Collection[str] = ()
    repository: DSpaceRepository | None = None
    table: CheckedTable | None = None
    drafts: BucketPath | None = None

    def __init__(self, settings: BridgeSettings, progress: Progress, sets: Sets, addresses: Addresses) -> None:
        """Read with these settings; `progress` is told how many items were read."""
        self.sets = sets
        self._settings = settings
        self._progress = progress
        self._addresses = addresses

    @abstractmethod
    def fill(self, inventory: Inventory, record_files: RecordFiles | None) -> None:
        """Fill an inventory; without `record_files`, no record is written."""

    def counts(self, inventory: Inventory) -> tuple[int, int, int]:
        """Return the numbers of items, of their records, and of all other resources."""
        return (0, 0, self.table.resources.total) if self.table else inventory.counts()

    def resources(self, within: str | None) -> Resources | None:  # noqa: ARG002 - for subclasses
        """Return the resources of a set, `None` if these are in the inventory."""
        return None

    def find_removed(self, inventory: Inventory, uris: Collection[str]) -> None:  # noqa: B027 - most know nothing
        """Record in an inventory since when these URIs are not public, as far as the source knows (rule 13)."""

    def withheld(self, ids: Iterable[str] | None) -> Iterable[tuple[str, tuple[MetadataValue, ...]]]:  # noqa: ARG002
        """Return items, at least those with these ids, with values that are hidden today, which may not be published.

        They are looked for in what was public.
        """
        return ()

    def _builder(self, record_files: RecordFiles | None) -> EntryBuilder:
        settings = self._settings
        return EntryBuilder(
            addresses=self._addresses,
            formats=find_formats(settings.metadata, settings.crosswalks),
            at=settings.at,
            sets=self.sets,
            record_files=record_files,
            stored=bool(settings.assetstore),
            apart=needs_records_set(settings),
        )

    def _add(self, inventory: Inventory, items: Iterable[Item], record_files: RecordFiles | None) -> None:
        entries = map(self._builder(record_files).make, counted(items, self._progress.advance, _STEP))
        while batch := [*islice(entries, _STEP)]:
            inventory.add(batch)
        inventory.sort()


class DSpaceReader(RepositoryReader):
    """Reads a DSpace repository, if possible only the items that may have changed since the last run."""

    repository: DSpaceRepository

    def __init__(self, settings: BridgeSettings, progress: Progress, repository: DSpaceRepository) -> None:
        """Read an open repository."""
        communities = {community.id: community for community in repository.hierarchy.communities.values()}
        sets = Sets(settings.set_name, settings.sets_by, communities)
        addresses = Addresses(
            version=repository.version,
            ui=settings.ui_url,
            server=settings.server_url,
            records=_records_uri(settings),
            interface=settings.interface,
            signposting=settings.signposting,
        )
        super().__init__(settings, progress, sets, addresses)
        self.repository = repository
        repository.require_known()
        shown = sets.containers(repository.hierarchy.collections.values())
        self.pages = {name: page for name, container in shown.items() if (page := addresses.container(container))}
        self.titles = {name: container.name for name, container in shown.items()}
        self.public_sets = {*shown}
        self.key = _key(settings, repository.shared_digest()) if repository.origin else ""

    def fill(self, inventory: Inventory, record_files: RecordFiles | None) -> None:
        """Fill an inventory; only items that may have changed are read, unless these are many."""
        repository, at = self.repository, render_time(self._settings.at)
        changed = self._changed(inventory) if inventory.before else None
        if changed is None or (record_files and record_files.published() != inventory.records()):
            inventory.clear()
            if repository.origin:
                inventory.set_sums(repository.sums())
            self._progress.say("reading the public items")
            self._add(inventory, repository.items(), record_files)
        else:
            self._progress.say("reading the items that may have changed")
            inventory.changed = changed
            inventory.remove(changed)
            self._add(inventory, repository.items_of(sorted(changed)), record_files)
        if origin := repository.origin:
            complete = inventory.before.complete if inventory.before and inventory.changed is not None else at
            total = repository.total
            seen = Seen(at, complete, origin.database, origin.transaction, origin.oldest, total)
            inventory.set_note("seen", seen)

    def withheld(self, ids: Iterable[str] | None) -> Iterable[tuple[str, tuple[MetadataValue, ...]]]:
        """Return these items, or all, with their hidden values and those of hidden items that are related."""
        return self.repository.withheld(ids)

    def _changed(self, inventory: Inventory) -> set[str] | None:
        """Return the items that may have changed, by the versions of their rows and by dates.

        Returns `None` if that is not known, or if they are too many to read them one by one.
        """
        seen, origin, repository = inventory.before, self.repository.origin, self.repository
        at = self._settings.at
        since = seen and seen.since(at)
        if seen is None or origin is None or since is None:
            return None
        if not origin.follows(Origin(seen.database, seen.transaction, seen.oldest)):
            return None
        self._progress.say("comparing the repository with the last run")
        found = set() if repository.total == seen.total else self._written(inventory, seen)
        found.update(repository.dependents(found), repository.dated_items(since), inventory.due(render_time(at)))
        return None if inventory.is_many(len(found)) else found

    def _written(self, inventory: Inventory, seen: Seen) -> set[str]:
        """Return the owners of rows that were written, replaced or removed.

        No others have changed if the sum of all rows changed by as much as those of the owners of written rows.
        """
        repository = self.repository
        found = repository.written_since(seen.oldest)
        before, now = inventory.sums(found), repository.sums_of(sorted(found))
        if int(seen.total) - sum(map(int, before.values())) == int(repository.total) - sum(map(int, now.values())):
            inventory.set_sums(now.items(), found)
            return found
        inventory.set_sums(repository.sums())
        return inventory.changed_sums()

    def find_removed(self, inventory: Inventory, uris: Collection[str]) -> None:
        """Record since when these URIs are not public, as far as the repository knows (rule 13)."""
        wanted = {uri for uri in uris if inventory.get(uri) is None}
        if wanted:
            builder, suspects = self._builder(None), inventory.suspects(wanted)
            found = self.repository.hidden() if suspects is None else self.repository.hidden_of(sorted(suspects))
            inventory.add_removed(
                (uri, render_time(closed), column)
                for item in found
                for uri, closed, column in builder.hidden_uris(item)
                if uri in wanted
            )
            files = {uri for uri in wanted if not uri.startswith(f"{builder.addresses.records}/")}
            if any(not inventory.column_of(uri) for uri in files):
                deleted = (builder.addresses.bitstream(key, None, None, "") for key in self.repository.deleted_files())
                inventory.add_removed((uri, "", "bitstream.deleted") for uri in deleted if uri in files)


class ArchiveReader(RepositoryReader):
    """Reads a folder in Simple Archive Format."""

    def __init__(self, settings: BridgeSettings, progress: Progress, folder: Path) -> None:
        """Read the archive in a folder; `SettingsError` if its sets cannot be formed."""
        if settings.sets_by == "community":
            message = "Simple Archive Format has no communities: leave sets-by out, or set it to collection"
            raise SettingsError(message)
        addresses = Addresses(version=_NOW, ui=settings.ui_url, records=_records_uri(settings), own_files=True)
        super().__init__(settings, progress, Sets(settings.set_name, settings.sets_by), addresses)
        self._folder = folder

    def fill(self, inventory: Inventory, record_files: RecordFiles | None) -> None:
        """Fill an inventory with all items."""
        self._progress.say("reading the public items")
        self._add(inventory, read_archive(self._folder, _view(self._settings)), record_files)

    def withheld(self, ids: Iterable[str] | None) -> Iterable[tuple[str, tuple[MetadataValue, ...]]]:  # noqa: ARG002 - all
        """Return all items with the values of hidden fields."""
        return read_withheld(self._folder, _view(self._settings))


class QueryReader(RepositoryReader):
    """Reads the rows of a user's statement, and of another one for the metadata of their items."""

    def __init__(self, settings: BridgeSettings, progress: Progress, query: Query, connection: Connection) -> None:
        """Read these statements over an open connection."""
        addresses = Addresses(version=_NOW, ui="", records=_records_uri(settings))
        super().__init__(settings, progress, Sets(settings.set_name), addresses)
        self._query = query
        self._connection = connection
        self.titles: dict[str, str] = {}

    def fill(self, inventory: Inventory, record_files: RecordFiles | None) -> None:
        """Fill an inventory with all rows, and with records of their items; times to come are ignored.

        Raises `QueryError` if two rows contradict each other about one URI, and for metadata that fit no row.
        """
        self._progress.say("reading the rows of the query")
        builder = self._builder(record_files)
        removed: dict[str, datetime | None] = {}
        found = read_query(self._connection, self._query.statement, self._settings.timezone or UTC)
        rows = counted(found, self._progress.advance, _STEP)
        while batch := [*islice(rows, _STEP)]:
            for row in (row for row in batch if row.deleted):
                changed = latest(builder.at, row.lastmod)
                inventory.add_removed([(row.uri, render_time(changed), _DELETED)])
                removed[row.owner] = latest(builder.at, changed, removed.get(row.owner))
            inventory.add_rows((row.owner, self._entry(row)) for row in batch if not row.deleted)
        if uri := inventory.contradiction():
            message = f"two rows of the statement contradict each other about {uri}: return one row per URI and set"
            raise QueryError(message)
        inventory.sort()
        for uri in inventory.removed_and_listed():
            message = (
                f"one row of the statement says that {uri} is deleted, and another that it is not: return only one"
            )
            raise QueryError(message)
        if self._query.metadata:
            self._describe(inventory, builder)
            uris = ((uri, changed) for item, changed in removed.items() for uri in builder.record_uris(item))
            inventory.add_removed(
                (uri, render_time(changed), _DELETED) for uri, changed in uris if inventory.get(uri) is None
            )

    def withheld(self, ids: Iterable[str] | None) -> Iterable[tuple[str, tuple[MetadataValue, ...]]]:  # noqa: ARG002 - all
        """Return all items with the values of hidden fields."""
        fields = self._settings.hidden
        for item, values in read_query_metadata(self._connection, self._query.metadata) if self._query.metadata else ():
            yield item, tuple(value for value in values if hidden(value.field, fields))

    def _entry(self, row: QueryRow) -> InventoryEntry:
        changed = render_time(latest(self._settings.at, row.lastmod))
        within = self.sets.name(row.set) if row.set else ""
        title = self.titles.setdefault(within, row.set_title) if row.set_title else None
        if title != row.set_title:
            message = f"the set {row.set!a} has two titles, {title!a} and {row.set_title!a}: use one for all rows"
            raise QueryError(message)
        page = row.page if row.page != row.uri else None
        known = (("collection", row.collection), ("describedby", page, HTML), ("license", row.license))
        links = "".join([render_link(*link) for link in known if link[1]])
        return InventoryEntry(row.uri, row.representation, links, changed=changed, sets=(within,) if within else ())

    def _describe(self, inventory: Inventory, builder: EntryBuilder) -> None:
        """Add a record of each item that has resources; metadata of others, which may be hidden, are left out."""
        self._progress.say("reading the metadata of the query")
        inventory.index_items()
        unknown, found = "", False
        for item, metadata in read_query_metadata(self._connection, self._query.metadata):
            values = tuple(value for value in metadata if not hidden(value.field, self._settings.hidden))
            about = inventory.of_item(item)
            if not about:
                unknown = unknown or item
                continue
            found = True
            if inventory.has_item(item):
                message = f"the rows of item {item[:80]!a} in the metadata statement are scattered: add ORDER BY item"
                raise QueryError(message)
            if values:
                records, links = builder.describe(item, values, about)
                inventory.add([records])
                inventory.add_links(item, links)
        inventory.sort()
        if unknown and not found and inventory.count():
            message = (
                f"none of the items in the metadata statement, such as {unknown[:80]!a}, is in the statement: use the"
                " same keys in the column item of both"
            )
            raise QueryError(message)


class TableReader(RepositoryReader):
    """Sorts a table into a folder or a bucket, where any process can read it."""

    def __init__(
        self,
        settings: BridgeSettings,
        progress: Progress,
        files: Path | BucketPath,
        folder: Path,
        drafts: BucketPath | None = None,
    ) -> None:
        """Sort these files, whose name may have wildcards, in a folder; with `drafts`, what is sorted goes there."""
        addresses = Addresses(version=_NOW, ui="", records=_records_uri(settings))
        super().__init__(settings, progress, Sets(settings.set_name), addresses)
        self._files, self._folder, self.drafts = files, folder.absolute(), drafts
        self._parts: dict[str, TableResources] = {}

    def fill(self, inventory: Inventory, record_files: RecordFiles | None) -> None:
        """Sort the table; raise `TableError` if it has more bad rows than are allowed."""
        del inventory, record_files
        self._progress.say("sorting the table")
        settings, zone = self._settings, self._settings.timezone or UTC
        how = Sorting(at=settings.at, zone=zone, memory=settings.memory, threads=settings.jobs)
        with mapped(1, settings.cluster if self.drafts else "") as run:
            if settings.cluster and self.drafts:
                self.table = sort_table_by(run, self._files, self.drafts, how)
            else:
                self.table = sort_table(self._files, self._folder, how)
                self.table = self.table.moved(self.drafts) if self.drafts else self.table
            if settings.partition_by:
                for prefix, part in self.table.resources.partitions(settings.partition_by, run).items():
                    label = prefix.removeprefix("https://").removesuffix("/")
                    self._parts[self.sets.name(label) if label else ""] = part
                self.partitions = {*filter(None, self._parts)}
        if self.table.bad > settings.bad_rows:
            what = f"{self._files} has {format_count(self.table.bad, 'bad row')}: {'; '.join(self.table.examples)}"
            message = f"{what}: correct them, or raise bad-rows to leave them out"
            raise TableError(message)

    def resources(self, within: str | None) -> Resources | None:
        """Return the resources of a set: with partitions, those of the complete set are what is in no other."""
        if self.table is None or not self._settings.partition_by:
            return self.table.resources if self.table else None
        return self._parts.get(within or "", TableResources((), 0))


def needs_records_set(settings: BridgeSettings) -> bool:
    """Return whether the records need a set of their own, because the complete set cannot be dumped.

    A dump contains all resources of its set (`CL06`). The bytes of a repository's files are available only from an
    assetstore, those of an archive always, those of the resources of a query never.
    """
    has_dumps = settings.dumps.resourcedump or settings.dumps.changedump
    return has_dumps and settings.saf is None and not settings.assetstore


def _database(settings: BridgeSettings, folder: Path, progress: Progress) -> str:
    """Return the URL of the database: for a dump, that of an SQLite database in the folder."""
    if "://" in settings.database:
        return settings.database
    file = Path(settings.database)
    advice = "check its path, and let the user who publishes read it"
    with failing_disk(f"{file} cannot be read", advice, DatabaseError):
        if file.is_file():
            with file.open("rb") as stream:
                if stream.read(len(_SQLITE)) == _SQLITE:
                    return f"sqlite:///{file.absolute()}"
    progress.say(f"importing {file.name}")
    import_dump(file, folder / "export.db", settings.schema, progress.advance, hidden_fields=None)
    return f"sqlite:///{folder / 'export.db'}"


def _records_uri(settings: BridgeSettings) -> str:
    layout = Layout(settings.base_url, settings.set_name)
    return layout.uri(layout.records)


def _view(settings: BridgeSettings) -> AnonymousView:
    return AnonymousView(
        at=settings.at,
        zone=settings.timezone,
        bundles=settings.bundles,
        entities=settings.entities,
        hidden=settings.hidden,
        fingerprints=settings.fingerprints,
    )


def _key(settings: BridgeSettings, shared: str) -> str:
    """Return a digest of everything other than items that a publication depends on."""
    own = {name: sha256(file.read_bytes()).hexdigest() for name, file in settings.crosswalks.items() if file.is_file()}
    ignored = {"at", "password", "prometheus", "previous", "allow_deletions", "allow_older", "moved_from", "warnings"}
    values = {row.name: getattr(settings, row.name) for row in fields(settings) if row.name not in ignored}
    return sha256(repr((shared, own, {**values, "hidden": sorted(settings.hidden)})).encode()).hexdigest()
