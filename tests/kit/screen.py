"""A terminal for tests: what is written to it, somebody sees; and a clock that only the test moves."""

import os
import re
import select
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import pytest

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

#: What moves the cursor, and clears or colours text.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")

#: For how long nothing must come before that is all, in seconds.
QUIET = 0.05


@dataclass
class Clock:
    """A clock that only the test moves."""

    now: float = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass
class Terminal:
    """A pseudo-terminal: what is written to `stream`, somebody sees."""

    stream: TextIO
    master: int

    def seen(self) -> str:
        """Return the text that has come since the last time."""
        self.stream.flush()
        come = b""
        while select.select([self.master], [], [], QUIET)[0]:  # what was written comes in the kernel's own time
            come += os.read(self.master, 65_536)
        return _CONTROL.sub("", come.decode()).strip()


@contextmanager
def terminal() -> Iterator[Terminal]:
    """Yield a terminal."""
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as stream:
            assert stream.isatty()
            yield Terminal(stream, master)
    finally:
        os.close(master)
