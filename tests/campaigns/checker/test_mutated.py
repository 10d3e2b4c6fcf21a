"""Campaigns: whatever the bytes are, no exception, no second of the processor and no 100 MB of memory.

Five hundred examples in the normal run, a hundred thousand with `--long`, divided among the four kinds.
"""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pelican_resourcesync.checker import RULES, CheckError, check
from pelican_resourcesync.checker.document import RuleOptions
from pelican_resourcesync.checker.resources import CheckedPackage, check_package
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.errors import DocumentError, TooLargeError
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS, read
from tests.kit.bounds import bounded, require_linear
from tests.kit.documents import OTHERS, SOURCE, checked, lay, names
from tests.kit.zips import ALPHA, BETA, GOOD, LINK, MANIFEST, Piece, zipped

EXAMPLES = 100_000 if settings().max_examples > 1_000 else 500
DOCUMENTS = sorted(name for name, data in (SOURCE | OTHERS).items() if isinstance(data, str) and name.endswith("xml"))
EDITIONS = st.sampled_from([None, 2014, 2017])


def share(percent: int) -> settings:
    """Return the settings for a campaign that takes a share of the examples."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=EXAMPLES * percent // 100, suppress_health_check=slow)


LAUGHS = b"".join(b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 12))
PIECES = [
    b"", b"<", b">", b"/>", b'"', b"'", b"&", b"&amp;", b"&lol;", b"&#0;", b"&#xD800;", b"&#x10FFFF;", b"]]>",
    b"<![CDATA[", b"<!--", b"-->", b"--", b"<?", b"?>", b"<?xml version='1.1'?>", b"<?php evil() ?>", b"<!",
    b"<![INCLUDE[",
    b"<!DOCTYPE x>", b'<!DOCTYPE x SYSTEM "file:///etc/passwd">', b'<!DOCTYPE x [<!ENTITY lol "lol">%s]>' % LAUGHS,
    b'<!DOCTYPE x [<!ENTITY %% p SYSTEM "http://127.0.0.1/p"> %p;]>', b"<!ELEMENT x ANY>",
    b"<!ATTLIST url a CDATA 'b'>",
    b'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd" parse="text"/>',
    b'<?xml-stylesheet href="http://127.0.0.1/a.xsl" type="text/xsl"?>', b' xml:base="http://127.0.0.1/"',
    b' xsi:schemaLocation="http://127.0.0.1/ a.xsd"', b' xmlns=""', b' xmlns:rs=""', b' xmlns:rs="urn:x"',
    b" xmlns:a='a'",
    b' xmlns:xml="urn:x"', b"<url>", b"</url>", b"<url/>", b"<loc>", b"</loc>", b"<sitemap>", b"</urlset>", b"<rs:md/>",
    b"<rs:ln/>", b'<rs:ln rel="up" href="http://["/>', b'<rs:ln rel="index" href="//"/>', b"<rs:x/>", b"<lastmod/>",
    b"<changefreq>daily</changefreq>", b"\0", b"\x0b", b"\x7f", b"\xff", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80\xa8", b"\xef\xbf\xbf", b"\xef\xbb\xbf", b"\r", b"\n" * 50, b"9" * 5000, b"0000-00-00", b"2024-02-30",
    b"9999-12-31T23:59:59-23:59", b"0001-01-01T00:00:00+10:00", b"2024-01-01T00:00:00." + b"0" * 3000 + b"Z", b"-1",
    b"1e9",
    b"sha-256:", b"md5:" + b"a" * 20_000, b"a:b " * 5000, b"http://" + b"a" * 5000, b"/" * 3000, b"..", b"%00", b"\\",
    b"<x>" * 100, b"<x>" * 20 + b"</x>" * 20, b"<x " + b" ".join(b'a%d=""' % n for n in range(2000)) + b"/>",
    b' a="' + b"b" * 200_000 + b'"', b"<loc>" + b"c" * 200_000, b"<!-- " + b"-" * 9, b"<url><loc>a:b</loc></url>" * 500,
]  # fmt: skip
#: What may happen to a document as a whole.
TURNS = {
    "nothing": lambda data: data,
    "UTF-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "UTF-16 without a mark": lambda data: data.decode("utf-8", "replace").encode("utf-16-be"),
    "UTF-32": lambda data: data.decode("utf-8", "replace").encode("utf-32"),
    "said to be Latin-1": lambda data: data.replace(b"UTF-8", b"ISO-8859-1"),
    "said to be UTF-7": lambda data: data.replace(b"UTF-8", b"UTF-7"),
    "with a mark": lambda data: b"\xef\xbb\xbf" + data,
    "with carriage returns": lambda data: data.replace(b"\n", b"\r\n"),
    "in another namespace": lambda data: data.replace(RS_NS.encode(), b"urn:rs"),
    "namespaces exchanged": lambda data: data.replace(RS_NS.encode(), b"?").replace(
        SITEMAP_NS.encode(), RS_NS.encode()
    ),
    "twice": lambda data: data * 2,
    "cut": lambda data: data[: len(data) // 2],
    "nested": lambda data: b"<a>" * 70 + data + b"</a>" * 70,
}
BYTES = {name: data if isinstance(data, bytes) else data.encode() for name, data in (SOURCE | OTHERS).items()}


@st.composite
def edited(draw: st.DrawFn, data: bytes, most: int = 40) -> bytes:
    """Return bytes with a few places changed."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + most)))
        data = data[:start] + draw(st.sampled_from(PIECES) | st.binary(max_size=8)) + data[end:]
    return data


@st.composite
def faulty(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return a document's name and its bytes, edited and turned."""
    name = draw(st.sampled_from(DOCUMENTS))
    return name, TURNS[draw(st.sampled_from(sorted(TURNS)))](draw(edited(BYTES[name])))


_numbers = st.none() | st.sampled_from([0, 1, 30, 2**16 - 1, 2**31, 2**32 - 2, 2**32 - 1]) | st.integers(0, 5000)
_members = st.binary(max_size=12) | st.sampled_from(
    [
        b"manifest.xml", b"a.txt", b"sub/b.txt", b"../a.txt", b"/etc/passwd", b"C:\\a", b"a\0b", b"\xff\xfe", b"", b"/",
        b"sub/", b"a/../../b", b"\xe2\x80\xae", b"CON", b"a" * 3000, b"manifest.xml/", b"Manifest.xml",
        b"./manifest.xml",
    ]
)  # fmt: skip
_contents = st.sampled_from([b"", ALPHA.data, BETA.data, MANIFEST.data, bytes(3_000_000), zipped(GOOD)]) | st.binary()
_extras = (
    st.sampled_from([b"", b"\1\0\x10\0" + b"\xff" * 16, b"\1\0\x08\0" + bytes(8), b"\1\0", b"up\0\0"]) | st.binary()
)
_lies = st.fixed_dictionaries(
    {},
    optional={
        "data": _contents,
        "method": st.sampled_from([0, 8, 8, 9, 12, 14, 93, 97, 99]),
        "flags": st.sampled_from([0, 1, 8, 0x20, 0x40, 0x800, 0x2000, 0xFFFF]),
        "attributes": st.sampled_from([0, LINK, 0xFFFFFFFF, 0x10]),
        "extra": _extras,
        "listed": _members,
        "packed": st.binary(max_size=60) | st.just(bytes(5000)),
        "size": _numbers,
        "packed_size": _numbers,
        "crc": _numbers,
        "at": _numbers,
        "hidden": st.booleans(),
    },
)


@st.composite
def packages(draw: st.DrawFn) -> bytes:
    """Return a package in which some things are not as they are said to be."""
    pieces = [MANIFEST, ALPHA, BETA]
    for _ in range(draw(st.integers(0, 3))):
        fetcher = draw(st.integers(0, len(pieces)))
        pieces.insert(fetcher, Piece(name=draw(_members), data=draw(_contents)))
    fetcher = draw(st.integers(0, len(pieces) - 1))
    piece = pieces[fetcher]
    kept = {name: getattr(piece, name) for name in ("name", "data")}
    pieces[fetcher] = Piece(**(kept | draw(_lies)))
    if draw(st.booleans()):
        pieces[0] = Piece(name=b"manifest.xml", data=draw(edited(MANIFEST.data)))
    ends: dict[str, Any] = {
        name: draw(_numbers) for name in ("count", "size", "offset") if draw(st.integers(0, 5)) == 0
    }
    data = zipped(pieces, before=draw(st.sampled_from([b"", b"", b"PK\3\4", b"x" * 99])), **ends)
    return draw(edited(data)) if draw(st.booleans()) else data


@share(35)
@given(
    st.binary() | st.sampled_from(PIECES), st.sampled_from([b"", b"<?xml version='1.0'?><a ", b"\x1f\x8b", b"PK\3\4"])
)
def test_any_bytes(data: bytes, before: bytes) -> None:
    """Arbitrary bytes are no document, which is a finding; no package; and a declared error of the reader."""
    with bounded():
        assert "X01 MUST" in names(checked(before + data)[0])
        check_package(BytesIO(before + data), CheckedPackage("dump.zip"), RuleOptions(rules=RULES), Findings(most=5))
        with suppress(DocumentError):
            tuple(read(BytesIO(before + data), name="list.xml").entries)


@share(35)
@given(faulty(), EDITIONS)
def test_mutated_documents(changed: tuple[str, bytes], edition: int | None) -> None:
    """A document with faults gives findings in lines that it has, and a document or a declared error of the reader."""
    _, data = changed
    with bounded():
        findings, _ = checked(data, edition=edition)
        for _, _, group in findings.groups():
            for found in group.first:
                assert found.message.isascii()
                assert found.line is None or 1 <= found.line <= data.count(b"\n") + 1 + data.count(b"\r")
        with suppress(DocumentError):
            tuple(read(BytesIO(data), name="list.xml").entries)


@share(25)
@given(packages(), st.sampled_from(["", "resourcedump", "changedump"]))
def test_mutated_packages(data: bytes, listed_as: str) -> None:
    """A package that lies gives findings, all in ASCII."""
    findings = Findings(most=20)
    with bounded(), suppress(TooLargeError):
        check_package(BytesIO(data), CheckedPackage("dump.zip", listed_as), RuleOptions(rules=RULES), findings)
    assert all(found.message.isascii() for _, _, group in findings.groups() for found in group.first)


@share(5)
@given(
    faulty() | st.tuples(st.just("dump.zip"), packages()) | st.tuples(st.just("robots.txt"), edited(b"Sitemap: a:b\n"))
)
def test_mutated_sources(changed: tuple[str, bytes]) -> None:
    """A Source with one faulty document or package gives a report, or one declared error."""
    with TemporaryDirectory() as folder:
        lay(Path(folder), dict([changed]))
        with bounded(), suppress(CheckError):
            report = check(folder, deep=True, jobs=1)
            assert report.as_json()
            assert report.as_text()


def test_time_is_watched() -> None:
    """An example that takes too long fails, whatever it catches."""

    def endless() -> None:
        while True:
            with suppress(Exception):
                sum(range(1_000))

    with pytest.raises(pytest.fail.Exception, match="takes longer"), bounded(hangs=0.1):
        endless()


def test_growth_is_watched() -> None:
    """Work that grows with the square of its size fails, and work in proportion to it does not."""
    require_linear(lambda size: sum(range(size)), 100_000)
    with pytest.raises(AssertionError):
        require_linear(lambda size: [sum(range(size)) for _ in range(size)], 800)


def test_memory_is_watched() -> None:
    """An example that takes too much memory fails, though it has given all of it back."""
    with bounded():
        assert len(b"a" * 80_000_000)
    with pytest.raises(AssertionError), bounded():
        assert len(b"a" * 120_000_000)
