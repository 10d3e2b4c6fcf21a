"""Patches in Change Lists: which there are, what they make of the previous bytes, and how long they stay."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from pelican_resourcesync.publication.model.resource import Representation, Resource
from pelican_resourcesync.settings import Archives, VersionOptions
from pelican_resourcesync.system.dcz import zstd
from tests.kit.publications import SITEURL, Source, utc
from tests.kit.reader import RS, SITEMAP, XmlEntry

PATCH = "http://www.openarchives.org/rs/terms/patch"
OPTIONS: dict[str, Any] = {"patches": True, "versions": VersionOptions()}


def text(seed: int, length: int = 40_000) -> bytes:
    """Return a text that only resembles itself."""
    return random.Random(seed).randbytes(length // 2).hex().encode()


A = text(1)
B = A[:10_000] + b"something new" + A[10_500:]
C = b"And at the beginning" + B


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set that is not published yet."""
    return Source(tmp_path / "output")


def patches(source: Source) -> list[tuple[str, bytes]]:
    """Return the files of patches of the publication, by their paths."""
    return [(path, data) for path, data in source.documents().items() if path.endswith(".dcz")]


def links(source: Source) -> Iterator[tuple[XmlEntry, dict[str, str]]]:
    """Yield each change that links to a patch, with the attributes of the link."""
    for _, document in source.change_lists():
        for each, url in zip(document.entries, etree.fromstring(document.data).iter(f"{SITEMAP}url"), strict=True):
            yield from ((each, dict(link.attrib)) for link in url.iter(f"{RS}ln") if link.get("rel") == PATCH)


def linked(source: Source) -> Iterator[tuple[XmlEntry, bytes]]:
    """Yield each change that has a patch, which is as its link says, with the patch."""
    for each, link in links(source):
        assert link["href"].startswith(f"{source.siteurl}/")
        data = (source.output / link["href"].removeprefix(f"{source.siteurl}/")).read_bytes()
        assert link["type"] == "application/x-dcz"
        assert link["length"] == str(len(data))
        assert link["hash"] == f"sha-256:{hashlib.sha256(data).hexdigest()}"
        yield each, data


def unpacked(patch: bytes, old: bytes) -> bytes:
    """Apply a patch as any decoder of Zstandard does, which skips its header."""
    assert patch[8:40] == hashlib.sha256(old).digest()
    return bytes(zstd.decompress(patch, zstd_dict=zstd.ZstdDict(old, is_raw=True).as_prefix))


@pytest.mark.promise("Patched exactly")
def test_updates(source: Source) -> None:
    """The update of a large file links to a patch from the bytes of before, which is far smaller than the file."""
    source.publish({"a.html": A, "same.html": text(2)}, "2024-03-01T12:00", **OPTIONS)
    source.publish({"a.html": B, "same.html": text(2)}, "2024-03-02T12:00", **OPTIONS)
    source.publish({"a.html": C, "same.html": text(2)}, "2024-03-03T12:00", **OPTIONS)
    steps = [(A, B), (B, C)]
    found = [*linked(source)]
    assert [each.uri for each, _ in found] == [f"{SITEURL}/a.html"] * len(steps)
    for (each, patch), (old, new) in zip(found, steps, strict=True):
        assert unpacked(patch, old) == new
        assert each.md["hash"] == f"sha-256:{hashlib.sha256(new).hexdigest()}"
        assert len(patch) < len(new) / 100
    documents = source.state()["documents"]
    assert {path: documents[path] for path, _ in patches(source)} == {
        path: hashlib.sha256(data).hexdigest() for path, data in patches(source)
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (A[:16_000], A[:16_001]),
        (A[:16_001], A[:16_000]),
        (A, random.Random(3).randbytes(40_000)),
        (A + bytes(8_388_608), A),
        (A, A + bytes(8_388_608)),
        (None, A),
        (A, None),
    ],
)
def test_none(source: Source, old: bytes | None, new: bytes | None) -> None:
    """Files that are small or too large have no patch, nor those that have too little in common, or come, or go."""
    for time, data in (("2024-03-01T12:00", old), ("2024-03-02T12:00", new)):
        files = {"a.html": data, "b.html": text(2)}
        source.publish({path: data for path, data in files.items() if data is not None}, time, **OPTIONS)
    assert [*source.changes()]
    assert (patches(source), [*linked(source)]) == ([], [])


def test_not_asked_for(source: Source) -> None:
    """Nothing is patched unless that is asked for."""
    for day, data in ((1, A), (2, B)):
        source.publish({"a.html": data}, f"2024-03-0{day}T12:00", versions=VersionOptions())
    assert (patches(source), [*linked(source)]) == ([], [])


def test_two_files_and_back(source: Source) -> None:
    """Files with the same bytes share a patch; the same step later has the same patch, byte for byte."""
    for day, data in enumerate((A, B, A), 1):
        source.publish({"a.html": data, "b.html": data}, f"2024-03-0{day}T12:00", **OPTIONS)
    before = dict(patches(source))
    assert len(before) == 2
    [changed] = [path for path in before if path.endswith(f"-{hashlib.sha256(B).hexdigest()}.dcz")]
    # As another version of the library would have written it.
    (source.output / changed).unlink()
    options = {zstd.CompressionParameter.checksum_flag: True}
    other = zstd.compress(B, options=options, zstd_dict=zstd.ZstdDict(A, is_raw=True).as_prefix)
    (source.output / changed).write_bytes(before[changed][:40] + other)
    source.reseal()
    source.publish({"a.html": B, "b.html": B}, "2024-03-04T12:00", **OPTIONS)
    assert dict(patches(source)) == before | {changed: before[changed][:40] + other}
    with pytest.raises(AssertionError):  # only what this test wrote differs from what the first link says
        [*linked(source)]
    assert [link["length"] for _, link in links(source)][-2:] == [str(40 + len(other))] * 2


def test_stay_with_their_lists(source: Source) -> None:
    """Patches stay as long as a Change List links to them, also if no more are asked for; then for one generation."""
    source.publish({"a.html": A}, "2024-03-01T12:00", **OPTIONS)
    source.publish({"a.html": B}, "2024-03-02T12:00", **OPTIONS)
    [(march, _)] = patches(source)
    source.publish({"a.html": C}, "2024-04-02T12:00", **OPTIONS)
    [april] = {path for path, _ in patches(source)} - {march}
    source.publish({"a.html": A}, "2024-05-02T12:00")
    assert {path for path, _ in patches(source)} == {march, april}
    assert len([*linked(source)]) == 2
    source.publish({"a.html": B}, "2024-06-02T12:00", archives=Archives(changelist=2))
    state = source.state()
    assert (march in state["superseded"], march in state["documents"]) == (True, False)
    source.publish({"a.html": C}, "2024-06-03T12:00", archives=Archives(changelist=2))
    assert [path for path, _ in patches(source)] == [april]


def test_moved(tmp_path: Path) -> None:
    """When the site has moved, the patches of its former address, to which closed lists link, go."""
    source = Source(tmp_path / "output")
    for day, data in ((1, A), (2, B)):
        source.publish({"a.html": data}, f"2024-03-0{day}T12:00", **OPTIONS)
    moved = Source(source.output, siteurl="https://example.net")
    moved.publish({"a.html": C}, "2024-03-03T12:00", moved_from=SITEURL, **OPTIONS)
    assert [path for path in moved.state()["documents"] if path.endswith(".dcz")] == []


def test_forget(source: Source) -> None:
    """What is forgotten has no patch any more; the others go to the new addresses, and the links with them."""
    other = text(4)
    source.publish({"a.html": A, "b.html": other}, "2024-03-01T12:00", **OPTIONS)
    source.publish({"a.html": B, "b.html": other + b"!"}, "2024-03-02T12:00", **OPTIONS)
    assert len(patches(source)) == 2
    source.forget(f"{SITEURL}/a.html", built=utc("2024-03-03T12:00"))
    [(path, data)] = patches(source)
    assert path.startswith("resourcesync/site/2/patches/")
    assert unpacked(data, other) == other + b"!"
    assert [(each.uri, patch) for each, patch in linked(source)] == [(f"{SITEURL}/b.html", data)]
    source.publish({"b.html": other}, "2024-03-04T12:00", **OPTIONS)
    assert [unpacked(patch, old) for (_, patch), old in zip(linked(source), (other, other + b"!"), strict=True)] == [
        other + b"!",
        other,
    ]


def test_damaged_version(source: Source) -> None:
    """A version that has other bytes than its name says costs the patch and nothing else."""
    source.publish({"a.html": A}, "2024-03-01T12:00", **OPTIONS)
    [version] = (source.output / "resourcesync/site/versions").iterdir()
    version.write_bytes(A[:-1] + b"!")
    source.publish({"a.html": B}, "2024-03-02T12:00", **OPTIONS)
    assert (patches(source), [*linked(source)]) == ([], [])
    assert [row[1] for row in source.rows()] == ["created", "updated"]


def test_without_versions_of_before(source: Source) -> None:
    """The first publication with versions has no bytes of before; nor has a file that is not there."""
    source.publish({"a.html": A}, "2024-03-01T12:00")
    source.publish({"a.html": B}, "2024-03-02T12:00", **OPTIONS)
    assert patches(source) == []
    elsewhere = Resource(f"{SITEURL}/a.html", None, measured=Representation.measured("0" * 64, 50_000, "text/html"))
    source.publish([elsewhere], "2024-03-03T12:00", patches=True)
    assert patches(source) == []
