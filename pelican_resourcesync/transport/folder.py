"""Bytes from files: their hash and length."""

import hashlib
from pathlib import Path


def measure(file: Path) -> tuple[str, int]:
    """Give the SHA-256 (hexadecimal) and the length (bytes) of a file, read once, in little memory."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return digest.hexdigest(), stream.tell()


def sha256(data: bytes) -> str:
    """Give the SHA-256 (hexadecimal) of bytes."""
    return hashlib.sha256(data).hexdigest()
