"""From a finished build to its publication: resources from the output, history from git, both to `publication`."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pelican_resourcesync.publication.clock import whole_milliseconds
from pelican_resourcesync.publication.discovery import add_link_headers, add_robots_line, keep_dot_folders
from pelican_resourcesync.publication.generation import Options
from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.lineage import layout_after
from pelican_resourcesync.publication.publish import Publication, Told, publish
from pelican_resourcesync.publication.resource import Resource
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.head import COMPRESSED, add_link
from pelican_resourcesync.site.inventory import Exclusion, is_html, take_inventory
from pelican_resourcesync.site.predecessor import Predecessor
from pelican_resourcesync.site.telling import Teller
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

    def __init__(self, run: Run, settings: Settings, predecessor: Predecessor) -> None:
        """Take the run of Pelican, the plug-in's settings, and what this publication goes on from."""
        self._run = run
        self._settings = settings
        self._predecessor = predecessor
        self._layout = layout_after(Layout(run.siteurl), predecessor.previous, predecessor.over)
        self._exclusion = Exclusion(settings.exclude)

    def publish(self) -> Outcome:
        """Link the pages, take the inventory, tell the history, and write the documents."""
        start = time.perf_counter()
        self._make_discoverable()
        written = take_inventory(self._outputs(), self._exclusion)
        self._link_pages(written)
        files = {each.uri: self._run.output / each.path for each in written}
        measured = {uri: Resource(uri, file).represent() for uri, file in files.items()}
        teller = Teller(self._run, self._settings, self._predecessor.previous)
        told, cuts = teller.tell(written, measured)
        resources = [
            Resource(each.uri, files[each.uri], self._modified(each, told), measured[each.uri]) for each in written
        ]
        publication = publish(
            resources, told, cuts, self._options(), self._predecessor.previous, over=self._predecessor.over
        )
        warnings = [*teller.warnings, *_restless(publication)]
        return Outcome(publication, time.perf_counter() - start, warnings, [*teller.notes, *publication.notes])

    def _options(self) -> Options:
        return Options(
            output=self._run.output,
            layout=self._layout,
            site_name=str(self._run.settings.get("SITENAME") or ""),
            edition=self._settings.edition,
            describedby=self._settings.describedby,
            keep=self._settings.keep,
            allow_deletions=self._settings.allow_deletions,
            moved_from=self._settings.moved_from,
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

    def _modified(self, written: Written, told: Told) -> datetime | None:
        """Give the time of a file's source, or of the file, where git knows nothing at all."""
        if told.commit is not None:
            return None
        file = Path(self._run.settings["PATH"]) / written.source if written.source else None
        stat = (file if file and file.is_file() else self._run.output / written.path).stat()
        return whole_milliseconds(datetime.fromtimestamp(stat.st_mtime, UTC))


def _restless(publication: Publication) -> Iterator[str]:
    """Warn of resources whose bytes change at every build: each follower fetches them again and again."""
    if publication.restless:
        example = min(publication.restless)
        yield (
            f"{len(publication.restless)} of the resources have other bytes at each build though nothing changed them, "
            f"such as {example}, and followers fetch them every time. They may show the time of the build, or a random "
            "number: leave that out, or name them in RESOURCESYNC['exclude']"
        )
