"""What is published of a site, but for its resources: which publications are continued, which sets end, and options."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication import (
    SITE,
    ChangeHistory,
    FileResources,
    Layout,
    Options,
    PageOptions,
    Predecessor,
    PredecessorSearch,
    PreviousPublication,
    Publication,
    PublicationState,
    PublishRequest,
    RangeBoundaries,
    Representation,
    Resource,
    publish_sets,
    sets_published_by,
    state_in,
)
from pelican_resourcesync.publishers.static_site.discovery import add_discovery_files, link_pages, require_free_places
from pelican_resourcesync.publishers.static_site.files import SiteUrls
from pelican_resourcesync.publishers.static_site.sitemap import update_sitemap
from pelican_resourcesync.publishers.static_site.unstable import UnstablePages
from pelican_resourcesync.settings import SetSettings, Settings
from pelican_resourcesync.system.signing import signing_key

#: The environment variable that allows many deletions in one build.
ALLOW_DELETIONS = "RESOURCESYNC_ALLOW_DELETIONS"


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The publication of each set, and messages: `warnings` need action by the user, `hints` may need it."""

    publications: Mapping[str, Publication]
    warnings: Sequence[str]
    hints: Sequence[str]
    notes: Sequence[str]


def layouts_of(settings: Settings, siteurl: str) -> dict[str, Layout]:
    """Return the layout of the documents of each set, by its name, as if none was restarted."""
    return {set_settings.name: Layout(siteurl, set_settings.name) for set_settings in settings.sets}


class SitePublisher:
    """The publisher of a site of files: which publications it continues, where its documents are, and which sets end.

    `warnings` need action by the user, `hints` may need it.
    """

    def __init__(self, output: Path, base: Path, siteurl: str, settings: Settings, stack: ExitStack) -> None:
        """Find the predecessor of each set, by its name. Fetched files exist until `stack` is closed.

        `base` is the folder of the settings. Raises `PublicationError` where it cannot be determined or continued.
        """
        self.output, self.base, self.siteurl, self.settings = output, base, siteurl, settings
        self.urls = SiteUrls(siteurl, settings.clean_urls, settings.index_urls)
        self.predecessors: Mapping[str, Predecessor] = {
            name: self._find(layout, stack) for name, layout in layouts_of(settings, siteurl).items()
        }
        self._removed_sets = self._find_removed_sets()
        self._unstable = UnstablePages(output, siteurl, self.previous.values())
        self.warnings: list[str] = []
        self.hints: list[str] = []

    @property
    def previous(self) -> Mapping[str, PreviousPublication]:
        """The publication to continue of each set that has one, by its name."""
        return {name: found.previous for name, found in self.predecessors.items() if found.previous}

    @property
    def layouts(self) -> dict[str, Layout]:
        """The layout of the documents of each set, by its name."""
        layouts = layouts_of(self.settings, self.siteurl)
        return {name: found.layout(layouts[name]) for name, found in self.predecessors.items()}

    def _find(self, layout: Layout, stack: ExitStack) -> Predecessor:
        previous, moved_from = self.settings.previous, self.settings.moved_from
        search = PredecessorSearch(
            layout, self.output, self.base, previous=previous, moved_from=moved_from, key=signing_key()
        )
        stack.callback(search.close)
        return search.find()

    def _find_removed_sets(self) -> Sequence[str]:
        """Return the names of former sets: those published together with the predecessors of today's sets.

        Where none of today's sets was ever published, former sets are the set `site`, which is the only one without the
        setting `sets`, and those of the site in the output.
        """
        known = [state for predecessor in self.predecessors.values() if (state := _known(predecessor))]
        names = {name for state in known for name in state.sets}
        site = Layout(self.siteurl)
        if not known and site.set_name not in self.predecessors:
            with ExitStack() as stack, suppress(PublicationError):
                before = _known(self._find(site, stack))
                names |= {site.set_name, *before.sets} if before else set()
        if not known:
            names.update(sets_published_by(SITE, self.output, [self.siteurl, self.settings.moved_from]))
        return sorted(names - self.predecessors.keys())

    def prepare(self, *, write: bool = True) -> None:
        """Add what leads to the documents besides pages. Raises `PublicationError` if something else is in the way."""
        require_free_places(self.output, self.settings, self.layouts)
        if write:
            add_discovery_files(self.output, self.settings, self.layouts)

    def link_pages(
        self, pages: Mapping[str, Layout], paths: Collection[str], *, write: bool = True, ours: bool = False
    ) -> dict[str, Representation]:
        """Add links to pages, if they are wanted, and return what these pages are then: see `discovery`."""
        wanted = pages if self.settings.html_links else {}
        linked, headless = link_pages(self.output, wanted, paths, write=write, ours=ours)
        self.hints.append(headless)
        return linked

    def request(
        self,
        name: str,
        resources: Iterable[Resource],
        history: ChangeHistory,
        boundaries: RangeBoundaries,
        options: Options,
    ) -> PublishRequest:
        """Return a request to publish these resources of a set, after its predecessor."""
        predecessor = self.predecessors[name]
        return PublishRequest(
            resources=FileResources(resources),
            history=history,
            boundaries=boundaries,
            options=options,
            previous=predecessor.previous,
            restarted_from=predecessor.restarted_from,
            not_live=predecessor.not_live,
        )

    def publish_sets(
        self, requests: Sequence[PublishRequest], on_packed: Callable[[int], None] = lambda _: None
    ) -> dict[str, Publication]:
        """Publish sets, and remove the former ones from the output; return the publication of each set by its name."""
        removed = list(removed_layouts(self.output, self.siteurl, self._removed_sets))
        names = [request.options.layout.set_name for request in requests]
        return dict(zip(names, publish_sets(requests, on_packed, removed), strict=True))

    def publish_site(
        self, requests: Sequence[PublishRequest], on_packed: Callable[[int], None], pages: Collection[str] | None = None
    ) -> PublishResult:
        """Publish all sets, update the sitemap, and return the result; `pages` as in `UnstablePages.warnings`."""
        publications = self.publish_sets(requests, on_packed)
        layouts = [request.options.layout for request in requests]
        self.hints.append(update_sitemap(self.output, layouts, wanted=self.settings.sitemap))
        self.warnings += self.removed_set_warnings()
        self.warnings += self._unstable.warnings(publications.values(), self.settings, pages)
        notes = [note for publication in publications.values() for note in publication.notes]
        return PublishResult(publications, self.warnings, [*dict.fromkeys(filter(None, self.hints))], notes)

    def removed_set_warnings(self) -> Iterator[str]:
        """Yield one warning that sets are no longer published, and what to do; nothing where there are none."""
        if self._removed_sets:
            names = " and ".join(map(repr, self._removed_sets))
            folders = " and ".join(f"resourcesync/{name}/" for name in self._removed_sets)
            yield (
                f"{self.settings.setting('sets')} no longer contains {names}, so the documents are removed, and copies "
                f"are no longer updated. Delete {folders} from the host as well, or restore the setting"
            )


def _known(predecessor: Predecessor) -> PublicationState | None:
    """Return the state of a predecessor; `None` if none was ever published."""
    return predecessor.known if predecessor.known and predecessor.known.generation else None


def removed_layouts(output: Path, siteurl: str, names: Iterable[str]) -> Iterator[Layout]:
    """Yield the layouts of former sets in an output, without sets that others have published there since."""
    for layout in (Layout(siteurl, name) for name in names):
        state = state_in(output, layout)
        if state and state.of_site:
            yield layout


def options_of(
    output: Path, layout: Layout, settings: Settings, own: SetSettings, page: PageOptions, **specific: Any
) -> Options:
    """Return the options for publishing a set into a folder, from the settings and those of the set, `own`.

    `specific` are options that the settings do not have.
    """
    of_set = replace(
        settings,
        **own.given,
        allow_deletions=settings.allow_deletions or os.environ.get(ALLOW_DELETIONS) == "1",
        versions=settings.versions and replace(settings.versions, timegate=settings.timegate),
    )
    page = replace(page, license=settings.license, contact=settings.contact, commit_url=settings.commit_url)
    return Options(**of_set.shared(), output=output, layout=layout, page=page, key=signing_key(), **specific)


def require_private_work_folder(base: Path, output: Path) -> None:
    """Raise `SettingsError` where the folder `.resourcesync` in `base`, the folder of the settings, would be public."""
    if Path(os.path.realpath(base)).is_relative_to(os.path.realpath(output)):
        message = (
            f"the output folder {output} contains {base}, the folder of the settings, so settings, sources and "
            ".resourcesync would be public: write the output to a separate folder, such as output"
        )
        raise SettingsError(message)
