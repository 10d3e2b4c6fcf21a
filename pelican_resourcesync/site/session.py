"""One build, from its start to its publication: what is taken aside, what is collected, and what is said."""

import logging
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pelican.log import console

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.discovery import well_known_reachable
from pelican_resourcesync.publication.layout import FOLDER, Layout
from pelican_resourcesync.publication.previous import Previous, read_previous
from pelican_resourcesync.publication.publish import Publication
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.site.publisher import Outcome, Publisher
from pelican_resourcesync.site.written import Run

logger = logging.getLogger(__name__)


class Session:
    """A build of Pelican that is to be published when it is done."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Check the settings and take the publication in the output aside, before Pelican cleans it.

        Raises `SettingsError` for settings that cannot be used, before anything is built.
        """
        self._stack = ExitStack()
        self._settings: Settings = parse_settings(settings.get("RESOURCESYNC"))
        self._siteurl = parse_siteurl(settings.get("SITEURL"))
        self._previous: Previous | None = None
        self._run: Run | None = None
        if self._settings.enabled and self._siteurl:
            self._previous = self._take_aside(Path(settings["OUTPUT_PATH"]))
            self._run = Run(settings, self._siteurl)

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
        self._say(outcome)

    def close(self) -> None:
        """Let go of what was taken aside."""
        self._stack.close()

    def _take_aside(self, output: Path) -> Previous | None:
        documents = output / FOLDER
        if not documents.is_dir():
            return None
        aside = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="resourcesync-")))
        shutil.copytree(documents, aside / FOLDER, symlinks=True)
        well_known = output / ".well-known" / "resourcesync"
        if well_known.is_file():
            (aside / ".well-known").mkdir()
            shutil.copyfile(well_known, aside / ".well-known" / "resourcesync")
        try:
            return read_previous(aside, Layout(self._siteurl))
        except PublicationError as error:
            logger.warning("ResourceSync: %s. This is a first publication", error)
            return None

    def _say(self, outcome: Outcome) -> None:
        for warning in outcome.warnings:
            logger.warning("ResourceSync: %s", warning)
        for note in outcome.notes:
            logger.info("ResourceSync: %s", note)
        if not well_known_reachable(self._siteurl):
            logger.info(
                "ResourceSync: SITEURL has a path, so %s/.well-known/resourcesync is not at its host's root, where "
                "Destinations look first; the links in the pages lead to the documents",
                self._siteurl,
            )
        console.print(
            summary(outcome.publication, f"{self._siteurl}/{FOLDER}/", outcome.seconds), highlight=False, soft_wrap=True
        )


def summary(publication: Publication, where: str, seconds: float) -> str:
    """Say in one line what was published: resources, changes, ranges, where, and what is new."""
    new = publication.new
    if publication.first:
        news = "first publication"
        if publication.gone:
            news += f", which names {publication.gone} URLs that are no longer there"
    elif any(new.values()):
        news = ", ".join(f"{new[kind]} {kind}" for kind in ChangeKind if new[kind]) + " since the last publication"
    else:
        news = "nothing changed since the last publication"
    return (
        f"ResourceSync: {publication.resources} resources, {publication.changes} changes in {publication.ranges} "
        f"Change Lists at {where} in {seconds:.2f} seconds; {news}."
    )
