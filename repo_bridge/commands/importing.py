"""`import`: copy the rows of a dump into an SQLite database."""

from pathlib import Path

from pelican_resourcesync.terminal import format_count
from repo_bridge.dump import Imported, import_dump
from repo_bridge.errors import DumpError


def import_into(dump: Path, export: Path, version: int | None) -> Imported:
    """Import a dump. Raises `DumpError` if the database would overwrite the dump, and what `import_dump` raises."""
    if export.exists() and dump.exists() and export.samefile(dump):
        message = f"{export} is the dump itself: name another file for the database"
        raise DumpError(message)
    return import_dump(dump, export, version)


def as_text(imported: Imported, export: Path) -> str:
    """Return a text with the DSpace version of the dump and the number of rows of each table."""
    lines = [f"{export}: a repository of DSpace {imported.version}"]
    lines += [f"  {table}: {format_count(number, 'row')}" for table, number in imported.rows.items()]
    return "\n".join(lines)
