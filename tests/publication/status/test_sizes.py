"""Costs: what settings take in bytes, by hand, and what is called the most holds of real publications."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.dumps.packing import FRAME_SIZE, HEAD_SIZE
from pelican_resourcesync.publication.model import Archives, Dumps
from pelican_resourcesync.publication.status import Cost, SetStatus, Volume, costs_of, local_status
from pelican_resourcesync.publication.status.sizes import most_of_dump
from tests.publication.support import Source

BOTH = Dumps(resourcedump=True, changedump=True)

#: Ten resources of 1,000 bytes each, and documents of sizes that are told apart.
VOLUME = Volume(
    number=10,
    resources=10_000,
    packed=20_000,
    listed=3_000,
    resource_list=4_000,
    change_list=500,
    change_dump=7_000,
    change_package=600,
)

#: What goes with each package: its frame, the head of its manifest, and what the Resource Dump says of it.
PACKAGE = FRAME_SIZE + HEAD_SIZE + 2_000

#: The most that the Resource Dump takes: one package, and the head of the Resource Dump itself.
DUMP = 20_000 + 3_000 + PACKAGE + HEAD_SIZE


def told(source: Source) -> tuple[SetStatus, Volume]:
    """Look at the one set that was published, and measure it."""
    seen = local_status(source.output, volumes=True)
    assert seen
    [found] = seen.sets
    assert found.volume
    return found, found.volume


def bytes_of(source: Source, *begins: str) -> int:
    """Return the bytes of all documents whose paths in the set begin so."""
    begin = tuple(f"resourcesync/site/{each}" for each in begins)
    return sum(len(data) for path, data in source.documents().items() if path.startswith(begin))


def test_what_is_asked_for() -> None:
    """Twelve Resource Dumps take at most twelve times one, and lists for ever grow for ever."""
    archives = Archives(resourcelist=None, resourcedump=12, changelist=24, changedump=3)
    assert costs_of(VOLUME, BOTH, archives) == {
        "dumps.resourcedump": Cost(asked=True, each=DUMP, most=2 * DUMP),
        "dumps.changedump": Cost(asked=True, each=600, most=None),
        "archives.resourcelist": Cost(asked=None, each=4_000, most=None),
        "archives.resourcedump": Cost(asked=12, each=DUMP, most=12 * DUMP),
        "archives.changelist": Cost(asked=24, each=500, most=12_000),
        "archives.changedump": Cost(asked=3, each=7_000, most=21_000),
    }


def test_what_is_off() -> None:
    """Dumps are told as if they were on; archives of what there is not take nothing."""
    costs = costs_of(VOLUME, Dumps(), Archives(resourcedump=12, changedump=None))
    assert costs["dumps.resourcedump"] == Cost(asked=False, each=DUMP, most=2 * DUMP)
    assert costs["dumps.changedump"] == Cost(asked=False, each=600, most=None)
    assert costs["archives.resourcelist"] == Cost(asked=0, each=4_000, most=0)
    assert costs["archives.resourcedump"] == Cost(asked=0, each=DUMP, most=0)
    assert costs["archives.changedump"] == Cost(asked=0, each=7_000, most=0)


def test_a_change_where_none_was_dumped() -> None:
    """It is taken for one of a resource of middling size: a tenth of ten, in a package of its own."""
    few = Volume(number=10, resources=10_000, packed=20_001, listed=3_000, resource_list=4_000)
    assert costs_of(few, BOTH, Archives())["dumps.changedump"].each == 2_301 + FRAME_SIZE + HEAD_SIZE


@pytest.mark.parametrize(
    ("size", "packages"),
    [(100_000_000, 1), (FRAME_SIZE + 20_000, 3), (FRAME_SIZE + 8_000, 6), (1, 10)],
)
def test_packages_at_most(size: int, packages: int) -> None:
    """Two neighbours fill more than one: of 20,000 bytes at 8,000 there are no more than 6, and of 10 resources 10."""
    assert most_of_dump(VOLUME, size) == 23_000 + HEAD_SIZE + packages * PACKAGE


def test_many_entries_are_many_packages() -> None:
    """A package has 50,000 at most: of 100,000 there are no more than 5."""
    many = Volume(number=100_000, resources=0, packed=0, listed=0, resource_list=0)
    assert most_of_dump(many, 10**12) == HEAD_SIZE + 5 * PACKAGE


def test_nothing_takes_no_package() -> None:
    """Of an empty set there is none."""
    nothing = Volume(number=0, resources=0, packed=0, listed=0, resource_list=400)
    assert most_of_dump(nothing, 100_000_000) == HEAD_SIZE
    assert costs_of(nothing, BOTH, Archives())["dumps.changedump"].each == FRAME_SIZE + HEAD_SIZE


@pytest.mark.parametrize("package_size", [100_000_000, 20_000, 1])
@pytest.mark.parametrize("sizes", [[0], [1] * 40, [30_000, 5, 9_999], [700] * 30])
def test_the_most_holds(tmp_path: Path, sizes: list[int], package_size: int) -> None:
    """A Resource Dump of bytes that no method makes less takes no more, and where it is one package, hardly less."""
    random = Random(1)
    contents = {f"{number}.bin": random.randbytes(size) for number, size in enumerate(sizes)}
    source = Source(tmp_path / "output")
    dumps = Dumps(resourcedump=True, package_size=package_size)
    source.publish(contents, "2024-03-01T12:00", dumps=dumps)
    _, volume = told(source)
    assert (volume.number, volume.resources) == (len(sizes), sum(sizes))
    real, most = bytes_of(source, "resourcedump"), most_of_dump(volume, package_size)
    assert real <= most
    if package_size == 100_000_000:
        assert most <= real + 20_000 + 3_000 * len(sizes)


def test_volume_of_what_was_dumped(tmp_path: Path) -> None:
    """What lies there is measured: a Change Dump with its packages, and a package with its manifest, on average."""
    source = Source(tmp_path / "output")
    every: Mapping[str, Any] = {"dumps": BOTH, "archives": Archives()}
    for time, data in [("01-05", b"a"), ("02-05", b"b" * 3_000), ("02-06", b"c"), ("03-06", b"d")]:
        source.publish({"a": data, "b": b"12345"}, f"2024-{time}T12:00", **every)
    _, volume = told(source)
    assert (volume.number, volume.resources) == (2, 6)
    assert volume.resource_list == bytes_of(source, "resourcelist.xml")
    lists = bytes_of(source, "changelist.xml", "changelist-2")
    assert volume.change_list == -(-lists // 3)
    packages = bytes_of(source, "changedump-202402", "changedump-202403") - bytes_of(source, "changedump-20240201")
    packages -= bytes_of(source, "changedump-20240301")
    assert volume.change_package == -(-packages // 3)
    assert volume.change_dump == -(-bytes_of(source, "changedump.xml", "changedump-2") // 2)


def test_what_is_kept_takes_no_more(tmp_path: Path) -> None:
    """Resource Dumps of half a year, two of them archived, with those that are superseded."""
    random = Random(2)
    source = Source(tmp_path / "output")
    archives = Archives(resourcedump=2)
    for month in range(1, 7):
        for day in (5, 6):
            contents = {name: random.randbytes(60_000) for name in "abc"}
            source.publish(contents, f"2024-{month:02}-{day:02}T12:00", dumps=BOTH, archives=archives)
            costs = costs_of(told(source)[1], BOTH, archives)
            most = (costs["dumps.resourcedump"].most or 0) + (costs["archives.resourcedump"].most or 0)
            real = bytes_of(source, "resourcedump-2", "resourcedump.xml", "archive/resourcedump")
            assert real <= most
    assert told(source)[0].overview.archives[Capability.RESOURCEDUMP_ARCHIVE].number == 2
    assert real > 0.85 * most
