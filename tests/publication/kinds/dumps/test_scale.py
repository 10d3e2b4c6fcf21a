"""Packages of any size take little memory: all that a process of Python has ever had, Python itself included."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.kit.reader import parse

MEMORY = 64  # MB
#: 10 MB pictures, 20 kB pages, 1 MB of what is neither.
SITE = ("{}:10000000:video/mp4", "{}:20000:text/html", "{}:1000000:application/x-tar")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took"
)


def pack(folder: Path, *kinds: str, size: int = 100_000_000) -> Mapping[str, int]:
    """Pack files in a process of their own; give what it says of it."""
    command = [sys.executable, "-m", "tests.tools.large.packages", str(folder), str(size), *kinds]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def look(folder: Path, size: int = 100_000_000) -> int:
    """Hold every package to its manifest by name and length; give the number of members."""
    count = 0
    for file in sorted(folder.glob("*.zip")):
        assert file.stat().st_size <= size
        with zipfile.ZipFile(file) as archive:
            manifest = archive.read("manifest.xml")
            found = [(f"/{info.filename}", str(info.file_size)) for info in archive.infolist()[:-1]]
        assert file.with_suffix(".xml").read_bytes() == manifest
        assert [(item.md["path"], item.md["length"]) for item in parse(manifest).entries] == found
        count += len(found)
    return count


def test_a_hundred_and_fifty_megabytes(tmp_path: Path) -> None:
    """150 MB in files of 20 kB to 10 MB, in packages of 100 MB: under 64 MB of memory in all."""
    result = pack(tmp_path, *(kind.format(count) for kind, count in zip(SITE, (12, 500, 20), strict=True)))
    assert (result["bytes"], result["members"]) == (150_000_000, 532)
    assert result["packages"] == 2
    assert result["memory"] < MEMORY
    assert look(tmp_path) == 532


def test_many_small_resources(tmp_path: Path) -> None:
    """Five thousand small resources in one package: under 64 MB of memory in all."""
    result = pack(tmp_path, "5000:100:text/html")
    assert (result["packages"], result["members"]) == (1, 5_000)
    assert result["memory"] < MEMORY
    assert look(tmp_path) == 5_000


@pytest.mark.long
def test_five_gigabytes(tmp_path: Path) -> None:
    """5 GB of files, the largest over 4 GiB: under 64 MB in all; unzip and `zipfile` read each byte of that one."""
    large = 2**32 + 12_345
    kinds = [kind.format(count) for kind, count in zip(SITE, (50, 5_000, 100), strict=True)]
    result = pack(tmp_path, *kinds, f"1:{large}:video/mp4", "1:100:text/html")
    assert (result["bytes"], result["members"]) == (700_000_000 + large + 100, 5_152)
    assert result["memory"] < MEMORY
    file = max(tmp_path.glob("*.zip"), key=lambda each: each.stat().st_size)
    with zipfile.ZipFile(file) as archive:
        assert [info.file_size for info in archive.infolist()[:-1]] == [large]
        assert archive.testzip() is None
    for command in (["unzip", "-tqq"], ["jar", "tf"]):
        if shutil.which(command[0]):
            subprocess.run([*command, str(file)], check=True, capture_output=True)
    file.unlink()
    assert look(tmp_path) == 5_151


@pytest.mark.long
def test_a_million_resources(tmp_path: Path) -> None:
    """A million small resources, in packages of fifty thousand at most: under 64 MB in all."""
    result = pack(tmp_path, "1000000:300:text/html")
    assert result["members"] == 1_000_000
    assert result["memory"] < MEMORY
    assert result["packages"] == len(list(tmp_path.glob("*.zip")))
    assert look(tmp_path) == 1_000_000
