"""Bytes from files: their hash and length, and the same file under another name."""

import hashlib
import shutil
from pathlib import Path


def measure(file: Path) -> tuple[str, int]:
    """Give the SHA-256 (hexadecimal) and the length (bytes) of a file, read once, in little memory."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return digest.hexdigest(), stream.tell()


def sha256(data: bytes) -> str:
    """Give the SHA-256 (hexadecimal) of bytes."""
    return hashlib.sha256(data).hexdigest()


def link_or_copy(file: Path, target: Path) -> None:
    """Let a file that is only ever replaced, and never written to, be at `target` too, which is not there yet.

    Where it cannot be linked it is copied, and so is what a symbolic link leads to. Raises `OSError` where it cannot be
    read, or `target` not be written.
    """
    if not file.is_symlink():
        try:
            target.hardlink_to(file)
        except FileExistsError:
            raise
        except OSError:  # another file system, or one without links
            pass
        else:
            return
    shutil.copyfile(file, target)
