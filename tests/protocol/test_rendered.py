"""Reading entries as text gives what parsing gives, for any bytes that were written here; others are refused."""

import io
import string
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeKind,
    Document,
    Entry,
    EntryText,
    Hash,
    Link,
    Metadata,
    Root,
    parse_datetime,
    parse_links,
    parse_metadata,
    read,
    read_texts,
    reader,
    rendered,
)
from tests.protocol import strategies
from tests.protocol.support import NOON, read_whole, resource_list, written

_hex = st.text("0123456789abcdef", min_size=1, max_size=8)
_hashes = st.builds(Hash, algorithm=st.sampled_from(["sha-256", "md5"]), digest=_hex).map(lambda found: (found,))
_types = st.sampled_from(["text/html", "text/html; charset=utf-8", ""])
_links = st.builds(Link, href=strategies.uris, rel=st.sampled_from(["up", "describedby"]), type=st.none() | _types)
_ordinary = st.builds(
    Entry,
    loc=strategies.uris,
    lastmod=st.none() | strategies.times,
    md=st.none()
    | st.builds(
        Metadata,
        change=st.none() | st.sampled_from(ChangeKind),
        datetime=st.none() | strategies.times,
        hash=st.just(()) | _hashes,
        length=st.none() | st.integers(0, 10**18 - 1),
        type=st.none() | _types,
        path=st.none() | st.text(string.ascii_letters, max_size=5).map("/".__add__),
    ),
    links=st.lists(_links, max_size=2).map(tuple),
)
_entries = st.lists(st.one_of(_ordinary, _ordinary, _ordinary, strategies.entries), max_size=5)
_pieces = st.sampled_from([b"", b"<", b"&", b'"', b"\r", b" ", b"Z", b"9", b"<!--", b"-->", b"<url>", b"\xe4", b"\n"])


def parsed(data: bytes) -> tuple[Document, list[EntryText]]:
    """Read a document as texts."""
    with read_texts(lambda: io.BytesIO(data), name="x.xml") as (document, texts):
        return document, [*texts]


def require_same(entry: Entry, text: EntryText) -> None:
    """Compare a text with the entry that the reader of XML found."""
    md = entry.md or Metadata()
    assert text.loc == entry.loc
    assert (parse_datetime(text.lastmod) if text.lastmod else None) == entry.lastmod
    assert (parse_datetime(text.datetime) if text.datetime else None) == md.datetime
    assert (text.change, text.path) == (md.change or "", md.path or "")
    assert text.length == ("" if md.length is None else str(md.length))
    assert text.hash == (f"{md.hash[0].algorithm}:{md.hash[0].digest}" if md.hash else "")
    assert parse_metadata(text.md) == Metadata(hash=md.hash[:1], length=md.length, type=md.type)
    assert parse_links(text.links) == entry.links


@settings(max_examples=settings().max_examples * 2)
@given(_entries, st.integers(0, 4_000), st.integers(0, 3), _pieces, st.booleans())
def test_any_document(entries: list[Entry], at: int, length: int, piece: bytes, altered: bool) -> None:
    """Whether it was altered or not."""
    data = written(resource_list(*entries))
    if altered:
        at %= len(data)
        data = data[:at] + piece + data[at + length :]
    try:
        document = read_whole(data)
        ours = written(document) == data
    except DocumentError:
        ours = False
    if not ours:
        with pytest.raises(DocumentError):
            parsed(data)
        return
    head, texts = parsed(data)
    assert replace(head, entries=()) == replace(document, entries=())
    for entry, text in zip(document.entries, texts, strict=True):
        require_same(entry, text)


def _list(entries: str) -> bytes:
    return written(resource_list()).replace(b"</urlset>", entries.encode() + b"</urlset>")


LOC = "    <loc>https://example.org/a</loc>\n"


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (LOC, "https://example.org/a"),
        (LOC.replace("/a", "/?a&amp;b=&apos;&lt;&gt;&quot;&amp;amp;"), "https://example.org/?a&b='<>\"&amp;"),
        (LOC + "    <lastmod>2024-02-30T00:00:00Z</lastmod>\n", DocumentError),
        (LOC + "    <lastmod>2024-02-03T24:00:00Z</lastmod>\n", DocumentError),
        (LOC + '    <rs:md length="-1"/>\n', DocumentError),
        (
            LOC.replace("/a", "/" + "a" * 2_027),
            f"https://example.org/{'a' * 2_027}",
        ),  # one character less than too long
        (LOC.replace("/a", "/" + "a" * 2_028), DocumentError),
        (LOC + LOC, DocumentError),
        (LOC + "    <!-- \x00 -->\n", DocumentError),
    ],
)
def test_by_hand(entry: str, found: str | type[Exception]) -> None:
    """What XML says is said, and what no document may say is refused."""
    data = _list(f"  <url>\n{entry}  </url>\n")
    if isinstance(found, str):
        assert [each.loc for each in parsed(data)[1]] == [found]
    else:
        with pytest.raises(found):
            parsed(data)


def test_text_as_it_stands() -> None:
    """The texts are those of the document."""
    md = Metadata(change=ChangeKind.CREATED, datetime=NOON, hash=(Hash(algorithm="md5", digest="00"),), length=1)
    link = Link(rel="up", href="https://example.org/?a&b")
    [text] = parsed(written(resource_list(Entry(loc="urn:a", lastmod=NOON, md=md, links=(link,)))))[1]
    noon = "2024-02-29T12:00:00Z"
    up = '    <rs:ln rel="up" href="https://example.org/?a&amp;b"/>\n'
    assert text == ("urn:a", noon, "created", noon, ' hash="md5:00" length="1"', "md5:00", "1", "", up)
    assert text.md == '    <rs:md hash="md5:00" length="1"/>\n'


def test_no_parser_for_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a document that we wrote, of many chunks, only the head is parsed; one odd entry, and all of it is."""
    heads: list[int] = []

    def counted(stream: io.BytesIO, *, name: str) -> Document:
        heads.append(len(stream.getbuffer()))
        return read(stream, name=name)

    monkeypatch.setattr("pelican_resourcesync.protocol.rendered.read", counted)
    last = datetime.max.replace(tzinfo=NOON.tzinfo)
    entries = [Entry(loc=f"https://example.org/{number}", lastmod=last) for number in range(5_000)]
    data = written(resource_list(*entries))
    assert len(data) > 400_000
    assert [each.loc for each in parsed(data)[1]] == [each.loc for each in entries]
    assert heads == [data.index(b"  <url>") + len(b"</urlset>\n")]
    odd = data.replace(b"<loc>https://example.org/4999<", b"<loc>https://example.org/4999</loc>\n<loc><")
    with pytest.raises(DocumentError, match="a second loc"):
        parsed(odd)
    assert heads[1:] == [heads[0], len(odd)]


def test_another_root() -> None:
    """An index is read as well, and a document whose prefix means something else as XML has it."""
    md, entries = Metadata(capability="changelist", from_=NOON), [Entry(loc="urn:a")]
    index = Document(root=Root.SITEMAPINDEX, md=md, entries=entries)
    document, texts = parsed(written(index))
    assert (document.root, [each.loc for each in texts]) == (Root.SITEMAPINDEX, ["urn:a"])
    other = written(resource_list(Entry(loc="urn:a", md=Metadata(length=1))))
    for odd in (other.replace(b"rs:", b"x:").replace(b":rs=", b":x="), other + b"\n", other.replace(b"?>", b"?>\n")):
        assert read_whole(odd) == read_whole(other)
        with pytest.raises(DocumentError, match="that is never written there"):
            parsed(odd)


def test_first_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the first entry that is not as written, and one that no document may list is not given."""
    data = written(resource_list(*(Entry(loc=f"urn:{name}") for name in "abc"))).replace(b"</url>", b"</url >")
    with pytest.raises(DocumentError, match="in or before the entry of urn:a that is never written there"):
        parsed(data)
    monkeypatch.setattr(rendered, "_SHOWN", 3)
    foreign = _list("  <url>\n    <loc>https://example.org/\u00e4</loc>\n  </url>\n")
    with (
        read_texts(lambda: io.BytesIO(foreign), name="x.xml") as (_, texts),
        pytest.raises(DocumentError, match=r"^x\.xml: 'htt' cannot be published"),
    ):
        next(texts)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many entries and bytes are read as are allowed, and no more."""
    data = written(resource_list(*(Entry(loc=f"urn:{number}") for number in range(5_000))))
    for name, most in (("MOST_ENTRIES", 5_000), ("MOST_BYTES", len(data))):
        with monkeypatch.context() as patch:
            for module in (reader, rendered):
                patch.setattr(module, name, most)
            assert len(parsed(data)[1]) == 5_000
            for module in (reader, rendered):
                patch.setattr(module, name, most - 1)
            with pytest.raises(DocumentError, match=f"{most - 1:,}"):
                parsed(data)


def test_a_chunk_that_holds_an_unusual_entry_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left out, wherever chunks end."""
    start = written(resource_list()).index(b"</urlset>")

    def entry(size: int, type_: str = "") -> Entry:
        """Return an entry of so many bytes."""
        found = Entry(loc="urn:a", md=Metadata(type=type_))
        less = len(written(resource_list(found))) - len(written(resource_list()))
        return replace(found, loc="urn:a" + "a" * (size - less))

    monkeypatch.setattr(rendered, "_CHUNK", start + 500)
    entries = [entry(500), entry(start + 500, "\u00e4"), entry(start + 500)]
    assert [each.loc for each in parsed(written(resource_list(*entries)))[1]] == [each.loc for each in entries]
