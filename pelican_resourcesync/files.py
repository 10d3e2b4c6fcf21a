"""Measure files on disk (hash and length), and link or copy them."""

import hashlib
import os
import shutil
from pathlib import Path
from stat import S_ISLNK

_CHUNK = 65_536  # bytes read at a time: memory for more is had from the system, anew for every file


def measure(file: Path) -> tuple[str, int]:
    """Return the SHA-256 (hexadecimal) and the length (bytes) of a file; it is read once, with little memory."""
    digest, length = hashlib.sha256(), 0
    with file.open("rb", buffering=0) as stream:  # most files are smaller than the buffers that would be made for them
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            length += len(chunk)
    return digest.hexdigest(), length


def sha256(data: bytes) -> str:
    """Return the SHA-256 (hexadecimal) of bytes."""
    return hashlib.sha256(data).hexdigest()


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
