"""The report: tables of counts, and lists of what is wrong."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import Any

from tests.truth.account import Account
from tests.truth.consistency import Breach, Consistency
from tests.truth.verdict import Cell, Fault, Verdict

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

    @property
    def recall(self) -> str:
        """What part of the truth is told."""
        return _percent(self.right, self.truth)

    @property
    def precision(self) -> str:
        """What part of the told is true."""
        return _percent(self.right, self.told)


def rows(verdict: Verdict, *, whole: Iterable[bool] = (False, True)) -> list[Row]:
    """Return the rows of one table: each sort and kind of which there is anything, and the sums by kind."""
    cells = {cell for counter in (verdict.truth, verdict.told) for cell in counter if cell.whole in whole}
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


def text(verdict: Verdict, commits: Account, consistency: Consistency, *, split: bool, limit: int) -> Iterator[str]:
    """Return the lines of the report for people."""
    if split:
        yield from _table("Commits that change no settings and no theme", rows(verdict, whole=[False]))
        yield from _table("Commits that change settings or theme", rows(verdict, whole=[True]))
    yield from _table("All commits", rows(verdict))
    yield from _commits(commits)
    changes = sum(verdict.unstable.values())
    yield f"Not reproducible: {len(verdict.unstable)} paths, of which {changes} updates are left out"
    yield from (f"  {path}: {count}" for path, count in verdict.unstable.most_common(limit))
    yield f"Told of what is hidden: {sum(fault.note == 'hidden' for fault in verdict.inventions)}"
    yield f"Right but for the commit (a miss and an invention each): {len(verdict.misdated)}"
    yield from (
        f"  {each.kind} {each.path} true at {each.true[:10]}, told at {each.told[:10]}"
        for each in verdict.misdated[:limit]
    )
    yield from _breaches(consistency, limit)
    if verdict.hashes:
        yield f"Hashes: {', '.join(f'{verdict.hashes[what]} {what}' for what in ('right', 'wrong', 'missing'))}"
        yield from (f"  {fault.sha[:10]} {fault.path} ({fault.note})" for fault in verdict.wrong[:limit])
    yield from _faults("Misses", verdict.misses, limit)
    yield from _faults("Inventions", verdict.inventions, limit)


def _table(title: str, found: Sequence[Row]) -> Iterator[str]:
    yield f"{title}\n"
    yield f"{'sort':8} {'kind':8} {'truth':>7} {'told':>7} {'right':>7} {'recall':>8} {'precision':>9}"
    for row in found:
        counts = f"{row.truth:7} {row.told:7} {row.right:7}"
        yield f"{row.sort:8} {row.kind:8} {counts} {row.recall:>8} {row.precision:>9}"
    yield ""


def _commits(commits: Account) -> Iterator[str]:
    yield f"Commits: {commits.asked} asked about, {commits.builds} builds, {commits.errors} with errors logged"
    failed = f"Do not build: {len(commits.failed)}"
    yield f"{failed}; {commits.folded} folded into the next commit that does, {commits.apart} left out"
    for reason, count in Counter(commits.failed.values()).most_common():
        some = [sha[:10] for sha, why in commits.failed.items() if why == reason]
        yield f"  {count}: {reason} ({', '.join(some[:3])}{', …' if count > len(some[:3]) else ''})"


def _breaches(consistency: Consistency, limit: int) -> Iterator[str]:
    for name, breaches in _by_name(consistency).items():
        yield f"{name.replace('_', ' ').capitalize()}: {len(breaches)}"
        yield from (
            " ".join(filter(None, [" ", each.sha[:10], each.uri, each.note and f"({each.note})"]))
            for each in breaches[:limit]
        )


def _by_name(consistency: Consistency) -> dict[str, list[Breach]]:
    return {each.name: getattr(consistency, each.name) for each in fields(consistency)}


def _faults(title: str, faults: Sequence[Fault], limit: int) -> Iterator[str]:
    def group(fault: Fault) -> tuple[bool, int, int]:
        return fault.cell.whole, SORTS.index(fault.cell.sort), KINDS.index(fault.cell.kind)

    yield f"{title}: {len(faults)}"
    for _, each in groupby(sorted(faults, key=group), group):
        found = list(each)
        cell = found[0].cell
        where = " in commits that change settings or theme" if cell.whole else ""
        yield f"  {cell.sort}, {cell.kind}{where}: {len(found)}"
        yield from (f"    {fault.sha[:10]} {fault.path}{fault.note and f' ({fault.note})'}" for fault in found[:limit])
        if len(found) > limit:
            yield f"    … and {len(found) - limit} more"


def data(verdict: Verdict, commits: Account, consistency: Consistency) -> dict[str, Any]:
    """Return the whole report for machines."""
    return {
        "tables": {
            "plain": [asdict(row) for row in rows(verdict, whole=[False])],
            "whole-site": [asdict(row) for row in rows(verdict, whole=[True])],
            "all": [asdict(row) for row in rows(verdict)],
        },
        "commits": asdict(commits),
        "unstable": dict(verdict.unstable),
        "misdated": [asdict(each) for each in verdict.misdated],
        "consistency": asdict(consistency),
        "hashes": {what: verdict.hashes[what] for what in ("right", "wrong", "missing")},
        "wrong": [asdict(each) for each in verdict.wrong],
        "misses": [asdict(each) for each in verdict.misses],
        "inventions": [asdict(each) for each in verdict.inventions],
    }


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
