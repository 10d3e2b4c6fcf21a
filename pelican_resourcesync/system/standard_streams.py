"""Standard streams that are closed, or whose reader ends: the work of a program goes on without them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import Any


class _Output(FileIO):
    """Writes to an open file until that fails; what comes after that is lost. `failure` is why."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return len(data)


@contextmanager
def guarded_streams() -> Iterator[Callable[[], OSError | None]]:
    """Let no use of a standard stream fail; yield what flushes standard output, and returns why that failed."""
    for number in range(3):  # a file that is opened later must not get the number of a stream that is closed
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - which has no keyword
    with _guarded("stdin"), _guarded("stderr"), _guarded("stdout") as output:

        def failure() -> OSError | None:
            with suppress(OSError):
                sys.stdout.flush()
            return output.failure if output else None

        yield failure


@contextmanager
def _guarded(name: str) -> Iterator[_Output | None]:
    """Let no use of a standard stream fail; yield what knows whether writing did. Terminals stay as they are."""
    before, output = getattr(sys, name), None
    with Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8") as nothing:
        stream = before or nothing
        with suppress(OSError, ValueError):  # the stream of a program that runs this one may be no file
            if stream is not nothing and name != "stdin" and not stream.isatty():
                output = _Output(stream.fileno(), "w", closefd=False)
                errors = "backslashreplace" if before.errors == "strict" else before.errors
                stream = TextIOWrapper(BufferedWriter(output), before.encoding, errors, line_buffering=name == "stderr")
                before.flush()
        setattr(sys, name, stream)
        try:
            yield output
        finally:
            with suppress(OSError):
                stream.flush()
            setattr(sys, name, before)


def flush_output() -> None:
    """Flush standard output. Raises `OSError` if it can no longer be written."""
    sys.stdout.flush()
    output = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(output, _Output) and output.failure:
        raise output.failure
