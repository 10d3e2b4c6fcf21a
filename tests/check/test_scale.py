"""A million resources are checked in constant memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.documents import ABOUT, BASE, checked, document, entry, names, text

PARTS, ENTRIES = 20, 50_000
AT = ' at="2024-03-01T00:00:00Z"'
# What the kernel counts for this program alone: `getrusage` counts what started it, too.
MEMORY = """
import re, sys
from pelican_resourcesync.cli import main
status = main(["check", "--strict", sys.argv[1]])
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
raise SystemExit(status)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took")
def test_a_million(tmp_path: Path) -> None:
    """Twenty parts of fifty thousand entries, in less than 80 MB."""
    index = f'  <rs:ln rel="index" href="{BASE}resources.xml"/>\n'
    for part in range(PARTS):
        entries = (
            entry(f"{part}/{n}.html", f'hash="sha-256:{part * ENTRIES + n:064x}" length="{n}" type="text/html"')
            for n in range(ENTRIES)
        )
        (tmp_path / f"part-{part}.xml").write_text(document("resourcelist", "".join(entries), AT, index), "utf-8")
    parts = "".join(entry(f"part-{part}.xml", AT.strip(), tag="sitemap") for part in range(PARTS))
    listed = entry("resources.xml", 'capability="resourcelist"')
    (tmp_path / "resources.xml").write_text(document("resourcelist", parts, AT, root="sitemapindex"), "utf-8")
    (tmp_path / "capabilitylist.xml").write_text(document("capabilitylist", listed, links=f"  {ABOUT}"), "utf-8")
    (tmp_path / ".well-known").mkdir()
    for name in (".well-known/resourcesync", "description.xml"):
        (tmp_path / name).write_text(text("description.xml"), "utf-8")
    command = [sys.executable, "-c", MEMORY, str(tmp_path)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert shown[0].endswith("0 errors, 0 warnings in 24 documents")
    assert int(shown[1]) < 80


def test_extensions_of_sitemaps() -> None:
    """Elements of others, of any depth, are none of our business."""
    image = '<i:image xmlns:i="urn:images"><i:loc>https://example.org/i.png</i:loc></i:image>'
    listed = text("resources-1.xml").replace("</loc>\n", f"</loc>\n{image}\n")
    assert names(checked(listed)[0]) == []
