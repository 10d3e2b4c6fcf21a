"""A takedown: resources are forgotten in the publication that a build would go on from, or that lies in a folder."""

import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication.forget import Forgotten, forget
from pelican_resourcesync.publication.guards import is_loopback, require_same_site
from pelican_resourcesync.publication.layout import FOLDER, Layout
from pelican_resourcesync.publication.lineage import Lineage, lineage
from pelican_resourcesync.publication.lock import locked
from pelican_resourcesync.publication.previous import Previous, read_previous, read_state
from pelican_resourcesync.publication.staging import recover
from pelican_resourcesync.site.configuration import Configuration, predecessor
from pelican_resourcesync.site.keepsake import Keepsake
from pelican_resourcesync.site.scope import beside_settings
from pelican_resourcesync.site.telling import build_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Takedown:
    """What came of it: what was `forgotten`, and `whole`, whether `output` holds the site that the lists are of."""

    forgotten: Forgotten
    output: Path
    whole: bool


def take_down_in(output: Path, uris: Collection[str]) -> Takedown:
    """Forget URIs in the publication that lies in a folder, whatever is public.

    Raises `PublicationError` where there is none there, and as `forget` does.
    """
    if not output.is_dir():
        message = f"there is no folder {output}: name the output that holds the publication"
        raise PublicationError(message)
    with locked(output):
        recover(output)
        sealed = read_state(output, Layout(""))
        previous = read_previous(output, Layout(sealed.state.siteurl), str(output)) if sealed else None
        forgotten = forget(_required(previous, str(output)), uris, output, built=build_time())
    return Takedown(forgotten=forgotten, output=output, whole=True)


def take_down(site: Configuration, uris: Collection[str], output: Path) -> Takedown:
    """Forget URIs in the publication that the next build would go on from, and write what becomes of it to `output`.

    Where that holds a later one, built and not yet public, it is this that is gone on from. What is live is kept
    beside the settings file as it is now: a build before it is public would else go on from what names the URIs.
    Raises `SettingsError` where the site has no address, `PublicationError` where there is no publication, and as
    `forget` does.
    """
    if not site.siteurl:
        message = (
            f"SITEURL is empty in {site.file}: name the settings file that the site is published with (--settings)"
        )
        raise SettingsError(message)
    with locked(output):
        recover(output)
        with predecessor(site, output) as found:
            previous, whole = _newest(found.previous, output, site.layout)
            previous = _required(previous, f"what {site.file} names")
            require_same_site(previous.state.siteurl, site.siteurl, "")
            name = str(site.pelican.get("SITENAME") or "")
            forgotten = forget(previous, uris, output, built=build_time(), site_name=name)
        if forgotten.uris and site.settings.previous == "live" and not is_loopback(site.siteurl):
            _keep(site, output)
    return Takedown(forgotten=forgotten, output=output, whole=whole)


def _newest(found: Previous | None, output: Path, layout: Layout) -> tuple[Previous | None, bool]:
    """Give what was found, or what the output holds where that descends from it; and whether the output holds it."""
    there = None
    with suppress(PublicationError):  # a damaged one is none to go on from
        there = read_state(output, layout)
    if there is None:
        return found, False
    relation = lineage(there, found) if found else Lineage.AHEAD
    if relation is Lineage.AHEAD:
        return read_previous(output, layout, str(output)), True
    return found, relation is Lineage.SAME


def _required(previous: Previous | None, where: str) -> Previous:
    if previous is None:
        message = f"there is no publication to forget anything in: {where} holds none"
        raise PublicationError(message)
    return previous


def _keep(site: Configuration, output: Path) -> None:
    """Keep the documents alone, out of an output that may hold the whole site."""
    beside = beside_settings(site.pelican)
    with TemporaryDirectory(prefix="resourcesync-") as folder:
        shutil.copytree(output / FOLDER, Path(folder, FOLDER))
        Keepsake(beside).keep(Path(folder))
