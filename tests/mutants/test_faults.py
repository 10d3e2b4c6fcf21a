"""The faults: each is one change of a module that Python still understands."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants.__main__ import interval
from tests.mutants.faults import faults_in

MODULE = '''
    """A module: a docstring that is left alone."""

    LIMIT = 10


    def first(values: list[int], most: int = 1) -> int | None:
        """Return the first."""
        for value in values:
            if value < most and not value == 3:
                continue
            print(f"{value + 1} ü", LIMIT)
            return value
        return None
'''


def test_faults_of_a_module(tmp_path: Path) -> None:
    """Comparisons, operators, constants, statements and results; no annotation, docstring or message."""
    file = tmp_path / "module.py"
    file.write_text(dedent(MODULE).lstrip(), "utf-8")
    faults = faults_in(file, "module.py")
    assert [str(fault).removeprefix("module.py:") for fault in faults] == [
        "3: 10 -> (11)",
        "6: 1 -> (2)",
        "9: value < most -> (value <= most)",
        "9: value < most and not value == 3 -> (value < most or not value == 3)",
        "9: not value == 3 -> (value == 3)",
        "9: value == 3 -> (value != 3)",
        "9: 3 -> (4)",
        "10: continue -> break",
        '11: print(f"{value + 1} ü", LIMIT) -> pass',
        "12: return value -> return None",
    ]
    source = file.read_text("utf-8")
    for fault in faults:
        changed = fault.apply(source)
        assert changed != source
        ast.parse(changed)
        assert len([1 for one, other in zip(source.split("\n"), changed.split("\n"), strict=True) if one != other]) == 1


def test_confidence() -> None:
    """Wilson's interval, as published tables have it for 9 of 10."""
    assert interval(9, 10) == pytest.approx((0.5958, 0.9821), abs=0.0005)
