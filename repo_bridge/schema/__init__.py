"""DSpace's tables, described once for each version: what they are, and which version a database is of."""

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
