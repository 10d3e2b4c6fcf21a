"""What the cases run: `python -m tests.bench.programs PROGRAM ARGUMENTS…`. Each imports only what it needs."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    b'xmlns:rs="http://www.openarchives.org/rs/terms/">\n'
)
_BARE = (
    "<url><loc>{}</loc><lastmod>{:%Y-%m-%dT%H:%M:%SZ}</lastmod>"
    '<rs:md hash="sha-256:{}" length="{}" type="text/html"/></url>\n'
)
_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


def rows(count: int) -> Iterator[tuple[str, datetime, str, int]]:
    """Yield resources: URI, time of the last change, SHA-256 and length."""
    for number in range(count):
        uri = f"https://example.org/articles/{number:07}.html"
        yield uri, _BEGIN + timedelta(seconds=number), f"{number:064x}", 1_000 + number


def write_bare(count: str, file: str) -> None:
    """Write the entries of a Resource List with one formatted write each."""
    with Path(file).open("wb") as stream:
        stream.write(HEAD)
        stream.writelines(_BARE.format(*row).encode() for row in rows(int(count)))
        stream.write(b"</urlset>\n")


def write_ours(count: str, file: str) -> None:
    """Write a Resource List, in as many parts as it needs, with the public interface."""
    from pelican_resourcesync.protocol import Document, Entry, Hash, Metadata, Root, write_parts

    entries = (
        Entry(
            loc=uri,
            lastmod=time,
            md=Metadata(hash=(Hash(algorithm="sha-256", digest=digest),), length=length, type="text/html"),
        )
        for uri, time, digest, length in rows(int(count))
    )
    document = Document(root=Root.URLSET, md=Metadata(capability="resourcelist", at=_BEGIN), entries=entries)
    write_parts(document, name=file, part_name=f"{file}-{{}}".format, uri="https://example.org/{}".format, open=_open)


def _open(name: str) -> BinaryIO:
    return Path(name).open("wb")


def write_resync(count: str, file: str) -> None:
    """Write the same entries with `resync`."""
    from resync import Resource, ResourceList

    found = ResourceList()
    for uri, time, digest, length in rows(int(count)):
        found.add(Resource(uri, timestamp=time.timestamp(), sha256=digest, length=length, mime_type="text/html"))
    Path(file).write_text(found.as_xml(), "utf-8")


def read_bare(file: str) -> None:
    """Read a list with `iterparse` alone."""
    from lxml import etree

    for _, element in etree.iterparse(file, tag="{http://www.sitemaps.org/schemas/sitemap/0.9}url"):
        element.clear()


def read_ours(file: str) -> None:
    """Read a list with the public interface."""
    from pelican_resourcesync.protocol import read

    with Path(file).open("rb") as stream:
        for _ in read(stream, name=file).entries:
            pass


def read_resync(file: str) -> None:
    """Read a list with `resync`."""
    from resync import ResourceList

    ResourceList().read(file)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
