"""One build, from its start to its publication: the one before it, collecting outputs, publishing, and warnings.

`Publisher.publish` is the story: it passes the resources of the output and their history in git to `publication`.
"""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import PublicationError, ResourceSyncError, failing_disk
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import (
    FOLDER,
    ChangeHistory,
    PublishRequest,
    Representation,
    Resource,
    language_hints,
    predecessor_messages,
    recovered,
    restore_well_known,
    state_in_output,
    well_known_hints,
    whole_seconds,
)
from pelican_resourcesync.publishers.pelican.history import GitHistory, SetHistory, continued_together
from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Run
from pelican_resourcesync.publishers.pelican.resources import ResourceSet, SiteResources, find_resources, links_of
from pelican_resourcesync.publishers.pelican.site import options_of, settings_folder_of, with_earlier_address
from pelican_resourcesync.publishers.static_site import (
    PublishResult,
    SitePublisher,
    layouts_of,
    own_sitemaps,
    require_private_work_folder,
)
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.system.printable import get_logger, print_line
from pelican_resourcesync.terminal import Progress, summaries


class Publisher(SitePublisher):
    """The publisher of one build of one site."""

    def __init__(self, pelican: Mapping[str, Any], base: Path, settings: Settings, stack: ExitStack) -> None:
        """Find what the build continues, and record what Pelican writes from now on until `stack` is closed."""
        super().__init__(Path(pelican["OUTPUT_PATH"]), base, parse_siteurl(pelican.get("SITEURL")), settings, stack)
        self.predecessors = with_earlier_address(self, pelican)
        self.run = Run(pelican, self.urls)
        stack.enter_context(self.run.listening())

    def publish(self, on_packed: Callable[[int], None]) -> PublishResult:
        """Find the resources, add the links to the documents, read the history, and write the documents.

        `on_packed` is called with the number of bytes just packed.
        """
        self.prepare()
        site = find_resources(self.run, self.settings, self.layouts)
        linked = self.link_pages(site.pages, {file.path for file in site.written}, ours=True)
        measured = {
            file.uri: linked.get(file.path) or Resource(file.uri, self.output / file.path).represent()
            for file in site.written
        }
        links = links_of(site.listed, filed=self.settings.names_sets)
        histories = self._read_histories(site)
        requests = [self._request(resource_set, measured, links, histories) for resource_set in site.sets]
        if not self.previous:
            self.hints += language_hints(str(self.run.settings.get("DEFAULT_LANG") or ""))
            if unread := self.run.unread():
                self.warnings.append(
                    f"no source ending in {' or '.join(unread)} is published, because "
                    'no reader for it is installed: install "pelican[markdown]" for Markdown, or a plug-in for Pelican '
                    "that reads such files"
                )
        self.hints += site.hints
        self.warnings += site.warnings
        return self.publish_site(requests, on_packed)

    def _read_histories(self, site: SiteResources) -> dict[str, SetHistory]:
        """Return the history of each set. For sets with the same previous commit it is read only once."""
        together: dict[str, list[ResourceSet]] = {}
        for resource_set in site.sets:
            key = continued_together(self.previous.get(resource_set.settings.name))
            together.setdefault(key, []).append(resource_set)
        histories: dict[str, SetHistory] = {}
        for sets in together.values():
            previous = (self.previous.get(resource_set.settings.name) for resource_set in sets)
            history = GitHistory(self.run, self.settings, [*filter(None, previous)])
            histories |= history.read(site.written, sets)
            self.warnings += [warning for warning in history.warnings if warning not in self.warnings]
            self.hints += history.hints
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
                self.output / file.path,
                self._modified(file, history),
                measured[file.uri],
                links.get(file.uri, ()),
                file.title,
            )
            for file in resource_set.written
        ]
        options = options_of(self.run.settings, self.settings, resource_set.layout, resource_set.settings)
        return self.request(name, resources, history, boundaries, options)

    def _modified(self, written: OutputFile, history: ChangeHistory) -> datetime | None:
        """Return the modification time of the source, else of the output file; `None` where there is a git history."""
        if history.commit is not None:
            return None
        file = Path(self.run.settings["PATH"]) / written.source if written.source else None
        stat = (file if file and file.is_file() else self.output / written.path).stat()
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
        self._settings = parse_settings(settings.get("RESOURCESYNC"))
        self._siteurl = parse_siteurl(settings.get("SITEURL"))
        self._output, self._base = Path(settings["OUTPUT_PATH"]), settings_folder_of(settings)
        self._publisher: Publisher | None = None
        self._published = False
        #: The names in the output that Pelican must not delete, so that the last publication survives a killed build.
        self.output_retention = (FOLDER, *(file.name for file in own_sitemaps(self._output)))
        with failing_disk("nothing can be built"), ExitStack() as stack:
            require_private_work_folder(self._base, self._output)
            stack.enter_context(recovered(self._output, self._base))
            try:
                self._publisher = Publisher(settings, self._base, self._settings, stack)
            except PublicationError as error:
                if not self._tolerates(error):
                    raise
            for line in predecessor_messages(self._publisher.predecessors) if self._publisher else ():
                print_line(f"ResourceSync: {line}.")
            self._stack = stack.pop_all()
        self._seconds = time.perf_counter() - began

    def publish(self) -> None:
        """Publish what was built, and print a one-line summary for each set."""
        began = time.perf_counter()
        with failing_disk("the site is built but not published"):
            restore_well_known(self._output)
            if self._publisher is None:
                return
            with Progress.shown(sys.stderr) as progress:
                outcome = self._publish(self._publisher, progress)
        if outcome:
            self._published = True
            self._seconds += time.perf_counter() - began
            self._report(outcome)

    def _publish(self, publisher: Publisher, progress: Progress) -> PublishResult | None:
        """Publish; where that fails, print what the output has now that Pelican has written it."""
        try:
            return publisher.publish(progress.packed)
        except ResourceSyncError as error:
            if self._tolerates(error):
                return None
            documents = "the documents of the last publication" if (self._output / FOLDER).is_dir() else "no documents"
            print_line(
                f"ResourceSync: nothing was published. The folder {self._output} has the new pages and {documents}: do "
                "not upload it. Correct the cause and build again; nothing else needs repair."
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
                logger.warning(
                    "ResourceSync: nothing was published; the documents in %s are unchanged: %s", self._output, error
                )
                return True
        print_line("ResourceSync: 'on_error' is 'warn', but the live documents are missing from the output.")
        return False

    def close(self) -> None:
        """Release the lock. Where nothing was published, restore the well-known copy first."""
        with failing_disk("the documents in the output cannot be restored"), self._stack:
            if not self._published:
                restore_well_known(self._output)

    def _report(self, outcome: PublishResult) -> None:
        for warning in outcome.warnings:
            logger.warning("ResourceSync: %s", warning)
        for note in outcome.notes:
            logger.info("ResourceSync: %s", note)
        for hint in outcome.hints:
            print_line(f"ResourceSync: {hint}.")
        for line in summaries(outcome.publications, f"{self._siteurl}/{FOLDER}/", self._seconds):
            print_line(line)
        for hint in well_known_hints(self._siteurl):
            print_line(f"ResourceSync: {hint}.")
