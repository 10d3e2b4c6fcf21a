"""Doubts: which paths have other bytes each time that the same commit is built, so that these tell nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tests.truth.builds import Build, Builders
from tests.truth.clone import Clone
from tests.truth.steps import Step, walk
from tests.truth.truth import Truth, Window

#: A path that is updated less often than this is hardly one that is never the same.
_OFTEN = 3


def settle(
    truth: Truth,
    clone: Clone,
    window: Window,
    builders: Builders,
    *,
    number: int,
    keep: Callable[[], None],
    say: Callable[[str], None],
) -> None:
    """Build some commits again: the last and the first in three ways, and up to `number` more that tell the most."""

    def again(sha: str, builds: Iterable[Build]) -> None:
        if sha not in truth.unstable:
            truth.unstable[sha] = _unstable([truth.builds[sha], *builds])
            say(f"{sha[:10]} built again, {len(truth.unstable[sha])} files differ")
            keep()

    built = [sha for sha in window.needed if sha in truth.builds and truth.builds[sha].reason is None]
    ends = list(dict.fromkeys([*built[-1:], *built[:1]]))
    for end in ends:
        again(end, (builder.build(clone, end, window.times[end]) for builder in (*builders.all[:2], builders.other)))
    done = truth.unstable.keys() & set(built) - set(ends)
    for _ in range(number - len(done)):
        sha = _telling(truth, window)
        if sha:
            again(sha, iter([builders.build(clone, sha, window.times[sha])]))


def _unstable(builds: Iterable[Build]) -> list[str]:
    """Return the paths whose bytes are not the same in all builds of one commit."""
    seen = {(path, output.digest) for build in builds for path, output in build.outputs.items()}
    digests = Counter(path for path, _ in seen)
    return sorted(path for path, count in digests.items() if count > 1)


def _telling(truth: Truth, window: Window) -> str | None:
    """Return the commit that updates most of the paths which are updated often, and of which no build again tells."""
    updates = {window.like[step.commit.sha]: set(_updated(step)) for step in walk(truth, window).steps}
    often = Counter(path for paths in updates.values() for path in paths)
    settled = {path for sha in truth.unstable for path in (*updates.get(sha, ()), *truth.unstable[sha])}
    doubtful = {path for path, count in often.items() if count >= _OFTEN} - settled
    left = {sha: len(paths & doubtful) for sha, paths in updates.items() if sha not in truth.unstable}
    best = max(left, key=lambda sha: left[sha], default=None)
    return best if best and left[best] else None


def _updated(step: Step) -> Iterator[str]:
    return (path for path, kind in step.changes() if kind == "updated")
