"""Landing times: when each commit became part of the published branch.

A commit lands when it enters first-parent history, so a merged branch lands with its merge. Landing times increase
strictly, depend on nothing but the past, and do not change when commits are added (promise 4, *never back-dated*).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pelican_resourcesync.git.log import Commit
from pelican_resourcesync.publication.clock import later

#: A commit dated further ahead of the build than this has a clock that runs wrong.
TOLERANCE = timedelta(days=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit and the time (UTC) at which it landed; `held` where its own time lay too far ahead to be believed."""

    commit: Commit
    time: datetime
    held: bool = False


def land(
    commits: Iterable[Commit], *, built: datetime, known: Mapping[str, datetime] | None = None
) -> Iterator[Landing]:
    """Give each of `commits` (first-parent, oldest first) its landing time.

    That is its committer time, moved just past that of the commit before it where its clock says otherwise. A commit
    dated more than a day ahead of `built`, the time of this build, lands just after its parent. `known` holds the
    landing times of such commits as they were published before, by commit name: those win from then on.
    """
    known = known or {}
    before: datetime | None = None
    for commit in commits:
        held = commit.sha in known
        time = known[commit.sha] if held else committer_time(commit)
        if not held and time > built + TOLERANCE:
            time, held = before or built, True
        before = later(time, before)
        yield Landing(commit, before, held)


def committer_time(commit: Commit) -> datetime:
    """Give the committer time of a commit in UTC, within the years that a datetime can hold."""
    return _EPOCH + timedelta(seconds=max(0, min(commit.committed, _LAST)))
