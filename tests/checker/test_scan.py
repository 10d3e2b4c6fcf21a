"""Lines are counted right, and documents are read up to the limits."""

from dataclasses import replace

import pytest

from pelican_resourcesync.checker.scan import STANDARD_LIMITS
from tests.kit.documents import checked, document, names, text


def test_line_of_entry_far_down() -> None:
    """Past 65,535 lines, where lxml loses count, and with tags over several lines."""
    good = '<url>\n<loc\n>https://example.org/a</loc>\n\n<rs:md\nlength="1"\ntype="a/b"/>\n</url>\n'
    bad = good.replace('"1"', '"x"')
    data = document("resourcelist", good * 12_000 + bad + good * 3 + bad, ' at="2024-01-01T00:00:00Z"')
    findings, _ = checked(data)
    lines = [found.line for _, _, group in findings.groups() for found in group.first]
    lengths = [number for number, line in enumerate(data.splitlines(), 1) if 'length="x"' in line]
    assert lines == [number - 5 for number in lengths]
    assert data.splitlines()[lines[0] - 1] == "<url>"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("old", "new", "line"), [('rel="index"', '\n\nrel=""', "<rs:ln "), ("/></url>\n<", "/></earl>\n<", "</earl>")]
)
def test_line_of_a_fault(old: str, new: str, line: str) -> None:
    """A fault of the head is in the line where its element begins; what is not well-formed is found in its line."""
    data = text("resources-1.xml").replace(old, new, 1)
    (found,) = [found for _, _, group in checked(data)[0].groups() for found in group.first]
    assert data.splitlines()[(found.line or 0) - 1].endswith(line)


def test_x04_counts_entries_and_bytes() -> None:
    """Past either limit a document is still read; past what is ever read, that is said once."""
    whole = text("resources-1.xml")
    assert (STANDARD_LIMITS.entries, STANDARD_LIMITS.document_size) == (50_000, 50 << 20)
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, entries=2))[0]) == []
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, entries=1))[0]) == ["X04 MUST"]
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, most_entries=1))[0]) == ["X04 MUST"]
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, document_size=len(whole)))[0]) == []
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, document_size=len(whole) - 1))[0]) == ["X04 MUST"]
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, most_bytes=len(whole) - 1))[0]) == ["X04 MUST"]
