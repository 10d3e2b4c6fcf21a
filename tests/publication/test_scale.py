"""Publications of any number of resources take little memory: all that a process of Python has ever had."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.kit.publications import LAYOUT, Source, utc

MEMORY = 64  # MB
CHANGED = 100

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took"
)


def publish(folder: Path, count: int, changed: int, day: int) -> Mapping[str, int]:
    """Publish in a process of its own; give what it says of it."""
    command = [sys.executable, "-m", "tests.tools.large.publication", *map(str, (folder, count, changed, day))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def publish_twice(folder: Path, count: int) -> list[int]:
    """Publish, then with changes; give the MB."""
    made = [publish(folder, count, 0, 1), publish(folder, count, CHANGED, 2)]
    assert [each["resources"] for each in made] == [count] * 2
    assert [each["changes"] for each in made] == [0, CHANGED]
    return [each["memory"] for each in made]


def look(folder: Path, count: int) -> None:
    """Read what was published, and what was kept of it, by other means."""
    source = Source(folder / "output")
    items = source.resource_list()
    assert len(items) == count
    assert sum("hash" not in item.md for item in items.values()) == len(range(0, count, 3))
    assert sum(str(item.lastmod) > "2024-02" for item in items.values()) == CHANGED
    assert [*items] == sorted(items)
    assert source.layout == LAYOUT
    assert source.at() >= utc("2024-02-02T12:00")


def test_twenty_five_thousand_resources(tmp_path: Path) -> None:
    """Under 64 MB in all: some thousands of the resources are in memory, not all."""
    few = publish_twice(tmp_path / "few", 1_000)
    many = publish_twice(tmp_path / "many", 25_000)
    assert max(many) < MEMORY
    assert max(more - less for more, less in zip(many, few, strict=True)) < 12
    look(tmp_path / "many", 25_000)


@pytest.mark.long
def test_three_hundred_thousand_resources(tmp_path: Path) -> None:
    """Three times as many take no more, but for 4 MB."""
    many = publish_twice(tmp_path / "many", 100_000)
    more = publish_twice(tmp_path / "more", 300_000)
    assert max(more) < MEMORY
    assert all(other - one <= 4 for one, other in zip(many, more, strict=True))
    look(tmp_path / "more", 300_000)
