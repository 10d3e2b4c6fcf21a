"""Landing times, reckoned from `docs/history.md`: when each commit became part of the published branch."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tests.tools.truth.clone import Commit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(milliseconds=1)
_AHEAD = timedelta(days=1)


class Landings:
    """The landing times of a whole first-parent line."""

    def __init__(self, line: Sequence[Commit], now: datetime) -> None:
        """Take all commits from the root on, and the time of the build."""
        self._names = [commit.sha for commit in line]
        self._times: list[datetime] = []
        for commit in line:
            self._times.append(self._land(commit, now))

    def _land(self, commit: Commit, now: datetime) -> datetime:
        before = self._times[-1] if self._times else None
        time = _EPOCH + timedelta(seconds=commit.committed)
        if time > now + _AHEAD:
            time = before or now
        if before is not None and time <= before:
            time = before + _TICK
        return time + _TICK if time == datetime.combine(time.date(), datetime.min.time(), UTC) else time

    def time(self, sha: str) -> datetime:
        """Return the time at which a commit landed."""
        return self._times[self._names.index(sha)]
