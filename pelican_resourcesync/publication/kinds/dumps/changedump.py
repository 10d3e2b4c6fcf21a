"""Change Dumps: which changes each covers, in which packages, and which ones an earlier publication has (CD)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from pelican_resourcesync.protocol import Capability, ChangeKind, Entry
from pelican_resourcesync.publication.kinds.documents.contents import ChangeDumpContents, ChangePackage
from pelican_resourcesync.publication.model.history import Change, Withdrawn
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.previous.previous import DamagedError, PreviousPublication, explain_damage

#: Divides changes, in chronological order, into packages, and leaves out those that cannot be packed.
Split = Callable[[Iterable[Change]], Iterable[Sequence[Change]]]


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


def without_bytes(
    previous: PreviousPublication, dumped: Sequence[ChangeDumpContents], withdrawn: Withdrawn
) -> Sequence[ChangeDumpContents]:
    """Return the Change Dumps after the last one with bytes of what is withdrawn: there must be no gap."""
    with_them = (any(has_bytes(previous, each.path, withdrawn) for each in dump.packages) for dump in dumped)
    last = max((number for number, found in enumerate(with_them) if found), default=-1)
    return dumped[last + 1 :]


def read_dumped(previous: PreviousPublication) -> list[ChangeDumpContents]:
    """Read the Change Dumps of a publication, oldest first. Raises `PublicationError` if they are damaged."""
    index = previous.layout.change_dump_index
    if index not in previous.state.documents:
        return []
    with explain_damage(previous.where), previous.read(index) as document:
        return [_read(previous, entry) for entry in document.entries]


def _read(previous: PreviousPublication, pointer: Entry) -> ChangeDumpContents:
    if pointer.md is None or pointer.md.from_ is None:
        what = f"{previous.layout.change_dump_index} lists {pointer.loc} without its from"
        raise DamagedError(what)
    path = previous.layout.change_dump(pointer.md.from_)
    previous.require(path)
    packages = tuple(_package(previous, path, entry) for entry in previous.entries(path))
    until = pointer.md.until
    return ChangeDumpContents(start=pointer.md.from_, until=until, packages=packages, unchanged=until is not None)


def _package(previous: PreviousPublication, dump: str, entry: Entry) -> ChangePackage:
    md = entry.md
    if md is None or md.from_ is None or md.until is None:
        what = f"{dump}: the package {entry.loc} lacks its from or until"
        raise DamagedError(what)
    path = previous.layout.change_dump_package(md.until)
    for each in (path, previous.layout.manifest(path)):
        previous.require(each)
    return ChangePackage(path=path, start=md.from_, until=md.until)


def dumped_after(
    before: Sequence[ChangeDumpContents],
    ranges: Sequence[Range],
    *,
    begin: datetime | None,
    split: Split,
) -> list[ChangeDumpContents]:
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
            opened = ChangeDumpContents(start=(kept[-1].until if kept else None) or begin)
        if opened is not None:
            opened = replace(opened, until=each.until, new_changes=packed)
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


def retain_dumped(
    dumped: Sequence[ChangeDumpContents], keep: int | None, first: datetime | None
) -> list[ChangeDumpContents]:
    """Return the Change Dumps to keep: at most `keep` closed ones, and none that ends before the `first` range kept."""
    closed = [each for each in dumped if each.until is not None and (first is None or each.until > first)]
    closed = closed if keep is None else closed[max(0, len(closed) - keep) :]
    return [*closed, *(each for each in dumped if not each.closed)]
