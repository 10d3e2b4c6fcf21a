"""Packages, right, faulty and lying: members are inspected before they are read, and read within limits."""

import bz2
import lzma
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from pelican_resourcesync.checker import RULES, CheckError, check
from pelican_resourcesync.checker.document import RuleOptions
from pelican_resourcesync.checker.resources import CheckedPackage, check_package
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.checker.scan import STANDARD_LIMITS, CheckLimits
from pelican_resourcesync.errors import TooLargeError
from tests.kit.bounds import bounded
from tests.kit.documents import (
    BASE,
    CHANGE_MANIFEST,
    RESOURCE_MANIFEST,
    SNAPSHOT,
    A,
    B,
    document,
    entry,
    lay_small,
    names,
    package,
)
from tests.kit.zips import ALPHA, BETA, ENCRYPTED, GOOD, LINK, MANIFEST, STORED, UTF8, Piece, zipped

MEMBERS = {"a.txt": A, "sub/b.txt": B}


def checked_package(data: bytes, *, listed_as: str = "", limits: CheckLimits = STANDARD_LIMITS) -> list[str]:
    """Check a package, by itself or as a dump lists it."""
    findings = Findings(most=10)
    package = CheckedPackage("dump.zip", listed_as)
    check_package(BytesIO(data), package, RuleOptions(rules=RULES, limits=limits), findings)
    return [*names(findings), *findings.notes]


def test_valid_packages() -> None:
    """A package that is as its manifest says has no fault; neither has one with folders."""
    assert checked_package(package(RESOURCE_MANIFEST, MEMBERS)) == []
    assert checked_package(package(RESOURCE_MANIFEST, {"sub/": b"", **MEMBERS}), listed_as="resourcedump") == []
    assert checked_package(package(CHANGE_MANIFEST, {"1/a.txt": b"old", "1/b.txt": B}), listed_as="changedump") == []


def filled(fill: Callable[[zipfile.ZipFile], object]) -> bytes:
    """Make a ZIP file."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        fill(archive)
    return stream.getvalue()


def test_manifest_elsewhere() -> None:
    """RD04: a manifest in a folder is none."""
    assert checked_package(filled(lambda archive: archive.writestr("x/manifest.xml", RESOURCE_MANIFEST))) == [
        "RD04 MUST"
    ]
    assert checked_package(filled(lambda _: None), listed_as="changedump") == ["CD02 MUST"]


def test_bombs() -> None:
    """What grows too much is not unpacked: a member, the manifest itself, or all of it; that is no fault."""
    good = package(RESOURCE_MANIFEST, MEMBERS)
    with pytest.raises(TooLargeError, match=r"^dump\.zip: its manifest\.xml is too large$"):
        checked_package(good, limits=replace(STANDARD_LIMITS, unpacked=9))
    room = replace(STANDARD_LIMITS, unpacked=len(RESOURCE_MANIFEST))
    assert checked_package(good, limits=room) == []
    with pytest.raises(TooLargeError, match=r"^dump\.zip: its list of members has more than 20 bytes$"):
        checked_package(good, limits=replace(STANDARD_LIMITS, directory=20))


def bytes_apart(count: int, size: int) -> tuple[str, dict[str, bytes]]:
    """Return a manifest and members that cannot be compressed well, all of one size."""
    members = {f"{n}.bin": bytes((n * 7 + i * i) % 251 for i in range(size)) for n in range(count)}
    listed = "".join(entry(name, f'length="{size}" path="/{name}"') for name in members)
    return document("resourcedump-manifest", listed, ' at="2024-03-01T00:00:00Z"'), members


def test_all_members_together_have_a_budget() -> None:
    """Members that are small each are read until the budget of the whole package is spent, and then no more."""
    manifest, members = bytes_apart(6, 2_000)
    data = package(manifest, members)
    assert checked_package(data, limits=replace(STANDARD_LIMITS, unpacked=12_000)) == []
    findings = Findings(most=10)
    options = RuleOptions(rules=RULES, limits=replace(STANDARD_LIMITS, unpacked=11_999))
    check_package(BytesIO(data), CheckedPackage("dump.zip"), options, findings)
    assert names(findings) == []
    what = "the path '/5.bin' names a member that has 2,000 bytes, too many to unpack"
    assert findings.notes == [f"note: not read: dump.zip!/manifest.xml: {what}"]


def test_a_member_that_many_entries_name_is_read_within_the_budget() -> None:
    """What is read again counts again: all together are no more than the ratio times the size of the package."""
    manifest = document(
        "resourcedump-manifest",
        "".join(entry(f"{n}.txt", 'path="/zeros"') for n in range(100)),
        ' at="2024-03-01T00:00:00Z"',
    )
    data = package(manifest, {"zeros": bytes(10_000)})
    limits = replace(STANDARD_LIMITS, page=0, ratio=2_000)
    assert 400 * len(data) < 1_000_000 < 2_000 * len(data)
    assert checked_package(data, limits=replace(limits, unpacked=1_000_000)) == []
    assert checked_package(data, limits=replace(limits, unpacked=999_999))[0].startswith("note: not read: ")
    assert checked_package(data, limits=replace(limits, ratio=400))[-1].startswith("note: not read: ")


def test_package_as_target(tmp_path: Path) -> None:
    """A package in a file is a target by itself, unless it is too large."""
    file = tmp_path / "dump.zip"
    file.write_bytes(zipped([replace(MANIFEST, data=ZEROS)]))
    with pytest.raises(CheckError, match=r"its manifest\.xml is too large; nothing was checked"):
        check(str(file))
    file.write_bytes(package(RESOURCE_MANIFEST, {"a.txt": A}))
    report = check(str(file))
    assert names(report.findings) == ["RD06 MUST"]
    assert (report.packages, report.documents) == (1, 1)
    assert f"manifest.xml, line 6, entry '{BASE}b.txt': the path '/sub/b.txt' names no member" in report.as_text()


ZEROS = bytes(12_000_000)


def found(data: bytes, limits: CheckLimits = STANDARD_LIMITS) -> tuple[list[str], str]:
    """Check a package, and give what was found, and all that was said."""
    findings = Findings(most=20)
    try:
        with bounded():
            check_package(BytesIO(data), CheckedPackage("dump.zip"), RuleOptions(rules=RULES, limits=limits), findings)
    except TooLargeError as error:
        return [TOO_LARGE], str(error)
    said = [each.message for _, _, group in findings.groups() for each in group.first]
    return names(findings), "\n".join([*said, *findings.notes])


def of_path(path: str, *pieces: Piece) -> bytes:
    """Return a package whose manifest lists one member."""
    manifest = document("resourcedump-manifest", entry("a.txt", f'path="{path}"'), SNAPSHOT)
    return zipped([replace(MANIFEST, data=manifest.encode()), *pieces])


def nested() -> bytes:
    """Return a package in a package, which nobody looks into."""
    return of_path("/a.zip", Piece(name=b"a.zip", data=zipped(GOOD), method=STORED))


NO_ZIP, NO_MANIFEST, WRONG, UNLISTED = "RD03 MUST", "RD04 MUST", "RD06 MUST", "RD05 SHOULD"
TOO_LARGE = "a limit"
ZIP64 = struct.pack("<HHQQ", 1, 16, 2**62, 2**62)

CASES: dict[str, tuple[bytes, list[str], str]] = {
    "as it should be": (zipped(GOOD), [], ""),
    "after other bytes": (zipped(GOOD, before=b"#!/bin/sh\n"), [], ""),
    "before other bytes": (zipped(GOOD, comment=b"a comment"), [], ""),
    "a comment that is cut": (zipped(GOOD, comment=b"a comment")[:-3], [], ""),
    "a package in it": (nested(), [], ""),
    "cut in the list": (zipped(GOOD)[:-30], [NO_ZIP], "not a zip file"),
    "cut in a member": (zipped(GOOD)[60:], [NO_ZIP], "outside the file"),
    "a list said to be longer": (zipped(GOOD, size=10**9), [NO_ZIP], "cannot be read"),
    "a list said to be shorter": (zipped(GOOD, size=10), [NO_ZIP], "Truncated central directory"),
    "a list said to be empty": (zipped(GOOD, size=0), [NO_MANIFEST], "no manifest.xml"),
    "a list said to be elsewhere": (zipped(GOOD, offset=2**31), [NO_ZIP], "outside the file"),
    "many members said": (zipped(GOOD, count=65_535), [], ""),
    "no members said": (zipped(GOOD, count=0), [], ""),
    "no members": (zipped([]), [NO_MANIFEST], "no manifest.xml"),
    "a huge list": (zipped([], after=b"", size=10**9, before=bytes(1000)), [NO_ZIP], ""),
    "another name in the list": (zipped([MANIFEST, replace(ALPHA, listed=b"b.txt"), BETA]), [WRONG, UNLISTED], ""),
    "another name before the member": (
        zipped([MANIFEST, replace(ALPHA, name=b"b.txt", listed=b"a.txt"), BETA]), [WRONG], "File name in directory",
    ),
    "no member where it is said to be": (zipped([MANIFEST, replace(ALPHA, at=7), BETA]), [NO_MANIFEST], "can be read"),
    "a size that is too small": (zipped([MANIFEST, replace(ALPHA, size=2), BETA]), [WRONG], "read (Bad CRC-32"),
    "a size that is too large": (zipped([MANIFEST, replace(ALPHA, size=9), BETA]), [WRONG], "read (it is shorter"),
    "a size of more than there is room": (
        zipped([MANIFEST, replace(ALPHA, size=2**32 - 2), BETA]), [], "bytes, too many to unpack",
    ),
    "packed bytes that are too few": (zipped([MANIFEST, replace(ALPHA, packed_size=1), BETA]), [WRONG], ""),
    "another checksum": (zipped([MANIFEST, replace(ALPHA, crc=1), BETA]), [WRONG], "read (Bad CRC-32"),
    "another checksum of the manifest": (zipped([replace(MANIFEST, crc=1), ALPHA, BETA]), [NO_ZIP], "Bad CRC-32"),
    "nothing that can be unpacked": (
        zipped([MANIFEST, replace(ALPHA, packed=b"\xff" * 9), BETA]), [WRONG], "cannot be unpacked",
    ),
    "sizes of 2^62": (zipped([MANIFEST, replace(ALPHA, extra=ZIP64, size=2**32 - 1, packed_size=2**32 - 1), BETA]),
                      [WRONG], "overlaps another"),
    "an extra field that is cut": (zipped([MANIFEST, replace(ALPHA, extra=b"\1\0\xff\xff"), BETA]), [NO_ZIP], ""),
    "a bomb": (of_path("/a", Piece(name=b"a", data=ZEROS)), [], "12,000,000 bytes, too many to unpack"),
    "a bomb in a large package": (
        of_path("/a", Piece(name=b"a", data=bytes(1_500_000)), Piece(name=b"b", data=bytes(20_000), method=STORED)),
        [UNLISTED], "would grow to more than 200 times its size",
    ),
    "a bomb that says it is small": (of_path("/a", Piece(name=b"a", data=ZEROS, size=5)), [WRONG], "cannot be read"),
    "a bomb for a manifest": (zipped([replace(MANIFEST, data=ZEROS)]), [TOO_LARGE], "its manifest.xml is too large"),
    "a bomb for a manifest that says it is small": (zipped([replace(MANIFEST, data=ZEROS, size=9)]), [NO_ZIP], ""),
    "a bomb of bzip2": (
        of_path("/a", Piece(name=b"a", data=ZEROS, packed=bz2.compress(ZEROS), method=12, size=9)),
        [WRONG], "unsupported compression method",
    ),
    "a bomb of LZMA": (
        of_path("/a", Piece(name=b"a", data=ZEROS, packed=lzma.compress(ZEROS, preset=0), method=14, size=9)),
        [WRONG], "unsupported compression method",
    ),
    "an unknown compression": (zipped([MANIFEST, replace(ALPHA, method=99), BETA]), [WRONG], "unsupported compression"),
    "an unknown compression of the manifest": (zipped([replace(MANIFEST, method=99)]), [NO_MANIFEST], "can be read"),
    "encrypted": (zipped([MANIFEST, replace(ALPHA, flags=ENCRYPTED), BETA]), [WRONG], "is encrypted"),
    "strongly encrypted": (zipped([MANIFEST, replace(ALPHA, flags=0x40), BETA]), [WRONG], "is encrypted"),
    "patched": (zipped([MANIFEST, replace(ALPHA, flags=0x20), BETA]), [WRONG], "unsupported compression"),
    "one member under two names": (
        zipped([MANIFEST, ALPHA, Piece(name=b"sub/b.txt", data=A, at=len(zipped([MANIFEST])) - 80, hidden=True)]),
        [WRONG], "",
    ),
    "members in each other": (
        zipped([MANIFEST, replace(ALPHA, method=STORED, packed_size=200), BETA]), [WRONG], "overlaps another",
    ),
    "twice": (zipped([*GOOD, ALPHA]), [WRONG], "two members have the name 'a.txt'"),
    "two manifests": (zipped([*GOOD, MANIFEST]), [WRONG], "two members have the name 'manifest.xml'"),
    "a name upwards": (of_path("/../a", Piece(name=b"../a", data=A)), [WRONG], "not safe in"),
    "a name upwards inside": (of_path("/b/../../a", Piece(name=b"b/../../a", data=A)), [WRONG], "not safe in"),
    "a name from the root": (of_path("//etc/passwd", Piece(name=b"/etc/passwd", data=A)), [WRONG], "not safe in"),
    "a name with a drive": (of_path("/C:/a", Piece(name=b"C:/a", data=A)), [WRONG], "not safe in"),
    "a name with backslashes": (of_path("/..\\a", Piece(name=b"..\\a", data=A)), [WRONG], "not safe in"),
    "a name with NUL": (of_path("/a", Piece(name=b"a\0.txt", data=A)), [], ""),
    "a name that is no UTF-8": (of_path("/a", Piece(name=b"\xff\xfe", data=A, flags=UTF8)), [NO_ZIP], "not in UTF-8"),
    "a name of another code page": (of_path("/\u00e9", Piece(name=b"\x82", data=A)), [], ""),
    "a name without characters": (of_path("/", Piece(name=b"", data=A)), [WRONG], "not safe in"),
    "a symbolic link": (of_path("/a", Piece(name=b"a", data=b"/etc/passwd", attributes=LINK)), [WRONG], "symbolic"),
    "a folder": (of_path("/a/", Piece(name=b"a/")), [WRONG, "V1105 SHOULD"], "names no member"),
    "XML that could load or expand": (
        zipped([replace(MANIFEST, data=b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>")]),
        ["RD04 MUST", "X01 MUST"], "a DOCTYPE is refused",
    ),
}  # fmt: skip


def test_list_of_members_within_limits() -> None:
    """A list of members that is too long, or of too many, is not taken into memory."""
    data = zipped(GOOD)
    for limits, most in (
        (replace(STANDARD_LIMITS, directory=163), "its list of members has more than 163 bytes"),
        (replace(STANDARD_LIMITS, members=2), "it has more than 2 members"),
    ):
        assert found(data, limits) == ([TOO_LARGE], f"dump.zip: {most}")
    assert found(data, replace(STANDARD_LIMITS, members=3))[0] == []


@pytest.mark.parametrize("case", CASES)
def test_lies(case: str) -> None:
    """What is found is what is wrong, in a second and little memory."""
    data, expected, said = CASES[case]
    identifiers, messages = found(data)
    assert identifiers == expected
    assert said in messages


def test_package_of_another_format(tmp_path: Path) -> None:
    """RD03: communities may use another format, and say so in the type of the dump's entry."""
    tar = document("resourcedump", entry("dump.tar", 'type="application/x-tar" length="3"'), SNAPSHOT)
    lay_small(tmp_path, {"resourcedump": "dump.xml"}, {"dump.xml": tar, "dump.tar": "tar"})
    report = check(str(tmp_path), deep=True)
    assert (report.packages, names(report.findings)) == (1, [])
