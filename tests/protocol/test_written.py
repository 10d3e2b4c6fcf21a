"""Reading entries of our own documents as text gives what parsing gives."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import (
    ChangeKind,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
    attributes_in,
    parse_datetime,
    parse_links,
    parse_metadata,
    split_entries,
)
from tests.protocol import strategies
from tests.protocol.support import NOON, read_whole, resource_list, written

_entries = st.lists(strategies.entries.map(lambda each: each if each.changefreq is None else Entry(loc=each.loc)))


@given(_entries, st.sampled_from([2014, 2017]))
@example([Entry(loc="urn:a", md=Metadata())], 2017)
def test_any_document(entries: list[Entry], edition: int) -> None:
    """For any entry that can be written, in both editions."""
    data = written(resource_list(*entries, root=Root.URLSET), edition=edition)
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
