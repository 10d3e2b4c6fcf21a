"""The selection of past commits to build, and the command line for it."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.git import Landing, Repository
from pelican_resourcesync.publication import RangeBoundaries
from pelican_resourcesync.site.backfill.records import Site

#: What to build: every commit, or the last one of each commit range.
BY = ("commit", "range")

#: By default, up to this many commits are built one by one; where there are more, the last of each range.
MOST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to build of a `site`: `by` commit or by range, from the commit `since` on."""

    by: str
    since: str | None
    site: Site

    def note(self) -> Mapping[str, Any]:
        """Return what is stored of it with the records."""
        return asdict(self)

    @classmethod
    def parse(cls, note: Mapping[str, Any]) -> "Selection | None":
        """Return the stored selection; `None` where it is missing or damaged."""
        try:
            found = cls(by=note["by"], since=note["since"], site=Site(**note["site"]))
        except (LookupError, TypeError):
            return None
        return found if found.by in BY and isinstance(found.since, str | None) else None


def command(
    settings: str, *, by: str | None = None, since: str | None = None, extra: Mapping[str, Any] | None = None
) -> str:
    """Return the command that builds a selection, for the folder to which the path `settings` is relative."""
    words = ["pelican-resourcesync", "backfill"]
    words += ["--by", by] if by else []
    words += ["--since", since] if since else []
    for name, value in (extra or {}).items():
        words += ["-e", f"{name}={json.dumps(value)}"]
    words += ["--settings", settings]
    return shlex.join(words)


def choose(landings: Sequence[Landing], cuts: RangeBoundaries, *, begin: str | None, by: str) -> list[Landing]:
    """Return the landings to build, oldest first, from the commit `begin` on; the last one is always included."""
    past = since(landings, begin)
    if by == "commit":
        return past
    pairs = zip_longest(past, past[1:])
    return [each for each, following in pairs if following is None or _parts(cuts, each.time, following.time)]


def since(landings: Sequence[Landing], begin: str | None) -> list[Landing]:
    """Return the landings from the commit `begin` on."""
    shas = [each.commit.sha for each in landings]
    return list(landings[shas.index(begin) if begin else 0 :])


def first_commit(repository: Repository, revision: str, landings: Sequence[Landing]) -> str:
    """Return the commit that `--since` names; `HistoryError` where it was never the head of this branch."""
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


def settings_in(folder: Path, top: Path, settings: str) -> str:
    """Return the path of a settings file of the repository at `top`, relative to a folder if it is inside."""
    file = top / settings
    real = folder.resolve()
    return file.relative_to(real).as_posix() if file.is_relative_to(real) else str(file)


def _parts(cuts: RangeBoundaries, time: datetime, following: datetime) -> bool:
    """Return whether a commit range ends at a time, or between it and the following one."""
    mark = cuts.before(following)
    return mark is not None and mark >= time
