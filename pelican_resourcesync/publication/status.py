"""Status: what a publication is, for people and programs that look at it from outside."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    MismatchError,
    NoHostError,
    PublicationError,
    TransportError,
)
from pelican_resourcesync.protocol import read
from pelican_resourcesync.publication.discovery import well_known_reachable
from pelican_resourcesync.publication.fetch import Allowance, Fetched, Reason, fetch_publication
from pelican_resourcesync.publication.layout import DESCRIPTION, PEOPLE, SHARED, WELL_KNOWN, Layout
from pelican_resourcesync.publication.previous import Previous, read_previous, read_state
from pelican_resourcesync.publication.takeover import same_bytes
from pelican_resourcesync.transport.http import Web

#: What lies there now is told, not what may be there when a deployment is done.
_ALLOWANCE = Allowance(patience=0.0)
_STATE, _PAGE, _SUPERSEDED = "publication.json", "page for people", "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeStatus:
    """A Change List: its `uri`, what it covers (`until` is `None` while it is open) and the number of its changes."""

    uri: str
    start: datetime
    until: datetime | None
    changes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WellKnown:
    """The well-known URI of the site's host, where Destinations look first.

    `in_site` tells whether the site has a say over it: not where `SITEURL` has a path. `right` tells whether the Source
    Description is there, in the output or at the URL that was looked at; `None` where that is not known.
    """

    uri: str
    in_site: bool
    right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A publication that is whole.

    `sets` are the URIs of the Capability Lists that the Source Description names, `None` where it cannot be read.
    `sizes` are the bytes of its documents by kind: the capability that they have, or what they are called.
    """

    siteurl: str
    generation: int
    start: int
    at: datetime
    commit: str | None
    landed: datetime | None
    sets: tuple[str, ...] | None
    resources: int
    changes: int
    ranges: tuple[RangeStatus, ...]
    sizes: Mapping[str, int]
    total_size: int
    well_known: WellKnown


def look(folder: Path) -> Status | None:
    """Look at the publication in a folder that is laid out as an output is; `None` where there is none.

    Raises `PublicationError` where it is damaged.
    """
    try:
        sealed = read_state(folder, Layout(""))
        previous = read_previous(folder, Layout(sealed.state.siteurl), str(folder)) if sealed else None
        return _status(folder, previous) if previous else None
    except OSError as error:
        message = f"the publication in {folder} cannot be read: {error}: let its files be readable"
        raise PublicationError(message) from error


def visit(url: str, into: Path) -> Status | None:
    """Look at the publication at a URL, which is brought into a folder that is not there yet; `None` where none is.

    Raises `PublicationError` where it is damaged, and `TransportError` where it cannot be known what is there.
    """
    web = Web(url)
    found = _fetch(web, into)
    if found is None:
        return None
    for path in (DESCRIPTION, PEOPLE):
        _bring(web, path, into / path)
    status = look(found.folder)
    return replace(status, well_known=_ask(web, status, into / DESCRIPTION)) if status else None


def _fetch(web: Web, into: Path) -> Fetched | None:
    try:
        found = fetch_publication(web, into, allowance=_ALLOWANCE)
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


def _bring(web: Web, path: str, file: Path) -> None:
    """Fetch a document for which no state vouches; where it cannot be had, that is all there is to know."""
    try:
        _, data = web.read(path)
    except TransportError:
        return
    file.write_bytes(data)


def _ask(web: Web, status: Status, description: Path) -> WellKnown:
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
    return replace(status.well_known, uri=host.url(WELL_KNOWN), right=right)


def _status(folder: Path, previous: Previous) -> Status:
    state, opened = previous.state, [previous.open] if previous.open else []
    sizes = _sizes(folder, previous)
    return Status(
        siteurl=state.siteurl,
        generation=state.generation,
        start=state.start,
        at=state.at,
        commit=state.commit,
        landed=state.landed,
        sets=_sets(folder),
        resources=len(previous.resources),
        changes=state.changes,
        ranges=tuple(
            RangeStatus(
                uri=previous.layout.uri(previous.layout.change_list(each.start)),
                start=each.start,
                until=each.until,
                changes=len(each.changes) or previous.listed_in([each]),
            )
            for each in [*previous.closed, *opened]
        ),
        sizes=sizes,
        total_size=sum(sizes.values()),
        well_known=_well_known(folder, state.siteurl),
    )


def _sizes(folder: Path, previous: Previous) -> dict[str, int]:
    state = previous.state
    kinds = {path: _kind(folder / path, path) for path in state.documents if path not in SHARED}
    kinds |= dict.fromkeys(state.superseded, _SUPERSEDED)
    kinds |= {DESCRIPTION: "description", PEOPLE: _PAGE, previous.layout.state: _STATE}
    sizes: Counter[str] = Counter()
    for path, kind in kinds.items():
        if (folder / path).is_file():
            sizes[kind] += (folder / path).stat().st_size
    return dict(sorted(sizes.items()))


def _kind(file: Path, path: str) -> str:
    with file.open("rb") as stream:
        md = read(stream, name=path).md
    return (md.capability if md else None) or "unknown"


def _sets(folder: Path) -> tuple[str, ...] | None:
    try:
        with (folder / DESCRIPTION).open("rb") as stream:
            return tuple(entry.loc for entry in read(stream, name=DESCRIPTION).entries)
    except (OSError, DocumentError):
        return None


def _well_known(folder: Path, siteurl: str) -> WellKnown:
    """Say what the folder tells: its copy is at the root of the host only where the site is."""
    in_site, description = well_known_reachable(siteurl), folder / DESCRIPTION
    right = None
    if in_site and description.is_file():
        right = (folder / WELL_KNOWN).is_file() and same_bytes(description, folder / WELL_KNOWN)
    parts = urlsplit(siteurl)
    return WellKnown(uri=f"{parts.scheme}://{parts.netloc}/{WELL_KNOWN}", in_site=in_site, right=right)
