"""From a finished build to its publication: resources from the output, history from git, both to `publication`."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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

    def publish(self) -> Outcome:
        """Link the pages, take the inventory, tell the history, and write the documents."""
        start = time.perf_counter()
        written = collect(self._run, self._settings, self._layout)
        files = {each.uri: self._run.output / each.path for each in written}
        measured = {uri: Resource(uri, file).represent() for uri, file in files.items()}
        teller = Teller(self._run, self._settings, self._predecessor.previous)
        told, cuts = teller.tell(written, measured)
        resources = [
            Resource(each.uri, files[each.uri], self._modified(each, told), measured[each.uri]) for each in written
        ]
        options = options_of(self._run.settings, self._settings, self._layout)
        publication = publish(resources, told, cuts, options, self._predecessor.previous, over=self._predecessor.over)
        warnings = [*teller.warnings, *_restless(publication)]
        return Outcome(publication, time.perf_counter() - start, warnings, [*teller.notes, *publication.notes])

    def _modified(self, written: Written, told: Told) -> datetime | None:
        """Give the time of a file's source, or of the file, where git knows nothing at all."""
        if told.commit is not None:
            return None
        file = Path(self._run.settings["PATH"]) / written.source if written.source else None
        stat = (file if file and file.is_file() else self._run.output / written.path).stat()
        return whole_milliseconds(datetime.fromtimestamp(stat.st_mtime, UTC))


def collect(run: Run, settings: Settings, layout: Layout) -> list[Written]:
    """Let what a build wrote lead Destinations to the documents, and give what of it is resources."""
    keep_dot_folders(run.output)
    if settings.robots:
        add_robots_line(run.output, layout)
    add_link_headers(run.output, layout, settings.link_headers)
    written = take_inventory(_outputs(run, settings), Exclusion(settings.exclude))
    if settings.html_links:
        _link_pages(run, layout, written)
    return written


def options_of(pelican: Mapping[str, Any], settings: Settings, layout: Layout) -> Options:
    """Give how to publish, by the settings of Pelican and of the plug-in."""
    return Options(
        output=Path(pelican["OUTPUT_PATH"]),
        layout=layout,
        site_name=str(pelican.get("SITENAME") or ""),
        edition=settings.edition,
        describedby=settings.describedby,
        keep=settings.keep,
        allow_deletions=settings.allow_deletions,
        moved_from=settings.moved_from,
    )


def _outputs(run: Run, settings: Settings) -> Iterable[Written]:
    """Give every file of this build; of `robots.txt` only we may know that it is none left over from another."""
    outputs = {each.path: each for each in run.outputs()}
    if settings.robots:
        outputs.setdefault(ROBOTS, Written(ROBOTS, uri_of_path(run.siteurl, ROBOTS)))
    return outputs.values()


def _link_pages(run: Run, layout: Layout, written: Iterable[Written]) -> None:
    capability_list = layout.uri(layout.capability_list)
    paths = {each.path for each in written}
    for each in written:
        if is_html(each.path) and not any(each.path + end in paths for end in COMPRESSED):
            add_link(run.output / each.path, capability_list)


def _restless(publication: Publication) -> Iterator[str]:
    """Warn of resources whose bytes change at every build: each follower fetches them again and again."""
    if publication.restless:
        example = min(publication.restless)
        yield (
            f"{len(publication.restless)} of the resources have other bytes at each build though nothing changed them, "
            f"such as {example}, and followers fetch them every time. They may show the time of the build, or a random "
            "number: leave that out, or name them in RESOURCESYNC['exclude']"
        )
