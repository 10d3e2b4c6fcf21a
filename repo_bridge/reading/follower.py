"""Merging sorted rows: what belongs to one key after the other, without keeping what has passed."""

from collections.abc import Iterable
from typing import Any

from repo_bridge.errors import DatabaseError

Row = tuple[Any, ...]


class Follower:
    """Rows sorted by their first column, given to whoever asks for one key after the other, in the same order."""

    def __init__(self, rows: Iterable[Row], name: str) -> None:
        """Begin before the first row; messages call the rows `name`."""
        self._rows = iter(rows)
        self._name = name
        self._row: Row | None = None
        self._begun = False
        self._key: Any = None

    def take(self, key: int | str) -> list[Row]:
        """Give the rows of `key`, which is greater than all before; `DatabaseError` where rows are out of order."""
        row = self._row if self._begun else next(self._rows, None)
        self._begun = True
        while row is not None and row[0] < key:
            self._require_order(row)
            row = next(self._rows, None)
        taken = []
        while row is not None and row[0] == key:
            taken.append(row)
            row = next(self._rows, None)
        self._row, self._key = row, key
        return taken

    def _require_order(self, row: Row) -> None:
        """Refuse a skipped row that does not lie between the key before and this one."""
        if self._key is not None and row[0] <= self._key:
            message = (
                f"the database does not sort {self._name} by their keys as text: look at the collation of the keys"
            )
            raise DatabaseError(message)
