"""Every case of the benchmark, tiny: that it starts in any folder, ends, and gives its figures."""

from pathlib import Path

import pytest

from tests.tools.bench.cases import CASES, tiny
from tests.tools.bench.runner import run_case

#: The others do the same with other sizes.
KINDS = [name for name, case in CASES.items() if not case.large and name not in ("build-20", "next", "next-history")]


def test_large_cases_differ_in_size_alone() -> None:
    """So nothing is left untried."""
    tried = {CASES[name].prepare.func for name in KINDS}  # type: ignore[attr-defined] # each is a `partial`
    assert {case.prepare.func for case in CASES.values()} == tried  # type: ignore[attr-defined] # as above


@pytest.mark.parametrize("name", KINDS)
def test_case(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its programs runs in its folder, and each figure can be calculated."""
    monkeypatch.chdir(tmp_path)
    case = tiny(CASES[name])
    results = run_case(case, tmp_path, rounds=1)
    assert all(figure.shown(results) for figure in case.figures if figure.other in results)
