"""Documents are read, and anything else is one declared error, within bounded memory."""

import datetime as dt
import re
import tracemalloc
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import chain, repeat
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeFreq,
    ChangeKind,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
    has_root,
    read,
    reader,
)
from pelican_resourcesync.protocol.model import LARGEST_ELEMENT, MOST_BYTES, MOST_ENTRIES
from tests.protocol.support import NOON, read_whole, resource_list, urlset, written

LOC = "<loc>https://example.com/a</loc>"
URL = f"<url>{LOC}</url>"
MD = '<rs:md capability="resourcelist"/>'


def test_document_by_hand() -> None:
    """What our own writer never writes is read, too: spaces, short times, hashes without an algorithm, empty links."""
    document = read_whole(
        urlset(
            """
            <rs:md capability="changelist" from="2013-01-02" until="2013-01-03T01:00:00+01:00" at="2013" x="ignored"/>
            <rs:ln rel="up" href="https://example.com/up" modified="2013-01-02T00:00Z" xml:lang="ja"/>
            <url>
              <loc>
                https://example.com/?a&amp;b
              </loc>
              <lastmod> 2013-01-02T03:04:05.678Z </lastmod>
              <changefreq> weekly </changefreq>
              <rs:md hash=" md5:1a  sha-256:2b&#10;odd :empty" length=" 12 " xmlns:c="urn:c" c:b="2" c:a="1"/>
              <rs:ln/>
            </url>
            """
        )
    )
    second = dt.datetime(2013, 1, 2, tzinfo=dt.UTC)
    first, third = second.replace(day=1), second.replace(day=3)
    assert document.md == Metadata(capability="changelist", from_=second, until=third, at=first)
    language = (("{http://www.w3.org/XML/1998/namespace}lang", "ja"),)
    assert document.links == (Link(rel="up", href="https://example.com/up", modified=second, attributes=language),)
    hashes = (("md5", "1a"), ("sha-256", "2b"), ("", "odd"), ("", "empty"))
    assert document.entries == (
        Entry(
            loc="https://example.com/?a&b",
            lastmod=dt.datetime(2013, 1, 2, 3, 4, 5, 678_000, tzinfo=dt.UTC),
            changefreq=ChangeFreq.WEEKLY,
            md=Metadata(
                hash=tuple(Hash(algorithm=algorithm, digest=digest) for algorithm, digest in hashes),
                length=12,
                attributes=(("{urn:c}a", "1"), ("{urn:c}b", "2")),
            ),
            links=(Link(rel="", href=""),),
        ),
    )


def test_the_unknown_is_ignored() -> None:
    """Unknown elements, comments and instructions change nothing, wherever they stand."""
    data = urlset(
        f'<x/><?pi?>{MD}<!-- c --><rs:x/><a xmlns="urn:a"><url>{LOC}</url></a>'
        "<url><!-- c --><loc>https://exa<!-- c -->mple.com/<![CDATA[a]]><?pi?></loc><priority>1</priority>"
        "<x><rs:md/><rs:md/></x></url><x/>text<!-- c -->"
    )
    assert read_whole(data) == resource_list(Entry(loc="https://example.com/a"), md=Metadata(capability="resourcelist"))


@pytest.mark.parametrize(
    "entry",
    [
        Entry(loc="not a URI", md=Metadata(path="no/slash", length=-5)),
        Entry(loc="/a", links=(Link(href="b", rel="", pri=0),)),
    ],
)
def test_imperfections_of_others_are_held(entry: Entry) -> None:
    """What the writer refuses is read as it is, for a checker to judge."""
    md = '<rs:md path="no/slash" length="-5"/>' if entry.md else ""
    link = '<rs:ln href="b" pri="0"/>' if entry.links else ""
    (read_entry,) = read_whole(urlset(f"<url><loc>{entry.loc}</loc>{md}{link}</url>")).entries
    assert read_entry == entry


def test_document_without_metadata() -> None:
    """X02: a plain Sitemap is held, without rs:md."""
    document = read_whole(urlset(URL))
    assert document.md is None
    assert len(tuple(document.entries)) == 1


@pytest.mark.parametrize("root", Root)
def test_empty_document(root: Root) -> None:
    """V1105: a document without entries is one."""
    document = read_whole(urlset("", root))
    assert (document.root, document.md, document.links, document.entries) == (root, None, (), ())


def test_byte_order_mark_is_allowed() -> None:
    """UTF-8 may begin with its mark."""
    assert read_whole(b"\xef\xbb\xbf" + urlset(MD)).md == Metadata(capability="resourcelist")


def test_head_is_read_at_once_and_entries_later() -> None:
    """`read` returns with the head; an error in an entry is met when that entry is asked for."""
    document = read(BytesIO(urlset(f"{MD}{URL}<url/>")), name="list.xml")
    assert document.md == Metadata(capability="resourcelist")
    entries = iter(document.entries)
    assert next(entries) == Entry(loc="https://example.com/a")
    with pytest.raises(DocumentError, match=r"list.xml, line 1, entry 2 \(without loc\): an entry has no loc"):
        next(entries)


def test_reading_streams() -> None:
    """The stream is read no further than the entries that were asked for, a buffer more or less."""
    stream = BytesIO(urlset(MD + URL * 50_000))
    entries = iter(read(stream, name="list.xml").entries)
    next(entries)
    assert stream.tell() < 200_000
    assert 1 + sum(1 for _ in entries) == 50_000


ENTRY_ERRORS = [
    ("<url/>", "entry 1 \\(without loc\\): an entry has no loc.*X10"),
    ("<url><loc> </loc></url>", "an entry has no loc"),
    (f"<url>{LOC}{LOC}</url>", "entry 1 \\('https://example.com/a'\\): a second loc in one entry; keep one"),
    ("<url><loc>a<b/>c</loc></url>", "loc must contain only text, not an element"),
    (f"<url>{LOC}<lastmod>2013</lastmod><lastmod>2013</lastmod></url>", "a second lastmod"),
    (f"<url>{LOC}<rs:md/><rs:md/></url>", "a second rs:md; join the two.*X11"),
    (f"<url>{LOC}<lastmod>soon</lastmod></url>", "lastmod: 'soon' is not a W3C Datetime"),
    (f"<url>{LOC}<lastmod/></url>", "lastmod: '' is not a W3C Datetime"),
    (f"<url>{LOC}<changefreq>Daily</changefreq></url>", "changefreq: must be one of always, hourly.*not 'Daily'.*X12"),
    (
        f'<url>{LOC}<rs:md change="moved"/></url>',
        "attribute change: must be one of created, updated, deleted, not 'moved'.*CH02",
    ),
    (f'<url>{LOC}<rs:md length="1k"/></url>', "attribute length: '1k' is not an integer"),
    (f'<url>{LOC}<rs:md length="1_0"/></url>', "attribute length: '1_0' is not an integer"),
    (f'<url>{LOC}<rs:md length="{"9" * 5000}"/></url>', "attribute length: '999.* is not an integer"),
    (f'<url>{LOC}<rs:md datetime="2013-01-02T03:04"/></url>', "attribute datetime: .* has no time zone"),
    (f'<url>{LOC}<rs:ln pri="high"/></url>', "attribute pri: 'high' is not an integer"),
    (f'<url>{LOC}<rs:ln modified="2013-13"/></url>', "attribute modified: '2013-13' is not a valid date"),
    (f"<sitemap>{LOC}</sitemap>", "a urlset must contain only url elements"),
    (f"{URL}{MD}", "rs:md and rs:ln of the document must come before its first entry; move them there"),
    (f"{URL}<rs:ln/>", "rs:md and rs:ln of the document must come before"),
]
HEAD_ERRORS = [
    (urlset(MD + MD), "line 1: a second rs:md; join the two.*X02"),
    (urlset('\n<rs:md at="noon"/>'), "line 2: attribute at: 'noon' is not a W3C Datetime"),
    (urlset('<rs:ln length="x"/>'), "line 1: attribute length"),
    (urlset("", "feed"), "the root is '{http://www.sitemaps.org/schemas/sitemap/0.9}feed', not a urlset.*X01"),
    (b"<urlset/>", "the root is 'urlset', not a urlset or sitemapindex of http"),
    (b"<urlset><url/></urlset>", "the root is 'urlset'"),
    (b"", "no XML element in UTF-8 in the first 0 bytes"),
    (b"not XML", "no XML element in UTF-8"),
    (b"<!-- open", "no XML element in UTF-8"),
    (b"<? open", "no XML element in UTF-8"),
    (b" " * 70_000 + b"<urlset/>", "in the first 65,536 bytes"),
    (urlset(URL).decode().encode("utf-16"), "no XML element in UTF-8"),
    (b"<urlset", "line 1: not well-formed XML"),
    (urlset("<url></loc>"), "line 1: not well-formed XML: Opening and ending .*, column 121; ask its publisher"),
    (urlset(MD) + b"<more/>", "not well-formed XML"),
    (urlset("&undeclared;"), "not well-formed XML"),
    (urlset("\xe9").decode().encode("latin-1"), "not well-formed XML"),
    (b"<?xml version='1.0' encoding='latin-1'?>" + urlset("<x>\xe9</x>").decode().encode("latin-1"), "not well-formed"),
    (b"<a>" * 400, "not well-formed XML"),
]
DOCTYPES = [
    b"<!DOCTYPE urlset>",
    b'<!DOCTYPE urlset SYSTEM "file:///etc/passwd">',
    b'<!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
    b'<!DOCTYPE urlset [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    b'<!DOCTYPE urlset [<!ENTITY % p SYSTEM "http://127.0.0.1/p"> %p;]>',
]


@pytest.mark.parametrize(("content", "message"), ENTRY_ERRORS)
def test_entry_that_is_refused(content: str, message: str) -> None:
    """What an entry must not be is refused, naming document, line and entry."""
    with pytest.raises(DocumentError, match=f"^https://example.com/list.xml, line 3.*{message}"):
        read_whole(urlset(f"\n\n{content}"), name="https://example.com/list.xml")


@pytest.mark.parametrize(("data", "message"), HEAD_ERRORS)
def test_document_that_is_refused(data: bytes, message: str) -> None:
    """What is not a document is refused, naming it and saying why."""
    with pytest.raises(DocumentError, match=f"^list.xml.*{message}"):
        read_whole(data)


@pytest.mark.parametrize(
    "before", [b"", b"\n", b"\xef\xbb\xbf", b"<?xml version='1.0'?>\n", b"<!-- <a> -->\n<?p <a> ?> "]
)
@pytest.mark.parametrize("doctype", DOCTYPES)
def test_doctype_is_refused(doctype: bytes, before: bytes) -> None:
    """Any DOCTYPE is refused, with its line, before anything of it is expanded or loaded."""
    line = before.count(b"\n") + 1
    with pytest.raises(DocumentError, match=f"^list.xml, line {line}: a DOCTYPE is refused, .*; remove it"):
        read_whole(before + doctype + urlset("<url><loc>&c;&e;</loc></url>"))


def test_words_in_a_comment_are_no_doctype() -> None:
    """A comment may speak of a DOCTYPE."""
    assert read_whole(b"<!-- <!DOCTYPE a> --><?p <!DOCTYPE a> ?>" + urlset(MD)).md


def test_line_of_an_entry() -> None:
    """Lines and entries are counted right far into a document."""
    data = urlset("\n" + f"{URL}\n" * 70_000 + "<url/>")
    with pytest.raises(DocumentError, match="line 70002, entry 70001 "):
        read_whole(data)


VALID = written(
    resource_list(
        Entry(
            loc="https://example.com/a",
            lastmod=NOON,
            changefreq=ChangeFreq.DAILY,
            md=Metadata(length=1, hash=(Hash(algorithm="md5", digest="1a"),), change=ChangeKind.CREATED),
            links=(Link(href="https://example.com/b", rel="via", pri=1, attributes=(("{urn:x:a}a", "é"),)),),
        )
    )
)


def is_read_or_refused(data: bytes) -> None:
    """Read to the end; only a DocumentError may come of it."""
    try:
        read_whole(data)
    except DocumentError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert refusal.startswith("list.xml") or not refusal


@settings(max_examples=settings().max_examples * 3)
@given(st.binary(max_size=200))
@example(b"<\x00u\x00/\x00>\x00")
@example(b"\x4c\x6f\xa7\x94")
def test_any_bytes(data: bytes) -> None:
    """For any bytes the result is a Document or a DocumentError."""
    is_read_or_refused(data)
    is_read_or_refused(b"<?xml version='1.0'?><urlset " + data)


@settings(max_examples=settings().max_examples * 3)
@given(st.data())
def test_any_mutation(data: st.DataObject) -> None:
    """So it is for a valid document that was cut, overwritten or lengthened anywhere."""
    start = data.draw(st.integers(0, len(VALID)))
    end = data.draw(st.integers(start, min(len(VALID), start + 20)))
    tokens = st.sampled_from([b"<", b">", b'"', b"&", b"<!DOCTYPE a>", b"<rs:md/>", b"</url>", b"<loc>", b"\x00", b"-"])
    is_read_or_refused(VALID[:start] + data.draw(tokens | st.binary(max_size=6)) + VALID[end:])


ENTRY = b"<url><loc>urn:a</loc></url>"
OPEN, CLOSE = urlset("|").split(b"|")


class Stream:
    """A stream of pieces, made while it is read, so that a document may be larger than memory."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.given = 0

    def read(self, size: int) -> bytes:
        """Return about as much as is asked for, and nothing at the end."""
        data = b""
        while len(data) < size and (piece := next(self._pieces, b"")):
            data += piece
        self.given += len(data)
        return data


def refusal(stream: Stream, memory: int = 60_000_000) -> str:
    """Read to the end, and give what is said against it."""
    tracemalloc.start()
    try:
        with pytest.raises(DocumentError) as caught:
            for _ in read(cast("Any", stream), name="list.xml").entries:
                pass
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_bytes() -> None:
    """A document without end is refused at its hundred-millionth byte, whatever it holds."""
    stream = Stream(chain([OPEN], repeat(b"<url><loc>urn:a</loc><a>" + b"a" * 60_000 + b"</a></url>")))
    assert "list.xml is larger than 100,000,000 bytes" in refusal(stream)
    assert stream.given < MOST_BYTES + 200_000


def test_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is one with more entries than are allowed; one with as many is read."""
    assert MOST_ENTRIES >= 50_000  # the standard's own limit (X04)
    monkeypatch.setattr(reader, "MOST_ENTRIES", 1_000)
    assert len(tuple(read(BytesIO(OPEN + ENTRY * 1_000 + CLOSE), name="list.xml").entries)) == 1_000
    with pytest.raises(DocumentError, match=r"^list.xml, line 1, entry 1001 \('urn:a'\): more than 1,000 entries"):
        tuple(read(BytesIO(OPEN + ENTRY * 1_001 + CLOSE), name="list.xml").entries)


INSIDE: dict[str, Callable[[], Iterator[bytes]]] = {
    "elements": lambda: chain([b"<url>"], repeat(b"<a/>" * 1000)),
    "links": lambda: chain([b"<url>"], repeat(b"<rs:ln/>" * 1000)),
    "text": lambda: chain([b"<url><loc>"], repeat(b"a" * 1000)),
    "attributes": lambda: chain([b"<url"], (b' a%d=""' % number for number in range(10**7))),
    "one attribute": lambda: chain([b'<url a="'], repeat(b"a" * 1000)),
    "hashes": lambda: chain([b'<rs:md hash="'], repeat(b"a " * 500)),
    "namespaces": lambda: chain([b"<url"], (b' xmlns:a%d="urn:a"' % number for number in range(10**7))),
    "a name": lambda: chain([b"<"], repeat(b"a" * 1000)),
    "a comment": lambda: chain([b"<!--"], repeat(b"a" * 1000)),
    "an instruction": lambda: chain([b"<?a "], repeat(b"a" * 1000)),
    "character data": lambda: chain([b"<url><loc><![CDATA["], repeat(b"a" * 1000)),
    "references": lambda: chain([b"<url><loc>"], repeat(b"&amp;" * 1000)),
    "depth": lambda: repeat(b"<a>" * 1000),
    "text beside the entries": lambda: repeat(b"a" * 1000),
    "elements beside the entries": lambda: repeat(b"<a>" + b"a" * 1000 + b"</a>"),
    "comments beside the entries": lambda: repeat(b"<!-- a -->a" * 100),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_one_element(kind: str) -> None:
    """One element is not read on and on, so that it may take all memory."""
    stream = Stream(chain([OPEN], INSIDE[kind]()))
    assert refusal(stream).startswith("list.xml")
    assert stream.given < LARGEST_ELEMENT + 400_000


def test_a_large_entry() -> None:
    """An entry of a quarter of a megabyte is read: some have hundreds of elements of others, such as images."""
    image = b'<i:image xmlns:i="urn:images"><i:loc>https://example.com/%s.png</i:loc></i:image>' % (b"a" * 100)
    images = image * (LARGEST_ELEMENT // len(image))
    whole = OPEN + b"<url><loc>urn:a</loc>" + images + b"</url>" + ENTRY + CLOSE
    assert [entry.loc for entry in read(BytesIO(whole), name="list.xml").entries] == ["urn:a"] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"<" + b"a" * 20_000 + b"/>",
        b"<" + b"a" * 20_000 + b"></b>",
        b"<b></" + b"a" * 20_000 + b">",
        OPEN + b"<url><loc>" + b"a" * 20_000 + b"</loc><lastmod>" + b"b" * 20_000 + b"</lastmod></url>" + CLOSE,
        OPEN + b"<url><loc>a</loc><changefreq>" + b"b" * 20_000 + b"</changefreq></url>" + CLOSE,
        OPEN + b'<rs:md length="' + b"b" * 20_000 + b'"/>' + CLOSE,
        OPEN + b'<rs:md change="' + b"b" * 20_000 + b'"/>' + CLOSE,
        OPEN + b'<rs:md at="' + b"b" * 20_000 + b'"/>' + CLOSE,
        "<\u202eevil></\u202e>".encode(),
        "<\u00e9vil></\u00e9>".encode(),
        b"<a>&\xe2\x80\xae;</a>",
    ],
)
def test_messages_are_short_and_plain(data: bytes) -> None:
    """What others wrote is shown in ASCII, and not too much of it."""
    with pytest.raises(DocumentError) as caught:
        tuple(read(BytesIO(data), name="list.xml").entries)
    assert len(str(caught.value)) < 2_600  # a loc may take up to 2,048
    assert str(caught.value).isascii()


#: What may follow entries that a regular expression matches; each is read or refused as by the parser alone.
UNUSUAL = [
    "",
    MD,
    "<rs:ln rel='up' href='https://example.com/'/>",
    "<!-- --><?p?>",
    f"<!-- {URL} -->",
    f"<a>{URL}</a>",
    f"<url ><loc>urn:b</loc></url>{URL}",
    "<url><loc>urn:b</loc><changefreq>daily</changefreq></url>",
    "<url><loc>caf\u00e9</loc></url>",
    "<url><loc>https://example.com/?a&amp;lt;&lt;&amp;b</loc></url>",
    "<url><loc>urn:b</loc><lastmod>2013-13</lastmod></url>",
    "<url>\n<loc>\nurn:b\n</loc><rs:md hash='md5:1a'/></url>",
    '<url><loc>urn:b</loc><rs:md length="1" length="2"/></url>',
    '<url><loc>urn:b</loc><rs:md length="x"/></url>',
    '<url><loc>urn:b</loc><rs:md type="a&amp;&quot;b" c:d="e" xmlns:c="urn:c"/></url>',
    '<url><loc>urn:b</loc><rs:md type="a&amp;&quot;b" change="created"\n hash="md5:1 odd"/></url>',
    '<url><loc>urn:b</loc><rs:ln rel="a" href="urn:&amp;"/><rs:ln href="urn:c" pri="1" /></url>',
    "<url><loc>urn:b</loc><loc>urn:c</loc></url>",
    "<url xmlns='urn:other'><loc>urn:b</loc></url>",
    "<url><loc>urn:b</loc></ur",
    "</urlset><urlset>",
    "<sitemap><loc>urn:b</loc></sitemap>",
    "&amp;<![CDATA[<url>]]>",
    "x" * 400_000,
]


@pytest.mark.parametrize("count", [0, 1, 1_000])
@pytest.mark.parametrize("after", UNUSUAL)
def test_unusual_entries_are_left_to_the_parser(after: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes after usual entries, the document is read or refused as if all entries were parsed."""
    usual = '<url><loc>urn:a</loc><lastmod>2013-01-02</lastmod><rs:md hash="md5:1a" length="1"/></url>\n'
    around = urlset(MD + usual * count + after + usual), urlset(after + usual), urlset(usual * count) + after.encode()
    for data in around:
        found = outcome(data)
        with monkeypatch.context() as patch:
            patch.setattr(reader, "_URL", re.compile("(?!)"))
            assert outcome(data) == found


@pytest.mark.parametrize(
    "change", [("<url>", "<url><!-- -->"), ("xmlns:rs=", "xmlns:r="), ("sitemap/0.9", "sitemap/1")]
)
def test_other_namespaces_are_left_to_the_parser(change: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries match only where the prefixes mean what they usually do."""
    data = urlset(f'<url>{LOC}<rs:md length="1"/></url>').decode().replace(*change).encode()
    found = outcome(data)
    monkeypatch.setattr(reader, "_URL", re.compile("(?!)"))
    assert outcome(data) == found


@pytest.mark.parametrize(
    "attributes",
    [
        'c:b="&amp;1"',
        'c:b="1" c:a="2"',
        'c:a="1" d:a="2"',
        'c:a="1" c:a="2"',
        'c:a="1" c:b="2" c:c="3"',
        'c:a="1" length="1"',
        'e:a="1"',
        'rs:hash="1"',
        'xml:lang="en"',
    ],
)
def test_attributes_of_communities(attributes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose prefixes the root declares are read as the parser reads them; others are left to it."""
    data = urlset(f'<url>{LOC}<rs:md type="a" {attributes}/></url>').decode()
    data = data.replace("xmlns:rs=", 'xmlns:c="urn:c" xmlns:d="urn:c" xmlns:rs=')
    found = outcome(data.encode())
    monkeypatch.setattr(reader, "_URL", re.compile("(?!)"))
    assert outcome(data.encode()) == found


def outcome(data: bytes) -> tuple[list[Entry], object]:
    """Return the entries of a document with its metadata and links, or what is wrong with it."""
    try:
        document = read(BytesIO(data), name="a document")
        entries = [*document.entries]
    except DocumentError as error:
        return [], str(error)
    return entries, (document.md, document.links)


@pytest.mark.parametrize("last", ["", "<url ><loc>urn:b</loc></url>", f"<url><loc>urn:b</loc>{'<b/>' * 10_000}</url>"])
def test_size_of_usual_entries(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a document also holds for entries that need no parser, to the byte."""
    data = urlset(URL * 4_000 + last)
    monkeypatch.setattr(reader, "MOST_BYTES", len(data))
    assert len(read_whole(data).entries) == 4_000 + bool(last)  # type: ignore[arg-type]  # a tuple
    monkeypatch.setattr(reader, "MOST_BYTES", len(data) - 1)
    with pytest.raises(DocumentError, match=f"larger than {len(data) - 1:,} bytes"):
        read_whole(data)


@pytest.mark.parametrize("usual", ["", " "])
def test_values_that_are_left_out(usual: str) -> None:
    """What cannot be read is left out and reported; several rs:md are joined; a loc is not optional."""
    texts = [
        f'<url>{LOC}<lastmod>2024-W01</lastmod><rs:md length="1e9" type="a/b"{usual}/></url>',
        f'<url>{LOC}<changefreq>often</changefreq><rs:md length="1"/><rs:ln rel="up" href="u" length="1e9"/></url>',
        f'<url>{LOC}<lastmod>2024</lastmod><lastmod>2024</lastmod><rs:md length="1"/><rs:md type="a/b"/></url>',
        "<url><loc><b/></loc></url>",
        f'<url>{LOC}<rs:md type="a/b" length="1"/><rs:md type="a/c" length="1"/></url><rs:ln rel="up" href="late"/>',
    ]
    data = urlset(f'<rs:md capability="resourcelist" at="now" until="2024"/>{"".join(texts)}')
    left: list[str] = []
    document = read(BytesIO(b"\n" + data), name="x", left_out=lambda what, _: left.append(what))
    assert document.md == Metadata(capability="resourcelist", until=dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
    assert [what for what, _ in document.unreadable] == ["attribute at"]
    odd, plain, twice, nowhere, other = document.entries
    assert (odd.lastmod, odd.md) == (None, Metadata(type="a/b"))
    assert [what for what, _ in odd.unreadable] == ["lastmod", "attribute length"]
    assert "'1e9' is not an integer" in odd.unreadable[1][1]
    assert (plain.loc, plain.md, plain.links) == (odd.loc, Metadata(length=1), (Link(rel="up", href="u"),))
    assert (twice.lastmod, twice.md) == (None, Metadata(length=1, type="a/b"))
    assert (nowhere.loc, [what for what, _ in nowhere.unreadable]) == ("", ["loc"])
    assert other.md == Metadata(length=1)
    assert left == [
        "attribute at", "lastmod", "attribute length", "attribute length of a link", "changefreq", "lastmod",
        "attribute type", "rs:md or rs:ln after the first entry",
    ]  # fmt: skip
    with pytest.raises(DocumentError, match=r"lastmod: .2024-W01. is not"):
        tuple(read(BytesIO(urlset(texts[0])), name="x").entries)
    with pytest.raises(DocumentError, match="come before its first entry"):
        tuple(read(BytesIO(urlset(f'{URL}<rs:ln rel="next" href="b"/>')), name="x", left_out=print).entries)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"<urlset><a></b>", True),
        (b' <?xml version="1.0"?><s:sitemapindex xmlns:s="urn:s">&', True),
        (b"<!DOCTYPE urlset><urlset/>", False),
        (b"<html><urlset/></html>", False),
        (b"urlset", False),
        (b"", False),
    ],
)
def test_root(data: bytes, expected: bool) -> None:
    """What begins as a document is told from other pages, although it cannot be read."""
    assert has_root(data) is expected
