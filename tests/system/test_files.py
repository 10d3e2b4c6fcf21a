"""Hashes and lengths of files, and files of two names."""

import errno
import hashlib
from pathlib import Path

import pytest

from pelican_resourcesync.errors import describe, remedy
from pelican_resourcesync.system.files import link_or_copy, measure, sha256

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(("data", "digest"), [(b"", EMPTY), (b"abc", ABC)])
def test_known_digests(tmp_path: Path, data: bytes, digest: str) -> None:
    """The test vectors of FIPS 180, of bytes and of a file."""
    file = tmp_path / "file"
    file.write_bytes(data)
    assert sha256(data) == digest
    assert measure(file) == (digest, len(data))


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free disk space"),
        (errno.EDQUOT, "free disk space"),
        (errno.EFBIG, "raise the file size limit (ulimit -f)"),
        (errno.EIO, "check the disk"),
        (errno.EISDIR, "move away the file or folder in its place"),
        (errno.ELOOP, "remove the loop of symbolic links"),
        (errno.ENAMETOOLONG, "use a shorter name"),
        (errno.EACCES, "give this user read and write access to it and its folder"),
        (errno.EROFS, "make it and its folder writable"),
        (errno.ENOENT, "check its path"),
    ],
)
def test_what_to_do_about_an_error(number: int, advice: str) -> None:
    """Each error of a disk needs something else."""
    assert remedy(OSError(number, "")) == advice


@pytest.mark.parametrize(
    ("error", "described"),
    [
        (
            PermissionError(errno.EACCES, "Denied", "/a/b"),
            "/a cannot be written: Denied: /a/b: give this user",
        ),
        (
            PermissionError(errno.EACCES, "Denied", "/a"),
            "/a cannot be written: Denied: give this user read and write access to it and its folder",
        ),
        (OSError(errno.ENOSPC, "Full"), "/a cannot be written: Full: free disk space"),
        (OSError("nothing known"), "/a cannot be written: nothing known: make it and its folder writable"),
    ],
)
def test_an_error_described(error: OSError, described: str) -> None:
    """It says what happened, where if that is another file, and what to do, and has no number."""
    assert describe("/a cannot be written", error).startswith(described)


def test_file_larger_than_any_buffer(tmp_path: Path) -> None:
    """A file is measured to its end, with every byte as it is."""
    data = bytes(range(256)) * 9_000 + b"\r\n\x1a"
    file = tmp_path / "file"
    file.write_bytes(data)
    assert measure(file) == (hashlib.sha256(data).hexdigest(), 2_304_003)


def test_a_file_of_two_names(tmp_path: Path) -> None:
    """What takes the place of one is not the other; what a symbolic link leads to is copied."""
    file, target, copy = (tmp_path / name for name in ("file", "target", "copy"))
    file.write_bytes(b"one")
    assert link_or_copy(file, target)
    assert target.samefile(file)
    (tmp_path / "link").symlink_to(file)
    assert not link_or_copy(tmp_path / "link", copy)
    assert (copy.read_bytes(), copy.is_symlink(), copy.samefile(file)) == (b"one", False, False)


def test_what_is_there_is_never_written_to(tmp_path: Path) -> None:
    """It may be a link to what somebody else has."""
    (tmp_path / "file").write_bytes(b"one")
    (tmp_path / "target").write_bytes(b"other")
    with pytest.raises(FileExistsError):
        link_or_copy(tmp_path / "file", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"other"


@pytest.mark.parametrize("name", ["missing", "folder"])
def test_what_is_no_file_is_an_error(tmp_path: Path, name: str) -> None:
    """Nothing is there then."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=name):
        link_or_copy(tmp_path / name, tmp_path / "target")
    assert not (tmp_path / "target").exists()
