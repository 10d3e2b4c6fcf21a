"""Counts the work that code does: guards against slowness that do not depend on the clock."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Work:
    """How often each file was opened, and which processes were started."""

    opened: Counter[Path] = field(default_factory=Counter)
    started: list[list[str]] = field(default_factory=list)


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
    _counting.append(Work())
    try:
        yield _counting[-1]
    finally:
        _counting.pop()
