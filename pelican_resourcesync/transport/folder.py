"""Measure files on disk (hash and length), and link or copy them."""

import hashlib
import os
import shutil
from pathlib import Path


def measure(file: Path) -> tuple[str, int]:
    """Return the SHA-256 (hexadecimal) and the length (bytes) of a file; it is read once, with little memory."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return digest.hexdigest(), stream.tell()


def sha256(data: bytes) -> str:
    """Return the SHA-256 (hexadecimal) of bytes."""
    return hashlib.sha256(data).hexdigest()


def link_or_copy(file: Path | str, target: Path | str) -> bool:
    """Create `target`, which must not exist yet, as a hard link to a file, or as a copy if linking fails.

    Returns whether it is a link. A copy has the same times and permissions. The file must only ever be replaced, never
    modified in place. The target of a symbolic link is copied. Raises `OSError` if the file cannot be read or `target`
    cannot be written.
    """
    if not Path(file).is_symlink():
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
