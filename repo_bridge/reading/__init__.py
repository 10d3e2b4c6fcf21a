"""Every source that can be read: DSpace's database, a dump of it, Simple Archive Format, and a user's SQL statement."""

from repo_bridge.reading.database import open_database
from repo_bridge.reading.dump import counted, import_dump
from repo_bridge.reading.query import QueryRow, read_query, read_query_metadata
from repo_bridge.reading.repository import DSpaceRepository, open_repository
from repo_bridge.reading.row_versions import Origin
from repo_bridge.reading.saf import read_archive, read_withheld

__all__ = [
    "DSpaceRepository",
    "Origin",
    "QueryRow",
    "counted",
    "import_dump",
    "open_database",
    "open_repository",
    "read_archive",
    "read_query",
    "read_query_metadata",
    "read_withheld",
]
