"""Counts the work that code does: guards against slowness that do not depend on the clock."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch


@dataclass
class Work:
    """How often each file was opened, the processes started, the Python functions called, and what was flushed."""

    opened: Counter[Path] = field(default_factory=Counter)
    started: list[list[str]] = field(default_factory=list)
    calls: int = 0
    flushed: int = 0


_counting: list[Work] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _counting:
        return
    if event == "open" and isinstance(arguments[0], str | bytes):
        path = arguments[0] if isinstance(arguments[0], str) else arguments[0].decode(errors="replace")
        _counting[-1].opened[Path(path)] += 1
    elif event == "subprocess.Popen":
        _counting[-1].started.append([str(each) for each in arguments[1]])


sys.addaudithook(_hook)


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work of a block."""
    work, before, fsync = Work(), sys.getprofile(), os.fsync

    def call(_: FrameType, event: str, __: object) -> None:
        work.calls += event == "call"

    def flush(handle: int) -> None:
        work.flushed += 1
        fsync(handle)

    _counting.append(work)
    sys.setprofile(call)
    try:
        with patch.object(os, "fsync", flush):
            yield work
    finally:
        sys.setprofile(before)
        _counting.pop()
