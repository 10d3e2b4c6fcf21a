"""From a finished build to its publication: resources from the output, history from git, both to `publication`."""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.clock import whole_milliseconds
from pelican_resourcesync.publication.discovery import add_link_headers, add_robots_line, keep_dot_folders
from pelican_resourcesync.publication.generation import Options
from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.publish import Publication, Told, publish
from pelican_resourcesync.publication.ranges import PERIODS, Calendar, Cuts, Marks
from pelican_resourcesync.publication.resource import Resource
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.contents import quiet_reading
from pelican_resourcesync.site.head import COMPRESSED, add_link
from pelican_resourcesync.site.history import Built, Historian, History
from pelican_resourcesync.site.inventory import Exclusion, is_html, take_inventory
from pelican_resourcesync.site.landing import Landing, committer_time, land
from pelican_resourcesync.site.regimes import Regimes
from pelican_resourcesync.site.repository import Repository, find_repository
from pelican_resourcesync.site.scope import find_scope
from pelican_resourcesync.site.uris import uri_of_path
from pelican_resourcesync.site.written import Run, Written

ROBOTS = "robots.txt"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, and what the user should be told: `warnings` to act on, `notes` to know."""

    publication: Publication
    seconds: float
    warnings: Sequence[str]
    notes: Sequence[str]


class Publisher:
    """Publishes one build of one site."""

    def __init__(self, run: Run, settings: Settings, previous: Previous | None) -> None:
        """Take the run of Pelican, the plug-in's settings, and the publication that was there before."""
        self._run = run
        self._settings = settings
        self._previous = previous
        self._layout = Layout(run.siteurl)
        self._exclusion = Exclusion(settings.exclude)
        self._built = build_time()
        self._warnings: list[str] = []
        self._notes: list[str] = []

    def publish(self) -> Outcome:
        """Link the pages, take the inventory, tell the history, and write the documents."""
        start = time.perf_counter()
        self._make_discoverable()
        written = take_inventory(self._outputs(), self._exclusion)
        self._link_pages(written)
        told, cuts = self._tell(written)
        resources = [Resource(each.uri, self._run.output / each.path, self._modified(each, told)) for each in written]
        publication = publish(resources, told, cuts, self._options(), self._previous)
        return Outcome(publication, time.perf_counter() - start, self._warnings, self._notes)

    def _options(self) -> Options:
        return Options(
            output=self._run.output,
            layout=self._layout,
            site_name=str(self._run.settings.get("SITENAME") or ""),
            edition=self._settings.edition,
            describedby=self._settings.describedby,
        )

    def _make_discoverable(self) -> None:
        keep_dot_folders(self._run.output)
        if self._settings.robots:
            add_robots_line(self._run.output, self._layout)
        add_link_headers(self._run.output, self._layout, self._settings.link_headers)

    def _outputs(self) -> Iterable[Written]:
        """Give every file of this build; of `robots.txt` only we may know that it is none left over from another."""
        outputs = {each.path: each for each in self._run.outputs()}
        if self._settings.robots:
            outputs.setdefault(ROBOTS, Written(ROBOTS, uri_of_path(self._run.siteurl, ROBOTS)))
        return outputs.values()

    def _link_pages(self, written: Iterable[Written]) -> None:
        if not self._settings.html_links:
            return
        capability_list = self._layout.uri(self._layout.capability_list)
        paths = {each.path for each in written}
        for each in written:
            if is_html(each.path) and not any(each.path + end in paths for end in COMPRESSED):
                add_link(self._run.output / each.path, capability_list)

    def _tell(self, written: Sequence[Written]) -> tuple[Told, Cuts]:
        try:
            repository = find_repository(Path(self._run.settings["PATH"]))
        except HistoryError as error:
            self._warnings.append(f"{error}. The Resource List is published alone, with the times of the files")
            return Told(built=self._built, complete=False), self._cuts(None, [])
        try:
            return self._tell_history(repository, written)
        finally:
            repository.close()

    def _tell_history(self, repository: Repository, written: Sequence[Written]) -> tuple[Told, Cuts]:
        commits = list(repository.log())
        if repository.is_shallow():
            without = "the bytes alone tell what changed" if self._previous else "no Change List begins"
            self._warnings.append(
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

    def _modified(self, written: Written, told: Told) -> datetime | None:
        """Give the time of a file's source, or of the file, where git knows nothing at all."""
        if told.commit is not None:
            return None
        file = Path(self._run.settings["PATH"]) / written.source if written.source else None
        stat = (file if file and file.is_file() else self._run.output / written.path).stat()
        return whole_milliseconds(datetime.fromtimestamp(stat.st_mtime, UTC))

    def _warn_of_clocks(self, landings: Sequence[Landing], known: Iterable[str]) -> None:
        ahead = [each.commit for each in landings if each.held and each.commit.sha not in known]
        if ahead:
            first = ahead[0]
            self._warnings.append(
                f"the commit {first.sha[:10]} is dated {committer_time(first):%Y-%m-%d}, in the future"
                f"{f', and {len(ahead) - 1} more are' if ahead[1:] else ''}: it counts as landed just after its parent"
            )

    def _warn_of_patterns(self, uris: Iterable[str]) -> None:
        """Warn of a pattern that hides nothing, now or in the past: it may be misspelt."""
        past = [unquote(uri.removeprefix(f"{self._run.siteurl}/")) for uri in uris]
        unused = self._exclusion.unused([*self._run.paths(), *past])
        for pattern in unused:
            if pattern not in Settings().exclude:
                self._warnings.append(f"RESOURCESYNC['exclude'] has {pattern!r}, which no file of the output matches")

    def _note_unknown(self, history: History) -> None:
        if history.unknown:
            self._notes.append(f"{history.unknown} past states of sources have a URL that cannot be known: left out")
        if history.planned:
            self._notes.append(f"{history.planned} URLs that Pelican's rules name were not built: left out")


def build_time() -> datetime:
    """Give the time of this build in UTC: of `SOURCE_DATE_EPOCH` where that is set, as reproducible builds ask."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"SOURCE_DATE_EPOCH is {epoch!r}: make it a number of seconds since 1970, or leave it unset"
        raise PublicationError(message) from error
    return whole_milliseconds(now)
