"""What writing and reading an entry may cost, by counted calls: `make bench` measures time."""

from io import BytesIO

from pelican_resourcesync.protocol import Document, Entry, Hash, Metadata, Root, read, split_entries, write
from tests.kit.work import counted
from tests.tools.bench.programs import rows


def entries(count: int) -> list[Entry]:
    """Return entries as callers have them, each with a time, a hash and a length of its own."""
    return [
        Entry(
            loc=uri,
            lastmod=time,
            md=Metadata(hash=(Hash(algorithm="sha-256", digest=digest),), length=length, type="text/html"),
        )
        for uri, time, digest, length in rows(count)
    ]


def written(count: int) -> tuple[bytes, int]:
    """Write a Resource List, and return it and the number of calls."""
    stream = BytesIO()
    document = Document(root=Root.URLSET, md=Metadata(capability="resourcelist"), entries=entries(count))
    with counted() as work:
        write(document, stream)
    return stream.getvalue(), work.calls


def rendered(count: int) -> int:
    """Write a Resource List of rendered entries, and return the number of calls."""
    before = [(f"https://example.org/{number}", "", "", "2024-03-01T00:00:00Z") for number in range(count)]
    with counted() as work:
        write(Document(root=Root.URLSET, md=Metadata(capability="resourcelist"), rendered=before), BytesIO())
    return work.calls


def test_calls_for_each_entry() -> None:
    """18 to write an entry from a model, 15 to read it, one or two for a rendered one, and none to read it as text."""
    (few, less), (many, more) = (written(count) for count in (1_000, 2_000))
    assert (more - less) / 1_000 < 20
    assert (rendered(2_000) - rendered(1_000)) / 1_000 < 3
    with counted() as reading_few:
        assert sum(1 for _ in read(BytesIO(few), name="few").entries) == 1_000
    with counted() as reading_many:
        assert sum(1 for _ in read(BytesIO(many), name="many").entries) == 2_000
    assert (reading_many.calls - reading_few.calls) / 1_000 < 17
    found = []
    for data in (few, many):
        with counted() as work:
            assert len(split_entries(data.decode())) == data.count(b"<url>")
        found.append(work.calls)
    assert (found[1] - found[0]) / 1_000 < 1
