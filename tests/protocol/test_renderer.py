"""Entries, and the pieces that they are put together from."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeKind,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    RenderedEntry,
    Renderer,
    Root,
    attributes_in,
    parse_datetime,
    parse_links,
    parse_metadata,
    render_datetime,
    render_link,
    render_metadata,
    split_entries,
    write,
)
from tests.kit import strategies
from tests.kit.strategies import documents
from tests.protocol.support import NOON, SPEC, read_whole, resource_list, spec, split, written

EDITIONS = st.sampled_from([2014, 2017])


def rendered(entry: Entry, root: Root, edition: int) -> RenderedEntry:
    """Write the parts of an entry by themselves."""
    renderer = Renderer(root, edition)
    md = renderer.entry_md(entry.md) if entry.md else ""
    return entry.loc, md, renderer.entry_links(entry.links), render_datetime(entry.lastmod) if entry.lastmod else ""


@given(documents, EDITIONS, st.integers(1, 3), st.integers(400, 4_000))
def test_a_document_of_them(document: Document, edition: int, most: int, size: int) -> None:
    """It has the bytes that it has of the entries, all or some, in one document, in parts (X04) or one by one."""
    entries = [replace(each, changefreq=None) for each in document.entries]
    root, renderer = document.root, Renderer(document.root, edition)
    expected = written(resource_list(*entries, root=root), edition=edition)
    before = [rendered(each, root, edition) for each in entries]
    assert written(resource_list(root=root, rendered=before), edition=edition) == expected
    assert written(resource_list(*entries[:2], root=root, rendered=before[2:]), edition=edition) == expected
    head, tail = renderer.head(resource_list(root=root)), renderer.tail()
    assert expected.decode() == head + "".join(map(renderer.entry, entries)) + tail
    before = [rendered(each, Root.URLSET, 2017) for each in entries]
    assert parts(resource_list(*entries), most, size) == parts(resource_list(rendered=before), most, size)


@pytest.mark.parametrize("loc", ["no URI", "urn:a\nurn:b", "urn:x:" + "a" * 2_042])
def test_one_that_is_refused_among_others(loc: str) -> None:
    """X10: those before it are written, and the error names it."""
    entries = [Entry(loc="urn:1", lastmod=NOON), Entry(loc="urn:2")]
    for document in (
        resource_list(*entries, Entry(loc=loc), Entry(loc="urn:a")),
        resource_list(*entries, rendered=[(loc, "", "", ""), ("urn:a", "", "", "")]),
    ):
        stream = BytesIO()
        with pytest.raises(DocumentError, match="X10") as error:
            write(document, stream)
        assert str(error.value).startswith(f"the entry with loc {loc[:2048]!a}: ")
        assert stream.getvalue() + b"</urlset>\n" == written(resource_list(*entries))


def parts(document: Document, most: int, size: int) -> dict[str, bytes] | str:
    """Write a list in parts, into memory; return what is wrong with it if it is refused."""
    try:
        return split(document, entries=most, size=size)[0]
    except DocumentError as error:
        return str(error)


RENDERER = Renderer(Root.URLSET, edition=2017)

_texts = st.text(st.sampled_from("a/&<>\"' \t\n\r;=\u00e4\x00\ud800"), max_size=6)
_hrefs = st.one_of(_texts, _texts.map("https://example.org/{}".format))
_lengths = st.none() | st.integers(-1, 10**19)


def outcome(write: object) -> str:
    """Return what is written, or that it is refused."""
    try:
        return str(write() if callable(write) else write)
    except DocumentError:
        return "refused"


@given(_texts, _hrefs, st.none() | _texts)
def test_a_link(rel: str, href: str, type: str | None) -> None:
    """LN: the same text as from a `Link`, and the same refusals."""
    links = (Link(rel=rel, href=href, type=type),)
    assert outcome(lambda: render_link(rel, href, type)) == outcome(lambda: RENDERER.entry_links(links))


@given(st.none() | st.text("0123456789abcdef", min_size=1), _lengths, st.none() | _texts)
def test_what_is_said_of_bytes(digest: str | None, length: int | None, type: str | None) -> None:
    """X08, X09: the same text as from `Metadata`, and nothing where nothing is known."""
    hashes = (Hash(algorithm="md5", digest=digest),) if digest else ()
    said = outcome(lambda: render_metadata(f"md5:{digest}" if digest else None, length, type))
    if not hashes and length is None and type is None:
        assert said == ""
    else:
        md = Metadata(hash=hashes, length=length, type=type)
        general = outcome(lambda: f"    {RENDERER._md(md)}")  # the way of all other metadata
        assert said == general
        assert outcome(lambda: RENDERER.entry_md(md)) == general


def test_by_hand() -> None:
    """What stands in a document."""
    assert render_link("describedby", "https://example.org/?a&b", "application/xml") == (
        '    <rs:ln rel="describedby" href="https://example.org/?a&amp;b" type="application/xml"/>\n'
    )
    assert render_metadata("md5:00", 3, "text/plain") == '    <rs:md hash="md5:00" length="3" type="text/plain"/>\n'
    with pytest.raises(DocumentError):
        render_link("describedby", "relative")


# --- What is written comes back as it was: property tests, and the official examples


EXAMPLES = sorted(path.relative_to(SPEC) for path in SPEC.glob("examples/*/*.xml")) or [Path("examples")]


@given(strategies.documents)
def test_reading_undoes_writing(document: Document) -> None:
    """A document of any content is read back equal, and written again to the same bytes."""
    data = written(document)
    again = read_whole(data)
    assert again == document
    assert written(again) == data


@given(st.lists(strategies.entries, max_size=4), st.sampled_from([2014, 2017]))
@example([Entry(loc="urn:a", md=Metadata())], 2017)
def test_text_of_entries(entries: list[Entry], edition: int) -> None:
    """Reading entries of our own documents as text gives what parsing gives, in both editions."""
    data = written(resource_list(*(replace(each, changefreq=None) for each in entries)), edition=edition)
    for entry, text in zip(read_whole(data).entries, split_entries(data.decode()), strict=True):
        md = entry.md or Metadata()
        assert text.loc == entry.loc
        assert (parse_datetime(text.lastmod) if text.lastmod else None) == entry.lastmod
        known = parse_metadata(text.md)
        assert (known.hash, known.length, known.type) == (md.hash, md.length, md.type)
        assert parse_links(text.links) == entry.links
        assert attributes_in(text.md).get("change") == md.change


def test_text_as_it_stands() -> None:
    """The texts are those of the document, and what nearly all entries have is parsed without XML."""
    md = Metadata(change=ChangeKind.CREATED, datetime=NOON, hash=(Hash(algorithm="md5", digest="00"),), length=1)
    link = Link(rel="up", href="https://example.org/?a&b")
    data = written(resource_list(Entry(loc="urn:a?&", lastmod=NOON, md=md, links=(link,))))
    noon = "2024-02-29T12:00:00Z"
    up = '    <rs:ln rel="up" href="https://example.org/?a&amp;b"/>\n'
    line = f'    <rs:md change="created" datetime="{noon}" hash="md5:00" length="1"/>\n'
    [text] = split_entries(data.decode())
    assert text == ("urn:a?&", noon, line, up)
    assert parse_metadata(text.md) == md
    assert attributes_in(line) == {"change": "created", "datetime": noon, "hash": "md5:00", "length": "1"}


def test_a_document_of_others() -> None:
    """It has other line breaks, and is refused instead of being read as empty."""
    data = written(resource_list(Entry(loc="urn:a"))).decode()
    with pytest.raises(DocumentError, match="not in the form that this program writes"):
        split_entries(data.replace("  <url>\n", "<url>"))


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_official_example(path: Path) -> None:
    """Every example of the specifications is read, written and read again to the same objects; none is broken."""
    document = read_whole(spec(str(path)).read_bytes(), name=str(path))
    assert document.md
    assert document.md.capability
    assert document.entries
    assert read_whole(written(document)) == document


def test_official_example_in_full() -> None:
    """The values of a known example are those that a person reads in it (core 1.1, example 33)."""
    document = read_whole(spec("examples", "core-1.1", "resourcesync_ex_33.xml").read_bytes())
    (entry,) = document.entries
    assert entry.md
    assert (entry.loc, entry.md.length, entry.md.change) == (
        "http://aggregator2.example.com/res1.html",
        8876,
        "updated",
    )
    assert entry.md.hash == (Hash(algorithm="md5", digest="1584abdf8ebdc9802ac0c6a7402c03b6"),)
    assert [(link.rel, link.href) for link in entry.links] == [("via", "http://original.example.com/res1.html")]
    assert [(link.rel, link.href) for link in document.links] == [
        ("up", "http://aggregator2.example.com/dataset1/capabilitylist.xml")
    ]
