"""Only one build at a time: a lock on an output that disappears with the process that holds it.

The output folder itself is locked, so no lock file is published, cleaned or left behind. A note in the system's
temporary folder, named after the user and the output's path, is locked as well. It says which process holds the lock,
it still works if the folder is removed meanwhile, and it is the only lock where folders cannot be locked (Windows, some
network file systems).
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pelican_resourcesync.errors import PublicationError, failing_disk

_FAR = 1 << 20  # Windows does not let others read a locked byte, so lock one after the text

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def lock_file(handle: int) -> None:
        """Lock an open file. Raises `BlockingIOError` if another process holds it, and other errors if it cannot be."""
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error

    def _user() -> int:
        return 0  # as `st_uid` of every file on Windows; the temporary folder is the user's own
else:
    import fcntl

    def lock_file(handle: int) -> None:
        """Lock an open file. Raises `BlockingIOError` if another process holds it, and other errors if it cannot be."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _user() -> int:
        return os.geteuid()


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold the lock on an output during a build; the folder is created if it does not exist.

    Raises `PublicationError` if another build holds it, with its process if known, and if nothing can be locked at all.
    Builds see each other on the same machine, and on others if a network file system forwards locks.
    """
    with failing_disk(f"the output {output} cannot be written"):
        output.mkdir(parents=True, exist_ok=True)
    note = _note_of(output)
    with ExitStack() as stack:
        try:
            folder = _open(output, os.O_RDONLY, stack)
            held = [folder is not None and _locks(folder), _hold_note(note, stack)]
        except BlockingIOError as error:
            message = f"{_holder(note)} is publishing into {output}: try again when it has finished"
            raise PublicationError(message) from error
        if not any(held):
            message = f"neither the output {output} nor {note} can be locked: set TMPDIR to a folder that you own"
            raise PublicationError(message)
        yield


def _hold_note(note: Path, stack: ExitStack) -> bool:
    """Lock the note and write our process number to it; return whether that was possible."""
    while True:
        handle = _open(note, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), stack)
        # In a folder that everybody can write to, a file of that name may be an attack by another user.
        if handle is None or os.fstat(handle).st_uid != _user() or not _locks(handle):
            return False
        if _still_there(handle, note):
            break
    with suppress(OSError):  # on a full disk it still works as a lock
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
        lock_file(handle)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _still_there(handle: int, note: Path) -> bool:
    """Return whether the locked file still exists, and was not just removed by its last holder."""
    try:
        return os.path.samestat(os.fstat(handle), note.stat())
    except OSError:
        return False


def _tear_up(note: Path) -> None:
    with suppress(OSError):  # Windows does not remove an open file, so it stays, unlocked
        note.unlink()


def _holder(note: Path) -> str:
    try:
        return f"process {int(note.read_bytes())}"
    except (OSError, ValueError):
        return "another process"


def _note_of(output: Path) -> Path:
    place = os.path.normcase(os.path.realpath(output))
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"resourcesync-{_user()}-{digest}.lock")
