"""Publishes a finished build: passes the resources of the output and their history in git to `publication`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import (
    ChangeHistory,
    FileResources,
    Predecessor,
    PublishRequest,
    Representation,
    Resource,
    publish_sets,
    whole_milliseconds,
)
from pelican_resourcesync.publishers.pelican.configuration import options_of
from pelican_resourcesync.publishers.pelican.history import GitHistory, PreviousState, SetHistory
from pelican_resourcesync.publishers.pelican.outputs import (
    OutputFile,
    ResourceSet,
    Run,
    SiteResources,
    find_resources,
    links_of,
)
from pelican_resourcesync.publishers.static_site import (
    PublishResult,
    add_discovery_files,
    layouts_of,
    link_pages,
    removed_layouts,
    removed_set_warnings,
    require_free_places,
    unstable_warnings,
    update_sitemap,
)
from pelican_resourcesync.settings import Settings


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
        linked = link_pages(output, pages, {each.path for each in site.written})
        measured = {
            each.uri: linked.get(each.path) or Resource(each.uri, output / each.path).represent()
            for each in site.written
        }
        links = links_of(site.listed, filed=self._settings.names_sets)
        histories = self._read_histories(site, measured)
        requests = [self._request(each, measured, links, histories) for each in site.sets]
        removed = list(removed_layouts(output, self._run.urls.siteurl, self._removed_sets))
        publications = publish_sets(requests, self._on_packed, removed)
        sitemap = update_sitemap(output, [each.layout for each in site.sets], wanted=self._settings.sitemap)
        self._hints |= dict.fromkeys(filter(None, [*site.hints, sitemap]))
        ended = removed_set_warnings(self._removed_sets, self._settings)
        self._warnings += [*site.warnings, *ended, *unstable_warnings(publications, self._settings)]
        notes = [note for each in publications for note in each.notes]
        names = [each.settings.name for each in site.sets]
        return PublishResult(dict(zip(names, publications, strict=True)), self._warnings, [*self._hints], notes)

    def _read_histories(self, site: SiteResources, measured: Mapping[str, Representation]) -> dict[str, SetHistory]:
        """Return the history of each set. For sets with the same previous commit it is read only once."""
        histories: dict[str, SetHistory] = {}
        for previous, names in PreviousState.group({name: each.previous for name, each in self._predecessors.items()}):
            sets = [each for each in site.sets if each.settings.name in names]
            if previous is None and self._settings.history == "built":
                from pelican_resourcesync.publishers.pelican.backfill import built_history

                histories |= built_history(self._run.settings, self._settings, sets, measured)
                continue
            history = GitHistory(self._run, self._settings, previous)
            histories |= history.read(site.written, sets)
            self._warnings += [each for each in history.warnings if each not in self._warnings]
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
                each.uri,
                self._run.output / each.path,
                self._modified(each, history),
                measured[each.uri],
                links.get(each.uri, ()),
                each.title,
            )
            for each in resource_set.written
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
        return whole_milliseconds(datetime.fromtimestamp(stat.st_mtime, UTC))
