"""The previous publication: the public documents, read back and used only if they are complete and verified."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.protocol import Entry
from pelican_resourcesync.publication.model.change import Change
from pelican_resourcesync.publication.model.guards import is_loopback
from pelican_resourcesync.publication.model.layout import FOLDER, Layout
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.lineage import Sealed
from pelican_resourcesync.publication.previous.proven import Proven, explained

#: Returns the saved listing of the publication with this digest, or `None`.
FindListing = Callable[[str], Listing | None]


def find_none(_: str) -> None:
    """Return `None`: for callers without saved listings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """An earlier publication in `folder` (laid out like an output), for the address that `state` contains.

    `resources` is its Resource List, `closed` are its closed ranges, unread, and `open` is the open range with its
    changes. `last` is the latest time in it.
    """

    folder: Path
    layout: Layout
    state: State
    digest: str
    resources: Listing
    closed: tuple[Range, ...]
    open: Range | None
    last: datetime

    def changes_in(self, commit_range: Range) -> tuple[Change, ...]:
        """Read the changes of one of the ranges. Raises `PublicationError` if its document is damaged."""
        proven = Proven(self.folder, self.layout, self.state)
        with explained(str(self.folder)):
            return tuple(proven.changes(self.layout.change_list(commit_range.start)))

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Read the entries of a document or of its parts; empty if there is no such document."""
        if path not in self.state.documents:
            return ()
        with explained(str(self.folder)):
            return tuple(Proven(self.folder, self.layout, self.state).whole(path))

    def listed_in(self, ranges: Iterable[Range]) -> int:
        """Return the number of changes in the documents of closed `ranges`."""
        proven = Proven(self.folder, self.layout, self.state)
        with explained(str(self.folder)):
            return sum(1 for each in ranges for _entry in proven.entries(self.layout.change_list(each.start)))


def read_state(folder: Path, layout: Layout) -> Sealed | None:
    """Read only the state of the publication in `folder`; return `None` if there is none.

    Raises `PublicationError`, with the name of the file, if it is damaged.
    """
    file = folder / layout.state
    return Sealed.parse(file.read_bytes(), str(file)) if file.is_file() else None


def read_previous(
    folder: Path,
    layout: Layout,
    where: str = "the output",
    *,
    packages: bool = True,
    find: FindListing = find_none,
) -> Previous | None:
    """Read the publication in `folder`, whatever its address; return `None` if there is none. Messages call it `where`.

    A publication for an address of this machine was never public, so it is ignored unless the address is the same.
    Documents that sets share are not checked, because every publication rewrites them. Superseded ones may be missing.
    With `packages` false, packages are not checked: use this if only what the documents say about them is needed. If
    `find` returns a listing, the Resource List is not parsed.

    Raises `PublicationError` if the publication is damaged: a document of the set is missing or does not match the
    state.
    """
    with explained(where):
        sealed = read_state(folder, layout)
        if sealed is None or (sealed.state.siteurl != layout.siteurl and is_loopback(sealed.state.siteurl)):
            return None
        layout = replace(layout, siteurl=sealed.state.siteurl, start=sealed.state.start)
        proven = Proven(folder, layout, sealed.state)
        proven.verify(packages=packages)
        return _read(proven, sealed.digest, find)


def publications_in(folder: Path) -> list[Previous]:
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


def _read(proven: Proven, digest: str, find: FindListing) -> Previous:
    ranges = [*proven.ranges()]
    opened = next((each for each in ranges if not each.closed), None)
    times = [
        proven.state.at,
        *(each.until for each in ranges if each.until),
        *(change.time for change in (opened.changes if opened else ())),
    ]
    return Previous(
        folder=proven.folder,
        layout=proven.layout,
        state=proven.state,
        digest=digest,
        resources=find(digest) or Listing.of(proven.listed()),
        closed=tuple(each for each in ranges if each.closed),
        open=opened,
        last=max(times),
    )
