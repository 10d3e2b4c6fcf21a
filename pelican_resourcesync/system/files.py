"""Measure files on disk (hash and length), flush them to it, and replace, link or copy them."""

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_ISLNK

_CHUNK = 65_536  # bytes read at a time: memory for more is had from the system, anew for every file
_WINDOWS = os.name == "nt"

#: The errors of file systems that cannot flush a folder.
_CANNOT = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})

#: A key of IndexNow.
INDEXNOW_KEY = re.compile("[A-Za-z0-9-]{8,128}")


def is_key_file(file: Path) -> bool:
    """Return whether a file proves to search engines whose key of IndexNow its name is, by having it as its content."""
    key = file.stem
    with suppress(OSError):
        is_named = file.suffix == ".txt" and INDEXNOW_KEY.fullmatch(key) and file.stat().st_size - len(key) in range(3)
        return bool(is_named) and file.read_bytes().strip() == key.encode()
    return False


def measure(file: Path | str) -> tuple[str, int]:
    """Return the SHA-256 (hexadecimal) and the length (bytes) of a file; it is read once, with little memory."""
    digest, length = hashlib.sha256(), 0
    with open(file, "rb", buffering=0) as stream:  # noqa: PTH123  # most files are smaller than the buffers that would be made for them
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            length += len(chunk)
    return digest.hexdigest(), length


def sha256(data: bytes) -> str:
    """Return the SHA-256 (hexadecimal) of bytes."""
    return hashlib.sha256(data).hexdigest()


def inside(folder: Path, path: Path | str, *others: Path) -> Path | None:
    """Return the file at a path relative to a folder, if it lies in that folder, or one of `others`, behind all links.

    Returns `None` for anything else, such as a folder, a file elsewhere, or a name that no file can have.
    """
    with suppress(OSError, ValueError):
        file = folder / path
        if file.is_file() and any(is_within(file, parent) for parent in (folder, *others)):
            return file
    return None


def is_within(path: Path, folder: Path) -> bool:
    """Return whether a path is that of a folder, or of something in it, behind all links."""
    return path.resolve().is_relative_to(folder.resolve())


def sync(paths: Iterable[Path | str]) -> None:
    """Flush these files, and the names in these folders, to disk.

    Folders are skipped on systems that cannot flush them. Raises `OSError` if the disk fails.
    """
    for path in paths:
        if _WINDOWS and Path(path).is_dir():
            continue
        handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
        finally:
            os.close(handle)


def replace_file(file: Path, data: bytes, *, flush: bool = True) -> None:
    """Replace a file at once, so that it is never half-written; with `flush`, it is on disk then."""
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(data)
    if flush:
        sync([new])
    new.replace(file)
    if flush:
        sync([file.parent])


def link_or_copy(file: Path | str, target: Path | str) -> bool:
    """Create `target`, which must not exist yet, as a hard link to a file, or as a copy if linking fails.

    Returns whether it is a link. A copy has the same times and permissions. The file must only ever be replaced, never
    modified in place. The target of a symbolic link is copied. Raises `OSError` if the file cannot be read or `target`
    cannot be written.
    """
    if not S_ISLNK(os.lstat(file).st_mode):
        try:
            os.link(file, target)
        except FileExistsError:
            raise
        except OSError:  # another file system, or one without hard links
            pass
        else:
            return True
    shutil.copy2(file, target)
    return False
