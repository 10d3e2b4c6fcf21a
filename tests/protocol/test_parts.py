"""Splitting by the limits (X04)."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Document, Entry, Limits, Link, Metadata, Root, write_parts, writer
from tests.protocol.support import NOON, read_whole, resource_list, written

BASE = "https://example.com/"
UP = Link(rel="up", href=f"{BASE}capabilitylist.xml")
INDEX = Link(rel="index", href=f"{BASE}list.xml")


class Folder(dict[str, bytes]):
    """Streams that keep what was written to them when they are closed."""

    def open(self, name: str) -> BinaryIO:
        """Give a stream for a name that was not given before."""
        assert name not in self
        folder = self

        class Kept(BytesIO):
            def close(self) -> None:
                folder[name] = self.getvalue()
                super().close()

        return cast("BinaryIO", Kept())


def split(document: Document, *, edition: int = 2017, **limits: int) -> tuple[Folder, tuple[str, ...]]:
    """Write a document in parts into a folder."""
    folder = Folder()
    names = write_parts(
        document,
        name="list.xml",
        part_name="list-{}.xml".format,
        uri=BASE.__add__,
        open=folder.open,
        limits=Limits(**limits),
        edition=edition,
    )
    assert tuple(folder) == names
    return folder, names


def entries(count: int) -> tuple[Entry, ...]:
    """Make entries of different sizes."""
    return tuple(Entry(loc=f"{BASE}{'x' * (number % 7)}/{number}", lastmod=NOON) for number in range(count))


def document(count: int) -> Document:
    """Make a Resource List with a link and an interval."""
    md = Metadata(capability="resourcelist", at=NOON, completed=NOON.replace(hour=13))
    return resource_list(*entries(count), md=md, links=(UP,))


def test_within_the_limits_nothing_is_split() -> None:
    """A document that fits exactly is written as `write` writes it."""
    data = written(document(3))
    folder, names = split(document(3), entries=3, size=len(data))
    assert names == ("list.xml",)
    assert folder["list.xml"] == data


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


def test_entries_pass_once() -> None:
    """An iterator that passes once is enough."""
    passing: Iterator[Entry] = iter(entries(5))
    folder, names = split(replace(document(0), entries=passing), entries=2)
    assert [len(tuple(read_whole(folder[name]).entries)) for name in names] == [2, 2, 1, 3]


def test_large_first_part_is_spooled() -> None:
    """A first part beyond what is kept in memory comes out of its file as it went in."""
    folder, _ = split(document(20_000), entries=15_000)
    assert folder["list-1.xml"] == written(replace(document(15_000), links=(UP, INDEX)))


def test_edition_reaches_the_parts() -> None:
    """V1103: parts are written in the edition asked for."""
    changes = resource_list(*[replace(entry, md=Metadata(datetime=NOON)) for entry in entries(2)])
    assert b"datetime=" in split(changes, entries=1)[0]["list-2.xml"]
    assert b"datetime=" not in split(changes, entries=1, edition=2014)[0]["list-2.xml"]


def test_entry_that_cannot_fit() -> None:
    """An entry larger than a part is refused by name, first or later."""
    large = Entry(loc=BASE + "y" * 1500)
    for given_entries in ((large, *entries(2)), (*entries(9), large)):
        with pytest.raises(DocumentError, match=r"the entry with loc .*yyy.* fits into no document of .*fewer links"):
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
    with pytest.raises(DocumentError, match="a sitemapindex exceeds the limits and no index lists indexes"):
        split(replace(document(4), root=Root.SITEMAPINDEX), entries=3)


def test_index_document_within_the_limits() -> None:
    """A sitemapindex that fits is written as it is."""
    index = replace(document(3), root=Root.SITEMAPINDEX)
    assert split(index, entries=3)[0]["list.xml"] == written(index)


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
    assert [stream.closed for stream in opened] == [True] * len(opened) == [True, True]
