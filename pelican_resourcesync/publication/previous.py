"""The previous publication: the documents that are public, read back and believed only if they prove whole."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from pelican_resourcesync.errors import DocumentError, PublicationError, ResourceSyncError
from pelican_resourcesync.protocol import Document, Entry, Root, read
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.guards import is_loopback
from pelican_resourcesync.publication.layout import SHARED, Layout
from pelican_resourcesync.publication.lineage import Sealed
from pelican_resourcesync.publication.ranges import Range
from pelican_resourcesync.publication.resource import Listed
from pelican_resourcesync.publication.state import State
from pelican_resourcesync.transport.folder import measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """A publication that was made before, in `folder` (laid out as an output is), of the address that `state` says.

    `resources` is its Resource List; `closed` are its closed ranges, unread; `open` is the range still open, with
    its changes. `last` is the latest time it names.
    """

    folder: Path
    layout: Layout
    state: State
    digest: str
    resources: dict[str, Listed]
    closed: tuple[Range, ...]
    open: Range | None
    last: datetime

    def changes_in(self, commit_range: Range) -> tuple[Change, ...]:
        """Read the changes of one of the ranges; `PublicationError` where its document is damaged."""
        proven = _Proven(self.folder, self.layout, self.state)
        with _explained(str(self.folder)):
            return tuple(proven.changes(self.layout.change_list(commit_range.start)))

    def listed_in(self, ranges: Iterable[Range]) -> int:
        """Count the changes that the documents of closed `ranges` list."""
        proven = _Proven(self.folder, self.layout, self.state)
        with _explained(str(self.folder)):
            return sum(1 for each in ranges for _entry in proven.entries(self.layout.change_list(each.start)))


def read_state(folder: Path, layout: Layout) -> Sealed | None:
    """Read the state of the publication in `folder` alone; `None` where there is none.

    Raises `PublicationError` where it is damaged, and names the file.
    """
    file = folder / layout.state
    return Sealed.parse(file.read_bytes(), str(file)) if file.is_file() else None


def read_previous(folder: Path, layout: Layout, where: str = "the output") -> Previous | None:
    """Read the publication in `folder`, of whatever address; `None` where there is none. Messages call it `where`.

    One of an address of this machine alone was nobody's, and is none for another address. Raises `PublicationError`
    where it is damaged: a document of the set is missing or is not what the state says. The documents that sets share
    are not looked at, because whoever publishes last writes them; one that is superseded may be missing.
    """
    with _explained(where):
        sealed = read_state(folder, layout)
        if sealed is None or (sealed.state.siteurl != layout.siteurl and is_loopback(sealed.state.siteurl)):
            return None
        layout = replace(layout, siteurl=sealed.state.siteurl, start=sealed.state.start)
        return _read(_Proven(folder, layout, sealed.state), sealed.digest)


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Say of what fails that the publication is damaged, and what to do."""
    try:
        yield
    except (DocumentError, OSError, _DamagedError) as error:
        message = (
            f"the publication in {where} is damaged: {error}: restore it, or name another `previous` in RESOURCESYNC "
            "('none' begins anew)"
        )
        raise PublicationError(message) from error


class _DamagedError(ResourceSyncError):
    """What is wrong with it."""


@dataclass(frozen=True, slots=True)
class _Proven:
    """The documents in `folder` that are what `state` says of them; no other is read."""

    folder: Path
    layout: Layout
    state: State

    def verify(self) -> None:
        """Compare every document of the set with its hash, and the superseded ones that are there."""
        for path, digest in self.state.documents.items():
            if path not in SHARED and self._sha256(path) != digest:
                raise self._not_what(path)
        for path, digest in self.state.superseded.items():
            if self._sha256(path) not in (digest, None):
                raise self._not_what(path)

    def _sha256(self, path: str) -> str | None:
        """Give the SHA-256 of a document, `None` where it is missing."""
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise self._not_what(path)
        file = self.folder / path
        return measure(file)[0] if file.is_file() else None

    def _not_what(self, path: str) -> "_DamagedError":
        return _DamagedError(f"{path} is not what {self.layout.state} says")

    def resources(self) -> Iterator[Entry]:
        """Give the entries of the Resource List, through its index where it is one of parts."""
        with self._open(self.layout.resource_list) as document:
            if document.root is Root.URLSET:
                yield from document.entries
                return
            for part in document.entries:
                yield from self.entries(part.loc.removeprefix(f"{self.layout.siteurl}/"))

    def ranges(self) -> Iterator[Range]:
        """Give the ranges that the Change List Index lists, only the open one with its changes."""
        index = self.layout.change_list_index
        for pointer in self.entries(index) if index in self.state.documents else ():
            if pointer.md is None or pointer.md.from_ is None:
                what = f"{index} lists {pointer.loc} without its from"
                raise _DamagedError(what)
            start, until = pointer.md.from_, pointer.md.until
            path = self.layout.change_list(start)
            self._require(path)
            changes = () if until else tuple(self.changes(path))
            yield Range(start, until, changes, carried=until is not None)

    def changes(self, path: str) -> Iterator[Change]:
        """Give the changes of a Change List."""
        return (_change(entry, path) for entry in self.entries(path))

    def entries(self, path: str) -> Iterator[Entry]:
        """Give the entries of the document at `path`."""
        with self._open(path) as document:
            yield from document.entries

    @contextmanager
    def _open(self, path: str) -> Iterator[Document]:
        self._require(path)
        with (self.folder / path).open("rb") as stream:
            yield read(stream, name=path)

    def _require(self, path: str) -> None:
        if path not in self.state.documents:
            what = f"{path} is not named by {self.layout.state}"
            raise _DamagedError(what)


def _read(proven: _Proven, digest: str) -> Previous:
    proven.verify()
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
        resources={entry.loc: _listed(entry) for entry in proven.resources()},
        closed=tuple(each for each in ranges if each.closed),
        open=opened,
        last=max(times),
    )


def _listed(entry: Entry) -> Listed:
    return Listed(_representation(entry), entry.lastmod)


def _change(entry: Entry, path: str) -> Change:
    md = entry.md
    if md is None or md.change is None or entry.lastmod is None:
        what = f"{path}: the change of {entry.loc} lacks its kind or its time"
        raise _DamagedError(what)
    return Change(entry.lastmod, entry.loc, md.change, _representation(entry) if md.hash else None)


def _representation(entry: Entry) -> Representation:
    md = entry.md
    if md is None or not md.hash or md.length is None or md.type is None:
        what = f"the entry of {entry.loc} lacks its hash, length or type"
        raise _DamagedError(what)
    return Representation(md.hash[0].digest, md.length, md.type)
