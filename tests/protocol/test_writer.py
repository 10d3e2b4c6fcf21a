"""Documents are written byte by byte as the standard asks, whole or in parts, in constant memory."""

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeFreq,
    ChangeKind,
    Document,
    Entry,
    Hash,
    Limits,
    Link,
    Metadata,
    Root,
    read,
    write,
    write_parts,
    writer,
)
from tests.protocol.support import BASE, NOON, read_whole, resource_list, split, written

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


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, b'<rs:md hash="md5:1a" length="7" type="text/html"/>'),
        ({"change": ChangeKind.CREATED}, b'<rs:md change="created" hash="md5:1a" length="7" type="text/html"/>'),
        ({"path": "/a"}, b'<rs:md hash="md5:1a" length="7" type="text/html" path="/a"/>'),
        ({"hash": (Hash(algorithm="md5", digest="1A&"),)}, b'<rs:md hash="md5:1A&amp;" length="7" type="text/html"/>'),
        ({"hash": ()}, b'<rs:md length="7" type="text/html"/>'),
        ({"length": None}, b'<rs:md hash="md5:1a" type="text/html"/>'),
        ({"type": None}, b'<rs:md hash="md5:1a" length="7"/>'),
    ],
)
def test_metadata_by_hand(more: dict[str, Any], text: bytes) -> None:
    """That of most entries, and what differs from it in one attribute."""
    md = replace(Metadata(hash=(Hash(algorithm="md5", digest="1a"),), length=7, type="text/html"), **more)
    assert b"    " + text + b"\n" in written(resource_list(Entry(loc=LOC, md=md)))


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
    ({"type": "a\x00b"}, "attribute type: XML 1.0 does not allow the character U\\+0000; remove it"),
    ({"encoding": "\x0b"}, "attribute encoding: .*U\\+000B"),
    ({"capability": "\ud800"}, "attribute capability: .*U\\+D800"),
    ({"type": "\ufffe"}, "attribute type: .*U\\+FFFE"),
    ({"length": -1}, "attribute length: must be from 0 to 10\\^18 - 1; count the bytes"),
    ({"length": 10**18}, "attribute length: must be from 0 to 10\\^18 - 1"),
    ({"length": 10**5000}, "attribute length: must be from 0 to 10\\^18 - 1"),
    ({"at": NAIVE}, "attribute at: the time 2024-02-29T12:00:00 has no time zone"),
    ({"datetime": NAIVE}, "attribute datetime: .* has no time zone"),
    ({"path": "a"}, "attribute path: 'a' must begin with /.*RD06"),
    ({"path": ""}, "attribute path: .*RD06"),
    (
        {"hash": (Hash(algorithm="md5", digest="1a"),), "length": -1, "type": "text/html"},
        "attribute length: must be from 0",
    ),
    ({"hash": (Hash(algorithm="", digest="1a"),)}, "attribute hash: .* is not a valid hash.*X08"),
    ({"hash": (Hash(algorithm="md5", digest=""),)}, "attribute hash: .* is not a valid hash"),
    ({"hash": (Hash(algorithm="md:5", digest="1a"),)}, "attribute hash: .* is not a valid hash"),
    ({"hash": (Hash(algorithm="md5", digest="1 a"),)}, "attribute hash: .* is not a valid hash"),
    ({"hash": (Hash(algorithm="m 5", digest="1a"),)}, "attribute hash: .* is not a valid hash"),
    ({"attributes": (("plain", "1"),)}, "'plain': a community attribute must have the form {namespace}name.*X03"),
    ({"attributes": (("{}empty", "1"),)}, "X03"),
    ({"attributes": (("{urn:x:a}1", "1"),)}, "X03"),
    ({"attributes": (("{urn:x:a}a:b", "1"),)}, "X03"),
    ({"attributes": (("{http://www.openarchives.org/rs/terms/}hash", "1"),)}, "other than ResourceSync's"),
    ({"attributes": (("{http://www.w3.org/2000/xmlns/}a", "1"),)}, "X03"),
    ({"attributes": (("{relative}a", "1"),)}, "'relative' is not an absolute URI"),
    ({"attributes": (('{urn:"}a', "1"),)}, "is refused by XML parsers"),
    ({"attributes": (("{urn:x:a}a", "1"), ("{urn:x:a}a", "2"))}, "occurs twice"),
    ({"attributes": (("{urn:x:a}a", "\x00"),)}, "'a': XML 1.0 does not allow"),
]
LINK_ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"href": "/relative"}, "attribute href: '/relative' is not an absolute URI; begin it with a scheme"),
    ({"href": ""}, "attribute href: .* not an absolute URI"),
    ({"href": "https:"}, "attribute href: .* not an absolute URI"),
    ({"href": "https://example.com/é"}, "attribute href: .* not an absolute URI"),
    ({"rel": ""}, "attribute rel: must not be empty; give the relation.*X06"),
    ({"rel": "\x01"}, "attribute rel: .*U\\+0001"),
    ({"pri": 0}, "attribute pri: must be an integer from 1 to 999999.*X07"),
    ({"pri": 1_000_000}, "attribute pri: .*X07"),
    ({"length": -5}, "attribute length: .*X09"),
    ({"modified": NAIVE}, "attribute modified: .* has no time zone"),
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
    ("https://example.com/" + "a" * 2028, "its loc has 2,048 characters; a loc must be shorter than 2,048"),
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


NAIVE_HEAD = resource_list(md=Metadata(capability="changelist", from_=NAIVE))


@pytest.mark.parametrize(
    ("refused", "edition", "message"),
    [
        (
            resource_list(Entry(loc=LOC, lastmod=NAIVE)),
            2017,
            f"the entry with loc '{LOC}': lastmod: .* has no time zone",
        ),
        (NAIVE_HEAD, 2017, "the document with capability 'changelist': rs:md attribute from: .* zone"),
        (resource_list(), 2015, "there is no edition 2015"),
        *(
            (resource_list(md=md), 2017, "a urlset must have an rs:md with a capability.*X02")
            for md in (None, Metadata(), Metadata(capability=""))
        ),
    ],
)
def test_document_that_is_refused(refused: Document, edition: int, message: str) -> None:
    """X02, X05: a document says what it is, its times have zones, and it is in one of two editions."""
    with pytest.raises(DocumentError, match=message):
        written(refused, edition=edition)


UP = Link(rel="up", href=f"{BASE}capabilitylist.xml")
INDEX = Link(rel="index", href=f"{BASE}list.xml")


def entries(count: int) -> tuple[Entry, ...]:
    """Make entries of different sizes."""
    return tuple(Entry(loc=f"{BASE}{'x' * (number % 7)}/{number}", lastmod=NOON) for number in range(count))


def document(count: int) -> Document:
    """Make a Resource List with a link and an interval."""
    md = Metadata(capability="resourcelist", at=NOON, completed=NOON.replace(hour=13))
    return resource_list(*entries(count), md=md, links=(UP,))


def test_default_limits() -> None:
    """X04: 50,000 entries and 50 MB."""
    assert (Limits().entries, Limits().size) == (50_000, 50_000_000)


def test_split_by_entries() -> None:
    """Parts are full, in order, and linked to the index; the index lists them with the document's interval."""
    folder, names = split(document(7), entries=3)
    assert names == ("list-1.xml", "list-2.xml", "list-3.xml", "list.xml")
    split_into = [read_whole(folder[name]) for name in names[:-1]]
    assert [len(tuple(part.entries)) for part in split_into] == [3, 3, 1]
    assert [entry for part in split_into for entry in part.entries] == list(entries(7))
    for part in split_into:
        assert (part.root, part.md, part.links) == (Root.URLSET, document(0).md, (UP, INDEX))
    interval = Metadata(at=NOON, completed=NOON.replace(hour=13))
    assert read_whole(folder["list.xml"]) == Document(
        root=Root.SITEMAPINDEX,
        md=document(0).md,
        links=(UP,),
        entries=tuple(Entry(loc=BASE + name, md=interval) for name in names[:-1]),
    )


def test_index_of_changes_has_their_interval() -> None:
    """CH07: the index of an open list has `from` and no `until`; one of a document without times has no rs:md."""
    changes = resource_list(*entries(2), md=Metadata(capability="changelist", from_=NOON))
    index = read_whole(split(changes, entries=1)[0]["list.xml"])
    assert [entry.md for entry in index.entries] == [Metadata(from_=NOON)] * 2
    described = resource_list(*entries(2), md=Metadata(capability="description"))
    index = read_whole(split(described, entries=1)[0]["list.xml"])
    assert [entry.md for entry in index.entries] == [None, None]


def test_split_by_size() -> None:
    """No part is larger than the limit, and none could have taken the next entry."""
    limit = 1200
    folder, names = split(document(40), size=limit, entries=1000)
    sizes = [len(folder[name]) for name in names[:-1]]
    assert len(sizes) > 3
    assert max(sizes) <= limit
    bodies = [tuple(read_whole(folder[name]).entries) for name in names[:-1]]
    assert [entry for body in bodies for entry in body] == list(entries(40))
    for name, following in zip(names, bodies[1:], strict=False):
        part = read_whole(folder[name])
        assert len(written(replace(part, entries=(*part.entries, following[0])))) > limit


@given(st.integers(0, 12), st.integers(1, 6), st.integers(900, 3000))
def test_any_limits(count: int, most: int, size: int) -> None:
    """Whatever the limits: every document keeps them and nothing is lost, or it is a DocumentError."""
    try:
        folder, names = split(document(count), entries=most, size=size)
    except DocumentError:
        assert len(written(document(count))) > size or count > most
        return
    listed = [read_whole(folder[name]) for name in names[:-1] or names]
    assert all(len(folder[name]) <= size for name in names[:-1] or names)
    assert all(len(tuple(one.entries)) <= most for one in listed)
    assert [entry for one in listed for entry in one.entries] == list(entries(count))
    assert (len(names) == 1) == (len(written(document(count))) <= size and count <= most)


def test_lone_document_larger_than_a_part() -> None:
    """A document that fits only because it has no link to an index is not split, even when it has one entry."""
    for count in (1, 5):
        data = written(document(count))
        assert split(document(count), size=len(data))[1] == ("list.xml",)
        assert split(document(count), size=len(data))[0]["list.xml"] == data


def test_too_large_for_one_but_not_for_a_part_and_one() -> None:
    """What does not fit into the first part counts towards a lone document, with what does."""
    six, seven = (len(written(document(count))) for count in (6, 7))
    for size in range(six, seven, 10):
        folder, names = split(document(8), size=size)
        assert names == ("list-1.xml", "list-2.xml", "list.xml")
        assert max(map(len, folder.values())) <= size


def test_large_first_part_is_spooled() -> None:
    """A first part beyond what is kept in memory comes out of its file as it went in."""
    folder, _ = split(document(20_000), entries=15_000)
    assert folder["list-1.xml"] == written(replace(document(15_000), links=(UP, INDEX)))


def test_part_that_is_full_to_the_byte() -> None:
    """X04: a limit of bytes includes itself, and one byte less is an entry less."""
    full = written(replace(document(3), links=(UP, INDEX)))
    assert split(document(9), size=len(full))[0]["list-1.xml"] == full
    assert split(document(9), size=len(full) - 1)[0]["list-1.xml"] == written(replace(document(2), links=(UP, INDEX)))


def test_edition_reaches_the_parts() -> None:
    """V1103: parts are written in the edition asked for."""
    changes = resource_list(*[replace(entry, md=Metadata(datetime=NOON)) for entry in entries(2)])
    assert b"datetime=" in split(changes, entries=1)[0]["list-2.xml"]
    assert b"datetime=" not in split(changes, entries=1, edition=2014)[0]["list-2.xml"]


def test_entry_that_cannot_fit() -> None:
    """An entry larger than a part is refused by name, first or later."""
    large = Entry(loc=BASE + "y" * 1500)
    for given_entries in ((large, *entries(2)), (*entries(9), large)):
        with pytest.raises(
            DocumentError, match=r"the entry with loc .*yyy.* does not fit into a document of .*fewer links"
        ):
            split(replace(document(0), entries=given_entries), size=1200)


def test_head_that_cannot_fit() -> None:
    """A head larger than the limit is refused."""
    with pytest.raises(DocumentError, match=r"the head of 'list.xml' alone exceeds .* 100 bytes"):
        split(document(0), size=100)


def test_index_that_cannot_hold_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """X04: an index keeps the limits of the standard, and no index lists indexes."""
    monkeypatch.setattr(writer, "STANDARD_LIMITS", Limits(entries=3))
    assert len(split(document(9), entries=3)[1]) == 4
    with pytest.raises(DocumentError, match=r"the index 'list.xml' cannot hold more than 3 parts .* several sets"):
        split(document(10), entries=3)
    with pytest.raises(DocumentError, match="a sitemapindex exceeds the limits, and an index must not list indexes"):
        split(replace(document(4), root=Root.SITEMAPINDEX), entries=3)


@pytest.mark.parametrize("part_name", [lambda _: "same.xml", lambda _: "list.xml"])
def test_names_that_collide(part_name: object) -> None:
    """Two documents of one name would overwrite each other."""
    with pytest.raises(DocumentError, match="two documents would be named"):
        write_parts(
            document(3),
            name="list.xml",
            part_name=part_name,  # type: ignore[arg-type]  # a lambda of the right shape
            uri=BASE.__add__,
            open=lambda _: cast("BinaryIO", BytesIO()),
            limits=Limits(entries=1),
        )


def test_streams_are_closed_after_an_error() -> None:
    """An entry that is refused midway leaves no stream open."""
    opened: list[BytesIO] = []

    def opening(_: str) -> BinaryIO:
        opened.append(BytesIO())
        return cast("BinaryIO", opened[-1])

    with pytest.raises(DocumentError, match="not an absolute URI"):
        write_parts(
            resource_list(*entries(3), Entry(loc="")),
            name="list.xml",
            part_name=str,
            uri=BASE.__add__,
            open=opening,
            limits=Limits(entries=2),
        )
    assert [stream.closed for stream in opened] == [True]


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
@pytest.mark.parametrize("count", [50_001, pytest.param(1_000_000, marks=pytest.mark.long)])
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
