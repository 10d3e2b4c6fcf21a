"""The whole backfill: from today's settings file to a publication of the whole past, next to the public one."""

import os
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from pelican.utils import clean_output_dir

from pelican_resourcesync.errors import HistoryError, PublicationError, SettingsError, failing_disk
from pelican_resourcesync.protocol import content_time
from pelican_resourcesync.publication import (
    FOLDER,
    FileResources,
    Layout,
    PreviousPublication,
    Publication,
    PublishRequest,
    Resource,
    Workspace,
    layout_after,
    parse_time,
    read_previous,
    recovered,
)
from pelican_resourcesync.publishers.git import Landing, Repository
from pelican_resourcesync.publishers.pelican.backfill.builds import (
    Builder,
    BuildRecord,
    BuildStore,
    BuiltFile,
    Environment,
    default_jobs,
    installed_packages,
    landings_since,
)
from pelican_resourcesync.publishers.pelican.backfill.history import BuildHistory, BuildOutputs, landings_of, records_of
from pelican_resourcesync.publishers.pelican.history import boundaries_of, repository_of
from pelican_resourcesync.publishers.pelican.site import Configuration, find_published, options_of, read_configuration
from pelican_resourcesync.publishers.static_site import SitePublisher, add_discovery_files, update_sitemap
from pelican_resourcesync.system.files import sha256
from pelican_resourcesync.system.lock import locked
from pelican_resourcesync.terminal import Progress, format_count, past_of

#: The timeout of one build, in seconds.
TIMEOUT = 3600
#: Settings that builds of past commits do not take from `-e`: they use today's values, or none.
_TODAY = ("RESOURCESYNC", "SITEURL", "OUTPUT_PATH", "CACHE_CONTENT", "LOAD_CONTENT_CACHE")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillSummary:
    """The result of a backfill: the publication of each set, or none where the output already contained exactly that.

    In a `dry_run`, `built` is the number of commits to build, and nothing was published. Otherwise, `built` is the
    number of commits built now, `known` of those built before. `skipped` are the commits left out, with
    the reasons. `where` is the URL of the documents, `output` the folder to publish.
    """

    built: int
    known: int
    where: str
    output: Path
    dry_run: bool = False
    publications: Mapping[str, Publication] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return how many commits were built, what was published for each set, and where."""
        known = f" ({self.known:,} more were built before)" if self.known else ""
        if self.dry_run:
            return f"{format_count(self.built, 'commit')} to build{known} and to publish for {self.where}."
        built = f"{format_count(self.built, 'commit')} built{known}, {len(self.skipped):,} skipped."
        if self.skipped:
            built += (
                " Changes of skipped commits are dated by the last commit that changed the source, and those of files "
                "without a source by the next commit that was built, which is too late."
            )
        if not self.publications:
            return f"{built} Nothing new: the publication for {self.where} is already in {self.output}."
        several = len(self.publications) > 1
        sets = " and ".join(
            f"{f'{name}: ' if several else ''}{format_count(of_set.resources, 'resource')}, "
            f"{format_count(of_set.changes, 'change')} in {format_count(of_set.ranges, 'Change List')}"
            for name, of_set in self.publications.items()
        )
        return f"{built} Published for {self.where}: {sets}. Upload the folder {self.output}."


def run_backfill(  # noqa: PLR0913 - keyword-only options
    file: Path,
    stream: TextIO,
    *,
    output: Path | None = None,
    since: str | None = None,
    jobs: int | None = None,
    extra: Mapping[str, Any] | None = None,
    timeout: float = TIMEOUT,
    dry_run: bool = False,
) -> BackfillSummary:
    """Build the past of the site with that settings file, and publish it to its output, or to another folder.

    The commits from `since` on (by default all) are built, `jobs` at a time (by default one for each core), each in at
    most `timeout` seconds, with the settings in `extra` in place of its own. Progress is written to `stream`.
    A `dry_run` only counts commits.
    Raises a
    `ResourceSyncError` where it fails or is interrupted; the documents in the output are unchanged then.
    """
    imports = tuple(sys.path)  # before the settings file adds folders of today's work tree
    today = read_configuration(file, extra)
    today = today._replace(pelican={**today.pelican, "OUTPUT_PATH": str((output or today.output).absolute())})
    if not today.settings.enabled or not today.siteurl:
        why = "SITEURL is empty" if today.settings.enabled else "'enabled' is False"
        message = f"{why} in {file}: pass the settings file that is used to publish (--settings)"
        raise PublicationError(message)
    if today.pelican["PATH"] == os.curdir:  # the default; what is set is absolute
        message = (
            f"PATH is not set in {file}, so every file next to it would be a source: add -e 'PATH=\"content\"', with "
            "the folder that pelican is called with"
        )
        raise SettingsError(message)
    repository, progress = repository_of(today.pelican), Progress(stream)
    try:
        with failing_disk("backfill stopped", then=", and run backfill again: finished builds are kept"):
            workspace = Workspace(today.folder)
            workspace.create()
            workspace.backfill.mkdir(exist_ok=True)
            with recovered(today.output, workspace.base), locked(workspace.backfill):
                store, environment = BuildStore(workspace.backfill), _environment_of(today, repository.top, extra or {})
                builder = Builder(environment, store, repository.top, imports, timeout)
                return _Backfill(today, repository, store, environment, progress).run(
                    builder, since, jobs, dry_run=dry_run
                )
    except KeyboardInterrupt:
        message = "interrupted: run backfill again to continue; finished builds are kept"
        raise PublicationError(message) from None
    finally:
        progress.close()
        repository.close()


@dataclass(slots=True)
class _Backfill:
    """One run of a backfill, while its output is locked."""

    today: Configuration
    repository: Repository
    store: BuildStore
    environment: Environment
    progress: Progress
    #: With what is continued, or started over from.
    site: SitePublisher = field(init=False)
    #: By plug-in, the number of builds without it.
    missing_plugins: Counter[str] = field(default_factory=Counter)

    def run(self, builder: Builder, since: str | None, jobs: int | None, *, dry_run: bool) -> BackfillSummary:
        """Build the commits without a valid record, and publish the history in all records."""
        self.store.clean()
        with ExitStack() as stack:
            self.site = self._find_public(stack)
            return self._build_and_publish(builder, since, jobs, dry_run=dry_run)

    def _build_and_publish(
        self, builder: Builder, since: str | None, jobs: int | None, *, dry_run: bool
    ) -> BackfillSummary:
        known = [predecessor.known for predecessor in self.site.predecessors.values() if predecessor.known]
        postponed = {sha: time for state in known for sha, time in state.postponed.items()}
        landings = landings_of(self.repository, postponed)
        chosen = self._choose(landings, since)
        missing = [landing for landing in chosen if not self._is_recorded(landing)]
        summary = BackfillSummary(
            built=len({landing.commit.sha for landing in missing}),
            known=len(chosen) - len(missing),
            where=f"{self.today.siteurl}/{FOLDER}/",
            output=self.today.output,
            dry_run=dry_run,
        )
        if dry_run:
            return summary
        # From which on, and in which environment, for later builds of the site.
        self.store.put_environment(self.environment, self.repository.commit(since) if since else None)
        self._build(builder, missing, jobs or default_jobs(), last=chosen[-1])

        states = self._states()
        history, number, is_listed = self._history(landings, chosen)
        outputs = history.outputs
        previous = self.site.previous if number else {}
        for landing, record in records_of(self.store, chosen[number:], self.environment):
            history.add(landing, record)
            if previous and landing is not chosen[-1] and record.commit not in history.skipped:
                self._publish(history, landing, outputs.resources(record), previous)
                previous = self._published(outputs.layouts)
        [(landing, record)] = records_of(self.store, chosen[-1:], self.environment)
        if record.commit in history.skipped:
            raise _unusable(record, history.skipped[record.commit])
        resources = outputs.resources(record)
        files = {file.path: file for file in (*record.files, *resources.values())}
        if number < len(chosen) or not is_listed or not self._has_output(files):
            self._clean_output()
            self._write_output(outputs, files)
        publications = self._publish(history, landing, resources, previous)
        update_sitemap(self.today.output, list(outputs.layouts.values()), wanted=self.today.settings.sitemap)
        is_new = self._states() != states

        self._report(history.skipped, outputs.layouts if is_new else {}, restarted=not previous)
        for line in self.site.removed_set_warnings() if is_new else ():
            self.progress.message(f"{line}.")
        built = len({landing.commit.sha for landing in missing} - history.skipped.keys())
        known_before = len(chosen) - len(history.skipped) - built
        published = publications if is_new else {}
        return replace(summary, built=built, known=known_before, publications=published, skipped=history.skipped)

    def _find_public(self, stack: ExitStack) -> SitePublisher:
        """Return a publisher with what is public. A build looks in the same places."""
        today = self.today
        try:
            return find_published(today, today.output, stack)
        except PublicationError:  # one that is damaged, for example, or of another address
            if today.settings.previous != "live":
                raise
            today = today._replace(settings=replace(today.settings, previous="none"))
            return find_published(today, today.output, stack)

    def _history(self, landings: Sequence[Landing], chosen: Sequence[Landing]) -> tuple[BuildHistory, int, bool]:
        """Return the history of the builds that are published already, their number, and whether that is all of it.

        The publication is continued if it lists exactly what the records say up to its commit, or if it began without
        its past, and that was built or can be added. Otherwise the documents start over.
        """
        shas = {landing.commit.sha: number for number, landing in enumerate(chosen, 1)}
        previous = self.site.previous
        numbers = {shas.get(publication.state.commit or "", 0) for publication in previous.values()}
        number = numbers.pop() if len(numbers) == 1 else 0
        if number:
            history = self._begin(landings, restarts=False)
            for landing, record in records_of(self.store, chosen[:number], self.environment):
                history.add(landing, record)
            is_listed = all(history.is_listed(name, publication) for name, publication in previous.items())
            if is_listed or all(self._has_room_for_past(publication, shas) for publication in previous.values()):
                return history, number, is_listed
        return self._begin(landings, restarts=True), 0, False

    def _has_room_for_past(self, previous: PreviousPublication, shas: Collection[str]) -> bool:
        """Return whether what was built before the first publication can be added to a publication, or was."""
        first = previous.state.first
        if first is None or first.commit not in shas or previous.state.siteurl != self.today.siteurl:
            return False
        oldest = next((change for change_range in previous.ranges for change in change_range.changes), None)
        return not first.past or (oldest is not None and oldest.representation is not None)

    def _begin(self, landings: Sequence[Landing], *, restarts: bool) -> BuildHistory:
        layouts = {
            name: layout_after(layout, self.site.predecessors[name].known, restarts=restarts)
            for name, layout in self.today.layouts.items()
        }
        outputs = BuildOutputs(self.store, self.today.pelican, self.today.settings, layouts)
        return BuildHistory(outputs, layouts, landings, self.repository)

    def _choose(self, landings: Sequence[Landing], revision: str | None) -> list[Landing]:
        """Return the commits to build."""
        chosen = landings_since(landings, self.repository.commit(revision) if revision else None)
        if not chosen:
            message = f"--since is {revision!r}, a commit that was never the head of this branch: use the merge with it"
            raise HistoryError(message)
        before, _ = self.store.environment() or (self.environment, None)
        if before != self.environment:
            self.progress.message(f"all commits are built again, because {self.environment.difference(before)}.")
        return chosen

    def _is_recorded(self, landing: Landing) -> bool:
        """Return whether a commit has a valid record, and need not be built."""
        record = self.store.record(landing, self.environment.digest)
        if record is None or record.retry:
            return False
        self.missing_plugins.update(record.missing)
        return True

    def _build(self, builder: Builder, missing: Sequence[Landing], jobs: int, last: Landing) -> None:
        """Build the missing commits, the last one first: if that fails, there is nothing to publish."""
        order = sorted(missing, key=lambda landing: landing is not last)
        self.progress.begin(len(order))
        with closing(builder.build(order, jobs)) as builds:
            for landing, record in builds:
                if record.failure and landing is last:
                    raise _unusable(record, record.failure)
                self.progress.count(failed=bool(record.failure))
                self.store.put_record(record)
                self.missing_plugins.update(record.missing)
        self.progress.close()
        for name, number in sorted(self.missing_plugins.items()):
            self.progress.message(
                f"the plug-in {name!r} cannot be imported and is left out of {format_count(number, 'commit')}: "
                "install it and run backfill again to build the site as it was"
            )

    def _states(self) -> dict[str, str]:
        """Return the SHA-256 of the state of each set in the output."""
        files = {name: self.today.output / layout.state for name, layout in self.today.layouts.items()}
        return {name: sha256(file.read_bytes()) for name, file in files.items() if file.is_file()}

    def _published(self, layouts: Mapping[str, Layout]) -> dict[str, PreviousPublication]:
        """Return the publication in the output, as the one to continue."""
        found = {name: read_previous(self.today.output, layout) for name, layout in layouts.items()}
        return {name: previous for name, previous in found.items() if previous}

    def _has_output(self, files: Mapping[str, BuiltFile]) -> bool:
        """Return whether all files are in the output, as long as they should be."""
        try:
            return all((self.today.output / path).stat().st_size == file.length for path, file in files.items())
        except OSError:
            return False

    def _clean_output(self) -> None:
        """Delete what a build would delete (`DELETE_OUTPUT_DIRECTORY`), but never the sources."""
        settings, output = self.today.pelican, self.today.output
        content = Path(os.path.realpath(settings["PATH"]))
        if settings["DELETE_OUTPUT_DIRECTORY"] and not content.is_relative_to(os.path.realpath(output)):
            clean_output_dir(str(output), [*settings["OUTPUT_RETENTION"], FOLDER])

    def _write_output(self, outputs: BuildOutputs, files: Mapping[str, BuiltFile]) -> None:
        """Write what a build by Pelican would have written. After an interruption, the command can be run again."""
        output = self.today.output
        for path in files:
            (output / path).parent.mkdir(parents=True, exist_ok=True)
        for path, file in files.items():
            outputs.copy(file.sha256, output / path)
        add_discovery_files(output, self.today.settings, outputs.layouts)

    def _publish(
        self,
        history: BuildHistory,
        landing: Landing,
        resources: Mapping[str, BuiltFile],
        previous: Mapping[str, PreviousPublication],
    ) -> dict[str, Publication]:
        """Publish the resources of one commit after the `previous` ones; new sets get all their history at the end."""
        today, outputs, requests = self.today, history.outputs, {}
        for own in today.settings.sets:
            if own.name not in previous and landing is not history.landings[-1]:
                continue  # a set that is new
            listed = outputs.in_set(own.name, resources)
            options = options_of(today.pelican, today.settings, outputs.layouts[own.name], own)
            public = self.site.predecessors[own.name]
            if own.name in previous:
                past = history.before_first(own.name, previous[own.name])
                known = replace(history.up_to(landing), past=past)
            else:
                known = history.of(own.name)
            since = {change.uri: parse_time(content_time(change.content, "")) for change in known.changes}
            files = [
                Resource(uri, outputs.path(resources[uri].sha256), None, listed[uri], content_since=since.get(uri))
                for uri in listed
            ]
            requests[own.name] = PublishRequest(
                resources=FileResources(files),
                history=known,
                boundaries=boundaries_of(today.settings, self.repository, history.landings),
                options=replace(options, allow_deletions=True),  # what a commit deleted was deleted
                previous=previous.get(own.name),
                restarted_from=public.previous or public.restarted_from,
            )
        published = self.site.publish_sets([*requests.values()])
        for name, publication in published.items():
            if publication.added:
                self.progress.message(f"{f'{name}: ' if len(published) > 1 else ''}{past_of(publication)}.")
        return published

    def _report(self, skipped: Mapping[str, str], layouts: Mapping[str, Layout], *, restarted: bool) -> None:
        """Report the commits that were left out, and where the documents were published, if they were."""
        for sha, reason in skipped.items():
            self.progress.message(f"{sha[:10]} is skipped: {reason}")
        folders = [f"{layout.folder}/" for layout in layouts.values() if restarted and layout.restart_number > 1]
        if folders:
            self.progress.message(
                "the public documents do not match what was built, so they stay unchanged, and new ones are next to "
                f"them, in {', '.join(folders)}"
            )


def _environment_of(today: Configuration, top: Path, extra: Mapping[str, Any]) -> Environment:
    """Return the environment of builds in the repository at `top`; `HistoryError` where it has no settings file."""
    file, here = Path(os.path.realpath(today.file)), Path.cwd()
    if not file.is_relative_to(top):
        message = f"{today.file} is not in the repository {top}, so no commit contains it: commit it there"
        raise HistoryError(message)
    folder = here if here.is_relative_to(top) else file.parent
    return Environment(
        siteurl=today.siteurl,
        folder=folder.relative_to(top).as_posix(),
        settings=file.relative_to(top).as_posix(),
        clean_urls=today.settings.clean_urls,
        index_urls=today.settings.index_urls,
        overrides={
            **{name: value for name, value in extra.items() if name not in _TODAY},
            "SITEURL": today.pelican["SITEURL"],
        },
        packages=installed_packages(),
    )


def _unusable(last: BuildRecord, reason: str) -> PublicationError:
    return PublicationError(f"the last commit, {last.commit[:10]}, cannot be published: {reason}")
