"""Packed bytes taken from the previous Resource Dump: the same packages as without, and nothing that is not true."""

import shutil
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import md5, sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import BytesError, PublicationError
from pelican_resourcesync.protocol import Hash, Limits
from pelican_resourcesync.publication import ChangeHistory, Dumps, Representation, Resource
from pelican_resourcesync.publication.dumps.previous_packages import PreviousPackages, _members
from pelican_resourcesync.publication.dumps.verifier import ExpectedBytes
from pelican_resourcesync.publication.previous.previous import PreviousPublication, read_previous
from tests.publication.support import SITEURL, Source, publish_one, utc
from tests.support.work import counted

DUMPS: dict[str, Any] = {"dumps": Dumps(resourcedump=True)}
TEXT, OTHER = b"<p>some text</p>" * 50, b"<p>more text</p>" * 50
CONTENTS = {f"{name}.html": TEXT + name.encode() for name in "abcd"} | {"e.png": bytes(range(256)), "f.txt": b""}


def packages(source: Source) -> dict[str, bytes]:
    """Return the packages and their manifests of the current Resource Dump."""
    listed = source.document(source.capabilities()["resourcedump"])
    parts = [listed] if listed.root == "urlset" else [source.document(each.uri) for each in listed.entries]
    paths = [each.uri.removeprefix(f"{SITEURL}/") for part in parts for each in part.entries]
    assert paths or not source.resource_list()
    manifests = [path.replace(".zip", "-manifest.xml") for path in paths]
    return {path: (source.output / path).read_bytes() for path in (*paths, *manifests)}


def members(source: Source) -> dict[str, bytes]:
    """Return the members of all packages but the manifests, after `zipfile` has tested them."""
    found: dict[str, bytes] = {}
    for path in packages(source):
        if path.endswith(".zip"):
            with ZipFile(source.output / path) as package:
                assert package.testzip() is None
                found |= {each: package.read(each) for each in package.namelist() if each != "manifest.xml"}
    return found


def packed_anew() -> Any:
    """Return a context in which nothing is found in previous packages."""
    return patch.object(PreviousPackages, "find", lambda *_, **__: None)


_states = st.dictionaries(
    st.sampled_from(
        ["index.html", "a/b.html", "A.html", "a.html", "b&'c.html", "caf%C3%A9.txt", "e.png", "z/index.html"]
    ),
    st.sampled_from([b"", b"1", b"2", TEXT, OTHER, bytes(3_000)]),
    max_size=7,
)


@settings(max_examples=max(25, settings().max_examples // 100))
@given(
    states=st.lists(_states, min_size=2, max_size=4),
    size=st.sampled_from([1, 9_000, 12_000, 100_000_000]),
    entries=st.sampled_from([1, 2, 3, 50_000]),
)
def test_the_same_as_packed_anew(states: Sequence[Mapping[str, bytes]], size: int, entries: int) -> None:
    """Whatever changes, and however resources are divided: package for package, the same bytes."""
    options: dict[str, Any] = {"dumps": Dumps(resourcedump=True, package_size=size), "limits": Limits(entries=entries)}
    with TemporaryDirectory() as folder:
        one, other = Source(Path(folder) / "one"), Source(Path(folder) / "other")
        for day, contents in enumerate(states, 1):
            one.publish(contents, f"2024-01-0{day}T12:00", **options)
            with packed_anew():
                other.publish(contents, f"2024-01-0{day}T12:00", **options)
            assert packages(one) == packages(other)
            assert sorted(members(one).values()) == sorted(contents.values())


def test_what_is_read_and_packed(source: Source) -> None:
    """Only what changed is packed again; the bytes of the others come from one pass over the previous packages."""
    source.publish(CONTENTS, "2024-01-05T12:00", **DUMPS)
    changed = CONTENTS | {"b.html": OTHER}
    with patch("zlib.compressobj", wraps=zlib.compressobj) as deflating:
        source.publish(changed, "2024-01-06T12:00", **DUMPS)
    assert deflating.call_count == 2  # b.html, and the manifest
    assert members(source) == {f"resources/{path}": data for path, data in changed.items()}
    resources = [Resource(f"{SITEURL}/{path}", source.write(path, data), measured=measured(data, path))
                 for path, data in changed.items()]  # fmt: skip
    (source.output / "a.html").write_bytes(b"A")
    resources[0] = Resource(f"{SITEURL}/a.html", source.output / "a.html", measured=measured(b"A", "a.html"))
    with counted() as work:
        publish_one(resources, ChangeHistory(built=utc("2024-01-07T12:00")), source.cuts, source.options(**DUMPS),
                    source.previous())  # fmt: skip
    assert {path.name for path in work.opened if path.name in CONTENTS} == {"a.html"}


def measured(data: bytes, path: str, algorithm: str = "sha-256") -> Representation:
    """Return what is listed of these bytes."""
    digest = (sha256 if algorithm == "sha-256" else md5)(data).hexdigest()
    kind = {"html": "text/html", "png": "image/png", "txt": "text/plain"}[path.rpartition(".")[2]]
    return Representation(Hash(algorithm=algorithm, digest=digest), len(data), kind)


def test_a_file_that_is_gone(source: Source) -> None:
    """Bytes that are packed already stay in the dump if their file cannot be found any more; other bytes do not."""
    source.publish(CONTENTS, "2024-01-05T12:00", **DUMPS)
    kept = [
        Resource(f"{SITEURL}/{path}", None, measured=measured(CONTENTS[path], path)) for path in ("a.html", "e.png")
    ]
    gone = Resource(f"{SITEURL}/c.html", None, measured=measured(OTHER, "c.html"))
    told = ChangeHistory(built=utc("2024-01-06T12:00"))
    publish_one([*kept, gone], told, source.cuts, source.options(**DUMPS), source.previous())
    assert members(source) == {f"resources/{path}": CONTENTS[path] for path in ("a.html", "e.png")}
    assert len(source.resource_list()) == 3


def test_other_facts_about_the_same_bytes(source: Source) -> None:
    """MD5 is enough; without a hash, or with another way to pack, bytes are packed again."""
    file = source.write("a.html", TEXT)
    other = [Resource(f"{SITEURL}/b.html", source.write("b.html", data)) for data in (b"1", b"2", b"3", b"4")]

    def publish(number: int, representation: Representation) -> int:
        told = ChangeHistory(built=utc(f"2024-01-0{number + 1}T12:00"))
        resource = Resource(f"{SITEURL}/a.html", file, measured=representation)
        source.write("b.html", b"%d" % (number + 1))
        with counted() as work:
            publish_one([resource, replace(other[number])], told, source.cuts, source.options(**DUMPS),
                        source.previous())  # fmt: skip
        assert members(source)["resources/a.html"] == TEXT
        return sum(count for path, count in work.opened.items() if path.name == "a.html")

    by_md5 = measured(TEXT, "a.html", "md5")
    assert [publish(0, by_md5), publish(1, by_md5)] == [1, 0]
    assert publish(2, replace(by_md5, type="image/png")) == 1
    assert publish(3, replace(by_md5, hash=None)) == 1


def written(*files: tuple[str, bytes, int], prefix: bytes = b"") -> bytes:
    """Write a ZIP file with `zipfile`, from names, bytes and methods."""
    stream = BytesIO()
    stream.write(prefix)
    with ZipFile(stream, "a") as package:
        for name, data, method in files:
            package.writestr(ZipInfo(name), data, method)
    return stream.getvalue()


def deflated(data: bytes) -> bytes:
    """Deflate bytes."""
    deflate = zlib.compressobj(-1, zlib.DEFLATED, -15)
    return deflate.compress(data) + deflate.flush()


def raw(name: str, packed: bytes, method: int = ZIP_DEFLATED, size: int | None = None, extra: bytes = b"") -> bytes:
    """Write only the header and the packed bytes of a member."""
    packed_size = len(packed) if size is None else size
    header = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, method, 0, 33, 0, packed_size, 800, len(name), len(extra))
    return header + name.encode() + extra + packed


def tampered(source: Source, path: str, data: bytes) -> PreviousPublication:
    """Replace a document of a publication; read it as one whose listing is kept, so that it is not checked as a whole.

    Without a kept listing such a publication is refused: see `test_hostile_previous`.
    """
    previous = source.previous()
    assert previous
    (source.output / path).write_bytes(data)
    source.reseal()
    found = read_previous(source.output, source.layout, find=lambda _: previous.resources)
    assert found
    return found


GOOD = ("resources/a.html", TEXT, ZIP_DEFLATED)
HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "not a ZIP file": lambda _: b"x" * 5_000,
    "cut": lambda package: package[: len(package) // 2],
    "cut in a header": lambda package: package[:10],
    "other bytes": lambda _: written(("resources/a.html", OTHER, ZIP_DEFLATED)),
    "stored": lambda _: written(("resources/a.html", TEXT, ZIP_STORED)),
    "damaged": lambda _: raw("resources/a.html", b"\xff" * 100),
    "not finished": lambda _: raw("resources/a.html", deflated(TEXT)[:-3]),
    "something behind": lambda _: raw("resources/a.html", deflated(TEXT) + b"hidden"),
    "longer": lambda _: raw("resources/a.html", deflated(TEXT + b"hidden")),
    "a bomb": lambda _: raw("resources/a.html", deflated(bytes(900_000_000 // 1_000))),
    "64 bits": lambda _: raw("resources/a.html", deflated(TEXT), size=0xFFFFFFFF),
    "64 bits, far": lambda _: raw(
        "resources/a.html", b"", size=0xFFFFFFFF, extra=struct.pack("<2H2Q", 1, 16, 2**60, 2**60)
    ),
    "something before": lambda _: written(GOOD, prefix=b"MZ"),
    "names that differ": lambda _: written(("evil.html", TEXT, ZIP_DEFLATED)),
    "members exchanged": lambda _: written(("resources/b.html", OTHER, ZIP_DEFLATED), GOOD),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_package(source: Source, how: str) -> None:
    """A package that `publication.json` vouches for may hold anything: what is published is true all the same."""
    source.publish({"a.html": TEXT, "b.html": OTHER}, "2024-01-05T12:00", **DUMPS)
    [package] = [path for path in packages(source) if path.endswith(".zip")]
    previous = tampered(source, package, HOSTILE[how]((source.output / package).read_bytes()))
    with packed_anew():
        expected = Source(source.output.parent / "other")
        expected.publish({"a.html": TEXT, "b.html": OTHER}, "2024-01-05T12:00", **DUMPS)
        expected.publish({"a.html": TEXT, "b.html": OTHER + b"!"}, "2024-01-06T12:00", **DUMPS)
    source.publish({"a.html": TEXT, "b.html": OTHER + b"!"}, "2024-01-06T12:00", previous, **DUMPS)
    assert packages(source) == packages(expected)


def test_bytes_that_are_nowhere(source: Source) -> None:
    """Where neither the package nor the file has the bytes that are listed, nothing is published."""
    source.publish({"a.html": TEXT, "b.html": OTHER}, "2024-01-05T12:00", **DUMPS)
    [package] = [path for path in packages(source) if path.endswith(".zip")]
    previous = tampered(source, package, HOSTILE["other bytes"](b""))
    file = source.write("a.html", OTHER)
    resources = [Resource(f"{SITEURL}/a.html", file, measured=measured(TEXT, "a.html"))]
    with pytest.raises(BytesError, match=r"a\.html is no longer the"):
        publish_one(resources, ChangeHistory(built=utc("2024-01-06T12:00")), source.cuts, source.options(**DUMPS),
                    previous)  # fmt: skip


def test_a_hostile_manifest(source: Source) -> None:
    """A manifest that names other resources, or is none, leads to no wrong bytes."""
    source.publish(CONTENTS, "2024-01-05T12:00", **DUMPS)
    [manifest] = [path for path in packages(source) if path.endswith(".xml")]
    data = packages(source)[manifest]
    data = data.replace(b"/a.html</loc>", b"/0.html</loc>").replace(b"/c.html</loc>", b"/a.html</loc>")
    changed = CONTENTS | {"b.html": OTHER}
    source.publish(changed, "2024-01-06T12:00", tampered(source, manifest, data), **DUMPS)
    assert members(source) == {f"resources/{path}": data for path, data in changed.items()}
    [manifest] = [path for path in packages(source) if path.endswith(".xml")]
    changed["b.html"] = TEXT
    for data in (b"", b"<urlset>", b"\xff</loc>" * 9, b"x" * 600_000):
        with TemporaryDirectory() as folder:
            shutil.copytree(source.output, folder, dirs_exist_ok=True)
            other = Source(Path(folder))
            other.publish(changed, "2024-01-07T12:00", tampered(other, manifest, data), **DUMPS)
            assert members(other) == {f"resources/{path}": data for path, data in changed.items()}


def test_a_package_that_vanishes(source: Source) -> None:
    """What cannot be read is named."""
    source.publish(CONTENTS, "2024-01-05T12:00", **DUMPS)
    [package] = [path for path in packages(source) if path.endswith(".zip")]
    previous = source.previous()
    (source.output / package).unlink()
    with pytest.raises(PublicationError, match=r"is damaged: resourcesync/site/resourcedump-.*\.zip: No such file"):
        source.publish(CONTENTS | {"a.html": OTHER}, "2024-01-07T12:00", previous, **DUMPS)


def test_a_large_member_is_packed_again(source: Source) -> None:
    """What is larger than is held in memory is skipped, and what follows is found."""
    pages = {"a.html": bytes(1_500_000), "b.png": bytes(range(250)) * 5_000, "c.html": TEXT}
    source.publish(pages, "2024-01-05T12:00", **DUMPS)
    previous = source.previous()
    assert previous
    paths = [path for path in packages(source) if path.endswith(".zip")]
    found = PreviousPackages(previous, paths)
    claims = [ExpectedBytes(f"{SITEURL}/{path}", len(data), measured(data, path).hash) for path, data in pages.items()]
    assert [found.find(each, deflated=not each.uri.endswith("png")) is None for each in claims] == [True, True, False]
    found.close()


def test_members_of_four_gigabytes_are_skipped() -> None:
    """The packed size may be in 64 bits."""
    large = raw("a", b"", size=0xFFFFFFFF, extra=struct.pack("<2H2Q", 1, 16, 2_000_000, 2_000_000)) + bytes(2_000_000)
    assert [*_members(BytesIO(large + raw("b", b"data")))] == [b"", b"data"]
