"""Durable file operations: flush to disk, replace atomically, compare, remove completely."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from os.path import samestat
from pathlib import Path
from secrets import token_hex
from stat import S_ISLNK

from pelican_resourcesync.errors import PublicationError, failing_disk
from pelican_resourcesync.system.files import sync

#: The prefix of all temporary names: stages, and files about to replace others.
RESERVED_PREFIX = ".resourcesync-"
#: That of the names of this process, which no site can have in its files.
TEMPORARY_PREFIX = f"{RESERVED_PREFIX}{token_hex(8)}-"

#: How many files are flushed one by one; for more, flushing everything is faster.
_MANY = 200

_BATCH = 1_000  # files that are replaced together

_CHUNK = 1 << 18  # bytes compared at a time


def sync_all(paths: Iterable[Path]) -> None:
    """Flush all of these to disk; if they are many, flush everything on the system at once.

    In that case Linux does not report which of the files a failing disk lost.
    """
    found = iter(paths)
    sync(islice(found, _MANY))
    if sys.platform != "linux":  # other systems may return before everything is flushed
        sync(found)
    elif next(found, None) is not None:
        os.sync()


@contextmanager
def temporary_sibling(file: Path) -> Iterator[Path]:
    """Yield an empty temporary file in the same folder; remove it at the end if it still exists."""
    handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=file.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def replace_file(file: Path, data: bytes) -> None:
    """Replace the contents of one file: see `replace_files`."""
    replace_files([(file, data)])


def replace_files(files: Iterable[tuple[Path, bytes]]) -> None:
    """Replace the contents of files atomically, keeping permissions and owners; a link is replaced, not followed.

    Each has its old bytes until the new ones are on disk. Raises `PublicationError` if one cannot be written.
    """
    waiting, new = iter(files), list[tuple[Path, Path]]()
    try:
        while True:
            for file, data in islice(waiting, _BATCH):
                written = file.with_name(f"{TEMPORARY_PREFIX}{len(new)}")
                with failing_disk(f"{file} cannot be written"):
                    handle = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                    new.append((written, file))
                    with os.fdopen(handle, "wb") as stream:
                        stream.write(data)
                    try:
                        copy_owner(written, file)
                    except FileNotFoundError:  # it is new
                        written.chmod(0o644)
            if not new:
                return
            with failing_disk(f"{new[0][1]} cannot be written"):
                sync_all(written for written, _ in new)
            for written, file in new:
                with failing_disk(f"{file} cannot be written"):
                    written.replace(file)
            new.clear()
    finally:
        for written, _ in new:
            written.unlink(missing_ok=True)


def extend_file(file: Path, old: bytes, new: bytes) -> bool:
    """Write `new`, which is longer than the contents `old`, over them, and return whether that could be done.

    Making no other file, this takes a fraction of `replace_files`, but is not atomic: for files that the same run has
    written. A link, a file with several names, and one that is read-only or does not fit on the disk keep their bytes.
    """
    try:
        handle = os.open(file, os.O_WRONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    with os.fdopen(handle, "wb", buffering=0) as stream:
        if os.fstat(handle).st_nlink > 1:
            return False
        with suppress(OSError):
            if stream.write(new) == len(new):
                return True
        stream.seek(0)
        stream.write(old)
        stream.truncate(len(old))
        return False


def require_not_reserved(path: Path) -> None:
    """Raise `PublicationError` for a name of temporary files, unless it is one of this process."""
    if path.name.startswith(RESERVED_PREFIX) and not path.name.startswith(TEMPORARY_PREFIX):
        message = (
            f"{path} has a name that is reserved for temporary files, but no run with these settings left it: if a "
            "run was killed, run the same command again. Otherwise remove all files and folders that begin with "
            f"{RESERVED_PREFIX}, here and in the sources of the site"
        )
        raise PublicationError(message)


def copy_owner(new: Path, old: Path) -> None:
    """Copy the permissions of `old` to `new`, and its owner if we are allowed to."""
    stat = old.stat()
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(new, stat.st_uid, stat.st_gid)
    new.chmod(stat.st_mode & 0o7777)  # changing the owner may remove some


def walk(top: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each folder from `top` down, with the names of the folders and files in it; do not follow links.

    Raises `OSError` if a folder cannot be listed, which `os.walk` and `Path.rglob` ignore.
    """
    for folder, folders, files in os.walk(top, onerror=_fail):
        yield Path(folder), folders, files


def _fail(error: OSError) -> None:
    raise error


def is_there(path: Path) -> bool:
    """Return whether a file, folder or link exists. Raises `OSError` if that cannot be determined.

    `os.path.exists` and similar functions return false if the disk fails.
    """
    return identity(path) is not None


def identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, folder or link; `None` if there is none. Raises `OSError` as `is_there`."""
    try:
        stat = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_dev, stat.st_ino


def same_bytes(one: Path, other: Path) -> bool:
    """Return whether two files have the same bytes, and `other` is not a link."""
    stat, others = one.stat(), other.lstat()
    if S_ISLNK(others.st_mode) or stat.st_size != others.st_size:
        return False
    if samestat(stat, others):
        return True
    with one.open("rb") as first, other.open("rb") as second:
        while (data := first.read(_CHUNK)) == second.read(_CHUNK):
            if not data:
                return True
    return False


def remove_tree(left: Path) -> None:
    """Remove a file, a link or a whole folder of ours, including read-only folders in it.

    Raises `OSError` if that fails.
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
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            _open_up(path)
