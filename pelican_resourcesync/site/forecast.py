"""A forecast of what the next build would do, as far as it can be known without building."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pelican_resourcesync.errors import HistoryError, PublicationError, SettingsError
from pelican_resourcesync.git import Repository, find_repository
from pelican_resourcesync.publication import Predecessor, predecessor_messages
from pelican_resourcesync.site.configuration import Configuration
from pelican_resourcesync.site.predecessors import predecessors
from pelican_resourcesync.site.should_publish import why_not_to_publish


class Action(StrEnum):
    """What a build would do."""

    CARRY_FORWARD = "carry forward"
    FIRST = "publish for the first time"
    START_OVER = "start over"
    NOTHING = "publish nothing"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommits:
    """New commits: `head` is the commit to build, `commits` the number of commits since the published one.

    `None` means unknown, for the reason in `why`.
    """

    head: str | None = None
    commits: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the next build would do, and `why`, where there is a reason; `generation` is the one to be carried forward.

    `news` is `None` where nothing would be published.
    """

    action: Action
    why: str = ""
    generation: int | None = None
    news: NewCommits | None = None


def forecast_build(site: Configuration, output: Path) -> Forecast:
    """Forecast the next build of a site into `output`. An error that would stop the build is part of the forecast."""
    why = why_not_to_publish(
        enabled=site.settings.enabled, siteurl=site.siteurl, environment=os.environ, arguments=["pelican"]
    )
    if why and not site.siteurl:
        why = (
            f"SITEURL is empty in {site.file}: name the settings file of the published site (--settings publishconf.py)"
        )
    if why:
        return Forecast(action=Action.NOTHING, why=why)
    try:
        with predecessors(site, output) as found:
            return _forecast(site, found)
    except (PublicationError, SettingsError) as error:
        return Forecast(action=Action.STOP, why=str(error))


def _forecast(site: Configuration, found: Mapping[str, Predecessor]) -> Forecast:
    """Forecast from the previous publication of the first set that has one."""
    why = "; ".join(predecessor_messages(found))
    states = [each.previous.state for each in found.values() if each.previous]
    if not states:
        action = Action.START_OVER if any(each.restarted_from for each in found.values()) else Action.FIRST
        return Forecast(action=action, why=why, news=_new_commits(site, None))
    state = states[0]
    news = _new_commits(site, state.commit) if state.commit else NewCommits(why="the publication names no commit")
    return Forecast(action=Action.CARRY_FORWARD, why=why, generation=state.generation, news=news)


def _new_commits(site: Configuration, since: str | None) -> NewCommits:
    """Count the commits since the published one; all commits where `since` is `None`."""
    if since is None and site.settings.history != "all":
        return NewCommits(why=f"'history' is {site.settings.history!r}")
    try:
        repository = find_repository(site.sources)
    except HistoryError as error:
        return NewCommits(why=str(error))
    try:
        return _count(repository, since)
    except HistoryError as error:
        return NewCommits(why=str(error))
    finally:
        repository.close()


def _count(repository: Repository, since: str | None) -> NewCommits:
    """Count in the repository of the sources, or in its superproject where the published commit is from there."""
    line = [each.sha for each in repository.first_parent_commits()]
    if repository.is_shallow():
        return NewCommits(head=line[-1], why="the repository is a shallow clone")
    if since is None:
        return NewCommits(head=line[-1], commits=len(line))
    if since in line:
        return NewCommits(head=line[-1], commits=len(line) - 1 - line.index(since))
    outer = repository.superproject()
    if outer is None:
        return NewCommits(head=line[-1], why="the published commit is not in this branch")
    try:
        return _count(outer, since)
    finally:
        outer.close()
