"""Visiting: the status of what is published at a URL, without its packages, which may be large."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pelican_resourcesync.errors import (
    AbsentError,
    MismatchError,
    NoHostError,
    PublicationError,
    TransportError,
)
from pelican_resourcesync.publication.fetch import Allowance, Fetched, Reason, fetch_publication
from pelican_resourcesync.publication.layout import DESCRIPTION, FOLDER, PEOPLE, WELL_KNOWN, Layout
from pelican_resourcesync.publication.previous import Previous, read_previous
from pelican_resourcesync.publication.status import Status, WellKnown, capability_lists_in, status_of
from pelican_resourcesync.transport.http import Web
from pelican_resourcesync.transport.paths import is_plain

#: What lies there now is told, not what may be there when a deployment is done.
_ALLOWANCE = Allowance(patience=0.0)
#: What no Source Description of ours exceeds: bytes, and sets.
_LARGEST, _MOST = 1_000_000, 1_000

#: The name of the set that a site has where it names none.
OWN = Layout("").set_name

_CAPABILITY_LIST = re.compile(rf"(.*)/{FOLDER}/([^/]+)/(?:[0-9]+/)?capabilitylist\.xml")


def visit(url: str, into: Path) -> Status | None:
    """Look at the publications at a URL; `None` where there is none.

    Its own set is looked for, and those that its Source Description names. What is read lies in `into`, a folder that
    is not there yet. Packages are not fetched: of them, what documents say is told.

    Raises `PublicationError` where one is damaged, and `TransportError` where it cannot be known what is there.
    """
    web = Web(url)
    for path in (DESCRIPTION, PEOPLE):
        _bring(web, path, into / path)
    sites = _sites(capability_lists_in(into) or ())
    names = [OWN, *sorted(sites.keys() - {OWN})]
    fetched = (_read(web, Layout("", name), into / f"{number}") for number, name in enumerate(names))
    found = [each for each in fetched if each and _is_named(each.layout, sites)]
    if not found:
        return None
    status = status_of(found, into)
    return replace(status, well_known=_ask(web, status.well_known, into / DESCRIPTION))


def _bring(web: Web, path: str, file: Path) -> None:
    """Fetch a document for which no state vouches; where it cannot be had, that is all there is to know."""
    try:
        _, data = web.read(path, replace(web.bounds, size=_LARGEST))
    except TransportError:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _sites(uris: Iterable[str]) -> Mapping[str, set[str]]:
    """Give the addresses of the sites that Capability Lists are of, by the name of the set."""
    sites: dict[str, set[str]] = {}
    for match in filter(None, map(_CAPABILITY_LIST.fullmatch, uris)):
        name = unquote(match[2])
        if len(sites) < _MOST and "/" not in name and is_plain(name):
            sites.setdefault(name, set()).add(match[1])
    return sites


def _is_named(layout: Layout, sites: Mapping[str, set[str]]) -> bool:
    """Tell whether a set is the site's own, or one that is named as one of its site, and not of another host."""
    return layout.set_name == OWN or layout.siteurl in sites[layout.set_name]


def _read(web: Web, layout: Layout, folder: Path) -> Previous | None:
    found = _fetch(web, layout.state, folder)
    if found is None:
        return None
    return read_previous(folder, replace(layout, siteurl=found.state.siteurl), web.base, packages=False)


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
    if found.reason is Reason.NO_HOST:
        message = f"{found.reason.value}: {found.url}"
        raise NoHostError(message)
    return None


def _ask(web: Web, well_known: WellKnown, description: Path) -> WellKnown:
    """Ask the host's well-known URI whether it is the Source Description."""
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
