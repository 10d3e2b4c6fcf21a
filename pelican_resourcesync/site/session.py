"""One build, from its start to its publication: what is taken aside, what is collected, and what is said."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pelican.log import console

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.discovery import well_known_reachable
from pelican_resourcesync.publication.layout import FOLDER, Layout
from pelican_resourcesync.publication.previous import Previous, read_previous
from pelican_resourcesync.publication.publish import Publication
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.site.aside import Aside
from pelican_resourcesync.site.publisher import Outcome, Publisher
from pelican_resourcesync.site.written import Run

logger = logging.getLogger(__name__)


class Session:
    """A build of Pelican that is to be published when it is done."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Check the settings and take the publication in the output aside, before Pelican cleans it.

        Before anything is built, `SettingsError` says which setting cannot be used, and `PublicationError` that the
        publication in the output cannot be carried forward.
        """
        self._settings: Settings = parse_settings(settings.get("RESOURCESYNC"))
        self._siteurl = parse_siteurl(settings.get("SITEURL"))
        self._output, self._path = Path(settings["OUTPUT_PATH"]), Path(settings["PATH"])
        self._previous: Previous | None = None
        self._run: Run | None = None
        self._published = False
        self._aside = Aside(self._output)
        if self._settings.enabled and self._siteurl:
            with ExitStack() as stack:
                stack.callback(self._aside.close)
                self._previous = (
                    read_previous(self._aside.folder, Layout(self._siteurl)) if self._aside.folder else None
                )
                stack.pop_all()
            self._run = Run(settings, self._siteurl)

    @property
    def kept(self) -> tuple[str, ...]:
        """What in the output Pelican is not to clean, so that the last publication outlives a build that is killed.

        Nothing where Pelican would read the documents as sources, because the output lies among them.
        """
        return () if self._output.resolve().is_relative_to(self._path.resolve()) else (FOLDER,)

    def generated(self, generators: list[Any]) -> None:
        """Take note of Pelican's generators, once all have read their sources."""
        if self._run:
            self._run.generators += generators

    def content_written(self, file: str, context: Mapping[str, Any]) -> None:
        """Take note of a page that was written."""
        if self._run:
            self._run.content_written(file, context)

    def feed_written(self, file: str) -> None:
        """Take note of a feed that was written."""
        if self._run:
            self._run.feed_written(file)

    def publish(self) -> None:
        """Publish what was built, and say so in one line."""
        if self._run is None:
            if self._settings.enabled:
                logger.info("ResourceSync: SITEURL is empty, so there are no URIs to publish; nothing was written")
            return
        outcome = Publisher(self._run, self._settings, self._previous).publish()
        self._published = True
        self._say(outcome)

    def close(self) -> None:
        """Let go of what was taken aside; put it back where nothing was published."""
        try:
            if not self._published:
                self._aside.restore()
        finally:
            self._aside.close()

    def _say(self, outcome: Outcome) -> None:
        for warning in outcome.warnings:
            logger.warning("ResourceSync: %s", warning)
        for note in outcome.notes:
            logger.info("ResourceSync: %s", note)
        print_line(summary(outcome.publication, f"{self._siteurl}/{FOLDER}/", outcome.seconds))
        if not well_known_reachable(self._siteurl):
            print_line(
                f"ResourceSync: SITEURL has a path, so {self._siteurl}/.well-known/resourcesync is not at the root, "
                "where Destinations look first: the links in the pages lead to the documents."
            )


def print_line(line: str) -> None:
    """Print one line where Pelican prints its own, however narrow the terminal is."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def summary(publication: Publication, where: str, seconds: float) -> str:
    """Say in one line what was published: resources, changes, ranges, where, and what is new."""
    new, gone = publication.new, publication.gone
    if publication.first:
        news = "first publication"
        if gone:
            news += f", which names {_count(gone, 'URL')} that {'is' if gone == 1 else 'are'} no longer there"
    elif any(new.values()):
        news = ", ".join(f"{new[kind]} {kind}" for kind in ChangeKind if new[kind]) + " since the last publication"
    else:
        news = "nothing changed since the last publication"
    return (
        f"ResourceSync: {_count(publication.resources, 'resource')}, {_count(publication.changes, 'change')} in "
        f"{_count(publication.ranges, 'Change List')} at {where} in {seconds:.2f} seconds; {news}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
