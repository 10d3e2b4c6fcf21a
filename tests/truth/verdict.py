"""The verdict: what is told against what is true, step by step and change by change."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.truth.landings import Landings
from tests.truth.steps import Step, is_resource
from tests.truth.told import Told, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is counted together: changes of one kind to one sort of page."""

    sort: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A change that is not told (a miss), or is told and not true (an invention).

    `path` is the URI where no path is known.
    """

    cell: Cell
    path: str
    sha: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All counts and all faults.

    `unstable` counts by path the changes left out because its bytes are never the same, `aliases` those that are told
    of a second address of one file at the same commit. `hashes` counts what was told of bytes: "right", "wrong", and
    "missing" where no hash is told; the last two are named in `wrong`.
    """

    truth: Counter[Cell] = field(default_factory=Counter)
    told: Counter[Cell] = field(default_factory=Counter)
    right: Counter[Cell] = field(default_factory=Counter)
    misses: list[Fault] = field(default_factory=list)
    inventions: list[Fault] = field(default_factory=list)
    unstable: Counter[str] = field(default_factory=Counter)
    aliases: Counter[str] = field(default_factory=Counter)
    hashes: Counter[str] = field(default_factory=Counter)
    wrong: list[Fault] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is to be judged: the steps, what is told, and what both are about.

    `ever` gives the sort of every output path that there ever was, `unstable` names the paths whose bytes are never the
    same, `exclude` what is no resource. `hashes` says whether
    hashes that are told must be those of plain builds: not so where pages were published with links added to them.
    """

    steps: Sequence[Step]
    told: Sequence[Told]
    siteurl: str
    landings: Landings
    ever: Mapping[str, str]
    unstable: frozenset[str] = frozenset()
    exclude: Sequence[str] = ()
    hashes: bool = False


def judge(case: Case) -> Verdict:
    """Compare."""
    verdict = Verdict()
    rows = _by_commit(case)
    for step in case.steps:
        _Bench(case, verdict, step).judge([row for commit in step.commits for row in rows.get(commit.sha, ())])
    return verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A told change: the output path that it means, and the commit that it names; `exact` if it does so to the tick."""

    path: str
    kind: str
    sha: str
    exact: bool
    uri: str
    digest: str | None


def _by_commit(case: Case) -> dict[str, list[_Row]]:
    """Return what is told of resources, by the commit whose landing time it names, or the next one."""
    states = {commit.sha: step for step in case.steps for commit in step.commits}
    rows: dict[str, list[_Row]] = {}
    for told in case.told:
        sha, exact = case.landings.commit(told.time)
        if sha not in states:
            continue
        step = states[sha]
        path = path_of(told.uri, case.siteurl, step.after, step.before, case.ever) or told.uri
        if is_resource(path, case.exclude):
            row = _Row(path=path, kind=told.kind, sha=sha, exact=exact, uri=told.uri, digest=told.digest)
            rows.setdefault(sha, []).append(row)
    return rows


class _Bench:
    """Judges one step."""

    def __init__(self, case: Case, verdict: Verdict, step: Step) -> None:
        self._case = case
        self._verdict = verdict
        self._step = step

    def judge(self, rows: Sequence[_Row]) -> None:
        """Compare what is told of the step with what is true."""
        true = {path: kind for path, kind in self._step.changes() if is_resource(path, self._case.exclude)}
        found = self._by_path(rows)
        told = {path: self._effect(path, each, true.get(path)) for path, each in found.items()}
        for path in sorted(true.keys() | told.keys()):
            self._compare(path, true.get(path), told.get(path))
        if self._case.hashes:
            for path, commits in sorted(found.items()):
                self._compare_hashes(path, [*commits.values()][-1].values())

    def _compare(self, path: str, true: str | None, told: str | None) -> None:
        if path in self._case.unstable and {true, told} <= {None, "updated"}:
            self._verdict.unstable[path] += "updated" in (true, told)
            return
        if true:
            self._verdict.truth[self._cell(path, true)] += 1
        if told:
            self._verdict.told[self._cell(path, told)] += 1
        if true and true == told:
            self._verdict.right[self._cell(path, true)] += 1
            return
        if true:
            self._verdict.misses.append(self._fault(path, true, f"told as {told}" if told else ""))
        if told:
            self._verdict.inventions.append(self._fault(path, told, f"really {true}" if true else self._hidden(path)))

    def _compare_hashes(self, path: str, rows: Iterable[_Row]) -> None:
        """Compare the hashes told of a path last with that of its bytes."""
        built = self._step.after.get(path)
        if built is None or built.hidden or path in self._case.unstable:
            return
        for row in rows:
            if row.kind != "deleted":
                what = "missing" if row.digest is None else "right" if row.digest == built.digest else "wrong"
                self._verdict.hashes[what] += 1
                if what != "right":
                    self._verdict.wrong.append(self._fault(path, row.kind, f"{what} hash"))

    def _by_path(self, rows: Sequence[_Row]) -> dict[str, dict[str, dict[str, _Row]]]:
        """Return what is told, by path, commit and URI. What is told at a wrong time, or twice, is invented."""
        found: dict[str, dict[str, dict[str, _Row]]] = {}
        for row in rows:
            if not row.exact:
                self._invent(row, "at no landing time")
                continue
            by_uri = found.setdefault(row.path, {}).setdefault(row.sha, {})
            if row.uri in by_uri:
                self._invent(row, "told twice")
            else:
                by_uri[row.uri] = row
        return found

    def _effect(self, path: str, told: Mapping[str, Mapping[str, _Row]], true: str | None) -> str | None:
        """Return what amounts of all that is told of one path."""
        self._verdict.aliases[path] += sum(len(by_uri) - 1 for by_uri in told.values())
        each = [[row.kind for row in by_uri.values()] for by_uri in told.values()]
        return _answer(each[0], true) if len(each) == 1 else fold([one for one in map(_answer, each) if one])

    def _invent(self, row: _Row, note: str) -> None:
        self._verdict.told[self._cell(row.path, row.kind)] += 1
        self._verdict.inventions.append(
            Fault(cell=self._cell(row.path, row.kind), path=row.path, sha=row.sha, note=note)
        )

    def _fault(self, path: str, kind: str, note: str) -> Fault:
        return Fault(cell=self._cell(path, kind), path=path, sha=self._step.commit.sha, note=note)

    def _cell(self, path: str, kind: str) -> Cell:
        known = path in self._step.after or path in self._step.before
        sort = self._step.sort(path) if known else self._case.ever.get(path, "unknown")
        return Cell(sort=sort, kind=kind)

    def _hidden(self, path: str) -> str:
        states = [state[path] for state in (self._step.before, self._step.after) if path in state]
        return "hidden" if any(output.hidden for output in states) else ""


def _answer(kinds: Sequence[str], true: str | None = None) -> str | None:
    """Return the kind that is told of one path at one commit: of several addresses of one file, the one that is true.

    An address that goes while another comes is no change of the file, but it says that there may be one.
    """
    if true in kinds:
        return true
    if {"created", "deleted"} <= set(kinds):
        return "updated" if true == "updated" else None
    return kinds[0]


def fold(kinds: Sequence[str]) -> str | None:
    """Return what changes amount to, told one after the other of one path; none if nothing."""
    if not kinds:
        return None
    before, after = kinds[0] != "created", kinds[-1] != "deleted"
    return {(True, True): "updated", (False, True): "created", (True, False): "deleted"}.get((before, after))
