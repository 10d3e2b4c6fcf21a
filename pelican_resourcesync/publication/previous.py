"""The previous publication: the documents that are public, read back and believed only if they prove whole."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from pelican_resourcesync.errors import PublicationError, ResourceSyncError
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
    data = file.read_bytes()
    state = parse_state(data, STATE)
    if state.siteurl != layout.siteurl:
        return None
    _verify(folder, state)
    try:
        return _read(folder, layout, state, sha256(data))
    except (ResourceSyncError, AttributeError, TypeError, ValueError) as error:
        message = f"the publication in the output is damaged ({error}): remove its resourcesync folder"
        raise PublicationError(message) from error


def _verify(folder: Path, state: State) -> None:
    for path, digest in state.documents.items():
        inside = not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts
        file = folder / path
        if not inside or not file.is_file() or measure(file)[0] != digest:
            message = f"the publication in the output is damaged: {path} is not what {STATE} says: remove that folder"
            raise PublicationError(message)


def _read(folder: Path, layout: Layout, state: State, digest: str) -> Previous:
    ranges = [*_ranges(folder, layout)] if (folder / layout.change_list_index).is_file() else []
    opened = next((each for each in ranges if not each.closed), None)
    times = [
        state.at,
        *(each.until for each in ranges if each.until),
        *(c.time for c in (opened.changes if opened else ())),
    ]
    return Previous(
        folder=folder,
        state=state,
        digest=digest,
        resources={entry.loc: _listed(entry) for entry in _entries(folder, layout, layout.resource_list)},
        closed=tuple(each for each in ranges if each.closed),
        open=opened,
        last=max(times),
    )


def _ranges(folder: Path, layout: Layout) -> Iterator[Range]:
    for pointer in _entries(folder, layout, layout.change_list_index, parts=False):
        if pointer.md is None or pointer.md.from_ is None:
            message = f"{layout.change_list_index} lists {pointer.loc} without its from"
            raise PublicationError(message)
        start, until = pointer.md.from_, pointer.md.until
        entries = () if until else _entries(folder, layout, layout.change_list(start))
        yield Range(start, until, tuple(_change(entry) for entry in entries), carried=until is not None)


def _entries(folder: Path, layout: Layout, path: str, *, parts: bool = True) -> Iterator[Entry]:
    """Give the entries of a document, through its index where it is one of parts."""
    with ExitStack() as stack:
        document: Document = read(stack.enter_context((folder / path).open("rb")), name=path)
        if document.root is Root.URLSET or not parts:
            yield from document.entries
            return
        for part in document.entries:
            yield from _entries(folder, layout, part.loc.removeprefix(f"{layout.siteurl}/"))


def _listed(entry: Entry) -> Listed:
    return Listed(_representation(entry), entry.lastmod)


def _change(entry: Entry) -> Change:
    md = entry.md
    if md is None or md.change is None or entry.lastmod is None:
        message = f"the change of {entry.loc} lacks its kind or its time"
        raise PublicationError(message)
    return Change(entry.lastmod, entry.loc, md.change, _representation(entry) if md.hash else None)


def _representation(entry: Entry) -> Representation:
    md = entry.md
    if md is None or not md.hash or md.length is None or md.type is None:
        message = f"the entry of {entry.loc} lacks its hash, length or type"
        raise PublicationError(message)
    return Representation(md.hash[0].digest, md.length, md.type)
