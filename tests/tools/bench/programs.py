"""What the cases run: `python -m tests.tools.bench.programs PROGRAM ARGUMENTS…`. Each imports only what it needs."""

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


def write_rows(count: str, file: str) -> None:
    """Write the same from rows, without a model of each entry."""
    from pelican_resourcesync.protocol import Document, Metadata, Root, render_datetime, render_metadata, write_parts

    rendered = (
        (uri, render_metadata(f"sha-256:{digest}", length, "text/html"), "", render_datetime(time))
        for uri, time, digest, length in rows(int(count))
    )
    document = Document(root=Root.URLSET, md=Metadata(capability="resourcelist", at=_BEGIN), rendered=rendered)
    write_parts(document, name=file, part_name=f"{file}-{{}}".format, uri="https://example.org/{}".format, open=_open)


def write_resync(count: str, file: str, times: str = "") -> None:
    """Write the same entries with `resync`, which is given times as numbers or as text."""
    from resync import Resource, ResourceList
    from resync.mapper import Mapper

    path = Path(file).resolve()  # of more than 50,000 entries it makes parts, whose URIs come from a mapping
    found = ResourceList(mapper=Mapper(["https://example.org/", str(path.parent)]))
    for uri, time, digest, length in rows(int(count)):
        given = {"lastmod": time.isoformat()} if times else {"timestamp": time.timestamp()}
        found.add(Resource(uri, sha256=digest, length=length, mime_type="text/html", **given))
    found.write(str(path))


def _parts(file: str) -> list[Path]:
    """Return the parts of a list, or the list itself."""
    return sorted(Path().glob(f"{file}-*")) or [Path(file)]


def read_bare(file: str, schema: str = "") -> None:
    """Read a list with `iterparse` alone, with a schema if one is given: what `xmllint --stream --schema` does."""
    from lxml import etree

    known = etree.XMLSchema(file=schema) if schema else None
    for part in _parts(file):
        url = "{http://www.sitemaps.org/schemas/sitemap/0.9}url"
        for _, element in etree.iterparse(str(part), tag=url, schema=known):
            element.clear()


def read_ours(file: str) -> None:
    """Read a list with the public interface."""
    from pelican_resourcesync.protocol import read

    for part in _parts(file):
        with part.open("rb") as stream:
            for _ in read(stream, name=file).entries:
                pass


def read_resync(file: str) -> None:
    """Read a list with `resync`."""
    from resync import ResourceList

    for part in _parts(file):
        ResourceList().read(str(part))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
