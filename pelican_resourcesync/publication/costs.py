"""Estimate how many bytes dumps and archives take, from what is published. Values named `most` are upper bounds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pelican_resourcesync.publication.documents.documents import resource_entry
from pelican_resourcesync.publication.dumps.portions import FRAME_SIZE, HEAD_SIZE, PackageLimits, weight
from pelican_resourcesync.publication.model.options import Archives, Dumps
from pelican_resourcesync.publication.previous.previous import Previous
from pelican_resourcesync.publication.sizes import Amount

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


def volume_of(previous: Previous, sizes: Mapping[str, Amount]) -> Volume:
    """Return the volume of a set whose files have these `sizes`."""
    resources = packed = listed = 0
    for uri, each in previous.resources.items():
        weighed = weight(resource_entry(uri, each))
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
