"""What a next publication may cost, by counted work: `make bench` measures time."""

import shutil
from pathlib import Path

from tests.kit.work import Work, counted
from tests.tools.bench import publication


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
