"""Documents are read as the parser reads them, entries in the usual form too, and lines are counted right."""

from dataclasses import asdict, replace
from io import BytesIO
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.check import RULES
from pelican_resourcesync.check.document import RuleOptions, check_document
from pelican_resourcesync.check.rule import Findings, Rule
from pelican_resourcesync.check.scan import STANDARD_LIMITS
from tests.check.documents import A_SAID, JANUARY, change, checked, document, entry, lastmod, names, text

LISTED = document(
    "resourcelist",
    "".join(
        entry(f"{number}.txt", A_SAID, lastmod("2024-02-02T00:00:00Z") if number % 3 else "") for number in range(8)
    )
    + entry("bare")
    + change("c", "deleted", "2024-01-04T00:00:00Z"),
    ' at="2024-03-01T00:00:00Z"',
).encode()

PIECES = [
    b"", b"<", b">", b"/>", b'"', b"'", b"&", b"&amp;", b"&#65;", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<?p", b"?>",
    b"\0", b"\x1f", b"\x7f", b"\x85", b"\xc3\xa9", b"\xff", b"\xe2\x80\xa8", b"\r", b"\r\n", b"\n", b"\t", b" ", b"\f",
    b"<url>", b"</url>", b"<url/>", b"<url >", b"</url >", b"<url xmlns=''>", b"<loc>", b"</loc>", b"<loc/>", b"<a>",
    b"</a>", b"<a><url><loc>urn:a</loc></url></a>", b"<sitemap><loc>urn:a</loc></sitemap>", b"</urlset>", b"<rs:md/>",
    b"<rs:md x='y'/>", b'<rs:md length="1" length="2"/>', b'<rs:md xmlns="urn:x"/>', b'<rs:md xmlns:rs="urn:x"/>',
    b' xmlns="urn:x"', b' xmlns:rs="urn:x"', b' xml:lang="en"', b' rs:length="1"', b' a="&lt;"', b' a="\t"', b' a=">"',
    b'<rs:ln rel="up" href="urn:a"/>', b"<lastmod>2024</lastmod>", b"<changefreq>daily</changefreq>", b"<!DOCTYPE a>",
    b"<url>\n<loc>urn:a</loc>\n<!-- </url> -->\n</url>",
    *(
        b"<url><loc>urn:" + loc + b"</loc><rs:md " + md + b"/></url>"
        for loc, md in (
            (b"a", b'length="1" length="2"'),
            (b"a" * 20_000, b'length="1"'),
            (b"a", b'a="' + b"a" * 20_000 + b'"'),
            (b"a", b" ".join(b'%c%c=""' % (97 + number // 26, 97 + number % 26) for number in range(120))),
        )
    ),
]  # fmt: skip


CHANGED = document(
    "changelist",
    "".join(change(f"{number}.txt", "updated", f"2024-01-0{number}T00:00:00Z", A_SAID) for number in range(1, 8))
    + change("c", "deleted", "2024-01-08T00:00:00Z"),
    f" {JANUARY}",
).encode()


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return a document with a few places changed."""
    data = draw(st.sampled_from([LISTED, CHANGED]))
    if draw(st.booleans()):
        data = data.replace(b"\n", b"\r\n")
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 30)) | st.just(start))
        data = data[:start] + draw(st.sampled_from(PIECES)) + data[end:]
    return data


def all_findings(data: bytes, edition: int | None, rules: tuple[Rule, ...]) -> list[Any]:
    """Return all findings, with their counts."""
    findings = Findings(most=100)
    check_document(BytesIO(data), "list.xml", RuleOptions(rules=rules, edition=edition), findings)
    return [(rule, level, asdict(group)) for rule, level, group in findings.groups()]


@settings(max_examples=settings().max_examples * 2)
@given(documents(), st.sampled_from([None, 2014, 2017]))
def test_no_rule_is_passed_over(data: bytes, edition: int | None) -> None:
    """What is found is what every rule finds that is asked of every entry, as the parser gives it."""
    found = all_findings(data, edition, RULES)
    every = tuple(replace(rule, needs=frozenset(), by_names=False) for rule in RULES)
    assert all_findings(data, edition, every) == found


def test_line_of_entry_far_down() -> None:
    """Past 65,535 lines, where lxml loses count, and with tags over several lines."""
    good = (
        "  <url>\n    <loc\n    >https://example.org/a</loc>\n\n"
        '    <rs:md\n      length="1"\n      type="a/b"/>\n  </url>\n'
    )
    bad = good.replace('"1"', '"x"')
    data = document("resourcelist", good * 12_000 + bad + good * 3 + bad, ' at="2024-01-01T00:00:00Z"')
    findings, _ = checked(data)
    lines = [found.line for _, _, group in findings.groups() for found in group.first]
    lengths = [number for number, line in enumerate(data.splitlines(), 1) if 'length="x"' in line]
    assert lines == [number - 5 for number in lengths]
    assert data.splitlines()[lines[0] - 1] == "  <url>"  # type: ignore[operator]


def test_line_of_head() -> None:
    """A fault of the head is in the line where its element begins."""
    data = text("resources-1.xml").replace('rel="index"', '\n\nrel=""')
    findings, _ = checked(data)
    (found,) = [found for _, _, group in findings.groups() for found in group.first]
    assert data.splitlines()[(found.line or 0) - 1].strip() == "<rs:ln"


def test_line_of_what_cannot_be_read() -> None:
    """What is not well-formed is found in its line."""
    data = text("resources-1.xml").replace("</loc>", "</lock>", 1)
    findings, _ = checked(data)
    (found,) = [found for _, _, group in findings.groups() for found in group.first]
    assert "</lock>" in data.splitlines()[(found.line or 0) - 1]


def test_x04_counts_entries_and_bytes() -> None:
    """Past either limit a document is still read; past what is ever read, that is said once."""
    whole = text("resources-1.xml")
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, entries=2))[0]) == []
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, entries=1))[0]) == ["X04 MUST"]
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, most_entries=1))[0]) == ["X04 MUST"]
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, document_size=len(whole)))[0]) == []
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, document_size=len(whole) - 1))[0]) == ["X04 MUST"]
    assert names(checked(whole, limits=replace(STANDARD_LIMITS, most_bytes=len(whole) - 1))[0]) == ["X04 MUST"]


def test_x04_of_the_standard() -> None:
    """50,000 entries are allowed, and one more is not."""
    url = "<url><loc>urn:a</loc></url>"
    head = ' at="2024-01-01T00:00:00Z"'
    assert names(checked(document("resourcelist", url * 50_000, head))[0]) == []
    assert names(checked(document("resourcelist", url * 50_001, head))[0]) == ["X04 MUST"]
