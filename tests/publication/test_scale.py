"""Publications of any number of resources take little memory: all that a process of Python has ever had."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.kit.publications import LAYOUT, Source, utc
from tests.kit.work import Work, counted
from tests.tools.bench import publication

MEMORY = 64  # MB
CHANGED = 100

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took"
)


def publish(folder: Path, count: int, changed: int, day: int) -> Mapping[str, int]:
    """Publish in a process of its own; give what it says of it."""
    command = [sys.executable, "-m", "tests.tools.large.publication", *map(str, (folder, count, changed, day))]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
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


# --- What a next publication may cost, by counted work: `make bench` measures time


def next_publication(folder: Path, resources: int, lists: int) -> Work:
    """Publish, again with changes, and return the work of the second time."""
    first = folder / f"{resources}-{lists}"
    publication.first(str(first), str(resources), str(lists))
    with counted() as work:
        publication.following(str(first), str(resources))
    return work


def test_calls_for_each_resource(tmp_path: Path) -> None:
    """Resources are handled together, so that few functions are called for each: 31 and the 7 that make it."""
    next_publication(tmp_path, 10, 1)
    few, many = (next_publication(tmp_path, count, 1).calls for count in (1_000, 2_000))
    assert (many - few) / 1_000 < 50


def test_work_for_each_kept_list(tmp_path: Path) -> None:
    """A Change List that is kept is opened five times, and never written again: 1,500 calls, its page included."""
    next_publication(tmp_path, 10, 1)
    few, many = (next_publication(tmp_path, 100, count) for count in (10, 30))
    assert (many.calls - few.calls) / 20 < 1_650
    assert _opened(many) - _opened(few) <= 5 * 20
    assert many.flushed == few.flushed


def test_nothing_is_flushed_where_nothing_changed(tmp_path: Path) -> None:
    """A publication that is as the last one writes nothing into the output that must be flushed."""
    publication.first(str(tmp_path / "one"), "100", "10")
    publication.following(str(tmp_path / "one"), "100")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with counted() as work:
        publication.following(str(tmp_path / "two"), "100")
    assert work.flushed == 0


def _opened(work: Work) -> int:
    return sum(count for path, count in work.opened.items() if path.name.startswith("changelist-20200"))
