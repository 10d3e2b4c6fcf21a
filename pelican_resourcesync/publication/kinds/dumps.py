"""Dumps: all resources, and changes, in packages, with the documents and archives that list them (RD, CD, AR)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count

from pelican_resourcesync.protocol import Capability, ChangeKind, Document, Entry, Metadata, RenderedEntry
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.kinds.packages import (
    PackageMember,
    begins_package,
    divided,
    divided_changes,
    open_package,
    package_limits,
    repacked,
    size_in_package,
    write_package,
)
from pelican_resourcesync.publication.model.history import Change, Withdrawn
from pelican_resourcesync.publication.model.layout import part_path
from pelican_resourcesync.publication.model.ranges import (
    Body,
    ChangePackage,
    DumpedRange,
    Range,
    latest,
    starts_of_closed,
)
from pelican_resourcesync.publication.model.resource import FindBytes
from pelican_resourcesync.publication.previous.previous import DamagedError, PreviousPublication, explain_damage

#: Divides changes, in chronological order, into packages, and leaves out those that cannot be packed.
Split = Callable[[Iterable[Change]], Iterable[Sequence[Change]]]

_DUMP, _CHANGES = Capability.RESOURCEDUMP, Capability.CHANGEDUMP
_PATH = re.compile(r' path="[^"]*+"')


def plan_resource_dump(news: News) -> "ResourceDump | None":
    """Return the Resource Dump, if there are dumps: the previous one, with its time, if no resource has changed.

    Archived is, for each closed range, the last one published in it, with its packages; those with bytes of what is
    withdrawn are left out.
    """
    previous, withdrawn = news.previous, news.withdrawn
    if not news.options.dumps.resourcedump:
        return None
    if previous is None:
        return ResourceDump(news, news.at, is_new=True)
    before = dump_of(previous)
    times = [*previous.archived(_DUMP), *([before] if before and news.ends_range else [])]
    public = [
        at
        for at in times
        if not (withdrawn and any(has_bytes(previous, path, withdrawn) for path, _ in dump_packages(previous, at)))
    ]
    kept = latest(public, news.options.archives.resourcedump)
    is_new = before is None or news.list.other_bytes
    return ResourceDump(news, before if before and not is_new else news.at, kept, is_new=is_new)


def plan_change_dumps(news: News) -> "ChangeDumps | None":
    """Return the Change Dumps, if there are dumps.

    They begin after the last one with bytes of what is withdrawn, because there must be no gap.
    """
    options, previous = news.options, news.previous
    if not options.dumps.changedump:
        return None
    begin = previous.last if previous else begin_of_dumps([*news.changes], news.ranges)
    before: Sequence[DumpedRange] = read_dumped(previous) if previous else []
    if previous and news.withdrawn:
        before = without_bytes(previous, before, news.withdrawn)
    if previous and not before:
        begin = dump_of(previous) or previous.last_change  # nothing has changed since then
    dumped = dumped_after(before, news.ranges, begin=begin, split=partial(_split, news))
    first = news.listed[0].start if news.listed else None
    return ChangeDumps(news, retain_dumped(dumped, options.closed_change_dumps, first))


def _split(news: News, changes: Iterable[Change]) -> Iterable[Sequence[Change]]:
    """Divide the changes that can be packed into packages: deletions, and changes whose bytes are available."""
    packable = (
        change
        for change in changes
        if change.kind is ChangeKind.DELETED
        or news.find(change.uri, change.representation.hash if change.representation else None)
    )
    return divided_changes(news.options, packable)


def dumped_after(
    before: Sequence[DumpedRange], ranges: Sequence[Range], *, begin: datetime | None, split: Split
) -> list[DumpedRange]:
    """Return the Change Dumps of `ranges`, continuing those `before`.

    Changes after `begin` are new; `begin` is `None` if there is nothing to dump yet. `split` divides those that can be
    packed into packages. If there is no earlier Change Dump, the first one starts at `begin` and covers only what comes
    after that. A Change Dump without packages is not valid (V1105), so the next one covers its range as well.
    """
    kept = [each for each in before if each.closed]
    if begin is None:
        return kept
    opened = next((each for each in before if not each.closed), None)
    for each in ranges:
        if each.unchanged:
            continue
        new = [change for change in each.changes if change.time > begin]
        packed = tuple(map(tuple, split(new))) if new else ()
        if opened is None and packed:
            opened = DumpedRange(start=(kept[-1].until if kept else None) or begin)
        if opened is not None:
            opened = opened._replace(until=each.until, new_changes=packed)
            kept, opened = ([*kept, opened], None) if opened.closed else (kept, opened)
    return kept if opened is None else [*kept, opened]


def begin_of_dumps(changes: Sequence[Change], ranges: Sequence[Range]) -> datetime | None:
    """Return the time after which a first publication has the bytes of every change, or `None` if it has none.

    Only a backfill, which builds past commits again, has such bytes. Changes known from the history alone have none, so
    nothing up to the last of them is covered.
    """
    seen = False
    for change in reversed(changes):
        if change.kind is not ChangeKind.DELETED:
            if change.representation is None:
                return change.time if seen else None
            seen = True
    return ranges[0].start if seen and ranges else None


def retain_dumped(dumped: Sequence[DumpedRange], keep: int | None, first: datetime | None) -> list[DumpedRange]:
    """Return the Change Dumps to keep: at most `keep` closed ones, and none that ends before the `first` range kept."""
    closed = [each for each in dumped if each.until is not None and (first is None or each.until > first)]
    closed = closed if keep is None else closed[max(0, len(closed) - keep) :]
    return [*closed, *(each for each in dumped if not each.closed)]


@dataclass(frozen=True, slots=True)
class _Packages:
    """Writes and carries over packages, whose bytes `find` finds."""

    writing: DocumentWriter
    find: FindBytes

    def write(self, path: str, head: Document, bitstreams: Iterable[PackageMember]) -> None:
        """Write a package, and its manifest next to it."""
        writing, options = self.writing, self.writing.options
        base, edition = options.layout.siteurl, options.edition
        with writing.stage.open(path) as package, writing.stage.open(options.layout.manifest(path)) as manifest:
            write_package(package, manifest, head, bitstreams, base=base, edition=edition, on_packed=writing.on_packed)

    def carry(self, path: str, head: Document) -> None:
        """Carry over a package and its manifest; if the site has moved, pack it again, with the new links (X13)."""
        manifest, previous = self.writing.options.layout.manifest(path), self.writing.previous
        if self.writing.stays or previous is None:
            self.writing.carry(path)
            self.writing.carry(manifest)
            return
        with open_package(previous.folder / path) as packed:
            entries = previous.entries(manifest)
            self.write(path, head, (repacked(entry, packed, self.writing.options.edition) for entry in entries))

    def carry_state(self, path: str, at: datetime) -> Entry:
        """Carry over a package of a Resource Dump; return its entry."""
        self.carry(path, self.writing.documents.resource_dump_manifest(at))
        return self.entry(path, Metadata(at=at))

    def entry(self, path: str, interval: Metadata) -> Entry:
        """Return the entry of a package in a dump."""
        digest, length = self.writing.stage.measure(path)
        return self.writing.documents.package_entry(path, length, digest, interval)

    def available(self, bitstreams: Iterable[PackageMember]) -> Iterator[PackageMember]:
        """Yield the bitstreams whose bytes are available."""
        for bitstream in bitstreams:
            if opener := self.find(bitstream.entry[0], bitstream.expected.hash):
                yield bitstream._replace(open=opener)


@dataclass(frozen=True, slots=True)
class ResourceDump(PlannedDocuments):
    """The Resource Dump as of `at`, and the earlier ones that are archived, by their times.

    Its packages are those of the previous one unless it `is_new`. Even then, those stay whose members do.
    """

    news: News
    at: datetime
    archived: Sequence[datetime] = ()
    is_new: bool = False

    @property
    def differs(self) -> bool:
        """Whether there are new packages, or whether other dumps are archived than before."""
        previous = self.news.previous
        return self.is_new or (previous is not None and self.archived != previous.archived(_DUMP))

    def write(self, writing: DocumentWriter) -> None:
        """Write the archived ones, their archive, and the dump."""
        layout, packages = writing.options.layout, _Packages(writing, self.news.find)
        for at in self.archived:
            self._archive(packages, at)
        archive = writing.put_archive_of_states(_DUMP, self.archived)
        found = self._packed(packages) if self.is_new else self._carried(packages, self.at)
        document = writing.documents.resource_dump(self.at, [*found], archive)
        # The time of the publication names its parts, because these change with its links.
        writing.put_parts(layout.resource_dump, document, partial(part_path, layout.resource_dump, writing.state.at))
        writing.capabilities[_DUMP] = layout.resource_dump

    def _archive(self, packages: _Packages, at: datetime) -> None:
        """Archive a Resource Dump: its packages stay where they are, and a new document links to them."""
        writing = packages.writing
        layout, previous = writing.options.layout, writing.previous
        path, carried = layout.archived(_DUMP, at), [*self._carried(packages, at)]
        if previous and path in previous.state.documents and writing.stays:
            writing.carry_all(path)
        else:
            document = writing.documents.resource_dump(at, carried)
            writing.put_parts(path, document, partial(layout.archived_part, _DUMP, at))

    @staticmethod
    def _carried(packages: _Packages, at: datetime) -> Iterator[Entry]:
        """Carry over the packages of an earlier Resource Dump; yield their entries."""
        previous = packages.writing.previous
        return (packages.carry_state(path, at) for path, at in (dump_packages(previous, at) if previous else ()))

    def _packed(self, packages: _Packages) -> Iterator[Entry]:
        """Write the packages one after another, and carry over those that stay; yield their entries."""
        options, numbers, previous = self.news.options, count(1), self.news.previous
        head = packages.writing.documents.resource_dump_manifest(self.at)
        before = {
            uri: (path, time)
            for path, time in (dump_packages(previous) if previous else ())
            for uri, *_ in self._members(path)[:1]
        }
        bitstreams = map(PackageMember.of_row, self.news.list.rows())
        for package in divided(bitstreams, size_in_package, package_limits(options), begins_package):
            wanted = [*package]
            earlier = self._same(wanted, before)
            if earlier is None:
                wanted = [*packages.available(wanted)]
                earlier = self._same(wanted, before)
            if earlier:
                yield packages.carry_state(*earlier)
            elif wanted:
                path = options.layout.resource_dump_package(self.at, next(numbers))
                packages.write(path, head, wanted)
                yield packages.entry(path, Metadata(at=self.at))

    def _same(
        self, bitstreams: Sequence[PackageMember], before: Mapping[str, tuple[str, datetime]]
    ) -> tuple[str, datetime] | None:
        """Return the earlier package with just these members, if there is one, by the URI of its first."""
        found = before.get(bitstreams[0].entry[0]) if bitstreams else None
        return found if found and self._members(found[0]) == [each.entry for each in bitstreams] else None

    def _members(self, package: str) -> list[RenderedEntry]:
        """Return the entries of the manifest of an earlier package, without their paths."""
        previous = self.news.previous
        if previous is None:
            return []
        entries = Body(previous.folder / previous.layout.manifest(package), is_draft=False).entries()
        return [(each.loc, _PATH.sub("", each.md), each.links, each.lastmod) for each in entries]


@dataclass(frozen=True, slots=True)
class ChangeDumps(PlannedDocuments):
    """The Change Dumps of ranges, their index, and the archive of those that are closed."""

    news: News
    ranges: Sequence[DumpedRange]

    @property
    def differs(self) -> bool:
        """Whether other dumps are closed than before."""
        previous = self.news.previous
        return previous is None or starts_of_closed(self.ranges) != starts_of_closed(read_dumped(previous))

    def write(self, writing: DocumentWriter) -> None:
        """Write the dumps, with new packages and those that exist already; write their archive and their index."""
        packages = _Packages(writing, self.news.find)
        for found in self.ranges:
            self._write(packages, found)
        archive = writing.put_archive_of_changes(_CHANGES, self.ranges)
        if self.ranges:
            path = writing.capabilities[_CHANGES] = writing.options.layout.change_dump_index
            writing.put(path, writing.documents.index_of_changes(_CHANGES, self.ranges, archive))

    def _write(self, packages: _Packages, found: DumpedRange) -> None:
        writing = packages.writing
        path = writing.options.layout.change_dump(found.start)
        carried = found.unchanged and writing.stays
        if carried:
            writing.carry(path)
        for package in found.packages:
            packages.carry(package.path, writing.documents.change_dump_manifest(package.start, package.until))
        together = [*found.packages, *self._new(packages, found)]
        if not carried:
            entries = [packages.entry(each.path, Metadata(from_=each.start, until=each.until)) for each in together]
            writing.put(path, writing.documents.change_dump(found, entries))

    @staticmethod
    def _new(packages: _Packages, found: DumpedRange) -> Iterator[ChangePackage]:
        """Write the new packages of a range."""
        writing, start = packages.writing, found.packages[-1].until if found.packages else found.start
        for changes in found.new_changes:
            until = changes[-1].time
            path = writing.options.layout.change_dump_package(until)
            head = writing.documents.change_dump_manifest(start, until)
            packages.write(path, head, ChangeDumps._bitstreams(packages, changes))
            yield ChangePackage(path=path, start=start, until=until)
            start = until

    @staticmethod
    def _bitstreams(packages: _Packages, changes: Sequence[Change]) -> Iterator[PackageMember]:
        """Yield the bitstreams of changes: deletions, and those whose bytes are available."""
        for change in changes:
            bitstream = PackageMember.of_change(change, packages.writing.options.edition)
            yield from [bitstream] if change.kind is ChangeKind.DELETED else packages.available([bitstream])


def dump_of(previous: PreviousPublication) -> datetime | None:
    """Return the `at` of the current Resource Dump, which may be empty; `None` if there is none."""
    path = previous.layout.resource_dump
    if path not in previous.state.documents:
        return None
    with explain_damage(previous.where), previous.read(path) as document:
        md = document.md
    return md.at if md else None


def dump_packages(previous: PreviousPublication, at: datetime | None = None) -> list[tuple[str, datetime]]:
    """Return the packages of the Resource Dump, or of an archived one, each with the time it is as of."""
    archived = previous.layout.archived(Capability.RESOURCEDUMP, at) if at else ""
    path = archived if archived in previous.state.documents else previous.layout.resource_dump
    with explain_damage(previous.where):
        entries = previous.entries(path)
        found = [(previous.path(entry.loc), entry.md.at) for entry in entries if entry.md and entry.md.at]
        for package, _ in found:
            previous.require(previous.layout.manifest(package))
    return found


def has_bytes(previous: PreviousPublication, package: str, withdrawn: Withdrawn) -> bool:
    """Return whether a package contains bytes of what is withdrawn. Raises `PublicationError` without its manifest."""
    manifest = previous.layout.manifest(package)
    with explain_damage(previous.where):
        previous.require(manifest)
    packed = ((entry.loc, entry.md.hash) for entry in previous.entries(manifest) if entry.md and entry.md.path)
    return any(withdrawn.has(uri, hashes[0].digest if hashes else "") for uri, hashes in packed)


def count_withdrawn(previous: PreviousPublication | None, withdrawn: Withdrawn) -> int:
    """Return the number of packages with bytes of what is withdrawn."""
    if previous is None or not withdrawn:
        return 0
    packages = (path for path in previous.state.packages if path in previous.state.documents)
    return sum(has_bytes(previous, path, withdrawn) for path in packages)


def without_bytes(
    previous: PreviousPublication, dumped: Sequence[DumpedRange], withdrawn: Withdrawn
) -> Sequence[DumpedRange]:
    """Return the Change Dumps after the last one with bytes of what is withdrawn: there must be no gap."""
    with_them = (any(has_bytes(previous, each.path, withdrawn) for each in dump.packages) for dump in dumped)
    last = max((number for number, found in enumerate(with_them) if found), default=-1)
    return dumped[last + 1 :]


def read_dumped(previous: PreviousPublication) -> list[DumpedRange]:
    """Read the Change Dumps of a publication, oldest first. Raises `PublicationError` if they are damaged."""
    index = previous.layout.change_dump_index
    if index not in previous.state.documents:
        return []
    with explain_damage(previous.where), previous.read(index) as document:
        return [_read(previous, entry) for entry in document.entries]


def _read(previous: PreviousPublication, pointer: Entry) -> DumpedRange:
    if pointer.md is None or pointer.md.from_ is None:
        what = f"{previous.layout.change_dump_index} lists {pointer.loc} without a from time"
        raise DamagedError(what)
    path = previous.layout.change_dump(pointer.md.from_)
    previous.require(path)
    packages = tuple(_package(previous, path, entry) for entry in previous.entries(path))
    until = pointer.md.until
    return DumpedRange(start=pointer.md.from_, until=until, packages=packages, unchanged=until is not None)


def _package(previous: PreviousPublication, dump: str, entry: Entry) -> ChangePackage:
    md = entry.md
    if md is None or md.from_ is None or md.until is None:
        what = f"{dump} lists the package {entry.loc} without a from or until time"
        raise DamagedError(what)
    path = previous.layout.change_dump_package(md.until)
    for each in (path, previous.layout.manifest(path)):
        previous.require(each)
    return ChangePackage(path=path, start=md.from_, until=md.until)
