"""The history of a site in git, for its publication: changes, their times, and the deletions that it explains.

With a previous publication, the bytes decide what changed, and git when. For a first publication, the sources decide
both (`sources`). Where git has no answer, a warning explains why, and nothing is made up.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pelican.paginator import Paginator

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import (
    Calendar,
    Change,
    ChangeHistory,
    FixedBoundaries,
    PreviousPublication,
    RangeBoundaries,
    build_time,
    is_loopback,
    later,
)
from pelican_resourcesync.publishers.git import (
    Commit,
    Landing,
    PathChange,
    Repository,
    UnreadableHistoryError,
    committer_time,
    find_repository,
    landing_times,
)
from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Run
from pelican_resourcesync.publishers.pelican.resources import ResourceSet
from pelican_resourcesync.publishers.pelican.site import Scope, find_scope
from pelican_resourcesync.publishers.pelican.sources import Commits, FirstHistory, Sources
from pelican_resourcesync.publishers.static_site import Exclusion, files_of
from pelican_resourcesync.settings import CORRECT, Settings
from pelican_resourcesync.terminal import format_count

#: A page or feed of several articles: the template that decides how it is divided, its URL and its file.
_Listing = tuple[str, str, str]


def explained_deletions(sources: Sources, changes: Iterable[PathChange], run: Run) -> frozenset[str]:
    """Return the URIs that were published, and no longer are, because of committed `changes`, oldest first.

    Both the version before the changes and the one after them are read under today's settings. So a URI that is gone
    for another reason, such as a setting or a missing plug-in, is not among these.
    """
    first: dict[str, PathChange] = {}
    last: dict[str, PathChange] = {}
    for change in changes:
        first.setdefault(change.path, change)
        last[change.path] = change
    uris: set[str] = set()
    left: Counter[_Listing] = Counter()
    for path, change in first.items():
        for role in sources.roles(path) if change.old else ():
            before, after = sources.version(change._replace(new=change.old), role), sources.version(last[path], role)
            if before and after:
                uris |= {*before[0]} - {*after[0]}
                left.update({*_listings(before[1], run)} - {*_listings(after[1], run)})
    today = (
        Counter(listing for article in run.generated("articles") for listing in _listings(article, run))
        if left
        else left
    )
    for listing, number in left.items():
        there = today[listing]
        uris |= {*_pages(listing, there + number, run)} - {*_pages(listing, there, run)}
    return frozenset(uris)


def _listings(article: Any, run: Run) -> Iterator[_Listing]:
    """Yield where Pelican lists an article, except on pages that every site has."""
    if article is None:
        return
    settings = run.settings
    for template in settings["DIRECT_TEMPLATES"]:
        file = f"{template}.html"
        url, save_as = (str(settings.get(f"{template.upper()}_{end}", file)) for end in ("URL", "SAVE_AS"))
        yield template, url, save_as
    categories = [article.category] if hasattr(article, "category") else []
    for wrapper in (*categories, *getattr(article, "tags", ()), *getattr(article, "authors", ())):
        name = type(wrapper).__name__
        yield name.lower(), wrapper.url, wrapper.save_as
        yield from _feeds(settings, name.upper(), slug=wrapper.slug)
    yield from _feeds(settings, "TRANSLATION", lang=article.lang)
    for period in ("YEAR", "MONTH", "DAY"):
        url, save_as = (settings[f"{period}_ARCHIVE_{end}"].format(date=article.date) for end in ("URL", "SAVE_AS"))
        yield "period_archives", url, save_as


def _feeds(settings: Mapping[str, Any], kind: str, **names: str) -> Iterator[_Listing]:
    for form in ("ATOM", "RSS"):
        if pattern := settings.get(f"{kind}_FEED_{form}"):
            path = str(pattern).format(**names)
            yield "", path, path


def _pages(listing: _Listing, number: int, run: Run) -> Iterator[str]:
    """Yield the URIs of a listing of so many articles."""
    template, url, save_as = listing
    if not number or not save_as:
        return
    if not template:
        yield run.urls.uri(save_as)
        return
    paginated = run.settings["PAGINATED_TEMPLATES"]
    size = (paginated[template] or run.settings["DEFAULT_PAGINATION"]) if template in paginated else 0
    pages = Paginator(save_as, url, range(number), run.settings, size or None)
    for page in map(pages.page, pages.page_range):
        yield run.urls.uri(page.save_as, page.url)


_NO_PAST = "no changes from before the first publication are listed"
#: The history of a set, and where its commit ranges may be cut.
SetHistory = tuple[ChangeHistory, RangeBoundaries]


def continued_together(previous: PreviousPublication | None) -> str:
    """Return a key that is the same for publications which continue from the same commit, and for those of new sets."""
    state = previous and previous.state
    return repr(state and (state.commit, sorted(state.postponed.items()), state.first))


class GitHistory:
    """A reader of the history of one build. `warnings` need action by the user, `hints` may."""

    def __init__(self, run: Run, settings: Settings, previous: Sequence[PreviousPublication]) -> None:
        """Read the history of `run`; `previous` are publications made together, none for a first publication."""
        self._run = run
        self._settings = settings
        self._previous = previous[0].state if previous else None
        self._published = {uri for publication in previous for uri in publication.resources}
        self._exclusion = Exclusion(settings.never_listed)
        self._built = build_time()
        self._past: set[str] = set()
        self.warnings: list[str] = []
        self.hints: list[str] = []

    def read(self, written: Sequence[OutputFile], sets: Sequence[ResourceSet]) -> dict[str, SetHistory]:
        """Return, for each set, the changes and times for a build of these outputs."""
        history, boundaries = self._read_git(written)
        built = {file.uri for file in written}
        found = {}
        for resource_set in sets:
            own = history
            if self._previous is None:  # otherwise the bytes decide, and sets contain what they select today
                own = replace(own, changes=resource_set.changes_within(own.changes, built))
            if own.past is not None:
                own = replace(own, past=resource_set.changes_within(own.past, built))
            found[resource_set.settings.name] = own, boundaries
        return found

    def _read_git(self, written: Sequence[OutputFile]) -> SetHistory:
        try:
            repository = repository_of(self._run.settings)
        except HistoryError as error:
            self.warnings.append(f"{error}. Only the Resource List is published, with the times of the files")
            return ChangeHistory(built=self._built, complete=False), boundaries_of(self._settings, None, [])
        try:
            return self._read_repository(repository, written)
        except UnreadableHistoryError as error:
            known = "changes are found by their bytes alone" if self._previous else _NO_PAST
            self.warnings.append(f"{error}. Until then, {known}")
            return self._without_past(repository, repository.head_commit())
        finally:
            repository.close()

    def _without_past(self, repository: Repository, head: Commit) -> SetHistory:
        """Return what is known of the commit built alone. The past of a first publication can be added later."""
        landed = committer_time(head)
        history = ChangeHistory(built=self._built, complete=False, commit=head.sha, landed=landed)
        return history, boundaries_of(self._settings, repository, [])

    def _read_repository(self, repository: Repository, written: Sequence[OutputFile]) -> SetHistory:
        line = list(repository.first_parent_commits() if self._previous else repository.log())
        if repository.is_shallow and (self._previous or self._settings.history != "none"):
            if self._previous is None:
                self.warnings.append(
                    "the repository is a shallow clone, so no changes from before this publication are listed, and an "
                    "earlier SITEURL is not noticed. The first build with the whole history adds them: set "
                    "fetch-depth: 0 in GitHub Actions or GIT_DEPTH: 0 in GitLab CI, or run git fetch --unshallow"
                )
            return self._without_past(repository, line[-1])
        known = self._previous.postponed if self._previous else {}
        landings = list(landing_times(line, built=max(self._built, datetime.now(UTC)), known=known))
        self._warn_of_clocks(landings, known)
        scope = find_scope(repository.top, self._run.settings)
        uncommitted = repository.uncommitted(scope.paths())
        self._hint_at(uncommitted)
        history = ChangeHistory(
            built=self._built,
            commit=line[-1].sha,
            landed=landings[-1].time,
            commits={landing.time: landing.commit.sha for landing in landings if self._settings.commit_url},
            postponed={landing.commit.sha: landing.time for landing in landings if landing.postponed},
        )
        if self._previous is None:
            changes = self._first(repository, scope, landings, uncommitted, written)
            history = replace(history, changes=changes or (), complete=changes is not None)
        else:
            since = self._since(repository, landings, self._previous.commit)
            past = self._past_before(repository, scope, landings, written)
            history = replace(history, past=past, touched=bool(since or uncommitted))
            if history.touched:
                changes, explained = self._touched(repository, scope, since, uncommitted, written)
                history = replace(history, changes=changes, explained=lambda uri: "commits" if uri in explained else "")
        self._warn_of_patterns(self._past | self._published)
        return history, boundaries_of(self._settings, repository, landings)

    def _since(self, repository: Repository, landings: Sequence[Landing], base: str | None) -> list[Landing]:
        """Return the landings after the published commit, with their changes.

        There are none where that commit is not in this history: only the bytes decide then.
        """
        times = {landing.commit.sha: landing.time for landing in landings}
        if base not in times or base == landings[-1].commit.sha:
            return []
        return [Landing(commit, times[commit.sha]) for commit in repository.log(base)]

    def _touched(
        self,
        repository: Repository,
        scope: Scope,
        since: Sequence[Landing],
        uncommitted: Sequence[PathChange],
        written: Sequence[OutputFile],
    ) -> tuple[Sequence[Change], frozenset[str]]:
        """Return an update for each resource whose source was changed or removed since, at the time of that change.

        Also return the deletions that commits explain.
        """
        times: dict[str, datetime] = {}
        with Sources(self._run, written, repository, scope) as sources:
            gone = self._published - sources.uris
            for time, changes in self._commits(since, uncommitted):
                for change in changes:
                    times |= dict.fromkeys(sources.built_from(change), time)
                    times |= {uri: time for uri in (sources.published_before(change) if gone else ()) if uri in gone}
            committed = (change for landing in since for change in landing.commit.changes)
            explained = explained_deletions(sources, committed, self._run) if gone else frozenset()
            self._warn_of_unreadable(sources, "deletions of their pages have the time of the commit that was built")
        return [Change(time, uri, ChangeKind.UPDATED) for uri, time in times.items()], explained

    def _past_before(
        self, repository: Repository, scope: Scope, landings: Sequence[Landing], written: Sequence[OutputFile]
    ) -> Sequence[Change] | None:
        """Return the changes up to the commit of the first publication, by the rule, if that listed none."""
        first = self._previous.first if self._previous else None
        if first is None or first.past or self._settings.history == "none":
            return None
        times = {landing.commit.sha: landing.time for landing in landings}
        if first.commit not in times:
            self.hints.append(
                f"the commit of the first publication, {first.commit[:10]}, is not in the history of this branch, so "
                "changes from before it cannot be listed: build a branch that has it, or set RESOURCESYNC['history'] "
                "to 'none'"
            )
            return None
        whole = [Landing(commit, times[commit.sha]) for commit in repository.log()]
        changes = self._first(repository, scope, whole, (), written)
        return None if changes is None else [change for change in changes if change.time <= times[first.commit]]

    def _first(
        self,
        repository: Repository,
        scope: Scope,
        landings: Sequence[Landing],
        uncommitted: Sequence[PathChange],
        written: Sequence[OutputFile],
    ) -> Sequence[Change] | None:
        """Return the changes for a first publication, by the rule; `None` if git cannot read all that it needs."""
        commits = self._commits(self._from_the_beginning(repository, landings), uncommitted)
        paths = ([change.path for change in changes] for _, changes in commits)
        configured = [number for number, changed in enumerate(paths) if not scope.settings.isdisjoint(changed)]
        with Sources(self._run, written, repository, scope) as sources:
            history = FirstHistory(sources, self._is_excluded)
            changes = history.read(commits, certain_from=configured[-1] + 1 if configured else len(commits))
            then = f"{_NO_PAST} until a build can read them (if they are lost, set RESOURCESYNC['history'] to 'none')"
            return None if self._warn_of_unreadable(sources, then) else changes

    def _commits(self, landings: Sequence[Landing], uncommitted: Sequence[PathChange]) -> Commits:
        """Return the changes of `landings`, and those that are not committed, which land with this build."""
        commits: list[tuple[datetime, Sequence[PathChange]]] = [
            (landing.time, landing.commit.changes) for landing in landings
        ]
        if uncommitted:
            last = commits[-1][0] if commits else None
            commits.append((later(self._built, last, self._built), uncommitted))
        return commits

    def _is_excluded(self, uri: str) -> bool:
        excluded = self._exclusion.excludes_uri(self._run.urls.siteurl, uri)
        self._past |= {uri} if excluded else set()
        return excluded

    def _from_the_beginning(self, repository: Repository, landings: Sequence[Landing]) -> Sequence[Landing]:
        """Return the landings from the start of the history on; the first of them contains all files of its commit."""
        first = self._first_landing(repository, landings)
        tree = {change.path: change for landing in landings[: first + 1] for change in landing.commit.changes}
        there = tuple(change for change in tree.values() if change.new is not None)
        return [landings[first]._replace(commit=landings[first].commit._replace(changes=there)), *landings[first + 1 :]]

    def _first_landing(self, repository: Repository, landings: Sequence[Landing]) -> int:
        """Return the index of the landing that the setting `history` names."""
        if self._settings.history == "all":
            return 0
        try:
            begin = repository.commit("HEAD" if self._settings.history == "none" else self._settings.history)
        except HistoryError as error:
            message = f"RESOURCESYNC['history']: {error}, or use 'all' or 'none'"
            raise HistoryError(message) from error
        shas = [landing.commit.sha for landing in landings]
        if begin not in shas:
            message = (
                f"RESOURCESYNC['history'] is {self._settings.history!r}, a commit that was never the head of this "
                "branch: use 'all', 'none' or a commit of its first-parent history"
            )
            raise HistoryError(message)
        return shas.index(begin)

    def _warn_of_clocks(self, landings: Sequence[Landing], known: Iterable[str]) -> None:
        new = (landing for landing in landings if landing.postponed and landing.commit.sha not in known)
        ahead = [landing.commit for landing in new if committer_time(landing.commit) > landing.time]
        if ahead:
            first = ahead[0]
            self.warnings.append(
                f"the commit {first.sha[:10]} is dated {committer_time(first):%Y-%m-%d}, in the future"
                f"{f' (and {len(ahead) - 1} more commits)' if ahead[1:] else ''}: it counts as landed just after its "
                "parent"
            )

    def _warn_of_unreadable(self, sources: Sources, consequence: str) -> bool:
        """Return whether git cannot read what the history needs, and warn of that."""
        if sources.unreadable:
            self.warnings.append(
                f"git cannot read past versions of {format_count(len(sources.unreadable), 'source')}, such as "
                f"{min(sources.unreadable)}, so {consequence}: make the remote available, or clone the "
                "repository again"
            )
        return bool(sources.unreadable)

    def _hint_at(self, uncommitted: Sequence[PathChange]) -> None:
        if uncommitted and not is_loopback(self._run.urls.siteurl):
            self.hints.append(
                f"uncommitted changes in {format_count(len(uncommitted), 'file')}, such as {uncommitted[0].path}, are "
                "published with the time of this build: commit before you build"
            )

    def _warn_of_patterns(self, uris: Iterable[str]) -> None:
        """Warn of a pattern that matches nothing, now or in the past: it may be misspelt."""
        past = [path for uri in uris for path in files_of(self._run.urls.siteurl, uri)]
        default = Settings(sitemap=CORRECT).never_listed
        own = Exclusion(tuple(pattern for pattern in self._exclusion.unused(past) if pattern not in default))
        for pattern in own.unused(self._run.paths()) if own.patterns else ():
            self.warnings.append(f"{pattern!r} in RESOURCESYNC['exclude'] matches no file of the output")


def repository_of(settings: Mapping[str, Any]) -> Repository:
    """Return the repository of a site: that of the sources, or its superproject where settings or theme are there."""
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


def boundaries_of(settings: Settings, repository: Repository | None, landings: Sequence[Landing]) -> RangeBoundaries:
    """Return where the setting `changes_by` cuts commit ranges, in a history of these landings."""
    by = settings.changes_by
    if isinstance(by, int):
        return FixedBoundaries([landing.time for landing in landings[by - 1 :: by]])
    if not by.startswith("tag"):
        return Calendar(by)
    pattern = by.partition(":")[2] or "*"
    tags = repository.tags() if repository else {}
    tagged = {commit for commit, names in tags.items() if any(fnmatchcase(name, pattern) for name in names)}
    return FixedBoundaries([landing.time for landing in landings if landing.commit.sha in tagged])
