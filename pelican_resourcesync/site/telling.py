"""Telling: from the repository that a site lies in to what `publication` is told, with the user's settings applied.

Where git does not tell, a warning says why, and nothing is invented.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.clock import whole_milliseconds
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.publish import Told
from pelican_resourcesync.publication.ranges import PERIODS, Calendar, Cuts, Marks
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.contents import quiet_reading
from pelican_resourcesync.site.history import Built, Historian, History
from pelican_resourcesync.site.inventory import Exclusion
from pelican_resourcesync.site.landing import Landing, committer_time, land
from pelican_resourcesync.site.regimes import Regimes
from pelican_resourcesync.site.repository import Repository, find_repository
from pelican_resourcesync.site.scope import find_scope
from pelican_resourcesync.site.written import Run, Written


class Teller:
    """Tells the history of one build; `warnings` are for the user to act on, `notes` to know."""

    def __init__(self, run: Run, settings: Settings, previous: Previous | None) -> None:
        """Take the run of Pelican, the plug-in's settings, and the publication that was there before."""
        self._run = run
        self._settings = settings
        self._previous = previous
        self._exclusion = Exclusion(settings.exclude)
        self._built = build_time()
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def tell(self, written: Sequence[Written]) -> tuple[Told, Cuts]:
        """Give the changes and the clock that git tells for a build of these outputs, and where ranges may be cut."""
        try:
            repository = find_repository(Path(self._run.settings["PATH"]))
        except HistoryError as error:
            self.warnings.append(f"{error}. The Resource List is published alone, with the times of the files")
            return Told(built=self._built, complete=False), self._cuts(None, [])
        try:
            return self._tell_history(repository, written)
        finally:
            repository.close()

    def _tell_history(self, repository: Repository, written: Sequence[Written]) -> tuple[Told, Cuts]:
        commits = list(repository.log())
        if repository.is_shallow():
            without = "the bytes alone tell what changed" if self._previous else "no Change List begins"
            self.warnings.append(
                f"the repository is a shallow clone, so its history is not known and {without}: fetch all "
                "of it (fetch-depth: 0 in GitHub Actions, GIT_DEPTH: 0 in GitLab CI, or git fetch --unshallow)"
            )
            landed = committer_time(commits[-1])
            told = Told(built=self._built, complete=False, commit=commits[-1].sha, landed=landed)
            return told, self._cuts(repository, [])
        known = self._previous.state.held if self._previous else {}
        landings = list(land(commits, built=max(self._built, datetime.now(UTC)), known=known))
        self._warn_of_clocks(landings, known)
        history = self._history(repository, landings, written)
        return Told(
            built=self._built,
            changes=self._since_previous(landings, history.changes),
            commit=commits[-1].sha,
            landed=landings[-1].time,
            held={each.commit.sha: each.time for each in landings if each.held},
        ), self._cuts(repository, landings)

    def _history(self, repository: Repository, landings: Sequence[Landing], written: Sequence[Written]) -> History:
        scope = find_scope(repository.top, self._run.settings)
        begin = self._begin(repository, landings)
        built = [Built(each.uri, each.source, each.role, each.content) for each in written]
        today = {path: (repository.top / path).read_bytes() for path in scope.settings}
        with Regimes(self._run.settings, self._run.siteurl, today) as regimes:
            historian = Historian(repository, scope, regimes, self._run.siteurl)
            with quiet_reading():
                history = historian.tell(landings, built, begin=begin, now=self._built)
        uris = {each.uri for each in history.changes}
        excluded = {uri for uri in uris if self._exclusion.covers_uri(self._run.siteurl, uri)}
        history.changes = [each for each in history.changes if each.uri not in excluded]
        self._note_unknown(history)
        self._warn_of_patterns(uris)
        return history

    def _begin(self, repository: Repository, landings: Sequence[Landing]) -> str | None:
        if self._settings.history == "all":
            return None
        begin = repository.commit("HEAD" if self._settings.history == "none" else self._settings.history)
        if all(each.commit.sha != begin for each in landings):
            message = (
                f"'history' is {self._settings.history!r}, a commit that was never the head of this branch: "
                "give 'all', 'none' or one of its first-parent history"
            )
            raise HistoryError(message)
        return begin

    def _since_previous(self, landings: Sequence[Landing], changes: Sequence[Change]) -> Sequence[Change]:
        """Give what history tells since the previous publication; nothing where its commit is not in this history."""
        if self._previous is None:
            return changes
        base = next((each.time for each in landings if each.commit.sha == self._previous.state.commit), None)
        return [] if base is None else [each for each in changes if each.time > base]

    def _cuts(self, repository: Repository | None, landings: Sequence[Landing]) -> Cuts:
        by = self._settings.changes_by
        if isinstance(by, int):
            return Marks([each.time for each in landings[by - 1 :: by]])
        if by in PERIODS:
            return Calendar(by)
        pattern = by.partition(":")[2] or "*"
        tags = repository.tags() if repository else {}
        tagged = {commit for commit, names in tags.items() if any(fnmatchcase(name, pattern) for name in names)}
        return Marks([each.time for each in landings if each.commit.sha in tagged])

    def _warn_of_clocks(self, landings: Sequence[Landing], known: Iterable[str]) -> None:
        ahead = [each.commit for each in landings if each.held and each.commit.sha not in known]
        if ahead:
            first = ahead[0]
            self.warnings.append(
                f"the commit {first.sha[:10]} is dated {committer_time(first):%Y-%m-%d}, in the future"
                f"{f', and {len(ahead) - 1} more are' if ahead[1:] else ''}: it counts as landed just after its parent"
            )

    def _warn_of_patterns(self, uris: Iterable[str]) -> None:
        """Warn of a pattern that hides nothing, now or in the past: it may be misspelt."""
        past = [unquote(uri.removeprefix(f"{self._run.siteurl}/")) for uri in uris]
        unused = self._exclusion.unused([*self._run.paths(), *past])
        for pattern in unused:
            if pattern not in Settings().exclude:
                self.warnings.append(f"RESOURCESYNC['exclude'] has {pattern!r}, which no file of the output matches")

    def _note_unknown(self, history: History) -> None:
        if history.unknown:
            self.notes.append(f"{history.unknown} past states of sources have a URL that cannot be known: left out")
        if history.planned:
            self.notes.append(f"{history.planned} URLs that Pelican's rules name were not built: left out")


def build_time() -> datetime:
    """Give the time of this build in UTC: of `SOURCE_DATE_EPOCH` where that is set, as reproducible builds ask."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"SOURCE_DATE_EPOCH is {epoch!r}: make it a number of seconds since 1970, or leave it unset"
        raise PublicationError(message) from error
    return whole_milliseconds(now)
