"""Files that last: what is written through, and how."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pelican_resourcesync.system import durable
from pelican_resourcesync.system.durable import same_bytes, sync_all, walk


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Take down what is written through, which is done none the less."""
    found: list[str] = []
    whole, one = os.sync, os.fsync

    def fsync(handle: int) -> None:
        found.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        one(handle)

    def everything() -> None:
        found.append("all")
        whole()

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "sync", everything)
    monkeypatch.setattr(durable, "_MANY", 3)
    return found


def files(folder: Path, count: int) -> Iterator[Path]:
    """Make so many files, each when it is asked for."""
    for number in range(count):
        file = folder / str(number)
        file.write_bytes(b"x")
        yield file


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells which file a handle is of")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_files(tmp_path: Path, calls: list[str], count: int) -> None:
    """Each is written through by itself."""
    sync_all(files(tmp_path, count))
    assert calls == [str(number) for number in range(count)]


@pytest.mark.parametrize("count", [4, 9])
def test_many_files(tmp_path: Path, calls: list[str], count: int) -> None:
    """Where they are more, all is written through, once, after the last of them is known to be there."""
    made = list(files(tmp_path, count))
    sync_all(iter(made))
    assert calls == ["0", "1", "2", "all"]


def test_many_files_elsewhere(tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that would return sooner than it is done, each file is waited for."""
    monkeypatch.setattr(sys, "platform", "darwin")
    sync_all(files(tmp_path, 5))
    assert calls == list("01234")


def test_a_file_that_is_not_there(tmp_path: Path, calls: list[str]) -> None:
    """It is an error, before anything counts as written."""
    with pytest.raises(FileNotFoundError):
        sync_all([tmp_path / "none"])
    assert not calls


def test_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    """It is an error, and does not count as empty."""
    with pytest.raises(FileNotFoundError):
        list(walk(tmp_path / "none"))


def test_a_link_has_no_bytes_of_its_own(tmp_path: Path) -> None:
    """It is not the file that it leads to, not even where its target's name is as long as the file."""
    for name in ("one", "other"):
        (tmp_path / name).write_bytes(b"other")
    (tmp_path / "link").symlink_to("other")
    assert same_bytes(tmp_path / "one", tmp_path / "other")
    assert not same_bytes(tmp_path / "one", tmp_path / "link")
