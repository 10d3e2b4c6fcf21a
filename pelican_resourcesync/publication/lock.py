"""One build at a time: a lock on an output that vanishes with the process that holds it.

The output folder itself is locked, so there is nothing to publish, to clean or to leave behind. Beside that a note in
the system's temporary folder, named for the user and the output's path, is locked: it says who holds the lock, holds
where the folder is removed meanwhile, and is all there is where folders cannot be locked (Windows, some network file
systems).
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pelican_resourcesync.errors import PublicationError

_FAR = 1 << 20  # Windows lets nobody read what is locked: that is a byte beyond what is written

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error

    def _user() -> int:
        return 0  # as the owner of every file there; the temporary folder is the user's own
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _user() -> int:
        return os.geteuid()


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold the lock on an output for as long as a build takes; the folder is made where it is not there.

    Raises `PublicationError` where another build holds it, naming its process where that is known, and where nothing
    can be locked at all. Builds see each other on one machine, and where a network file system passes on locks.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the output {output} cannot be written: {error}"
        raise PublicationError(message) from error
    note = _note_of(output)
    with ExitStack() as stack:
        try:
            held = [_hold_folder(output, stack), _hold_note(note, stack)]
        except BlockingIOError as error:
            message = f"{_holder(note)} is building into {output}: build again when it is done"
            raise PublicationError(message) from error
        if not any(held):
            message = f"neither the output {output} nor {note} can be locked: let TMPDIR be a folder of your own"
            raise PublicationError(message)
        yield


def _hold_folder(output: Path, stack: ExitStack) -> bool:
    """Lock a folder; tell whether folders can be locked here. `BlockingIOError` where another holds it."""
    handle = _open(output, os.O_RDONLY, stack)
    return handle is not None and _locks(handle)


def _hold_note(note: Path, stack: ExitStack) -> bool:
    """Lock the note and say in it who we are; tell whether that was possible."""
    while True:
        handle = _open(note, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), stack)
        # In a folder where all may write, a file of that name may be another's trap.
        if handle is None or os.fstat(handle).st_uid != _user() or not _locks(handle):
            return False
        if _still_there(handle, note):
            break
    with suppress(OSError):  # on a full disk it is a lock all the same
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, str(os.getpid()).encode())
    stack.callback(_tear_up, note)
    return True


def _open(path: Path, flags: int, stack: ExitStack) -> int | None:
    try:
        handle = os.open(path, flags, 0o600)
    except OSError:
        return None
    stack.callback(os.close, handle)
    return handle


def _locks(handle: int) -> bool:
    try:
        _lock(handle)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _still_there(handle: int, note: Path) -> bool:
    """Tell whether the file that was locked was not torn up by its last holder just before."""
    try:
        return os.path.samestat(os.fstat(handle), note.stat())
    except OSError:
        return False


def _tear_up(note: Path) -> None:
    with suppress(OSError):  # Windows keeps a file that is open: it stays, unlocked
        note.unlink()


def _holder(note: Path) -> str:
    try:
        return f"the process {int(note.read_bytes())}"
    except (OSError, ValueError):
        return "another process"


def _note_of(output: Path) -> Path:
    place = os.path.normcase(os.path.realpath(output))
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"resourcesync-{_user()}-{digest}.lock")
