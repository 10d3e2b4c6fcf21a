"""DSpace's tables, described once for each version, and the detection of a database's version."""

from repo_bridge.schema.detect import detect, find_tables
from repo_bridge.schema.tables import VERSIONS, Tables, describe
from repo_bridge.schema.vocabulary import ANONYMOUS, ANONYMOUS_ID, READ, ObjectType

__all__ = [
    "ANONYMOUS",
    "ANONYMOUS_ID",
    "READ",
    "VERSIONS",
    "ObjectType",
    "Tables",
    "describe",
    "detect",
    "find_tables",
]
