"""Documents that mean harm, each kind once: findings, in little time and memory; the campaigns try more of them."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from pelican_resourcesync.checker import RULES, check
from pelican_resourcesync.checker.document import RuleOptions, check_document
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.checker.scan import STANDARD_LIMITS
from pelican_resourcesync.checker.values import read_time_and_form
from tests.kit.bounds import bounded
from tests.kit.documents import checked, document, entry, lay, names

LISTED = document("resourcelist", entry("a.txt", 'length="1"'), ' at="2024-01-01T00:00:00Z"').encode()
HEAD = LISTED.partition(b"<url>")[0]
INTERNAL, EXTERNAL = b'<!ENTITY a "b">', b'<!ENTITY a SYSTEM "file:///etc/passwd">'
LAUGHS = b'<!ENTITY a0 "lol">' + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))


def after_declaration(data: bytes) -> bytes:
    """Put something after the XML declaration."""
    return LISTED.replace(b"?>\n", b"?>\n" + data, 1)


def in_loc(data: bytes) -> bytes:
    """Put something into a loc."""
    return LISTED.replace(b"a.txt", data)


def in_entry(data: bytes) -> bytes:
    """Put something before the end of an entry."""
    return LISTED.replace(b"</url>", data + b"</url>")


FORBIDDEN, BROKEN = "a DOCTYPE is refused", "not well-formed XML in UTF-8"
CASES: dict[str, tuple[bytes, list[str], str]] = {
    "as it should be": (LISTED, [], ""),
    "a DOCTYPE": (after_declaration(b"<!DOCTYPE urlset>"), ["X01 MUST"], FORBIDDEN),
    "a DOCTYPE elsewhere": (after_declaration(b'<!DOCTYPE a SYSTEM "http://127.0.0.1/a">'), ["X01 MUST"], FORBIDDEN),
    "an entity": (after_declaration(b"<!DOCTYPE a [" + INTERNAL + b"]>"), ["X01 MUST"], FORBIDDEN),
    "an entity of a file": (after_declaration(b"<!DOCTYPE a [" + EXTERNAL + b"]>"), ["X01 MUST"], FORBIDDEN),
    "a parameter entity": (
        after_declaration(b'<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1/p"> %p;]>'), ["X01 MUST"], FORBIDDEN,
    ),
    "a billion laughs": (
        after_declaration(b"<!DOCTYPE a [" + LAUGHS + b"]>").replace(b"a.txt", b"&a9;"), ["X01 MUST"], FORBIDDEN,
    ),
    "a DOCTYPE inside": (in_entry(b"<!DOCTYPE a>"), ["X01 MUST"], BROKEN),
    "an undeclared entity": (in_loc(b"&lol;"), ["X01 MUST"], BROKEN),
    "a reference to NUL": (in_loc(b"&#0;"), ["X01 MUST"], BROKEN),
    "a reference to half a character": (in_loc(b"&#xD800;"), ["X01 MUST"], BROKEN),
    "a reference to white space": (in_loc(b"a&#10;b"), ["X10 MUST"], "not an absolute URI"),
    "XInclude": (in_entry(b'<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'), [], ""),
    "XInclude in a loc": (
        in_loc(b'<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'), ["X10 MUST"], "'include'",
    ),
    "a style sheet": (after_declaration(b'<?xml-stylesheet href="http://127.0.0.1/a.xsl" type="text/xsl"?>'), [], ""),
    "an instruction": (in_entry(b"<?php evil() ?>"), [], ""),
    "a second declaration": (in_entry(b"<?xml version='1.0'?>"), ["X01 MUST"], BROKEN),
    "XML 1.1": (LISTED.replace(b'version="1.0"', b'version="1.1"'), [], ""),
    "a comment": (in_entry(b"<!-- <url> </url> -->"), [], ""),
    "character data": (in_loc(b"<![CDATA[a]]>"), [], ""),
    "character data that is no URI": (in_loc(b"<![CDATA[a b]]>"), ["X10 MUST"], "not an absolute URI"),
    "another prefix": (LISTED.replace(b"rs:", b"resourcesync:").replace(b":rs=", b":resourcesync="), [], ""),
    "another default": (LISTED.replace(b"xmlns=", b"xmlns:s="), ["X01 MUST"], "in the namespace ''"),
    "no prefix declared": (LISTED.replace(b"xmlns:rs=", b"xmlns:other="), ["X01 MUST"], BROKEN),
    "a prefix bound anew": (LISTED.replace(b"<url>", b'<url xmlns:rs="urn:x">'), [], ""),
    "an attribute with a prefix": (LISTED.replace(b"length=", b"rs:length="), ["X03 MUST"], "has a prefix"),
    "an attribute twice": (LISTED.replace(b"length=", b'length="2" length='), ["X01 MUST"], BROKEN),
    "an attribute twice by two prefixes": (
        LISTED.replace(b"length=", b'xmlns:p="urn:p" xmlns:q="urn:p" p:a="" q:a="" length='), ["X01 MUST"], BROKEN,
    ),
    "UTF-16": (LISTED.decode().encode("utf-16"), ["X01 MUST"], BROKEN),
    "UTF-16 that hides a DOCTYPE": (
        after_declaration(b"<!DOCTYPE a>").decode().encode("utf-16-le"), ["X01 MUST"], BROKEN,
    ),
    "UTF-7 that is declared": (LISTED.replace(b"UTF-8", b"UTF-7"), ["X01 MUST"], "the declared encoding is 'UTF-7'"),
    "Latin-1 that is declared": (
        in_loc(b"\xe9").replace(b"UTF-8", b"ISO-8859-1"), ["X01 MUST"], BROKEN,
    ),
    "a byte order mark": (b"\xef\xbb\xbf" + LISTED, [], ""),
    "a longer form of NUL": (in_loc(b"\xc0\x80"), ["X01 MUST"], BROKEN),
    "half a character": (in_loc(b"\xed\xa0\x80"), ["X01 MUST"], BROKEN),
    "letters beyond ASCII": (in_loc("\u00e9".encode()), ["X10 MUST"], "not an absolute URI"),
    "cut": (LISTED[:-20], ["X01 MUST"], BROKEN),
    "cut in a tag": (LISTED[:-30], ["X01 MUST"], BROKEN),
    "nothing": (b"", ["X01 MUST"], BROKEN),
    "two roots": (LISTED + LISTED, ["X01 MUST"], BROKEN),
    "something after the end": (LISTED + b"<!-- fine -->", [], ""),
    "compressed": (b"\x1f\x8b\x08" + bytes(20), ["X01 MUST"], "publish it uncompressed"),
    "deep": (HEAD + b"<x xmlns=''>" + b"<a>" * 1_000_000, ["X01 MUST"], "more than 64 levels deep"),
    "deep in an entry": (in_entry(b"<a>" * 100_000), ["X01 MUST"], "more than 64 levels deep"),
    "a long attribute": (in_entry(b'<rs:ln href="' + b"a" * 20_000_000 + b'"/>'), ["X01 MUST"], "a tag or text"),
    "an attribute that is long enough": (
        in_entry(b'<rs:ln rel="up" href="' + b"a" * 20_000 + b'"/>'), ["X01 MUST"], "16,384 characters",
    ),
    "a long text": (in_loc(b"a" * 20_000_000), ["X10 MUST"], "loc has"),
    "a long comment": (in_entry(b"<!--" + b"a" * 20_000_000 + b"-->"), ["X01 MUST"], "a tag or text"),
    "a long name": (in_entry(b"<" + b"a" * 20_000_000 + b"/>"), ["X01 MUST"], "a tag or text"),
    "many attributes": (
        in_entry(b"<rs:ln " + b" ".join(b'a%d=""' % n for n in range(101)) + b"/>"), ["X01 MUST"], "100 attributes",
    ),
    "other attributes, which are long together": (
        LISTED.replace(b"length", b" ".join(b'a%d%s=""' % (n, b"a" * 200) for n in range(99)) + b" length"),
        ["X01 MUST"], "16,384 characters",
    ),
    "very many attributes": (
        in_entry(b"<a " + b" ".join(b'a%d=""' % n for n in range(100_000)) + b"/>"), ["X01 MUST"], "a tag or text",
    ),
    "many links": (HEAD + b'<rs:ln rel="up" href="urn:a"/>' * 201 + b"</urlset>", ["X01 MUST", "X13 MUST"], "200 elem"),
    "many links of an entry": (in_entry(b'<rs:ln rel="up" href="urn:a"/>' * 201), ["X01 MUST"], "200 elements in one"),
    "many children": (in_entry(b"<loc/>" * 1_000_000), ["X01 MUST"], "more than 200 elements in one entry"),
    "images, as search engines allow them": (
        in_entry(b'<i:image xmlns:i="urn:i"><i:loc>urn:a</i:loc></i:image>' * 1_000), [], "",
    ),
    "many hashes": (in_entry(b"").replace(b'length="1"', b'hash="' + b"a " * 8_000 + b'"'), ["X08 MUST"], "'a'"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_document(case: str) -> None:
    """What is found is what is wrong; what is huge in one fetcher is refused or passed over."""
    data, expected, said = CASES[case]
    with bounded():
        findings, _ = checked(data)
    assert names(findings) == expected
    assert any(said in found.message for _, _, group in findings.groups() for found in group.first) or not said


def test_elements_of_others() -> None:
    """Elements of no use are counted, and the rest is not read; a smaller limit shows it sooner than two million."""
    data = HEAD + b"<x xmlns=''>" + b"<a/>" * 100_000 + b"</x></urlset>"
    stream, findings = BytesIO(data), Findings(most=5)
    options = RuleOptions(rules=RULES, limits=replace(STANDARD_LIMITS, most_elements=20_000))
    check_document(stream, "list.xml", options, findings)
    ((rule, level, group),) = findings.groups()
    assert (rule, level) == ("X04", "MUST")
    assert "more than 20,000 elements" in group.first[0].message
    assert stream.tell() < len(data) / 2
    assert STANDARD_LIMITS.most_elements == 2_000_000


def test_what_is_remembered_is_small() -> None:
    """Times that are long are looked at and forgotten: there is no end of them."""
    with bounded(memory=20_000_000):
        for number in range(5_000):
            assert read_time_and_form(f"{number}{'0' * 16_000}") == (None, False)


def test_html_instead_of_a_document(tmp_path: Path) -> None:
    """A host that answers any path with a page is found out."""
    page = "<!DOCTYPE html>\n<title>Not found</title>"
    report = check(str(lay(tmp_path, {"resources.xml": page})))
    assert names(report.findings)[0] in ("CL04 MUST", "X01 MUST")
