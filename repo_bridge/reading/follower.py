"""Merges sorted rows: returns the rows of one key after another, without keeping earlier ones in memory."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from repo_bridge.errors import DatabaseError

Row = tuple[Any, ...]


class Follower:
    """Rows sorted by their first column, returned for one key after another, in the same order."""

    def __init__(self, rows: Iterable[Row], name: str) -> None:
        """Start before the first row; messages call the rows `name`."""
        self._groups = groupby(rows, itemgetter(0))
        self._name = name
        self._group: tuple[Any, Iterator[Row]] | None = None
        self._begun = False
        self._key: Any = None

    def take(self, key: int | str) -> list[Row]:
        """Return the rows of `key`, which is greater than all keys before; `DatabaseError` if rows are out of order."""
        group = self._group if self._begun else next(self._groups, None)
        self._begun = True
        while group is not None and group[0] < key:
            self._require_order(group[0])
            group = next(self._groups, None)
        taken: list[Row] = []
        if group is not None and group[0] == key:
            taken = [*group[1]]
            group = next(self._groups, None)
        self._group, self._key = group, key
        return taken

    def _require_order(self, key: Any) -> None:
        """Raise `DatabaseError` unless skipped rows lie between the previous key and this one."""
        if self._key is not None and key <= self._key:
            message = (
                f"the database does not sort {self._name} by their keys as text: look at the collation of the keys"
            )
            raise DatabaseError(message)
