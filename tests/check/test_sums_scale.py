"""What adds up is asked in constant memory, however much there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.documents import ABOUT, BASE, YEAR, change, document, entry, text

PART, NEW = 50_000, 1_000
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


def lay_source(folder: Path, parts: int, *, told: bool) -> Path:
    """Write a Source of these lists, two of them archived, with the changes between them or without the last."""
    folder.mkdir()
    lay_lists(folder, parts)
    first = parts * PART - 2 * NEW
    times = ["2024-01-20T00:00:00Z"] * NEW + ["2024-02-20T00:00:00Z"] * NEW
    rows = [change(f"{first + n}.html", "created", time, said(first + n)) for n, time in enumerate(times)]
    capabilities = {"resourcelist": "list-2.xml", "changelist": "changes.xml", "resourcelist-archive": "archive.xml"}
    files = {
        "changes.xml": document("changelist", "".join(rows if told else rows[:-1]), YEAR),
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
@pytest.mark.parametrize("parts", [1, pytest.param(5, marks=pytest.mark.long)])
def test_lists_add_up(tmp_path: Path, parts: int) -> None:
    """Three lists and the changes between them, in less than 80 MB; the one change that is missing is found."""
    for told in (True, False):
        command = [sys.executable, "-X", "utf8", "-c", MEMORY, str(lay_source(tmp_path / str(told), parts, told=told))]
        shown = subprocess.run(command, check=False, capture_output=True, encoding="utf-8").stdout
        assert re.findall(r"^error (\w+).*\((\d+) times?\)", shown, re.MULTILINE) == ([] if told else [("CH06", "1")])
        assert int(shown.splitlines()[-1]) < 80
