"""Rules over several documents: a whole Source in a folder, with one thing changed."""

import os
import re
import shutil
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from pelican_resourcesync.checker import CheckError, CheckReport, check
from pelican_resourcesync.http import uri_of_path
from tests.checker.between import FAULTS, Changed, only, swap
from tests.kit.documents import B_SAID, BASE, JANUARY, SOURCE, A, B, document, entry, lay, names, text

RESOURCE_LIST = document(
    "resourcelist", "{}", ' at="2024-03-01T00:00:00Z"', f'<rs:ln rel="index" href="{BASE}resources.xml"/>\n'
)


def run(folder: Path, changed: Changed | None = None, *, deep: bool = False) -> CheckReport:
    """Check the Source with this changed."""
    return check(str(lay(folder, changed)), deep=deep, jobs=2)


@pytest.mark.parametrize("deep", [False, True])
def test_valid_source(tmp_path: Path, deep: bool) -> None:
    """The Source has no fault, and all of it is visited."""
    report = run(tmp_path, deep=deep)
    assert names(report.findings) == []
    assert report.documents == sum(name.endswith((".xml", "/resourcesync")) for name in SOURCE)
    assert (report.packages, report.elsewhere, report.complete) == (4 if deep else 0, 0, True)


@pytest.mark.parametrize("name", [name for name in FAULTS if name.startswith("CL06 of ")])
def test_manifests_without_copies(tmp_path: Path, name: str) -> None:
    """Where manifests have no copies, what they say is known only to who reads the packages, and then the same."""
    fault, near = ({**SOURCE, **changed} for changed in FAULTS[name])
    assert names(run(tmp_path / "fault", without_copies(fault)).findings) == []
    assert names(run(tmp_path / "fault", without_copies(fault), deep=True).findings) == ["CL06 MUST"]
    assert names(run(tmp_path / "near", without_copies(near), deep=True).findings) == []


def without_copies(files: Changed) -> Changed:
    """Leave out the links to copies of manifests."""
    return {
        name: re.sub(r'<rs:ln rel="contents"[^>]*/>', "", data) if isinstance(data, str) else data
        for name, data in files.items()
    }


def test_project_site(tmp_path: Path) -> None:
    """The address of a site below a host's root is learned from its documents."""
    lay(tmp_path)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(BASE.encode(), f"{BASE}project/".encode()))
    assert names(check(str(tmp_path), deep=False).findings) == []


def test_what_lies_outside_the_folder(tmp_path: Path) -> None:
    """No path of a document leads out of the folder, and no symbolic link does."""
    (tmp_path / "secret.xml").write_text(text("resources-old.xml"), "utf-8")
    folder = lay(tmp_path / "site", swap("capabilitylist.xml", "resources.xml", "%2e%2e/secret.xml"))
    assert names(check(str(folder)).findings) == ["CL04 MUST"]
    lay(folder, {**swap("capabilitylist.xml", "resources.xml", "link.xml"), "resources.xml": text("resources.xml")})
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    assert names(check(str(folder)).findings) == ["CL04 MUST"]


ODD = [
    "a:b.txt", "why?.txt", "c#.txt", "100%.txt", "a%20b.txt", "two words.txt", 'quo"te.txt', "<tag>.txt", "a|b.txt",
    "star*.txt", "back\\slash.txt", "dot.", "space ", "...", "line\nbreak.txt", "\x1b.txt", "größe/ü.txt", "~a;b=c.txt",
    os.fsdecode(b"caf\xe9.txt"),
]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_odd_names(tmp_path: Path) -> None:
    """A file of any name is found at its URI, as a static host finds it, and so is one without its .html."""
    uris = [uri_of_path(BASE, name) for name in ODD] + [f"{BASE}page", f"{BASE}folder", f"{BASE}folder/"]
    listed = "".join(f'<url><loc>{escape(uri)}</loc><rs:md length="5"/></url>' for uri in uris)
    folder = lay(tmp_path, only("resourcelist") | {"resources-1.xml": RESOURCE_LIST.format(listed)})
    for name in [*ODD, "page.html", "folder/index.html"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(A)
    assert names(check(str(folder), deep=True).findings) == []
    for name in ODD:
        (folder / name).write_bytes(B[:4])
    [(_, _, group)] = check(str(folder), deep=True).findings.groups()
    assert group.count == len(ODD)


@pytest.mark.parametrize("base", [BASE, f"{BASE}project/"])
def test_documents_behind_a_symbolic_link(tmp_path: Path, base: str) -> None:
    """SD03: the folder of the documents may be a symbolic link to a folder elsewhere."""
    folder = lay(tmp_path / "site", base=f"{base}resourcesync/")
    moved = (tmp_path / "site").rename(tmp_path / "elsewhere")
    folder.mkdir()
    (folder / "resourcesync").symlink_to(moved)
    (folder / ".well-known").mkdir()
    shutil.copy(moved / ".well-known/resourcesync", folder / ".well-known")
    report = check(str(folder), deep=True, ignore=("DI01", "DI04"))
    assert names(report.findings) == []
    assert report.documents > 20


def test_loops_end(tmp_path: Path) -> None:
    """Documents that list each other, and themselves, are read once each."""
    me = document(
        "changelist",
        "".join(entry(f"loop-{n}.xml", JANUARY, tag="sitemap") for n in range(20)),
        f" {JANUARY}",
        root="sitemapindex",
    )
    loops: Changed = {f"loop-{n}.xml": me for n in range(20)}
    report = run(tmp_path, {**loops, **swap("capabilitylist.xml", f"{BASE}changes.xml", f"{BASE}loop-0.xml")})
    assert "X04 MUST" in names(report.findings)
    assert report.documents < 50


def test_max_documents(tmp_path: Path) -> None:
    """The visit ends where it was told to, and the report says so."""
    report = check(str(lay(tmp_path)), max_documents=3)
    assert (report.documents, report.complete) == (3, False)
    assert "only the first 3 documents" in report.as_text()


def test_nothing_to_check(tmp_path: Path) -> None:
    """A folder without ResourceSync is no target."""
    (tmp_path / "index.html").write_text("<html>", "utf-8")
    (tmp_path / "sitemap.xml").write_text("<urlset/>", "utf-8")
    with pytest.raises(CheckError, match="contains no Source Description or Capability List: pass"):
        check(str(tmp_path))


PAGE = b"<html><head><link rel=resourcesync href='sub/../capabilitylist.xml' type='application/xml'></head>"


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        # Without a Source Description, a folder is checked from its Capability List.
        ({".well-known/resourcesync": None, "description.xml": None}, ["CL02 MUST", "SD01 MUST"]),
        # A page whose link leads to its own Capability List, by whatever path, is right.
        (swap("resources-1.xml", B_SAID, 'type="text/html"') | {"b.txt": PAGE}, []),
        # A part of another capability than its index's is found, with all that it then lacks.
        (swap("resources-1.xml", 'capability="resourcelist"', 'capability="resourcedump"'), ["X04 MUST", "X13 MUST"]),
    ],
)
def test_sources(tmp_path: Path, changed: Changed, found: list[str]) -> None:
    """What is found in a Source as a whole."""
    assert names(run(tmp_path, changed, deep=True).findings) == found


def test_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """A folder has nothing of other addresses, which is said."""
    report = run(tmp_path, swap("dump.xml", f"{BASE}dump.zip", "https://cdn.example/dump.zip"), deep=True)
    assert names(report.findings) == []
    assert "note: links to other sites that were not followed: 1" in report.as_text()
