"""How a command ends: by a signal, without its standard streams, or with the exit status that an error leads to.

Every command of both programs ends like this. Streams may be closed, or their readers may end: the work goes on.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from pelican_resourcesync.errors import (
    IncompleteError,
    NoHostError,
    NoSourceError,
    RefusedError,
    ResourceSyncError,
    SettingsError,
    SourceError,
    StoppedError,
    describe,
)
from pelican_resourcesync.system.printable import printable


@contextmanager
def stopping() -> Iterator[list[int]]:
    """Raise `KeyboardInterrupt` for both signals; yield a list of those received.

    Signals that are ignored stay ignored. Outside the main thread, no signals are handled.
    """
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        raise KeyboardInterrupt

    with ExitStack() as stack:
        for caught in (signal.SIGTERM, signal.SIGINT) if current_thread() is main_thread() else ():
            before = signal.getsignal(caught)
            if before in (signal.SIG_DFL, signal.default_int_handler):
                stack.callback(signal.signal, caught, before)
                signal.signal(caught, stop)
        yield came


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
    """Let no use of a standard stream fail; yield what knows whether writing did. Terminals only get escapes."""
    before, output = getattr(sys, name), None
    with Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8") as nothing:
        stream = before or nothing
        with suppress(AttributeError, OSError, ValueError):  # the stream of a program that runs this one may be no file
            if stream is not nothing and name != "stdin" and not stream.isatty():
                output = _Output(stream.fileno(), "w", closefd=False)
                stream = TextIOWrapper(
                    BufferedWriter(output), before.encoding, _errors(before), line_buffering=name == "stderr"
                )
                before.flush()
            elif stream is not nothing and name != "stdin":
                stream.reconfigure(errors=_errors(stream))
        setattr(sys, name, stream)
        try:
            yield output
        finally:
            with suppress(OSError):
                stream.flush()
            setattr(sys, name, before)


def _errors(stream: TextIOWrapper) -> str:
    """Return what becomes of characters that the encoding of a stream lacks: escapes, unless the user chose."""
    return "backslashreplace" if stream.errors in {"strict", "surrogateescape"} else str(stream.errors)


def flush_output() -> None:
    """Flush standard output. Raises `OSError` if it can no longer be written."""
    sys.stdout.flush()
    output = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(output, _Output) and output.failure:
        raise output.failure


#: Done; problems were found; nothing could be done; something is missing, and the next run goes on.
DONE, PROBLEMS, UNUSABLE, INCOMPLETE = range(4)
STATUSES = {
    DONE: "done",
    PROBLEMS: "problems found",
    UNUSABLE: "wrong usage or unusable input",
    INCOMPLETE: "incomplete; the next run tries again",
}
#: The reader of the output has ended: as if SIGPIPE had ended the program, which shells know.
CLOSED = 128 + 13


#: What to try where nobody answers.
_REMEDIES: dict[type, str] = {
    RefusedError: ": check the host and the port, and that the server is running",
    NoHostError: ": check the name of the host, and that this machine is online",
}


def explain(error: Exception, *, begun: bool = False, repeated: bool = False) -> tuple[int, str]:
    """Return the exit status that an error leads to, and what to tell people.

    Incomplete is any error once an earlier run has `begun`, unless what the user asked for causes it; and in a run that
    is `repeated`, what may pass.
    """
    match error:
        case StoppedError(signal=signal):
            status = 128 + signal  # as shells have it
        case IncompleteError():
            status = INCOMPLETE
        case NoSourceError() if begun:
            status = INCOMPLETE
        case ResourceSyncError(may_pass=True) if repeated:
            status = INCOMPLETE
        case SourceError() | SettingsError():
            status = UNUSABLE
        case ResourceSyncError():
            status = INCOMPLETE if begun else UNUSABLE
        case OSError():  # a full disk, for example
            outcome = f"{error.filename or 'a file'} cannot be read or written"
            return INCOMPLETE, describe(outcome, error, then=", and run it again")
        case _:
            return UNUSABLE, f"unexpected error, please report it ({type(error).__name__}: {error})"
    return status, f"{error}{_REMEDIES.get(type(error), '')}"


def run_command(program: str, command: Callable[[], int]) -> int:
    """Return the exit status of a command, after a line that says which error ended it.

    Its work is done in any case: if its output cannot be written, a line says so, and the status is 3; if the reader of
    the output has ended, it is 141 instead of 0.
    """
    with guarded_streams() as failure_of_output:
        try:
            status = command()
        except ResourceSyncError as error:
            status, message = explain(error)
            sys.stderr.write(printable(f"{program}: {message}") + "\n")
        failure = failure_of_output()
        if failure is None:
            return status
        if isinstance(failure, ConnectionError):
            return status or CLOSED
        if status != INCOMPLETE:
            sys.stderr.write(printable(f"{program}: the output cannot be written: {failure.strerror}") + "\n")
        return INCOMPLETE
