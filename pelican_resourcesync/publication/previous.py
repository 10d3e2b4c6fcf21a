"""The previous publication: the documents that are public, read back and believed only if they prove whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Document, Entry, Root, read
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.layout import STATE, Layout
from pelican_resourcesync.publication.ranges import Range
from pelican_resourcesync.publication.resource import Listed
from pelican_resourcesync.publication.state import State, parse_state
from pelican_resourcesync.transport.folder import measure, sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """A publication that was made before, in `folder` (laid out as an output is).

    `resources` is its Resource List; `closed` are its closed ranges, unread; `open` is the range still open, with
    its changes. `last` is the latest time it names.
    """

    folder: Path
    state: State
    digest: str
    resources: dict[str, Listed]
    closed: tuple[Range, ...]
    open: Range | None
    last: datetime


def read_previous(folder: Path, layout: Layout) -> Previous | None:
    """Read the publication in `folder`; `None` where there is none, or one of another `siteurl`.

    Raises `PublicationError` where it is damaged: a document is missing or is not what the state says.
    """
    file = folder / STATE
    if not file.is_file():
        return None
    try:
        data = file.read_bytes()
        state = parse_state(data, STATE)
        return _read(_Proven(folder, layout, state), sha256(data)) if state.siteurl == layout.siteurl else None
    except (DocumentError, OSError) as error:
        raise _damaged(error) from error


@dataclass(frozen=True, slots=True)
class _Proven:
    """The documents in `folder` that are what `state` says of them; no other is read."""

    folder: Path
    layout: Layout
    state: State

    def verify(self) -> None:
        """Compare every document with its hash."""
        for path, digest in self.state.documents.items():
            inside = not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts
            file = self.folder / path
            if not inside or not file.is_file() or measure(file)[0] != digest:
                what = f"{path} is not what {STATE} says"
                raise _damaged(what)

    def resources(self) -> Iterator[Entry]:
        """Give the entries of the Resource List, through its index where it is one of parts."""
        with self._open(self.layout.resource_list) as document:
            if document.root is Root.URLSET:
                yield from document.entries
                return
            for part in document.entries:
                yield from self._entries(part.loc.removeprefix(f"{self.layout.siteurl}/"))

    def ranges(self) -> Iterator[Range]:
        """Give the ranges that the Change List Index lists, only the open one with its changes."""
        index = self.layout.change_list_index
        for pointer in self._entries(index) if index in self.state.documents else ():
            if pointer.md is None or pointer.md.from_ is None:
                what = f"{index} lists {pointer.loc} without its from"
                raise _damaged(what)
            start, until = pointer.md.from_, pointer.md.until
            path = self.layout.change_list(start)
            self._require(path)
            changes = () if until else tuple(_change(entry) for entry in self._entries(path))
            yield Range(start, until, changes, carried=until is not None)

    def _entries(self, path: str) -> Iterator[Entry]:
        with self._open(path) as document:
            yield from document.entries

    @contextmanager
    def _open(self, path: str) -> Iterator[Document]:
        self._require(path)
        with (self.folder / path).open("rb") as stream:
            yield read(stream, name=path)

    def _require(self, path: str) -> None:
        if path not in self.state.documents:
            what = f"{path} is not named by {STATE}"
            raise _damaged(what)


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
        state=proven.state,
        digest=digest,
        resources={entry.loc: _listed(entry) for entry in proven.resources()},
        closed=tuple(each for each in ranges if each.closed),
        open=opened,
        last=max(times),
    )


def _damaged(what: object) -> PublicationError:
    return PublicationError(f"the publication in the output is damaged: {what}: remove its resourcesync folder")


def _listed(entry: Entry) -> Listed:
    return Listed(_representation(entry), entry.lastmod)


def _change(entry: Entry) -> Change:
    md = entry.md
    if md is None or md.change is None or entry.lastmod is None:
        what = f"the change of {entry.loc} lacks its kind or its time"
        raise _damaged(what)
    return Change(entry.lastmod, entry.loc, md.change, _representation(entry) if md.hash else None)


def _representation(entry: Entry) -> Representation:
    md = entry.md
    if md is None or not md.hash or md.length is None or md.type is None:
        what = f"the entry of {entry.loc} lacks its hash, length or type"
        raise _damaged(what)
    return Representation(md.hash[0].digest, md.length, md.type)
