"""Determine the status of the publications at a URL, without their packages, which may be large."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.errors import AbsentError, MismatchError, NoHostError, PublicationError, TransportError
from pelican_resourcesync.publication.model.layout import DESCRIPTION, FOLDER, HTML_PAGE, WELL_KNOWN, Layout
from pelican_resourcesync.publication.previous.fetch import Fetched, FetchLimits, NoPublicationReason, fetch_publication
from pelican_resourcesync.publication.previous.previous import PreviousPublication, read_previous
from pelican_resourcesync.publication.status.status import Status, WellKnownStatus, capability_lists_in, status_of
from pelican_resourcesync.transport import Web, is_plain

#: Report the current state: do not wait for a deployment to finish.
_ALLOWANCE = FetchLimits(patience=0.0)
#: Limits that our own Source Descriptions never exceed: bytes, and sets.
_LARGEST, _MOST = 1_000_000, 1_000

#: The name of a site's set if the site does not choose one.
OWN = Layout("").set_name

_CAPABILITY_LIST = re.compile(rf"(.*)/{FOLDER}/([^/]+)/(?:[0-9]+/)?capabilitylist\.xml")


def remote_status(url: str, into: Path, *, volumes: bool = False) -> Status | None:
    """Return the status of the publications at a URL, or `None` if there are none.

    This includes the site's own set, and those that its Source Description names. The documents are saved in `into`, a
    folder that must not exist yet. Packages are not fetched; their sizes come from the documents. `volumes` is as for
    `local_status`.

    Raises `PublicationError` if a publication is damaged, and `TransportError` if it cannot be determined what is
    there.
    """
    web = Web(url)
    for path in (DESCRIPTION, HTML_PAGE):
        _bring(web, path, into / path)
    sites = _sites(capability_lists_in(into) or ())
    names = [OWN, *sorted(sites.keys() - {OWN})]
    fetched = (_read(web, Layout("", name), into / f"{number}") for number, name in enumerate(names))
    found = [each for each in fetched if each and _is_named(each.layout, sites)]
    if not found:
        return None
    status = status_of(found, into, volumes=volumes)
    return replace(status, well_known=_ask(web, status.well_known, into / DESCRIPTION))


def _bring(web: Web, path: str, file: Path) -> None:
    """Fetch a document that no state lists; ignore it if that fails."""
    try:
        _, data = web.read(path, replace(web.bounds, size=_LARGEST))
    except TransportError:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _sites(uris: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the addresses of the sites to which Capability Lists belong, by the name of the set."""
    sites: dict[str, set[str]] = {}
    for match in filter(None, map(_CAPABILITY_LIST.fullmatch, uris)):
        name = unquote(match[2])
        if len(sites) < _MOST and "/" not in name and is_plain(name):
            sites.setdefault(name, set()).add(match[1])
    return sites


def _is_named(layout: Layout, sites: Mapping[str, set[str]]) -> bool:
    """Return whether a set is the site's own, or is named as a set of its site and not of another host."""
    return layout.set_name == OWN or layout.siteurl in sites[layout.set_name]


def _read(web: Web, layout: Layout, folder: Path) -> PreviousPublication | None:
    found = _fetch(web, layout.state, folder)
    if found is None:
        return None
    for path in (layout.html_page, layout.badge):
        _bring(web, path, folder / path)
    return read_previous(
        folder, replace(layout, siteurl=found.state.siteurl), web.base, packages=False, host_time=found.host_time
    )


def _fetch(web: Web, state: str, folder: Path) -> Fetched | None:
    try:
        found = fetch_publication(web, folder, state=state, packages=False, allowance=_ALLOWANCE)
    except PublicationError as error:
        cause = error.__cause__
        if isinstance(cause, TransportError) and not isinstance(cause, MismatchError):
            raise TransportError(str(cause)) from error
        raise
    if isinstance(found, Fetched):
        return found
    if found.reason is NoPublicationReason.NO_HOST:
        message = f"{found.reason.value}: {found.url}"
        raise NoHostError(message)
    return None


def _ask(web: Web, well_known: WellKnownStatus, description: Path) -> WellKnownStatus:
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
