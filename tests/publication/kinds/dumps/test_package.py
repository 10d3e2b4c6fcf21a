"""Packages: what is in them, and what their manifests say."""

import shutil
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import md5, sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import BytesError, DocumentError, PublicationError
from pelican_resourcesync.protocol import ChangeKind, Entry, Hash, Metadata
from pelican_resourcesync.publication.kinds.packages import PackageMember, open_member, open_package, write_package
from tests.kit.publications import SITEURL
from tests.kit.reader import XmlDocument, XmlEntry
from tests.publication.kinds.dumps.support import (
    CHANGES,
    RESOURCES,
    UP,
    bitstream,
    deletion,
    entry,
    infos,
    listed,
    members,
    packed,
)

PAGE, PICTURE = b"<p>A page</p>" * 400, bytes(range(256)) * 300
LARGE = 40_000  # bytes
HASHED = f"/resources/~{sha256(f'{SITEURL}/a.html'.encode()).hexdigest()}"


def test_an_earlier_package_that_cannot_be_read(tmp_path: Path) -> None:
    """One message names the package, and the member."""
    file = tmp_path / "dump.zip"
    with pytest.raises(PublicationError, match=r"the package dump\.zip cannot be read \([^\[]*\): upload it again"):
        open_package(file)
    file.write_bytes(b"PK")
    with pytest.raises(PublicationError, match=r"the package dump\.zip cannot be read \([^\[]*\): upload it again"):
        open_package(file)
    file.write_bytes(packed([bitstream("a.html", PAGE)])[0])
    with open_package(file) as package:
        assert open_member(package, "resources/a.html").read() == PAGE
        with pytest.raises(PublicationError, match=r"b\.html cannot be read from the package dump\.zip"):
            open_member(package, "b.html")


def test_resource_dump_package() -> None:
    """RD03 to RD06: the members are the bytes, the manifest lists them in order, each with its path."""
    package, manifest = packed(
        [
            bitstream("", PAGE),
            bitstream("a/knoepfe.jpg", PICTURE, "image/jpeg"),
            bitstream("b.txt", b"", "text/plain"),
        ]
    )
    found = members(package)
    assert list(found) == ["resources/index.html", "resources/a/knoepfe.jpg", "resources/b.txt", "manifest.xml"]
    assert list(found.values())[:3] == [PAGE, PICTURE, b""]
    assert manifest == found["manifest.xml"]  # RD02
    assert listed(package) == XmlDocument(
        root="urlset",
        md={"capability": "resourcedump-manifest", "at": "2024-02-29T12:00:07Z"},
        links={"up": UP.href},
        entries=[
            XmlEntry(
                f"{SITEURL}/{path}",
                "2024-02-29T12:00:07Z",
                None,
                {"hash": f"sha-256:{sha256(data).hexdigest()}", "length": str(len(data)), "type": kind, "path": name},
            )
            for path, data, kind, name in (
                ("", PAGE, "text/html", "/resources/index.html"),
                ("a/knoepfe.jpg", PICTURE, "image/jpeg", "/resources/a/knoepfe.jpg"),
                ("b.txt", b"", "text/plain", "/resources/b.txt"),
            )
        ],
    )


def test_change_dump_package() -> None:
    """CD02 to CD04: each change has its bitstream, under paths of their own; a deletion has none."""
    created = bitstream("a.html", b"one", change=ChangeKind.CREATED)
    updated = bitstream("a.html", b"two", change=ChangeKind.UPDATED)
    package, _ = packed([created, updated, deletion("a.html")], CHANGES)
    assert members(package) | {"manifest.xml": b""} == {
        "resources/a.html": b"one", HASHED[1:]: b"two", "manifest.xml": b""
    }  # fmt: skip
    changes = [
        (item.uri, item.md["change"], item.md.get("path"), item.md["datetime"]) for item in listed(package).entries
    ]
    uri, time = f"{SITEURL}/a.html", "2024-02-29T12:00:07Z"
    assert changes == [
        (uri, "created", "/resources/a.html", time),
        (uri, "updated", HASHED, time),
        (uri, "deleted", None, time),
    ]
    assert listed(package).md == {
        "capability": "changedump-manifest",
        "from": "2024-02-01T12:00:07Z",
        "until": "2024-02-29T12:00:07Z",
    }


def test_what_needs_zip64(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file and a package of more than 4 GiB, in small."""
    with monkeypatch.context() as small:
        small.setattr(zipfile, "ZIP64_LIMIT", 1_000)
        package, _ = packed([bitstream("a.html", PAGE), bitstream("b.png", PICTURE, "image/png")])
    assert b"PK\x06\x06" in package  # the end of a central directory of ZIP64
    assert [*members(package).values()][:2] == [PAGE, PICTURE]


def test_memory_does_not_grow_with_what_is_packed(tmp_path: Path) -> None:
    """Of a large file, a block at a time, and of thousands of small ones, what the end of the package lists."""
    large = [bitstream("a.mp4", PICTURE * 400, "video/mp4")]
    small = [bitstream(f"{number}.html", b"<p>") for number in range(3_000)]
    for bitstreams in (large, small):
        with (tmp_path / "a.zip").open("wb") as package, (tmp_path / "a.xml").open("wb+") as manifest:
            tracemalloc.start()
            write_package(package, manifest, RESOURCES, iter(bitstreams), base=SITEURL)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert most < 10_000_000


def test_how_members_are_packed() -> None:
    """Text is deflated, what is compressed already and what is empty is stored; times are those of the resources."""
    late = datetime(2023, 5, 6, 7, 8, 9, tzinfo=UTC)
    package, _ = packed(
        [
            bitstream("a.html", PAGE, lastmod=late),
            bitstream("b.jpg", PICTURE, "image/jpeg", lastmod=None),
            bitstream("c.txt", b"", "text/plain"),
        ]
    )
    assert {(info.create_system, info.external_attr) for info in infos(package)} == {(3, 0o100644 << 16)}
    assert [(info.compress_type, info.date_time) for info in infos(package)] == [
        (ZIP_DEFLATED, (2023, 5, 6, 7, 8, 8)),
        (ZIP_STORED, (1980, 1, 1, 0, 0, 0)),
        (ZIP_STORED, (2024, 2, 29, 12, 0, 6)),
        (ZIP_DEFLATED, (2024, 2, 29, 12, 0, 6)),
    ]


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (datetime(2024, 2, 29, 12, 0, 7, 999_000, tzinfo=UTC), (2024, 2, 29, 12, 0, 6)),
        (datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), (2023, 12, 31, 23, 30, 0)),
        (datetime(1979, 12, 31, 23, 59, 59, tzinfo=UTC), (1980, 1, 1, 0, 0, 0)),
        (datetime(2107, 12, 31, 23, 59, 59, tzinfo=UTC), (2107, 12, 31, 23, 59, 58)),
        (datetime(2108, 1, 1, tzinfo=UTC), (2107, 12, 31, 23, 59, 58)),
    ],
)
def test_times(moment: datetime, shown: tuple[int, ...]) -> None:
    """Times are in UTC, even seconds, from 1980 to 2107; what the format has not is the nearest that it has."""
    assert infos(packed([bitstream("a", b"", lastmod=moment)])[0])[0].date_time == shown


@pytest.mark.parametrize(
    "command",
    [["unzip", "-t"], ["zipinfo"], ["zip", "-T"], ["jar", "tf"], ["7z", "t"], ["bsdtar", "-tf"]],
    ids=lambda command: str(command[0]),
)
def test_other_readers(tmp_path: Path, command: list[str]) -> None:
    """Other programs find nothing wrong."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    file = tmp_path / "package.zip"
    file.write_bytes(
        packed([bitstream("a/b.html", PAGE), bitstream("b", b""), bitstream("c", PICTURE, "image/png")])[0]
    )
    done = subprocess.run([*command, str(file)], check=False, capture_output=True)
    assert (done.returncode, b"warning" in done.stderr.lower()) == (0, False), done


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.binary(max_size=200), st.sampled_from(["text/html", "image/png"]), st.booleans()
        ),
        max_size=12,
    )
)
def test_any_bitstreams(files: list[tuple[str, bytes, str, bool]]) -> None:
    """Whatever is packed: every path leads to the bytes of its entry, and every member has its entry."""
    factor = LARGE // 100
    package, _ = packed(bitstream(path, data * factor if large else data, kind) for path, data, kind, large in files)
    found = members(package)
    found.pop("manifest.xml")
    seen = [(item.md["hash"], item.md["length"]) for item in listed(package).entries]
    paths = [item.md["path"].removeprefix("/") for item in listed(package).entries]
    assert seen == [(f"sha-256:{sha256(found[path]).hexdigest()}", str(len(found[path]))) for path in paths]
    assert paths == list(found)


def test_files_are_closed(tmp_path: Path) -> None:
    """One file is open at a time, and none in the end, also where packing stops."""
    opened: list[BinaryIO] = []

    def opening(data: bytes) -> Callable[[], BinaryIO]:
        def opened_now() -> BinaryIO:
            assert all(stream.closed for stream in opened)
            opened.append(BytesIO(data))
            return opened[-1]

        return opened_now

    right = [replace_open(bitstream(f"{number}.html", PAGE), opening(PAGE)) for number in range(3)]
    packed(right)
    wrong = replace_open(bitstream("wrong.html", PAGE), opening(PAGE + b"!"))
    with pytest.raises(PublicationError):
        packed([*right, wrong])
    assert [stream.closed for stream in opened] == [True] * 7


def replace_open(given_bitstream: PackageMember, opener: Callable[[], BinaryIO]) -> PackageMember:
    """Return the bitstream with other bytes than its entry says."""
    return given_bitstream._replace(open=opener)


@pytest.mark.parametrize("length", [100, 1_500_000])
@pytest.mark.parametrize("kind", ["text/html", "image/jpeg"])
@pytest.mark.parametrize("change", ["grown", "shrunk", "other", "emptied", "endless"])
def test_a_file_that_changes_while_it_is_packed(tmp_path: Path, length: int, kind: str, change: str) -> None:
    """Bytes that are not those listed are an error that names the URI, whoever comes after them."""
    data = b"x" * length
    bytes_now = {
        "grown": data + b"x",
        "shrunk": data[1:],
        "other": b"y" + data[1:],
        "emptied": b"",
        "endless": data * 9,
    }[change]
    wrong = replace_open(bitstream("a/wrong.bin", data, kind), lambda: BytesIO(bytes_now))
    for after in ([], [bitstream("right.html", PAGE)], [bitstream("right.jpg", PICTURE, "image/jpeg")] * 20):
        with pytest.raises(
            PublicationError, match=rf"^{SITEURL}/a/wrong.bin changed while .*\({length:,} bytes.* try again"
        ):
            packed([bitstream("before.html", PAGE), wrong, *after])


def test_a_file_that_grows_without_end() -> None:
    """A file that never ends is read no further than what says that it is too long."""
    read: list[int] = []

    class Endless(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            read.append(size or 0)
            return bytes(size or 0)

    for length in (100, 1_500_000):
        read.clear()
        with pytest.raises(PublicationError, match=r"a\.bin changed while it was packed, and no longer matches"):
            packed([replace_open(bitstream("a.bin", bytes(length), "image/jpeg"), Endless)])
        assert length < sum(read) < length + 600_000


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    """A file that is gone, or a folder now, is an error that names the URI and what the system says."""
    file = tmp_path / "a.html"
    with pytest.raises(PublicationError, match=rf"^{SITEURL}/a.html cannot be packed: .*No such file.*: try again"):
        packed([replace_open(bitstream("a.html", PAGE), lambda: file.open("rb"))])
    file.mkdir()
    with pytest.raises(PublicationError, match=rf"^{SITEURL}/a.html cannot be packed: "):
        packed([replace_open(bitstream("a.html", PAGE), lambda: file.open("rb"))])


def test_a_disk_that_fails_while_it_is_read() -> None:
    """An error while reading names the URI; an error while writing does not."""

    class Failing(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

        def write(self, data: object, /) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(PublicationError, match=rf"^{SITEURL}/a.html cannot be packed: .*Input/output error"):
        packed([replace_open(bitstream("a.html", PAGE), Failing)])
    with pytest.raises(OSError, match="No space left"):
        write_package(Failing(), cast("BinaryIO", BytesIO()), RESOURCES, [bitstream("a.html", PAGE)], base=SITEURL)


@pytest.mark.parametrize(
    "md",
    [
        None,
        Metadata(hash=(Hash(algorithm="sha-256", digest="ab"),)),
    ],
)
def test_entries_that_say_too_little(md: Metadata | None) -> None:
    """Without a length nobody knows what fits into a package, so it is not packed."""
    with pytest.raises(PublicationError, match=rf"the entry of {SITEURL}/a.html has no length"):
        packed([PackageMember.of(Entry(loc=f"{SITEURL}/a.html", md=md), lambda: BytesIO(b"abc"))])


def test_an_md5() -> None:
    """What a repository keeps of its files is checked likewise, and named where it does not hold."""
    good, bad = (Hash(algorithm="md5", digest=digest) for digest in (md5(b"abc").hexdigest().upper(), "0" * 32))
    right, wrong = (Entry(loc=f"{SITEURL}/a.pdf", md=Metadata(length=3, hash=(each,))) for each in (good, bad))
    assert members(packed([PackageMember.of(right, lambda: BytesIO(b"abc"))])[0])["resources/a.pdf"] == b"abc"
    said = f"{SITEURL}/a.pdf changed while it was packed, and no longer matches its entry .3 bytes, MD5 {'0' * 32}"
    with pytest.raises(BytesError, match=said) as error:
        packed([PackageMember.of(wrong, lambda: BytesIO(b"abc"))])
    assert error.value.uri == f"{SITEURL}/a.pdf"


def test_no_hash() -> None:
    """Where no hash is known that we can make, the length alone is checked."""
    for hashes in ((), (Hash(algorithm="sha-3", digest="ab"),)):
        said = Entry(loc=f"{SITEURL}/a.bin", md=Metadata(length=3, hash=hashes))
        assert members(packed([PackageMember.of(said, lambda: BytesIO(b"abc"))])[0])["resources/a.bin"] == b"abc"
        with pytest.raises(BytesError, match=r"no longer matches its entry \(3 bytes\):"):
            packed([PackageMember.of(said, lambda: BytesIO(b"abcd"))])


@pytest.mark.parametrize(
    "wrong",
    [
        replace(entry("a", b""), loc=f"{SITEURL}/ü"),
        replace(entry("a", b""), loc=f"{SITEURL}/\0"),
        entry("a", b"", "text/\ud800"),
        entry("a", b"", "text/\x0b"),
    ],
)
def test_what_no_document_can_hold(wrong: Entry) -> None:
    """An entry that no manifest can hold is a DocumentError that names it."""
    with pytest.raises(DocumentError, match=r"^the entry with loc 'https://example\.org/"):
        packed([PackageMember.of(wrong, lambda: BytesIO(b""))])
