"""Rebuild the contents of a publication without some resources, with the bytes from its own packages."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import BinaryIO
from zipfile import ZipFile

from pelican_resourcesync.protocol import Capability, ChangeKind, Entry, Hash, Link
from pelican_resourcesync.publication.diff import Comparison
from pelican_resourcesync.publication.documents.contents import ChangeDumpContents, Contents, ResourceSnapshot
from pelican_resourcesync.publication.dumps.changedump import dumped_after, read_dumped
from pelican_resourcesync.publication.dumps.package import open_member, open_package
from pelican_resourcesync.publication.dumps.packing import ChangePacker
from pelican_resourcesync.publication.model.history import Change
from pelican_resourcesync.publication.model.layout import MANIFEST
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Listed
from pelican_resourcesync.publication.previous.previous import PreviousPublication

_OPEN = 4  # packages kept open: bytes that are packed together mostly come from the same one


class TakedownContents:
    """The lists and packages of a publication, without some URIs."""

    def __init__(self, previous: PreviousPublication, options: Options, uris: Collection[str]) -> None:
        """Create it from the publication, the options for the next one, and the URIs to remove."""
        self._previous = previous
        self._options = options
        self._uris = uris
        self._places: dict[Hash | tuple[str, datetime | None], tuple[str, str]] = {}
        self._opened: dict[str, ZipFile] = {}

    def contents(self, at: datetime, listed: Listing, ranges: Sequence[Range]) -> Contents:
        """Return the contents of all documents as of `at`, with these resources and ranges."""
        self._find_bytes()
        return Contents(
            at=at,
            listed=listed,
            ranges=ranges,
            dump=ResourceSnapshot(at, listed) if self._options.dumps.resourcedump else None,
            dumped=self._dumped(ranges),
            lists=tuple(self._archived(Capability.RESOURCELIST)),
            dumps=tuple(self._archived(Capability.RESOURCEDUMP)),
            bytes=self._find,
        )

    def _dumped(self, ranges: Sequence[Range]) -> Sequence[ChangeDumpContents]:
        before = read_dumped(self._previous)
        if not before:
            return ()
        uris = (change.uri for each in ranges for change in each.changes)
        splitting = ChangePacker(self._options, Comparison.of(uris).capacity(self._options.limits))
        ends = [package.until for each in before for package in each.packages]

        def split(changes: Iterable[Change]) -> Iterator[Sequence[Change]]:
            """Divide at the same times as before, so that followers can continue from the package they have."""
            packed = filter(self._can_pack, changes)
            for _, together in groupby(packed, key=lambda change: bisect_left(ends, change.time)):
                yield from splitting.into_packages(together)

        return dumped_after([], ranges, begin=before[0].start, split=split)

    def _can_pack(self, change: Change) -> bool:
        """Return whether a change can be packed: it is a deletion, or its bytes are available."""
        of = change.representation.hash if change.representation else None
        return change.kind is ChangeKind.DELETED or self._find(change.uri, of, change.time) is not None

    def _archived(self, of: Capability) -> Iterator[ResourceSnapshot]:
        layout = self._previous.layout
        for pointer in self._previous.entries(layout.archive(of)):
            at = pointer.md.at if pointer.md else None
            if at is not None:
                paths = [layout.archived(of, at)]
                if of == Capability.RESOURCEDUMP:
                    count = len(self._previous.entries(paths[0]))
                    paths = [layout.manifest(layout.resource_dump_package(at, i + 1)) for i in range(count)]
                yield ResourceSnapshot(at, without(self._previous.listing(paths), self._uris))

    def _find_bytes(self) -> None:
        """Read from the manifests which package contains which bytes."""
        for path in self._previous.state.documents:
            if path.endswith(MANIFEST):
                package = f"{path.removesuffix(MANIFEST)}.zip"
                for entry in self._previous.entries(path):
                    if entry.md and entry.md.path:
                        self._places[_key(entry)] = package, entry.md.path.removeprefix("/")

    def _find(self, uri: str, of: Hash | None, since: datetime | None) -> Callable[[], BinaryIO] | None:
        """Find bytes by their hash, or else by URI and time; `None` for bytes that were never packed."""
        place = self._places.get(of or (uri, since))
        return partial(self._open, *place) if place else None

    def _open(self, package: str, member: str) -> BinaryIO:
        return open_member(self._package(package), member)

    def _package(self, path: str) -> ZipFile:
        """Return an open package, cached because its directory is long."""
        package = self._opened.pop(path, None) or open_package(self._previous.folder / path)
        self._opened[path] = package
        if len(self._opened) > _OPEN:
            self._opened.pop(next(iter(self._opened))).close()
        return package


def _key(entry: Entry) -> Hash | tuple[str, datetime | None]:
    return entry.md.hash[0] if entry.md and entry.md.hash else (entry.loc, entry.lastmod)


def without(listed: Mapping[str, Listed], uris: Collection[str]) -> Listing:
    """Return the resources without those of these URIs, and without links to them."""
    return Listing.of(
        (uri, replace(each, links=links_without(each.links, uris))) for uri, each in listed.items() if uri not in uris
    )


def links_without(links: tuple[Link, ...], uris: Collection[str]) -> tuple[Link, ...]:
    """Return the links that do not lead to one of these URIs."""
    return tuple(link for link in links if link.href not in uris)
