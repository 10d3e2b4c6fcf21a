"""Dumps of PostgreSQL, read without a server: what is needed of them becomes a database of SQLite."""

from repo_bridge.dump.importing import Imported, import_dump

__all__ = ["Imported", "import_dump"]
