"""Consistency: what must hold of any history, even of one that does not know every change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tests.truth.builds import Output
from tests.truth.steps import Step, is_resource
from tests.truth.told import Told, path_of
from tests.truth.verdict import Case, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A URI of which something impossible is told, and of what commit, if of one."""

    uri: str
    sha: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """All that is impossible.

    - `never_existed`: URIs that should exist at some build, and that no build ever wrote, or only where it was hidden;
    - `too_early`: changes of a resource before its source landed, and before any build wrote it;
    - `out_of_order`: changes that cannot follow the one before them of the same URI, such as two deletions;
    - `wrong_end`: URIs that exist by their changes and are not in the Resource List, or the other way round;
    - `not_built` and `not_listed`: what the Resource List has more than the last build, and less;
    - `wrong_bytes`: what it lists with another hash than that of the bytes that were built.

    `unbuilt` is not impossible: changes of a resource before the first build that wrote it, of which the source had
    landed or is not known. Settings, theme and plug-ins of then did not write it yet.
    """

    never_existed: list[Breach] = field(default_factory=list)
    too_early: list[Breach] = field(default_factory=list)
    out_of_order: list[Breach] = field(default_factory=list)
    wrong_end: list[Breach] = field(default_factory=list)
    not_built: list[Breach] = field(default_factory=list)
    not_listed: list[Breach] = field(default_factory=list)
    wrong_bytes: list[Breach] = field(default_factory=list)
    unbuilt: list[Breach] = field(default_factory=list)


def check(
    case: Case, resources: Mapping[str, str | None], last: str, landed: Mapping[str, str] = MappingProxyType({})
) -> Consistency:
    """Return what is impossible in what is told, given the Resource List (hashes by URI) and the commit published.

    `landed` gives the commit that brought the source of an output path, where there is one. What the changes say of
    URLs is held against the builds of the window; their order, and the end, against themselves.
    """
    found = Consistency()
    _check_existence(case, landed, found)
    _check_order(case, resources, found)
    if case.steps and case.steps[-1].commit.sha == last:
        _check_list(case, resources, case.steps[-1].after, found)
    return found


def _check_existence(case: Case, landed: Mapping[str, str], found: Consistency) -> None:
    first = _first_steps(case.steps)
    places = {commit.sha: number for number, step in enumerate(case.steps) for commit in step.commits}
    unknown: dict[str, dict[int, list[Told]]] = {}
    for told in case.told:
        sha, _ = case.landings.commit(told.time)
        if sha not in places:
            continue
        number = places[sha]
        step = case.steps[number]
        path = path_of(told.uri, case.siteurl, _shown(step.after), _shown(step.before), first)
        if path is None:
            unknown.setdefault(told.uri, {}).setdefault(number, []).append(told)
        elif is_resource(path, case.exclude) and number < first[path]:
            early = path in landed and told.time < case.landings.time(landed[path])
            really = case.steps[first[path]].commit.sha
            breach = Breach(uri=told.uri, sha=sha, note=f"{told.kind}, first built at {really[:10]}")
            (found.too_early if early else found.unbuilt).append(breach)
    found.never_existed.extend(_seen(case, uri, numbers) for uri, numbers in unknown.items() if _lasts(numbers))


def _lasts(numbers: Mapping[int, Sequence[Told]]) -> bool:
    """Tell whether changes of one URI, by step, say that it was there when a commit was built."""
    return any(fold([told.kind for told in some]) for some in numbers.values())


def _seen(case: Case, uri: str, numbers: Mapping[int, Sequence[Told]]) -> Breach:
    told = next(iter(numbers.values()))[0]
    return Breach(uri=uri, sha=case.landings.commit(told.time)[0], note=told.kind)


def _first_steps(steps: Sequence[Step]) -> dict[str, int]:
    """Return the number of the first step after which there is an output path, by path; -1 if it was there before."""
    first = dict.fromkeys(_shown(steps[0].before), -1) if steps else {}
    for number, step in enumerate(steps):
        for path in _shown(step.after):
            first.setdefault(path, number)
    return first


def _check_order(case: Case, resources: Mapping[str, str | None], found: Consistency) -> None:
    before: dict[str, Told] = {}
    for told in case.told:
        note = _misplaced(before.get(told.uri), told)
        if note:
            sha, _ = case.landings.commit(told.time)
            found.out_of_order.append(Breach(uri=told.uri, sha=sha, note=note))
        before[told.uri] = told
    left = {uri for uri, told in before.items() if told.kind != "deleted"}
    found.wrong_end.extend(Breach(uri=uri, note="not in the Resource List") for uri in sorted(left - resources.keys()))
    found.wrong_end.extend(Breach(uri=uri, note="not by its changes") for uri in sorted(resources.keys() - left))


def _misplaced(before: Told | None, told: Told) -> str:
    """Say why a change cannot follow the one before it of the same URI; nothing if it can."""
    if before is not None and told.time <= before.time:
        return f"{told.kind} not later than {before.kind}"
    exists = before is not None and before.kind != "deleted"
    if exists == (told.kind == "created"):
        return f"{told.kind} after {before.kind}" if before else f"{told.kind} first"
    return ""


def _check_list(
    case: Case, resources: Mapping[str, str | None], outputs: Mapping[str, Output], found: Consistency
) -> None:
    built = {path: output for path, output in _shown(outputs).items() if is_resource(path, case.exclude)}
    paths = {uri: path_of(uri, case.siteurl, built) for uri in resources}
    found.not_built.extend(Breach(uri=uri) for uri, path in paths.items() if path is None)
    found.not_listed.extend(Breach(uri=path) for path in sorted(built.keys() - paths.values()))
    if case.hashes:
        found.wrong_bytes.extend(_wrong_bytes(case, resources, paths, built))


def _wrong_bytes(
    case: Case, resources: Mapping[str, str | None], paths: Mapping[str, str | None], built: Mapping[str, Output]
) -> Iterator[Breach]:
    for uri, path in paths.items():
        if path is not None and path not in case.unstable and resources[uri] != built[path].digest:
            yield Breach(uri=uri, note="wrong hash" if resources[uri] else "no hash")


def _shown(outputs: Mapping[str, Output]) -> Mapping[str, Output]:
    return {path: output for path, output in outputs.items() if not output.hidden}
