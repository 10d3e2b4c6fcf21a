"""Progress: somebody at a terminal sees how far it has come, and nobody else sees anything."""

import io
import sys
from pathlib import Path
from typing import TextIO

import pytest

from pelican_resourcesync.publication import ChangeHistory, Dumps, FileResources, Request, Resource, publish_sets
from pelican_resourcesync.terminal.progress import Progress
from tests.publication.support import SITEURL, Source, utc
from tests.terminal.screen import CLEAR, Clock, terminal


def test_what_is_done_in_a_second_is_not_shown() -> None:
    """Nobody reads it, and nothing is to be taken away."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        clock.now += 0.99
        progress.say("reading the repository")
        progress.passed(5_000)
        progress.packed(5_000_000)
        progress.close()
        assert not there.seen()


def test_it_is_shown_after_a_second_and_renewed() -> None:
    """All that was packed, five times a second at most, each in place of the one before; in the end it is gone."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        progress.packed(400_000)
        clock.now += 1.0
        progress.packed(600_000)
        assert there.seen() == f"{CLEAR}ResourceSync: 1.0 MB packed"
        clock.now += 0.19
        progress.packed(1)
        assert not there.seen()
        clock.now += 0.01
        progress.packed(999_999)
        assert there.seen() == f"{CLEAR}ResourceSync: 2.0 MB packed"
        progress.close()
        assert there.seen() == CLEAR
        progress.close()
        assert not there.seen()


def test_stages_and_items() -> None:
    """The stage, with all that was read in it; each stage begins with nothing, and at once, because it may be long."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, "repo-bridge", clock)
        progress.say("reading the repository")
        progress.passed(300)
        clock.now += 1.0
        progress.passed(12_000)
        assert there.seen() == f"{CLEAR}repo-bridge: reading the repository, 12,300 items read"
        clock.now += 0.1
        progress.passed(1)
        assert not there.seen()
        progress.say("writing the documents")
        assert there.seen() == f"{CLEAR}repo-bridge: writing the documents"
        progress.packed(1_500_000)
        assert not there.seen()
        clock.now += 0.2
        progress.packed(500_000)
        assert there.seen() == f"{CLEAR}repo-bridge: writing the documents, 2.0 MB packed"
        clock.now += 0.2
        progress.passed(1)
        assert there.seen() == f"{CLEAR}repo-bridge: writing the documents, 1 item read, 2.0 MB packed"
        progress.close()
        assert there.seen() == CLEAR


def test_a_stage_that_began_early_is_still_said() -> None:
    """Once there is something to renew, after the first second."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        progress.say("reading the repository")
        clock.now += 1.0
        assert not there.seen()
        progress.passed(0)
        assert there.seen() == f"{CLEAR}ResourceSync: reading the repository"


def test_nothing_is_shown_of_nothing() -> None:
    """Where there is no stage, and nothing was read or packed."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        clock.now += 1.0
        progress.packed(0)
        progress.close()
        assert not there.seen()


def test_a_stage_is_no_command_to_a_terminal() -> None:
    """It may name what is somebody else's."""
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        clock.now += 1.0
        progress.say("reading \x1b[2Jtheses\n")
        assert there.seen() == f"{CLEAR}ResourceSync: reading \\x1b[2Jtheses\\n"


def test_it_is_taken_away_when_something_fails() -> None:
    """A message is not to begin in the middle of a line."""
    message = "the disk is full"

    def fail(stream: TextIO) -> None:
        with Progress.shown(stream, "repo-bridge") as progress:
            progress._next = 0.0
            progress.packed(20)
            raise OSError(message)

    with terminal() as there:
        with pytest.raises(OSError, match=message):
            fail(there.stream)
        assert there.seen() == f"{CLEAR}repo-bridge: 20 bytes packed{CLEAR}"


def test_nothing_is_written_where_it_is_no_terminal(tmp_path: Path) -> None:
    """A log, or a pipe, gets results alone."""
    clock = Clock()
    streams: list[TextIO] = [io.StringIO(), (tmp_path / "log").open("w+", encoding="utf-8")]
    for stream in streams:
        with stream:
            progress = Progress(stream, clock=clock)
            clock.now += 10.0
            progress.say("reading the repository")
            progress.passed(5_000_000)
            progress.packed(5_000_000)
            progress.close()
            stream.seek(0)
            assert not stream.read()


@pytest.mark.parametrize("dumps", [Dumps(), Dumps(resourcedump=True)])
def test_all_bytes_that_are_packed_are_told(tmp_path: Path, dumps: Dumps) -> None:
    """As they are, before they are deflated; without dumps there are none."""
    source = Source(tmp_path / "output")
    sizes = (0, 10, 3_000_000)
    resources = [Resource(f"{SITEURL}/{size}.bin", source.write(f"{size}.bin", bytes(size))) for size in sizes]
    clock = Clock()
    with terminal() as there:
        progress = Progress(there.stream, clock=clock)
        clock.now += 1.0
        told = ChangeHistory(built=utc("2024-03-01T12:00"))
        request = Request(
            resources=FileResources(resources), told=told, cuts=source.cuts, options=source.options(dumps=dumps)
        )

        def packed(more: int) -> None:
            clock.now += 0.3
            progress.packed(more)

        publish_sets([request], packed)
        shown = there.seen().split(CLEAR)
    assert shown[-1] == ("ResourceSync: 3.0 MB packed" if dumps.resourcedump else "")
    assert len(shown) > 5 or not dumps.resourcedump


def test_a_build_in_a_pipe_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what the plug-in hands over: standard error."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress.shown(sys.stderr) as progress:
        progress._next = 0.0
        progress.packed(1)
    assert not stream.getvalue()
