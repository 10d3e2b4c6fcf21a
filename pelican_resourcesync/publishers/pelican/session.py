"""One build, from its start to its publication: the one before it, collecting outputs, publishing, and warnings.

`Publisher.publish` is the story: it passes the resources of the output and their history in git to `publication`.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import PublicationError, ResourceSyncError, failing_disk
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import (
    FOLDER,
    ChangeHistory,
    FileResources,
    Predecessor,
    PublishRequest,
    Representation,
    Resource,
    language_hints,
    predecessor_messages,
    publish_sets,
    recovered,
    restore_well_known,
    state_in_output,
    well_known_hints,
    whole_seconds,
)
from pelican_resourcesync.publishers.pelican.history import GitHistory, PreviousState, SetHistory
from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Run
from pelican_resourcesync.publishers.pelican.resources import ResourceSet, SiteResources, find_resources, links_of
from pelican_resourcesync.publishers.pelican.site import find_site_predecessors, options_of, settings_folder_of
from pelican_resourcesync.publishers.static_site import (
    PublishResult,
    SiteUrls,
    UnstablePages,
    add_discovery_files,
    find_removed_sets,
    layouts_of,
    link_pages,
    own_sitemaps,
    removed_layouts,
    removed_set_warnings,
    require_free_places,
    require_private_work_folder,
    update_sitemap,
)
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.system.printable import get_logger, print_line
from pelican_resourcesync.terminal import Progress, summaries


class Publisher:
    """The publisher of one build of one site."""

    def __init__(
        self,
        run: Run,
        settings: Settings,
        predecessors: Mapping[str, Predecessor],
        removed_sets: Sequence[str] = (),
        on_packed: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Publish what `run` wrote; `predecessors` holds the previous publication of each set.

        `removed_sets` are no longer published. `on_packed` is called with the number of bytes just packed.
        """
        self._run = run
        self._settings = settings
        self._predecessors = predecessors
        self._removed_sets = removed_sets
        self._on_packed = on_packed
        self._warnings: list[str] = []
        self._hints: dict[str, None] = {}

    def publish(self) -> PublishResult:
        """Find the resources, add the links to the documents, read the history, and write the documents."""
        output, layouts = self._run.output, layouts_of(self._settings, self._run.urls.siteurl, self._predecessors)
        require_free_places(output, self._settings, layouts)
        add_discovery_files(output, self._settings, layouts)
        site = find_resources(self._run, self._settings, layouts)
        pages = site.pages if self._settings.html_links else {}
        linked, headless = link_pages(output, pages, {file.path for file in site.written}, ours=True)
        measured = {
            file.uri: linked.get(file.path) or Resource(file.uri, output / file.path).represent()
            for file in site.written
        }
        links = links_of(site.listed, filed=self._settings.names_sets)
        histories = self._read_histories(site)
        requests = [self._request(resource_set, measured, links, histories) for resource_set in site.sets]
        removed = list(removed_layouts(output, self._run.urls.siteurl, self._removed_sets))
        publications = publish_sets(requests, self._on_packed, removed)
        sitemap = update_sitemap(
            output, [resource_set.layout for resource_set in site.sets], wanted=self._settings.sitemap
        )
        is_first = not any(predecessor.previous for predecessor in self._predecessors.values())
        language = language_hints(str(self._run.settings.get("DEFAULT_LANG") or "")) if is_first else []
        if is_first and (unread := self._run.unread()):
            self._warnings.append(
                f"no source that ends in {' or '.join(unread)} is published, because no reader for it is installed: "
                'install "pelican[markdown]" for Markdown, or the plug-in of Pelican that reads such files'
            )
        self._hints |= dict.fromkeys(filter(None, [*site.hints, headless, sitemap, *language]))
        ended = removed_set_warnings(self._removed_sets, self._settings)
        self._warnings += [*site.warnings, *ended]
        notes = [note for publication in publications for note in publication.notes]
        names = [resource_set.settings.name for resource_set in site.sets]
        return PublishResult(dict(zip(names, publications, strict=True)), self._warnings, [*self._hints], notes)

    def _read_histories(self, site: SiteResources) -> dict[str, SetHistory]:
        """Return the history of each set. For sets with the same previous commit it is read only once."""
        histories: dict[str, SetHistory] = {}
        for previous, names in PreviousState.group(
            {name: predecessor.previous for name, predecessor in self._predecessors.items()}
        ):
            sets = [resource_set for resource_set in site.sets if resource_set.settings.name in names]
            history = GitHistory(self._run, self._settings, previous)
            histories |= history.read(site.written, sets)
            self._warnings += [warning for warning in history.warnings if warning not in self._warnings]
            self._hints |= dict.fromkeys(history.hints)
        return histories

    def _request(
        self,
        resource_set: ResourceSet,
        measured: Mapping[str, Representation],
        links: Mapping[str, tuple[Link, ...]],
        histories: Mapping[str, SetHistory],
    ) -> PublishRequest:
        name = resource_set.settings.name
        history, boundaries = histories[name]
        resources = [
            Resource(
                file.uri,
                self._run.output / file.path,
                self._modified(file, history),
                measured[file.uri],
                links.get(file.uri, ()),
                file.title,
            )
            for file in resource_set.written
        ]
        return PublishRequest(
            resources=FileResources(resources),
            history=history,
            boundaries=boundaries,
            options=options_of(self._run.settings, self._settings, resource_set.layout, resource_set.settings),
            previous=self._predecessors[name].previous,
            restarted_from=self._predecessors[name].restarted_from,
            not_live=self._predecessors[name].not_live,
        )

    def _modified(self, written: OutputFile, history: ChangeHistory) -> datetime | None:
        """Return the modification time of the source, else of the output file; `None` where there is a git history."""
        if history.commit is not None:
            return None
        file = Path(self._run.settings["PATH"]) / written.source if written.source else None
        stat = (file if file and file.is_file() else self._run.output / written.path).stat()
        return whole_seconds(datetime.fromtimestamp(stat.st_mtime, UTC))


logger = get_logger(__name__)


class Session:
    """A build of Pelican, which is published when it is finished."""

    def __init__(self, settings: Mapping[str, Any], *, began: float | None = None) -> None:
        """Check the settings and find the previous publication, before Pelican cleans the output.

        The time that the plug-in takes is counted from `began` on (a value of `time.perf_counter`; by default now).
        Raises `SettingsError` for an invalid setting, and `PublicationError` where another build is running, or where
        the public publication cannot be determined or carried forward. Nothing has been built then.
        """
        began = time.perf_counter() if began is None else began
        self._seconds = 0.0
        self._settings: Settings = parse_settings(settings.get("RESOURCESYNC"))
        self._siteurl = parse_siteurl(settings.get("SITEURL"))
        self._output = Path(settings["OUTPUT_PATH"])
        self._predecessors: Mapping[str, Predecessor] = {}
        self._removed_sets: Sequence[str] = ()
        self._run: Run | None = None
        self._published = False
        #: The names in the output that Pelican must not delete, so that the last publication survives a killed build.
        self.output_retention = (FOLDER, *(file.name for file in own_sitemaps(self._output)))
        with failing_disk("nothing can be built"), ExitStack() as stack:
            self._begin(settings, stack)
            self._stack = stack.pop_all()
        self._seconds = time.perf_counter() - began

    def _begin(self, settings: Mapping[str, Any], stack: ExitStack) -> None:
        self._base = base = settings_folder_of(settings)
        require_private_work_folder(base, self._output)
        stack.enter_context(recovered(self._output, base))
        try:
            self._predecessors = find_site_predecessors(settings, self._settings, self._siteurl, self._output, stack)
            self._removed_sets = find_removed_sets(
                self._predecessors, self._settings, self._siteurl, self._output, base
            )
        except PublicationError as error:
            if not self._tolerates(error):
                raise
            return
        self._unstable = UnstablePages(self._output, self._siteurl, self._predecessors.values())
        own = self._settings
        self._run = Run(settings, SiteUrls(self._siteurl, own.clean_urls, own.index_urls))
        for line in predecessor_messages(self._predecessors):
            print_line(f"ResourceSync: {line}.")

    def generated(self, generators: list[Any]) -> None:
        """Record Pelican's generators, when all have read their sources."""
        if self._run:
            self._run.generators += generators

    def content_written(self, file: str, context: Mapping[str, Any]) -> None:
        """Record a page that was written."""
        if self._run:
            with self._counted():
                self._run.content_written(file, context)

    def feed_written(self, file: str) -> None:
        """Record a feed that was written."""
        if self._run:
            with self._counted():
                self._run.feed_written(file)

    def publish(self) -> None:
        """Publish what was built, and print a one-line summary for each set."""
        with failing_disk("the site is built but not published"), self._counted():
            restore_well_known(self._output)
            if self._run is None:
                return
            with Progress.shown(sys.stderr) as progress:
                publisher = Publisher(
                    self._run, self._settings, self._predecessors, self._removed_sets, progress.packed
                )
                outcome = self._publish(publisher)
        if outcome:
            self._published = True
            self._report(outcome)

    def _publish(self, publisher: Publisher) -> PublishResult | None:
        """Publish; where that fails, print what the output has now that Pelican has written it."""
        try:
            return publisher.publish()
        except ResourceSyncError as error:
            if self._tolerates(error):
                return None
            documents = "the documents of the last publication" if (self._output / FOLDER).is_dir() else "no documents"
            print_line(
                f"ResourceSync: nothing was published. The folder {self._output} has the new pages and {documents}: do "
                "not upload it. When the cause is gone, build again: nothing else has to be repaired."
            )
            raise

    def _tolerates(self, error: ResourceSyncError) -> bool:
        """Return whether the build goes on although nothing is published, and warn of that.

        It does not where the output lacks the documents that are live: the next build would start over.
        """
        if self._settings.on_error == "stop":
            return False
        layouts = layouts_of(self._settings, self._siteurl).values()
        with suppress(PublicationError):
            if all(state_in_output(self._output, self._base, layout) for layout in layouts):
                logger.warning("ResourceSync: nothing is published; the documents in %s stay: %s", self._output, error)
                return True
        print_line("ResourceSync: 'on_error' is 'warn', but the output lacks the documents that are live.")
        return False

    @contextmanager
    def _counted(self) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds += time.perf_counter() - began

    def close(self) -> None:
        """Release the lock. Where nothing was published, restore the well-known copy first."""
        with failing_disk("the documents in the output cannot be restored"), self._stack:
            if not self._published:
                restore_well_known(self._output)

    def _report(self, outcome: PublishResult) -> None:
        unstable = self._unstable.warnings(outcome.publications.values(), self._settings)
        for warning in (*outcome.warnings, *unstable):
            logger.warning("ResourceSync: %s", warning)
        for note in outcome.notes:
            logger.info("ResourceSync: %s", note)
        for hint in outcome.hints:
            print_line(f"ResourceSync: {hint}.")
        for line in summaries(outcome.publications, f"{self._siteurl}/{FOLDER}/", self._seconds):
            print_line(line)
        for hint in well_known_hints(self._siteurl):
            print_line(f"ResourceSync: {hint}.")
