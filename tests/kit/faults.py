"""Disturbing publications: any call into the file system made to fail, or the process killed in it."""

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self
from unittest import mock

from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.system import exchange
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX

#: How folders are installed: exchanged; by two renames, as nothing can be exchanged; or copied, as folders cannot be
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

_ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)


@dataclass
class Disturbance:
    """Counts the calls into a folder, and does something at the call of that number, from 1.

    With `only`, the calls of that name are counted; with `after`, those after the first of that name. Where it is
    `lasting`, it is done at all later ones, too.
    """

    folder: Path
    at: int
    act: Callable[[], None]
    only: str = ""
    after: str = ""
    lasting: bool = False
    calls: list[str] = field(default_factory=list)
    counted: int = 0

    def step(self, name: str, *paths: object) -> None:
        """Take note of a call; those with other paths do not count, those with a name alone do (`dir_fd`)."""
        if all(self._inside(path) for path in paths):
            self.calls.append(name)
            if self.only in ("", name) and (not self.after or self.after in self.calls[:-1]):
                self.counted += 1
                if self.counted == self.at or (self.lasting and self.counted > self.at > 0):
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
def disturbed(
    folder: Path,
    mode: Mode,
    at: int,
    act: Callable[[], None],
    *,
    only: str = "",
    after: str = "",
    lasting: bool = False,
) -> Iterator[Disturbance]:
    """Do `act` at the call of number `at` into `folder`, where folders are installed by this `mode`.

    The others are those of a `Disturbance`.
    """
    disturbance = Disturbance(folder, at, act, only, after, lasting)
    with ExitStack() as stack:
        stack.enter_context(installing(mode, disturbance))
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
def installing(mode: Mode, disturbance: Disturbance | None = None) -> Iterator[None]:
    """Let folders be installed by this mode; each exchange counts as a call."""
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
