"""Hashes and lengths of files."""

import hashlib
from pathlib import Path

import pytest

from pelican_resourcesync.transport.folder import measure, sha256

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(("data", "digest"), [(b"", EMPTY), (b"abc", ABC)])
def test_known_digests(tmp_path: Path, data: bytes, digest: str) -> None:
    """The test vectors of FIPS 180, of bytes and of a file."""
    file = tmp_path / "file"
    file.write_bytes(data)
    assert sha256(data) == digest
    assert measure(file) == (digest, len(data))


def test_file_larger_than_any_buffer(tmp_path: Path) -> None:
    """A file is measured to its end, with every byte as it is."""
    data = bytes(range(256)) * 9_000 + b"\r\n\x1a"
    file = tmp_path / "file"
    file.write_bytes(data)
    assert measure(file) == (hashlib.sha256(data).hexdigest(), 2_304_003)


def test_missing_file(tmp_path: Path) -> None:
    """What is not there has no hash."""
    with pytest.raises(FileNotFoundError):
        measure(tmp_path / "missing")
