"""Whatever the bytes are: findings, or one declared error, in little time and memory."""

import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.check import CheckError, Request, check
from tests.check.documents import OTHERS, RESOURCE_MANIFEST, SOURCE, checked, document, entry, lay, names, package
from tests.check.test_package import GOOD, checked_package

DOCUMENTS = sorted(
    name for name, data in {**SOURCE, **OTHERS}.items() if isinstance(data, str) and name.endswith("xml")
)
TEXTS = {**SOURCE, **OTHERS}
PACKAGE = package(RESOURCE_MANIFEST, GOOD)

_pieces = st.sampled_from(
    [
        b"",
        b"<",
        b">",
        b"/>",
        b'"',
        b"&",
        b"]]>",
        b"<![CDATA[",
        b"<!--",
        b"<!DOCTYPE x>",
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"<rs:md/>",
        b"<rs:ln/>",
        b'<rs:ln rel="up" href="http://["/>',
        b"\0",
        b"\xff",
        b"\xe2\x80\xa8",
        b"9" * 5000,
        b"0000-00-00",
        b"9999-12-31T23:59:59-23:59",
        b'at="0001-01-01T00:00:00+10:00"',
        b"<x>" * 100,
    ]
)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """Give bytes with a few places changed."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        data = data[:start] + draw(_pieces | st.binary(max_size=8)) + data[end:]
    return data


def bytes_of(name: str) -> bytes:
    """Give a document of the tests."""
    data = TEXTS[name]
    return data if isinstance(data, bytes) else data.encode()


@given(st.binary())
def test_any_bytes(data: bytes) -> None:
    """Arbitrary bytes are no document, which is a finding."""
    assert "X01 MUST" in names(checked(data)[0])


@given(st.sampled_from(DOCUMENTS).flatmap(lambda name: mutated(bytes_of(name))), st.sampled_from([None, 2014, 2017]))
def test_mutated_documents(data: bytes, edition: int | None) -> None:
    """A document with faults gives findings, and never an exception."""
    before = monotonic()
    findings, _ = checked(data, edition=edition)
    for _, _, group in findings.groups():
        for found in group.first:
            assert found.message.isascii()
            assert found.line is None or 1 <= found.line <= data.count(b"\n") + 1 + data.count(b"\r")
    assert monotonic() - before < 1


@given(mutated(PACKAGE) | st.binary())
def test_mutated_packages(data: bytes) -> None:
    """A package with faults gives findings, and never an exception."""
    checked_package(data)


@settings(max_examples=30)
@given(st.sampled_from(DOCUMENTS).flatmap(lambda name: st.tuples(st.just(name), mutated(bytes_of(name)))))
def test_mutated_sources(changed: tuple[str, bytes]) -> None:
    """A Source with a faulty document gives a report, or one declared error."""
    with TemporaryDirectory() as folder:
        lay(Path(folder), dict([changed]))
        with suppress(CheckError):
            report = check(Request(target=folder, deep=True, jobs=1))
            assert report.as_json()
            assert report.as_text()


def measured(data: bytes) -> tuple[list[str], float, int]:
    """Check bytes, and give what was found, the seconds and the most memory."""
    tracemalloc.start()
    before = monotonic()
    try:
        found = names(checked(data)[0])
        return found, monotonic() - before, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


HEAD = document("resourcelist", "", ' at="2024-01-01T00:00:00Z"').encode().removesuffix(b"</urlset>\n")
HUGE = {
    "deep": b"<a>" * 1_000_000,
    "deep in an entry": HEAD + b"<url>" + b"<a>" * 100_000,
    "one long attribute": HEAD + b'<rs:ln href="' + b"a" * 20_000_000 + b'"/></urlset>',
    "one long text": HEAD + b"<url><loc>" + b"a" * 20_000_000 + b"</loc></url></urlset>",
    "one long comment": HEAD + b"<!--" + b"a" * 20_000_000 + b"--></urlset>",
    "many attributes": HEAD + b"<url " + b" ".join(b'a%d=""' % n for n in range(100_000)) + b"/></urlset>",
    "many links": HEAD + b'<rs:ln rel="up"/>' * 100_000 + b"</urlset>",
    "many children": HEAD + b"<url>" + b"<loc/>" * 1_000_000 + b"</url></urlset>",
    "entities": b'<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><a>&b;</a>',
}


@pytest.mark.parametrize("name", HUGE)
def test_huge(name: str) -> None:
    """What is huge in one place is refused or passed over, in a second and little memory."""
    found, seconds, memory = measured(HUGE[name])
    assert found
    assert seconds < 5  # traced, on a busy machine
    assert memory < 40_000_000


def test_doctype_is_refused() -> None:
    """Nothing that a DOCTYPE declares is ever loaded or expanded."""
    (group,) = [group for rule, _, group in checked(HUGE["entities"])[0].groups() if rule == "X01"][:1]
    assert "a DOCTYPE is refused" in group.first[0].message


def test_memory_is_constant() -> None:
    """Forty thousand entries, all of them faulty, take no more memory than few do."""
    entries = entry("a", 'length="x" hash="y"').encode()
    few_entries, many = HEAD + entries * 1_000 + b"</urlset>", HEAD + entries * 40_000 + b"</urlset>"
    measured(few_entries)
    assert measured(many)[2] < measured(few_entries)[2] + 1_000_000


def test_html_instead_of_a_document(tmp_path: Path) -> None:
    """A host that answers any path with a page is found out."""
    page = "<!DOCTYPE html>\n<title>Not found</title>"
    report = check(Request(target=str(lay(tmp_path, {"resources.xml": page}))))
    assert names(report.findings)[0] in ("CL04 MUST", "X01 MUST")
