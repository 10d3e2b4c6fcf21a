"""The whole backfill: from today's settings file to a publication of the whole past, next to the public one."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.git import Checkouts, Landing, Repository, landing_times
from pelican_resourcesync.publication import (
    FOLDER,
    KnownGeneration,
    PlainOutput,
    Publication,
    RangeBoundaries,
    Workspace,
    build_time,
    locked,
    recover,
)
from pelican_resourcesync.site.backfill.builds import TIMEOUT, BuildConfiguration, Builder, BuildTask, default_jobs
from pelican_resourcesync.site.backfill.publishing import BackfillPublisher, PastBuilds
from pelican_resourcesync.site.backfill.records import BuildRecord, BuildRecordStore, Site, ends_of
from pelican_resourcesync.site.backfill.selection import MOST, Selection, choose, first_commit, since
from pelican_resourcesync.site.configuration import Configuration, read_configuration
from pelican_resourcesync.site.history import cuts_of, repository_of
from pelican_resourcesync.site.outputs import find_removed_sets, removed_set_warnings
from pelican_resourcesync.site.predecessors import predecessors
from pelican_resourcesync.site.scope import settings_folder_of
from pelican_resourcesync.terminal import Progress, format_count

#: The maximum number of unstable resources that a message names.
_SHOWN = 5

#: Settings that builds of past commits do not take from `-e`: they use today's values, or none.
_TODAY = ("RESOURCESYNC", "SITEURL", "OUTPUT_PATH", "CACHE_CONTENT", "LOAD_CONTENT_CACHE")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillOptions:
    """The user's options: which commits to build (see `Selection`), and how many at a time.

    `extra` are settings that override those of the settings file at every commit. Each build may take `timeout`
    seconds.
    """

    since: str | None = None
    by: str | None = None
    jobs: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillSummary:
    """The result of a backfill: the publication of each set, or none where the output already contained exactly that.

    `built` is the number of commits built now, `known` of those built before. `skipped` are the commits left out, with
    the reasons. `unstable` are the URIs of resources that differ in each build. `where` is the URL of the documents,
    `output` the folder to publish.
    """

    publications: Mapping[str, Publication]
    built: int
    known: int
    skipped: Mapping[str, str]
    unstable: Sequence[str]
    where: str
    output: Path


def run_backfill(file: Path, options: BackfillOptions, stream: TextIO, output: Path | None = None) -> BackfillSummary:
    """Build the past of the site with that settings file, and publish it to its output, or to another folder.

    Progress is written to `stream`. Raises a `ResourceSyncError` where it fails or is interrupted; the documents in the
    output are unchanged then.
    """
    imports = tuple(sys.path)  # before the settings file adds folders of today's work tree
    today = read_configuration(file, options.extra)
    today = replace(today, pelican={**today.pelican, "OUTPUT_PATH": str((output or today.output).absolute())})
    if not today.settings.enabled or not today.siteurl:
        why = "SITEURL is empty" if today.settings.enabled else "'enabled' is False"
        message = f"{why} in {file}: name the settings file that the site is published with (--settings)"
        raise PublicationError(message)
    repository, progress = repository_of(today.pelican), Progress(stream)
    try:
        place = _backfill_folder(Workspace(settings_folder_of(today.pelican)))
        with locked(today.output), locked(place):
            return _Backfill(today, repository, imports, place, options, progress).run()
    except KeyboardInterrupt:
        message = "interrupted: run backfill again to continue, finished builds are kept"
        raise PublicationError(message) from None
    except OSError as error:
        message = f"the past cannot be built: {error}: fix this and run backfill again, finished builds are kept"
        raise PublicationError(message) from error
    finally:
        progress.close()
        repository.close()


class _Backfill:
    """One run of a backfill, while its output is locked."""

    def __init__(  # noqa: PLR0913, PLR0917 - called once
        self,
        today: Configuration,
        repository: Repository,
        imports: Sequence[str],
        place: Path,
        options: BackfillOptions,
        progress: Progress,
    ) -> None:
        self._today, self._repository = today, repository
        self._options, self._progress = options, progress
        self._records = BuildRecordStore(place)
        self._records.clean()
        own = {name: value for name, value in options.extra.items() if name not in _TODAY}
        self._configuration = BuildConfiguration(
            site=_site_of(today, repository.top, own),
            top=repository.top,
            override={**own, "SITEURL": today.pelican["SITEURL"]},
            objects=place / "objects",
            imports=imports,
            timeout=options.timeout,
        )
        self._tools = self._configuration.tools()
        self._removed_sets: Sequence[str] = ()
        self._again = ""
        self._said: set[str] = set()

    def run(self) -> BackfillSummary:
        """Build the missing commits, and publish the history in all records."""
        public = self._find_public()
        landings = self._landings(public)
        cuts = cuts_of(self._today.settings, self._repository, landings)
        chosen = self._choose(landings, cuts)
        before = {each.commit.sha for each in chosen if self._is_known(each)}
        with Checkouts(self._repository.top, self._records.place) as checkouts:  # also removes those of a killed run
            builder = Builder(self._configuration, checkouts, self._options.jobs or default_jobs())
            if len(before) < len(chosen):
                self._build(builder, [each for each in chosen if each.commit.sha not in before], last=chosen[-1])
            self._build_ends_again(builder, chosen)
        past = PastBuilds(landings=landings, builds=[(each, self._record(each)) for each in chosen], cuts=cuts)
        self._say_missing([record for _, record in past.builds])
        publishing = BackfillPublisher(self._today, self._records, public, self._removed_sets)
        publications = publishing.publish(past)
        self._say_what_is_published(publishing, publications)
        return BackfillSummary(
            publications=publications,
            built=len({each.commit.sha for each in chosen} - before - publishing.skipped.keys()),
            known=len(before - publishing.skipped.keys()),
            skipped=publishing.skipped,
            unstable=publishing.unstable,
            where=f"{self._today.siteurl}/{FOLDER}/",
            output=self._today.output,
        )

    def _find_public(self) -> dict[str, KnownGeneration | None]:
        """Return the public publication of each set, to restart from it. A build looks in the same places."""
        today = self._today
        recover(today.output)
        if today.settings.previous == "live":
            today = replace(today, settings=replace(today.settings, previous="none"))
        with predecessors(today, today.output) as found:
            base = settings_folder_of(today.pelican)
            self._removed_sets = find_removed_sets(
                found, today.settings, today.siteurl, PlainOutput(today.output), base
            )
            return {name: each.previous or each.restarted_from for name, each in found.items()}

    def _landings(self, public: Mapping[str, KnownGeneration | None]) -> list[Landing]:
        if self._repository.is_shallow():
            top = self._repository.top
            message = f"the repository {top} is a shallow clone without its history: run git fetch --unshallow"
            raise HistoryError(message)
        held = {sha: time for each in public.values() if each for sha, time in each.state.postponed.items()}
        return list(
            landing_times(
                self._repository.first_parent_commits(), built=max(build_time(), datetime.now(UTC)), known=held
            )
        )

    def _choose(self, landings: Sequence[Landing], cuts: RangeBoundaries) -> list[Landing]:
        """Return the commits to build; report which and why, and store the selection for later builds of the site."""
        begin = first_commit(self._repository, self._options.since, landings) if self._options.since else None
        number = len(since(landings, begin))
        last = Selection.parse(self._records.note("selection"))
        if self._options.by:
            by, why = self._options.by, "as requested"
        elif last and last.since == begin:
            by, why = last.by, "as last time"
        elif number <= MOST:
            by, why = "commit", f"the default up to {MOST}"
        else:
            by, why = "range", f"the default of more than {MOST}; --by commit builds every commit"
        chosen = choose(landings, cuts, begin=begin, by=by)
        which = "each is built" if by == "commit" else f"the last of each range is built, {len(chosen):,} in all"
        self._progress.message(f"the history has {format_count(number, 'commit')}, and {which} (--by {by}, {why}).")
        self._records.keep_note("selection", Selection(by=by, since=begin, site=self._configuration.site).note())
        return chosen

    def _is_known(self, landing: Landing) -> bool:
        """Return whether a commit has an up-to-date record. The first reason to build one again is reported."""
        record = self._records.get(landing.commit.sha)
        if record is None or record.retry:
            return False
        why = ""
        if record.site != self._configuration.site:
            why = _difference(record.site, self._configuration.site)
        elif not record.is_of(landing.time):
            why = f"{landing.commit.sha[:10]} had another landing time"
        else:
            why = self._tools.difference(record)
        if why and not self._again:
            self._again = why
            self._progress.message(f"commits are built again: {why}.")
        return not why

    def _build(self, builder: Builder, missing: Sequence[Landing], last: Landing) -> None:
        """Build the missing commits, the last one first: if that fails, there is nothing to publish."""
        order = sorted(missing, key=lambda each: each is not last)
        for task, record in self._run(builder, [BuildTask(each) for each in order]):
            if record.failure and task.landing is last:
                message = (
                    f"the last commit, {record.commit[:10]}, does not build: {record.failure}; nothing was published"
                )
                raise PublicationError(message)
            self._records.keep(record)
            if record.failure:
                self._say_skipped(record.commit, record.failure)

    def _build_ends_again(self, builder: Builder, chosen: Sequence[Landing]) -> None:
        """Build the first and the last commit a second time, and record which of their files differ."""
        landings = {each.commit.sha: each for each in chosen}
        ends = {each.commit: each for each in ends_of([self._record(each) for each in chosen]) if each.unstable is None}
        tasks = [BuildTask(landings[sha], seed=1) for sha in ends]
        for task, again in self._run(builder, tasks) if tasks else ():
            first = ends[task.landing.commit.sha]
            if again.failure:
                self._progress.message(f"{first.commit[:10]} does not build a second time: {again.failure}")
            before, now = ({each.path: each.sha256 for each in record.files} for record in (first, again))
            unstable = [path for path in sorted(before) if now.get(path, before[path]) != before[path]]
            self._records.keep(replace(first, unstable=unstable))

    def _run(self, builder: Builder, tasks: Sequence[BuildTask]) -> Iterator[tuple[BuildTask, BuildRecord]]:
        """Run the builds, and show their progress."""
        self._progress.begin(len(tasks))
        with closing(builder.build(tasks)) as builds:
            for task, record in builds:
                self._progress.count(failed=bool(record.failure))
                yield task, record
        self._progress.close()

    def _record(self, landing: Landing) -> BuildRecord:
        record = self._records.get(landing.commit.sha)
        if record is None:
            message = (
                f"the record of {landing.commit.sha[:10]} is no longer in {self._records.place}: run backfill again"
            )
            raise PublicationError(message)
        return record

    def _say_missing(self, records: Sequence[BuildRecord]) -> None:
        """Report each plug-in that could not be imported, once."""
        for name in sorted({name for each in records for name in each.missing}):
            number = sum(name in each.missing for each in records)
            self._progress.message(
                f"the plug-in {name!r} cannot be imported and is left out of {format_count(number, 'commit')}: "
                "install it and run backfill again to build the site as it was"
            )

    def _say_skipped(self, sha: str, reason: str) -> None:
        if sha not in self._said:
            self._said.add(sha)
            self._progress.message(f"{sha[:10]} is skipped: {reason}")

    def _say_what_is_published(self, publishing: BackfillPublisher, publications: Mapping[str, Publication]) -> None:
        for sha, reason in publishing.skipped.items():
            self._say_skipped(sha, reason)
        if publishing.unstable:
            names = ", ".join(publishing.unstable[:_SHOWN]) + (", …" if publishing.unstable[_SHOWN:] else "")
            number = len(publishing.unstable)
            differ = f"{format_count(number, 'resource')} {'differs' if number == 1 else 'differ'}"
            self._progress.message(f"{differ} between two builds of the same commit, so updates are left out: {names}")
        folders = [f"{layout.folder}/" for layout in publishing.layouts.values() if layout.restart_number > 1]
        if publications and folders:
            self._progress.message(
                f"the public documents stay unchanged, and the new ones are next to them, in {', '.join(folders)}"
            )
        for line in removed_set_warnings(self._removed_sets) if publications else ():
            self._progress.message(f"{line}.")


def _site_of(today: Configuration, top: Path, extra: Mapping[str, Any]) -> Site:
    """Return the site for builds in the repository at `top`; `HistoryError` where its settings file is not there."""
    settings, here = _inside(today.file, top), _inside(Path.cwd(), top)
    if settings is None:
        message = f"{today.file} is not in the repository {top}, so no commit has its settings: commit it there"
        raise HistoryError(message)
    folder = Path(settings).parent.as_posix() if here is None else here
    clean_urls = today.settings.clean_urls
    return Site(url=today.siteurl, folder=folder, settings=settings, extra=extra, clean_urls=clean_urls)


def _inside(path: Path, top: Path) -> str | None:
    real = Path(os.path.realpath(path))
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else None


def _difference(then: Site, now: Site) -> str:
    """Return a message on what changed in a site."""
    if then.url != now.url:
        return f"SITEURL was {then.url} and is now {now.url}"
    if then.extra != now.extra:
        return "the settings given with -e changed"
    if then.clean_urls != now.clean_urls:
        return "the setting 'clean_urls' changed"
    before, today = (f"{each.settings} (read in {each.folder})" for each in (then, now))
    return f"the settings file was {before} and is now {today}"


def _backfill_folder(workspace: Workspace) -> Path:
    """Create the folder for the builds of past commits, which must not be a link, and return it."""
    for each in (workspace.folder, workspace.backfill):
        if os.path.islink(each):  # noqa: PTH114 - `Path.is_symlink` may raise
            message = f"{each} is a symbolic link, which may lead anywhere: remove it"
            raise PublicationError(message)
    workspace.create()
    workspace.backfill.mkdir(exist_ok=True)
    return workspace.backfill
