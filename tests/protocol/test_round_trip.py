"""What is written comes back as it was: property tests, and the official examples."""

from pathlib import Path

import pytest
from hypothesis import given

from pelican_resourcesync.protocol import Document, Hash, parse_hashes, render_hashes
from tests.protocol import strategies
from tests.protocol.support import SPEC, read_whole, spec, written

EXAMPLES = sorted(path.relative_to(SPEC) for path in SPEC.glob("examples/*/*.xml")) or [Path("examples")]


@given(strategies.documents)
def test_reading_undoes_writing(document: Document) -> None:
    """A document of any content is read back equal, and written again to the same bytes."""
    data = written(document)
    again = read_whole(data)
    assert again == document
    assert written(again) == data


@given(strategies.hashes)
def test_hashes_read_back(hashes: tuple[Hash, ...]) -> None:
    """A list of hashes is parsed back from its text."""
    assert parse_hashes(render_hashes(hashes)) == hashes


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_official_example(example: Path) -> None:
    """Every example of the specifications is read, written and read again to the same objects; none is broken."""
    document = read_whole(spec(str(example)).read_bytes(), name=str(example))
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
