"""One build, from its start to its publication: saving documents, collecting outputs, publishing, and warnings."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import PublicationError, ResourceSyncError, failing_disk
from pelican_resourcesync.publication import (
    FOLDER,
    Predecessor,
    Workspace,
    predecessor_messages,
    recovered,
    state_in_output,
    well_known_hints,
)
from pelican_resourcesync.publishers.pelican.outputs import Run
from pelican_resourcesync.publishers.pelican.predecessors import find_site_predecessors
from pelican_resourcesync.publishers.pelican.publisher import Publisher
from pelican_resourcesync.publishers.pelican.saved_documents import SavedDocuments
from pelican_resourcesync.publishers.pelican.scope import settings_folder_of
from pelican_resourcesync.publishers.static_site import (
    PublishResult,
    SiteUrls,
    find_removed_sets,
    layouts_of,
    own_sitemaps,
    require_private_work_folder,
)
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.system.printable import get_logger, print_line
from pelican_resourcesync.terminal import Progress, summaries

logger = get_logger(__name__)


class Session:
    """A build of Pelican, which is published when it is finished.

    One that does not publish keeps the documents that another build published into its output.
    """

    def __init__(self, settings: Mapping[str, Any], *, publishes: bool = True, began: float | None = None) -> None:
        """Check the settings and find the previous publication, before Pelican cleans the output.

        The time that the plug-in takes is counted from `began` on (a value of `time.perf_counter`; by default now).
        Raises `SettingsError` for an invalid setting, and `PublicationError` where another build is running, or where
        the public publication cannot be determined or carried forward. Nothing has been built then.
        """
        began = time.perf_counter() if began is None else began
        self._seconds = 0.0
        self._settings: Settings = parse_settings(settings.get("RESOURCESYNC"))
        self._siteurl = parse_siteurl(settings.get("SITEURL"))
        self._output, self._path = Path(settings["OUTPUT_PATH"]), Path(settings["PATH"])
        self._predecessors: Mapping[str, Predecessor] = {}
        self._removed_sets: Sequence[str] = ()
        self._run: Run | None = None
        self._published = False
        self._sitemaps = tuple(each.name for each in own_sitemaps(self._output))
        self._publishes = publishes
        with failing_disk("nothing can be built"), ExitStack() as stack:
            self._begin(settings, stack)
            self._stack = stack.pop_all()
        self._seconds = time.perf_counter() - began

    def _begin(self, settings: Mapping[str, Any], stack: ExitStack) -> None:
        self._base = base = settings_folder_of(settings)
        if self._publishes:
            require_private_work_folder(base, self._output)
        stack.enter_context(recovered(self._output, base))
        self._saved = saved = SavedDocuments(self._output, None if self.output_retention else Workspace(base))
        stack.callback(saved.close)
        if not self._publishes:
            return
        try:
            self._predecessors = find_site_predecessors(settings, self._settings, self._siteurl, saved, stack)
            self._removed_sets = find_removed_sets(self._predecessors, self._settings, self._siteurl, saved, base)
        except PublicationError as error:
            if not self._tolerates(error):
                raise
            return
        own = self._settings
        self._run = Run(settings, SiteUrls(self._siteurl, own.clean_urls, own.index_urls))
        for line in predecessor_messages(self._predecessors):
            print_line(f"ResourceSync: {line}.")

    @property
    def output_retention(self) -> tuple[str, ...]:
        """The names in the output that Pelican must not delete, so that the last publication survives a killed build.

        Empty where the output is inside Pelican's `PATH`, because Pelican would read the documents as sources.
        """
        return () if self._output.resolve().is_relative_to(self._path.resolve()) else (FOLDER, *self._sitemaps)

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
            self._saved.restore()
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
            if all(state_in_output(self._saved, self._base, each) for each in layouts):
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
        """Release the lock and the saved documents. Where nothing was published, restore them first."""
        with failing_disk("the documents in the output cannot be restored"), self._stack:
            if not self._published:
                self._saved.restore()

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
