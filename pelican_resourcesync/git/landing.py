"""Landing times: when each commit became part of the published branch.

A commit lands when it enters first-parent history, so a merged branch lands with its merge. Landing times increase
strictly, depend only on the past, and do not change when commits are added (promise 4, *never back-dated*).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pelican_resourcesync.git.log import Commit
from pelican_resourcesync.publication import later

#: A commit dated further ahead of the build than this was made on a machine with a wrong clock.
TOLERANCE = timedelta(days=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit and the time (UTC) at which it landed; `postponed` where its own date was too far in the future."""

    commit: Commit
    time: datetime
    postponed: bool = False


def landing_times(
    commits: Iterable[Commit], *, built: datetime, known: Mapping[str, datetime] | None = None
) -> Iterator[Landing]:
    """Yield each of `commits` (first-parent, oldest first) with its landing time.

    This is its committer time, or just after the landing time of the commit before it, whichever is later. A commit
    dated more than a day ahead of `built`, the time of this build, lands just after its parent. `known` holds the
    landing times of such commits as published before, by commit name: these are used from then on.
    """
    known = known or {}
    before: datetime | None = None
    for commit in commits:
        postponed = commit.sha in known
        time = known[commit.sha] if postponed else committer_time(commit)
        if not postponed and time > built + TOLERANCE:
            time, postponed = before or built, True
        before = later(time, before)
        yield Landing(commit, before, postponed)


def committer_time(commit: Commit) -> datetime:
    """Return the committer time of a commit in UTC, limited to the years that a datetime can hold."""
    return _EPOCH + timedelta(seconds=max(0, min(commit.committed, _LAST)))
