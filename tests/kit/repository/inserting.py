"""Rows for databases of tests, as statements that every database takes."""

Value = int | str | None
Row = dict[str, Value]


def insert(table: str, **columns: Value) -> str:
    """Return the statement that inserts a row."""
    texts = [
        "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
        for value in columns.values()
    ]
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(texts)});\n"
