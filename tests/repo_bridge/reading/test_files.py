"""From rows to files: a row for each bundle, title and policy of a file, in any order."""

from itertools import product
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from repo_bridge.reading.repository import files_of
from tests.repo_bridge.reading.test_changes import BOTH

#: Of a file: its key, where bundles have it, its titles (place, number, text), and the dates of its policies.
_FILES: list[tuple[str, *tuple[list[tuple[Any, ...]], ...]]] = [
    ("b", [("TEXT", 1), ("ORIGINAL", 5)], [(1, 7, "A"), (0, 9, "C"), (None, 8, "B")], [(None, "2030-01-01")]),
    ("a", [("ORIGINAL", None)], [(None, None, None)], [("2020-01-01", None), ("2030-01-01", None)]),
    ("d", [("ORIGINAL", 5)], [(0, 2, "y"), (0, 2, "x")], [("2030-01-01", None)]),
    ("c", [("TEXT", 0)], [(0, 1, "c")], [(None, None)]),
]
_ROWS = [
    ("item", key, *bundle, *title, 1, 10, "F" * 32, " md5", "Text/Plain; x", 0, key * 3, 0, *dates, 0, None, None)
    for key, *parts in _FILES
    for bundle, title, dates in product(*parts)
]


@given(st.randoms(use_true_random=False))
def test_any_order(random: Random) -> None:
    """Files come in the order of bundles, then of their places there, each with its first title and all policies."""
    rows = [*_ROWS]
    random.shuffle(rows)
    files = files_of(rows, BOTH)
    found = [(file.publish(BOTH), file.is_public(BOTH)) for file in files]
    assert [(each.id, each.bundle, each.name, public) for each, public in found] == [
        ("b", "ORIGINAL", "B", True),
        ("d", "ORIGINAL", "x", False),
        ("a", "ORIGINAL", "", True),
        ("c", "TEXT", "c", True),
    ]
    first = found[0][0]
    assert (first.length, first.md5, first.type, first.internal_id) == (10, "f" * 32, "text/plain", "bbb")
    assert [each.opened is None for each, _ in found] == [True, True, False, True]
    assert [file.hide(BOTH).id for file in files_of(rows, BOTH)] == ["b", "d", "a", "c"]
