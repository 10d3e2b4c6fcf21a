"""All or nothing: whatever call fails and wherever the process is killed, one publication is there, whole."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import RECORDS, recover
from tests.publication.archivist import walk
from tests.publication.disk.faults import MODES, Disturbance, Mode, Seen, Series, coming_in, disturbed, fail
from tests.publication.support import SITEURL, tree
from tests.publication.unpacking import change_dumps, resource_dump

#: The generation that is disturbed: those before it left closed Change Lists and superseded parts.
THIS = 6

#: What is published with the pages: nothing, all dumps and archives, or files of the set.
KINDS = ("plain", "dumps", "held")

#: So many calls a publication makes at least: every document is opened, written, closed, compared and synchronised.
FEWEST = {
    "plain": {"exchange": 300, "renames": 250, "copies": 400},
    "dumps": {"exchange": 700, "renames": 600, "copies": 900},
    "held": {"exchange": 450, "renames": 500, "copies": 650},
}

#: The normal run disturbs so many calls of each kind, from the first to the last.
EACH = {"plain": 3, "dumps": 1, "held": 1}

#: Processes that are killed at most.
MOST = 200

TWO_MODES = pytest.mark.parametrize("mode", ["exchange", "renames"])
ALL_MODES = pytest.mark.parametrize("mode", MODES)


@dataclass(frozen=True)
class Ground:
    """What to disturb: an output as it was before, and what is to be found in it before and after."""

    kind: str
    output: Path
    old: Seen
    new: Seen
    after: dict[str, object]

    @classmethod
    def prepare(cls, folder: Path, kind: str) -> "Ground":
        """Publish all generations up to the one that is to be disturbed, and that one undisturbed, elsewhere."""
        dumps, held = kind == "dumps", kind == "held"
        series = Series(folder / "before", dumps, held)
        for generation in range(1, THIS):
            series.next(generation)
            if generation == 1:
                series.settle_neighbours()
        undisturbed = Series(folder / "undisturbed", dumps, held)
        shutil.copytree(series.output, undisturbed.output, symlinks=True)
        undisturbed.next(THIS)
        old, new = series.seen(), undisturbed.seen()
        assert old.documents.keys() != new.documents.keys()
        assert old.well_known != new.well_known
        return cls(kind, series.output, old, new, tree(undisturbed.output))

    def copy(self, to: Path) -> Series:
        """Return a copy of the output as it was before."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.output, to, symlinks=True)
        return Series(to, self.kind == "dumps", self.kind == "held")

    def calls(self, folder: Path, mode: Mode) -> list[str]:
        """Return the calls of an undisturbed publication."""
        calls = publish_disturbed(self.copy(folder), mode, 0, 0)[0].calls
        assert len(calls) >= FEWEST[self.kind][mode]
        return calls

    def finish(self, series: Series, mode: Mode) -> None:
        """Let the next build come: then all is as if nothing had been."""
        with coming_in(mode):
            series.next(THIS)
        assert tree(series.output) == self.after


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Ground]:
    """Return the same grounds to all tests: they are only copied."""
    return {kind: Ground.prepare(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(params=KINDS)
def ground(grounds: Mapping[str, Ground], request: pytest.FixtureRequest) -> Ground:
    """Return one ground after the other."""
    return grounds[request.param]


@pytest.fixture
def plain(grounds: Mapping[str, Ground]) -> Ground:
    """Return the one without dumps and files."""
    return grounds["plain"]


def publish_disturbed(series: Series, mode: Mode, at: int, kind: int) -> tuple[Disturbance, PublicationError | None]:
    """Publish with one call failing; the only error that may come of it is one sentence of ours."""
    resources, previous = series.build(THIS), series.source.previous()
    error = None
    with disturbed(series.output, mode, at, fail(kind)) as disturbance:
        try:
            series.publish(THIS, resources, previous)
        except PublicationError as raised:
            error = raised
    assert "\n" not in str(error)
    return disturbance, error


def check_failed(ground: Ground, series: Series, mode: Mode, error: PublicationError | None) -> None:
    """Look at what one failing call has left: where folders are exchanged, nothing needs to be repaired."""
    if error is None:
        assert series.seen() == ground.new
    else:
        if "restores what was published" in str(error):
            assert mode != "exchange"
            recover(series.output)
        assert series.seen() == ground.old
    ground.finish(series, mode)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse to write more than so many bytes into a file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def some_of_each_kind(calls: Sequence[str], count: int) -> list[int]:
    """Choose the numbers of `count` calls of each kind: the last, and others evenly spread from the first on."""
    numbers: dict[str, list[int]] = {}
    for number, call in enumerate(calls, 1):
        numbers.setdefault(call, []).append(number)
    return sorted(
        {each[-1 - at * (len(each) - 1) // max(1, count - 1)] for each in numbers.values() for at in range(count)}
    )


def test_what_is_disturbed(grounds: Mapping[str, Ground], tmp_path: Path) -> None:
    """All eight capabilities; packages that are carried, come and go; files that stay, change, come and go."""
    series = grounds["dumps"].copy(tmp_path / "output")
    check_whole(series)
    for ground, name in ((grounds["dumps"], ".zip"), (grounds["held"], f"{RECORDS}/")):
        old, new = (
            {path: what for path, what in seen.documents.items() if name in path and what}
            for seen in (ground.old, ground.new)
        )
        assert old.keys() - new.keys()
        assert new.keys() - old.keys()
        assert {old[path] == new[path] for path in old.keys() & new.keys()} == {True, *([False] * (name != ".zip"))}
    assert "other/records/0/1.xml" in new


def check_whole(series: Series) -> None:
    """Look at every document and into every package."""
    found = walk(series.source)
    capabilities = series.source.capabilities()
    assert len(capabilities) == 8
    assert resource_dump(found.__getitem__, capabilities["resourcedump"])
    assert change_dumps(found.__getitem__, capabilities["changedump"])


@TWO_MODES
def test_calls_of_each_kind_fail(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """A full disk, no permission, a broken disk in turn: some calls of each kind into the output fail once."""
    for at in some_of_each_kind(ground.calls(tmp_path / "output", mode), EACH[ground.kind]):
        series = ground.copy(tmp_path / "output")
        disturbance, error = publish_disturbed(series, mode, at, at)
        assert len(disturbance.calls) >= at
        check_failed(ground, series, mode, error)


@pytest.mark.long
@ALL_MODES
def test_each_call_fails_in_each_way(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """Each call fails in each of three ways, on each of three kinds of systems."""
    at, calls = 1, FEWEST[ground.kind][mode]
    while at <= calls:
        for error in range(3):
            series = ground.copy(tmp_path / "output")
            disturbance, raised = publish_disturbed(series, mode, at, error)
            check_failed(ground, series, mode, raised)
            calls = max(calls, len(disturbance.calls))
        at += 1


@pytest.mark.parametrize("mode", ["renames", "copies"])
def test_some_calls_of_the_recovery_fail(plain: Ground, tmp_path: Path, mode: Mode) -> None:
    """A build that was killed between its two renames is undone by the next, though that is disturbed too."""
    fail_in_recovery(plain, tmp_path, mode, step=5)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["renames", "copies"])
def test_each_call_of_the_recovery_fails(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """The same for every call."""
    fail_in_recovery(ground, tmp_path, mode, step=1)


def fail_in_recovery(ground: Ground, folder: Path, mode: Mode, step: int) -> None:
    """Let every so many-th call of a recovery fail."""
    begun = stop_between_renames(ground, folder / "begun", mode)
    series = replace(begun, output=folder / "output")
    for at in range(1, 5000, step):
        shutil.rmtree(series.output, ignore_errors=True)
        shutil.copytree(begun.output, series.output, symlinks=True)
        with disturbed(series.output, mode, at, fail(at)) as disturbance:
            try:
                recover(series.output)
            except PublicationError as error:
                assert "cannot be recovered" in str(error)  # noqa: PT017 - it may be raised or not
        if len(disturbance.calls) < at:
            break
        recover(series.output)
        assert series.seen() == ground.old
    assert len(disturbance.calls) >= 40
    ground.finish(series, mode)


def stop_between_renames(ground: Ground, to: Path, mode: Mode) -> Series:
    """Return an output whose documents were moved away when the process was killed."""
    calls = ground.calls(to, mode)
    for number in (number for number, call in enumerate(calls, 1) if call == "os.rename"):
        series = ground.copy(to)
        with start(series, mode, THIS, number) as process:
            pass
        assert process.returncode == -signal.SIGKILL
        if not (series.output / "resourcesync").exists():
            return series
    pytest.fail("nothing was moved away")


@TWO_MODES
def test_no_room(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """The system itself refuses to write beyond so many bytes of each file, however small the part that fits."""
    outcomes = set()
    for size in (0, 1100, 100_000):
        series = ground.copy(tmp_path / "output")
        resources, previous = series.build(THIS), series.source.previous()
        error = None
        with coming_in(mode), largest_file(size):
            try:
                series.publish(THIS, resources, previous)
            except PublicationError as raised:
                error = raised
        outcomes.add(error is None)
        check_failed(ground, series, mode, error)
    assert outcomes == {True, False}


def start(series: Series, mode: Mode, generation: int, call: int) -> "subprocess.Popen[str]":
    """Publish in another process, which is to be killed."""
    kinds = [kind for kind in KINDS if getattr(series, kind, False)]
    what = [str(series.output), mode, str(generation), str(call), *kinds]
    command = [sys.executable, "-m", "tests.publication.disk.faults", *what]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def kill_in(ground: Ground, folder: Path, mode: Mode, call: int) -> bool:
    """Kill a build in one call, and look at what is left; tell whether it came to that call."""
    series = ground.copy(folder / "output")
    with start(series, mode, THIS, call) as process:
        pass
    if process.returncode == 0:
        assert series.seen() == ground.new
        return False
    assert process.returncode == -signal.SIGKILL
    if mode == "exchange":
        seen = series.seen()
        assert seen in (ground.old, ground.new, Seen(ground.new.documents, ground.old.well_known))
    recover(series.output)
    assert series.seen() in (ground.old, ground.new)
    ground.finish(series, mode)
    return True


@TWO_MODES
def test_killed_in_a_call(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """`kill -9` in some calls that move or remove something, and in one while all is written."""
    calls = ground.calls(tmp_path / "output", mode)
    late = [number for number, call in enumerate(calls, 1) if call in ("exchange", "os.rename", "os.link", "os.remove")]
    chosen = [len(calls) // 4, *late[:: len(late) // 2]]
    assert len(chosen) >= 3
    assert all(kill_in(ground, tmp_path, mode, call) for call in chosen)
    if ground.kind == "dumps":
        check_whole(Series(tmp_path / "output", dumps=True))


@pytest.mark.long
@ALL_MODES
def test_killed_in_each_call(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """`kill -9` in every call."""
    call = 1
    while kill_in(ground, tmp_path, mode, call):
        call += 1
    assert call > FEWEST[ground.kind][mode]


class Timeline:
    """What is to be found after each generation that was published undisturbed."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        """Begin where the ground ends."""
        self._series = ground.copy(folder)
        self._seen = {THIS - 1: ground.old}

    def at(self, generation: int) -> Seen:
        """Return what is to be found after a generation."""
        while max(self._seen) < generation:
            self._series.next(max(self._seen) + 1)
            self._seen[max(self._seen) + 1] = self._series.seen()
        return self._seen[generation]


def kill_at_random(series: Series, mode: Mode, timeline: Timeline) -> int:
    """Kill a process that publishes again and again, look at what is left; give the generation that was there."""
    with start(series, mode, THIS, 0) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0, 0.5))
        process.kill()
    if mode == "exchange":
        generation, seen = series.generation(), series.seen()
        late = Seen(timeline.at(generation).documents, timeline.at(max(THIS, generation) - 1).well_known)
        assert seen in (timeline.at(generation), late)
    recover(series.output)
    generation = series.generation()
    assert series.seen() == timeline.at(generation)
    with coming_in(mode):
        series.next(generation + 1)
    assert series.seen() == timeline.at(generation + 1)
    assert not list(series.output.glob(".resourcesync-*"))
    return generation


def kill_often(ground: Ground, folder: Path, mode: Mode, times: int) -> None:
    """Kill so many processes, and on a slow machine more, until one has published something."""
    timeline = Timeline(ground, folder / "timeline")
    generations = {kill_at_random(ground.copy(folder / "output"), mode, timeline) for _ in range(times)}
    while len(generations) == 1 and times < MOST:
        generations.add(kill_at_random(ground.copy(folder / "output"), mode, timeline))
        times += 1
    assert len(generations) > 1


@TWO_MODES
def test_killed_at_random(plain: Ground, tmp_path: Path, mode: Mode) -> None:
    """`kill -9` at any moment of a series of builds."""
    kill_often(plain, tmp_path, mode, 4)


@pytest.mark.long
@ALL_MODES
def test_killed_at_many_random_moments(ground: Ground, tmp_path: Path, mode: Mode) -> None:
    """`kill -9` at a hundred moments."""
    kill_often(ground, tmp_path, mode, 100)


class Reader(threading.Thread):
    """Follows all links from where Destinations enter, again and again, and notes those that lead nowhere."""

    def __init__(self, series: Series, pause: float) -> None:
        """Take what to read, and how long to wait between documents, in seconds."""
        super().__init__()
        self._series = series
        self._pause = pause
        self.walks = self.crossed = self.documents = 0
        self.faults: list[str] = []
        self.stop = threading.Event()

    def run(self) -> None:
        """Read until all is done, or something is wrong."""
        while not self.stop.is_set() and not self.faults:
            try:
                before = self._series.generation()
                for entrance in (".well-known/resourcesync", "resourcesync/description.xml"):
                    self._follow(f"{SITEURL}/{entrance}", set())
                self.crossed += self._series.generation() != before
            except (OSError, ValueError, SyntaxError, AssertionError) as error:
                self.faults.append(repr(error))
            self.walks += 1

    def _follow(self, uri: str, read: set[str]) -> None:
        read.add(uri)
        self.documents += 1
        document = self._series.source.document(uri)
        time.sleep(self._pause)
        for each in (*(item.uri for item in document.entries), *document.links.values()):
            if each.startswith(f"{SITEURL}/resourcesync/") and each not in read:
                self._follow(each, read)


def publish_before(readers: Sequence[Reader], series: Series, generations: range) -> None:
    """Publish generations while others read, each walk of whom sees at most one of them come in.

    What a generation no longer has stays for one more: that is the promise to those who are under way.
    """
    for generation in generations:
        walks = [reader.walks for reader in readers]
        while any(reader.walks == walked and reader.is_alive() for reader, walked in zip(readers, walks, strict=True)):
            time.sleep(0.001)
        series.next(generation)


def read_while_publishing(ground: Ground, folder: Path, publications: int) -> None:
    """Publish so many times, with two readers, a quick and a slow one."""
    series = ground.copy(folder / "output")
    readers = [Reader(series, 0), Reader(series, 0.002)]
    for reader in readers:
        reader.start()
    try:
        publish_before(readers, series, range(THIS, THIS + publications))
    finally:
        for reader in readers:
            reader.stop.set()
            reader.join()
    assert [reader.faults for reader in readers] == [[], []]
    assert series.generation() == THIS + publications - 1
    assert readers[1].crossed >= publications // 2
    assert sum(reader.documents for reader in readers) > publications * 20


def test_readers_meet_no_dangling_link(plain: Ground, tmp_path: Path) -> None:
    """Who follows links meanwhile finds every document, well-formed."""
    read_while_publishing(plain, tmp_path, 20)


@pytest.mark.long
def test_readers_of_many_publications(plain: Ground, tmp_path: Path) -> None:
    """The same for longer."""
    read_while_publishing(plain, tmp_path, 200)
