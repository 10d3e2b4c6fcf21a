"""The status of a site's publications, as people and programs see it from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import read
from pelican_resourcesync.publication.disk.reuse import same_bytes
from pelican_resourcesync.publication.documents.discovery import well_known_reachable
from pelican_resourcesync.publication.model.clock import is_ahead
from pelican_resourcesync.publication.model.layout import DESCRIPTION, WELL_KNOWN
from pelican_resourcesync.publication.pages import Amount, Overview, overview_of
from pelican_resourcesync.publication.previous.previous import PreviousPublication, publications_in
from pelican_resourcesync.publication.status.sizes import (
    Volume,
    shared_sizes,
    sizes_of,
    summed,
    volume_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WellKnownStatus:
    """The well-known URI of the site's host, where Destinations (clients that keep a copy) look first.

    `in_site` is whether the site controls it, which it does not if `SITEURL` has a path. `right` is whether the Source
    Description is there, in the output or at the URL that was read; `None` if that is not known.
    """

    uri: str
    in_site: bool
    right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus:
    """The publication of one set, which is complete.

    `ahead` is whether its time is still to come, by more than a day. `sizes` are the files of the set by kind, and
    `total_size` their bytes. `volume`, from which costs are estimated, is `None` unless it was asked for.
    """

    name: str
    siteurl: str
    generation: int
    start: int
    ahead: bool
    commit: str | None
    landed: datetime | None
    overview: Overview
    sizes: Mapping[str, Amount]
    total_size: int
    volume: Volume | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a site publishes: one or more `sets`, the site's own first, then by name.

    `capability_lists` are the URIs that the Source Description names, `None` if it cannot be read. `sizes` and
    `total_size` are those of all sets together, including shared files.
    """

    siteurl: str
    capability_lists: tuple[str, ...] | None
    sets: tuple[SetStatus, ...]
    sizes: Mapping[str, Amount]
    total_size: int
    well_known: WellKnownStatus


def local_status(folder: Path, *, volumes: bool = False) -> Status | None:
    """Return the status of the publications in a folder laid out like an output, or `None` if there are none.

    `volumes` is whether the volume of each set is measured, for which all resources are read.

    Raises `PublicationError` if one is damaged.
    """
    try:
        found = publications_in(folder)
        return status_of(found, folder, volumes=volumes) if found else None
    except OSError as error:
        message = f"the publication in {folder} cannot be read: {error}: make its files readable"
        raise PublicationError(message) from error


def status_of(publications: Sequence[PreviousPublication], folder: Path, *, volumes: bool) -> Status:
    """Return the status of the publications of a site; the files that the sets share are in `folder`."""
    sets = tuple(_set(each, volumes=volumes) for each in publications)
    sizes = summed([*(each.sizes for each in sets), shared_sizes(folder)])
    return Status(
        siteurl=sets[0].siteurl,
        capability_lists=capability_lists_in(folder),
        sets=sets,
        sizes=sizes,
        total_size=_total(sizes),
        well_known=_well_known(folder, sets[0].siteurl),
    )


def capability_lists_in(folder: Path) -> tuple[str, ...] | None:
    """Return the URIs that the Source Description in a folder names, or `None` if it cannot be read."""
    try:
        with (folder / DESCRIPTION).open("rb") as stream:
            return tuple(entry.loc for entry in read(stream, name=DESCRIPTION).entries)
    except (OSError, DocumentError):
        return None


def _set(previous: PreviousPublication, *, volumes: bool) -> SetStatus:
    state, sizes = previous.state, sizes_of(previous)
    return SetStatus(
        name=previous.layout.set_name,
        siteurl=state.siteurl,
        generation=state.generation,
        start=state.restart_number,
        ahead=is_ahead(state.at, previous.host_time),
        commit=state.commit,
        landed=state.landed,
        overview=overview_of(previous),
        sizes=sizes,
        total_size=_total(sizes),
        volume=volume_of(previous, sizes) if volumes else None,
    )


def _total(sizes: Mapping[str, Amount]) -> int:
    return sum(each.size for each in sizes.values())


def _well_known(folder: Path, siteurl: str) -> WellKnownStatus:
    """Return the status by the folder alone: its copy is at the root of the host only if the site is."""
    in_site, description = well_known_reachable(siteurl), folder / DESCRIPTION
    right = None
    if in_site and description.is_file():
        right = (folder / WELL_KNOWN).is_file() and same_bytes(description, folder / WELL_KNOWN)
    parts = urlsplit(siteurl)
    return WellKnownStatus(uri=f"{parts.scheme}://{parts.netloc}/{WELL_KNOWN}", in_site=in_site, right=right)
