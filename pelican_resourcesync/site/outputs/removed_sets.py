"""Former sets: sets that the site published before, and that its settings no longer define."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import FOLDER, Layout, Output, Predecessor, PredecessorSearch, State, read_state
from pelican_resourcesync.settings import Settings


def find_removed_sets(
    found: Mapping[str, Predecessor], settings: Settings, siteurl: str, output: Output, base: Path
) -> Sequence[str]:
    """Return the names of former sets: those published together with the predecessors of today's sets.

    Where none of today's sets was ever published, former sets may be the set `site`, which is the only one without the
    setting `sets`, and the sets in the output that were published from git. The other parameters are those of
    `PredecessorSearch`.
    """
    names = {name for each in found.values() for name in _together(each)}
    site = Layout(siteurl)
    if site.set_name not in found and not any(each.previous or each.restarted_from for each in found.values()):
        search = PredecessorSearch(site, output, base, previous=settings.previous, moved_from=settings.moved_from)
        with closing(search), suppress(PublicationError):
            before = search.find()
            names |= {site.set_name, *_together(before)} if before.previous or before.restarted_from else set()
        names.update(_sets_in(output.folder, siteurl) if output.folder else ())
    return sorted(names - found.keys())


def _together(predecessor: Predecessor) -> Sequence[str]:
    known = predecessor.previous or predecessor.restarted_from
    return known.state.sets if known else ()


def _sets_in(folder: Path, siteurl: str) -> Iterator[str]:
    """Yield the names of the sets in a folder that this site published from git: only the plug-in records a commit."""
    names = [each.name for each in (folder / FOLDER).iterdir() if each.is_dir()]
    for layout in (Layout(siteurl, name) for name in names):
        state = _state_in(folder, layout)
        if state and state.commit and state.siteurl == siteurl:
            yield layout.set_name


def removed_layouts(output: Path, siteurl: str, names: Iterable[str]) -> Iterator[Layout]:
    """Yield the layouts of former sets in an output, without sets that others have published there since."""
    for layout in (Layout(siteurl, name) for name in names):
        state = _state_in(output, layout)
        if state and (state.commit or state.sets or layout == Layout(siteurl)):
            yield layout


def _state_in(folder: Path, layout: Layout) -> State | None:
    """Return the state of a set; `None` where there is none, or it cannot be read."""
    with suppress(PublicationError):
        sealed = read_state(folder, layout)
        return sealed.state if sealed else None
    return None


def removed_set_warnings(names: Sequence[str]) -> Iterator[str]:
    """Yield one warning that sets are no longer published, and what to do; nothing where there are none."""
    if names:
        several = len(names) > 1
        yield (
            f"the set{'s' if several else ''} {' and '.join(map(repr, names))} {'are' if several else 'is'} no longer "
            f"in RESOURCESYNC['sets'], so {'their' if several else 'its'} documents are removed, and copies of "
            f"{'them' if several else 'it'} are no longer updated: delete "
            f"{' and '.join(f'resourcesync/{name}/' for name in names)} from the host, too, or add "
            f"{'them' if several else 'it'} to the setting again"
        )
