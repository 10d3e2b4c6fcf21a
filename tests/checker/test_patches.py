"""Patches in a Source: each gives the bytes that its change lists, where a version has the bytes that it is for."""

import random
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.checker import check
from pelican_resourcesync.protocol import PATCH
from pelican_resourcesync.settings import VersionOptions
from pelican_resourcesync.system import dcz
from tests.kit.publications import Source

OLD, OTHER = (random.Random(seed).randbytes(15_000).hex().encode() for seed in (1, 2))
OPTIONS: dict[str, Any] = {"versions": VersionOptions(), "patches": True}
NEW = OLD[:9_000] + b"new" + OLD[9_000:]


def faults(source: Source, *, deep: bool = True) -> list[tuple[str, str]]:
    """Return the rules that are broken, and the first message about each."""
    groups = check(str(source.output), deep=deep).findings.groups()
    return [(rule, group.first[0].message.partition(f"{PATCH}, ")[2]) for rule, _, group in groups]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Publish a file and then its update with a patch, and versions."""
    source = Source(tmp_path / "output")
    for day, files in enumerate(({}, {"a.txt": OLD}, {"a.txt": NEW}), 1):
        source.publish({"b.txt": b"b", **files}, f"2024-03-0{day}T12:00", **OPTIONS)
    return source


def test_right(source: Source) -> None:
    """A patch that is right is no finding."""
    assert faults(source) == []


@pytest.mark.promise("Patched exactly")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (OLD, NEW[:-1] + b"!", "does not produce the listed bytes: the sha-256 is "),
        (OLD, OTHER, "does not produce the listed bytes: the patch does not produce the 30003 bytes that are listed"),
        (OTHER, NEW, ""),  # no version has the bytes that it is for
    ],
)
def test_wrong(source: Source, old: bytes, new: bytes, message: str) -> None:
    """A patch that does not give the listed bytes is found, although its own hash is as listed."""
    source.replace_patch(dcz.make_patch(old, new))
    found = faults(source)
    assert [rule for rule, _ in found] == (["LN03"] if message else [])
    assert all(said.startswith(message) for _, said in found)


def test_deleted(source: Source) -> None:
    """The patch of a resource that is deleted later need not be there; if that comes back, its next one must be."""
    [file] = (source.output / "resourcesync/site/patches").iterdir()
    source.publish({"b.txt": b"b"}, "2024-03-04T12:00", **OPTIONS)
    patch = file.read_bytes()
    file.unlink()
    assert faults(source) == []
    file.write_bytes(patch)
    for day, data in ((5, OTHER), (6, OTHER + b"!")):
        source.publish({"b.txt": b"b", "a.txt": data}, f"2024-03-0{day}T12:00", **OPTIONS)
    assert faults(source) == []
    [next_one] = {*(source.output / "resourcesync/site/patches").iterdir()} - {file}
    next_one.unlink()
    [(rule, message)] = faults(source)
    assert (rule, message.partition(":")[0]) == ("LN03", "cannot be fetched")


def test_damaged(source: Source) -> None:
    """So are a patch that is not the one that is listed, one that is none at all, and one that is missing."""
    [file] = (source.output / "resourcesync/site/patches").iterdir()
    patch = file.read_bytes()
    source.replace_patch(b"<!DOCTYPE html><p>Here was a patch.")
    [(_, message)] = faults(source)
    assert message == ("does not produce the listed bytes: it is not a patch")
    file.write_bytes(patch)
    [(_, message)] = faults(source)
    assert message == f"does not have the bytes that are stated: {len(patch)} bytes, not 35"
    file.unlink()
    assert faults(source, deep=False) == []
    [(_, message)] = faults(source)
    assert message.startswith("cannot be fetched")
