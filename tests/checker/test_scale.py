"""A million resources are checked in constant memory, and in little more time than it takes to parse them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.documents import BASE, document, entry, lay_small

AT = ' at="2024-03-01T00:00:00Z"'
# In one run: what lxml takes for the parts, and what the check of the whole Source takes, the best of a few, in seconds
# of the processor, because other work takes turns with either. The most memory is what the kernel counts for this
# program before lxml has built its trees: `getrusage` counts what started it, too.
PROGRAM = """
import json, sys
from pathlib import Path
from time import process_time
from lxml import etree
from pelican_resourcesync.checker import check

folder, times = Path(sys.argv[1]), int(sys.argv[2])

def checked():
    report = check(str(folder), deep=False)
    assert not report.errors + report.warnings, report.as_text()
    return report.documents

def parsed():
    for part in sorted(folder.glob("*.xml")):
        for _ in etree.iterparse(str(part)):
            pass

def seconds(work):
    begin = process_time()
    work()
    return process_time() - begin

found = {"documents": checked()}
status = Path("/proc/self/status")
if status.exists():
    found["memory"] = next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) * 1024
pairs = [(seconds(parsed), seconds(checked)) for _ in range(times)]
found["parsed"], found["checked"] = (min(column) for column in zip(*pairs))
print(json.dumps(found))
"""


def lay_list(folder: Path, parts: int, entries: int, *, dated: bool = False) -> None:
    """Write a Source of one Resource List in parts."""
    index = f'<rs:ln rel="index" href="{BASE}resources.xml"/>\n'
    for part in range(parts):
        listed = "".join(
            entry(
                f"{part}/{n}.html",
                f'hash="sha-256:{part * entries + n:064x}" length="{n}" type="text/html"',
                f"2024-02-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:{n // 60 % 60:02}Z" if dated else "",
            )
            for n in range(entries)
        )
        (folder / f"part-{part}.xml").write_text(document("resourcelist", listed, AT, index), "utf-8")
    listed = "".join(entry(f"part-{part}.xml", AT.strip(), tag="sitemap") for part in range(parts))
    whole = document("resourcelist", listed, AT, root="sitemapindex")
    lay_small(folder, {"resourcelist": "resources.xml"}, {"resources.xml": whole})


def measured(folder: Path, times: int) -> dict[str, Any]:
    """Check and parse, in a process of its own in which nothing else is measured, as coverage would be."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-c", PROGRAM, str(folder), str(times)]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.get("memory", 0) < 80_000_000
    return found


@pytest.mark.long
@pytest.mark.parametrize("dated", [False, True])
def test_a_million(tmp_path: Path, dated: bool) -> None:
    """Twenty parts of fifty thousand entries, in less than 80 MB and 2.5 times what lxml takes to parse them."""
    lay_list(tmp_path, 20, 50_000, dated=dated)
    found = measured(tmp_path, 2)
    assert found["documents"] == 24
    assert found["checked"] < 2.5 * found["parsed"]


def test_some_thousands(tmp_path: Path) -> None:
    """So it is on a smaller scale, with room for what else a machine does: fifteen thousand entries."""
    lay_list(tmp_path, 1, 15_000)
    found = measured(tmp_path, 2)
    assert found["documents"] == 5
    assert found["checked"] < 8 * found["parsed"]
