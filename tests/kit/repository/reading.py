"""Reading repositories in tests: what was read, in the terms of the oracle."""

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from repo_bridge.access import AnonymousView
from repo_bridge.model import Item
from repo_bridge.reading.repository import open_repository
from sample_site.dspace.repository import Sample, rows_of
from sample_site.dspace.tables import Rows, write_sqlite
from tests.kit.repository.oracle import Visible
from tests.kit.repository.samples import AT

VIEW = AnonymousView(at=AT, zone=ZoneInfo("UTC"))


def url_of(file: Path) -> str:
    """Return the URL of a database of SQLite."""
    return f"sqlite:///{file}"


def written(folder: Path, rows: Rows, version: int = 7) -> str:
    """Write the rows into a database in a folder; return its URL."""
    (folder / "r.db").unlink(missing_ok=True)
    return url_of(write_sqlite(rows, version, folder / "r.db"))


def read(url: str, view: AnonymousView = VIEW, version: int | None = None) -> list[Item]:
    """Read all public items."""
    with open_repository(url, view, version=version) as repository:
        return [*repository.items()]


def read_sample(sample: Sample, folder: Path, version: int = 7, view: AnonymousView = VIEW) -> list[Item]:
    """Write a repository into a database in a folder, and read it."""
    file = folder / "repository.db"
    file.unlink(missing_ok=True)
    return read(url_of(write_sqlite(rows_of(sample, version), version, file)), view)


def seen(items: list[Item]) -> dict[str, Visible]:
    """Tell what was read as the oracle does, with all keys as text."""
    return {
        item.id: Visible(
            key=item.id,
            handle=item.handle,
            values=tuple(sorted((str(value.field), value.value, value.language) for value in item.metadata)),
            files=tuple(sorted((file.bundle, file.id) for file in item.bitstreams)),
            collections=tuple(sorted(collection.id for collection in item.collections)),
            versions=(item.predecessor and item.predecessor.id, item.successor and item.successor.id),
        )
        for item in items
    }


def as_read(visible: dict[Any, Visible]) -> dict[str, Visible]:
    """Return what the oracle tells in the same form."""
    return {
        str(key): Visible(
            key=str(key),
            handle=item.handle,
            values=item.values,
            files=tuple(sorted((bundle, str(file)) for bundle, file in item.files)),
            collections=tuple(sorted(map(str, item.collections))),
            versions=(item.versions[0] and str(item.versions[0]), item.versions[1] and str(item.versions[1])),
        )
        for key, item in visible.items()
    }
