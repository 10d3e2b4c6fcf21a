"""Tables of resources in files of any size (Parquet, CSV or JSON lines), checked and sorted by DuckDB."""

from repo_bridge.tables.resources import TableResources
from repo_bridge.tables.sorting import CheckedTable, Sorting, sort_table, sort_table_by

__all__ = ["CheckedTable", "Sorting", "TableResources", "sort_table", "sort_table_by"]
