"""ZIP files, as `zipfile`, unzip and Java read them."""

import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast
from unittest.mock import patch
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.publication.dumps.package import most_packed
from pelican_resourcesync.publication.dumps.zipwriter import Member, ZipWriter
from tests.publication.dumps.support import NOON, infos, members

WRITER = "pelican_resourcesync.publication.dumps.zipwriter"
READERS = (["unzip", "-t"], ["zipinfo"], ["zip", "-T"], ["jar", "tf"], ["7z", "t"], ["bsdtar", "-tf"])


def member(name: str, data: bytes, *, modified: datetime | None = NOON, deflated: bool = False) -> Member:
    """Say what there is to say of a member before it is written."""
    return Member(name=name, length=len(data), modified=modified, deflated=deflated)


def zipped(*files: tuple[Member, bytes], chunk: int = 1000) -> bytes:
    """Write a ZIP file of these members."""
    stream = BytesIO()
    with ZipWriter(stream) as writer:
        for each, data in files:
            writer.add(each, (data[start : start + chunk] for start in range(0, len(data), chunk)))
    assert stream.tell() == len(stream.getvalue())
    return stream.getvalue()


def test_what_stands_in_a_file() -> None:
    """Byte for byte, by the tables of APPNOTE 6.3: headers, data, directory, end; nothing else."""
    name, data = "a/ü.txt".encode(), b"abc"
    crc = zlib.crc32(data)
    how = [20, 0x800, 0, 12 << 11 | 0 << 5 | 3, (2024 - 1980) << 9 | 2 << 5 | 29]
    local = struct.pack("<L5H3L2H", 0x04034B50, *how, crc, 3, 3, len(name), 0) + name
    directory = struct.pack(
        "<L6H3L5H2L", 0x02014B50, 3 << 8 | 20, *how, crc, 3, 3, len(name), 0, 0, 0, 0, 0o100644 << 16, 0
    )
    directory += name
    end = struct.pack("<L4H2LH", 0x06054B50, 0, 0, 1, 1, len(directory), len(local) + 3, 0)
    assert zipped((member("a/ü.txt", data), data)) == local + data + directory + end


def test_read_back() -> None:
    """Members come back as they went in."""
    files = [
        (member(f"{n}{deflated}", b"ab" * n, deflated=deflated), b"ab" * n)
        for n in (0, 1, 5_000)
        for deflated in (False, True)
    ]
    held = zipped(*files)
    assert members(held) == {each.name: data for each, data in files}
    for info, (each, data) in zip(infos(held), files, strict=True):
        assert info.compress_type == (ZIP_DEFLATED if each.deflated else ZIP_STORED)
        assert (info.create_system, info.external_attr, info.file_size) == (3, 0o100644 << 16, len(data))


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (datetime(2024, 2, 29, 12, 0, 7, 999_999, tzinfo=UTC), (2024, 2, 29, 12, 0, 6)),
        (datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), (2023, 12, 31, 23, 30, 0)),
        (datetime(1980, 1, 1, 0, 0, 0, tzinfo=UTC), (1980, 1, 1, 0, 0, 0)),
        (datetime(1979, 12, 31, 23, 59, 59, tzinfo=UTC), (1980, 1, 1, 0, 0, 0)),
        (datetime(2107, 12, 31, 23, 59, 59, tzinfo=UTC), (2107, 12, 31, 23, 59, 58)),
        (datetime(2108, 1, 1, tzinfo=UTC), (2107, 12, 31, 23, 59, 58)),
        (None, (1980, 1, 1, 0, 0, 0)),
    ],
)
def test_times(moment: datetime | None, shown: tuple[int, ...]) -> None:
    """Times are in UTC, even seconds, from 1980 to 2107; what the format has not is the nearest that it has."""
    assert infos(zipped((member("a", b"", modified=moment), b"")))[0].date_time == shown


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20),
            st.binary(max_size=3000),
            st.booleans(),
        ),
        max_size=6,
        unique_by=lambda each: each[0],
    )
)
def test_any_members(files: Sequence[tuple[str, bytes, bool]]) -> None:
    """Whatever names and bytes: `zipfile` reads the same, and no member takes more than was promised."""
    data = zipped(*((member(name, content, deflated=deflated), content) for name, content, deflated in files))
    assert members(data) == {name: content for name, content, _ in files}
    assert all(info.compress_size <= most_packed(info.file_size) for info in infos(data))


_members = st.lists(
    st.tuples(
        st.text("abü/", min_size=1, max_size=5),
        st.integers(0, 3_000),
        st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2110, 1, 1), timezones=st.timezones()),  # noqa: DTZ001
        st.sampled_from(["stored", "deflated", "packed"]),
    ),
    max_size=6,
    unique_by=lambda each: each[0],
)


@settings(max_examples=max(50, settings().max_examples // 10))
@given(_members, st.sampled_from([20, 1_000, 2**31 - 1]), st.sampled_from([2, 65_535]))
def test_as_zipfile_writes(files: Sequence[tuple[str, int, datetime | None, str]], limit: int, many: int) -> None:
    """Byte for byte what `zipfile` writes, also where it uses ZIP64, here for sizes and numbers that are small."""
    expected, stream = BytesIO(), BytesIO()
    limits = {"zipfile.ZIP64_LIMIT": limit, "zipfile.ZIP_FILECOUNT_LIMIT": many, f"{WRITER}._LIMIT": limit,
              f"{WRITER}._MANY": many, f"{WRITER}._SMALL": 1_500}  # fmt: skip
    with ExitStack() as stack:
        for name, value in limits.items():
            stack.enter_context(patch(name, value))
        with ZipFile(expected, "w") as archive, ZipWriter(stream) as writer:
            for name, length, modified, how in files:
                data = (b"%d, " % length * (length // 3 + 1))[:length]
                info = ZipInfo(name, _date_time(modified))
                info.compress_type = ZIP_STORED if how == "stored" else ZIP_DEFLATED
                info.create_system, info.external_attr, info.file_size = 3, 0o100644 << 16, length
                with archive.open(info, "w") as opened:
                    opened.write(data)
                listed = Member(name, length, modified, deflated=how != "stored")
                if how == "packed":
                    deflate = zlib.compressobj(-1, zlib.DEFLATED, -15)
                    writer.add_packed(listed, zlib.crc32(data), deflate.compress(data) + deflate.flush())
                else:
                    writer.add(listed, [data[:100], data[100:]])
    assert stream.getvalue() == expected.getvalue()
    assert stream.tell() == len(stream.getvalue())


def _date_time(modified: datetime | None) -> tuple[int, int, int, int, int, int]:
    """Return a time in UTC as `zipfile` takes it, or the nearest one that it takes."""
    if modified is None or (there := modified.astimezone(UTC)).year < 1980:
        return (1980, 1, 1, 0, 0, 0)
    latest = (2107, 12, 31, 23, 59, 58)
    return min((there.year, there.month, there.day, there.hour, there.minute, there.second), latest)


@pytest.mark.parametrize("command", READERS, ids=lambda command: str(command[0]))
def test_other_readers(tmp_path: Path, command: Sequence[str]) -> None:
    """Other programs find nothing wrong."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    text = b"<p>text</p>" * 100
    file = tmp_path / "package.zip"
    file.write_bytes(
        zipped(
            (member("resources/Münze.html", text, deflated=True), text),
            (member("empty", b""), b""),
            (member("x.jpg", text * 999), text * 999),
        )
    )
    done = subprocess.run([*command, str(file)], check=False, capture_output=True)
    assert (done.returncode, b"warning" in done.stderr.lower()) == (0, False), done


class Sparse:
    """A stream that keeps short pieces and takes long ones for zeros: 4 GiB are nothing to it."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.position = self.end = 0

    def write(self, data: bytes) -> int:
        """Take bytes."""
        if len(data) < 1000:
            self.kept[self.position] = data
        self.seek(self.position + len(data))
        return len(data)

    def seek(self, position: int, whence: int = 0) -> int:
        """Go elsewhere."""
        self.position = position + (self.end if whence == 2 else self.position if whence == 1 else 0)
        self.end = max(self.end, self.position)
        return self.position

    def tell(self) -> int:
        """Tell where it is."""
        return self.position

    def flush(self) -> None:
        """Keep everything as it is."""

    def seekable(self) -> bool:
        """Say that it can."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return bytes."""
        size = self.end - self.position if size < 0 else min(size, self.end - self.position)
        found = bytearray(size)
        for start, data in self.kept.items():
            for offset in range(max(start, self.position), min(start + len(data), self.position + size)):
                found[offset - self.position] = data[offset - start]
        self.position += size
        return bytes(found)


def _claimed(length: int) -> Iterator[bytes]:
    """Yield a chunk of zeros many times, without hashing them for long."""
    chunk = bytes(2**26)
    for _ in range(length // len(chunk)):
        yield chunk
    yield chunk[: length % len(chunk)]


def test_zip64_where_there_is_no_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member of 4 GiB, one that begins behind it, and none besides, have fields of 64 bits; `zipfile` reads all."""
    monkeypatch.setattr(
        "pelican_resourcesync.publication.dumps.zipwriter.crc32", lambda data, value=0: 0
    )  # of zeros alone; 4 GiB would take seconds
    length = 2**32 + 1
    stream = Sparse()
    with ZipWriter(cast("BinaryIO", stream)) as writer:
        writer.add(member("before", b""), ())
        writer.add(Member(name="large", length=length, modified=NOON, deflated=False), _claimed(length))
        writer.add(member("behind", b"abc"), [b"abc"])
    with ZipFile(cast("BinaryIO", stream)) as archive:
        found = archive.infolist()
    assert [(info.filename, info.file_size, info.compress_size) for info in found] == [
        ("before", 0, 0), ("large", length, length), ("behind", 3, 3)
    ]  # fmt: skip
    assert [info.extract_version for info in found] == [20, 45, 45]
    assert found[2].header_offset > 2**32


def test_more_members_than_16_bits_count() -> None:
    """ZIP64 also where there are more members than 65,535; a package has fewer."""
    data = zipped(*((member(f"{number:x}", b""), b"") for number in range(65_536)))
    assert len(infos(data)) == 65_536
    assert b"PK\x06\x06" in data[-98:]
    assert b"PK\x06\x06" not in zipped((member("a", b""), b""))
