"""Entries that were written before."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    Document,
    Entry,
    Limits,
    Link,
    RenderedEntry,
    Renderer,
    Root,
    render_datetime,
    write_parts,
)
from tests.protocol.strategies import documents, entries
from tests.protocol.support import NOON, resource_list, written

ROOTS = st.sampled_from(Root)
EDITIONS = st.sampled_from([2014, 2017])


def rendered(entry: Entry, root: Root, edition: int) -> RenderedEntry:
    """Write an entry by itself."""
    return RenderedEntry(loc=entry.loc, text=Renderer(root, edition).entry(entry))


@given(documents, EDITIONS)
def test_a_document_of_them(document: Document, edition: int) -> None:
    """It has the bytes that it has of the entries, all of them or some."""
    told = list(document.entries)
    expected = written(resource_list(*told, root=document.root), edition=edition)
    before = [rendered(each, document.root, edition) for each in told]
    assert written(resource_list(*before, root=document.root), edition=edition) == expected
    mixed = [each if number % 2 else before[number] for number, each in enumerate(told)]
    assert written(resource_list(*mixed, root=document.root), edition=edition) == expected


@given(st.lists(entries, max_size=8), st.integers(1, 3), st.integers(400, 4_000))
def test_parts_of_them(told: list[Entry], most: int, size: int) -> None:
    """X04: they count and weigh what they are, so that parts begin where they did."""
    assert parts(told, most, size) == parts([rendered(each, Root.URLSET, 2017) for each in told], most, size)


def parts(told: list[Entry], most: int, size: int) -> dict[str, bytes] | str:
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
            resource_list(*told),
            name="list.xml",
            part_name="list-{}.xml".format,
            uri="https://example.org/{}".format,
            open=keep,
            limits=Limits(entries=most, size=size),
        )
    except DocumentError as error:
        return str(error)
    return {name: stream.getvalue() for name, stream in found.items()}


@given(entries, EDITIONS, ROOTS)
def test_pieces_of_an_entry(entry: Entry, edition: int, root: Root) -> None:
    """An entry is what its pieces are put together."""
    renderer = Renderer(root, edition)
    lastmod = render_datetime(entry.lastmod) if entry.lastmod else ""
    md = renderer.entry_md(entry.md) if entry.md else ""
    links = renderer.entry_links(entry.links)
    bare = Entry(loc=entry.loc, lastmod=entry.lastmod, md=entry.md, links=entry.links)
    assert renderer.assemble_entry(entry.loc, lastmod, md, links) == Renderer(root, edition).entry(bare)


def test_what_is_said_of_it_elsewhere_is_not_written() -> None:
    """Only the text is: whoever wrote it has checked it."""
    told = RenderedEntry(loc="https://example.org/", text="  <url/>\n", lastmod=NOON, links=(Link(href="", rel=""),))
    assert b"  <url/>\n" in written(resource_list(told))
    assert b"lastmod" not in written(resource_list(told))


@pytest.mark.parametrize("loc", ["no URI", "urn:x:" + "a" * 2_042])
def test_a_loc_that_is_refused(loc: str) -> None:
    """X10: what is put together of pieces has a loc as any entry."""
    with pytest.raises(DocumentError, match="X10"):
        Renderer(Root.URLSET, 2017).assemble_entry(loc, "", "", "")
