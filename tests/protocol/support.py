"""What the tests of documents share: reading and writing in memory, and where the specifications lie."""

import datetime as dt
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from pelican_resourcesync.protocol import (
    RS_NS,
    SITEMAP_NS,
    Document,
    Entry,
    Limits,
    Metadata,
    Root,
    read,
    write,
    write_parts,
)

SPEC = Path(__file__).parents[3] / "shared" / "spec"
BASE = "https://example.com/"
NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


def spec(*parts: str) -> Path:
    """Return the path of specification material, or skip the test where it is absent."""
    path = SPEC.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the specifications' material is not beside the project: {path}")
    return path


def written(document: Document, *, edition: int = 2017) -> bytes:
    """Write a document into memory."""
    stream = BytesIO()
    write(document, stream, edition=edition)
    return stream.getvalue()


def read_whole(data: bytes, name: str = "list.xml") -> Document:
    """Read a document and all of its entries."""
    document = read(BytesIO(data), name=name)
    return replace(document, entries=tuple(document.entries))


def resource_list(*entries: Entry, **options: object) -> Document:
    """Make a small valid document around some entries."""
    document = Document(root=Root.URLSET, md=Metadata(capability="resourcelist", at=NOON), entries=entries)
    return replace(document, **options)  # type: ignore[arg-type]  # any field of a Document


class Folder(dict[str, bytes]):
    """Streams that keep what was written to them when they are closed."""

    def open(self, name: str) -> BinaryIO:
        """Return a stream for a name that was not given before."""
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
    how = {"name": "list.xml", "part_name": "list-{}.xml".format, "uri": BASE.__add__, "open": folder.open}
    names = write_parts(document, **how, limits=Limits(**limits), edition=edition)  # type: ignore[arg-type] # as named
    assert tuple(folder) == names
    return folder, names


def urlset(content: str, root: str = "urlset") -> bytes:
    """Make the XML of a document by hand, around some content."""
    return f'<{root} xmlns="{SITEMAP_NS}" xmlns:rs="{RS_NS}">{content}</{root}>'.encode()
