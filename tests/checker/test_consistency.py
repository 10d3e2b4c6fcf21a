"""Resource Lists, Resource Dumps and changes add up; where nothing can be known, nothing is found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.checker import check
from tests.checker.between import LISTS, NEWER, OLDER, SECOND, Changed, added, only, renewed, swap
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
    lay,
    lay_small,
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


BETWEEN = {
    "between.xml": document("resourcelist", entry("a.txt", A_SAID) + entry("x.txt"), ' at="2024-02-10T00:00:00Z"')
} | added("resources-archive-1.xml", entry("between.xml", 'at="2024-02-10T00:00:00Z"'))
C_THEN = change("c.txt", "created", "2024-03-01T00:00:00Z")
DUMPED = only("resourcelist", "changelist", "changedump")
X_LAST = change("x.txt", "deleted", "2024-02-01T00:00:00Z")
DUMPS = only("resourcedump", "resourcedump-archive", "changelist")
FIRST = change("x.txt", "created", "2024-01-01T00:00:00Z")
A_FIRST = "<url><loc>https://example.org/a.txt"
COPY = {"copy.xml": text("resources.xml")} | added(
    "resources-archive-1.xml", entry("copy.xml", 'at="2024-03-01T00:00:00Z"')
)
OLD_DUMP = renewed("dump.zip", text("dump-manifest.xml").replace("2024-03-01", "2024-02-20"))
OLD_DUMP |= only("resourcelist", "resourcedump", "changelist")
OLD_DUMP["dump.xml"] = str(OLD_DUMP["dump.xml"]).replace("2024-03-01", "2024-02-20")


TAKING = "2024-03-01T00:05:00Z"  # between `at` and `completed` of the Resource List


def not_in(document: str) -> str:
    """Return what is said of a resource that is missing in a document."""
    return f"the resource is not in '{BASE}{document}', but no listed change explains this"


#: For each case what is changed in the Source, and all that is found.
CASES: dict[str, tuple[Changed, list[str]]] = {
    # A finding names the entry that has no counterpart, and the document that lacks it.
    "what is new": (LEAN | NEWER, [f"CH06 resources-1.xml:8 {not_in('resources-old.xml')}"]),
    "what is gone": (LEAN | {"resources-1.xml": text("resources-1.xml")} | OLDER,
        [f"CH06 resources-old.xml:7 {not_in('resources.xml')}"]),
    # What is missing in one list between others is found once; what comes and goes again, with each.
    "a list between others": (LEAN | BETWEEN, [f"CH06 between.xml:6 {not_in('resources-old.xml')}",
        f"CH06 resources-old.xml:6 {not_in('between.xml')}", f"CH06 between.xml:6 {not_in('resources.xml')}"]),
    # RL02: a list has every change up to `at`, and also that of this very time.
    "a change at the time of a list": (LEAN | NEWER | added("changes-2.xml", C_THEN), []),
    "a change at the time of a list, which lacks it": (LEAN | added("changes-2.xml", C_THEN),
        [f"CL06 changes-2.xml:8 last created, but not in the Resource List '{BASE}resources.xml'"]),
    # An open Change Dump reaches to where its last package ends, and a change just then is in it.
    "the last change is in no package": (DUMPED | added("changes-1.xml", X_LAST),
        ["CL06 changes-1.xml:9 the change 'deleted' is in no Change Dump"]),
    "the last change is in the package": (DUMPED | added("changes-1.xml", X_LAST)
        | renewed("changes.zip", CHANGE_MANIFEST.replace("</urlset>", f"{X_LAST}</urlset>")), []),
    # A change that is an update here and a creation there is in neither account of the other.
    "another kind of change": (
        DUMPED | renewed("changes.zip", CHANGE_MANIFEST.replace('change="created"', 'change="updated"', 1)),
        ["CL06 changes-1.xml:6 the change 'created' is in no Change Dump",
        "CL06 changes-manifest.xml:5 the change 'updated' is in no Change List"]),
    # Where there is no Resource List, Resource Dumps are held against each other.
    "dumps alone": (DUMPS, []),
    "dumps alone, with a fault": (
        DUMPS | renewed("dump-old.zip", text("dump-old-manifest.xml").replace("b.txt", "x.txt")),
        [f"CH06 dump-old-manifest.xml:6 {not_in('dump.xml')}",
        f"CL06 changes-1.xml:7 last created, but not in the Resource Dump '{BASE}dump-old.xml'"]),
    # An archived list that is not as its changes say is wrong itself, and not the list after it.
    "a wrong hash of the past": (LEAN | {"resources-old.xml": text("resources-old.xml").replace(B_SAID, A_SAID)},
        ["CH04 resources-old.xml:6 the sha-256 differs from that of the last listed change"]),
    # CH06: a change at `from` is one of the interval.
    "a change at the begin": (
        only("resourcelist", "changelist") | swap("changes-1.xml", A_FIRST, f"{FIRST}{A_FIRST}"),
        [f"CL06 changes-1.xml:6 last created, but not in the Resource List '{BASE}resources.xml'"]),
    # Of a list that shares its parts with another nothing is said: they are read as parts of the first.
    "the parts of two lists": (LEAN | COPY, []),
    # What is wrong in a list is found in the list, and not once more by the dump that is older.
    "a list after a dump": (OLD_DUMP, []),
    "a deletion after a dump": (
        OLD_DUMP | added("changes-2.xml", change("b.txt", "deleted", "2024-02-25T00:00:00Z")),
        [f"CL06 changes-2.xml:8 last deleted, but still in the Resource List '{BASE}resources.xml'"]),
    "an update after a dump": (
        OLD_DUMP | added("changes-2.xml", change("b.txt", "updated", "2024-02-25T00:00:00Z", OLD_SAID)),
        ["CH04 resources-1.xml:7 the sha-256 differs from that of the last listed change"]),
    # What changes between `at` and `completed` of a list may be in it or not.
    **{f"{kind} while a list is taken: {bool(more)}": (
        LEAN | added("changes-2.xml", change(path, kind, TAKING, bytes_said)) | more, [])
        for path, kind, bytes_said, more in (
            ("b.txt", "deleted", "", {}), ("b.txt", "updated", OLD_SAID, {}), ("c.txt", "created", "", NEWER),
            ("c.txt", "created", "", {}), ("c.txt", "deleted", "", OLDER),
        )},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cases(tmp_path: Path, case: str) -> None:
    """What does not add up is found, where it is wrong and once."""
    changed, expected = CASES[case]
    assert found(tmp_path, changed) == expected


def test_times_that_are_not_sure(tmp_path: Path) -> None:
    """In the edition of 2017 a lastmod alone is not the time of a change: of that URI nothing can be said."""
    undated = entry("c.txt", 'change="updated"', "2024-02-05T00:00:00Z")
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
    changed = renewed("changes.zip", manifest) | DUMPED
    changed["changedump.xml"] = str(changed["changedump.xml"]).replace("2024-01-01T00:00:00Z", "2024-01-03T12:00:00Z")
    assert found(tmp_path, changed) == []
    early = str(changed["changedump.xml"]).replace("2024-01-03T12", "2024-01-02T12")
    assert found(tmp_path, changed | {"changedump.xml": early}) == [
        "CL06 changes-1.xml:7 the change 'created' is in no Change Dump"
    ]


def test_sets_are_apart(tmp_path: Path) -> None:
    """What one set lists is not missed in another."""
    changed = added("description.xml", SECOND) | {
        "second.xml": document(
            "capabilitylist",
            entry("other.xml", 'capability="resourcelist"') + entry("others.xml", 'capability="changelist"'),
            links=ABOUT,
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


def test_packed_change_whose_time_is_not_sure(tmp_path: Path) -> None:
    """A change that has a time in the Change Dump alone may be that of the Change List."""
    undated = text("changes-1.xml").replace('datetime="2024-01-04T00:00:00Z"', "")
    changed = DUMPED | {"changes-1.xml": undated}
    assert found(tmp_path, changed, edition=2017) == []


@pytest.mark.parametrize("link", ["second.xml", "none.xml"])
def test_up_of_a_manifest_in_a_package(tmp_path: Path, link: str) -> None:
    """X13: the link up of a manifest that has no copy leads to the set's Capability List."""
    changed = added("description.xml", SECOND) | {"second.xml": document("capabilitylist", "", links=ABOUT)}
    changed |= renewed("dump.zip", text("dump-manifest.xml").replace("capabilitylist.xml", link))
    changed["dump.xml"] = re.sub(r'<rs:ln rel="contents"[^>]*/>', "", str(changed["dump.xml"]))
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
            index = f'<rs:ln rel="index" href="{BASE}list-{which}.xml"/>\n'
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
    }
    return lay_small(folder, capabilities, files)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took")
@pytest.mark.parametrize("parts", [1, pytest.param(24, marks=pytest.mark.long)])
def test_lists_add_up(tmp_path: Path, parts: int) -> None:
    """Three lists and the changes between them, in less than 80 MB; the one change that is missing is found."""
    for whole in (True, False):
        folder = lay_source(tmp_path / str(whole), parts, whole=whole)
        command = [sys.executable, "-X", "utf8", "-c", MEMORY, str(folder)]
        shown = subprocess.run(command, check=False, capture_output=True, encoding="utf-8").stdout
        assert re.findall(r"^error (\w+).*\((\d+) times?\)", shown, re.MULTILINE) == ([] if whole else [("CH06", "1")])
        assert int(shown.splitlines()[-1]) < 80
