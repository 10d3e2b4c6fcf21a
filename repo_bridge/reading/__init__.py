"""From database rows to values: the SQL statements, and the merging of sorted rows into items."""
