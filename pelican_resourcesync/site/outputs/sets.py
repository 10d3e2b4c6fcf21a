"""The sets of a build: which outputs are resources of which set, and where the documents of each set are."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.publication.documents.discovery import add_link_headers, add_robots_line, keep_dot_folders
from pelican_resourcesync.publication.model.change import Change
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.settings import SetSettings, Settings
from pelican_resourcesync.site.outputs.facets import UNFILED, facets_of
from pelican_resourcesync.site.outputs.head import COMPRESSED, add_link
from pelican_resourcesync.site.outputs.inventory import Exclusion, is_html, take_inventory
from pelican_resourcesync.site.outputs.selecting import Selector
from pelican_resourcesync.site.outputs.selection_warnings import doubts_of
from pelican_resourcesync.site.outputs.uris import uri_of_path
from pelican_resourcesync.site.outputs.written import Run, Written

ROBOTS = "robots.txt"


@dataclass(frozen=True, slots=True)
class ResourceSet:
    """A set: its settings, the selector of its resources, the layout of its documents, and the outputs in it."""

    settings: SetSettings
    selector: Selector
    layout: Layout
    written: Sequence[Written]

    def changes_within(self, changes: Sequence[Change], built: Collection[str]) -> Sequence[Change]:
        """Return the changes that belong to this set, from those of the whole site before its first publication.

        A URI that was `built` belongs to the set if it is in the set now. A URI that is gone belongs to it if a
        selection by path or type matches; its category, tags and language are unknown.
        """
        if self.settings.selection.everything:
            return changes
        within = {each.uri for each in self.written}
        if not self.selector.by_facets:
            gone = {each.uri for each in changes}.difference(built)
            within.update(filter(self.selector.lies_within, gone))
        return [each for each in changes if each.uri in within]


@dataclass(frozen=True, slots=True)
class Collected:
    """All outputs of a build that are resources, in the order of their URIs, and the sets that they belong to.

    `doubts` are warnings about selections that match nothing.
    """

    written: Sequence[Written]
    sets: Sequence[ResourceSet]
    doubts: Sequence[str]

    @property
    def listed(self) -> Sequence[Written]:
        """The outputs that are in at least one set."""
        within = {each.uri for found in self.sets for each in found.written}
        return [each for each in self.written if each.uri in within]


def layouts_of(settings: Settings, siteurl: str) -> dict[str, Layout]:
    """Return the layout of the documents of each set, by its name, for sets that were not restarted."""
    return {each.name: Layout(siteurl, each.name) for each in settings.sets}


def collect(run: Run, settings: Settings, layouts: Mapping[str, Layout]) -> Collected:
    """Add links to the documents to the output, and return its resources and sets.

    The links lead Destinations to the documents: in pages, in `robots.txt` and in HTTP headers, by the settings.
    """
    keep_dot_folders(run.output)
    if settings.robots:
        for layout in layouts.values():
            add_robots_line(run.output, layout)
    whole = next((each.name for each in settings.sets if each.selection.everything), None)
    if whole is not None:
        add_link_headers(run.output, layouts[whole], settings.link_headers)
    written = take_inventory(_outputs(run, settings), Exclusion(settings.exclude))
    collected = _divide(run, settings, layouts, written)
    if settings.html_links:
        _link_pages(run, collected.sets, written)
    return collected


def _divide(run: Run, settings: Settings, layouts: Mapping[str, Layout], written: Sequence[Written]) -> Collected:
    selectors = [Selector(each.selection, run.settings, run.siteurl) for each in settings.sets]
    facets = facets_of(run, written) if any(each.by_facets for each in selectors) else {}
    sets: list[ResourceSet] = []
    doubts: list[str] = []
    for each, selector in zip(settings.sets, selectors, strict=True):
        within = [every for every in written if selector.covers(every.path, facets.get(every.uri, UNFILED))]
        sets.append(ResourceSet(each, selector, layouts[each.name], within))
        if settings.names_sets:
            doubts += doubts_of(each, run.settings, written, facets)
    return Collected(written, sets, doubts)


def _outputs(run: Run, settings: Settings) -> Iterable[Written]:
    """Return every file of this build. With the setting `robots`, this includes the `robots.txt` just written."""
    outputs = {each.path: each for each in run.outputs()}
    if settings.robots:
        outputs.setdefault(ROBOTS, Written(ROBOTS, uri_of_path(run.siteurl, ROBOTS)))
    return outputs.values()


def _link_pages(run: Run, sets: Iterable[ResourceSet], written: Iterable[Written]) -> None:
    """Add to each page a link to the Capability List of the first set that it is in (`DI02`)."""
    paths = {each.path for each in written}
    linked: set[str] = set()
    for each in sets:
        capability_list = each.layout.uri(each.layout.capability_list)
        for path in (every.path for every in each.written if is_html(every.path) and every.path not in linked):
            linked.add(path)
            if not any(path + end in paths for end in COMPRESSED):
                add_link(Path(run.output, path), capability_list)
