"""What is written comes back as it was: property tests, and the official examples."""

from dataclasses import replace
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
    attributes_in,
    parse_datetime,
    parse_hashes,
    parse_links,
    parse_metadata,
    render_hashes,
    split_entries,
)
from tests.kit import strategies
from tests.protocol.support import NOON, SPEC, read_whole, resource_list, spec, written

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
    assert parse_metadata(text.md) == Metadata(hash=md.hash, length=1)
    assert attributes_in(line) == {"change": "created", "datetime": noon, "hash": "md5:00", "length": "1"}


def test_a_document_of_others() -> None:
    """It has other line breaks, and is refused instead of being read as empty."""
    data = written(resource_list(Entry(loc="urn:a"))).decode()
    with pytest.raises(DocumentError, match="not as this program writes it"):
        split_entries(data.replace("  <url>\n", "<url>"))


@given(strategies.hashes)
def test_hashes_read_back(hashes: tuple[Hash, ...]) -> None:
    """A list of hashes is parsed back from its text."""
    assert parse_hashes(render_hashes(hashes)) == hashes


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
        ("up", "http://aggregator2.example.com/dataset1/capabilitylist.xml"),
    ]
