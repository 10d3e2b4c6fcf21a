"""ZIP files within limits, member by member; what the checker finds in them is tested with it."""

import struct
import zipfile
from dataclasses import replace
from io import BytesIO
from random import Random

import pytest

from pelican_resourcesync.http import DamagedZipError, ZipLimits, ZipReader
from tests.kit.zips import ALPHA, BETA, GOOD, MANIFEST, STORED, Piece, deflated, zipped

LONG = Piece(name=b"long", data=Random(1).randbytes(512_000))  # cannot be compressed
MANY = 2**32 - 1
NO_LIMITS = ZipLimits()


def read(data: bytes, name: str = "a.txt", limits: ZipLimits = NO_LIMITS) -> bytes:
    """Read a member of a ZIP file."""
    reader = ZipReader(BytesIO(data), limits)
    assert reader.problem(name) == ""
    with reader.open(name) as stream:
        return stream.read()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_the_standard_library_writes(method: int) -> None:
    """Names and bytes are the same; a name that several members have is noted."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name in ("a", "ä/b", "ä/"):
            archive.writestr(name, name * 100_000)
    reader = ZipReader(stream, NO_LIMITS)
    assert (reader.names, reader.twice) == (["a", "ä/b"], set())
    assert read(stream.getvalue(), "ä/b") == "ä/b".encode() * 100_000
    assert ZipReader(BytesIO(zipped([*GOOD, ALPHA])), NO_LIMITS).twice == {"a.txt"}


@pytest.mark.parametrize("method", [STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [1, 1000, 70_000, 600_000])
def test_read_in_pieces(method: int, size: int) -> None:
    """Each piece is as long as was asked for, but for the last; two members can be read by turns."""
    reader = ZipReader(
        BytesIO(zipped([replace(LONG, method=method), replace(LONG, name=b"b", method=method)])), ZipLimits()
    )
    with reader.open("long") as one, reader.open("b") as two:
        found = [(one.read(size), two.read(size)) for _ in range(3)]
        assert [len(each) for each, _ in found] == [max(0, min(size, 512_000 - size * number)) for number in range(3)]
        assert all(first == second for first, second in found)
        assert b"".join(each for each, _ in found) + one.read() == LONG.data[:512_000]


def test_the_longest_comment() -> None:
    """The end of the file is found before it."""
    assert read(zipped(GOOD, comment=b"x" * 65_535)) == ALPHA.data


def test_large_numbers() -> None:
    """Those that are too large for the list of members are in extra fields, and in a second end (ZIP64)."""
    extra = struct.pack("<HHQQ", 1, 16, len(ALPHA.data), len(deflated(ALPHA.data)))
    other = struct.pack("<HHH", 2, 2, 7)
    data = zipped([MANIFEST, replace(ALPHA, extra=other + extra, size=MANY, packed_size=MANY), BETA])
    assert read(data) == ALPHA.data
    at = data.rindex(b"PK\5\6")
    size, offset = struct.unpack_from("<LL", data, at + 12)
    second = b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, 3, 3, size, offset)
    locator = b"PK\6\7" + struct.pack("<LQL", 0, at, 1)
    ending = data[at : at + 8] + struct.pack("<HHLLH", 0xFFFF, 0xFFFF, MANY, MANY, 0)
    assert read(data[:at] + second + locator + ending) == ALPHA.data
    with pytest.raises(DamagedZipError, match=r"Bad offset|cannot be unpacked"):
        read(data[:at] + ending)


def test_members_side_by_side() -> None:
    """Members overlap if one begins before another can have ended: after its header and its bytes."""
    end = 30 + len(MANIFEST.stored)
    for at, overlaps in ((end, False), (end - 1, True)):
        reader = ZipReader(BytesIO(zipped([MANIFEST, replace(ALPHA, at=at), BETA])), NO_LIMITS)
        problems = [reader.problem(name) for name in ("manifest.xml", "a.txt", "sub/b.txt")]
        assert ["overlaps" in each for each in problems] == [overlaps, overlaps, False]


def test_a_budget() -> None:
    """All members together are read within one limit, whole or in pieces."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", b"x" * 60)
        archive.writestr("b", b"y" * 60)
    reader = ZipReader(stream, ZipLimits(unpacked=100))
    assert "a" in reader
    assert "c" not in reader
    assert reader.read("a", 59) is None
    assert reader.read("a", 60) == b"x" * 60
    with pytest.raises(DamagedZipError, match="too many bytes to unpack"), reader.open("b"):
        pass
    with pytest.raises(DamagedZipError, match="too many bytes to unpack"):
        reader.read("b", 60)


def test_what_grows_too_much() -> None:
    """A member may grow a number of times, or up to a page."""
    zeros = Piece(name=b"a.txt", data=bytes(1_000))
    data = zipped([zeros, replace(LONG, method=STORED)])
    times = len(zeros.data) // len(zeros.stored)
    for limits in (ZipLimits(page=1_000, ratio=1), ZipLimits(page=999, ratio=times + 1)):
        assert read(data, limits=limits) == zeros.data
    limits = ZipLimits(page=999, ratio=times)
    assert f"would grow to more than {times} times its size" in ZipReader(BytesIO(data), limits).problem("a.txt")


def test_random_damage() -> None:
    """Whatever bytes of a file are other ones, each member has its own bytes, or cannot be read."""
    data, random = zipped(GOOD), Random(25)
    whole = {piece.name.decode(): piece.data for piece in GOOD}
    refused = 0
    for _ in range(2_000):
        damaged = bytearray(data)
        for _ in range(random.choice((1, 1, 2, 8))):
            damaged[random.randrange(len(data))] = random.randrange(256)
        try:
            reader = ZipReader(BytesIO(damaged), NO_LIMITS)
            for name in whole.keys() & set(reader.names):
                if not reader.problem(name):
                    assert reader.read(name, 10_000) in (whole[name], None)
        except DamagedZipError:
            refused += 1
    assert 1_000 < refused < 2_000
