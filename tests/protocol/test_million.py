"""A Resource List of a million resources is written in parts, in constant memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from pelican_resourcesync.protocol import read

MEMORY = 64  # MB: all that the process has ever had, Python itself included
WRITE = """
import json, re, sys
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from pelican_resourcesync.protocol import Document, Entry, Hash, Link, Metadata, Root, write_parts
folder, count = Path(sys.argv[1]), int(sys.argv[2])
base, noon = "https://example.org/", datetime(2024, 2, 29, 12, tzinfo=UTC)
entries = (
    Entry(
        loc=f"{base}articles/{number}.html",
        lastmod=noon + timedelta(seconds=number),
        md=Metadata(
            hash=(Hash(algorithm="sha-256", digest=sha256(b"%d" % number).hexdigest()),),
            length=number,
            type="text/html",
        ),
    )
    for number in range(count)
)
up = Link(rel="up", href=f"{base}capabilitylist.xml")
document = Document(root=Root.URLSET, md=Metadata(capability="resourcelist", at=noon), links=(up,), entries=entries)
names = write_parts(
    document,
    name="resourcelist.xml",
    part_name="resourcelist-{}.xml".format,
    uri=base.__add__,
    open=lambda name: (folder / name).open("wb"),
)
memory = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
print(json.dumps([names, memory]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory a program took")
@pytest.mark.parametrize("count", [120_001, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_million(tmp_path: Path, count: int) -> None:
    """X04: full parts and an index, all within the limits and well-formed, every entry in one; under 64 MB in all."""
    command = [sys.executable, "-c", WRITE, str(tmp_path), str(count)]
    (*parts, index), memory = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert memory < MEMORY
    assert len(parts) == -(-count // 50_000)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*parts, index])
    with (tmp_path / index).open("rb") as stream:
        assert [entry.loc for entry in read(stream, name=index).entries] == [
            f"https://example.org/{part}" for part in parts
        ]
    seen = 0
    for part in parts:
        assert (tmp_path / part).stat().st_size <= 50_000_000
        first = seen
        for _, element in etree.iterparse(tmp_path / part, tag="{http://www.sitemaps.org/schemas/sitemap/0.9}url"):
            assert element[0].text == f"https://example.org/articles/{seen}.html"
            seen += 1
            element.clear()
        assert seen - first == min(50_000, count - first)
    assert seen == count
