"""The source of a repository: a DSpace database, an archive or a query, opened and read into an inventory."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from pelican_resourcesync.errors import SettingsError
from repo_bridge.access import AnonymousView, hidden
from repo_bridge.errors import DatabaseError
from repo_bridge.inventory import EntryBuilder, Inventory, InventoryLoader, RecordFiles, record_removals
from repo_bridge.model import Community, MetadataValue
from repo_bridge.reading import (
    Repository,
    import_dump,
    open_database,
    open_repository,
    read_archive,
    read_query,
    read_query_metadata,
)
from repo_bridge.records import Addresses, Sets, find_crosswalks
from repo_bridge.result import Progress
from repo_bridge.settings import Query, Settings

_SQLITE = b"SQLite format 3\0"

#: Archives are published with the URLs of current DSpace.
_NOW = 7

#: Fills an inventory; the record files are the files to be published with it.
Fill = Callable[[Inventory, RecordFiles | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An open source: `fill` reads it into an inventory, `record_removed` records since when URIs are not public.

    `repository` is the DSpace repository that it is, if it is one. `cache_key` is everything other than items that an
    inventory depends on, empty if none can be cached. `pages` are the URIs of pages about sets, by set name.
    """

    fill: Fill
    sets: Sets
    repository: Repository | None = None
    cache_key: tuple[object, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)
    record_removed: Callable[[Inventory, Collection[str]], None] = lambda _inventory, _uris: None


@contextmanager
def open_source(settings: Settings, records: str, progress: Progress, *, apart: bool) -> Iterator[Source]:
    """Open the source in the settings. Records are served at `records`; with `apart`, they are also a set of their own.

    A dump is imported first. Raises what `open_repository`, `import_dump`, `read_archive` and `read_query` raise, here
    and when it is read: read it inside the `with` block.
    """
    if settings.saf is not None:
        yield _archive(settings, settings.saf, records, progress)
        return
    with TemporaryDirectory(prefix="repo-bridge-") as folder:
        url = _database(settings, Path(folder), progress)
        if settings.query:
            with open_database(url, settings.password) as connection:
                yield _query(settings, settings.query, connection, records, progress)
        else:
            yield from _repository(settings, url, records, progress, apart=apart)


def _database(settings: Settings, folder: Path, progress: Progress) -> str:
    """Return the URL of the database: for a dump, that of an SQLite database in the folder."""
    if "://" in settings.database:
        return settings.database
    file = Path(settings.database)
    if _begins_with(file, _SQLITE):
        return f"sqlite:///{file.absolute()}"
    progress.say(f"importing {file.name}")
    import_dump(file, folder / "export.db", settings.schema, progress.advance, settings.hidden)
    return f"sqlite:///{folder / 'export.db'}"


def _begins_with(file: Path, first: bytes) -> bool:
    """Return whether this is a file with these first bytes; `DatabaseError` if it exists but cannot be read."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            return stream.read(len(first)) == first
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror or error}: make it readable for the user who publishes"
        raise DatabaseError(message) from error


def _archive(settings: Settings, folder: Path, records: str, progress: Progress) -> Source:
    if settings.sets_by == "community":
        message = "Simple Archive Format has no communities: leave sets-by out, or set it to collection"
        raise SettingsError(message)
    sets = Sets(settings.set_name, settings.sets_by)
    addresses = Addresses(version=_NOW, ui=settings.ui_url, records=records, own_files=True)

    def fill(inventory: Inventory, record_files: RecordFiles | None) -> None:
        items = read_archive(folder, _view(settings))
        InventoryLoader(inventory, progress).from_archive(items, _builder(settings, addresses, sets, record_files))

    return Source(fill=fill, sets=sets)


def _query(settings: Settings, query: Query, connection: Connection, records: str, progress: Progress) -> Source:
    sets = Sets(settings.set_name)
    addresses = Addresses(version=_NOW, ui="", records=records)

    def fill(inventory: Inventory, record_files: RecordFiles | None) -> None:
        rows = read_query(connection, query.statement, settings.timezone or ZoneInfo("UTC"))
        metadata = _shown(read_query_metadata(connection, query.metadata), settings) if query.metadata else None
        builder = _builder(settings, addresses, sets, record_files)
        InventoryLoader(inventory, progress).from_query(rows, metadata, builder)

    return Source(fill=fill, sets=sets)


def _shown(
    metadata: Iterator[tuple[str, tuple[MetadataValue, ...]]], settings: Settings
) -> Iterator[tuple[str, tuple[MetadataValue, ...]]]:
    """Yield items with their metadata, without the fields that are hidden."""
    for item, values in metadata:
        yield item, tuple(value for value in values if not hidden(value.field, settings.hidden))


def _repository(settings: Settings, url: str, records: str, progress: Progress, *, apart: bool) -> Iterator[Source]:
    progress.say("opening the database")
    view = _view(settings)
    with open_repository(url, view, version=settings.schema, password=settings.password) as repository:
        communities: Mapping[str, Community] = {each.id: each for each in repository.hierarchy.communities.values()}
        sets = Sets(settings.set_name, settings.sets_by, communities)
        addresses = Addresses(
            version=repository.version,
            ui=settings.ui_url,
            server=settings.server_url,
            records=records,
            interface=settings.interface,
        )

        def fill(inventory: Inventory, record_files: RecordFiles | None) -> None:
            builder = _builder(settings, addresses, sets, record_files, apart=apart)
            InventoryLoader(inventory, progress).from_repository(repository, builder)

        def record_removed(inventory: Inventory, uris: Collection[str]) -> None:
            record_removals(inventory, uris, repository, _builder(settings, addresses, sets, None))

        yield Source(
            fill=fill,
            record_removed=record_removed,
            sets=sets,
            repository=repository,
            pages=sets.pages(repository.hierarchy.collections.values(), addresses),
            cache_key=(
                repository.shared_digest(),
                addresses,
                settings.metadata,
                settings.sets_by,
                apart,
                bool(settings.assetstore),
            ),
        )


def _builder(
    settings: Settings, addresses: Addresses, sets: Sets, record_files: RecordFiles | None, *, apart: bool = False
) -> EntryBuilder:
    return EntryBuilder(
        addresses=addresses,
        crosswalks=find_crosswalks(settings.metadata),
        at=settings.at,
        sets=sets,
        record_files=record_files,
        stored=bool(settings.assetstore),
        records=apart,
    )


def _view(settings: Settings) -> AnonymousView:
    return AnonymousView(
        at=settings.at,
        zone=settings.timezone,
        bundles=settings.bundles,
        entities=settings.entities,
        hidden=settings.hidden,
        fingerprints=settings.fingerprints,
    )
