"""What is published of a site, but for its resources: which publications are continued, which sets end, and options."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication import (
    SITE,
    Layout,
    Options,
    PageOptions,
    Predecessor,
    PredecessorSearch,
    Publication,
    PublicationState,
    sets_published_by,
    state_in,
)
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


def layouts_of(
    settings: Settings, siteurl: str, predecessors: Mapping[str, Predecessor] | None = None
) -> dict[str, Layout]:
    """Return the layout of the documents of each set, by its name; without `predecessors`, as if none was restarted."""
    found, layouts = predecessors or {}, (Layout(siteurl, set_settings.name) for set_settings in settings.sets)
    return {layout.set_name: found.get(layout.set_name, Predecessor()).layout(layout) for layout in layouts}


def find_predecessors(
    base: Path, settings: Settings, siteurl: str, output: Path, stack: ExitStack
) -> dict[str, Predecessor]:
    """Return the predecessor of each set, by its name. Fetched files exist until `stack` is closed.

    `base` is the folder of the settings. Raises `PublicationError` where it cannot be determined or continued.
    """
    found = {}
    for name, layout in layouts_of(settings, siteurl).items():
        previous, moved_from, key = settings.previous, settings.moved_from, signing_key()
        search = PredecessorSearch(layout, output, base, previous=previous, moved_from=moved_from, key=key)
        stack.callback(search.close)
        found[name] = search.find()
    return found


def find_removed_sets(
    found: Mapping[str, Predecessor], settings: Settings, siteurl: str, output: Path, base: Path
) -> Sequence[str]:
    """Return the names of former sets: those published together with the predecessors of today's sets.

    Where none of today's sets was ever published, former sets are the set `site`, which is the only one without the
    setting `sets`, and those of the site in the output. The other parameters are those of `PredecessorSearch`.
    """
    known = [state for predecessor in found.values() if (state := _known(predecessor))]
    names = {name for state in known for name in state.sets}
    site = Layout(siteurl)
    if not known and site.set_name not in found:
        search = PredecessorSearch(site, output, base, previous=settings.previous, moved_from=settings.moved_from)
        with closing(search), suppress(PublicationError):
            before = _known(search.find())
            names |= {site.set_name, *before.sets} if before else set()
    if not known:
        names.update(sets_published_by(SITE, output, [siteurl, settings.moved_from]))
    return sorted(names - found.keys())


def _known(predecessor: Predecessor) -> PublicationState | None:
    """Return the state of a predecessor; `None` if none was ever published."""
    return predecessor.known if predecessor.known and predecessor.known.generation else None


def removed_layouts(output: Path, siteurl: str, names: Iterable[str]) -> Iterator[Layout]:
    """Yield the layouts of former sets in an output, without sets that others have published there since."""
    for layout in (Layout(siteurl, name) for name in names):
        state = state_in(output, layout)
        if state and state.of_site:
            yield layout


def removed_set_warnings(names: Sequence[str], settings: Settings) -> Iterator[str]:
    """Yield one warning that sets are no longer published, and what to do; nothing where there are none."""
    if names:
        several = len(names) > 1
        yield (
            f"the set{'s' if several else ''} {' and '.join(map(repr, names))} {'are' if several else 'is'} no longer "
            f"in {settings.setting('sets')}, so {'their' if several else 'its'} documents are removed, and copies of "
            f"{'them' if several else 'it'} are no longer updated: delete "
            f"{' and '.join(f'resourcesync/{name}/' for name in names)} from the host, too, or add "
            f"{'them' if several else 'it'} to the setting again"
        )


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
            f"the output {output} contains {base}, the folder of the settings, so settings, sources and the work "
            "folder .resourcesync would be public: write to a folder of its own, such as output"
        )
        raise SettingsError(message)
