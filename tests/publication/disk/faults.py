"""Disturbing publications: any call into the file system made to fail, or the process killed in it.

As a program, `python -m tests.publication.disk.faults OUTPUT MODE GENERATION CALL [dumps] [held]` publishes a
generation and kills itself in that call; where CALL is 0, it publishes one generation after another until it is killed.
"""

import ctypes
import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self
from unittest import mock

from pelican_resourcesync import exchange
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import TEMPORARY_PREFIX, PreviousPublication, recover
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model import RECORDS, Archives, Calendar, ChangeHistory, Dumps, Resource
from tests.publication.support import SITEURL, Source, publish_one, tree, utc

#: How folders come in: exchanged; by two renames, because nothing can be exchanged; or copied, because they cannot be
#: renamed either, as in a lower layer of a container, or where `resourcesync` is a link to another file system.
Mode = Literal["exchange", "renames", "copies"]
MODES: tuple[Mode, ...] = ("exchange", "renames", "copies")

#: Calls that Python announces before it makes them, and how many of their arguments are paths.
_EVENTS = {
    "open": 1,
    "os.rename": 2,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.listdir": 1,
    "os.scandir": 1,
    "os.link": 2,
    "os.symlink": 2,
    "os.chmod": 1,
    "os.chown": 1,
    "os.utime": 1,
    "os.truncate": 1,
    "shutil.copyfile": 2,
    "shutil.copymode": 2,
    "shutil.copystat": 2,
    "shutil.rmtree": 1,
    "tempfile.mkdtemp": 1,
    "tempfile.mkstemp": 1,
}

#: Where files are made ready to be published with a set, in the output.
READY = Path(".resourcesync-held", RECORDS)

_ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)


@dataclass
class Disturbance:
    """Counts the calls into a folder, and does something at the call of that number, from 1."""

    folder: Path
    at: int
    act: Callable[[], None]
    calls: list[str] = field(default_factory=list)

    def step(self, name: str, *paths: object) -> None:
        """Take note of a call; those with other paths do not count, those with a name alone do (`dir_fd`)."""
        if all(self._inside(path) for path in paths):
            self.calls.append(name)
            if len(self.calls) == self.at:
                self.act()

    def _inside(self, path: object) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        text = os.fsdecode(path)
        return not Path(text).is_absolute() or text.startswith(str(self.folder))


_current: list[Disturbance] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _current and event in _EVENTS:
        _current[0].step(event, *arguments[: _EVENTS[event]])


sys.addaudithook(_hook)  # for good: it does nothing while nothing is to be disturbed


def fail(number: int) -> Callable[[], None]:
    """Return what makes a call fail; the number chooses the error."""

    def act() -> None:
        error = _ERRORS[number % len(_ERRORS)]
        raise OSError(error, f"{os.strerror(error)} (injected)")

    return act


def kill() -> None:
    """Kill this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


class _Stream:
    """A file to write to, whose every write and close counts as a call."""

    def __init__(self, stream: BinaryIO, disturbance: Disturbance) -> None:
        self._stream = stream
        self._disturbance = disturbance

    def write(self, data: bytes) -> int:
        self._disturbance.step("write")
        return self._stream.write(data)

    def close(self) -> None:
        self._stream.close()
        self._disturbance.step("close")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # to seek, tell and flush is no call of its own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_what: object) -> None:
        self.close()


@contextmanager
def disturbed(folder: Path, mode: Mode, at: int, act: Callable[[], None]) -> Iterator[Disturbance]:
    """Do `act` at the call of number `at` into `folder`, of which some come in by this `mode`."""
    disturbance = Disturbance(folder, at, act)
    with ExitStack() as stack:
        stack.enter_context(coming_in(mode, disturbance))
        opened, synced = Stage.open, os.fsync
        stack.enter_context(
            mock.patch.object(Stage, "open", lambda stage, path: _Stream(opened(stage, path), disturbance))
        )
        stack.enter_context(mock.patch.object(os, "fsync", _counted(synced, disturbance, "fsync")))
        for name in ("stat", "lstat"):
            stack.enter_context(mock.patch.object(os, name, _counted(getattr(os, name), disturbance, name)))
        stack.callback(_current.clear)
        _current.append(disturbance)
        yield disturbance


def _counted(call: Callable[..., Any], disturbance: Disturbance, name: str) -> Callable[..., Any]:
    def counted(path: object, *arguments: Any, **named: Any) -> Any:
        if _current:
            disturbance.step(name, *(() if isinstance(path, int) else (path,)))
        return call(path, *arguments, **named)

    return counted


@contextmanager
def coming_in(mode: Mode, disturbance: Disturbance | None = None) -> Iterator[None]:
    """Let folders come in by this mode; each exchange counts as a call."""
    real, rename = exchange._system_call(), os.rename

    def call(one: bytes, other: bytes) -> int:
        if disturbance:
            disturbance.step("exchange")
        if mode != "exchange" or real is None:
            ctypes.set_errno(errno.EXDEV)
            return -1
        return real(one, other)

    def within(source: Path, target: Path) -> None:
        staged = {any(part.startswith(TEMPORARY_PREFIX) for part in path.parts[:-1]) for path in (source, target)}
        if mode == "copies" and source.is_dir() and len(staged) > 1:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(source, target)

    with (
        mock.patch.object(exchange, "_system_call", return_value=call),
        mock.patch.object(os, "rename", within),
    ):
        yield


@dataclass(frozen=True)
class Series:
    """A set of resources that is different in each generation, with limits so low that lists have parts.

    With `dumps`, all dumps and archives are on; with `held`, files are published with the set.
    """

    output: Path
    dumps: bool = False
    held: bool = False

    @property
    def source(self) -> Source:
        """Where it is published."""
        return Source(self.output, Calendar("day"))

    def build(self, generation: int) -> list[Resource]:
        """Write the resources of a generation: some come, some change, some go."""
        contents = {
            f"{number}.html": f"{number} {generation // (number % 3 + 1)}".encode()
            for number in range(generation % 3, 6 + generation % 2)
        }
        if self.held:
            self.make_ready(generation)
        return [Resource(f"{SITEURL}/{path}", self.source.write(path, data)) for path, data in contents.items()]

    def make_ready(self, generation: int) -> None:
        """Make the files ready that a generation is published with: new ones, and links to those of before."""
        old = self.output / self.source.layout.records
        for number in range(generation % 3, 8 + generation % 2):
            path, data = f"{number % 2}/{number}.xml", f"{number} {generation // (number % 3 + 1)}".encode()
            new = self.output / READY / path
            new.parent.mkdir(parents=True, exist_ok=True)
            if (old / path).is_file() and (old / path).read_bytes() == data:
                new.hardlink_to(old / path)
            else:
                new.write_bytes(data)

    def publish(self, generation: int, resources: list[Resource], previous: PreviousPublication | None) -> None:
        """Publish a generation after the previous one; each has another Source Description too."""
        source = self.source
        told = ChangeHistory(built=utc("2024-01-01T12:00") + timedelta(hours=9 * generation))
        kept = int(self.dumps)
        options = source.options(
            limits=Limits(entries=3),
            dumps=Dumps(resourcedump=self.dumps, changedump=self.dumps),
            archives=Archives(resourcelist=2 * kept, resourcedump=kept, changelist=1, changedump=1),
            describedby=f"{SITEURL}/about-{generation}.html",
        )
        holdings = self.output / READY if self.held else None
        try:
            publish_one(resources, told, source.cuts, options, previous, holdings=holdings)
        finally:
            _current.clear()  # what the test cleans up is no part of the publication
            if self.held:
                shutil.rmtree((self.output / READY).parent, ignore_errors=True)

    def next(self, generation: int) -> None:
        """Build and publish a generation."""
        recover(self.output)
        self.publish(generation, self.build(generation), self.source.previous())

    def settle_neighbours(self) -> None:
        """Put there what belongs to others: sets, files, links."""
        others = {"other/capabilitylist.xml": b"<urlset/>", "other/deep/package.zip": b"PK", "notes.txt": b"own"}
        others |= {"other/records/0/1.xml": b"<a/>"} if self.held else {}
        for path, data in others.items():
            self.source.write(f"resourcesync/{path}", data)
        (self.output / "resourcesync" / "latest").symlink_to("other/deep")

    def generation(self) -> int:
        """Return the number of the generation that is there."""
        return int(self.source.state()["generation"])

    def seen(self) -> "Seen":
        """Return what a reader finds now."""
        return Seen(tree(self.output / "resourcesync"), (self.output / ".well-known" / "resourcesync").read_bytes())


@dataclass(frozen=True)
class Seen:
    """All that was published: the folder of the documents, and the well-known copy outside it."""

    documents: dict[str, object]
    well_known: bytes


def _main(output: str, mode: Mode, generation: str, call: str, *kinds: str) -> None:
    series = Series(Path(output), "dumps" in kinds, "held" in kinds)
    if int(call):
        resources, previous = series.build(int(generation)), series.source.previous()
        with disturbed(series.output, mode, int(call), kill):
            series.publish(int(generation), resources, previous)
        return
    with coming_in(mode):
        print("ready", flush=True)  # noqa: T201 - the one who kills waits for it
        for number in range(int(generation), 10_000):
            series.next(number)


if __name__ == "__main__":
    _main(*sys.argv[1:])  # type: ignore[arg-type]
