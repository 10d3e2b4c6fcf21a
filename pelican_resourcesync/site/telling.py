"""Telling: from the repository that a site lies in to what `publication` is told, with the user's settings applied.

Where git does not tell, a warning says why, and nothing is invented.
"""

import gc
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.git.landing import Landing, committer_time, land
from pelican_resourcesync.git.repository import Repository, find_repository
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.clock import build_time
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.ranges import PERIODS, Calendar, Cuts, Marks
from pelican_resourcesync.publication.resource import Listed
from pelican_resourcesync.publication.told import Told
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.cache import Cache
from pelican_resourcesync.site.contents import quiet_reading
from pelican_resourcesync.site.facets import Facets
from pelican_resourcesync.site.history import Built, Historian, History
from pelican_resourcesync.site.inventory import Exclusion
from pelican_resourcesync.site.regimes import Learned, Regimes
from pelican_resourcesync.site.scope import Scope, find_scope, settings_folder
from pelican_resourcesync.site.selecting import told_of
from pelican_resourcesync.site.sets import ResourceSet
from pelican_resourcesync.site.sight import look_at
from pelican_resourcesync.site.written import Run, Written

#: What is told of a set, and where its ranges may be cut.
Tells = tuple[Told, Cuts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What publications that were made together have in common: their `commit`, and the landing times `held` then.

    `resources` are those of all of them, `restless` the URIs whose bytes changed for nothing.
    """

    commit: str | None
    held: Mapping[str, datetime]
    resources: Mapping[str, Listed]
    restless: Collection[str]

    @classmethod
    def group(cls, previous: Mapping[str, Previous | None]) -> "list[tuple[Since | None, Collection[str]]]":
        """Put sets that go on from the same commit together, by name; those that have no publication are for `None`."""
        groups: dict[object, dict[str, Previous | None]] = {}
        for name, each in previous.items():
            key = (each.state.commit, sorted(each.state.held.items())) if each else None
            groups.setdefault(repr(key), {})[name] = each
        return [(cls._of([each for each in group.values() if each]), group.keys()) for group in groups.values()]

    @classmethod
    def _of(cls, previous: Sequence[Previous]) -> "Since | None":
        if not previous:
            return None
        return cls(
            commit=previous[0].state.commit,
            held=previous[0].state.held,
            resources=ChainMap(*cast("list[dict[str, Listed]]", [each.resources for each in reversed(previous)])),
            restless={uri for before in previous for uri in before.state.restless},
        )


class Teller:
    """Tells the history of one build; `warnings` are for the user to act on, `notes` to know."""

    def __init__(self, run: Run, settings: Settings, since: Since | None) -> None:
        """Take the run of Pelican, the plug-in's settings, and what was published before; `None` for nothing."""
        self._run = run
        self._settings = settings
        self._previous = since
        self._exclusion = Exclusion(settings.exclude)
        self._built = build_time()
        self._scoped: Scope | None = None
        self._filed = False
        self._facets: Mapping[str, Sequence[tuple[datetime, Facets]]] = {}
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def tell(
        self, written: Sequence[Written], now: Mapping[str, Representation], sets: Sequence[ResourceSet]
    ) -> dict[str, Tells]:
        """Give the changes and the clock that git tells for a build of these outputs, set by set.

        `now` is what the resources are, by URI.
        """
        self._filed = self._previous is None and any(each.selector.by_facets for each in sets)
        told, cuts = self._tell(written, now)
        if self._previous is not None:  # the bytes decide, and what is in a set is a matter of today
            return {each.settings.name: (told, cuts) for each in sets}
        paths = {each.uri: each.path for each in written}
        return {
            each.settings.name: (replace(told, changes=self._changes_of(each, told.changes, paths)), cuts)
            for each in sets
        }

    def _changes_of(
        self, resource_set: ResourceSet, changes: Sequence[Change], paths: Mapping[str, str]
    ) -> Sequence[Change]:
        if resource_set.settings.selection.everything:
            return changes
        return told_of(resource_set.selector, changes, self._facets, paths)

    def _tell(self, written: Sequence[Written], now: Mapping[str, Representation]) -> Tells:
        try:
            repository = repository_of(self._run.settings)
        except HistoryError as error:
            self.warnings.append(f"{error}. The Resource List is published alone, with the times of the files")
            return Told(built=self._built, complete=False), self._cuts(None, [])
        gc.freeze()  # what Pelican made stays, and need not be looked through again and again
        try:
            return self._tell_history(repository, written, now)
        finally:
            gc.unfreeze()
            repository.close()

    def _tell_history(
        self, repository: Repository, written: Sequence[Written], now: Mapping[str, Representation]
    ) -> tuple[Told, Cuts]:
        paths = self._scope(repository).paths()
        line = list(repository.line() if self._previous else repository.history(paths))  # all of it is told then
        if repository.is_shallow():
            without = "the bytes alone tell what changed" if self._previous else "no Change List begins"
            self.warnings.append(
                f"the repository is a shallow clone, so its history is not known and {without}: fetch all "
                "of it (fetch-depth: 0 in GitHub Actions, GIT_DEPTH: 0 in GitLab CI, or git fetch --unshallow)"
            )
            landed = committer_time(line[-1])
            told = Told(built=self._built, complete=False, commit=line[-1].sha, landed=landed)
            return told, self._cuts(repository, [])
        known = self._previous.held if self._previous else {}
        landings = list(land(line, built=max(self._built, datetime.now(UTC)), known=known))
        self._warn_of_clocks(landings, known)
        return Told(
            built=self._built,
            changes=self._changes(repository, landings, written, now),
            commit=line[-1].sha,
            landed=landings[-1].time,
            held={each.commit.sha: each.time for each in landings if each.held},
        ), self._cuts(repository, landings)

    def _changes(
        self,
        repository: Repository,
        landings: Sequence[Landing],
        written: Sequence[Written],
        now: Mapping[str, Representation],
    ) -> Sequence[Change]:
        """Give what history tells since the previous publication; nothing where its commit is not in this history."""
        begin = self._begin(repository, landings)
        if self._previous is None:
            return self._history(repository, landings, written, begin=begin)
        shas = [each.commit.sha for each in landings]
        if self._previous.commit not in shas:
            return []
        base = landings[shas.index(self._previous.commit)]
        if base in landings[-2:] and not self._is_asked(repository, self._previous, now):
            self._warn_of_patterns(self._previous.resources)
            return []
        times = {each.commit.sha: each.time for each in landings}
        paths = self._scope(repository).paths()
        since = [Landing(each, times[each.sha]) for each in repository.history(paths, base.commit.sha)]
        return [each for each in self._history(repository, since, written) if each.time > base.time]

    def _is_asked(self, repository: Repository, since: Since, now: Mapping[str, Representation]) -> bool:
        """Tell whether it matters what history tells of one commit: all that changed is listed at its time anyway.

        It does where something is not committed, and where a resource's bytes may change at each build for nothing.
        """
        before = since.resources
        changed = (uri for uri, each in now.items() if uri in before and each != before[uri].representation)
        if any(uri in since.restless for uri in changed):
            return True
        return bool(repository.uncommitted(map(Path, self._scope(repository).paths())))

    def _scope(self, repository: Repository) -> Scope:
        if self._scoped is None:
            self._scoped = find_scope(repository.top, self._run.settings)
        return self._scoped

    def _history(
        self,
        repository: Repository,
        landings: Sequence[Landing],
        written: Sequence[Written],
        *,
        begin: str | None = None,
    ) -> Sequence[Change]:
        """Give the changes of these landings, the first of which has all that its commit holds as its own."""
        scope = self._scope(repository)
        built = [Built(each.uri, each.source, each.role, each.content) for each in written]
        today = {path: (repository.top / path).read_bytes() for path in scope.settings}
        folder = settings_folder(repository.top, scope)
        with quiet_reading(), Cache.open(folder) if folder else Cache(None) as cache:
            learned = Learned(look_at(self._run, written), cache)
            with Regimes(self._run.settings, self._run.siteurl, scope, today, learned) as regimes:
                historian = Historian(repository, regimes, self._run.siteurl, facets=self._filed)
                history = historian.tell(landings, built, begin=begin, now=self._built)
        uris = {each.uri for each in history.changes}
        self._facets = history.facets
        self._note_unknown(history)
        self._warn_of_patterns({*uris, *(self._previous.resources if self._previous else ())})
        excluded = {uri for uri in uris if self._exclusion.covers_uri(self._run.siteurl, uri)}
        return [each for each in history.changes if each.uri not in excluded]

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

    def _cuts(self, repository: Repository | None, landings: Sequence[Landing]) -> Cuts:
        return cuts_of(self._settings, repository, landings)

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
        own = Exclusion(tuple(each for each in self._exclusion.unused(past) if each not in Settings().exclude))
        for pattern in own.unused(self._run.paths()) if own.patterns else ():
            self.warnings.append(f"RESOURCESYNC['exclude'] has {pattern!r}, which no file of the output matches")

    def _note_unknown(self, history: History) -> None:
        if history.unknown:
            self.notes.append(f"{history.unknown} past states of sources have a URL that cannot be known: left out")
        if history.planned:
            self.notes.append(f"{history.planned} URLs that Pelican's rules name were not built: left out")


def repository_of(settings: Mapping[str, Any]) -> Repository:
    """Find the repository of a site: that of the sources, or the one that holds it beside settings or theme."""
    repository = find_repository(Path(settings["PATH"]))
    while (outer := repository.superproject()) is not None:
        scope = find_scope(outer.top, settings)
        inner = repository.top.relative_to(outer.top)
        within = all(Path(path).is_relative_to(inner) for path in (*scope.settings, *scope.theme))
        (outer if within else repository).close()
        if within:
            break
        repository = outer
    return repository


def cuts_of(settings: Settings, repository: Repository | None, landings: Sequence[Landing]) -> Cuts:
    """Give where the setting `changes_by` cuts ranges, in a history of these landings."""
    by = settings.changes_by
    if isinstance(by, int):
        return Marks([each.time for each in landings[by - 1 :: by]])
    if by in PERIODS:
        return Calendar(by)
    pattern = by.partition(":")[2] or "*"
    tags = repository.tags() if repository else {}
    tagged = {commit for commit, names in tags.items() if any(fnmatchcase(name, pattern) for name in names)}
    return Marks([each.time for each in landings if each.commit.sha in tagged])
