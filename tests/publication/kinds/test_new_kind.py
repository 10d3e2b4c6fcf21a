"""A new kind of documents is a module and a row of the table: everything else follows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pelican_resourcesync import mirror
from pelican_resourcesync.cli import main
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import kind_of, kinds
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.kinds import News, PlannedDocuments
from pelican_resourcesync.publication.model import kinds as table
from pelican_resourcesync.publication.model.kinds import Kind, headers_of
from pelican_resourcesync.publication.model.layout import stamp
from tests.kit.bucket import bucket_server
from tests.kit.live import served
from tests.kit.publications import Source, utc
from tests.tools.mutants.by_hand import product_files

#: The row: documents with words of resources, which never change, and are sent before the lists.
TOY = Kind(r"resourcesync/[a-z]+/(?:[0-9]+/)?toy-[0-9TZ.]+\.txt", 2, listed=True, immutable=True, has_contents=True)


@dataclass(frozen=True)
class Toys(PlannedDocuments):
    """The module: what has changed in a publication, a line for each URI; what changed last stays."""

    news: News

    def write(self, writing: DocumentWriter) -> None:
        """Write what is new, or carry over what is there."""
        uris = [change.uri for change in self.news.changes if change.uri not in self.news.withdrawn.uris]
        if uris:
            path = f"{writing.options.layout.folder}/toy-{stamp(self.news.at)}.txt"
            writing.stage.write(path, "".join(f"{uri}\n" for uri in uris).encode())
        elif self.news.previous:
            for path in filter(is_toy, self.news.previous.state.documents):
                writing.carry(path)


def is_toy(path: str) -> bool:
    """Return whether a path is that of the new kind."""
    return kind_of(path) is TOY


@pytest.fixture(autouse=True)
def _with_toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = (table.kind_of, table._pattern)
    monkeypatch.setattr(table, "KINDS", (TOY, *table.KINDS))
    monkeypatch.setattr(kinds, "PLANS", (*kinds.PLANS, Toys))
    for function in known:
        function.cache_clear()
    yield
    for function in known:
        function.cache_clear()


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set that was published three times."""
    source = Source(tmp_path / "output")
    for number in (1, 2, 3):
        source.publish({"a.html": b"a", "b.html": b"%d" % number, "c.html": b"c"}, f"2024-01-0{number}T12:00")
    return source


def toys(source: Source, state: str = "documents") -> list[str]:
    """Return the new kind's documents."""
    return sorted(filter(is_toy, source.state()[state]))


def naming(source: Source, text: str) -> Iterator[str]:
    """Yield the paths of documents that have a text."""
    return (path for path, data in source.documents().items() if text.encode() in data)


def test_no_product_file_names_it() -> None:
    """It is known by its row alone."""
    assert [path for path, text in product_files().items() if "toy" in text.lower()] == []


def test_published_and_carried(source: Source) -> None:
    """One is current, that of before stays for a generation, and nothing is written where nothing changed."""
    assert toys(source) == ["resourcesync/site/toy-20240103T120000Z.txt"]
    assert toys(source, "superseded") == ["resourcesync/site/toy-20240102T120000Z.txt"]
    before = source.documents()
    assert before[toys(source)[0]] == b"https://example.org/b.html\n"
    source.publish({"a.html": b"a", "b.html": b"3", "c.html": b"c"}, "2024-01-04T12:00")
    assert source.documents() == before


def test_damaged(source: Source) -> None:
    """Other bytes than those listed are found."""
    source.write(toys(source)[0], b"else")
    with pytest.raises(PublicationError, match=r"damaged .*toy-20240103T120000Z\.txt does not match"):
        source.previous()


def test_withdrawn(source: Source) -> None:
    """What has words of a resource that a repository withdraws goes at once, also if it is superseded."""
    source.publish({"a.html": b"a", "c.html": b"new"}, "2024-01-04T12:00", remove_deleted=True)
    assert toys(source, "superseded") == []
    assert [path for path in naming(source, "b.html") if is_toy(path)] == []
    assert source.documents()[toys(source)[0]] == b"https://example.org/c.html\n"


def test_taken_down(source: Source) -> None:
    """Nothing of it is left at the old address, and what is written at the new one does not name the resource."""
    source.forget("https://example.org/b.html", built=utc("2024-01-05T12:00"))
    assert toys(source) == toys(source, "superseded") == []
    assert list(naming(source, "b.html")) == ["resourcesync/site/2/changelist-20240101T000000Z.xml"]
    source.publish({"a.html": b"new", "c.html": b"c"}, "2024-01-06T12:00")
    assert toys(source) == ["resourcesync/site/2/toy-20240106T120000Z.txt"]


def test_uploaded_and_mirrored(source: Source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It comes to a bucket, is cached for ever there, and a copy of the site is right."""
    path = toys(source)[0]
    assert headers_of(path) == {"Content-Type": "text/plain", "Cache-Control": "public, max-age=31536000, immutable"}
    with bucket_server(monkeypatch) as server:
        assert main(["upload", str(source.output), server.bucket]) == 0
        assert server.contents()[path] == source.documents()[path]
    folder = tmp_path / "served"
    folder.mkdir()
    with served(folder) as address:
        site = Source(folder, siteurl=address)
        site.publish({"a.html": b"a"}, "2024-01-01T12:00")
        site.publish({"a.html": b"new"}, "2024-01-02T12:00")
        assert len(toys(site)) == 1
        assert mirror(address, tmp_path / "copy").complete
    assert (tmp_path / "copy/a.html").read_bytes() == b"new"
