"""The dumps of an earlier publication, read back: their packages, their members and their ranges (RD, CD)."""

from collections.abc import Sequence
from datetime import datetime

from pelican_resourcesync.protocol import Capability, Entry
from pelican_resourcesync.publication.model.history import Withdrawn
from pelican_resourcesync.publication.model.ranges import ChangePackage, DumpedRange
from pelican_resourcesync.publication.previous.previous import DamagedError, PreviousPublication, explain_damage


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
        what = f"{previous.layout.change_dump_index} lists {pointer.loc} without its from"
        raise DamagedError(what)
    path = previous.layout.change_dump(pointer.md.from_)
    previous.require(path)
    packages = tuple(_package(previous, path, entry) for entry in previous.entries(path))
    until = pointer.md.until
    return DumpedRange(start=pointer.md.from_, until=until, packages=packages, unchanged=until is not None)


def _package(previous: PreviousPublication, dump: str, entry: Entry) -> ChangePackage:
    md = entry.md
    if md is None or md.from_ is None or md.until is None:
        what = f"{dump}: the package {entry.loc} lacks its from or until"
        raise DamagedError(what)
    path = previous.layout.change_dump_package(md.until)
    for each in (path, previous.layout.manifest(path)):
        previous.require(each)
    return ChangePackage(path=path, start=md.from_, until=md.until)
