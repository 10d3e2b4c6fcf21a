"""Where the assetstore has the bytes of files."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_bridge.files import find_file, relative_path
from repo_bridge.inventory.record_files import StoredFile

ID = "12345678901234567890123456789012345678"
FILE = StoredFile(store_number=0, internal_id=ID, length=5, name="a.pdf", id="f1")


@pytest.mark.parametrize(
    ("internal_id", "path"),
    [
        (ID, f"12/34/56/{ID}"),
        ("-Rscans/page 1.tif", "scans/page 1.tif"),
        ("-R/scans/x", "scans/x"),
        ("-R", None),
        ("-R../x", None),
        ("../../etc/passwd", None),
        ("12345", None),
        ("", None),
        ("١٢٣٤٥٦٧", None),
    ],
)
def test_paths(internal_id: str, path: str | None) -> None:
    """A file lies three folders deep, or, registered, where its id says; never outside."""
    found = relative_path(internal_id)
    assert (found and str(found)) == path


def store(folder: Path, name: str = f"12/34/56/{ID}", data: bytes = b"bytes") -> Path:
    """Make an assetstore with one file."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return folder


def test_found(tmp_path: Path) -> None:
    """A file is found in the store of its number; an unknown length is no other."""
    first, second = store(tmp_path / "0"), store(tmp_path / "1", "scans/x")
    stores = {0: first, 1: second}
    assert find_file(FILE, stores).path == first / f"12/34/56/{ID}"
    assert find_file(FILE._replace(length=None, store_number=None), stores).path == first / f"12/34/56/{ID}"
    assert find_file(FILE._replace(store_number=1, internal_id="-Rscans/x"), stores).path == second / "scans/x"


def test_not_found(tmp_path: Path) -> None:
    """A file that is missing, of another length or elsewhere is not had, and one sentence says why."""
    stores = {0: store(tmp_path / "0")}
    os.symlink("/etc/hostname", tmp_path / "0" / "link")  # noqa: PTH211
    for file, reason in (
        (
            FILE._replace(length=6),
            f"the file 'a.pdf' (f1) has 5 bytes at {tmp_path}/0/12/34/56/{ID}, and 6 by the database",
        ),
        (FILE._replace(internal_id="-Rmissing"), "cannot be read at"),
        (FILE._replace(internal_id="-Rlink", length=None), "lies outside its store"),
        (FILE._replace(store_number=3), "has the store 3, which is not known"),
        (FILE._replace(internal_id=None), "has the internal id None, which is not known"),
        (FILE._replace(internal_id="-Ra\0b"), "cannot be read at"),
    ):
        found = find_file(file, stores)
        assert found.path is None
        assert reason in found.reason


@given(st.text(max_size=40) | st.text(max_size=20).map("-R{}".format))
def test_any_internal_id(tmp_path_factory: pytest.TempPathFactory, internal_id: str) -> None:
    """Whatever an internal id is, no file outside the store is found."""
    found = find_file(FILE._replace(internal_id=internal_id, length=None), {0: tmp_path_factory.getbasetemp()})
    assert found.path is None or found.path.is_relative_to(tmp_path_factory.getbasetemp())
