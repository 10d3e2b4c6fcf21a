"""Exit statuses: what each means, and which of them an error leads to, in every command of both programs."""

import sys
from collections.abc import Callable

from pelican_resourcesync.errors import (
    IncompleteError,
    ResourceSyncError,
    SettingsError,
    SourceError,
    StoppedError,
    TransportError,
)
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.system.standard_streams import guarded_streams

#: Done; problems were found; nothing could be done; something is missing, and the next run goes on.
DONE, PROBLEMS, UNUSABLE, INCOMPLETE = range(4)
#: The reader of the output has ended: as if SIGPIPE had ended the program, which shells know.
CLOSED = 128 + 13


def explain(error: Exception, *, begun: bool = False, repeated: bool = False) -> tuple[int, str]:
    """Return the exit status that an error leads to, and what to tell people.

    What may pass means incomplete: any error once an earlier run has `begun`, unless what the user asked for causes it,
    and a failure of the network in a run that is `repeated`.
    """
    match error:
        case StoppedError(signal=signal):
            status = 128 + signal  # as shells have it
        case IncompleteError():
            status = INCOMPLETE
        case TransportError(may_pass=True) if repeated:
            status = INCOMPLETE
        case SourceError() | SettingsError():
            status = UNUSABLE
        case ResourceSyncError():
            status = INCOMPLETE if begun else UNUSABLE
        case OSError():  # a full disk, for example
            where, why = error.filename or "a file", error.strerror or type(error).__name__
            return INCOMPLETE, f"{where} cannot be read or written ({why}): correct that, and run it again"
        case _:
            return UNUSABLE, f"unexpected error, please report it ({type(error).__name__}: {error})"
    return status, str(error)


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
