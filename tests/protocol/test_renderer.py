"""Entries, and the pieces that they are put together from."""

from dataclasses import replace
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    Document,
    Entry,
    Hash,
    Limits,
    Link,
    Metadata,
    RenderedEntry,
    Renderer,
    Root,
    render_datetime,
    render_link,
    render_metadata,
    write,
    write_parts,
)
from tests.kit.strategies import documents
from tests.protocol.support import NOON, resource_list, written

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
    """Write a list in parts, into memory."""
    found: dict[str, BytesIO] = {}

    class Kept(BytesIO):
        def close(self) -> None:
            """Stay as it is."""

    def keep(name: str) -> BytesIO:
        found[name] = Kept()
        return found[name]

    try:
        write_parts(
            document,
            name="list.xml",
            part_name="list-{}.xml".format,
            uri="https://example.org/{}".format,
            open=keep,
            limits=Limits(entries=most, size=size),
        )
    except DocumentError as error:
        return str(error)
    return {name: stream.getvalue() for name, stream in found.items()}


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
