"""Packages: members are looked at before they are read, and read within limits."""

import stat
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from pelican_resourcesync.check import RULES, Request, check
from pelican_resourcesync.check.document import Options
from pelican_resourcesync.check.limits import STANDARD_LIMITS, CheckLimits
from pelican_resourcesync.check.package import Package, check_package
from pelican_resourcesync.check.rule import Findings
from tests.check.documents import BASE, CHANGE_MANIFEST, RESOURCE_MANIFEST, A, B, document, entry, names, package

GOOD = {"a.txt": A, "sub/b.txt": B}


def checked_package(data: bytes, *, listed_as: str = "", limits: CheckLimits = STANDARD_LIMITS) -> list[str]:
    """Check a package, by itself or as a dump lists it."""
    findings = Findings(most=10)
    package = Package("dump.zip", listed_as)
    check_package(BytesIO(data), package, Options(rules=RULES, limits=limits), findings)
    return names(findings)


def test_valid_packages() -> None:
    """A package that is as its manifest says has no fault; neither has one with folders."""
    assert checked_package(package(RESOURCE_MANIFEST, GOOD)) == []
    assert checked_package(package(RESOURCE_MANIFEST, {"sub/": b"", **GOOD}), listed_as="resourcedump") == []
    assert checked_package(package(CHANGE_MANIFEST, {"1/a.txt": b"old", "1/b.txt": B}), listed_as="changedump") == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"a.txt": A}, ["RD06 MUST"]),
        ({**GOOD, "a.txt": b"alphA"}, ["RD06 MUST"]),
        ({**GOOD, "a.txt": b"alphabet"}, ["RD06 MUST"]),
        ({**GOOD, "c.txt": b""}, ["RD05 SHOULD"]),
    ],
)
def test_members(members: dict[str, bytes], expected: list[str]) -> None:
    """Members and manifest are held against each other."""
    assert checked_package(package(RESOURCE_MANIFEST, members)) == expected


def test_manifest_of_another_kind() -> None:
    """RD04, CD02: a package has the manifest of what lists it."""
    assert checked_package(package(RESOURCE_MANIFEST, GOOD), listed_as="changedump") == ["CD02 MUST"]
    assert checked_package(package(CHANGE_MANIFEST, {"1/a.txt": b"old", "1/b.txt": B}), listed_as="resourcedump") == [
        "RD04 MUST"
    ]


def zipped(fill: Callable[[zipfile.ZipFile], object]) -> bytes:
    """Make a ZIP file."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        fill(archive)
    return stream.getvalue()


def test_manifest_elsewhere() -> None:
    """RD04: a manifest in a folder is none."""
    assert checked_package(zipped(lambda archive: archive.writestr("x/manifest.xml", RESOURCE_MANIFEST))) == [
        "RD04 MUST"
    ]
    assert checked_package(zipped(lambda _: None), listed_as="changedump") == ["CD02 MUST"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_twins() -> None:
    """RD06: two members of one name are not one bitstream."""

    def fill(archive: zipfile.ZipFile) -> None:
        for name, data in {"manifest.xml": RESOURCE_MANIFEST.encode(), **GOOD}.items():
            archive.writestr(name, data)
        archive.writestr("a.txt", A)

    assert checked_package(zipped(fill)) == ["RD06 MUST"]


@pytest.mark.parametrize("path", ["../a.txt", "/etc/passwd", "a/../b.txt", "C:\\a.txt", "a\nb.txt"])
def test_names_that_lead_elsewhere(path: str) -> None:
    """Members that would be written outside their folder are not read."""
    manifest = RESOURCE_MANIFEST.replace('path="/a.txt', f'path="/{path}'.replace("\n", "&#10;"))
    assert checked_package(package(manifest, {path: A, "sub/b.txt": B})) == ["RD06 MUST"]


def test_symbolic_links() -> None:
    """A member that is a symbolic link is not read."""

    def fill(archive: zipfile.ZipFile) -> None:
        archive.writestr("manifest.xml", RESOURCE_MANIFEST)
        info = zipfile.ZipInfo("a.txt")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, A)
        archive.writestr("sub/b.txt", B)

    assert checked_package(zipped(fill)) == ["RD06 MUST"]


def test_bombs() -> None:
    """What grows too much is not unpacked: a member, the manifest itself, or all of it."""
    bomb = package(RESOURCE_MANIFEST, {**GOOD, "a.txt": b"\0" * 3_000_000})
    assert checked_package(bomb) == ["RD06 MUST"]
    assert checked_package(package(" " * 3_000_000, {})) == ["RD04 MUST"]
    good = package(RESOURCE_MANIFEST, GOOD)
    assert checked_package(good, limits=replace(STANDARD_LIMITS, unpacked=9)) == ["RD04 MUST"]
    room = replace(STANDARD_LIMITS, unpacked=len(RESOURCE_MANIFEST))
    assert checked_package(good, limits=room) == []
    assert checked_package(good, limits=replace(STANDARD_LIMITS, directory=20)) == ["RD03 MUST"]


def bytes_apart(count: int, size: int) -> tuple[str, dict[str, bytes]]:
    """Give a manifest and members that cannot be compressed well, all of one size."""
    members = {f"{n}.bin": bytes((n * 7 + i * i) % 251 for i in range(size)) for n in range(count)}
    listed = "".join(entry(name, f'length="{size}" path="/{name}"') for name in members)
    return document("resourcedump-manifest", listed, ' at="2024-03-01T00:00:00Z"'), members


def test_all_members_together_have_a_budget() -> None:
    """Members that are small each are read until the budget of the whole package is spent, and then no more."""
    manifest, members = bytes_apart(6, 2_000)
    data = package(manifest, members)
    assert checked_package(data, limits=replace(STANDARD_LIMITS, unpacked=12_000)) == []
    findings = Findings(most=10)
    options = Options(rules=RULES, limits=replace(STANDARD_LIMITS, unpacked=11_999))
    check_package(BytesIO(data), Package("dump.zip"), options, findings)
    [(_, _, group)] = findings.groups()
    assert [found.message for found in group.first] == [
        "the path '/5.bin' names a member of 2,000 bytes, which is not unpacked"
    ]


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
    assert checked_package(data, limits=replace(limits, unpacked=999_999)) == ["RD06 MUST"]
    assert checked_package(data, limits=replace(limits, ratio=400)) == ["RD06 MUST"]


def test_lengths_that_lie() -> None:
    """A member that is longer than the package says is read no further, and found."""
    data = bytearray(package(RESOURCE_MANIFEST, {**GOOD, "a.txt": bytes(range(256)) * 40}))
    where = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    struct.pack_into("<I", data, where + 24, 5)
    assert checked_package(bytes(data)) == ["RD06 MUST"]


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06" + b"\0" * 18, b"no ZIP file"])
def test_no_package(data: bytes) -> None:
    """Bytes that are no package are a finding."""
    assert checked_package(data, listed_as="resourcedump") in (["RD03 MUST"], ["RD04 MUST"])


def test_package_of_another_format() -> None:
    """RD03: communities may use another format, and say so in the type."""
    findings = Findings(most=10)
    other = Package("dump.tar", "resourcedump", {"type": "application/x-tar"})
    check_package(BytesIO(b"tar"), other, Options(rules=RULES), findings)
    assert names(findings) == []


def test_package_as_target(tmp_path: Path) -> None:
    """A package in a file is a target by itself."""
    file = tmp_path / "dump.zip"
    file.write_bytes(package(RESOURCE_MANIFEST, {"a.txt": A}))
    report = check(Request(target=str(file)))
    assert names(report.findings) == ["RD06 MUST"]
    assert (report.packages, report.documents) == (1, 1)
    assert f"manifest.xml, line 10, entry '{BASE}b.txt': the path '/sub/b.txt' names no member" in report.as_text()
