"""All or nothing with dumps and archives on: whatever call fails and wherever the process is killed."""

from pathlib import Path

import pytest

from tests.publication.archivist import walk
from tests.publication.disk.faults import MODES, Mode, Series, coming_in
from tests.publication.disk.test_faults import (
    THIS,
    Ground,
    check_failed,
    fail_each,
    kill_in,
    largest_file,
    publish_disturbed,
)
from tests.publication.support import tree
from tests.publication.unpacking import change_dumps, resource_dump

#: So many calls a publication makes at least.
FEWEST = {"exchange": 700, "ordered": 600, "overlay": 900}

#: Of the calls of one kind, so many are disturbed in the normal run.
EACH = 3


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Give the same ground to all tests: it is only copied."""
    return Ground.prepare(tmp_path_factory.mktemp("ground"), dumps=True)


def chosen(ground: Ground, folder: Path, mode: Mode) -> list[int]:
    """Choose some calls of each kind, from the first to the last."""
    calls = publish_disturbed(ground.copy(folder), mode, 0, 0)[0].calls
    assert len(calls) >= FEWEST[mode]
    numbers: dict[str, list[int]] = {}
    for number, call in enumerate(calls, 1):
        numbers.setdefault(call, []).append(number)
    return sorted({each[number * (len(each) - 1) // EACH] for each in numbers.values() for number in range(EACH + 1)})


def check_whole(series: Series) -> None:
    """Look at every document and into every package."""
    source = series.source
    found = walk(source)
    capabilities = source.capabilities()
    assert len(capabilities) == 8
    assert resource_dump(lambda uri: found[uri], capabilities["resourcedump"])
    assert change_dumps(lambda uri: found[uri], capabilities["changedump"])


def test_the_ground_has_all_there_is(ground: Ground, tmp_path: Path) -> None:
    """What is to be disturbed has all eight capabilities, packages that are carried, and others that go."""
    series = ground.copy(tmp_path / "output")
    check_whole(series)
    before = {path: data for path, data in ground.old.documents.items() if path.endswith(".zip")}
    after = {path: data for path, data in ground.new.documents.items() if path.endswith(".zip")}
    assert before.keys() & after.keys()
    assert before.keys() - after.keys()
    assert after.keys() - before.keys()
    assert all(before[path] == after[path] for path in before.keys() & after.keys())


@pytest.mark.parametrize("mode", ["exchange", "ordered"])
def test_calls_of_each_kind_fail(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """The old publication stays whole, or the next is there, and the next build ends as an undisturbed one."""
    for at in chosen(ground, tmp_path / "output", mode):
        series = ground.copy(tmp_path / "output")
        disturbance, error = publish_disturbed(series, mode, at, at)
        assert len(disturbance.calls) >= at
        check_failed(ground, series, mode, error)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_each_call_fails(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """Each call fails in each of three ways, on each of three kinds of systems."""
    assert fail_each(ground, tmp_path, mode, range(1, 10_000), range(3)) >= FEWEST[mode]


@pytest.mark.parametrize("mode", ["exchange", "ordered"])
def test_killed_in_a_call(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """`kill -9` while packages are written, while they come in, and while old ones go."""
    some = chosen(ground, tmp_path / "output", mode)
    for at in some[:: max(1, len(some) // 6)]:
        assert kill_in(ground, tmp_path, mode, at)
    check_whole(Series(tmp_path / "output", dumps=True))


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_killed_in_each_call(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """`kill -9` in every call."""
    call = 1
    while kill_in(ground, tmp_path, mode, call):
        call += 1
    assert call > FEWEST[mode]


@pytest.mark.parametrize("size", [0, 300, 1_000, 2_000, 3_000])
def test_no_room(ground: Ground, tmp_path: Path, size: int) -> None:
    """The system refuses to write beyond so many bytes of each file; packages are the largest ones."""
    series = ground.copy(tmp_path / "output")
    resources, previous = series.build(THIS), series.source.previous()
    with coming_in("exchange"), largest_file(size), pytest.raises(Exception, match="cannot be written"):
        series.publish(THIS, resources, previous)
    assert series.seen() == ground.old
    ground.finish(series, "exchange")
    assert tree(series.output) == ground.after
