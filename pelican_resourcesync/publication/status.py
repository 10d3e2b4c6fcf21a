"""The status of a site's publications, in a folder or at a URL, as people and programs see it from outside."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    MismatchError,
    PublicationError,
    TransportError,
    failing_disk,
)
from pelican_resourcesync.http import Web
from pelican_resourcesync.protocol import read
from pelican_resourcesync.publication.kinds.pages.overview import Amount, Overview, overview_of
from pelican_resourcesync.publication.kinds.versions import count_versions
from pelican_resourcesync.publication.model.clock import is_ahead
from pelican_resourcesync.publication.model.layout import (
    DESCRIPTION,
    SET_NAME,
    WELL_KNOWN,
    Layout,
    set_of,
    well_known_reachable,
)
from pelican_resourcesync.publication.previous.fetch import Fetched, FetchLimits, fetch_publication
from pelican_resourcesync.publication.previous.previous import PreviousPublication, publications_in, read_previous
from pelican_resourcesync.system.durable import same_bytes

#: Report the current state: do not wait for a deployment to finish.
_ALLOWANCE = FetchLimits(patience=0.0)
#: Limits that our own Source Descriptions never exceed: bytes, and sets.
_LARGEST, _MOST = 1_000_000, 1_000

#: The name of a site's set if the site does not choose one.
OWN = Layout("").set_name


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

    `ahead` is whether its time is still to come, by more than a day. `packages` are those of its Resource Dump, its
    Change Dumps and its archives, and `versions` those of its resources.
    """

    name: str
    siteurl: str
    generation: int
    restart_number: int
    ahead: bool
    commit: str | None
    landed: datetime | None
    overview: Overview
    packages: Amount
    versions: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a site publishes: one or more `sets`, the site's own first, then by name.

    `capability_lists` are the URIs that the Source Description names, `None` if it cannot be read.
    """

    siteurl: str
    capability_lists: tuple[str, ...] | None
    sets: tuple[SetStatus, ...]
    well_known: WellKnownStatus


def local_status(folder: Path) -> Status | None:
    """Return the status of the publications in a folder laid out like an output, or `None` if there are none.

    Raises `PublicationError` if one is damaged.
    """
    with failing_disk(f"the publication in {folder} cannot be read", "make its files readable"):
        found = publications_in(folder)
        return _status(found, folder) if found else None


def remote_status(url: str, into: Path) -> Status | None:
    """Return the status of the publications at a URL, or `None` if there are none.

    This includes the site's own set, and those that its Source Description names. The documents are saved in `into`, a
    folder that must not exist yet. Packages, which may be large, are not fetched.

    Raises `PublicationError` if a publication is damaged, and `TransportError` if it cannot be determined what is
    there.
    """
    web = Web(url)
    _fetch_description(web, into / DESCRIPTION)
    sites = _sites(_capability_lists(into) or ())
    names = [OWN, *sorted(sites.keys() - {OWN})]
    fetched = (_read(web, Layout("", name), into / f"{number}") for number, name in enumerate(names))
    found = [each for each in fetched if each and _is_named(each.layout, sites)]
    if not found:
        return None
    status = _status(found, into)
    return replace(status, well_known=_ask_host(web, status.well_known, into / DESCRIPTION))


def _status(publications: Sequence[PreviousPublication], folder: Path) -> Status:
    """Return the status of the publications of a site; the files that the sets share are in `folder`."""
    sets = tuple(_set(each) for each in publications)
    return Status(
        siteurl=sets[0].siteurl,
        capability_lists=_capability_lists(folder),
        sets=sets,
        well_known=_well_known(folder, sets[0].siteurl),
    )


def _set(previous: PreviousPublication) -> SetStatus:
    state = previous.state
    return SetStatus(
        name=previous.layout.set_name,
        siteurl=state.siteurl,
        generation=state.generation,
        restart_number=state.restart_number,
        ahead=is_ahead(state.at, previous.host_time),
        commit=state.commit,
        landed=state.landed,
        overview=overview_of(previous),
        packages=_packages(previous),
        versions=Amount(*count_versions(previous)),
    )


def _packages(previous: PreviousPublication) -> Amount:
    """Return the number and the bytes of all packages of a set."""
    lengths = [length for path, length in previous.state.packages.items() if path in previous.state.documents]
    return Amount(number=len(lengths), size=sum(lengths))


def _capability_lists(folder: Path) -> tuple[str, ...] | None:
    """Return the URIs that the Source Description in a folder names, or `None` if it cannot be read."""
    try:
        with (folder / DESCRIPTION).open("rb") as stream:
            return tuple(entry.loc for entry in read(stream, name=DESCRIPTION).entries)
    except (OSError, DocumentError):
        return None


def _well_known(folder: Path, siteurl: str) -> WellKnownStatus:
    """Return the status by the folder alone: its copy is at the root of the host only if the site is."""
    in_site, description = well_known_reachable(siteurl), folder / DESCRIPTION
    right = None
    if in_site and description.is_file():
        right = (folder / WELL_KNOWN).is_file() and same_bytes(description, folder / WELL_KNOWN)
    parts = urlsplit(siteurl)
    return WellKnownStatus(uri=f"{parts.scheme}://{parts.netloc}/{WELL_KNOWN}", in_site=in_site, right=right)


def _fetch_description(web: Web, file: Path) -> None:
    """Fetch the Source Description, which no state lists; ignore it if that fails."""
    try:
        _, data = web.read(DESCRIPTION, web.bounds._replace(size=_LARGEST))
    except TransportError:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _sites(uris: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the addresses of the sites to which Capability Lists belong, by the name of the set."""
    sites: dict[str, set[str]] = {}
    for site, encoded in filter(None, map(set_of, uris)):
        name = unquote(encoded)
        if len(sites) < _MOST and SET_NAME.fullmatch(name):
            sites.setdefault(name, set()).add(site)
    return sites


def _is_named(layout: Layout, sites: Mapping[str, set[str]]) -> bool:
    """Return whether a set is the site's own, or is named as a set of its site and not of another host."""
    return layout.set_name == OWN or layout.siteurl in sites[layout.set_name]


def _read(web: Web, layout: Layout, folder: Path) -> PreviousPublication | None:
    try:
        found = fetch_publication(web, folder, state=layout.state, packages=False, allowance=_ALLOWANCE)
    except PublicationError as error:
        cause = error.__cause__
        if isinstance(cause, TransportError) and not isinstance(cause, MismatchError):
            raise TransportError(str(cause)) from error
        raise
    if isinstance(found, Fetched):
        own = replace(layout, siteurl=found.state.siteurl)
        return read_previous(folder, own, web.base, packages=False, host_time=found.host_time)
    if found.unreachable:
        raise found.unreachable
    return None


def _ask_host(web: Web, well_known: WellKnownStatus, description: Path) -> WellKnownStatus:
    """Request the host's well-known URI, and check whether it is the Source Description."""
    parts = urlsplit(web.base)
    host = Web(f"{parts.scheme}://{parts.netloc}")
    try:
        _, data = host.read(WELL_KNOWN)
        right = data == description.read_bytes() if description.is_file() else None
    except AbsentError:
        right = False
    except TransportError:
        right = None
    return replace(well_known, uri=host.url(WELL_KNOWN), right=right)
