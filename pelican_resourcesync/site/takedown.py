"""Takedowns: resources are forgotten in the publication that the next build would continue, or in that of a folder."""

import shutil
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication import (
    Ancestry,
    LastPublishedCopy,
    Layout,
    PreviousPublication,
    TakedownResult,
    build_time,
    compare_ancestry,
    forget_uris,
    is_loopback,
    locked,
    publications_in,
    read_previous,
    read_state,
    recover,
    require_same_site,
)
from pelican_resourcesync.site.configuration import Configuration
from pelican_resourcesync.site.outputs import own_sitemaps
from pelican_resourcesync.site.predecessors import predecessors
from pelican_resourcesync.site.scope import settings_folder_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Takedown:
    """The result: what was `forgotten` in each set, by its name, and whether `output` contains the `whole` site."""

    forgotten: Mapping[str, TakedownResult]
    output: Path
    whole: bool


def forget_in_folder(output: Path, uris: Collection[str]) -> Takedown:
    """Forget URIs in the publication in a folder, whatever is public.

    Raises `PublicationError` where the folder has no publication, and as `forget_uris` does.
    """
    if not output.is_dir():
        message = f"there is no folder {output}: name the output folder of a publication"
        raise PublicationError(message)
    with locked(output):
        recover(output)
        sets = {each.layout.set_name: each for each in publications_in(output)}
        forgotten = forget_uris(_required(sets, str(output)), uris, output, built=build_time())
        _remove_sitemaps(output)
    return Takedown(forgotten=_named(sets, forgotten), output=output, whole=True)


def forget_in_site(site: Configuration, uris: Collection[str], output: Path) -> Takedown:
    """Forget URIs in the publication that the next build would continue, and write the result to `output`.

    Where `output` contains a later publication, built but not yet public, that one is used. With `previous = "live"`,
    the result is also saved next to the settings file: a build before it is public would otherwise continue the live
    publication, which still names the URIs. Raises `SettingsError` where `SITEURL` is empty, `PublicationError` where
    there is no publication, and as `forget_uris` does.
    """
    if not site.siteurl:
        message = (
            f"SITEURL is empty in {site.file}: name the settings file that the site is published with (--settings)"
        )
        raise SettingsError(message)
    with locked(output):
        recover(output)
        with predecessors(site, output) as found:
            newest = {name: _newest(each.previous, output, site.layouts[name]) for name, each in found.items()}
            sets = {name: each for name, (each, _) in newest.items() if each}
            for each in _required(sets, f"what {site.file} names"):
                require_same_site(each.state.siteurl, site.siteurl, "")
            name = str(site.pelican.get("SITENAME") or "")
            forgotten = forget_uris([*sets.values()], uris, output, built=build_time(), site_name=name)
            _remove_sitemaps(output)
        if any(each.uris for each in forgotten) and site.settings.previous == "live" and not is_loopback(site.siteurl):
            for each in sets.values():
                _keep(site, each.layout, output)
    return Takedown(forgotten=_named(sets, forgotten), output=output, whole=all(whole for _, whole in newest.values()))


def _remove_sitemaps(output: Path) -> None:
    """Remove our sitemaps, which name the URIs; the next build writes them."""
    for each in own_sitemaps(output):
        each.unlink()


def _named(sets: Mapping[str, PreviousPublication], forgotten: Iterable[TakedownResult]) -> dict[str, TakedownResult]:
    return dict(zip(sets, forgotten, strict=True))


def _newest(found: PreviousPublication | None, output: Path, layout: Layout) -> tuple[PreviousPublication | None, bool]:
    """Return the newest publication, and whether the output contains it.

    This is the one in the output where it descends from `found`, else `found`.
    """
    there = None
    with suppress(PublicationError):  # a damaged publication cannot be continued
        there = read_state(output, layout)
    if there is None:
        return found, False
    relation = compare_ancestry(there, found) if found else Ancestry.AHEAD
    if relation is Ancestry.AHEAD:
        return read_previous(output, layout, str(output), elsewhere=()), True
    return found, relation is Ancestry.SAME


def _required(sets: Mapping[str, PreviousPublication], where: str) -> list[PreviousPublication]:
    if not sets:
        message = f"there is no publication in {where}, so there is nothing to forget"
        raise PublicationError(message)
    return [*sets.values()]


def _keep(site: Configuration, layout: Layout, output: Path) -> None:
    """Save a copy of the documents of one set; the output may also contain other sets and the whole site."""
    copy = LastPublishedCopy(settings_folder_of(site.pelican), layout)
    with copy.fetch_folder() as folder:
        shutil.copytree(output / layout.home, folder / layout.home)
        shutil.copyfile(output / layout.state, folder / layout.state)
        copy.replace(folder)
