"""Resource Lists, Resource Dumps and changes add up; where nothing can be known, nothing is found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.checker import check
from tests.checker.between import LISTS, NEWER, OLDER, Changed, added, only, renewed, swap
from tests.kit.documents import (
    A_SAID,
    ABOUT,
    B_SAID,
    BASE,
    CHANGE_MANIFEST,
    FEBRUARY,
    OLD_SAID,
    YEAR,
    change,
    document,
    entry,
    lastmod,
    lay,
    names,
    text,
)

LEAN = only(*LISTS)


def found(folder: Path, changed: Changed, *, edition: int | None = None) -> list[str]:
    """Check the Source with this changed: what is found, with the documents and what is said."""
    report = check(str(lay(folder, changed)), edition=edition, deep=False)
    return [
        f"{each.rule} {each.document.removeprefix(BASE)}:{each.line} {each.message}"
        for _, _, group in report.findings.groups()
        for each in group.first
    ]


def test_what_is_said(tmp_path: Path) -> None:
    """A finding names the entry that has no counterpart, and the document that lacks it."""
    assert found(tmp_path, LEAN | NEWER) == [
        f"CH06 resources-1.xml:17 the resource is not in '{BASE}resources-old.xml', and no listed change explains it"
    ]
    assert found(tmp_path, LEAN | {"resources-1.xml": text("resources-1.xml")} | OLDER) == [
        f"CH06 resources-old.xml:16 the resource is not in '{BASE}resources.xml', and no listed change explains it"
    ]


def test_each_fault_once(tmp_path: Path) -> None:
    """What is missing in one list between others is found once; what comes and goes again, with each."""
    between = document("resourcelist", entry("a.txt", A_SAID) + entry("x.txt"), ' at="2024-02-10T00:00:00Z"')
    archive = swap(
        "resources-archive-1.xml", "</urlset>", entry("between.xml", 'at="2024-02-10T00:00:00Z"') + "</urlset>"
    )
    assert found(tmp_path, LEAN | archive | {"between.xml": between}) == [
        f"CH06 between.xml:10 the resource is not in '{BASE}resources-old.xml', and no listed change explains it",
        f"CH06 resources-old.xml:11 the resource is not in '{BASE}between.xml', and no listed change explains it",
        f"CH06 between.xml:10 the resource is not in '{BASE}resources.xml', and no listed change explains it",
    ]


TAKING = "2024-03-01T00:05:00Z"  # between `at` and `completed` of the Resource List


@pytest.mark.parametrize(
    "changed",
    [
        added("changes-2.xml", change("b.txt", "deleted", TAKING)),
        added("changes-2.xml", change("b.txt", "updated", TAKING, OLD_SAID)),
        added("changes-2.xml", change("c.txt", "created", TAKING)) | NEWER,
        added("changes-2.xml", change("c.txt", "created", TAKING)),
        added("changes-2.xml", change("c.txt", "deleted", TAKING)) | OLDER,
    ],
)
def test_changes_while_a_list_is_taken(tmp_path: Path, changed: Changed) -> None:
    """What changes between `at` and `completed` may be in the list or not."""
    assert found(tmp_path, LEAN | changed) == []


def test_changes_at_the_time_of_a_list(tmp_path: Path) -> None:
    """RL02: a list has every change up to `at`, and also that of this very time."""
    at = change("c.txt", "created", "2024-03-01T00:00:00Z")
    assert found(tmp_path / "in", LEAN | NEWER | added("changes-2.xml", at)) == []
    assert found(tmp_path / "out", LEAN | added("changes-2.xml", at)) == [
        f"CL06 changes-2.xml:17 last created, and not in the Resource List '{BASE}resources.xml'"
    ]


def test_times_that_are_not_sure(tmp_path: Path) -> None:
    """In the edition of 2017 a lastmod alone is not the time of a change: of that URI nothing can be said."""
    undated = entry("c.txt", 'change="updated"', lastmod("2024-02-05T00:00:00Z"))
    changed = LEAN | OLDER | added("changes-2.xml", undated)
    assert found(tmp_path, changed) == []
    assert found(tmp_path, changed, edition=2017) == []
    assert len(found(tmp_path, LEAN | OLDER, edition=2017)) == 1


GAP = "2024-02-01T00:00:00Z", "2024-02-01T00:00:01Z"
AWAY = "https://elsewhere.example/"


@pytest.mark.parametrize(
    "changed",
    [
        # A second between two Change Lists of which nothing is known.
        {"changes-2.xml": text("changes-2.xml").replace(*GAP)}
        | {"changes.xml": text("changes.xml").replace(FEBRUARY, FEBRUARY.replace(*GAP))},
        swap("resources.xml", f"{BASE}resources-1.xml", f"{AWAY}resources-1.xml"),
        swap("changes.xml", f"{BASE}changes-1.xml", f"{AWAY}changes-1.xml")
        | swap("changes-archive.xml", f"{BASE}changes-1.xml", f"{AWAY}changes-1.xml"),
        swap("changes-2.xml", "</urlset>", "</urlse>"),
        swap("resources-1.xml", "</urlset>", "</urlse>"),
        swap("resources-1.xml", "resourcelist", "changelist"),
    ],
)
def test_nothing_is_said_of_what_is_not_known(tmp_path: Path, changed: Changed) -> None:
    """Where a part could not be read, or changes have a gap, nothing is found to be missing."""
    comparison = ("CH06", "CH04", "CL06", "RD05", "CD04")
    missing = {"resources-old.xml": document("resourcelist", entry("x.txt"), ' at="2024-01-15T00:00:00Z"')}
    lines = found(tmp_path, LEAN | missing | changed)
    of_now = [line for line in lines if line.startswith(comparison) and "resources.xml'" in line]
    assert of_now == []


@pytest.mark.parametrize("most", range(1, 12))
def test_nothing_is_said_of_what_was_not_visited(tmp_path: Path, most: int) -> None:
    """However soon a visit ends, it finds no fault that is not there."""
    assert names(check(str(lay(tmp_path)), max_documents=most).findings) == []


def test_change_dump_that_begins_later(tmp_path: Path) -> None:
    """A Change Dump may begin later than the Change List: what was before is not claimed."""
    lately = ' from="2024-01-03T12:00:00Z" until="2024-02-01T00:00:00Z"'
    manifest = document("changedump-manifest", change("gone.txt", "deleted", "2024-01-04T00:00:00Z"), lately)
    changed = renewed("changes.zip", manifest) | only("resourcelist", "changelist", "changedump")
    changed["changedump.xml"] = str(changed["changedump.xml"]).replace("2024-01-01T00:00:00Z", "2024-01-03T12:00:00Z")
    assert found(tmp_path, changed) == []
    early = str(changed["changedump.xml"]).replace("2024-01-03T12", "2024-01-02T12")
    assert found(tmp_path, changed | {"changedump.xml": early}) == [
        "CL06 changes-1.xml:12 this change, 'created', is in no Change Dump"
    ]


def test_open_change_dump(tmp_path: Path) -> None:
    """An open Change Dump reaches to where its last package ends, and a change just then is in it."""
    last = change("x.txt", "deleted", "2024-02-01T00:00:00Z")
    changed = only("resourcelist", "changelist", "changedump") | added("changes-1.xml", last)
    assert found(tmp_path / "missing", changed) == [
        "CL06 changes-1.xml:22 this change, 'deleted', is in no Change Dump"
    ]
    manifest = CHANGE_MANIFEST.replace("</urlset>", f"{last}</urlset>")
    assert found(tmp_path / "there", changed | renewed("changes.zip", manifest)) == []


def test_another_kind_of_change(tmp_path: Path) -> None:
    """A change that is an update here and a creation there is in neither account of the other."""
    updated = CHANGE_MANIFEST.replace('change="created"', 'change="updated"', 1)
    assert found(tmp_path, only("resourcelist", "changelist", "changedump") | renewed("changes.zip", updated)) == [
        "CL06 changes-1.xml:7 this change, 'created', is in no Change Dump",
        "CL06 changes-manifest.xml:6 this change, 'updated', is in no Change List",
    ]


def test_dumps_alone_add_up(tmp_path: Path) -> None:
    """Where there is no Resource List, Resource Dumps are held against each other."""
    dumps = only("resourcedump", "resourcedump-archive", "changelist")
    assert found(tmp_path / "right", dumps) == []
    manifest = text("dump-old-manifest.xml").replace("b.txt", "x.txt")
    members = renewed("dump-old.zip", manifest)
    assert found(tmp_path / "wrong", dumps | members) == [
        f"CH06 dump-old-manifest.xml:10 the resource is not in '{BASE}dump.xml', and no listed change explains it",
        f"CL06 changes-1.xml:12 last created, and not in the Resource Dump '{BASE}dump-old.xml'",
    ]


def test_sets_are_apart(tmp_path: Path) -> None:
    """What one set lists is not missed in another."""
    about = f'  <rs:ln rel="describedby" href="{BASE}about.html"/>\n'
    second = entry("second.xml", 'capability="capabilitylist"').replace("  </url>", f"  {about}  </url>")
    changed = added("description.xml", second) | {
        "second.xml": document(
            "capabilitylist",
            entry("other.xml", 'capability="resourcelist"') + entry("others.xml", 'capability="changelist"'),
            links=about,
        ),
        "other.xml": document("resourcelist", entry("b.txt", B_SAID), ' at="2024-02-20T00:00:00Z"'),
        "others.xml": document(
            "changelist", change("b.txt", "updated", "2024-02-16T00:00:00Z", B_SAID), ' from="2024-02-15T00:00:00Z"'
        ),
        "robots.txt": None,
    }
    for name in ("other.xml", "others.xml"):
        changed[name] = str(changed[name]).replace("capabilitylist.xml", "second.xml")
    assert found(tmp_path, changed) == []


def test_wrong_hash_of_the_past(tmp_path: Path) -> None:
    """An archived list that is not as its changes say is wrong itself, and not the list after it."""
    wrong = text("resources-old.xml").replace(B_SAID, A_SAID)
    assert found(tmp_path, LEAN | {"resources-old.xml": wrong}) == [
        "CH04 resources-old.xml:11 the sha-256 differs from the last listed change"
    ]


def test_changes_at_the_begin(tmp_path: Path) -> None:
    """CH06: a change at `from` is one of the interval."""
    first = change("x.txt", "created", "2024-01-01T00:00:00Z")
    changed = swap(
        "changes-1.xml", "  <url>\n    <loc>https://example.org/a.txt", f"{first}  <url>\n    <loc>{BASE}a.txt"
    )
    assert found(tmp_path, only("resourcelist", "changelist") | changed) == [
        f"CL06 changes-1.xml:7 last created, and not in the Resource List '{BASE}resources.xml'"
    ]


def test_packed_change_whose_time_is_not_sure(tmp_path: Path) -> None:
    """A change that has a time in the Change Dump alone may be that of the Change List."""
    undated = text("changes-1.xml").replace('datetime="2024-01-04T00:00:00Z"', "")
    changed = only("resourcelist", "changelist", "changedump") | {"changes-1.xml": undated}
    assert found(tmp_path, changed, edition=2017) == []


def test_parts_of_two_lists(tmp_path: Path) -> None:
    """Of a list that shares its parts with another nothing is said: they are read as parts of the first."""
    archive = swap("resources-archive-1.xml", "</urlset>", entry("copy.xml", 'at="2024-03-01T00:00:00Z"') + "</urlset>")
    assert found(tmp_path, LEAN | archive | {"copy.xml": text("resources.xml")}) == []


def test_list_after_a_dump(tmp_path: Path) -> None:
    """What is wrong in a list is found in the list, and not once more by the dump that is older."""
    manifest = text("dump-manifest.xml").replace("2024-03-01", "2024-02-20")
    changed = renewed("dump.zip", manifest) | only("resourcelist", "resourcedump", "changelist")
    changed["dump.xml"] = str(changed["dump.xml"]).replace("2024-03-01", "2024-02-20")
    assert found(tmp_path / "right", changed) == []
    deleted = added("changes-2.xml", change("b.txt", "deleted", "2024-02-25T00:00:00Z"))
    assert found(tmp_path / "deleted", changed | deleted) == [
        f"CL06 changes-2.xml:17 last deleted, and still in the Resource List '{BASE}resources.xml'"
    ]
    updated = added("changes-2.xml", change("b.txt", "updated", "2024-02-25T00:00:00Z", OLD_SAID))
    assert found(tmp_path / "updated", changed | updated) == [
        "CH04 resources-1.xml:12 the sha-256 differs from the last listed change"
    ]


@pytest.mark.parametrize("link", ["second.xml", "none.xml"])
def test_up_of_a_manifest_in_a_package(tmp_path: Path, link: str) -> None:
    """X13: the link up of a manifest that has no copy leads to the set's Capability List."""
    about = f'  <rs:ln rel="describedby" href="{BASE}about.html"/>\n'
    second = entry("second.xml", 'capability="capabilitylist"').replace("  </url>", f"  {about}  </url>")
    changed = added("description.xml", second) | {"second.xml": document("capabilitylist", "", links=about)}
    changed |= renewed("dump.zip", text("dump-manifest.xml").replace("capabilitylist.xml", link))
    changed["dump.xml"] = re.sub(r".*contents.*\n", "", str(changed["dump.xml"]))
    report = check(str(lay(tmp_path, changed)), deep=True)
    (group,) = [group for _, _, group in report.findings.groups()]
    assert [(each.rule, each.document) for each in group.first] == [("X13", f"{BASE}dump.zip!/manifest.xml")]


PART, NEW = 10_000, 1_000
TIMES = ("2024-01-10T00:00:00Z", "2024-02-10T00:00:00Z", "2024-03-10T00:00:00Z")
# What the kernel counts for this program alone: `getrusage` counts what started it, too.
MEMORY = """
import re, sys
from pelican_resourcesync.cli import main
status = main(["check", sys.argv[1]])
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
raise SystemExit(status)
"""


def said(number: int) -> str:
    """Say a hash."""
    return f'hash="sha-256:{number:064x}"'


def lay_lists(folder: Path, parts: int) -> None:
    """Write three Resource Lists, of which each has a thousand resources more than that before it."""
    for which, time in enumerate(TIMES):
        count, names = parts * PART - NEW * (2 - which), []
        for first in range(0, count, PART):
            names.append(f"list-{which}-{first}.xml")
            entries = (entry(f"{n}.html", said(n)) for n in range(first, min(first + PART, count)))
            index = f'  <rs:ln rel="index" href="{BASE}list-{which}.xml"/>\n'
            (folder / names[-1]).write_text(document("resourcelist", "".join(entries), f' at="{time}"', index), "utf-8")
        listed = "".join(entry(name, f'at="{time}"', tag="sitemap") for name in names)
        whole = document("resourcelist", listed, f' at="{time}"', root="sitemapindex")
        (folder / f"list-{which}.xml").write_text(whole, "utf-8")


def lay_source(folder: Path, parts: int, *, whole: bool) -> Path:
    """Write a Source of these lists, two of them archived, with the changes between them or without the last."""
    folder.mkdir()
    lay_lists(folder, parts)
    first = parts * PART - 2 * NEW
    times = ["2024-01-20T00:00:00Z"] * NEW + ["2024-02-20T00:00:00Z"] * NEW
    rows = [change(f"{first + n}.html", "created", time, said(first + n)) for n, time in enumerate(times)]
    capabilities = {"resourcelist": "list-2.xml", "changelist": "changes.xml", "resourcelist-archive": "archive.xml"}
    files = {
        "changes.xml": document("changelist", "".join(rows if whole else rows[:-1]), YEAR),
        "archive.xml": document(
            "resourcelist-archive", "".join(entry(f"list-{n}.xml", f'at="{TIMES[n]}"') for n in range(2))
        ),
        "capabilitylist.xml": document(
            "capabilitylist",
            "".join(entry(path, f'capability="{name}"') for name, path in capabilities.items()),
            links=f"  {ABOUT}",
        ),
        "description.xml": text("description.xml"),
    }
    for name, data in files.items():
        (folder / name).write_text(data, "utf-8")
    return folder


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took")
@pytest.mark.parametrize("parts", [1, pytest.param(24, marks=pytest.mark.long)])
def test_lists_add_up(tmp_path: Path, parts: int) -> None:
    """Three lists and the changes between them, in less than 80 MB; the one change that is missing is found."""
    for whole in (True, False):
        command = [
            sys.executable,
            "-X",
            "utf8",
            "-c",
            MEMORY,
            str(lay_source(tmp_path / str(whole), parts, whole=whole)),
        ]
        shown = subprocess.run(command, check=False, capture_output=True, encoding="utf-8").stdout
        assert re.findall(r"^error (\w+).*\((\d+) times?\)", shown, re.MULTILINE) == ([] if whole else [("CH06", "1")])
        assert int(shown.splitlines()[-1]) < 80
