"""What the writer writes, byte by byte, and what it refuses."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeFreq,
    ChangeKind,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
    write,
)
from tests.protocol.support import NOON, read_whole, resource_list, written

LOC = "https://example.com/a"
NAIVE = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - the point

CHANGES = Document(
    root=Root.URLSET,
    md=Metadata(capability="changelist", from_=NOON, attributes=(("{urn:x:b}z", "1"), ("{urn:x:a}y", "\t"))),
    links=(Link(rel="up", href="https://example.com/capabilitylist.xml"),),
    entries=(
        Entry(
            loc="https://example.com/?a=1&b='2'",
            lastmod=NOON,
            changefreq=ChangeFreq.DAILY,
            md=Metadata(
                change=ChangeKind.UPDATED,
                datetime=NOON,
                hash=(Hash(algorithm="md5", digest="1a"), Hash(algorithm="sha-256", digest="2b")),
                length=0,
                type="text/html",
                path="/a<b",
            ),
            links=(
                Link(rel="duplicate", href="gsiftp://example.com/a", pri=1, modified=NOON),
                Link(rel="describedby", href="https://example.com/m", profile="urn:x:p"),
            ),
        ),
        Entry(loc=LOC),
    ),
)
EXPECTED = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>
  <rs:md capability="changelist" from="2024-02-29T12:00:00Z" xmlns:ns1="urn:x:a" xmlns:ns2="urn:x:b" ns1:y="&#9;" \
ns2:z="1"/>
  <url>
    <loc>https://example.com/?a=1&amp;b=&apos;2&apos;</loc>
    <lastmod>2024-02-29T12:00:00Z</lastmod>
    <changefreq>daily</changefreq>
    <rs:md change="updated" datetime="2024-02-29T12:00:00Z" hash="md5:1a sha-256:2b" length="0" type="text/html" \
path="/a&lt;b"/>
    <rs:ln rel="duplicate" href="gsiftp://example.com/a" pri="1" modified="2024-02-29T12:00:00Z"/>
    <rs:ln rel="describedby" href="https://example.com/m" profile="urn:x:p"/>
  </url>
  <url>
    <loc>https://example.com/a</loc>
  </url>
</urlset>
"""


def test_bytes_by_hand() -> None:
    """A small document is, byte for byte, what a person wrote down."""
    assert written(CHANGES) == EXPECTED


def test_edition_of_2014_by_hand() -> None:
    """V1103: the edition of 2014 differs by what came later, and by nothing else."""
    expected = EXPECTED.replace(b' datetime="2024-02-29T12:00:00Z"', b"").replace(b' profile="urn:x:p"', b"")
    assert written(CHANGES, edition=2014) == expected


def test_index_by_hand() -> None:
    """The entries of a sitemapindex are sitemap elements."""
    data = written(replace(resource_list(Entry(loc=LOC)), root=Root.SITEMAPINDEX)).decode().splitlines()
    assert data[1:4] == [
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"',
        '              xmlns:rs="http://www.openarchives.org/rs/terms/">',
        '  <rs:md capability="resourcelist" at="2024-02-29T12:00:00Z"/>',
    ]
    assert data[4:] == ["  <sitemap>", f"    <loc>{LOC}</loc>", "  </sitemap>", "</sitemapindex>"]


def test_entries_stream() -> None:
    """Entries pass once, are counted, and are written before the last has been asked for."""
    stream = BytesIO()
    sizes = []

    def entries() -> Iterator[Entry]:
        for number in range(3000):
            sizes.append(len(stream.getvalue()))
            yield Entry(loc=f"{LOC}{number}")

    assert write(replace(resource_list(), entries=entries()), stream) == 3000
    assert sizes[-1] > 100_000
    assert max(after - before for before, after in pairwise(sizes)) < 50_000


def test_attributes_are_sorted() -> None:
    """The order in which community attributes are given makes no difference."""
    pairs = (("{urn:x:a}b", "1"), ("{urn:x:a}a", "2"))
    assert Metadata(attributes=pairs) == Metadata(attributes=pairs[::-1])
    assert Link(href=LOC, rel="up", attributes=pairs).attributes == (("{urn:x:a}a", "2"), ("{urn:x:a}b", "1"))


def test_xml_attributes_need_no_declaration() -> None:
    """An attribute such as xml:lang keeps its reserved prefix."""
    lang = (("{http://www.w3.org/XML/1998/namespace}lang", "ja"),)
    data = written(resource_list(Entry(loc=LOC, md=Metadata(attributes=lang))))
    assert b'<rs:md xml:lang="ja"/>' in data


METADATA_ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"type": "a\x00b"}, "attribute type: XML 1.0 cannot hold the character U\\+0000; remove it"),
    ({"encoding": "\x0b"}, "attribute encoding: .*U\\+000B"),
    ({"capability": "\ud800"}, "attribute capability: .*U\\+D800"),
    ({"type": "\ufffe"}, "attribute type: .*U\\+FFFE"),
    ({"length": -1}, "attribute length: a negative length cannot be; count the bytes"),
    ({"length": 10**18}, "attribute length: a length of 10\\^18 bytes"),
    ({"length": 10**5000}, "attribute length: a length of 10\\^18 bytes"),
    ({"at": NAIVE}, "attribute at: the time 2024-02-29T12:00:00 has no zone"),
    ({"datetime": NAIVE}, "attribute datetime: .* has no zone"),
    ({"path": "a"}, "attribute path: 'a' does not begin with /.*RD06"),
    ({"path": ""}, "attribute path: .*RD06"),
    (
        {"hash": (Hash(algorithm="md5", digest="1a"),), "length": -1, "type": "text/html"},
        "attribute length: a negative length cannot be",
    ),
    ({"hash": (Hash(algorithm="", digest="1a"),)}, "attribute hash: .* is not a hash.*X08"),
    ({"hash": (Hash(algorithm="md5", digest=""),)}, "attribute hash: .* is not a hash"),
    ({"hash": (Hash(algorithm="md:5", digest="1a"),)}, "attribute hash: .* is not a hash"),
    ({"hash": (Hash(algorithm="md5", digest="1 a"),)}, "attribute hash: .* is not a hash"),
    ({"hash": (Hash(algorithm="m 5", digest="1a"),)}, "attribute hash: .* is not a hash"),
    ({"attributes": (("plain", "1"),)}, "'plain': a community attribute is named {namespace}name.*X03"),
    ({"attributes": (("{}empty", "1"),)}, "X03"),
    ({"attributes": (("{urn:x:a}1", "1"),)}, "X03"),
    ({"attributes": (("{urn:x:a}a:b", "1"),)}, "X03"),
    ({"attributes": (("{http://www.openarchives.org/rs/terms/}hash", "1"),)}, "other than that of ResourceSync"),
    ({"attributes": (("{http://www.w3.org/2000/xmlns/}a", "1"),)}, "X03"),
    ({"attributes": (("{relative}a", "1"),)}, "'relative' is not an absolute URI"),
    ({"attributes": (('{urn:"}a', "1"),)}, "is refused by XML parsers"),
    ({"attributes": (("{urn:x:a}a", "1"), ("{urn:x:a}a", "2"))}, "occurs twice"),
    ({"attributes": (("{urn:x:a}a", "\x00"),)}, "'a': XML 1.0 cannot hold"),
]
LINK_ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"href": "/relative"}, "attribute href: '/relative' is not an absolute URI; begin it with a scheme"),
    ({"href": ""}, "attribute href: .* not an absolute URI"),
    ({"href": "https:"}, "attribute href: .* not an absolute URI"),
    ({"href": "https://example.com/é"}, "attribute href: .* not an absolute URI"),
    ({"rel": ""}, "attribute rel: is empty; name the relation.*X06"),
    ({"rel": "\x01"}, "attribute rel: .*U\\+0001"),
    ({"pri": 0}, "attribute pri: a priority is an integer from 1 to 999999.*X07"),
    ({"pri": 1_000_000}, "attribute pri: .*X07"),
    ({"length": -5}, "attribute length: .*X09"),
    ({"modified": NAIVE}, "attribute modified: .* has no zone"),
    ({"path": "x"}, "attribute path: .*RD06"),
    ({"attributes": (("plain", "1"),)}, "X03"),
]
LOC_ERRORS = [
    ("", "is not an absolute URI"),
    ("example.com/a", "is not an absolute URI"),
    ("/a:b", "is not an absolute URI"),
    ("https://example.com/a b", "is not an absolute URI"),
    ("https://example.com/a\n", "is not an absolute URI"),
    ("https://example.com/\x00", "is not an absolute URI"),
    ("https://example.com/日本", "percent-encode spaces, control and non-ASCII"),
    ("https://example.com/" + "a" * 2028, "its loc has 2,048 characters; a loc is shorter than 2,048"),
]


@pytest.mark.parametrize(("fields", "message"), METADATA_ERRORS)
def test_metadata_that_is_refused(fields: dict[str, Any], message: str) -> None:
    """A value that rs:md must not hold is refused, naming the loc and the attribute and saying what to do."""
    with pytest.raises(DocumentError, match=f"the entry with loc '{LOC}': rs:md .*{message}"):
        written(resource_list(Entry(loc=LOC, md=Metadata(**fields))))


@pytest.mark.parametrize(("fields", "message"), LINK_ERRORS)
def test_link_that_is_refused(fields: dict[str, Any], message: str) -> None:
    """A value that rs:ln must not hold is refused in the same way, in an entry and in the head."""
    link = Link(**({"href": "https://example.com/l", "rel": "via"} | fields))
    with pytest.raises(DocumentError, match=f"the entry with loc '{LOC}': the link to .*rs:ln .*{message}"):
        written(resource_list(Entry(loc=LOC, links=(link,))))
    with pytest.raises(DocumentError, match=f"the document with capability 'resourcelist': the link .*{message}"):
        written(resource_list(links=(link,)))


@pytest.mark.parametrize(("loc", "message"), LOC_ERRORS)
def test_loc_that_is_refused(loc: str, message: str) -> None:
    """X10: a loc that is not an absolute URI, or too long, is refused."""
    with pytest.raises(DocumentError, match=f"the entry with loc .*: .*{message}"):
        written(resource_list(Entry(loc=loc)))


def test_longest_loc_is_written() -> None:
    """X10: 2,047 characters are still a loc."""
    loc = "https://example.com/" + "a" * 2027
    (entry,) = read_whole(written(resource_list(Entry(loc=loc)))).entries
    assert entry.loc == loc


def test_naive_lastmod_is_refused() -> None:
    """X05: a naive lastmod is refused, naming the loc."""
    with pytest.raises(DocumentError, match=f"the entry with loc '{LOC}': lastmod: .* has no zone"):
        written(resource_list(Entry(loc=LOC, lastmod=NAIVE)))


@pytest.mark.parametrize("md", [None, Metadata(), Metadata(capability="")])
def test_document_without_capability_is_refused(md: Metadata | None) -> None:
    """X02: a document says what it is."""
    with pytest.raises(DocumentError, match=r"a urlset has no rs:md with a capability.*X02"):
        written(resource_list(md=md))


def test_head_that_is_refused() -> None:
    """An error in the document's own rs:md names its capability."""
    with pytest.raises(
        DocumentError, match=r"the document with capability 'changelist': rs:md attribute from: .* zone"
    ):
        written(resource_list(md=Metadata(capability="changelist", from_=NAIVE)))


def test_unknown_edition_is_refused() -> None:
    """There are two editions."""
    with pytest.raises(DocumentError, match="there is no edition 2015"):
        written(resource_list(), edition=2015)
