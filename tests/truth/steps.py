"""Steps: from one commit that builds to the next, and what the output really did in between.

A step is one commit, and those before it that do not build: what is told of them all is folded into one effect.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.truth.builds import Build, Output
from tests.truth.clone import Commit
from tests.truth.truth import NO_SITE, Truth, Window

#: What is no resource, as the README says it: our own documents, private names, and files for the host.
_OURS = ("resourcesync/*", ".well-known/*", "_headers", "_redirects", "CNAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The outputs before and after one or more commits, of which the last one builds."""

    commits: Sequence[Commit]
    before: Mapping[str, Output]
    after: Mapping[str, Output]

    @property
    def commit(self) -> Commit:
        """The commit that the step ends with."""
        return self.commits[-1]

    def sort(self, path: str) -> str:
        """Return the sort of an output path that the step knows."""
        return (self.after.get(path) or self.before[path]).sort

    def changes(self) -> Iterator[tuple[str, str]]:
        """Return what really changed, by path and kind. What is hidden counts as not there."""
        before, after = _shown(self.before), _shown(self.after)
        for path in sorted(before.keys() | after.keys()):
            if path not in before:
                yield path, "created"
            elif path not in after:
                yield path, "deleted"
            elif before[path].digest != after[path].digest:
                yield path, "updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of a window, and the commits that belong to none: what was before them is not known, or after them."""

    steps: Sequence[Step]
    apart: Sequence[Commit]


def walk(truth: Truth, window: Window) -> Steps:
    """Return the steps of a window. Before the root, and before a settings file was anywhere, there is nothing."""
    steps: list[Step] = []
    apart: list[Commit] = []
    pending: list[Commit] = []
    before = _beginning(truth, window)
    for commit in window.commits:
        pending.append(commit)
        after = built(truth, window, commit)
        if after.reason is not None:
            continue
        if before is None:
            apart += pending
        else:
            steps.append(Step(commits=tuple(pending), before=before, after=after.outputs))
        before, pending = after.outputs, []
    return Steps(steps=steps, apart=[*apart, *pending])


def built(truth: Truth, window: Window, commit: Commit) -> Build:
    """Return what came of building a commit, or one that has the same output."""
    return truth.builds.get(window.like[commit.sha], Build(reason="not built yet"))


def _beginning(truth: Truth, window: Window) -> Mapping[str, Output] | None:
    """Return the output before the window, none if it is not known."""
    if window.base is None:
        return {}
    build = built(truth, window, window.base)
    return build.outputs if build.reason in (None, NO_SITE) else None


def _shown(outputs: Mapping[str, Output]) -> dict[str, Output]:
    return {path: output for path, output in outputs.items() if not output.hidden}


def is_resource(path: str, exclude: Sequence[str]) -> bool:
    """Tell whether an output path is to be published at all."""
    if any(part.startswith(".") for part in path.split("/")):
        return False
    return not any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*") for pattern in (*_OURS, *exclude))
