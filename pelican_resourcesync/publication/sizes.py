"""The number and the bytes of a publication's documents and packages, by kind."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.protocol import Capability, read
from pelican_resourcesync.publication.dumps.changedump import read_dumped
from pelican_resourcesync.publication.model.layout import DESCRIPTION, MANIFEST, PEOPLE, SHARED, is_package
from pelican_resourcesync.publication.previous.previous import Previous

#: The capabilities that can be archived.
ARCHIVED = (Capability.RESOURCELIST, Capability.RESOURCEDUMP, Capability.CHANGELIST, Capability.CHANGEDUMP)

_PACKAGES = "packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of files, and their bytes in total."""

    number: int
    size: int


def sizes_of(previous: Previous) -> dict[str, Amount]:
    """Return the number and bytes of the files of a set, by kind.

    The kind of a document is its capability, with the prefix `archived` for archived documents, including the packages
    and manifests of archived Resource Dumps. The kind of a package is the capability of the document that links to it,
    followed by `packages`. Files kept only for readers of the previous generation are `superseded`. Packages that are
    not in the folder count with the length stated in the documents.
    """
    return _counted(_files(previous))


def shared_sizes(folder: Path) -> dict[str, Amount]:
    """Return the number and bytes of the files that the sets in a folder share."""
    kinds = {"description": folder / DESCRIPTION, "page for people": folder / PEOPLE}
    return _counted((kind, file.stat().st_size) for kind, file in kinds.items() if file.is_file())


def summed(parts: Iterable[Mapping[str, Amount]]) -> dict[str, Amount]:
    """Return the totals of several results."""
    return _counted((kind, each.size, each.number) for part in parts for kind, each in part.items())


def archived_in(previous: Previous) -> dict[str, int]:
    """Return the number of archived documents, by capability."""
    found = {str(each): len(previous.entries(previous.layout.archive(each))) for each in ARCHIVED}
    return {kind: number for kind, number in found.items() if number}


def _counted(found: Iterable[tuple[str, int] | tuple[str, int, int]]) -> dict[str, Amount]:
    amounts: dict[str, Amount] = {}
    for kind, size, *numbers in found:
        before = amounts.get(kind, Amount(number=0, size=0))
        amounts[kind] = Amount(number=before.number + sum(numbers or [1]), size=before.size + size)
    return dict(sorted(amounts.items()))


def _files(previous: Previous) -> Iterator[tuple[str, int]]:
    """Yield the kind and the bytes of each file of a set."""
    folder, state = previous.folder, previous.state
    current, told = _told(previous)
    for path in (each for each in state.documents if each not in SHARED):
        there = (folder / path).is_file()
        yield _kind(previous, path, current), (folder / path).stat().st_size if there else told.get(path, 0)
    for path in state.superseded:
        if (folder / path).is_file():
            kind = f"superseded {_PACKAGES}" if is_package(path) else "superseded"
            yield kind, (folder / path).stat().st_size
    yield "publication.json", (folder / previous.layout.state).stat().st_size


def _kind(previous: Previous, path: str, current: Mapping[str, int]) -> str:
    """Return the kind of a file; `current` are the packages of the Resource Dump."""
    layout = previous.layout
    if not path.endswith((".zip", MANIFEST)):
        with (previous.folder / path).open("rb") as stream:
            md = read(stream, name=path).md
        archived = "archived " if path.startswith(layout.archive_folder) else ""
        return f"{archived}{(md.capability if md else None) or 'unknown'}"
    package = path if is_package(path) else f"{path.removesuffix(MANIFEST)}.zip"
    of_changes = path.startswith(f"{layout.folder}/{Capability.CHANGEDUMP}-")
    of = Capability.CHANGEDUMP if of_changes else Capability.RESOURCEDUMP
    archived = "" if of_changes or package in current else "archived "
    return f"{archived}{of}{f' {_PACKAGES}' if is_package(path) else '-manifest'}"


def _told(previous: Previous) -> tuple[dict[str, int], dict[str, int]]:
    """Return the lengths of packages stated in documents, by path: for the Resource Dump only, and for all."""
    layout = previous.layout
    current = _lengths(previous, layout.resource_dump)
    told = dict(current)
    for entry in previous.entries(layout.archive(Capability.RESOURCEDUMP)):
        if entry.md and entry.md.at:
            told |= _lengths(previous, layout.archived(Capability.RESOURCEDUMP, entry.md.at))
    told |= {package.path: package.length for dumped in read_dumped(previous) for package in dumped.packages}
    return current, told


def _lengths(previous: Previous, path: str) -> dict[str, int]:
    begin = f"{previous.layout.siteurl}/"
    return {each.loc.removeprefix(begin): (each.md.length if each.md else None) or 0 for each in previous.entries(path)}
