"""Packing: somebody at a terminal sees how far it has come, and nobody else sees anything."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pytest

from pelican_resourcesync.publication.options import Dumps
from pelican_resourcesync.publication.publish import publish
from pelican_resourcesync.publication.request import Request
from pelican_resourcesync.publication.resource import Resource
from pelican_resourcesync.publication.told import Told
from pelican_resourcesync.site.packing import Packing
from tests.publication.support import SITEURL, Source, utc

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

CLEAR = "\r\033[K"


@dataclass
class Clock:
    """A clock that only the test moves."""

    now: float = 100.0

    def __call__(self) -> float:
        """Give the time."""
        return self.now


@dataclass
class Terminal:
    """A pseudo-terminal: what is written to `stream`, somebody sees."""

    stream: TextIO
    master: int

    def seen(self) -> str:
        """Give what has come since the last time."""
        self.stream.flush()
        os.set_blocking(self.master, False)
        try:
            return os.read(self.master, 65_536).decode()
        except BlockingIOError:
            return ""


@contextmanager
def terminal() -> Iterator[Terminal]:
    """Give a terminal."""
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as stream:
            assert stream.isatty()
            yield Terminal(stream, master)
    finally:
        os.close(master)


def test_what_is_done_in_a_second_is_not_shown() -> None:
    """Nobody reads it, and nothing is to be taken away."""
    clock = Clock()
    with terminal() as there:
        packing = Packing(there.stream, clock)
        clock.now += 0.99
        packing.passed(5_000_000)
        packing.close()
        assert not there.seen()


def test_it_is_shown_after_a_second_and_renewed() -> None:
    """All that was packed, five times a second at most, each in place of the one before; in the end it is gone."""
    clock = Clock()
    with terminal() as there:
        packing = Packing(there.stream, clock)
        packing.passed(400_000)
        clock.now += 1.0
        packing.passed(600_000)
        assert there.seen() == f"{CLEAR}ResourceSync: 1.0 MB packed"
        clock.now += 0.19
        packing.passed(1)
        assert not there.seen()
        clock.now += 0.01
        packing.passed(999_999)
        assert there.seen() == f"{CLEAR}ResourceSync: 2.0 MB packed"
        packing.close()
        assert there.seen() == CLEAR


def test_it_is_taken_away_when_something_fails() -> None:
    """A message is not to begin in the middle of a line."""
    message = "the disk is full"

    def fail(stream: TextIO) -> None:
        with Packing.shown(stream) as packing:
            packing._next = 0.0
            packing.passed(20)
            raise OSError(message)

    with terminal() as there:
        with pytest.raises(OSError, match=message):
            fail(there.stream)
        assert there.seen() == f"{CLEAR}ResourceSync: 20 bytes packed{CLEAR}"


def test_nothing_is_written_where_it_is_no_terminal(tmp_path: Path) -> None:
    """A log, or a pipe, gets results alone."""
    clock = Clock()
    streams: list[TextIO] = [io.StringIO(), (tmp_path / "log").open("w+", encoding="utf-8")]
    for stream in streams:
        with stream:
            packing = Packing(stream, clock)
            clock.now += 10.0
            packing.passed(5_000_000)
            packing.close()
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
        packing = Packing(there.stream, clock)
        clock.now += 1.0
        told = Told(built=utc("2024-03-01T12:00"))
        request = Request(resources=resources, told=told, cuts=source.cuts, options=source.options(dumps=dumps))

        def passed(more: int) -> None:
            clock.now += 0.3
            packing.passed(more)

        publish([request], passed)
        shown = there.seen().split(CLEAR)
    assert shown[-1] == ("ResourceSync: 3.0 MB packed" if dumps.resourcedump else "")
    assert len(shown) > 5 or not dumps.resourcedump


def test_a_build_in_a_pipe_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what the plug-in hands over: standard error."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Packing.shown(sys.stderr) as packing:
        packing._next = 0.0
        packing.passed(1)
    assert not stream.getvalue()
