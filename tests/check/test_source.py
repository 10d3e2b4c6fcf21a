"""Rules over several documents: a whole Source in a folder, with one thing changed."""

from pathlib import Path

import pytest

from pelican_resourcesync.check import CheckError, Report, Request, check
from tests.check.documents import (
    A_SAID,
    B_SAID,
    BASE,
    JANUARY,
    OLD,
    OTHERS,
    RESOURCE_MANIFEST,
    SOURCE,
    A,
    change,
    document,
    entry,
    lastmod,
    lay,
    names,
    package,
    sha,
    text,
)

Changed = dict[str, str | bytes | None]


def swap(name: str, old: str, new: str) -> Changed:
    """Change a text in a document of the Source."""
    whole = text(name)
    assert old in whole
    changed: Changed = {name: whole.replace(old, new)}
    if name == "description.xml":
        changed[".well-known/resourcesync"] = changed[name]
    return changed


def run(folder: Path, changed: Changed | None = None, *, deep: bool = False) -> Report:
    """Check the Source with this changed."""
    return check(Request(target=str(lay(folder, changed)), deep=deep, jobs=2))


@pytest.mark.parametrize("deep", [False, True])
def test_valid_source(tmp_path: Path, deep: bool) -> None:
    """The Source has no fault, and all of it is visited."""
    report = run(tmp_path, deep=deep)
    assert names(report.findings) == []
    assert report.documents == sum(name.endswith((".xml", "/resourcesync")) for name in SOURCE)
    assert (report.packages, report.elsewhere, report.complete) == (4 if deep else 0, 0, True)


ELSE = f"{BASE}else.xml"
ABOUT = f'    <rs:ln rel="describedby" href="{BASE}about.html"/>\n'
SECOND = entry("second.xml", 'capability="capabilitylist"').replace("  </url>", f"{ABOUT}  </url>")


def dated(name: str, path: str, time: str) -> Changed:
    """Give an entry a lastmod."""
    return swap(name, f"{path}</loc>\n", f"{path}</loc>\n{lastmod(time)}")


NESTED = document(
    "resourcelist",
    entry("resources-2.xml", 'at="2024-03-01T00:00:00Z"', tag="sitemap"),
    ' at="2024-03-01T00:00:00Z"',
    f'  <rs:ln rel="index" href="{BASE}resources.xml"/>\n',
    root="sitemapindex",
)
ARCHIVE_OF_NOW = text("resources-archive-1.xml").replace("-old.xml", "-1.xml").replace("2024-01-15", "2024-03-01")
LATER = "2024-03-01T00:10:01Z"
FAULTS: dict[str, tuple[Changed, Changed]] = {
    "SD01": (
        {".well-known/resourcesync": None, "description.xml": None}
        | swap("capabilitylist.xml", "description.xml", "a.xml")
        | {"a.xml": text("resources-old.xml")},
        {},
    ),
    "DI01 SHOULD": ({".well-known/resourcesync": None}, {".well-known/resourcesync": text("description.xml") + "\n"}),
    "SD02": (swap("capabilitylist.xml", f"{BASE}description.xml", f"{BASE}resources.xml"), {}),
    "SD03": (swap("description.xml", "capabilitylist.xml</loc>", "none.xml</loc>"), {}),
    "CL01": (swap("description.xml", "capabilitylist.xml</loc>", "resources.xml</loc>"), {}),
    "CL02": (
        swap("capabilitylist.xml", f"{BASE}description.xml", ELSE)
        | {
            "else.xml": text("description.xml").replace("capabilitylist.xml", "else-list.xml"),
            "else-list.xml": text("capabilitylist.xml").replace(f"{BASE}description.xml", ELSE) + "\n",
        },
        swap("capabilitylist.xml", f"{BASE}description.xml", f"{BASE}.well-known/resourcesync"),
    ),
    "CL04": (swap("capabilitylist.xml", "dump.xml</loc>", "none.xml</loc>"), {}),
    "RL04": (
        swap("resources.xml", '<rs:md at="2024-03-01', '<rs:md at="2024-02-29'),
        swap("resources.xml", '<rs:md at="2024-03-01T00:00:00Z', '<rs:md at="2024-03-01T00:00:00.0Z'),
    ),
    "CH07": (
        swap("changes.xml", ' until="2024-02-01T00:00:00Z"', ""),
        swap("changes.xml", '2024-02-01T00:00:00Z"', '2024-02-01T00:00:00.0Z"'),
    ),
    "X04": (
        {
            "resources-1.xml": NESTED,
            "resources-2.xml": text("resources-1.xml").replace(f"{BASE}resources.xml", f"{BASE}resources-1.xml"),
        },
        swap("resources-1.xml", 'capability="resourcelist"', 'capability="resourcelist "'),
    ),
    "X13": (
        swap("changes-2.xml", f"{BASE}capabilitylist.xml", ELSE) | {"else.xml": text("capabilitylist.xml") + "\n"},
        swap("changes-2.xml", f"{BASE}capabilitylist.xml", ELSE) | {"else.xml": text("capabilitylist.xml")},
    ),
    "X13 index": (
        swap("changes-2.xml", "changes.xml", "resources.xml"),
        swap("changes-2.xml", 'rel="index"', 'type="application/xml" rel="index"'),
    ),
    "X13 SHOULD": (swap("changes-2.xml", 'rel="index"', 'rel="via"'), {}),
    "AR01": (
        swap("resources-archive-1.xml", "resources-old.xml", "dump-old.xml"),
        swap("resources-archive-1.xml", "resources-old.xml", "resources-1.xml")
        | {"resources-archive-1.xml": ARCHIVE_OF_NOW},
    ),
    "AR02": (swap("changes-archive.xml", "2024-01-01", "2024-01-02"), {}),
    "AR04": (swap("resources-archive.xml", "resources-archive-1.xml", "none.xml"), {}),
    "AR04 SHOULD": (
        dated("resources-archive.xml", "archive-1.xml", "2023-01-01T00:00:00Z")
        | dated("resources-archive-1.xml", "old.xml", "2024-01-01T00:00:00Z"),
        dated("resources-archive.xml", "archive-1.xml", "2024-01-01T00:00:00Z")
        | dated("resources-archive-1.xml", "old.xml", "2024-01-01T00:00:00Z"),
    ),
    "AR05": (swap("changes.xml", "changes-archive.xml", "resources-archive.xml"), {}),
    "RD02": (
        swap("dump.xml", "dump-manifest.xml", "none.xml") | swap("dump-old.xml", "dump-manifest.xml", "none.xml"),
        {},
    ),
    "SD05 SHOULD": (
        dated("description.xml", "list.xml", "2024-01-01T00:00:00Z")
        | dated("capabilitylist.xml", "resources.xml", LATER),
        dated("description.xml", "list.xml", LATER) | dated("capabilitylist.xml", "resources.xml", LATER),
    ),
    "CL07 SHOULD": (
        dated("capabilitylist.xml", "resources.xml", "2024-01-01T00:00:00Z"),
        dated("capabilitylist.xml", "resources.xml", "2024-03-01T00:10:00Z"),
    ),
    "RL03": (
        swap("resources-1.xml", "</urlset>", entry("a.txt", A_SAID) + "</urlset>"),
        swap("resources-1.xml", "</urlset>", entry("a.txt?", A_SAID) + "</urlset>"),
    ),
    "CL06": (
        swap("changes-2.xml", "</urlset>", change("b.txt", "deleted", "2024-02-04T00:00:00Z") + "</urlset>"),
        swap("changes-2.xml", "</urlset>", change("b.txt", "deleted", "2024-03-04T00:00:00Z") + "</urlset>"),
    ),
    "CL06 created": (
        swap("changes-2.xml", "</urlset>", change("c.txt", "created", "2024-02-04T00:00:00Z") + "</urlset>"),
        swap(
            "changes-2.xml",
            "</urlset>",
            change("c.txt", "created", "2024-02-04T00:00:00Z")
            + change("c.txt", "deleted", "2024-02-05T00:00:00Z")
            + "</urlset>",
        ),
    ),
    "CH04": (
        swap("changes-2.xml", sha(A), sha(OLD)),
        swap("changes-2.xml", sha(A), "md5:0123456789abcdef0123456789abcdef"),
    ),
    "DI04 SHOULD": (
        swap("description.xml", "</urlset>", f"{SECOND}</urlset>")
        | {
            "second.xml": document(
                "capabilitylist", entry("third.xml", 'capability="resourcelist"'), links=ABOUT.removeprefix("  ")
            ),
            "third.xml": text("resources-old.xml").replace("capabilitylist.xml", "second.xml"),
        },
        {"robots.txt": "User-agent: *\nSitemap: https://example.org/sitemap.xml\n"},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_between_documents(tmp_path: Path, name: str) -> None:
    """The fault is found by its rule and no other; what only looks like it is not."""
    fault, near = FAULTS[name]
    rule, _, level = name.partition(" ")
    expected = f"{rule} {'SHOULD' if level == 'SHOULD' else 'MUST'}"
    found = names(run(tmp_path / "fault", fault).findings)
    # These cannot be broken alone: what is not there, or is something else, has no other right properties.
    also = {
        "SD01": {"SD02 MUST", "DI01 SHOULD"},
        "CL01": {"X13 MUST", "CL02 MUST"},
        "X13": {"CL02 MUST"},
    }.get(rule, set())
    assert expected in found
    assert set(found) - {expected} <= also
    assert names(run(tmp_path / "near", near).findings) == []


DEEP: dict[str, tuple[Changed, str]] = {
    "hash": ({"a.txt": b"alphA"}, "X08 MUST"),
    "length": ({"a.txt": b"alphabet"}, "X09 MUST"),
    "absent": ({"a.txt": None}, "X09 MUST"),
    "page's link": (
        swap("resources-1.xml", B_SAID, 'type="text/html"')
        | {"b.txt": b"<html><link rel='stylesheet resourcesync' href='/x.xml'>"},
        "DI02 MUST",
    ),
    "copy": ({"dump-manifest.xml": RESOURCE_MANIFEST + "\n"}, "RD02 MUST"),
    "no zip": ({"changes.zip": b"x" * len(SOURCE["changes.zip"])}, "RD03 MUST"),
    "length of package": ({"dump.zip": bytes(SOURCE["dump.zip"]) + b"\0"}, "RD01 MUST"),  # type: ignore[arg-type]
    "length of package of changes": ({"changes.zip": bytes(SOURCE["changes.zip"]) + b"\0"}, "CD01 MUST"),  # type: ignore[arg-type]
    "no package": ({"changes.zip": None}, "CD01 MUST"),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_faults(tmp_path: Path, name: str) -> None:
    """What is at the URIs is compared with what is said of it, and only where that was asked for."""
    changed, expected = DEEP[name]
    assert names(run(tmp_path, changed).findings) == []
    assert names(run(tmp_path, changed, deep=True).findings) == [expected]


def test_deep_near_misses(tmp_path: Path) -> None:
    """A page whose link leads to its own Capability List, by whatever path, is right."""
    page = b"<html><head><link rel=resourcesync href='sub/../capabilitylist.xml' type='application/xml'></head>"
    changed = swap("resources-1.xml", B_SAID, 'type="text/html"') | {"b.txt": page}
    assert names(run(tmp_path, changed, deep=True).findings) == []


def test_cl06_of_dumps(tmp_path: Path) -> None:
    """A Resource Dump of the same time holds the same resources; one of another time need not."""
    manifest = RESOURCE_MANIFEST.replace(f"{BASE}b.txt", f"{BASE}c.txt")
    data = package(manifest, {"a.txt": A, "sub/b.txt": b"beta!"})
    changed: Changed = {"dump.zip": data, "dump-manifest.xml": manifest}
    for name in ("dump.xml", "dump-old.xml"):
        changed[name] = text(name).replace(f'length="{len(bytes(SOURCE["dump.zip"]))}"', f'length="{len(data)}"')  # type: ignore[arg-type]
    report = run(tmp_path / "same", changed, deep=True)
    assert names(report.findings) == ["CL06 MUST"]
    assert report.errors == 2
    changed["dump.xml"] = str(changed["dump.xml"]).replace("2024-03-01", "2024-02-28")
    assert names(run(tmp_path / "other", changed, deep=True).findings) == []


def test_indexes_of_dumps(tmp_path: Path) -> None:
    """RD07, CD05: what an index of dumps says of them is so."""
    up = f'  <rs:ln rel="index" href="{BASE}INDEX"/>\n  <rs:md'
    changed: Changed = {
        **{name: OTHERS[name] for name in ("dump-index.xml", "changedump-index.xml")},
        **swap("capabilitylist.xml", f"{BASE}dump.xml", f"{BASE}dump-index.xml"),
        "dump.xml": text("dump.xml").replace("  <rs:md cap", up.replace("INDEX", "dump-index.xml") + " cap"),
        "changedump.xml": text("changedump.xml").replace(
            "  <rs:md cap", up.replace("INDEX", "changedump-index.xml") + " cap"
        ),
    }
    changed["capabilitylist.xml"] = str(changed["capabilitylist.xml"]).replace(
        f"{BASE}changedump.xml", f"{BASE}changedump-index.xml"
    )
    changed["changedump-index.xml"] = OTHERS["changedump-index.xml"].replace(JANUARY, 'from="2024-01-01T00:00:00Z"')
    assert names(run(tmp_path / "near", changed).findings) == []
    changed["dump-index.xml"] = OTHERS["dump-index.xml"].replace('<rs:md at="2024-03-01', '<rs:md at="2024-03-02')
    changed["changedump-index.xml"] = OTHERS["changedump-index.xml"]
    assert names(run(tmp_path / "fault", changed).findings) == ["CD05 MUST", "RD07 MUST"]


def test_index_of_descriptions(tmp_path: Path) -> None:
    """SD06: an index of Source Descriptions leads to these alone."""
    index = OTHERS["description-index.xml"]
    assert names(run(tmp_path / "near", {".well-known/resourcesync": index}).findings) == []
    index = index.replace("description.xml", "capabilitylist.xml")
    assert names(run(tmp_path / "fault", {".well-known/resourcesync": index}).findings) == ["SD06 MUST"]


def test_project_site(tmp_path: Path) -> None:
    """The address of a site below a host's root is learned from its documents."""
    lay(tmp_path)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(BASE.encode(), f"{BASE}project/".encode()))
    assert names(check(Request(target=str(tmp_path))).findings) == []


def test_what_lies_outside_the_folder(tmp_path: Path) -> None:
    """No path of a document leads out of the folder, and no symbolic link does."""
    (tmp_path / "secret.xml").write_text(text("resources-old.xml"), "utf-8")
    folder = lay(tmp_path / "site", swap("capabilitylist.xml", "resources.xml", "%2e%2e/secret.xml"))
    assert names(check(Request(target=str(folder))).findings) == ["CL04 MUST"]
    lay(folder, {**swap("capabilitylist.xml", "resources.xml", "link.xml"), "resources.xml": text("resources.xml")})
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    assert names(check(Request(target=str(folder))).findings) == ["CL04 MUST"]


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
    report = check(Request(target=str(lay(tmp_path)), max_documents=3))
    assert (report.documents, report.complete) == (3, False)
    assert "only the first 3 documents" in report.as_text()


def test_nothing_to_check(tmp_path: Path) -> None:
    """A folder without ResourceSync is no target."""
    (tmp_path / "index.html").write_text("<html>", "utf-8")
    (tmp_path / "sitemap.xml").write_text("<urlset/>", "utf-8")
    with pytest.raises(CheckError, match="holds no Source Description"):
        check(Request(target=str(tmp_path)))


def test_from_a_capability_list(tmp_path: Path) -> None:
    """Without a Source Description, a folder is checked from its Capability List."""
    report = run(tmp_path, {".well-known/resourcesync": None, "description.xml": None})
    assert names(report.findings) == ["CL02 MUST", "SD01 MUST", "DI01 SHOULD"]


def test_cl04_of_capability(tmp_path: Path) -> None:
    """What a Capability List lists has the capability that it says."""
    changed = swap("capabilitylist.xml", f"{BASE}dump.xml", f"{BASE}dump-archive.xml")
    changed["capabilitylist.xml"] = str(changed["capabilitylist.xml"]).replace(
        'dump-archive.xml</loc>\n    <rs:md capability="resourcedump-archive"',
        'dump.xml</loc>\n    <rs:md capability="resourcedump-archive"',
    )
    assert names(run(tmp_path, changed).findings) == ["CL04 MUST"]


def test_x04_of_part(tmp_path: Path) -> None:
    """A part of another capability than its index's is found, with all that it then lacks."""
    changed = swap("resources-1.xml", 'capability="resourcelist"', 'capability="resourcedump"')
    assert "X04 MUST" in names(run(tmp_path, changed).findings)


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    """X13, CL02, AR05: a link to what is not there, or not what it says."""
    for name, rel, rule in (
        ("changes-2.xml", "capabilitylist.xml", "X13"),
        ("changes-2.xml", "changes.xml", "X13"),
        ("capabilitylist.xml", "description.xml", "CL02"),
        ("changes.xml", "changes-archive.xml", "AR05"),
    ):
        changed = swap(name, f'href="{BASE}{rel}"', f'href="{BASE}none.xml"')
        assert names(run(tmp_path, {**SOURCE, **changed}).findings) == [f"{rule} MUST"]
    changed = swap("changes-2.xml", f'href="{BASE}capabilitylist.xml"', f'href="{BASE}changes.xml"')
    assert names(run(tmp_path, {**SOURCE, **changed}).findings) == ["X13 MUST"]


def test_di01_of_another_document(tmp_path: Path) -> None:
    """DI01: a well-known URI that serves something else is found."""
    changed: Changed = {".well-known/resourcesync": text("capabilitylist.xml")}
    assert names(run(tmp_path, changed).findings) == ["DI01 SHOULD"]


def test_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """A folder has nothing of other addresses, which is said."""
    report = run(tmp_path, swap("dump.xml", f"{BASE}dump.zip", "https://cdn.example/dump.zip"), deep=True)
    assert names(report.findings) == []
    assert "note: 1 links lead elsewhere and were not followed" in report.as_text()
