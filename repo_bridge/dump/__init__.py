"""PostgreSQL dumps, read without a server: the tables and columns needed are copied to an SQLite database."""

from repo_bridge.dump.importing import Imported, import_dump

__all__ = ["Imported", "import_dump"]
