"""Packages that lie: each kind of lie once, with what is found; no member is read that should not be."""

import bz2
import lzma
import struct
from dataclasses import replace
from io import BytesIO

import pytest

from pelican_resourcesync.check import RULES
from pelican_resourcesync.check.document import Options
from pelican_resourcesync.check.limits import STANDARD_LIMITS, CheckLimits
from pelican_resourcesync.check.package import Package, check_package
from pelican_resourcesync.check.rule import Findings
from tests.check.bounds import bounded
from tests.check.documents import SNAPSHOT, A, document, entry, names
from tests.check.zips import ALPHA, BETA, ENCRYPTED, GOOD, LINK, MANIFEST, STORED, UTF8, Piece, zipped

ZEROS = bytes(12_000_000)


def found(data: bytes, limits: CheckLimits = STANDARD_LIMITS) -> tuple[list[str], str]:
    """Check a package, and give what was found, and all that was said."""
    findings = Findings(most=20)
    with bounded():
        check_package(BytesIO(data), Package("dump.zip"), Options(rules=RULES, limits=limits), findings)
    said = [each.message for _, _, group in findings.groups() for each in group.first]
    return names(findings), "\n".join(said)


def of_path(path: str, *pieces: Piece) -> bytes:
    """Give a package whose manifest lists one member."""
    manifest = document("resourcedump-manifest", entry("a.txt", f'path="{path}"'), SNAPSHOT)
    return zipped([replace(MANIFEST, data=manifest.encode()), *pieces])


def nested() -> bytes:
    """Give a package in a package, which nobody looks into."""
    return of_path("/a.zip", Piece(name=b"a.zip", data=zipped(GOOD), method=STORED))


NO_ZIP, NO_MANIFEST, WRONG, UNLISTED = "RD03 MUST", "RD04 MUST", "RD06 MUST", "RD05 SHOULD"
ZIP64 = struct.pack("<HHQQ", 1, 16, 2**62, 2**62)

CASES: dict[str, tuple[bytes, list[str], str]] = {
    "as it should be": (zipped(GOOD), [], ""),
    "after other bytes": (zipped(GOOD, before=b"#!/bin/sh\n"), [], ""),
    "before other bytes": (zipped(GOOD, comment=b"a comment"), [], ""),
    "a comment that is cut": (zipped(GOOD, comment=b"a comment")[:-3], [], ""),
    "a package in it": (nested(), [], ""),
    "cut in the list": (zipped(GOOD)[:-30], [NO_ZIP], "BadZipFile"),
    "cut in a member": (zipped(GOOD)[60:], [NO_ZIP], "BadZipFile"),
    "a list said to be longer": (zipped(GOOD, size=10**9), [NO_ZIP], "BadZipFile"),
    "a list said to be shorter": (zipped(GOOD, size=10), [NO_ZIP], "BadZipFile"),
    "a list said to be empty": (zipped(GOOD, size=0), [NO_MANIFEST], "no manifest.xml"),
    "a list said to be elsewhere": (zipped(GOOD, offset=2**31), [NO_ZIP], "BadZipFile"),
    "many members said": (zipped(GOOD, count=65_535), [], ""),
    "no members said": (zipped(GOOD, count=0), [], ""),
    "no members": (zipped([]), [NO_MANIFEST], "no manifest.xml"),
    "a huge list": (zipped([], after=b"", size=10**9, before=bytes(1000)), [NO_ZIP], ""),
    "another name in the list": (zipped([MANIFEST, replace(ALPHA, listed=b"b.txt"), BETA]), [WRONG, UNLISTED], ""),
    "another name before the member": (
        zipped([MANIFEST, replace(ALPHA, name=b"b.txt", listed=b"a.txt"), BETA]), [WRONG], "read (BadZipFile)",
    ),
    "no member where it is said to be": (zipped([MANIFEST, replace(ALPHA, at=7), BETA]), [NO_MANIFEST], "can be read"),
    "a size that is too small": (zipped([MANIFEST, replace(ALPHA, size=2), BETA]), [WRONG], "read (BadZipFile)"),
    "a size that is too large": (zipped([MANIFEST, replace(ALPHA, size=9), BETA]), [], ""),
    "a size of more than there is room": (
        zipped([MANIFEST, replace(ALPHA, size=2**32 - 2), BETA]), [WRONG], "bytes, which is not unpacked",
    ),
    "packed bytes that are too few": (zipped([MANIFEST, replace(ALPHA, packed_size=1), BETA]), [WRONG], ""),
    "another checksum": (zipped([MANIFEST, replace(ALPHA, crc=1), BETA]), [WRONG], "read (BadZipFile)"),
    "another checksum of the manifest": (zipped([replace(MANIFEST, crc=1), ALPHA, BETA]), [NO_ZIP], "BadZipFile"),
    "nothing that can be unpacked": (
        zipped([MANIFEST, replace(ALPHA, packed=b"\xff" * 9), BETA]), [WRONG], "cannot be read (error)",
    ),
    "sizes of 2^62": (zipped([MANIFEST, replace(ALPHA, extra=ZIP64, size=2**32 - 1, packed_size=2**32 - 1), BETA]),
                      [WRONG], "overlaps another"),
    "an extra field that is cut": (zipped([MANIFEST, replace(ALPHA, extra=b"\1\0\xff\xff"), BETA]), [NO_ZIP], ""),
    "a bomb": (of_path("/a", Piece(name=b"a", data=ZEROS)), [WRONG], "12,000,000 bytes, which is not unpacked"),
    "a bomb in a large package": (
        of_path("/a", Piece(name=b"a", data=bytes(1_500_000)), Piece(name=b"b", data=bytes(20_000), method=STORED)),
        [WRONG, UNLISTED], "would grow more than 200 times",
    ),
    "a bomb that says it is small": (of_path("/a", Piece(name=b"a", data=ZEROS, size=5)), [WRONG], "cannot be read"),
    "a bomb for a manifest": (zipped([replace(MANIFEST, data=ZEROS)]), [NO_MANIFEST], "can be read"),
    "a bomb for a manifest that says it is small": (zipped([replace(MANIFEST, data=ZEROS, size=9)]), [NO_ZIP], ""),
    "a bomb of bzip2": (
        of_path("/a", Piece(name=b"a", data=ZEROS, packed=bz2.compress(ZEROS), method=12, size=9)),
        [WRONG], "neither stored nor deflated",
    ),
    "a bomb of LZMA": (
        of_path("/a", Piece(name=b"a", data=ZEROS, packed=lzma.compress(ZEROS, preset=0), method=14, size=9)),
        [WRONG], "neither stored nor deflated",
    ),
    "an unknown compression": (zipped([MANIFEST, replace(ALPHA, method=99), BETA]), [WRONG], "neither stored"),
    "an unknown compression of the manifest": (zipped([replace(MANIFEST, method=99)]), [NO_MANIFEST], "can be read"),
    "encrypted": (zipped([MANIFEST, replace(ALPHA, flags=ENCRYPTED), BETA]), [WRONG], "is encrypted"),
    "strongly encrypted": (zipped([MANIFEST, replace(ALPHA, flags=0x40), BETA]), [WRONG], "NotImplementedError"),
    "patched": (zipped([MANIFEST, replace(ALPHA, flags=0x20), BETA]), [WRONG], "NotImplementedError"),
    "one member under two names": (
        zipped([MANIFEST, ALPHA, Piece(name=b"sub/b.txt", data=A, at=len(zipped([MANIFEST])) - 80, hidden=True)]),
        [WRONG], "",
    ),
    "members in each other": (
        zipped([MANIFEST, replace(ALPHA, method=STORED, packed_size=200), BETA]), [WRONG], "overlaps another",
    ),
    "twice": (zipped([*GOOD, ALPHA]), [WRONG], "two members 'a.txt'"),
    "two manifests": (zipped([*GOOD, MANIFEST]), [WRONG], "two members 'manifest.xml'"),
    "a name upwards": (of_path("/../a", Piece(name=b"../a", data=A)), [WRONG], "no folder could hold"),
    "a name upwards inside": (of_path("/b/../../a", Piece(name=b"b/../../a", data=A)), [WRONG], "no folder could"),
    "a name from the root": (of_path("//etc/passwd", Piece(name=b"/etc/passwd", data=A)), [WRONG], "no folder"),
    "a name with a drive": (of_path("/C:/a", Piece(name=b"C:/a", data=A)), [WRONG], "no folder could hold"),
    "a name with backslashes": (of_path("/..\\a", Piece(name=b"..\\a", data=A)), [WRONG], "no folder could hold"),
    "a name with NUL": (of_path("/a", Piece(name=b"a\0.txt", data=A)), [], ""),
    "a name that is no UTF-8": (of_path("/a", Piece(name=b"\xff\xfe", data=A, flags=UTF8)), [NO_ZIP], "Unicode"),
    "a name of another code page": (of_path("/\u00e9", Piece(name=b"\x82", data=A)), [], ""),
    "a name without characters": (of_path("/", Piece(name=b"", data=A)), [WRONG], "no folder could hold"),
    "a symbolic link": (of_path("/a", Piece(name=b"a", data=b"/etc/passwd", attributes=LINK)), [WRONG], "symbolic"),
    "a folder": (of_path("/a/", Piece(name=b"a/")), [WRONG, "V1105 SHOULD"], "names no member"),
    "XML that could load or expand": (
        zipped([replace(MANIFEST, data=b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>")]),
        ["RD04 MUST", "X01 MUST"], "a DOCTYPE is refused",
    ),
}  # fmt: skip


def test_member_that_is_named_again_and_again() -> None:
    """A member that thousands of entries name is not read for each of them: so few bytes would take long."""
    entries = "<url><loc>a:b</loc><rs:md path='/a.txt'/></url>"
    data = zipped(
        [replace(MANIFEST, data=document("resourcedump-manifest", entries * 3_000, SNAPSHOT).encode()), ALPHA]
    )
    findings = Findings(most=20)
    check_package(BytesIO(data), Package("dump.zip"), Options(rules=RULES), findings)
    ((rule, _, group),) = findings.groups()
    assert (rule, group.count) == ("RD06", 3_000 - 1_000 - len(data) // 32 + 1)
    assert "this is read no more" in group.first[0].message


def test_list_of_members_within_limits() -> None:
    """A list of members that is too long, or of too many, is not taken into memory."""
    data = zipped(GOOD)
    for limits in (replace(STANDARD_LIMITS, directory=163), replace(STANDARD_LIMITS, members=2)):
        assert found(data, limits) == ([NO_ZIP], "the package: it cannot be read as a ZIP file (ValueError)")
    assert found(data, replace(STANDARD_LIMITS, members=3))[0] == []


@pytest.mark.parametrize("case", CASES)
def test_lies(case: str) -> None:
    """What is found is what is wrong, in a second and little memory."""
    data, expected, said = CASES[case]
    identifiers, messages = found(data)
    assert identifiers == expected
    assert said in messages
