"""Files that last: written through to the disk, replaced at once, and removed for good."""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

#: What begins the names of all that is only passing: stages, and files about to replace others.
PREFIX = ".resourcesync-"

#: How many files are written through one by one: many take less time together.
_MANY = 200

_WINDOWS = os.name == "nt"

#: What file systems answer that have no way to write a folder through.
_CANNOT = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def sync(paths: Iterable[Path]) -> None:
    """Return when the bytes of these files, or the names in these folders, are on the disk.

    Folders are left out where the system has no such thing. Raises `OSError` where the disk fails.
    """
    for path in paths:
        if _WINDOWS and path.is_dir():
            continue
        handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
        finally:
            os.close(handle)


def sync_all(paths: Iterable[Path]) -> None:
    """Return when all of these are on the disk; where they are many, all that there is is written through at once.

    Linux does not tell then which of the many a failing disk has lost.
    """
    found = iter(paths)
    sync(islice(found, _MANY))
    if sys.platform != "linux":  # elsewhere the system may return sooner
        sync(found)
    elif next(found, None) is not None:
        os.sync()


def move(new: Path, target: Path) -> None:
    """Put the file `new` in the place of `target` at once, also where that is on another file system."""
    try:
        new.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with beside(target) as copy:
            shutil.copy2(new, copy)
            sync([copy])
            copy.replace(target)
        new.unlink()


@contextmanager
def beside(file: Path) -> Iterator[Path]:
    """Give an empty file in the same folder, and remove it if it is still there in the end."""
    handle, name = tempfile.mkstemp(prefix=PREFIX, dir=file.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def walk(top: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Give each folder from `top` down, with the names of the folders and of the files in it; follow no links.

    Raises `OSError` where one cannot be listed, which `os.walk` and `Path.rglob` pass over in silence.
    """
    for folder, folders, files in os.walk(top, onerror=_fail):
        yield Path(folder), folders, files


def _fail(error: OSError) -> None:
    raise error


def is_there(path: Path) -> bool:
    """Tell whether there is a file, a folder or a link; raise `OSError` where that cannot be told.

    `os.path.exists` and the like take a failing disk for a no.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def remove(left: Path) -> None:
    """Remove a file, a link or a whole folder of ours, also one with folders that are not to be written to.

    Raises `OSError` where that cannot be.
    """
    if not left.is_dir() or left.is_symlink():
        left.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(left)
    except PermissionError:
        _open_up(left)
        shutil.rmtree(left)


def _open_up(folder: Path) -> None:
    folder.chmod(0o700)
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            _open_up(each)
