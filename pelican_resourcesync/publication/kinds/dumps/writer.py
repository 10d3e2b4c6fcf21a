"""Write dumps to a stage: packages first, then the documents that link to them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count

from pelican_resourcesync.protocol import ChangeKind, Document, Entry, Metadata, RenderedEntry
from pelican_resourcesync.publication.kinds.documents.contents import (
    ChangeDumpContents,
    ChangePackage,
    FindBytes,
    PlannedList,
    ResourceSnapshot,
)
from pelican_resourcesync.publication.kinds.documents.documents import Documents, change_entries
from pelican_resourcesync.publication.kinds.documents.writer import DocumentWriter
from pelican_resourcesync.publication.kinds.dumps.changedump import dump_packages
from pelican_resourcesync.publication.kinds.dumps.package import Bitstream, open_package, repacked, write_package
from pelican_resourcesync.publication.kinds.dumps.packing import (
    begins_package,
    divided,
    package_limits,
    size_in_package,
)
from pelican_resourcesync.publication.model.layout import part_path
from pelican_resourcesync.publication.model.ranges import Body

_PATH = re.compile(r' path="[^"]*+"')


@dataclass(frozen=True, slots=True)
class DumpWriter:
    """Writer of the dumps of one generation; `on_packed` is called with the number of bytes just packed."""

    writing: DocumentWriter
    documents: Documents
    find: FindBytes
    on_packed: Callable[[int], None]

    def resource_dump(self, dump: ResourceSnapshot, at: datetime, archive: str = "") -> None:
        """Write a Resource Dump with new packages, or with those of the previous one, which are carried over (RD).

        `at` is the time of the publication. It names the parts of the dump, because these change with its links.
        """
        layout = self.writing.options.layout
        document = self.documents.resource_dump(dump.at, self.packages(dump), archive)
        self.writing.put_parts(layout.resource_dump, document, partial(part_path, layout.resource_dump, at))

    def packages(self, dump: ResourceSnapshot) -> list[Entry]:
        """Write the packages of a Resource Dump, or carry over the previous ones; return their entries."""
        if dump.listed is not None:
            return list(self._packed(dump.at, dump.listed))
        previous = self.writing.previous
        return [self._carried(path, at) for path, at in (dump_packages(previous, dump.at) if previous else ())]

    def _entry(self, package: str, interval: Metadata) -> Entry:
        digest, length = self.writing.stage.measure(package)
        return self.documents.package_entry(package, length, digest, interval)

    def _carried(self, package: str, at: datetime) -> Entry:
        """Carry over a package of a Resource Dump, with its manifest; return its entry."""
        self._carry(package, self.documents.resource_dump_manifest(at))
        return self._entry(package, Metadata(at=at))

    def _carry(self, package: str, head: Document) -> None:
        """Carry over a package and its manifest; if the site has moved, pack it again, with the new links (X13)."""
        manifest, previous = self.writing.options.layout.manifest(package), self.writing.previous
        if self.writing.stays or previous is None:
            self.writing.carry(package)
            self.writing.carry(manifest)
            return
        with open_package(previous.folder / package) as packed:
            entries = previous.entries(manifest)
            self._write(package, head, (repacked(entry, packed, self.writing.options.edition) for entry in entries))

    def change_dump(self, dumped: ChangeDumpContents) -> None:
        """Write the Change Dump of a range: existing packages are carried over, new ones are written (CD)."""
        layout = self.writing.options.layout
        path = layout.change_dump(dumped.start)
        carried = dumped.unchanged and self.writing.stays
        if carried:
            self.writing.carry(path)
        for each in dumped.packages:
            self._carry(each.path, self.documents.change_dump_manifest(each.start, each.until))
        packages = [*dumped.packages, *self._new(dumped)]
        if not carried:
            entries = [self._entry(each.path, Metadata(from_=each.start, until=each.until)) for each in packages]
            self.writing.put(path, self.documents.change_dump(dumped, entries))

    def _packed(self, at: datetime, listed: PlannedList) -> Iterator[Entry]:
        """Write the packages of a Resource Dump one after another, and carry over those that stay; yield their entries.

        A package stays if its members do.
        """
        options, numbers = self.writing.options, count(1)
        head, previous = self.documents.resource_dump_manifest(at), self.writing.previous
        before = {
            uri: (path, time)
            for path, time in (dump_packages(previous) if previous else ())
            for uri, *_ in self._members(path)[:1]
        }
        bitstreams = map(Bitstream.of_row, listed.rows())
        for package in divided(bitstreams, size_in_package, package_limits(options), begins_package):
            wanted = [*package]
            earlier = self._same(wanted, before)
            if earlier is None:
                wanted = [*self._available(wanted)]
                earlier = self._same(wanted, before)
            if earlier:
                yield self._carried(*earlier)
            elif wanted:
                path = options.layout.resource_dump_package(at, next(numbers))
                self._write(path, head, wanted)
                yield self._entry(path, Metadata(at=at))

    def _members(self, package: str) -> list[RenderedEntry]:
        """Return the entries of the manifest of an earlier package, without their paths."""
        previous = self.writing.previous
        if previous is None:
            return []
        entries = Body(previous.folder / previous.layout.manifest(package), is_draft=False).entries()
        return [(each.loc, _PATH.sub("", each.md), each.links, each.lastmod) for each in entries]

    def _same(
        self, bitstreams: Sequence[Bitstream], before: Mapping[str, tuple[str, datetime]]
    ) -> tuple[str, datetime] | None:
        """Return the earlier package with just these members, if there is one, by the URI of its first."""
        found = before.get(bitstreams[0].entry[0]) if bitstreams else None
        return found if found and self._members(found[0]) == [each.entry for each in bitstreams] else None

    def _available(self, bitstreams: Iterable[Bitstream]) -> Iterator[Bitstream]:
        """Yield the bitstreams of the resources whose bytes are available."""
        for each in bitstreams:
            if opener := self.find(each.entry[0], each.expected.hash, each.modified):
                yield each._replace(open=opener)

    def _new(self, dumped: ChangeDumpContents) -> Iterator[ChangePackage]:
        start = dumped.packages[-1].until if dumped.packages else dumped.start
        for changes in dumped.new_changes:
            until = changes[-1].time
            path = self.writing.options.layout.change_dump_package(until)
            head = self.documents.change_dump_manifest(start, until)
            self._write(path, head, self._bitstreams(change_entries(changes)))
            yield ChangePackage(path=path, start=start, until=until)
            start = until

    def _write(self, path: str, head: Document, bitstreams: Iterable[Bitstream]) -> None:
        """Write a package, and its manifest next to it."""
        stage, options = self.writing.stage, self.writing.options
        base, edition = options.layout.siteurl, options.edition
        with stage.open(path) as package, stage.open(options.layout.manifest(path)) as manifest:
            write_package(package, manifest, head, bitstreams, base=base, edition=edition, on_packed=self.on_packed)

    def _bitstreams(self, entries: Iterable[Entry]) -> Iterator[Bitstream]:
        """Yield the bitstreams of the entries that can be packed: deletions, and entries whose bytes are available."""
        for entry in entries:
            bitstream = Bitstream.of(entry, edition=self.writing.options.edition)
            if entry.md and entry.md.change is ChangeKind.DELETED:
                yield bitstream
            elif opener := self.find(entry.loc, bitstream.expected.hash, entry.lastmod):
                yield bitstream._replace(open=opener)
