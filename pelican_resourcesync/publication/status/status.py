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
from pelican_resourcesync.publication.previous.previous import PreviousPublication, publications_in
from pelican_resourcesync.publication.status.sizes import (
    FileTotals,
    Volume,
    archived_in,
    shared_sizes,
    sizes_of,
    summed,
    volume_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeStatus:
    """A Change List: its `uri`, its interval (`until` is `None` while it is open) and the number of its changes."""

    uri: str
    start: datetime
    until: datetime | None
    changes: int


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

    `ahead` is whether its time is still to come, by more than a day. `archived` counts the archived documents by
    capability. `sizes` are the files of the set by kind, and `total_size` their bytes. Costs are estimated from
    `volume`.
    """

    name: str
    siteurl: str
    generation: int
    start: int
    at: datetime
    ahead: bool
    commit: str | None
    landed: datetime | None
    resources: int
    changes: int
    ranges: tuple[RangeStatus, ...]
    archived: Mapping[str, int]
    sizes: Mapping[str, FileTotals]
    total_size: int
    volume: Volume


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a site publishes: one or more `sets`, the site's own first, then by name.

    `capability_lists` are the URIs that the Source Description names, `None` if it cannot be read. `sizes` and
    `total_size` are those of all sets together, including shared files.
    """

    siteurl: str
    capability_lists: tuple[str, ...] | None
    sets: tuple[SetStatus, ...]
    sizes: Mapping[str, FileTotals]
    total_size: int
    well_known: WellKnownStatus


def local_status(folder: Path) -> Status | None:
    """Return the status of the publications in a folder laid out like an output, or `None` if there are none.

    Raises `PublicationError` if one is damaged.
    """
    try:
        found = publications_in(folder)
        return status_of(found, folder) if found else None
    except OSError as error:
        message = f"the publication in {folder} cannot be read: {error}: make its files readable"
        raise PublicationError(message) from error


def status_of(publications: Sequence[PreviousPublication], folder: Path) -> Status:
    """Return the status of the publications of a site; the files that the sets share are in `folder`."""
    sets = tuple(map(_set, publications))
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


def _set(previous: PreviousPublication) -> SetStatus:
    state, sizes = previous.state, sizes_of(previous)
    return SetStatus(
        name=previous.layout.set_name,
        siteurl=state.siteurl,
        generation=state.generation,
        start=state.restart_number,
        at=state.at,
        ahead=is_ahead(state.at, previous.host_time),
        commit=state.commit,
        landed=state.landed,
        resources=len(previous.resources),
        changes=state.changes,
        ranges=_ranges(previous),
        archived=archived_in(previous),
        sizes=sizes,
        total_size=_total(sizes),
        volume=volume_of(previous, sizes),
    )


def _ranges(previous: PreviousPublication) -> tuple[RangeStatus, ...]:
    opened = [previous.open] if previous.open else []
    return tuple(
        RangeStatus(
            uri=previous.layout.uri(previous.layout.change_list(each.start)),
            start=each.start,
            until=each.until,
            changes=len(each.changes) or previous.listed_in([each]),
        )
        for each in [*previous.closed, *opened]
    )


def _total(sizes: Mapping[str, FileTotals]) -> int:
    return sum(each.size for each in sizes.values())


def _well_known(folder: Path, siteurl: str) -> WellKnownStatus:
    """Return the status by the folder alone: its copy is at the root of the host only if the site is."""
    in_site, description = well_known_reachable(siteurl), folder / DESCRIPTION
    right = None
    if in_site and description.is_file():
        right = (folder / WELL_KNOWN).is_file() and same_bytes(description, folder / WELL_KNOWN)
    parts = urlsplit(siteurl)
    return WellKnownStatus(uri=f"{parts.scheme}://{parts.netloc}/{WELL_KNOWN}", in_site=in_site, right=right)
