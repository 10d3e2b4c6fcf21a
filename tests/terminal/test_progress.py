"""Progress: somebody at a terminal sees how far it has come, and nobody else sees anything but messages."""

import io
from pathlib import Path

import pytest

from pelican_resourcesync.publication import ChangeHistory, FileResources, PublishRequest, Resource, publish_sets
from pelican_resourcesync.settings import Dumps
from pelican_resourcesync.terminal import Progress
from tests.kit.publications import SITEURL, Source, utc
from tests.kit.screen import Clock, terminal


@pytest.fixture(autouse=True)
def _able_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def test_stages_items_and_bytes() -> None:
    """Nothing in the first second, then what is done, five times a second at most; a stage shows at once."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, "repo-bridge", clock)
        progress.say("reading the repository")
        clock.now += 0.99
        progress.advance(300)
        assert not there.seen()
        clock.now += 0.01
        progress.advance(12_000)
        assert there.seen() == "repo-bridge: reading the repository, 12,300 items read"
        clock.now += 0.1
        progress.advance(1)
        assert not there.seen()
        progress.say("writing \x1b[2Jthe [red]documents\n")
        assert there.seen() == "repo-bridge: writing \\x1b[2Jthe [red]documents\\n"
        progress.packed(1_500_000)
        assert not there.seen()
        clock.now += 0.2
        progress.packed(500_000)
        progress.close()
        assert "documents\\n, 2.0 MB packed" in there.seen()
        progress.close()
        assert not there.seen()


@pytest.mark.parametrize("waits", [0.5, 1.0])
def test_nothing_is_shown_of_nothing(waits: float) -> None:
    """Where it took less than a second, or there is no stage, and nothing was read or packed."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        clock.now += waits
        progress.packed(0 if waits == 1.0 else 5_000_000)
        progress.close()
        assert not there.seen()


def test_it_is_taken_away_when_something_fails() -> None:
    """The cursor is back, and a message does not begin in the middle of a line."""
    message = "the disk is full"
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]

    def fail() -> None:
        with Progress.shown(stream, "repo-bridge") as progress:
            progress._next = 0.0
            progress.packed(20)
            raise OSError(message)

    with pytest.raises(OSError, match=message):
        fail()
    shown, _, after = stream.getvalue().rpartition("20 bytes packed")
    assert "repo-bridge: " in shown
    assert "\033[?25h" in after
    assert after.endswith("\033[2K")


def test_nothing_but_messages_where_it_is_no_terminal() -> None:
    """A log, or a pipe, gets results alone."""
    clock, stream = Clock(), io.StringIO()
    with Progress.shown(stream) as progress:
        progress._clock = clock
        progress._next = 0.0
        progress.say("reading the repository")
        progress.packed(5_000_000)
        progress.message("it is \x1b[2Jdone")
    assert stream.getvalue() == "ResourceSync: it is \\x1b[2Jdone\n"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.1, "0.2 s"), (30, "1 min 10 s"), (60, "2 min 20 s"), (3600, "2 h 20 min")]
)
def test_the_time_that_is_left(seconds: float, said: str) -> None:
    """After three builds it is estimated from these, once; where three are all, there is nothing to wait for."""
    for builds, message in ((10, f"ResourceSync: 7 builds left, which will take about {said}.\n"), (3, "")):
        clock, stream = Clock(), io.StringIO()
        progress = Progress(stream, clock=clock)
        progress.begin(builds)
        clock.now += seconds
        for _ in range(3):
            progress.count()
        progress.begin(2)  # the first and the last commit, a second time
        progress.count()
        progress.close()
        assert stream.getvalue() == message


@pytest.mark.parametrize("dumps", [Dumps(), Dumps(resourcedump=True)])
def test_all_bytes_that_are_packed_are_told(tmp_path: Path, dumps: Dumps) -> None:
    """As they are, before they are deflated; without dumps there are none."""
    source = Source(tmp_path / "output")
    sizes = (0, 10, 3_000_000)
    resources = [Resource(f"{SITEURL}/{size}.bin", source.write(f"{size}.bin", bytes(size))) for size in sizes]
    history = ChangeHistory(built=utc("2024-03-01T12:00"))
    packed: list[int] = []
    publish_sets(
        [
            PublishRequest(
                resources=FileResources(resources),
                history=history,
                boundaries=source.boundaries,
                options=source.options(dumps=dumps),
            )
        ],
        packed.append,
    )
    assert sum(packed) == (sum(sizes) if dumps.resourcedump else 0)
    assert len(packed) > 5 or not dumps.resourcedump
