"""The faults: each is one change of a module that Python still understands."""

import ast
import importlib
import json
from pathlib import Path
from textwrap import dedent

import pytest

from tests.kit.sites import ROOT
from tests.tools.mutants.__main__ import LEFT_OUT, MORE_BY_HAND, NOTICED, PACKAGES
from tests.tools.mutants.by_hand import FAULTS_BY_HAND, locate, package_of, product_files
from tests.tools.mutants.faults import faults_in
from tests.tools.mutants.plugin import replace_functions

MODULE = '''
    """A module: a docstring that is left alone."""

    LIMIT = 10
    LARGE: int = 4_096


    def first(values: list[int], most: int = 1) -> int | None:
        """Return the first."""
        for value in values:
            if value < most and not value == 3:
                continue
            print(f"{value + 1} ü", LIMIT)
            return value
        if not values:  # pragma: no cover
            return 1
        if list(zip(values, values, strict=True)):
            return True
        return None
'''


def test_faults_of_a_module(tmp_path: Path) -> None:
    """Comparisons, operators, constants, statements and results; no annotation, docstring or message."""
    file = tmp_path / "module.py"
    file.write_text(dedent(MODULE).lstrip(), "utf-8")
    faults = faults_in(file, "module.py")
    assert [str(fault).removeprefix("module.py:") for fault in faults] == [
        "3: 10 -> (11) in: LIMIT = 10",
        "7: 1 -> (2) in: def first(values: list[int], most: int = 1) -> int | None:",
        "10: value < most -> (value <= most)",
        "10: value < most and not value == 3 -> (value < most or not value == 3)",
        "10: not value == 3 -> (value == 3)",
        "10: value == 3 -> (value != 3)",
        "10: 3 -> (4) in: if value < most and not value == 3:",
        "11: continue -> break",
        '12: print(f"{value + 1} ü", LIMIT) -> pass',
        "13: return value -> return None",
        "16: list(zip(values, values, strict=True)) -> (not list(zip(values, values, strict=True)))",
        "17: True -> (False) in: return True",
    ]
    source = file.read_text("utf-8")
    for fault in faults:
        changed = fault.apply(source)
        assert changed != source
        ast.parse(changed)
        assert len([1 for one, other in zip(source.split("\n"), changed.split("\n"), strict=True) if one != other]) == 1


def test_packages() -> None:
    """Each module with a function is tried, with tests that exist."""
    modules = [path for path, text in product_files().items() if "def " in text]
    assert {package_of(path, [*PACKAGES]) for path in modules} == PACKAGES.keys()
    tests = {*" ".join(PACKAGES.values()).split(), *(f"{name}.py" for name in LEFT_OUT)}
    assert [name for name in tests if not (ROOT / "tests" / name).exists()] == []


def test_a_fault_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions get a fault wherever they are known, also wrapped; what a module does when it is imported stays."""
    file = tmp_path / "faulty_in_place.py"
    source = dedent("""
        from functools import cache

        class One:
            def value(self): return [each + 1 for each in (1, 2)]

        @cache
        def two(number=3): return number + 4

        def adds(number):
            return lambda other: other + number + 5

        three = adds(3)
    """)
    file.write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(file.stem)
    one, two = module.One(), module.two
    assert (one.value(), two(0), module.three(0)) == ([2, 3], 4, 8)
    assert not replace_functions(file, source, source)
    assert not replace_functions(file, source, source.replace("number=3", "number=5"))
    assert replace_functions(file, source, source.replace("each + 1", "each + 6"))
    assert replace_functions(file, source, source.replace("number + 4", "number + 7"))
    assert replace_functions(file, source, source.replace("number + 5", "number + 6"))
    assert (one.value(), two(1), two(), module.three(0), module.adds(1)(0)) == ([7, 8], 8, 10, 9, 7)


def test_faults_by_hand_have_a_place() -> None:
    """Each is found in one place, in a package with tests, and Python still understands the module."""
    files = product_files()
    for fault in FAULTS_BY_HAND:
        place = locate(fault, files)
        assert package_of(place.path, [*PACKAGES])
        source = files[place.path]
        changed = place.apply(source)
        assert changed == source.replace(fault.before, fault.after) != source
        compile(changed, place.path, "exec", dont_inherit=True)
    assert len({fault.name for fault in FAULTS_BY_HAND}) == len(FAULTS_BY_HAND)
    assert all((ROOT / "tests" / name).exists() for names in MORE_BY_HAND.values() for name in names.split())
    assert MORE_BY_HAND.keys() <= PACKAGES.keys()


def test_noticed_faults_are_by_hand() -> None:
    """The file that says which test noticed a fault names faults that there are."""
    assert json.loads(NOTICED.read_text("utf-8")).keys() <= {fault.name for fault in FAULTS_BY_HAND}
