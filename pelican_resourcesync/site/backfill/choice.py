"""The choice of commits: which of the past are built."""

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.git.landing import Landing
from pelican_resourcesync.git.repository import Repository
from pelican_resourcesync.publication.ranges import Cuts

#: Every commit, or the last one of each commit range.
BY = ("range", "commit")


def choose(landings: Sequence[Landing], cuts: Cuts, *, begin: str | None, by: str) -> list[Landing]:
    """Give the landings to build, oldest first: from the commit `begin` on, the last one always among them."""
    shas = [each.commit.sha for each in landings]
    past = landings[shas.index(begin) if begin else 0 :]
    if by == "commit":
        return list(past)
    pairs = zip_longest(past, past[1:])
    return [each for each, following in pairs if following is None or _parts(cuts, each.time, following.time)]


def first_commit(repository: Repository, revision: str, landings: Sequence[Landing]) -> str:
    """Give the commit that `--since` names; `HistoryError` where it is none that was ever published."""
    try:
        sha = repository.commit(revision)
    except HistoryError as error:
        message = (
            f"--since is {revision!r}, which names no commit of {repository.top}: give one of its first-parent history"
        )
        raise HistoryError(message) from error
    if all(each.commit.sha != sha for each in landings):
        message = (
            f"--since is {revision!r}, a commit that was never the head of this branch: name the merge that brought it"
        )
        raise HistoryError(message)
    return sha


def _parts(cuts: Cuts, time: datetime, following: datetime) -> bool:
    """Tell whether a range ends at a time, or between it and the one that follows."""
    mark = cuts.before(following)
    return mark is not None and mark >= time
