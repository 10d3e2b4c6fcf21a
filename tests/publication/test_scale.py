"""Publications of any number of resources take little memory: all that a process of Python has ever had."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pelican_resourcesync.publication.model.listing import Listing
from tests.publication.support import LAYOUT, Source, utc

MEMORY = 64  # MB
CHANGED = 100

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took"
)


def publish(folder: Path, count: int, changed: int, day: int) -> Mapping[str, int]:
    """Publish in a process of its own; give what it says of it."""
    command = [sys.executable, "-m", "tests.publication.large", *map(str, (folder, count, changed, day))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def publish_twice(folder: Path, count: int) -> list[int]:
    """Publish, then with changes, after the listing that was kept; give the MB."""
    made = [publish(folder, count, 0, 1), publish(folder, count, CHANGED, 2)]
    assert [each["resources"] for each in made] == [count] * 2
    assert [each["changes"] for each in made] == [0, CHANGED]
    return [each["memory"] for each in made]


def publish_thrice(folder: Path, count: int) -> list[int]:
    """And once more after the Resource List, as where nothing was kept."""
    before = publish_twice(folder, count)
    (folder / "listing.db").unlink()
    third = publish(folder, count, CHANGED, 3)
    again = sum(number % 3 == 0 for number in range(CHANGED))  # of the others, the hash says that they are the same
    assert (third["resources"], third["changes"]) == (count, CHANGED + again)
    return [*before, third["memory"]]


def look(folder: Path, count: int) -> None:
    """Read what was published, and what was kept of it, by other means."""
    source = Source(folder / "output")
    items = source.resource_list()
    assert len(items) == count
    assert sum("hash" not in item.md for item in items.values()) == len(range(0, count, 3))
    assert sum(str(item.lastmod) > "2024-02" for item in items.values()) == CHANGED
    assert list(Listing.open(folder / "listing.db")) == sorted(items)
    assert source.layout == LAYOUT
    assert source.at() >= utc("2024-02-02T12:00")


def test_twenty_five_thousand_resources(tmp_path: Path) -> None:
    """Under 64 MB in all, and a few more than a thousand resources take: as much as is held of a listing."""
    few = publish_twice(tmp_path / "few", 1_000)
    many = publish_twice(tmp_path / "many", 25_000)
    assert max(many) < MEMORY
    assert max(more - less for more, less in zip(many, few, strict=True)) < 20
    look(tmp_path / "many", 25_000)


@pytest.mark.long
def test_three_hundred_thousand_resources(tmp_path: Path) -> None:
    """Three times as many take no more, but for 4 MB."""
    many = publish_thrice(tmp_path / "many", 100_000)
    more = publish_thrice(tmp_path / "more", 300_000)
    assert max(more) < MEMORY
    assert all(other - one <= 4 for one, other in zip(many, more, strict=True))
    look(tmp_path / "more", 300_000)
