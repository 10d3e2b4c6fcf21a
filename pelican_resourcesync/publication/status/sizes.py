"""The number and bytes of a publication's files by kind, and estimates of what dumps and archives cost."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.protocol import Capability, read
from pelican_resourcesync.publication.documents.documents import resource_entry
from pelican_resourcesync.publication.dumps.changedump import read_dumped
from pelican_resourcesync.publication.dumps.packing import FRAME_SIZE, HEAD_SIZE, PackageLimits, size_in_package
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE, MANIFEST, SHARED, is_package
from pelican_resourcesync.publication.model.options import Archives, Dumps
from pelican_resourcesync.publication.pages import Amount
from pelican_resourcesync.publication.previous.previous import PreviousPublication

_PACKAGES = "packages"


def sizes_of(previous: PreviousPublication) -> dict[str, Amount]:
    """Return the number and bytes of the files of a set, by kind.

    The kind of a document is its capability, with the prefix `archived` for archived documents, including the packages
    and manifests of archived Resource Dumps. The kind of a package is the capability of the document that links to it,
    followed by `packages`. Files kept only for readers of the previous generation are `superseded`. Packages that are
    not in the folder count with the length stated in the documents.
    """
    return _counted(_files(previous))


def shared_sizes(folder: Path) -> dict[str, Amount]:
    """Return the number and bytes of the files that the sets in a folder share."""
    kinds = {"description": folder / DESCRIPTION, "page for people": folder / HTML_PAGE}
    return _counted((kind, file.stat().st_size) for kind, file in kinds.items() if file.is_file())


def summed(parts: Iterable[Mapping[str, Amount]]) -> dict[str, Amount]:
    """Return the totals of several results."""
    return _counted((kind, each.size, each.number) for part in parts for kind, each in part.items())


def _counted(found: Iterable[tuple[str, int] | tuple[str, int, int]]) -> dict[str, Amount]:
    amounts: dict[str, Amount] = {}
    for kind, size, *numbers in found:
        before = amounts.get(kind, Amount(number=0, size=0))
        amounts[kind] = Amount(number=before.number + sum(numbers or [1]), size=before.size + size)
    return dict(sorted(amounts.items()))


def _files(previous: PreviousPublication) -> Iterator[tuple[str, int]]:
    """Yield the kind and the bytes of each file of a set."""
    folder, state = previous.folder, previous.state
    current, stated = _stated_lengths(previous)
    for path in (each for each in state.documents if each not in SHARED):
        there = (folder / path).is_file()
        yield _kind(previous, path, current), (folder / path).stat().st_size if there else stated.get(path, 0)
    for path in state.superseded:
        if (folder / path).is_file():
            kind = f"superseded {_PACKAGES}" if is_package(path) else "superseded"
            yield kind, (folder / path).stat().st_size
    for path in (previous.layout.html_page, previous.layout.badge):
        if (folder / path).is_file():
            yield "page for people", (folder / path).stat().st_size
    yield "publication.json", (folder / previous.layout.state).stat().st_size


def _kind(previous: PreviousPublication, path: str, current: Mapping[str, int]) -> str:
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


def _stated_lengths(previous: PreviousPublication) -> tuple[dict[str, int], dict[str, int]]:
    """Return the lengths of packages stated in documents, by path: for the Resource Dump only, and for all."""
    layout = previous.layout
    current = _lengths(previous, layout.resource_dump)
    stated = dict(current)
    for entry in previous.entries(layout.archive(Capability.RESOURCEDUMP)):
        if entry.md and entry.md.at:
            stated |= _lengths(previous, layout.archived(Capability.RESOURCEDUMP, entry.md.at))
    stated |= {package.path: package.length for dumped in read_dumped(previous) for package in dumped.packages}
    return current, stated


def _lengths(previous: PreviousPublication, path: str) -> dict[str, int]:
    begin = f"{previous.layout.siteurl}/"
    return {each.loc.removeprefix(begin): (each.md.length if each.md else None) or 0 for each in previous.entries(path)}


#: The most bytes of a Resource Dump's entry for one package, if `SITEURL` has at most a few hundred characters.
_POINTER = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """The size of a set in bytes, from which costs are estimated.

    - `number`: the number of resources.
    - `resources`: their bytes.
    - `packed`: the most bytes that they take in packages.
    - `listed`: the most bytes that they take in the manifests of these packages.
    - `resource_list`: the Resource List with its parts.
    - `change_list`: an average Change List.
    - `change_dump`: an average Change Dump with its packages and their manifests.
    - `change_package`: an average package of changes with its manifest.

    The last three are 0 if there is none.
    """

    number: int
    resources: int
    packed: int
    listed: int
    resource_list: int
    change_list: int = 0
    change_dump: int = 0
    change_package: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a setting in bytes: the value `asked` for, the bytes added `each` time, and the `most` bytes stored.

    "Each time" is a publication in which a resource changes or, for archives, a range that closes. `most` is `None` for
    anything that grows without limit.
    """

    asked: bool | int | None
    each: int
    most: int | None


def volume_of(previous: PreviousPublication, sizes: Mapping[str, Amount]) -> Volume:
    """Return the volume of a set whose files have these `sizes`."""
    resources = packed = listed = 0
    for uri, each in previous.resources.items():
        weighed = size_in_package(resource_entry(uri, each))
        resources += each.representation.length or 0
        packed += weighed.size
        listed += weighed.manifest
    packages = [sizes[kind] for kind in ("changedump packages", "changedump-manifest") if kind in sizes]
    documents = [sizes[kind] for kind in ("changedump",) if kind in sizes]
    lists = sizes.get("changelist")
    return Volume(
        number=len(previous.resources),
        resources=resources,
        packed=packed,
        listed=listed,
        resource_list=_bytes([sizes[kind] for kind in ("resourcelist",) if kind in sizes]),
        change_list=_mean(lists.size, lists.number - 1) if lists else 0,
        change_dump=_mean(_bytes([*packages, *documents]), documents[0].number - 1) if documents else 0,
        change_package=_mean(_bytes(packages), packages[0].number) if packages else 0,
    )


def costs_of(volume: Volume, dumps: Dumps, archives: Archives) -> dict[str, Cost]:
    """Estimate what the settings `dumps` and `archives` cost for a set, by the name of each setting.

    Dumps that are off are estimated as if they were on. Archives of dumps that are off cost nothing.
    """
    dump = most_of_dump(volume, dumps.package_size)
    one = _mean(volume.packed + volume.listed, volume.number) + FRAME_SIZE + HEAD_SIZE
    kept = archives.resourcedump if dumps.resourcedump else 0
    return {
        "dumps.resourcedump": Cost(asked=dumps.resourcedump, each=dump, most=2 * dump),
        "dumps.changedump": Cost(asked=dumps.changedump, each=volume.change_package or one, most=None),
        "archives.resourcelist": _archived(archives.resourcelist, volume.resource_list),
        "archives.resourcedump": _archived(kept, dump),
        "archives.changelist": _archived(archives.changelist, volume.change_list),
        "archives.changedump": _archived(archives.changedump if dumps.changedump else 0, volume.change_dump),
    }


def most_of_dump(volume: Volume, package_size: int) -> int:
    """Return the most bytes that a Resource Dump of a set takes, with its packages and their manifests.

    Two consecutive packages together hold more than the limit of one; otherwise they would be one package.
    """
    limits = PackageLimits(size=package_size)
    fulls = (
        volume.packed / max(1, limits.size - FRAME_SIZE),
        volume.number / limits.entries,
        volume.listed / (limits.manifest - HEAD_SIZE),
    )
    packages = min(volume.number, 1 + int(2 * sum(fulls)))
    return volume.packed + volume.listed + HEAD_SIZE + packages * (FRAME_SIZE + HEAD_SIZE + _POINTER)


def _archived(number: int | None, each: int) -> Cost:
    return Cost(asked=number, each=each, most=None if number is None else number * each)


def _bytes(amounts: Iterable[Amount]) -> int:
    return sum(each.size for each in amounts)


def _mean(size: int, number: int) -> int:
    """Return the average of `size` over `number`, in whole bytes, rounded up."""
    return -(-size // number) if number > 0 else size
