"""The previous publication: the public documents, read back and used only if they are complete and verified."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Capability, Document, Entry, Metadata, Root, read
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.layout import FOLDER, SHARED, Layout, is_package
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Listed, Representation
from pelican_resourcesync.publication.model.sanity_checks import is_loopback
from pelican_resourcesync.publication.model.state import State
from pelican_resourcesync.publication.previous.ancestry import HashedState
from pelican_resourcesync.publication.previous.consistency import (
    DamagedError,
    checked_changes,
    checked_resources,
    require_adjacent,
    require_capabilities,
    require_capability,
    require_count,
    require_same_time,
)
from pelican_resourcesync.transport import measure


@contextmanager
def explain_damage(where: str) -> Iterator[None]:
    """Turn errors into a `PublicationError` which says that the publication is damaged, and what to do."""
    try:
        yield
    except (DocumentError, OSError, DamagedError) as error:
        place = f"{'at' if '://' in where else 'in'} {where}"
        message = (
            f"the publication {place} is damaged: {error}: upload it again, or name another with the setting"
            " `previous` ('none' starts over under new addresses)"
        )
        raise PublicationError(message) from error


@dataclass(frozen=True, slots=True)
class VerifiedDocuments:
    """The documents in `folder` that are listed in `state`; no others are read."""

    folder: Path
    layout: Layout
    state: State

    def verify(self, *, packages: bool = True) -> None:
        """Compare every document of the set with its hash: `packages` if requested, superseded ones if they exist."""
        for path, digest in self.state.documents.items():
            wanted = path not in SHARED and (packages or not is_package(path))
            if wanted and self._sha256(path) != digest:
                raise self._not_what(path)
        for path, digest in self.state.superseded.items():
            if self._sha256(path) not in (digest, None):
                raise self._not_what(path)

    def _sha256(self, path: str) -> str | None:
        """Return the SHA-256 of a document, or `None` if it is missing."""
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise self._not_what(path)
        file = self.folder / path
        return measure(file)[0] if file.is_file() else None

    def _not_what(self, path: str) -> "DamagedError":
        return DamagedError(f"{path} is not what {self.layout.state} says")

    def whole(self, path: str) -> Iterator[Entry]:
        """Yield the entries of a document, which may be an index of parts."""
        with self._open(path) as document:
            if document.root is Root.URLSET:
                yield from document.entries
                return
            for pointer in document.entries:
                with self._open(pointer.loc.removeprefix(f"{self.layout.siteurl}/")) as part:
                    if part.root is not Root.URLSET:
                        what = f"{path} leads to {pointer.loc}, which is an index too"
                        raise DamagedError(what)
                    yield from part.entries

    def listed(self, former: Collection[str]) -> Iterator[tuple[str, Listed]]:
        """Yield the resources of the Resource List by URI; they are below the site's address, or a `former` one."""
        path = self.layout.resource_list
        with self._open(path) as document:
            require_same_time(path, "at", require_capability(document, path, Capability.RESOURCELIST).at, self.state.at)
        found = ((entry.loc, listed_of(entry)) for entry in self.whole(path))
        yield from checked_resources(found, path, self.state, former)

    def ranges(self, former: Collection[str]) -> Iterator[Range]:
        """Yield the ranges in the Change List Index; only the open one has its changes."""
        index, counted = self.layout.change_list_index, 0
        listed = list(self._intervals(index)) if index in self.state.documents else []
        require_adjacent(index, listed)
        for start, until in listed:
            path = self.layout.change_list(start)
            with self._open(path) as document:
                md = require_capability(document, path, Capability.CHANGELIST)
                require_same_time(path, "from", md.from_, start)
                require_same_time(path, "until", md.until, until)
            found = () if until else tuple(checked_changes(self.changes(path), path, start, self.state, former))
            counted += len(found) or _count_entries(self.folder / path)
            yield Range(start, until, found, unchanged=until is not None)
        require_count(self.state, self.layout.state, counted)

    def _intervals(self, index: str) -> Iterator[tuple[datetime, datetime | None]]:
        for pointer in self.entries(index):
            if pointer.md is None or pointer.md.from_ is None:
                what = f"{index} lists {pointer.loc} without its from"
                raise DamagedError(what)
            yield pointer.md.from_, pointer.md.until

    def changes(self, path: str) -> Iterator[Change]:
        """Yield the changes of a Change List."""
        return (_change(entry, path) for entry in self.entries(path))

    def entries(self, path: str) -> Iterator[Entry]:
        """Yield the entries of the document at `path`."""
        with self._open(path) as document:
            yield from document.entries

    @contextmanager
    def _open(self, path: str) -> Iterator[Document]:
        self.require(path)
        with (self.folder / path).open("rb") as stream:
            yield read(stream, name=path)

    def require(self, path: str) -> None:
        """Raise `DamagedError` if the state does not list the document at `path`."""
        if path not in self.state.documents:
            what = f"{path} is not named by {self.layout.state}"
            raise DamagedError(what)


def _count_entries(file: Path) -> int:
    """Return the number of entries of one of our documents, without parsing it."""
    with file.open("rb") as stream:
        return sum(line.strip() == b"<url>" for line in stream)


def listed_of(entry: Entry) -> Listed:
    """Return the resource in an entry of a Resource List."""
    return Listed(_representation(entry), entry.lastmod, entry.links)


def _change(entry: Entry, path: str) -> Change:
    md = entry.md
    if md is None or md.change is None or entry.lastmod is None:
        what = f"{path}: the change of {entry.loc} lacks its kind or its time"
        raise DamagedError(what)
    shown = _representation(entry)
    return Change(entry.lastmod, entry.loc, md.change, None if shown == Representation() else shown, entry.links)


def _representation(entry: Entry) -> Representation:
    md = entry.md or Metadata()
    return Representation(md.hash[0] if md.hash else None, md.length, md.type)


#: Returns the saved listing of the publication with this digest, or `None`.
FindListing = Callable[[str], Listing | None]


def find_none(_: str) -> None:
    """Return `None`: for callers without saved listings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousPublication:
    """An earlier publication in `folder` (laid out like an output), for the address that `state` contains.

    `resources` is its Resource List, `closed` are its closed ranges, unread, and `open` is the open range with its
    changes. `last` is the latest time in it. Messages call its place `where`. `host_time` is the time by the
    clock of the host that it was just fetched from.
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
    host_time: datetime | None = None,
) -> PreviousPublication | None:
    """Read the publication in `folder`, whatever its address; return `None` if there is none. Messages call it `where`.

    A publication for an address of this machine was never public, so it is ignored unless the address is the same.
    Documents that sets share are not checked, because every publication rewrites them. Superseded ones may be missing.
    With `packages` false, packages are not checked: use this if only what the documents say about them is needed. If
    `find` returns a listing, the Resource List is not parsed. `former` are addresses of the site that the publication
    may not know, and `host_time` is the time by the clock of the host that it was fetched from.

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
        return _read(proven, sealed.digest, where, find, former, host_time)


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
    former: Collection[str],
    host_time: datetime | None,
) -> PreviousPublication:
    verified.require(verified.layout.resource_list)
    require_capabilities(verified.entries(verified.layout.capability_list), verified.layout, verified.state)
    ranges = [*verified.ranges(former)]
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
        resources=find(digest) or Listing.of(verified.listed(former)),
        closed=tuple(each for each in ranges if each.closed),
        open=opened,
        last=max(times),
        where=where,
        host_time=host_time,
    )
