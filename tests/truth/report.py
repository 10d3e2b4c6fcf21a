"""The report: tables of counts, and lists of what is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tests.truth.account import Account
from tests.truth.consistency import Consistency
from tests.truth.verdict import Cell, Verdict

KINDS = ("created", "updated", "deleted")
SORTS = ("article", "page", "listing", "feed", "static", "theme", "other", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table."""

    sort: str
    kind: str
    truth: int
    told: int
    right: int


def rows(verdict: Verdict) -> list[Row]:
    """Return the rows of one table: each sort and kind of which there is anything, and the sums by kind."""
    cells = {cell for counter in (verdict.truth, verdict.told) for cell in counter}
    found = []
    for sort in (*SORTS, "all"):
        for kind in KINDS:
            group = [cell for cell in cells if cell.kind == kind and sort in (cell.sort, "all")]
            if group:
                found.append(_row(verdict, sort, kind, group))
    return found


def _row(verdict: Verdict, sort: str, kind: str, cells: Sequence[Cell]) -> Row:
    truth, told, right = (
        sum(counter[cell] for cell in cells) for counter in (verdict.truth, verdict.told, verdict.right)
    )
    return Row(sort=sort, kind=kind, truth=truth, told=told, right=right)


def text(verdict: Verdict, commits: Account, consistency: Consistency, *, limit: int) -> Iterator[str]:
    """Return the lines of the report for people: a table, and every sort of fault with its first examples."""
    yield f"{'sort':8} {'kind':8} {'truth':>7} {'told':>7} {'right':>7}"
    for row in rows(verdict):
        yield f"{row.sort:8} {row.kind:8} {row.truth:7} {row.told:7} {row.right:7}"
    yield f"commits: {commits.asked}, built: {commits.builds}, with errors: {commits.errors}"
    found = data(verdict, commits, consistency)
    faults = {name: found[name] for name in ("wrong", "misses", "inventions")} | found["consistency"]
    faults |= {"not built": sorted(commits.failed.items()), "unstable": sorted(verdict.unstable.items())}
    for name, each in faults.items():
        yield f"{name.replace('_', ' ')}: {len(each)}"
        yield from (f"  {fault}" for fault in each[:limit])


def data(verdict: Verdict, commits: Account, consistency: Consistency) -> dict[str, Any]:
    """Return the whole report for machines."""
    return {
        "tables": {"all": [asdict(row) for row in rows(verdict)]},
        "commits": asdict(commits),
        "unstable": dict(verdict.unstable),
        "consistency": asdict(consistency),
        "hashes": {what: verdict.hashes[what] for what in ("right", "wrong", "missing")},
        "wrong": [asdict(each) for each in verdict.wrong],
        "misses": [asdict(each) for each in verdict.misses],
        "inventions": [asdict(each) for each in verdict.inventions],
    }
