"""The judge: Change Lists that are wrong in one thing, and what it says of them."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.kit.sites import ROOT
from tests.tools.truth.builds import Output
from tests.tools.truth.judge import Change, Listed, ListedChange, Report, compare

SITEURL = "https://example.org"
TOOL = ROOT / "tests" / "tools" / "truth"
T = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 5)]


def output(digest: str, *, hidden: bool = False) -> Output:
    """Return an output file."""
    return Output(digest, hidden)


BUILT: list[tuple[datetime, dict[str, Output]]] = [
    (T[0], {"a.html": output("1"), "b/index.html": output("1"), "secret.html": output("1", hidden=True)}),
    (T[1], {"a.html": output("2"), "secret.html": output("2", hidden=True)}),
    (T[2], {"a.html": output("2"), "secret.html": output("1"), "404.html": output("1")}),
]
REALLY = [
    Change(T[0], "created", "a.html"),
    Change(T[0], "created", "b/index.html"),
    Change(T[1], "updated", "a.html"),
    Change(T[1], "deleted", "b/index.html"),
    Change(T[2], "created", "secret.html"),
]
RIGHT = [
    ListedChange(f"{SITEURL}/a.html", "created", T[0], "1"),
    ListedChange(f"{SITEURL}/b/", "created", T[0], "1"),
    ListedChange(f"{SITEURL}/a.html", "updated", T[1], "2"),
    ListedChange(f"{SITEURL}/b/", "deleted", T[1]),
    ListedChange(f"{SITEURL}/secret.html", "created", T[2], "1"),
]
RESOURCES: dict[str, str | None] = {f"{SITEURL}/a.html": "2", f"{SITEURL}/secret.html": "1"}
LATE = T[1] + timedelta(milliseconds=1)
ELSEWHERE = "https://example.organised/a.html"


def judged(changes: Sequence[ListedChange], resources: Mapping[str, str | None] = RESOURCES) -> Report:
    """Return what is said of these lists."""
    return compare(Report(len(BUILT), {}), BUILT, Listed(SITEURL, changes, resources), ["404.html"], hashes=True)


@pytest.mark.parametrize(
    ("third", "missing", "invented", "wrong_hashes"),
    [
        ([RIGHT[2]], [], [], []),
        ([], [REALLY[2]], [], []),
        ([replace(RIGHT[2], kind="created")], [REALLY[2]], [Change(T[1], "created", "a.html")], []),
        ([replace(RIGHT[2], time=LATE)], [REALLY[2]], [Change(LATE, "updated", "a.html")], []),
        ([replace(RIGHT[2], uri=ELSEWHERE)], [REALLY[2]], [Change(T[1], "updated", ELSEWHERE)], []),
        ([RIGHT[2], RIGHT[2]], [], [REALLY[2]], []),
        ([replace(RIGHT[2], digest=None)], [], [], [REALLY[2]]),
        ([replace(RIGHT[2], digest="3")], [], [], [REALLY[2]]),
    ],
    ids=["right", "left out", "kind", "time", "host", "twice", "no hash", "hash"],
)
def test_one_change(
    third: Sequence[ListedChange], missing: list[Change], invented: list[Change], wrong_hashes: list[Change]
) -> None:
    """What is listed in place of one change is named, and nothing else is."""
    report = judged([*RIGHT[:2], *third, *RIGHT[3:]])
    assert report.changes == REALLY
    assert (report.missing, report.invented, report.wrong_hashes) == (missing, invented, wrong_hashes)
    assert third != [RIGHT[2]] or report.impossible == []


NEVER = ListedChange(f"{SITEURL}/never.html", "created", T[2])
TWICE = replace(RIGHT[3], time=T[2])


@pytest.mark.parametrize(
    ("changes", "resources", "what"),
    [
        ([*RIGHT, NEVER], RESOURCES, "never.html is created, and was never there"),
        (RIGHT[1:], RESOURCES, "a.html is updated at 2024-01-02 00:00:00+00:00, after nothing"),
        ([*RIGHT, TWICE], RESOURCES, "b/ is deleted at 2024-01-03 00:00:00+00:00, after deleted"),
        ([*RIGHT[:3], RIGHT[4]], RESOURCES, "b/ is there by its changes, or in the Resource List, not both"),
        (RIGHT, {**RESOURCES, f"{SITEURL}/b/": "1"}, "b/ was not built"),
        (RIGHT, {f"{SITEURL}/a.html": "2"}, "secret.html is not listed"),
        (RIGHT, {**RESOURCES, f"{SITEURL}/a.html": None}, "a.html has another hash in the Resource List"),
    ],
    ids=["never there", "updated first", "deleted twice", "not gone", "not built", "not listed", "hash"],
)
def test_impossible_history(changes: Sequence[ListedChange], resources: Mapping[str, str | None], what: str) -> None:
    """What no history can say is named."""
    assert what in [each.removeprefix(f"{SITEURL}/") for each in judged(changes, resources).impossible]


def test_judge_imports_nothing_of_what_it_judges() -> None:
    """Its driver needs Pelican alone."""
    for module in TOOL.glob("*.py"):
        for name in _imports(module):
            assert not name.startswith(("pelican_resourcesync", "repo_bridge")), (module, name)
    roots = {name.partition(".")[0] for name in _imports(TOOL / "driver.py")}
    assert roots - {*sys.stdlib_module_names} == {"pelican"}


def _imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
