"""Merging rows that are sorted by keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_bridge.errors import DatabaseError
from repo_bridge.reading.execution import RowsByKey

_rows = st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=20).map(sorted)


@given(_rows, st.sets(st.integers(0, 9)))
def test_rows_of_each_key(rows: list[tuple[int, int]], keys: set[int]) -> None:
    """Each key that is asked for, in order, has all its rows and no other."""
    follower = RowsByKey(rows, "numbers")
    assert [follower.take(key) for key in sorted(keys)] == [
        [row for row in rows if row[0] == key] for key in sorted(keys)
    ]


def test_nothing_is_asked_before_it_is_wanted() -> None:
    """Rows are not begun before the first is taken: a database may be asked one thing at a time."""
    begun = []
    follower = RowsByKey((begun.append(number) or (number,) for number in (1, 2)), "numbers")  # type: ignore[func-returns-value]
    assert begun == []
    assert follower.take(1) == [(1,)]


def test_rows_out_of_order() -> None:
    """Rows that are not sorted would be lost, so they are an error."""
    follower = RowsByKey([("a",), ("c",), ("b",), ("d",)], "titles")
    assert follower.take("a") == [("a",)]
    assert follower.take("c") == [("c",)]
    with pytest.raises(DatabaseError, match="does not sort titles by their keys"):
        follower.take("d")
