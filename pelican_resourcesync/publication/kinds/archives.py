"""Archives: which earlier documents of a kind are kept, and the document that links to them (AR)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

from pelican_resourcesync.protocol import Capability, Document
from pelican_resourcesync.publication.kinds.documents.writer import DocumentWriter
from pelican_resourcesync.publication.model.layout import part_path
from pelican_resourcesync.publication.model.ranges import DumpedRange, Range
from pelican_resourcesync.publication.previous.previous import PreviousPublication


def archived(previous: PreviousPublication, of: Capability) -> list[datetime]:
    """Return the times of the Resource Lists or Resource Dumps (`of`) that are archived already, oldest first."""
    return [entry.md.at for entry in previous.entries(previous.layout.archive(of)) if entry.md and entry.md.at]


def latest(times: Iterable[datetime], keep: int | None) -> list[datetime]:
    """Return the times of the documents to keep: the last `keep`, or all for `None`."""
    ordered = sorted({*times})
    return ordered if keep is None else ordered[max(0, len(ordered) - keep) :]


def starts_of_closed(ranges: Iterable[Range | DumpedRange]) -> list[datetime]:
    """Return the starts of the ranges whose documents never change again, which are archived."""
    return [found.start for found in ranges if found.closed]


def write_archive_of_states(writing: DocumentWriter, of: Capability, times: Sequence[datetime]) -> str:
    """Write the archive of the Resource Lists or Resource Dumps (`of`); return its path, or an empty text for none."""
    pointers = [(writing.options.layout.archived(of, at), at) for at in times]
    return _write(writing, of, writing.documents.archive_of_states(of, pointers)) if pointers else ""


def write_archive_of_changes(writing: DocumentWriter, of: Capability, ranges: Iterable[Range | DumpedRange]) -> str:
    """Write the archive of the closed Change Lists or Change Dumps (`of`); return its path, or an empty text."""
    layout = writing.options.layout
    path_of = layout.change_list if of is Capability.CHANGELIST else layout.change_dump
    closed = [(path_of(found.start), found.start, found.until) for found in ranges if found.closed]
    return _write(writing, of, writing.documents.archive_of_changes(of, closed)) if closed else ""


def _write(writing: DocumentWriter, of: Capability, document: Document) -> str:
    path = writing.options.layout.archive(of)
    writing.put_parts(path, document, partial(part_path, path, writing.state.at))
    return path


def paths_by_capability(of: Capability, path: str, archive: str) -> dict[Capability, str]:
    """Return the paths of the current document of a kind and of its archive, as far as there are these."""
    found = {of: path, Capability(f"{of}-archive"): archive}
    return {capability: path for capability, path in found.items() if path}
