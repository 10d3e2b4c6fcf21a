"""The previous publication: the public documents, read back and used only if they are complete and verified."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import Entry
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.layout import FOLDER, Layout
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.sanity_checks import is_loopback
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.ancestry import HashedState
from pelican_resourcesync.publication.previous.consistency import (
    Addresses,
    DamagedError,
    require_capabilities,
    shown,
)
from pelican_resourcesync.publication.previous.kept import KeptDocuments
from pelican_resourcesync.publication.previous.verified import VerifiedDocuments

_LONGEST = 600  # characters of a reason in a message


@contextmanager
def explain_damage(where: str) -> Iterator[None]:
    """Turn errors into a `PublicationError` which says that the publication is damaged, and what to do."""
    try:
        yield
    except (DocumentError, OSError, DamagedError) as error:
        place = f"{'at' if '://' in where else 'in'} {where}"
        why = str(error)  # not the error, whose traceback would hold this frame in a cycle, and open files with it
        if isinstance(error, OSError):  # its path may be that of a temporary folder
            _, _, path = str(error.filename).replace("\\", "/").rpartition(f"/{FOLDER}/")
            why = f"{FOLDER}/{shown(path)}: {error.strerror or type(error).__name__}"
        reason = printable(why)
        if len(reason) > _LONGEST:  # because of a long URI in its middle
            reason = f"{reason[: _LONGEST // 2]}…{reason[-_LONGEST // 2 :]}"
        message = (
            f"the publication {place} is damaged: {reason}: upload it again, or name another with the setting"
            " `previous` ('none' starts over under new addresses)"
        )
        raise PublicationError(message) from error


#: Returns the saved listing of the publication with this digest, or `None`.
FindListing = Callable[[str], Listing | None]


def find_none(_: str) -> None:
    """Return `None`: for callers without saved listings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousPublication:
    """An earlier publication in `folder` (laid out like an output), for the address that `state` contains.

    `resources` is its Resource List, `closed` are its closed ranges, unread, and `open` is the open range with its
    changes. `last` is the latest time in it. Messages call its place `where`. `host_time` is the time by the
    clock of the host that it was just fetched from. `resources_kept` is whether `resources` was kept when the documents
    were written from it, and not read from them.
    """

    folder: Path
    layout: Layout
    state: State
    digest: str
    resources: Listing
    closed: tuple[Range, ...]
    open: Range | None
    last: datetime
    where: str
    host_time: datetime | None = None
    resources_kept: bool = False

    def changes_in(self, commit_range: Range) -> tuple[Change, ...]:
        """Read the changes of one of the ranges. Raises `PublicationError` if its document is damaged."""
        proven = VerifiedDocuments(self.folder, self.layout, self.state)
        with explain_damage(self.where):
            return tuple(proven.changes(self.layout.change_list(commit_range.start)))

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Read the entries of a document or of its parts; empty if there is no such document."""
        if path not in self.state.documents:
            return ()
        with explain_damage(self.where):
            return tuple(VerifiedDocuments(self.folder, self.layout, self.state).whole(path))

    def files(self, path: str) -> list[Path]:
        """Return the file of a document, or those of its parts, which were verified."""
        with explain_damage(self.where):
            return VerifiedDocuments(self.folder, self.layout, self.state).files(path)

    def listing(self, paths: Iterable[str]) -> Listing:
        """Read the resources in documents or in their parts."""
        documents = VerifiedDocuments(self.folder, self.layout, self.state)
        with explain_damage(self.where):
            return Listing.keep(row for path in paths for row in documents.rows(path))

    def listed_in(self, ranges: Iterable[Range]) -> int:
        """Return the number of changes in the documents of closed `ranges`."""
        proven = VerifiedDocuments(self.folder, self.layout, self.state)
        with explain_damage(self.where):
            return sum(1 for each in ranges for _entry in proven.entries(self.layout.change_list(each.start)))


def read_state(folder: Path, layout: Layout) -> HashedState | None:
    """Read only the state of the publication in `folder`; return `None` if there is none.

    Raises `PublicationError`, with the name of the file, if it is damaged.
    """
    file = folder / layout.state
    return HashedState.parse(file.read_bytes(), str(file)) if file.is_file() else None


def read_previous(  # noqa: PLR0913 - keyword-only options
    folder: Path,
    layout: Layout,
    where: str = "the output",
    *,
    packages: bool = True,
    find: FindListing = find_none,
    former: Collection[str] = (),
    elsewhere: Collection[str] | None = None,
    host_time: datetime | None = None,
) -> PreviousPublication | None:
    """Read the publication in `folder`, whatever its address; return `None` if there is none. Messages call it `where`.

    A publication for an address of this machine was never public, so it is ignored unless the address is the same.
    Documents that sets share are not checked, because every publication rewrites them. Superseded ones may be missing.
    With `packages` false, packages are not checked: use this if only what the documents say about them is needed. If
    `find` returns a listing, from which the Resource List was written in the same edition, that is not parsed. `former`
    are addresses of the site that the publication may not know, `elsewhere` those of other servers whose resources a
    repository may list (`None`: any), and `host_time` is the time by the clock of the host that it was fetched from.

    Raises `PublicationError` if the publication is damaged: a document of the set is missing or does not match the
    state, or the documents contradict each other, or they contain what cannot be published.
    """
    with explain_damage(where):
        sealed = read_state(folder, layout)
        if sealed is None or (sealed.state.siteurl != layout.siteurl and is_loopback(sealed.state.siteurl)):
            return None
        layout = replace(layout, siteurl=sealed.state.siteurl, restart_number=sealed.state.restart_number)
        proven = VerifiedDocuments(folder, layout, sealed.state)
        proven.verify(packages=packages)
        return _read(proven, sealed.digest, where, find, Addresses(sealed.state, former, elsewhere), host_time)


def publications_in(folder: Path) -> list[PreviousPublication]:
    """Read the publications of all sets in a folder, whatever their addresses, the site's own set first.

    Raises `PublicationError` if one is damaged.
    """
    names = (
        sorted(each.name for each in (folder / FOLDER).iterdir() if each.is_dir()) if (folder / FOLDER).is_dir() else []
    )
    found = []
    for layout in (Layout(""), *(Layout("", name) for name in names if name != Layout("").set_name)):
        sealed = read_state(folder, layout)
        if sealed:
            previous = read_previous(folder, replace(layout, siteurl=sealed.state.siteurl), str(folder))
            found += [previous] if previous else []
    return found


def _read(  # noqa: PLR0913, PLR0917 - what `read_previous` takes
    verified: VerifiedDocuments,
    digest: str,
    where: str,
    find: FindListing,
    addresses: Addresses,
    host_time: datetime | None,
) -> PreviousPublication:
    verified.require(verified.layout.resource_list)
    require_capabilities(verified.entries(verified.layout.capability_list), verified.layout, verified.state)
    resources = kept_resources = find(digest)
    ranges = [*verified.ranges(addresses, read_later=resources is None)]
    if resources is None:  # otherwise it was written here
        kept = KeptDocuments(verified, addresses)
        resources = kept.read_resources()
        kept.require_sound(resources)
    opened = next((each for each in ranges if not each.closed), None)
    times = [
        verified.state.at,
        *(each.until for each in ranges if each.until),
        *(change.time for change in (opened.changes if opened else ())),
    ]
    return PreviousPublication(
        folder=verified.folder,
        layout=verified.layout,
        state=verified.state,
        digest=digest,
        resources=resources,
        closed=tuple(each for each in ranges if each.closed),
        open=opened,
        last=max(times),
        where=where,
        host_time=host_time,
        resources_kept=kept_resources is not None,
    )
