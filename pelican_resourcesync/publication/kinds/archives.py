"""Archives: which earlier Resource Lists and Resource Dumps are kept, and the documents that link to them (AR)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pelican_resourcesync.protocol import Capability, Document
from pelican_resourcesync.publication.kinds.documents.contents import ChangeDumpContents, Contents, ResourceSnapshot
from pelican_resourcesync.publication.kinds.documents.documents import Documents
from pelican_resourcesync.publication.kinds.documents.writer import DocumentWriter
from pelican_resourcesync.publication.kinds.dumps.changedump import dump_of, dump_packages, has_bytes, read_dumped
from pelican_resourcesync.publication.kinds.dumps.writer import DumpWriter
from pelican_resourcesync.publication.model.history import Withdrawn
from pelican_resourcesync.publication.model.layout import part_path
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.previous.previous import PreviousPublication

_LIST, _DUMP = Capability.RESOURCELIST, Capability.RESOURCEDUMP


def lists_after(
    previous: PreviousPublication | None, ranges: Sequence[Range], options: Options
) -> tuple[ResourceSnapshot, ...]:
    """Return the archived Resource Lists: for each closed range, the last one published in it."""
    if previous is None:
        return ()
    last = ResourceSnapshot(previous.state.at, parts=previous.parts(previous.layout.resource_list))
    found = [*_kept(previous, _LIST), *([last] if _ends(previous, ranges) else [])]
    return _last(found, options.archives.resourcelist)


def dumps_after(
    previous: PreviousPublication | None, ranges: Sequence[Range], options: Options, withdrawn: Withdrawn
) -> tuple[ResourceSnapshot, ...]:
    """Return the archived Resource Dumps: for each closed range, the last one published in it, with its packages.

    Those with bytes of what is `withdrawn` are left out.
    """
    if previous is None or not options.dumps.resourcedump:
        return ()
    at = dump_of(previous)
    last = [ResourceSnapshot(at)] if at and _ends(previous, ranges) else []
    found = [
        each
        for each in [*_kept(previous, _DUMP), *last]
        if not (withdrawn and any(has_bytes(previous, path, withdrawn) for path, _ in dump_packages(previous, each.at)))
    ]
    return _last(found, options.archives.resourcedump)


def archives_stay(contents: Contents, previous: PreviousPublication) -> bool:
    """Return whether all archives link to the same documents as in the previous publication."""
    now = [_closed(contents.ranges), _closed(contents.dumped), _times(contents.lists), _times(contents.dumps)]
    kept = [_times(_kept(previous, of)) for of in (_LIST, _DUMP)]
    return now == [_closed(previous.closed), _closed(read_dumped(previous)), *kept]


def _closed(ranges: Iterable[Range | ChangeDumpContents]) -> list[datetime]:
    return [each.start for each in ranges if each.closed]


def _times(archived: Iterable[ResourceSnapshot]) -> list[datetime]:
    return [each.at for each in archived]


def _ends(previous: PreviousPublication, ranges: Sequence[Range]) -> bool:
    """Return whether the open range ends now. After a move of the site it does not, because its URIs were different."""
    opened = previous.open
    return opened is not None and any(each.start == opened.start and each.closed for each in ranges)


def _kept(previous: PreviousPublication, of: Capability) -> list[ResourceSnapshot]:
    """Return the documents that are archived already."""
    entries = previous.entries(previous.layout.archive(of))
    return [ResourceSnapshot(entry.md.at) for entry in entries if entry.md and entry.md.at]


def _last(found: list[ResourceSnapshot], keep: int | None) -> tuple[ResourceSnapshot, ...]:
    ordered = sorted({each.at: each for each in found}.values(), key=lambda each: each.at)
    return tuple(ordered if keep is None else ordered[max(0, len(ordered) - keep) :])


@dataclass(frozen=True, slots=True)
class ArchiveWriter:
    """Writer of the archives of one generation."""

    writing: DocumentWriter
    documents: Documents
    dumps: DumpWriter
    at: datetime

    def write(self, contents: Contents) -> dict[Capability, str]:
        """Write the archived documents and the archives that list them; return the archives' paths by capability."""
        for each in contents.lists:
            self._list(each)
        for each in contents.dumps:
            self._dump(each)
        layout = self.writing.options.layout
        return {
            **self._states(_LIST, contents.lists),
            **self._states(_DUMP, contents.dumps),
            **self._changes(Capability.CHANGELIST, layout.change_list, contents.ranges),
            **self._changes(Capability.CHANGEDUMP, layout.change_dump, contents.dumped),
        }

    def _list(self, archived: ResourceSnapshot) -> None:
        layout = self.writing.options.layout
        path = layout.archived(_LIST, archived.at)
        if archived.parts is None and self.writing.stays:
            self.writing.carry_all(path)
            return
        previous, parts = self.writing.previous, archived.parts
        if parts is None:
            parts = previous.parts(path) if previous else ()
        name = partial(layout.archived_part, _LIST, archived.at)
        self.writing.put_copied_parts(path, self.documents.resource_list(archived.at), name, parts)

    def _dump(self, archived: ResourceSnapshot) -> None:
        """Archive a Resource Dump: its packages stay where they are, and a new document links to them."""
        layout, previous = self.writing.options.layout, self.writing.previous
        path = layout.archived(_DUMP, archived.at)
        if previous and path in previous.state.documents and self.writing.stays:
            self.writing.carry_all(path)
            self.dumps.packages(archived)
        else:
            document = self.documents.resource_dump(archived.at, self.dumps.packages(archived))
            self.writing.put_parts(path, document, partial(layout.archived_part, _DUMP, archived.at))

    def _states(self, of: Capability, archived: Sequence[ResourceSnapshot]) -> dict[Capability, str]:
        pointers = [(self.writing.options.layout.archived(of, each.at), each.at) for each in archived]
        return self._archive(of, self.documents.archive_of_states(of, pointers)) if pointers else {}

    def _changes(
        self, of: Capability, path_of: Callable[[datetime], str], ranges: Iterable[Range | ChangeDumpContents]
    ) -> dict[Capability, str]:
        closed = [(path_of(each.start), each.start, each.until) for each in ranges if each.closed]
        return self._archive(of, self.documents.archive_of_changes(of, closed)) if closed else {}

    def _archive(self, of: Capability, document: Document) -> dict[Capability, str]:
        path = self.writing.options.layout.archive(of)
        self.writing.put_parts(path, document, partial(part_path, path, self.at))
        return {Capability(f"{of}-archive"): path}
