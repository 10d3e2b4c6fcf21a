"""PostgreSQL dumps, read without a server: the tables and columns needed are copied to an SQLite database."""

from repo_bridge.reading.dump.importing import ImportResult, import_dump

__all__ = ["ImportResult", "import_dump"]
